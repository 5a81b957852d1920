// Texts as arguments of kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "common.hpp"

namespace parasphere {

// The memory of each text of a list or tuple of str, as UTF-8 bytes, which are not copied. The texts are held until this
// is destroyed. Construction and destruction require Python's lock.
class Texts {
public:
    explicit Texts(nb::handle given);

    std::size_t count() const { return texts_.size(); }
    // The total number of bytes of all texts.
    std::size_t bytes() const { return bytes_; }
    std::span<const std::uint8_t> operator[](std::size_t i) const { return texts_[i]; }

private:
    std::vector<std::span<const std::uint8_t>> texts_;
    std::size_t bytes_ = 0;
    nb::object held_;
    std::deque<std::string> rewritten_;  // texts with lone surrogates
};

}  // namespace parasphere
