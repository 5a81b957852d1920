// Inner products of float32 rows; see products.hpp.
#include "products.hpp"

#include <bit>

#include "lanes.hpp"

namespace parasphere {
namespace {

// Write the products of a row with several, whose sixteen sums are added in pairs: the second eight to the first, then
// the second four, and so on.
template <std::size_t width, std::size_t rows>
PARASPHERE_INLINE void multiply_some(const float* row, const float* others, std::size_t size, float* products) {
    constexpr std::size_t parts = product_lanes / width;
    Lanes<float, width> sums[rows][parts] = {};
    for (std::size_t x = 0; x < size; x += product_lanes) {
        for (std::size_t part = 0; part < parts; ++part) {
            const auto numbers = load<float, width>(row + x + part * width);
            for (std::size_t i = 0; i < rows; ++i) {
                sums[i][part] = sums[i][part] + numbers * load<float, width>(others + i * size + x + part * width);
            }
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        float kept[product_lanes];
        for (std::size_t part = 0; part < parts; ++part) {
            store(kept + part * width, sums[i][part]);
        }
        float four[4];
        for (std::size_t k = 0; k < 4; ++k) {
            four[k] = (kept[k] + kept[k + 8]) + (kept[k + 4] + kept[k + 12]);
        }
        products[i] = (four[0] + four[2]) + (four[1] + four[3]);
    }
}

// Each lane is a query, and the sixteen sums of its product are in sixteen registers.
template <std::size_t width>
PARASPHERE_INLINE void multiply_queries(const float* columns, const float* row, std::size_t size, float* products) {
    constexpr std::size_t held = width == product_lanes ? 16 : 8;  // sums that fit the registers
    for (std::size_t lane = 0; lane < product_lanes; lane += width) {
        Lanes<float, width> kept[product_lanes];
        for (std::size_t first = 0; first < product_lanes; first += held) {
            Lanes<float, width> sums[held] = {};
            for (std::size_t x = first; x < size; x += product_lanes) {
                for (std::size_t k = 0; k < held; ++k) {
                    sums[k] = sums[k] + row[x + k] * load<float, width>(columns + (x + k) * product_lanes + lane);
                }
            }
            for (std::size_t k = 0; k < held; ++k) {
                kept[first + k] = sums[k];
            }
        }
        for (std::size_t half = product_lanes / 2; half > 0; half /= 2) {
            for (std::size_t k = 0; k < half; ++k) {
                kept[k] = kept[k] + kept[k + half];
            }
        }
        store(products + lane, kept[0]);
    }
}

}  // namespace

void multiply_row(const float* row, const float* rows, std::size_t many, std::size_t width, float* products) {
    vectorised([=](auto bytes) PARASPHERE_LOOP {
        constexpr std::size_t lanes = bytes / sizeof(float), together = lanes == product_lanes ? 4 : 2;
        std::size_t i = 0;
        for (; i + together <= many; i += together) {
            multiply_some<lanes, together>(row, rows + i * width, width, products + i);
        }
        for (; i < many; ++i) {
            multiply_some<lanes, 1>(row, rows + i * width, width, products + i);
        }
    });
}

void multiply_sixteen(const float* columns, const float* rows, std::size_t many, std::size_t width, float* products) {
    vectorised([=](auto bytes) PARASPHERE_LOOP {
        for (std::size_t i = 0; i < many; ++i) {
            multiply_queries<bytes / sizeof(float)>(columns, rows + i * width, width, products + i * product_lanes);
        }
    });
}

void widen(const std::uint16_t* halves, float* numbers, std::size_t many) {
    constexpr float scale = 0x1p112F;  // the difference of the biases of both exponents
    vectorised([=](auto) PARASPHERE_LOOP {
        for (std::size_t i = 0; i < many; ++i) {
            const std::uint32_t bits = halves[i];
            const float size = std::bit_cast<float>((bits & 0x7FFF) << 13) * scale;
            numbers[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | (bits & 0x8000) << 16);
        }
    });
}

}  // namespace parasphere
