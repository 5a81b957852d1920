// Shared by all kernels: array arguments, checked indices, and classes by which long loops release Python's lock and
// stop for Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "lanes.hpp"

namespace parasphere {

namespace nb = nanobind;

// A part of a message: text or a number.
using MessagePart = std::variant<std::string_view, std::int64_t, std::uint64_t, double>;

[[noreturn]] void refuse(std::initializer_list<MessagePart> parts);

// Raise a ValueError whose message is the concatenated parts.
template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
    const auto part = [](const auto& value) -> MessagePart {
        if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(value)>>) {
            return static_cast<double>(value);
        } else if constexpr (std::is_signed_v<std::remove_cvref_t<decltype(value)>>) {
            return std::int64_t{value};
        } else if constexpr (std::is_unsigned_v<std::remove_cvref_t<decltype(value)>>) {
            return std::uint64_t{value};
        } else {
            return std::string_view(value);
        }
    };
    refuse({part(parts)...});
}

// The contiguous memory of an array that is passed to a kernel; it is held until this is destroyed, which requires
// Python's lock.
class Memory {
public:
    // What the memory must hold: numbers of one of some kinds (of the buffer protocol) and a size, along some axes.
    struct Due {
        std::string_view kinds;
        std::size_t item_size;
        std::size_t n_axes;
        bool writable;
    };

    Memory() = default;
    Memory(Memory&& other) noexcept
        : buffer_(std::exchange(other.buffer_, nullptr)), copy_(std::move(other.copy_)), data_(other.data_) {}
    Memory& operator=(Memory&& other) noexcept {
        std::swap(buffer_, other.buffer_);
        std::swap(copy_, other.copy_);
        std::swap(data_, other.data_);
        return *this;
    }
    ~Memory();

    // Take the memory of an object, and write the sizes of its axes; return whether it is what is due.
    bool take(nb::handle given, const Due& due, std::size_t* shape);
    void* data() const { return data_; }

private:
    Py_buffer* buffer_ = nullptr;
    std::unique_ptr<std::byte[]> copy_;  // if the numbers are not aligned
    void* data_ = nullptr;
};

// A contiguous array of N axes that is an argument of a kernel. It must have the type T and, unless T is const, be
// writable: nothing is converted. The kernel must check the sizes: see expect_size.
//
// The signature is that of nb::ndarray, which would ask numpy for a DLPack capsule; this takes its buffer, which is 0.2
// microseconds faster per array: a tenth of the time to transform a short text.
template <typename T, std::size_t N = 1>
class Array {
public:
    using Number = std::remove_const_t<T>;

    // Take the memory of an object, and return whether it is such an array.
    bool take(nb::handle given) {
        constexpr std::string_view kinds = std::is_same_v<Number, bool>        ? "?"
                                           : std::is_floating_point_v<Number> ? "fd"
                                           : std::is_signed_v<Number>         ? "bhilq"
                                                                              : "BHILQ";
        const bool taken = memory_.take(given, {kinds, sizeof(T), N, !std::is_const_v<T>}, shape_.data());
        data_ = static_cast<T*>(memory_.data());
        return taken;
    }

    T* data() const { return data_; }
    std::size_t size(std::size_t axis) const { return shape_[axis]; }
    // The total number of entries.
    std::size_t count() const {
        std::size_t product = 1;
        for (const std::size_t size : shape_) {
            product *= size;
        }
        return product;
    }
    // The entries as bytes: Python's bools need not be 0 or 1, as C++ requires of bool.
    const std::uint8_t* bytes() const
        requires(std::is_same_v<Number, bool>)
    {
        return reinterpret_cast<const std::uint8_t*>(data_);
    }
    std::span<T> all() const { return {data_, count()}; }
    T& operator[](std::size_t i) const
        requires(N == 1)
    {
        return data_[i];
    }
    std::span<T> row(std::size_t i) const
        requires(N == 2)
    {
        return {data_ + i * shape_[1], shape_[1]};
    }

    // Raise unless an axis has this size; `why` explains it, as in "one per document".
    void expect_size(std::size_t axis, std::size_t due, const char* why) const {
        if (shape_[axis] != due) {
            refuse("an array must have size ", due, " along axis ", axis, " (", why, "), not ", shape_[axis]);
        }
    }

private:
    Memory memory_;
    T* data_ = nullptr;
    std::array<std::size_t, N> shape_{};
};

// Rows of float32 or float64; std::visit calls a function with the array.
using FloatRows = std::variant<Array<const float, 2>, Array<const double, 2>>;
using WritableRows = std::variant<Array<float, 2>, Array<double, 2>>;

// Raise if an array that is written to shares memory with one that must not change.
template <typename One, std::size_t N, typename Other, std::size_t M>
void expect_apart(const Array<One, N>& written, const char* name, const Array<Other, M>& kept, const char* other) {
    const auto begin = [](const auto& array) { return reinterpret_cast<std::uintptr_t>(array.data()); };
    const auto end = [&](const auto& array) { return begin(array) + array.count() * sizeof(*array.data()); };
    if (begin(written) < end(kept) && begin(kept) < end(written)) {
        refuse(name, " is written to, and must not share memory with ", other);
    }
}

// Indices may come from a damaged file, or change while a loop runs, as Python may pass the same array twice: each is
// checked when it is used, and the checked copy is used.

// Return an index after checking that it is below a limit.
template <typename Integer>
std::size_t index_below(std::size_t limit, Integer index, const char* name) {
    if (index < 0 || static_cast<std::uint64_t>(index) >= limit) {
        refuse(name, " must be from 0 to below ", limit, ", not ", index);
    }
    return static_cast<std::size_t>(index);
}

// Positions from `begin` to before `end`.
struct Range {
    std::size_t begin, end;
    std::size_t size() const { return end - begin; }
};

// Return the range between two numbers after checking that it lies within this number of entries.
template <typename Integer>
Range range_within(std::size_t entries, Integer begin, Integer end, const char* name) {
    if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > entries) {
        refuse(name, " must rise from 0 to at most ", entries, ", but ", end, " follows ", begin);
    }
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

// Prefetch the cache line at an address. Nothing is read, so any address is valid. Functions that only prefetch must be
// inlined too: the compiler assumes that calls of them have no effect, and drops them.
PARASPHERE_INLINE void prefetch(const void* place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#else
    static_cast<void>(place);
#endif
}

// Releases Python's lock during its lifetime, if there is enough work: for a short text, taking the lock again might
// take longer than the work. `work` is in nanoseconds, approximately.
class Unlocked {
public:
    explicit Unlocked(std::size_t work) {
        if (work >= 20'000) {
            released_.emplace();
        }
    }

private:
    std::optional<nb::gil_scoped_release> released_;
};

// Lets a long loop stop for Ctrl-C: the loop calls `worked` often, which throws if there was a signal. Create one per
// call of a kernel, and use it in one thread only.
class Interrupts {
public:
    // `amount` is in nanoseconds, approximately.
    void worked(std::size_t amount) {
        since_look_ += amount;
        if (since_look_ >= 1'000'000) {
            look();
        }
    }

private:
    using Clock = std::chrono::steady_clock;

    void look() {
        since_look_ = 0;
        const auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(100)) {
            return;
        }
        last_ = now;
        nb::gil_scoped_acquire locked;
        if (PyErr_CheckSignals() != 0) {
            throw nb::python_error();
        }
    }

    std::size_t since_look_ = 0;
    Clock::time_point last_ = Clock::now();
};

}  // namespace parasphere

template <typename T, std::size_t N>
struct nanobind::detail::type_caster<parasphere::Array<T, N>> {
    using Given = parasphere::Array<T, N>;
    NB_TYPE_CASTER(Given, (make_caster<ndarray<T, ndim<N>, c_contig, device::cpu>>::Name))

    bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
        return value.take(source);
    }
};
