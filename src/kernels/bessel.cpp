#include "bessel.hpp"

#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>

namespace parasphere {
namespace bessel {
namespace {

constexpr int raised_by = 24;

PARASPHERE_INLINE double polynomial(const Polynomial& c, double p) {
    const double p2 = p * p;
    const double p4 = p2 * p2;
    double total = c[0] * p2 + (c[1] * p + c[2]);
    total = total * p4 + ((c[3] * p + c[4]) * p2 + (c[5] * p + c[6]));
    total = total * p4 + ((c[7] * p + c[8]) * p2 + (c[9] * p + c[10]));
    total = total * p4 + ((c[11] * p + c[12]) * p2 + (c[13] * p + c[14]));
    return total * p4 + ((c[15] * p + c[16]) * p2 + (c[17] * p + c[18]));
}

// Write the values at the order of the series; slopes unless their place is null.
template <bool sloped>
PARASPHERE_INLINE void add_series(const double* __restrict kappa, std::size_t n, const Order& given,
                                  double* __restrict quotient, double* __restrict rest, double* __restrict slope) {
    const Order order = given;  // a copy, which cannot alias what is written
    const double v = order.v;
    for (std::size_t i = 0; i < n; ++i) {
        const double h = std::sqrt(v * v + kappa[i] * kappa[i]);
        const double inverse = 1.0 / h;
        const double p = v * inverse;
        const double g = polynomial(order.slope, p);
        const double correction = g * inverse * inverse;
        const double leading = 1.0 / (h + v);
        quotient[i] = leading - correction;
        rest[i] = v * (v / (h + kappa[i]) + 1.0) * leading + kappa[i] * correction;
        if constexpr (sloped) {
            const double cosine = kappa[i] * inverse;  // cosine^2 = 1 - p^2
            const double bend = polynomial(order.bend, p);
            slope[i] = p * leading + ((1.0 - 2.0 * p * p) * g + cosine * cosine * bend) * inverse * inverse;
        }
    }
}

// Bring the values down by the orders by which they are raised.
template <bool sloped>
PARASPHERE_INLINE void lower(const double* __restrict kappa, std::size_t n, double v, double* __restrict quotient,
                             double* __restrict rest, double* __restrict slope) {
    for (int j = 0; j < raised_by; ++j) {
        const double twice = 2.0 * (v - j);
        for (std::size_t i = 0; i < n; ++i) {
            const double square = kappa[i] * kappa[i];
            const double next = 1.0 / (twice + square * quotient[i]);
            rest[i] = (twice - kappa[i] * rest[i]) * next;
            if constexpr (sloped) {
                slope[i] = (twice - square * slope[i]) * next * next;
            }
            quotient[i] = next;
        }
    }
}

// Write Phi - kappa.
PARASPHERE_INLINE void write_log_excess(const double* __restrict kappa, std::size_t n, const Order& given,
                                        double* __restrict excess) {
    const Order order = given;
    const double v = order.v;
    double ratio[block];  // h / v
    double half[block];   // (1 + h / v) / 2
    double series[block], rest[block];
    double quotient[block], product[block];  // of the quotients of all orders, scaled to stay near 1
    for (std::size_t i = 0; i < n; ++i) {
        const double h = std::sqrt(v * v + kappa[i] * kappa[i]);
        const double inverse = 1.0 / h;
        const double p = v * inverse;
        const double leading = 1.0 / (h + v);
        const double growth = kappa[i] * kappa[i] * leading;  // h - v
        ratio[i] = h / v;
        half[i] = 0.5 + 0.5 * h / v;
        series[i] = polynomial(order.series, p);
        rest[i] = v * (growth + kappa[i]) / (h + kappa[i]);
        product[i] = 1.0;
    }
    if (order.raised) {
        double lower_rest[block];
        add_series<false>(kappa, n, order, quotient, lower_rest, nullptr);
        for (int j = 0; j < raised_by; ++j) {
            const double twice = 2.0 * (v - j);
            for (std::size_t i = 0; i < n; ++i) {
                quotient[i] = 1.0 / (twice + kappa[i] * kappa[i] * quotient[i]);
                product[i] = product[i] * (twice * quotient[i] * ratio[i]);
            }
        }
    }
    for (std::size_t i = 0; i < n; ++i) {  // a loop that calls a function cannot use SIMD
        ratio[i] = std::log(ratio[i]);
        half[i] = std::log(half[i]);
        product[i] = order.raised ? std::log(product[i]) : 0.0;
    }
    for (std::size_t i = 0; i < n; ++i) {
        double sum = series[i] - v * half[i] - 0.5 * ratio[i];
        sum = order.raised ? sum + raised_by * ratio[i] - product[i] : sum;
        excess[i] = order.log_area + (sum - rest[i]);
    }
}

void log_excess(const double* kappa, std::size_t n, const Order& order, double* excess) {
    vectorised([=, &order](auto) PARASPHERE_LOOP { write_log_excess(kappa, n, order, excess); });
}

}  // namespace

Order::Order(const Array<const double>& packed) {
    packed.expect_size(0, 4 + 3 * (degree + 1), "the constants of a dimension");
    dim = packed[0];
    v = packed[1];
    raised = packed[2] != 0.0;
    log_area = packed[3];
    const double* next = packed.data() + 4;
    for (Polynomial* polynomial : {&series, &slope, &bend}) {
        std::copy(next, next + degree + 1, polynomial->begin());
        next += degree + 1;
    }
}

void lengths(const double* kappa, std::size_t n, const Order& order, double* quotient, double* rest) {
    vectorised([=, &order](auto) PARASPHERE_LOOP {
        add_series<false>(kappa, n, order, quotient, rest, nullptr);
        if (order.raised) {
            lower<false>(kappa, n, order.v, quotient, rest, nullptr);
        }
    });
}

void lengths_and_slopes(const double* kappa, std::size_t n, const Order& order, double* quotient, double* rest,
                        double* slope) {
    vectorised([=, &order](auto) PARASPHERE_LOOP {
        add_series<true>(kappa, n, order, quotient, rest, slope);
        if (order.raised) {
            lower<true>(kappa, n, order.v, quotient, rest, slope);
        }
    });
}

void banerjee(const double* length, std::size_t n, const Order& order, double* kappa) {
    vectorised([=, dim = order.dim](auto) PARASPHERE_LOOP {
        for (std::size_t i = 0; i < n; ++i) {
            kappa[i] = length[i] * (dim - length[i] * length[i]) / ((1.0 - length[i]) * (1.0 + length[i]));
        }
    });
}

void concentrations(const double* length, std::size_t n, const Order& order, double* kappa) {
    double target[block], quotient[block], rest[block];
    banerjee(length, n, order, target);
    std::copy(target, target + n, kappa);
    for (int step = 0; step < (order.raised ? 3 : 2); ++step) {  // of Newton's method towards B(A(kappa)) = target
        lengths(kappa, n, order, quotient, rest);
        vectorised([=, dim = order.dim, &target, &quotient, &rest](auto) PARASPHERE_LOOP {
            for (std::size_t i = 0; i < n; ++i) {
                const double a = kappa[i] * quotient[i];
                const double square = a * a;
                const double y = rest[i] * (1.0 + a);  // 1 - A^2
                const double slope = y - (dim - 1.0) * quotient[i];
                const double miss = target[i] * y - a * (dim - square);
                kappa[i] = kappa[i] + miss * y / ((dim + square * (dim - 3.0 + square)) * slope);
            }
        });
    }
}

}  // namespace bessel

namespace {

using bessel::Order;

struct Values {
    double quotient[bessel::block], rest[bessel::block], slope[bessel::block];
};

struct Formula {
    std::string_view name;
    void (*write)(const double* x, std::size_t n, const Order& order, double* out);
};

constexpr Formula formulas[] = {
    {"quotient",
     [](const double* x, std::size_t n, const Order& order, double* out) {
         Values found;
         bessel::lengths(x, n, order, out, found.rest);
     }},
    {"shortfall",
     [](const double* x, std::size_t n, const Order& order, double* out) {
         Values found;
         bessel::lengths(x, n, order, found.quotient, out);
     }},
    {"mean_length",
     [](const double* x, std::size_t n, const Order& order, double* out) {
         Values found;
         bessel::lengths(x, n, order, found.quotient, found.rest);
         for (std::size_t i = 0; i < n; ++i) {
             out[i] = bessel::mean_length(x[i], found.quotient[i], found.rest[i]);
         }
     }},
    {"mean_length_slope",
     [](const double* x, std::size_t n, const Order& order, double* out) {
         Values found;
         bessel::lengths_and_slopes(x, n, order, found.quotient, found.rest, out);
     }},
    {"log_excess", bessel::log_excess},
    {"log_partition",
     [](const double* x, std::size_t n, const Order& order, double* out) {
         bessel::log_excess(x, n, order, out);
         std::transform(x, x + n, out, out, std::plus());
     }},
    {"entropy",
     [](const double* x, std::size_t n, const Order& order, double* out) {
         Values found;
         bessel::log_excess(x, n, order, out);
         bessel::lengths(x, n, order, found.quotient, found.rest);
         for (std::size_t i = 0; i < n; ++i) {
             out[i] = out[i] + x[i] * found.rest[i];
         }
     }},
    {"banerjee", bessel::banerjee},
    {"concentration", bessel::concentrations},
};

void apply_formula(std::string_view name, const Array<const double>& x, const Array<const double>& packed,
                   const Array<double>& out) {
    const auto* formula = std::ranges::find(formulas, name, &Formula::name);
    if (formula == std::end(formulas)) {
        refuse("formula must be the name of one of bessel's formulas, not '", name, "'");
    }
    const Order order(packed);
    out.expect_size(0, x.count(), "as many as x");
    const Unlocked unlocked(x.count() * 20);
    Interrupts interrupts;
    double part[bessel::block];  // a copy, as x may share memory with out
    for (std::size_t begin = 0; begin < x.count(); begin += bessel::block) {
        const std::size_t n = std::min(bessel::block, x.count() - begin);
        std::copy_n(x.data() + begin, n, part);
        formula->write(part, n, order, out.data() + begin);
        interrupts.worked(n * 20);
    }
}

}  // namespace

void bind_bessel(nb::module_& kernels) {
    kernels.def("apply_formula", apply_formula, nb::arg("formula"), nb::arg("x"), nb::arg("order"), nb::arg("out"),
                "Write the values of a formula of :mod:`parasphere.sphere.bessel`, chosen by its name, for ``x``.");
}

}  // namespace parasphere
