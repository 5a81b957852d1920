// Short vectors of float64 with elementwise operations.
#pragma once

#include <cstddef>

namespace parasphere {

#if defined(__GNUC__) || defined(__clang__)

template <std::size_t Width>
struct LanesOf {
    typedef double Type __attribute__((vector_size(8 * Width)));
};

template <>
struct LanesOf<1> {
    using Type = double;
};

// `Width` float64, in one register if the processor has registers of this width.
template <std::size_t Width>
using Lanes = typename LanesOf<Width>::Type;

#else

template <std::size_t Width>
struct Lanes {
    double values[Width];

    Lanes& operator+=(const Lanes& other) {
        for (std::size_t k = 0; k < Width; ++k) {
            values[k] += other.values[k];
        }
        return *this;
    }
    Lanes& operator*=(double factor) {
        for (double& value : values) {
            value *= factor;
        }
        return *this;
    }
};

#endif

// Read numbers of either precision as float64. Written out, as compilers make slower code of a loop.
template <std::size_t Width, typename T>
[[gnu::always_inline]] inline void read_lanes(const T* p, Lanes<Width>& lanes) {
    if constexpr (Width == 8) {
        lanes = Lanes<8>{double(p[0]), double(p[1]), double(p[2]), double(p[3]),
                         double(p[4]), double(p[5]), double(p[6]), double(p[7])};
    } else if constexpr (Width == 4) {
        lanes = Lanes<4>{double(p[0]), double(p[1]), double(p[2]), double(p[3])};
    } else if constexpr (Width == 2) {
        lanes = Lanes<2>{double(p[0]), double(p[1])};
    } else {
        static_assert(Width == 1);
        lanes = Lanes<1>{double(p[0])};
    }
}

}  // namespace parasphere
