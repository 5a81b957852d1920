// Shared by all kernels: checked array arguments, the macro for vectorised functions, and classes by which long loops
// release Python's lock and stop for Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// Functions marked with PARASPHERE_VECTORISED are compiled once per level of x86-64, and the best one for the processor
// is chosen when the library is loaded. Additions keep their order, so that all versions compute the same bits. This
// needs GCC 12, the first to know the levels, and glibc, whose loader can choose. PARASPHERE_TARGET marks a definition
// of a function for one level, where there is one per level.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define PARASPHERE_VECTORISED \
    __attribute__((target_clones("default", "arch=x86-64-v2", "arch=x86-64-v3", "arch=x86-64-v4")))
#define PARASPHERE_TARGET(level) __attribute__((target(level)))
#else
#define PARASPHERE_VECTORISED
#endif
#ifdef PARASPHERE_SANITIZED  // sanitizers are not initialised yet when the loader chooses
#undef PARASPHERE_VECTORISED
#define PARASPHERE_VECTORISED
#endif

namespace parasphere {

namespace nb = nanobind;

// The name of an argument, for `def`. None is passed on to the kernel, which raises the error.
inline auto argument(const char* name) { return nb::arg(name).none(); }

// Raise a ValueError whose message is the concatenated parts.
template <typename... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
    std::ostringstream message;
    (message << ... << parts);
    throw nb::value_error(message.str().c_str());
}

// The name that numpy gives to a type.
template <typename T>
constexpr const char* type_name() {
    using Number = std::remove_const_t<T>;
    if constexpr (std::is_same_v<Number, bool>) {
        return "bool";
    } else if constexpr (std::is_same_v<Number, float>) {
        return "float32";
    } else if constexpr (std::is_same_v<Number, double>) {
        return "float64";
    } else if constexpr (std::is_signed_v<Number>) {
        return sizeof(Number) == 1 ? "int8" : sizeof(Number) == 2 ? "int16" : sizeof(Number) == 4 ? "int32" : "int64";
    } else {
        return sizeof(Number) == 1   ? "uint8"
               : sizeof(Number) == 2 ? "uint16"
               : sizeof(Number) == 4 ? "uint32"
                                     : "uint64";
    }
}

// The memory of a Python object, held until this is destroyed, which requires Python's lock.
class Buffer {
public:
    Buffer(nb::handle given, const char* name) {
        if (PyObject_GetBuffer(given.ptr(), &view_, PyBUF_FULL_RO) != 0) {
            PyErr_Clear();
            refuse(name, " must be an array, not ", kind_of(given));
        }
        held_ = true;
    }
    Buffer(Buffer&& other) noexcept : view_(other.view_), held_(std::exchange(other.held_, false)) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Buffer& operator=(Buffer&&) = delete;
    ~Buffer() {
        if (held_) {
            PyBuffer_Release(&view_);
        }
    }

    const Py_buffer& view() const { return view_; }

    template <typename T>
    bool holds() const {
        using Number = std::remove_const_t<T>;
        if (view_.itemsize != static_cast<Py_ssize_t>(sizeof(Number))) {
            return false;
        }
        const char* format = view_.format == nullptr ? "B" : view_.format;
        if (*format == '@' || *format == '=' || (*format == '<' && native_is_little)) {
            ++format;
        }
        if (format[0] == '\0' || format[1] != '\0') {
            return false;
        }
        const std::string_view kinds = std::is_same_v<Number, bool>        ? "?"
                                       : std::is_floating_point_v<Number> ? "fd"
                                       : std::is_signed_v<Number>         ? "bhilq"
                                                                           : "BHILQ";
        return kinds.find(format[0]) != std::string_view::npos;
    }

    // A description of the object for messages: "float64 of shape (3, 2)", or the name of its format.
    std::string description() const {
        const char* kind = holds<bool>()            ? "bool"
                           : holds<float>()         ? "float32"
                           : holds<double>()        ? "float64"
                           : holds<std::int8_t>()   ? "int8"
                           : holds<std::int16_t>()  ? "int16"
                           : holds<std::int32_t>()  ? "int32"
                           : holds<std::int64_t>()  ? "int64"
                           : holds<std::uint8_t>()  ? "uint8"
                           : holds<std::uint16_t>() ? "uint16"
                           : holds<std::uint32_t>() ? "uint32"
                           : holds<std::uint64_t>() ? "uint64"
                                                    : nullptr;
        std::ostringstream text;
        if (kind == nullptr) {
            text << "an array of format '" << (view_.format == nullptr ? "" : view_.format) << "'";
        } else {
            text << kind;
        }
        text << " of shape (";
        for (int axis = 0; axis < view_.ndim; ++axis) {
            text << (axis > 0 ? ", " : "") << view_.shape[axis];
        }
        text << ")";
        return text.str();
    }

private:
    static constexpr bool native_is_little = std::endian::native == std::endian::little;

    static std::string kind_of(nb::handle given) {
        if (given.is_none()) {
            return "None";
        }
        return "a " + std::string(nb::str(given.type().attr("__name__")).c_str());
    }

    Py_buffer view_{};
    bool held_ = false;
};

// A contiguous array of N axes. The constructor checks the type, the number of axes, the order in memory, and, if T is
// not const, that the array is writable. The kernel must check the sizes: see expect_size.
template <typename T, std::size_t N = 1>
class Array {
public:
    Array(nb::handle given, const char* name) : Array(Buffer(given, name), name) {}

    Array(Buffer&& buffer, const char* name, const char* due = type_name<T>()) : buffer_(std::move(buffer)), name_(name) {
        const Py_buffer& view = buffer_.view();
        if (!buffer_.holds<T>() || view.ndim != static_cast<int>(N)) {
            refuse(name, " must be ", due, " with ", N, N == 1 ? " axis" : " axes", ", not ", buffer_.description());
        }
        if (!PyBuffer_IsContiguous(&view, 'C')) {
            refuse(name, " must be contiguous in C order; np.ascontiguousarray makes it so");
        }
        const bool aligned = reinterpret_cast<std::uintptr_t>(view.buf) % alignof(T) == 0;
        if (!aligned && !std::is_const_v<T>) {
            refuse(name, " must be aligned in memory; a copy of the array is");
        }
        if (!std::is_const_v<T> && view.readonly) {
            refuse(name, " is written to, and must not be read-only");
        }
        for (std::size_t axis = 0; axis < N; ++axis) {
            shape_[axis] = static_cast<std::size_t>(view.shape[axis]);
        }
        data_ = static_cast<T*>(view.buf);
        if (!aligned) {  // for example an array sent by another process
            copy_ = std::make_unique_for_overwrite<std::remove_const_t<T>[]>(count());
            std::memcpy(copy_.get(), view.buf, count() * sizeof(T));
            data_ = copy_.get();
        }
    }

    using Entry = T;

    const char* name() const { return name_; }
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
        requires(std::is_same_v<std::remove_const_t<T>, bool>)
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
            refuse(name_, " must have size ", due, N == 1 ? "" : " along axis " + std::to_string(axis), " (", why,
                   "), not ", shape_[axis]);
        }
    }

private:
    Buffer buffer_;
    const char* name_;
    std::unique_ptr<std::remove_const_t<T>[]> copy_;  // if the memory is not aligned
    T* data_ = nullptr;
    std::array<std::size_t, N> shape_{};
};

// Raise if an array that is written to shares memory with one that must not change.
template <typename One, std::size_t N, typename Other, std::size_t M>
void expect_apart(const Array<One, N>& written, const Array<Other, M>& kept) {
    const auto begin = [](const auto& array) { return reinterpret_cast<std::uintptr_t>(array.data()); };
    const auto end = [&](const auto& array) { return begin(array) + array.count() * sizeof(*array.data()); };
    if (begin(written) < end(kept) && begin(kept) < end(written)) {
        refuse(written.name(), " is written to, and must not share memory with ", kept.name());
    }
}

// An array that may be None.
template <typename T, std::size_t N = 1>
std::optional<Array<T, N>> array_or_none(nb::handle given, const char* name) {
    if (given.is_none()) {
        return std::nullopt;
    }
    return std::optional<Array<T, N>>(std::in_place, given, name);
}

// A field of a tuple that is True or False.
inline bool truth_of(nb::handle given, const char* name) {
    bool value = false;
    if (!nb::try_cast(given, value)) {
        refuse(name, " must be True or False");
    }
    return value;
}

// Call a function with an array of float32 or float64, according to its type. `Float` is `float` or `const float`; the
// array is const if `Float` is.
template <typename Float, std::size_t N, typename Function>
auto with_floats(nb::handle given, const char* name, Function&& function) {
    using Double = std::conditional_t<std::is_const_v<Float>, const double, double>;
    Buffer buffer(given, name);
    if (buffer.holds<double>()) {
        return function(Array<Double, N>(std::move(buffer), name));
    }
    return function(Array<Float, N>(std::move(buffer), name, "float32 or float64"));
}

// Prefetch the cache line at an address. Nothing is read, so any address is valid. Functions that only prefetch must be
// inlined too: the compiler assumes that calls of them have no effect, and drops them.
[[gnu::always_inline]] inline void prefetch(const void* place) {
#if defined(__GNUC__) || defined(__clang__)
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
