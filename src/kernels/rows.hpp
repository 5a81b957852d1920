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

// Write the inner product of each row with a direction to `along`.
template <typename T>
void project_rows(Rows<const T> rows, const double* direction, std::span<double> along, Interrupts& interrupts);

// Write `shift + factor * row`, divided by its length, for each row; `otherwise` where that is 0. `out` may be `rows`.
template <typename T, typename Out>
void combine_rows(Rows<const T> rows, const double* factors, const double* shift, const double* otherwise, Out* out,
                  Interrupts& interrupts);

}  // namespace parasphere
