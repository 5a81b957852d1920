// Loops that are compiled once per level of processors, and the short vectors of numbers that they use.
//
// All levels compute the same bits: additions keep their order, and no product is fused with a sum. Where a loop adds
// into several sums at once, their number is fixed, whatever the width of the registers.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#if defined(__GNUC__)
// Vectors are only passed to inlined functions, so that warnings of their calling convention do not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
#define PARASPHERE_INLINE inline __attribute__((always_inline))
#define PARASPHERE_LOOP __attribute__((always_inline))  // after the parameters of a lambda
#else
#define PARASPHERE_INLINE inline
#define PARASPHERE_LOOP
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#include <cpuid.h>
#endif

namespace parasphere {

// The bytes of a vector register, as a constant that is passed to loops.
template <std::size_t bytes>
using Register = std::integral_constant<std::size_t, bytes>;

#if defined(__GNUC__) && defined(__x86_64__)

// The bytes of the widest vector registers that loops are compiled for and that processor and system have. In place of
// __builtin_cpu_supports, which cannot be linked with the clang of zig.
inline const std::size_t widest_register = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
        return 16;
    }
    unsigned kept = 0;  // the registers that the system saves
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(d) : "c"(0));
    if ((kept & 0x6) != 0x6 || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) {
        return 16;
    }
    constexpr unsigned avx2 = bit_AVX2 | bit_BMI | bit_BMI2;
    constexpr unsigned avx512 = avx2 | bit_AVX512F | bit_AVX512VL | bit_AVX512BW | bit_AVX512DQ;
    return (kept & 0xE6) == 0xE6 && (b & avx512) == avx512 ? 64 : (b & avx2) == avx2 ? 32 : 16;
}();

template <typename Loop>
__attribute__((target("avx2,bmi,bmi2"))) decltype(auto) at_avx2(Loop loop) {
    return loop(Register<32>());
}

template <typename Loop>
__attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,bmi,bmi2"))) decltype(auto) at_avx512(Loop loop) {
    return loop(Register<64>());
}

// Run a loop, compiled for the processor: a lambda marked with PARASPHERE_LOOP, that takes a Register. It should
// capture by value, so that the compiler knows that nothing else changes what it reads.
template <typename Loop>
decltype(auto) vectorised(Loop loop) {
    return widest_register == 64 ? at_avx512(loop) : widest_register == 32 ? at_avx2(loop) : loop(Register<16>());
}

#else

template <typename Loop>
decltype(auto) vectorised(Loop loop) {
    return loop(Register<16>());
}

#endif

#if defined(__GNUC__)

template <typename T, std::size_t count>
struct LanesOf {
    typedef T Type __attribute__((vector_size(count * sizeof(T))));
};

template <typename T>
struct LanesOf<T, 1> {
    using Type = T;
};

// A vector of numbers. It should fit a register: compilers keep longer ones in memory.
template <typename T, std::size_t count>
using Lanes = typename LanesOf<T, count>::Type;

#else

template <typename T, std::size_t count>
struct Lanes {
    T lane[count];

    friend Lanes operator+(Lanes one, const Lanes& other) {
        for (std::size_t i = 0; i < count; ++i) {
            one.lane[i] += other.lane[i];
        }
        return one;
    }
    friend Lanes operator*(T factor, Lanes other) {
        for (T& number : other.lane) {
            number *= factor;
        }
        return other;
    }
    friend Lanes operator*(Lanes one, const Lanes& other) {
        for (std::size_t i = 0; i < count; ++i) {
            one.lane[i] *= other.lane[i];
        }
        return one;
    }
};

#endif

// Read numbers, and convert them to T.
template <typename T, std::size_t count, typename From>
PARASPHERE_INLINE Lanes<T, count> load(const From* from) {
    if constexpr (std::is_same_v<T, From>) {
        Lanes<T, count> numbers;
        std::memcpy(&numbers, from, sizeof numbers);
        return numbers;
    } else if constexpr (count == 8) {  // written out, as compilers make slower code of a loop
        return Lanes<T, 8>{T(from[0]), T(from[1]), T(from[2]), T(from[3]), T(from[4]), T(from[5]), T(from[6]), T(from[7])};
    } else if constexpr (count == 4) {
        return Lanes<T, 4>{T(from[0]), T(from[1]), T(from[2]), T(from[3])};
    } else if constexpr (count == 2) {
        return Lanes<T, 2>{T(from[0]), T(from[1])};
    } else {
        static_assert(count == 1);
        return Lanes<T, 1>{T(from[0])};
    }
}

template <typename T, typename Numbers>
PARASPHERE_INLINE void store(T* to, const Numbers& numbers) {
    std::memcpy(to, &numbers, sizeof numbers);
}

}  // namespace parasphere
