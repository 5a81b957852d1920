// Texts as arguments of kernels: Python strings, or an Arrow column of strings. Neither is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "common.hpp"

namespace parasphere {

// The memory of each text, as UTF-8 bytes. The owner of the memory is held until this is destroyed. Construction and
// destruction require Python's lock.
class Texts {
public:
    // A list or tuple of str, or an object that exports an Arrow array of strings by `__arrow_c_array__`.
    explicit Texts(nb::handle given);

    // Concatenated texts, as bytes and the offsets at which they begin (Arrow's layout).
    Texts(nb::handle data, nb::handle offsets);

    std::size_t count() const { return texts_.size(); }
    // The total number of bytes of all texts.
    std::size_t bytes() const { return bytes_; }
    std::span<const std::uint8_t> operator[](std::size_t i) const { return texts_[i]; }
    // The address up to which the memory of a text may be read.
    const std::uint8_t* limit(std::size_t i) const {
        return limit_ == nullptr ? texts_[i].data() + texts_[i].size() : limit_;
    }

private:
    void read_strings(nb::handle strings);
    void read_arrow(nb::handle given);
    template <typename Offset>
    void read_offsets(const void* offsets, std::size_t first, std::size_t many, const void* data, std::int64_t limit);
    void read_views(const void* const* buffers, std::size_t n_buffers, std::size_t first, std::size_t many);
    void add(const std::uint8_t* data, std::size_t size) {
        texts_.emplace_back(data, size);
        bytes_ += size;
    }

    std::vector<std::span<const std::uint8_t>> texts_;
    std::size_t bytes_ = 0;
    const std::uint8_t* limit_ = nullptr;  // of all texts, if they are contiguous
    nb::object held_;
    std::optional<Array<const std::uint8_t>> data_;
    std::deque<std::string> rewritten_;  // texts with lone surrogates
};

}  // namespace parasphere
