// From sums of words to word concentrations and posteriors, document by document.
//
// The equations of many documents are solved at once, by SIMD. Each document has its own steps: its bits do not depend
// on the documents that are solved with it.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "bessel.hpp"
#include "rows.hpp"

namespace parasphere {
namespace {

using bessel::block;
using bessel::Order;

constexpr double solved = 1e-13;  // a search ends when its relative error is estimated to be at most this
constexpr double most_steps = 100;
constexpr double most_kappa = 1e8;

// The fields of parasphere.model.equations.KernelPrior.
using PriorFields = std::tuple<double, double, double, bool, Array<const double>, double>;

// The numbers of a prior.
struct Prior {
    double concentration;
    double strength;
    double cosine;
    bool newton;  // whether the mean length is inverted exactly
    Order order;
    double longest;  // largest mean length that is inverted

    explicit Prior(const PriorFields& given)
        : concentration(std::get<0>(given)),
          strength(std::get<1>(given)),
          cosine(std::get<2>(given)),
          newton(std::get<3>(given)),
          order(std::get<4>(given)),
          longest(std::get<5>(given)) {}
};

// Values of the formulas of bessel.hpp.
struct Values {
    double quotient[block], rest[block], slope[block];
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
    double done[block];   // 1 if the search has ended
    double steps[block];  // number of steps so far
    std::size_t document[block];
    // The length of eta at the current point, and the formulas of bessel.hpp there.
    double norm[block];
    Values at_norm, at_now;
    std::size_t many;

    // The number of columns that are computed: with those of copies, or of documents solved before, as fill registers.
    std::size_t filled() const { return many < 8 ? many : (many + 7) / 8 * 8; }
};

// Write the word concentrations at which the words alone would have these mean lengths, which are changed.
void invert(double* length, std::size_t n, const Prior& prior, double* kappa) {
    for (std::size_t i = 0; i < n; ++i) {
        length[i] = std::min(std::max(length[i], 0.0), prior.longest);
    }
    prior.newton ? bessel::concentrations(length, n, prior.order, kappa)
                 : bessel::banerjee(length, n, prior.order, kappa);
    for (std::size_t i = 0; i < n; ++i) {
        kappa[i] = std::min(std::max(kappa[i], 0.0), most_kappa);
    }
}

// Start the searches of the documents from one on: above the largest fixed point, where the direction of a document is
// that of its words alone.
void start(Unsolved& some, std::size_t first, const Prior& prior) {
    const double k0 = prior.concentration, strength = prior.strength, rho = prior.cosine;
    double mean[block];
    const std::size_t last = some.filled();
    vectorised([=, &some, &mean](auto) PARASPHERE_LOOP {
        for (std::size_t i = first; i < last; ++i) {
            const double length = std::sqrt(some.q[i]);
            const double total = some.words[i] + strength;
            const double cosine0 = some.m[i] / std::max(length, 1e-300);
            mean[i] = (length + strength * rho) / (total + (total == 0.0 ? 1.0 : 0.0));
            some.length[i] = length;
            some.sine2[i] = k0 * k0 * std::max(1.0 - cosine0 * cosine0, 0.0);
        }
    });
    invert(mean + first, last - first, prior, some.now + first);
    for (std::size_t i = first; i < last; ++i) {
        some.steps[i] = 0.0;
        some.now[i] = some.words[i] > 0.0 ? some.now[i] : 0.0;
        some.low[i] = 0.0;
        some.high[i] = some.now[i];
        some.done[i] = some.now[i] > 0.0 ? 0.0 : 1.0;
    }
}

// One step of each search, by Newton's method if it stays within the bounds, otherwise to a point between them.
template <bool newton>
PARASPHERE_INLINE void step_searches(Unsolved& some, const Prior& prior) {
    const double k0 = prior.concentration, strength = prior.strength, rho = prior.cosine, dim = prior.order.dim;
    const Values &at_norm = some.at_norm, &at_now = some.at_now;
    const std::size_t n = some.filled();
    for (std::size_t i = 0; i < n; ++i) {
        const double m = some.m[i], q = some.q[i], length = some.length[i], now = some.now[i], norm = some.norm[i];
        const double total = some.words[i] + strength;
        const double cosine =
            std::min(std::max((k0 * m + now * q) / std::max(norm * length, 1e-300), -1.0), 1.0);
        const double sine2 = some.sine2[i] / (norm * norm);
        const double versine = cosine > 0.0 ? sine2 / (1.0 + std::abs(cosine)) : 1.0 - cosine;
        const double mean = bessel::mean_length(norm, at_norm.quotient[i], at_norm.rest[i]);
        const double r = (mean * cosine * length + strength * rho) / total;
        double lack = std::max(some.words[i] - length, 0.0) + length * (at_norm.rest[i] + mean * versine);
        lack = (lack + strength * (1.0 - rho)) / total;
        const double bend = at_norm.slope[i] * cosine * cosine + mean / norm * sine2;
        const double rise = q * bend / total;
        double gap = 0.0, slope = 0.0;
        if constexpr (newton) {
            slope = rise - at_now.slope[i];
            gap = r > 0.5 ? at_now.rest[i] - lack
                          : r - bessel::mean_length(now, at_now.quotient[i], at_now.rest[i]);
        } else {
            const double rest = std::max(lack * (2.0 - lack), 1e-300);
            const double image = r * (dim - r * r) / rest;
            const double steep = (dim - 3.0 * r * r) / rest + 2.0 * r * r * (dim - r * r) / (rest * rest);
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
        some.steps[i] += 1.0;
        some.done[i] =
            (r <= 0.0) | (gap == 0.0) | close | !(next > 0.0) | (some.steps[i] == most_steps) ? 1.0 : 0.0;
        some.now[i] = next;
        some.low[i] = low;
        some.high[i] = high;
    }
}

void step(Unsolved& some, const Prior& prior) {
    const std::size_t n = some.filled();
    vectorised([&some, n, k0 = prior.concentration](auto) PARASPHERE_LOOP {
        for (std::size_t i = 0; i < n; ++i) {
            const double square = k0 * k0 + 2.0 * k0 * some.now[i] * some.m[i] + some.now[i] * some.now[i] * some.q[i];
            some.norm[i] = std::sqrt(std::max(square, 1e-300));
        }
    });
    Values &at_norm = some.at_norm, &at_now = some.at_now;
    bessel::lengths_and_slopes(some.norm, n, prior.order, at_norm.quotient, at_norm.rest, at_norm.slope);
    if (prior.newton) {
        bessel::lengths_and_slopes(some.now, n, prior.order, at_now.quotient, at_now.rest, at_now.slope);
    }
    vectorised([&some, &prior](auto) PARASPHERE_LOOP {
        prior.newton ? step_searches<true>(some, prior) : step_searches<false>(some, prior);
    });
}

// Write the results of searches that have ended, and remove them from the columns.
void retire(Unsolved& some, double* kappa) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < some.many; ++i) {
        if (some.done[i] != 0.0) {
            kappa[some.document[i]] = some.now[i];
            continue;
        }
        if (kept != i) {
            for (double* column : {some.m, some.q, some.words, some.length, some.sine2, some.now, some.low, some.high,
                                   some.steps}) {
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
        double cosine = prior.cosine, common = 0.0;
        invert(&cosine, 1, prior, &common);
        std::fill(kappa, kappa + n, common);
        return;
    }
    Unsolved some;
    some.many = 0;
    for (std::size_t next = 0; next < n || some.many > 0;) {
        if (next < n && some.many <= block / 2) {  // the steps of few searches take nearly as long as those of many
            const std::size_t first = some.many;
            for (; next < n && some.many < block; ++next, ++some.many) {
                some.m[some.many] = along[next];
                some.q[some.many] = squared[next];
                some.words[some.many] = lengths[next];
                some.document[some.many] = next;
            }
            for (std::size_t i = some.many; i < some.filled(); ++i) {
                some.m[i] = some.m[first], some.q[i] = some.q[first], some.words[i] = some.words[first];
            }
            start(some, first, prior);
        } else {
            step(some, prior);
            interrupts.worked(some.many * 50);
        }
        retire(some, kappa);
    }
}

void solve_each(const Array<const double>& along, const Array<const double>& squared,
                const Array<const double>& lengths, const PriorFields& given_prior, const Array<double>& kappa) {
    const Prior prior(given_prior);
    squared.expect_size(0, along.count(), "one per document");
    lengths.expect_size(0, along.count(), "one per document");
    kappa.expect_size(0, along.count(), "one per document");
    const Unlocked unlocked(along.count() * 200);
    Interrupts interrupts;
    solve(along.data(), squared.data(), lengths.data(), along.count(), prior, kappa.data(), interrupts);
}

void posteriors(const FloatRows& given_sums, const Array<const double>& squared, const Array<const double>& lengths,
                const Array<const double>& mean, const PriorFields& given_prior, const Array<double>& kappa,
                const Array<double>& concentration, const WritableRows& given_directions) {
    const Prior prior(given_prior);
    std::visit([&](const auto& sums, const auto& directions) {
        const std::size_t n = sums.size(0), dim = sums.size(1);
        squared.expect_size(0, n, "one per document");
        lengths.expect_size(0, n, "one per document");
        kappa.expect_size(0, n, "one per document");
        concentration.expect_size(0, n, "one per document");
        mean.expect_size(0, dim, "as wide as the sums");
        directions.expect_size(0, n, "as many as the sums");
        directions.expect_size(1, dim, "as wide as the sums");
        const Unlocked unlocked(sums.count() * 3 + n * 200);
        Interrupts interrupts;
        const double k0 = prior.concentration;
        std::vector<double> along(n), pulled(dim);
        project_rows(rows_of(sums), mean.data(), along, interrupts);
        solve(along.data(), squared.data(), lengths.data(), n, prior, kappa.data(), interrupts);
        for (std::size_t i = 0; i < n; ++i) {
            const double square = k0 * k0 + 2.0 * k0 * kappa[i] * along[i] + kappa[i] * kappa[i] * squared[i];
            concentration[i] = std::sqrt(std::max(square, 0.0));  // rounding may make a square of 0 negative
        }
        for (std::size_t j = 0; j < dim; ++j) {
            pulled[j] = k0 * mean[j];
        }
        combine_rows(rows_of(sums), kappa.data(), pulled.data(), mean.data(), directions.data(), interrupts);
    }, given_sums, given_directions);
}

}  // namespace

void bind_equations(nb::module_& kernels) {
    kernels.def("solve_each", solve_each, nb::arg("along"), nb::arg("squared"), nb::arg("lengths"), nb::arg("prior"),
                nb::arg("kappa"),
                "Write the word concentrations of documents to ``kappa``, (n_docs,).\n\n"
                "``prior`` is a tuple: its concentration, strength and cosine, whether the mean length is inverted\n"
                "exactly, the constants of the dimension as one array, and the longest mean length.");
    kernels.def("posteriors", posteriors, nb::arg("sums"), nb::arg("squared"), nb::arg("lengths"), nb::arg("mean"),
                nb::arg("prior"), nb::arg("kappa"), nb::arg("concentration"), nb::arg("directions"),
                "Solve documents and write their posteriors: kappa_n, kappa' and the directions mu'.\n\n"
                "``prior`` is that of :func:`solve_each`.");
}

}  // namespace parasphere
