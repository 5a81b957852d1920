// Loops over the rows of a matrix that several kernels share.
#pragma once

#include <cstddef>
#include <span>

#include "common.hpp"

namespace parasphere {

// A matrix of float32 or float64, row after row.
template <typename T>
struct Rows {
    T* data;
    std::size_t many;
    std::size_t dim;

    std::span<T> row(std::size_t i) const { return {data + i * dim, dim}; }
};

template <typename T>
Rows<T> rows_of(const Array<T, 2>& array) {
    return {array.data(), array.size(0), array.size(1)};
}

// Add the rows times their weights to `total`, in order.
void add_rows(double* total, const float* const* rows, const double* weights, std::size_t many, std::size_t dim);
void add_rows(double* total, const double* const* rows, const double* weights, std::size_t many, std::size_t dim);

// Write the inner product of each row with a direction to `along`.
template <typename T>
void project_rows(Rows<const T> rows, const double* direction, std::span<double> along, Interrupts& interrupts);

// Write `shift + factor * row`, divided by its length, for each row; `otherwise` where that is 0. `out` may be `rows`.
template <typename T, typename Out>
void combine_rows(Rows<const T> rows, const double* factors, const double* shift, const double* otherwise, Out* out,
                  Interrupts& interrupts);

// Write `factor * row - shift` for each row, times a square matrix unless that is null; 0 for those that are silent.
// `out` may be `rows`.
template <typename T, typename Out>
void map_rows(Rows<const T> rows, const double* factors, const double* shift, const double* matrix,
              const std::uint8_t* silent,
              Out* out, Interrupts& interrupts);

}  // namespace parasphere
