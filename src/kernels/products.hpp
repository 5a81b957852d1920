// Inner products of float32 rows: sixteen partial sums of every sixteenth product, which are then added in pairs. The
// bits of a product depend on its two rows alone: not on how many are computed together, nor on the processor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace parasphere {

constexpr std::size_t product_lanes = 16;  // partial sums, and queries that are multiplied together

// The width of rows that are padded with zeros to whole lanes.
constexpr std::size_t padded_width(std::size_t dim) { return (dim + product_lanes - 1) / product_lanes * product_lanes; }

// Write the product of a padded row with each of several: `products[i]` is that with row i.
void multiply_row(const float* row, const float* rows, std::size_t many, std::size_t width, float* products);

// Write the products of sixteen padded queries, given column by column (width, 16), with each of several padded rows:
// `products[16 * i + k]` is that of query k and row i.
void multiply_sixteen(const float* columns, const float* rows, std::size_t many, std::size_t width, float* products);

// Write numbers of half precision, given as their bits, as float32; infinities become large numbers.
void widen(const std::uint16_t* halves, float* numbers, std::size_t many);

}  // namespace parasphere
