// From sums of words to word concentrations and posteriors, document by document; and the formulas of bessel.hpp over
// arrays.
//
// The equations of many documents are solved at once, by SIMD. Each document has its own steps: its bits do not depend
// on the documents that are solved with it.
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bessel.hpp"
#include "rows.hpp"

namespace parasphere {
namespace {

using bessel::Order;

constexpr double solved = 1e-13;  // a search ends when its relative error is estimated to be at most this
constexpr int most_steps = 100;
constexpr double most_kappa = 1e8;
constexpr std::size_t block = 256;  // documents that are solved at once

// The numbers of a prior.
struct Prior {
    double concentration;
    double strength;
    double cosine;
    bool newton;  // whether the mean length is inverted exactly
    Order order;
    double longest;  // largest mean length that is inverted

    static Prior of(nb::handle given) {
        if (!nb::isinstance<nb::tuple>(given) || nb::len(given) != 6) {
            refuse("prior must be a tuple of its concentration, strength, cosine, newton, order and longest");
        }
        const auto fields = nb::borrow<nb::tuple>(given);
        const auto number = [&](std::size_t i, const char* name) {
            double value = 0.0;
            if (!nb::try_cast(fields[i], value)) {
                refuse("the ", name, " of the prior must be a number");
            }
            return value;
        };
        return {number(0, "concentration"),
                number(1, "strength"),
                number(2, "cosine"),
                truth_of(fields[3], "newton of the prior"),
                Order::of(Array<const double>(fields[4], "the order of the prior")),
                number(5, "longest mean length")};
    }
};

// The documents of a block that are not solved yet, in columns; solved ones are removed.
struct Unsolved {
    // The numbers of each document.
    double m[block];         // mu0.s
    double q[block];         // |s|^2
    double words[block];     // l
    double length[block];    // |s|
    double sine2[block];     // k0^2 (1 - cos^2) of mu0 and s
    // The state of its search.
    double now[block];
    double low[block];
    double high[block];
    double done[block];  // 1 if the search has ended
    std::size_t document[block];
    std::size_t many;
};

// The word concentration at which the words alone would have this mean length.
template <bool Raised, bool Newton>
[[gnu::always_inline]] inline double inverted(double length, const Prior& prior) {
    const double bound = std::min(std::max(length, 0.0), prior.longest);
    double kappa = 0.0;
    if constexpr (Newton) {
        kappa = bessel::concentration<Raised>(bound, prior.order);
    } else {
        kappa = bessel::banerjee(bound, prior.order);
    }
    return std::min(std::max(kappa, 0.0), most_kappa);
}

// Searches begin above the largest fixed point, where the direction of a document is that of its words alone.
template <bool Raised, bool Newton>
[[gnu::always_inline]] inline void start_searches(Unsolved& some, const Prior& given) {
    const Prior prior = given;  // a copy, which cannot alias the arrays written below
    const double k0 = prior.concentration, strength = prior.strength, rho = prior.cosine;
    for (std::size_t i = 0; i < some.many; ++i) {
        const double length = std::sqrt(some.q[i]);
        const double total = some.words[i] + strength;
        const double mean = (length + strength * rho) / (total + (total == 0.0 ? 1.0 : 0.0));
        const double now = some.words[i] > 0.0 ? inverted<Raised, Newton>(mean, prior) : 0.0;
        const double cosine0 = some.m[i] / std::max(length, 1e-300);
        some.length[i] = length;
        some.sine2[i] = k0 * k0 * std::max(1.0 - cosine0 * cosine0, 0.0);
        some.now[i] = now;
        some.low[i] = 0.0;
        some.high[i] = now;
        some.done[i] = now > 0.0 ? 0.0 : 1.0;
    }
}

// One step of each search: by Newton's method if it stays within the bounds, otherwise to a point between them.
template <bool Raised, bool Newton>
[[gnu::always_inline]] inline void step_searches(Unsolved& some, const Prior& given) {
    const Prior prior = given;
    const Order& order = prior.order;
    const double k0 = prior.concentration, strength = prior.strength, rho = prior.cosine;
    for (std::size_t i = 0; i < some.many; ++i) {
        const double m = some.m[i], q = some.q[i], length = some.length[i], now = some.now[i];
        const double total = some.words[i] + strength;
        const double norm = std::sqrt(std::max(k0 * k0 + 2.0 * k0 * now * m + now * now * q, 1e-300));
        const double cosine =
            std::min(std::max((k0 * m + now * q) / std::max(norm * length, 1e-300), -1.0), 1.0);
        const double sine2 = some.sine2[i] / (norm * norm);
        const double versine = cosine > 0.0 ? sine2 / (1.0 + std::abs(cosine)) : 1.0 - cosine;
        const bessel::Lengths at_norm = bessel::lengths<Raised>(norm, order);
        const double mean = bessel::mean_length(norm, at_norm);
        const double r = (mean * cosine * length + strength * rho) / total;
        double lack = std::max(some.words[i] - length, 0.0) + length * (at_norm.rest + mean * versine);
        lack = (lack + strength * (1.0 - rho)) / total;
        const double bend =
            bessel::mean_length_slope<Raised>(norm, order) * cosine * cosine + mean / norm * sine2;
        const double rise = q * bend / total;
        double gap = 0.0, slope = 0.0;
        if constexpr (Newton) {
            const bessel::Lengths at_now = bessel::lengths<Raised>(now, order);
            slope = rise - bessel::mean_length_slope<Raised>(now, order);
            gap = r > 0.5 ? at_now.rest - lack : r - bessel::mean_length(now, at_now);
        } else {
            const double rest = std::max(lack * (2.0 - lack), 1e-300);
            const double image = r * (order.dim - r * r) / rest;
            const double steep =
                (order.dim - 3.0 * r * r) / rest + 2.0 * r * r * (order.dim - r * r) / (rest * rest);
            gap = std::min(std::max(image, 0.0), most_kappa) - now;
            slope = steep * rise - 1.0;
        }
        const double low = gap > 0.0 ? now : some.low[i];
        const double high = gap > 0.0 ? some.high[i] : now;
        const double floor = gap > 0.0 ? now : std::max(0.7 * now, some.low[i]);
        const double tangent = slope < 0.0 ? now - gap / slope : -1.0;
        const bool sound = (tangent > floor) & (tangent < high);
        const double between = low > 0.0 ? std::sqrt(low * high) : 0.7 * now;
        const double after = sound ? tangent : between;
        const double left = std::abs(after - now) / now;
        const bool close = (sound ? left * left : left) <= solved;
        // A search ends at 0 if the words point away, and at the current point if that is an exact solution.
        const double next = r <= 0.0 ? 0.0 : (gap == 0.0 ? now : after);
        some.done[i] = (r <= 0.0) | (gap == 0.0) | close | !(next > 0.0) ? 1.0 : 0.0;
        some.now[i] = next;
        some.low[i] = low;
        some.high[i] = high;
    }
}

PARASPHERE_VECTORISED void start(Unsolved& some, const Prior& prior) {
    if (prior.order.raised != 0.0) {
        prior.newton ? start_searches<true, true>(some, prior) : start_searches<true, false>(some, prior);
    } else {
        prior.newton ? start_searches<false, true>(some, prior) : start_searches<false, false>(some, prior);
    }
}

PARASPHERE_VECTORISED void step(Unsolved& some, const Prior& prior) {
    if (prior.order.raised != 0.0) {
        prior.newton ? step_searches<true, true>(some, prior) : step_searches<true, false>(some, prior);
    } else {
        prior.newton ? step_searches<false, true>(some, prior) : step_searches<false, false>(some, prior);
    }
}

double common_concentration(const Prior& prior) {
    if (prior.order.raised != 0.0) {
        return prior.newton ? inverted<true, true>(prior.cosine, prior) : inverted<true, false>(prior.cosine, prior);
    }
    return prior.newton ? inverted<false, true>(prior.cosine, prior) : inverted<false, false>(prior.cosine, prior);
}

// Write the results of searches that have ended, and remove them from the columns.
void retire(Unsolved& some, double* kappa, bool all) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < some.many; ++i) {
        if (all || some.done[i] != 0.0) {
            kappa[some.document[i]] = some.now[i];
            continue;
        }
        if (kept != i) {
            for (double* column : {some.m, some.q, some.words, some.length, some.sine2, some.now, some.low, some.high}) {
                column[kept] = column[i];
            }
            some.document[kept] = some.document[i];
        }
        ++kept;
    }
    some.many = kept;
}

void solve(const double* along, const double* squared, const double* lengths, std::size_t n, const Prior& prior,
           double* kappa, Interrupts& interrupts) {
    if (std::isinf(prior.strength)) {  // all documents have the same mean cosine
        std::fill(kappa, kappa + n, common_concentration(prior));
        return;
    }
    Unsolved some;
    for (std::size_t begin = 0; begin < n; begin += block) {
        some.many = std::min(block, n - begin);
        for (std::size_t i = 0; i < some.many; ++i) {
            some.m[i] = along[begin + i];
            some.q[i] = squared[begin + i];
            some.words[i] = lengths[begin + i];
            some.document[i] = begin + i;
        }
        start(some, prior);
        retire(some, kappa, false);
        for (int steps = 0; steps < most_steps && some.many > 0; ++steps) {
            step(some, prior);
            interrupts.worked(some.many * 50);
            retire(some, kappa, false);
        }
        retire(some, kappa, true);
    }
}

void solve_each(nb::handle given_along, nb::handle given_squared, nb::handle given_lengths, nb::handle given_prior,
                nb::handle given_kappa) {
    const Array<const double> along(given_along, "along");
    const Array<const double> squared(given_squared, "squared");
    const Array<const double> lengths(given_lengths, "lengths");
    const Prior prior = Prior::of(given_prior);
    const Array<double> kappa(given_kappa, "kappa");
    squared.expect_size(0, along.count(), "one per document");
    lengths.expect_size(0, along.count(), "one per document");
    kappa.expect_size(0, along.count(), "one per document");
    const Unlocked unlocked(along.count() * 200);
    Interrupts interrupts;
    solve(along.data(), squared.data(), lengths.data(), along.count(), prior, kappa.data(), interrupts);
}

template <typename T>
void write_posteriors(Rows<const T> sums, const double* squared, const double* lengths, const double* mean,
                      const Prior& prior, double* kappa, double* concentration, T* directions) {
    const std::size_t n = sums.many, dim = sums.dim;
    const double k0 = prior.concentration;
    Interrupts interrupts;
    std::vector<double> along(n), pulled(dim);
    project_rows(sums, mean, along, interrupts);
    solve(along.data(), squared, lengths, n, prior, kappa, interrupts);
    for (std::size_t i = 0; i < n; ++i) {
        const double square = k0 * k0 + 2.0 * k0 * kappa[i] * along[i] + kappa[i] * kappa[i] * squared[i];
        concentration[i] = std::sqrt(std::max(square, 0.0));  // rounding may make a square of 0 negative
    }
    for (std::size_t j = 0; j < dim; ++j) pulled[j] = k0 * mean[j];
    combine_rows(sums, kappa, pulled.data(), mean, directions, interrupts);
}

void posteriors(nb::handle given_sums, nb::handle given_squared, nb::handle given_lengths, nb::handle given_mean,
                nb::handle given_prior, nb::handle given_kappa, nb::handle given_concentration,
                nb::handle given_directions) {
    const Array<const double> squared(given_squared, "squared");
    const Array<const double> lengths(given_lengths, "lengths");
    const Array<const double> mean(given_mean, "mean");
    const Prior prior = Prior::of(given_prior);
    const Array<double> kappa(given_kappa, "kappa");
    const Array<double> concentration(given_concentration, "concentration");
    with_floats<const float, 2>(given_sums, "sums", [&](const auto& sums) {
        using T = std::remove_cvref_t<decltype(sums)>::Entry;
        const Array<std::remove_const_t<T>, 2> directions(given_directions, "directions");
        squared.expect_size(0, sums.size(0), "one per document");
        lengths.expect_size(0, sums.size(0), "one per document");
        kappa.expect_size(0, sums.size(0), "one per document");
        concentration.expect_size(0, sums.size(0), "one per document");
        mean.expect_size(0, sums.size(1), "as wide as the sums");
        directions.expect_size(0, sums.size(0), "as many as the sums");
        directions.expect_size(1, sums.size(1), "as wide as the sums");
        const Unlocked unlocked(sums.count() * 3 + sums.size(0) * 200);
        write_posteriors(rows_of(sums), squared.data(), lengths.data(), mean.data(), prior, kappa.data(),
                         concentration.data(), directions.data());
    });
}

enum class Formula {
    quotient,
    mean_length,
    shortfall,
    mean_length_slope,
    log_excess,
    log_partition,
    entropy,
    banerjee,
    concentration,
};

template <bool Raised>
[[gnu::always_inline]] inline void log_excesses(const double* __restrict x, const Order& order, double* __restrict out,
                                                std::size_t n) {
    constexpr std::size_t part = 128;
    double ratio[part], half[part], product[part], series[part], rest[part];
    for (std::size_t begin = 0; begin < n; begin += part) {
        const std::size_t many = std::min(part, n - begin);
        for (std::size_t i = 0; i < many; ++i) {
            const bessel::ExcessTerms terms = bessel::log_excess_terms<Raised>(x[begin + i], order);
            ratio[i] = terms.ratio;
            half[i] = terms.half;
            product[i] = terms.product;
            series[i] = terms.series;
            rest[i] = terms.rest;
        }
        for (std::size_t i = 0; i < many; ++i) {
            ratio[i] = std::log(ratio[i]);
            half[i] = std::log(half[i]);
            product[i] = Raised ? std::log(product[i]) : 0.0;
        }
        for (std::size_t i = 0; i < many; ++i) {
            out[begin + i] = bessel::log_excess<Raised>(series[i], rest[i], ratio[i], half[i], product[i], order);
        }
    }
}

template <bool Raised>
[[gnu::always_inline]] inline void apply_to(Formula formula, const double* __restrict x, const Order& given,
                                            double* __restrict out, std::size_t n) {
    const Order order = given;
    const auto each = [&](auto&& value) __attribute__((always_inline)) {
        for (std::size_t i = 0; i < n; ++i) {
            out[i] = value(x[i]);
        }
    };
    switch (formula) {
        case Formula::quotient:
            return each([&](double kappa) { return bessel::lengths<Raised>(kappa, order).quotient; });
        case Formula::mean_length:
            return each([&](double kappa) { return bessel::mean_length(kappa, bessel::lengths<Raised>(kappa, order)); });
        case Formula::shortfall:
            return each([&](double kappa) { return bessel::lengths<Raised>(kappa, order).rest; });
        case Formula::mean_length_slope:
            return each([&](double kappa) { return bessel::mean_length_slope<Raised>(kappa, order); });
        case Formula::log_excess:
            return log_excesses<Raised>(x, order, out, n);
        case Formula::log_partition:
            log_excesses<Raised>(x, order, out, n);
            for (std::size_t i = 0; i < n; ++i) {
                out[i] = x[i] + out[i];
            }
            return;
        case Formula::entropy:
            log_excesses<Raised>(x, order, out, n);
            for (std::size_t i = 0; i < n; ++i) {
                out[i] = out[i] + x[i] * bessel::lengths<Raised>(x[i], order).rest;
            }
            return;
        case Formula::banerjee:
            return each([&](double length) { return bessel::banerjee(length, order); });
        case Formula::concentration:
            return each([&](double length) { return bessel::concentration<Raised>(length, order); });
    }
}

PARASPHERE_VECTORISED void apply(Formula formula, const double* x, const Order& order, double* out, std::size_t n) {
    if (order.raised != 0.0) {
        apply_to<true>(formula, x, order, out, n);
    } else {
        apply_to<false>(formula, x, order, out, n);
    }
}

void apply_formula(const char* name, nb::handle given_x, nb::handle given_order, nb::handle given_out) {
    constexpr std::array<std::pair<std::string_view, Formula>, 9> formulas{
        {{"quotient", Formula::quotient},
         {"mean_length", Formula::mean_length},
         {"shortfall", Formula::shortfall},
         {"mean_length_slope", Formula::mean_length_slope},
         {"log_excess", Formula::log_excess},
         {"log_partition", Formula::log_partition},
         {"entropy", Formula::entropy},
         {"banerjee", Formula::banerjee},
         {"concentration", Formula::concentration}}};
    const auto* found = std::find_if(formulas.begin(), formulas.end(), [&](const auto& one) { return one.first == std::string_view(name); });
    if (found == formulas.end()) {
        refuse("formula must be the name of one of bessel's formulas, not '", name, "'");
    }
    const Array<const double> x(given_x, "x");
    const Order order = Order::of(Array<const double>(given_order, "order"));
    const Array<double> out(given_out, "out");
    out.expect_size(0, x.count(), "as many as x");
    const Unlocked unlocked(x.count() * 20);
    Interrupts interrupts;
    constexpr std::size_t part = 16'384;
    for (std::size_t begin = 0; begin < x.count(); begin += part) {
        const std::size_t many = std::min(part, x.count() - begin);
        apply(found->second, x.data() + begin, order, out.data() + begin, many);
        interrupts.worked(many * 20);
    }
}

}  // namespace

void bind_solver(nb::module_& kernels) {
    kernels.def("solve_each", solve_each, argument("along"), argument("squared"), argument("lengths"),
                argument("prior"), argument("kappa"),
                "Write the word concentrations of documents to ``kappa``, (n_docs,).\n\n"
                "``prior`` is a tuple: its concentration, strength and cosine, whether the mean length is inverted\n"
                "exactly, the constants of the dimension as one array, and the longest mean length.");
    kernels.def("posteriors", posteriors, argument("sums"), argument("squared"), argument("lengths"), argument("mean"),
                argument("prior"), argument("kappa"), argument("concentration"), argument("directions"),
                "Solve documents and write their posteriors: kappa_n, kappa' and the directions mu'.\n\n"
                "``prior`` is that of :func:`solve_each`. The directions have the type of the sums.");
    kernels.def("apply_formula", apply_formula, nb::arg("formula"), argument("x"), argument("order"), argument("out"),
                "Write the values of a formula of :mod:`parasphere.sphere.bessel`, chosen by its name, for ``x``.");
}

}  // namespace parasphere
