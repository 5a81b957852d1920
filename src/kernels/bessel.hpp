// Ratios of modified Bessel functions of a single number: the formulas described in parasphere/sphere/bessel.py. There
// is no branch on the values, so that loops over these functions use SIMD.
//
// `Raised` is true if the order of the series lies 24 above dim/2 - 1; it is fixed when a loop is compiled.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "common.hpp"

namespace parasphere::bessel {

constexpr std::size_t degree = 18;
using Polynomial = std::array<double, degree + 1>;  // highest power first

// The constants of a dimension, as parasphere.sphere.bessel.Order describes them.
struct Order {
    double dim;
    double v;
    double raised;  // 0 or 1
    double log_area;
    Polynomial series;
    Polynomial slope;
    Polynomial bend;

    static constexpr std::size_t size = 4 + 3 * (degree + 1);

    // The constants, packed in this order.
    static Order of(const Array<const double>& packed) {
        packed.expect_size(0, size, "the constants of a dimension");
        Order order{packed[0], packed[1], packed[2], packed[3], {}, {}, {}};
        const double* next = packed.data() + 4;
        for (Polynomial* polynomial : {&order.series, &order.slope, &order.bend}) {
            std::copy(next, next + degree + 1, polynomial->begin());
            next += degree + 1;
        }
        return order;
    }
};

struct Lengths {
    double quotient;  // A / kappa
    double rest;      // 1 - A
};

[[gnu::always_inline]] inline double polynomial(const Polynomial& c, double p) {
    const double p2 = p * p;
    const double p4 = p2 * p2;
    double total = c[0] * p2 + (c[1] * p + c[2]);
    total = total * p4 + ((c[3] * p + c[4]) * p2 + (c[5] * p + c[6]));
    total = total * p4 + ((c[7] * p + c[8]) * p2 + (c[9] * p + c[10]));
    total = total * p4 + ((c[11] * p + c[12]) * p2 + (c[13] * p + c[14]));
    return total * p4 + ((c[15] * p + c[16]) * p2 + (c[17] * p + c[18]));
}

// Bring the results down by 12 orders from `top`.
[[gnu::always_inline]] inline Lengths down(double kappa, double top, Lengths now) {
    const double square = kappa * kappa;
    for (int j = 0; j < 12; ++j) {
        const double twice = 2.0 * (top - j);
        now.quotient = 1.0 / (twice + square * now.quotient);
        now.rest = (twice - kappa * now.rest) * now.quotient;
    }
    return now;
}

struct Slopes {
    double quotient;  // A / kappa
    double slope;     // A'
};

[[gnu::always_inline]] inline Slopes down(double kappa, double top, Slopes now) {
    const double square = kappa * kappa;
    for (int j = 0; j < 12; ++j) {
        const double twice = 2.0 * (top - j);
        now.quotient = 1.0 / (twice + square * now.quotient);
        now.slope = (twice - square * now.slope) * now.quotient * now.quotient;
    }
    return now;
}

struct Products {
    double quotient;  // A / kappa
    double product;   // of the quotients of all orders, scaled to stay near 1
};

[[gnu::always_inline]] inline Products down(double kappa, double top, Products now, double scale) {
    const double square = kappa * kappa;
    for (int j = 0; j < 12; ++j) {
        const double twice = 2.0 * (top - j);
        now.quotient = 1.0 / (twice + square * now.quotient);
        now.product = now.product * (twice * now.quotient * scale);
    }
    return now;
}

template <bool Raised>
[[gnu::always_inline]] inline Lengths lengths(double kappa, const Order& order) {
    const double v = order.v;
    const double h = std::sqrt(v * v + kappa * kappa);
    const double inverse = 1.0 / h;
    const double correction = polynomial(order.slope, v * inverse) * inverse * inverse;
    const double leading = 1.0 / (h + v);
    Lengths found{leading - correction, v * (v / (h + kappa) + 1.0) * leading + kappa * correction};
    if constexpr (Raised) {
        found = down(kappa, v, found);
        found = down(kappa, v - 12, found);
    }
    return found;
}

[[gnu::always_inline]] inline double mean_length(double kappa, Lengths found) {
    const double length = kappa * found.quotient;
    // Two roundings of the same number: near 1 the one computed from 1 - A is correct to the last bit.
    return length + length * ((1.0 - found.rest) - length);
}

template <bool Raised>
[[gnu::always_inline]] inline double mean_length_slope(double kappa, const Order& order) {
    const double v = order.v;
    const double h = std::sqrt(v * v + kappa * kappa);
    const double inverse = 1.0 / h;
    const double p = v * inverse;
    const double leading = 1.0 / (h + v);
    const double cosine = kappa * inverse;  // cosine^2 = 1 - p^2
    const double g = polynomial(order.slope, p);
    const double bend = polynomial(order.bend, p);
    const double slope = p * leading + ((1.0 - 2.0 * p * p) * g + cosine * cosine * bend) * inverse * inverse;
    if constexpr (Raised) {
        Slopes found{leading - g * inverse * inverse, slope};
        found = down(kappa, v, found);
        return down(kappa, v - 12, found).slope;
    }
    return slope;
}

// The terms of Phi - kappa. Three logarithms are taken between the two halves of the formula: a loop that calls a
// function cannot use SIMD, so they are taken in separate loops.
struct ExcessTerms {
    double ratio;    // h / v
    double half;     // (1 + h / v) / 2
    double product;  // of the quotients of the orders below, if the order is raised
    double series;
    double rest;
};

template <bool Raised>
[[gnu::always_inline]] inline ExcessTerms log_excess_terms(double kappa, const Order& order) {
    const double v = order.v;
    const double h = std::sqrt(v * v + kappa * kappa);
    const double inverse = 1.0 / h;
    const double p = v * inverse;
    const double leading = 1.0 / (h + v);
    const double growth = kappa * kappa * leading;  // h - v
    Products found{0.0, 1.0};
    if constexpr (Raised) {
        found.quotient = leading - polynomial(order.slope, p) * inverse * inverse;
        found = down(kappa, v, found, h / v);
        found = down(kappa, v - 12, found, h / v);
    }
    return {h / v, 0.5 + 0.5 * h / v, found.product, polynomial(order.series, p), v * (growth + kappa) / (h + kappa)};
}

template <bool Raised>
[[gnu::always_inline]] inline double log_excess(double series, double rest, double log_ratio, double log_half,
                                                double log_product, const Order& order) {
    double excess = series - order.v * log_half - 0.5 * log_ratio;
    if constexpr (Raised) {
        excess = excess + 24 * log_ratio - log_product;
    }
    return order.log_area + (excess - rest);
}

[[gnu::always_inline]] inline double banerjee(double length, const Order& order) {
    return length * (order.dim - length * length) / ((1.0 - length) * (1.0 + length));
}

// One step towards B(A(kappa)) = target.
template <bool Raised>
[[gnu::always_inline]] inline double newton(double kappa, double target, const Order& order) {
    const Lengths found = lengths<Raised>(kappa, order);
    const double a = kappa * found.quotient;
    const double square = a * a;
    const double y = found.rest * (1.0 + a);  // 1 - A^2
    const double slope = y - (order.dim - 1.0) * found.quotient;
    const double miss = target * y - a * (order.dim - square);
    return kappa + miss * y / ((order.dim + square * (order.dim - 3.0 + square)) * slope);
}

template <bool Raised>
[[gnu::always_inline]] inline double concentration(double length, const Order& order) {
    const double target = banerjee(length, order);
    double kappa = newton<Raised>(target, target, order);
    kappa = newton<Raised>(kappa, target, order);
    if constexpr (Raised) {
        kappa = newton<Raised>(kappa, target, order);
    }
    return kappa;
}

}  // namespace parasphere::bessel
