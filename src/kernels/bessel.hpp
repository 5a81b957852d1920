// Ratios of modified Bessel functions of many numbers: the formulas described in parasphere/sphere/bessel.py.
//
// There is no branch on the values, so that the loops over numbers use SIMD. If the order is raised, a series of an
// order 24 above dim/2 - 1 is brought down to it. Numbers are processed in blocks that stay in the processor's cache.
#pragma once

#include <array>
#include <cstddef>

#include "common.hpp"

namespace parasphere::bessel {

constexpr std::size_t block = 256;  // numbers at most that a function below is called with
constexpr std::size_t degree = 18;
using Polynomial = std::array<double, degree + 1>;  // highest power first

// The constants of a dimension, as parasphere.sphere.bessel.Order describes them.
struct Order {
    double dim;
    double v;
    bool raised;
    double log_area;
    Polynomial series;
    Polynomial slope;
    Polynomial bend;

    // The constants, packed in this order.
    explicit Order(const Array<const double>& packed);
};

// Write A / kappa and 1 - A, with A the mean length.
void lengths(const double* kappa, std::size_t n, const Order& order, double* quotient, double* rest);

// The same, and write A'.
void lengths_and_slopes(const double* kappa, std::size_t n, const Order& order, double* quotient, double* rest,
                        double* slope);

// Write the concentrations of mean lengths: by Banerjee's formula, or exactly.
void banerjee(const double* length, std::size_t n, const Order& order, double* kappa);
void concentrations(const double* length, std::size_t n, const Order& order, double* kappa);

// A of a number with these values. Two roundings of the same number: near 1 the one computed from 1 - A is correct to
// the last bit.
PARASPHERE_INLINE double mean_length(double kappa, double quotient, double rest) {
    const double length = kappa * quotient;
    return length + length * ((1.0 - rest) - length);
}

}  // namespace parasphere::bessel
