// Checks of indices. They may come from a damaged file, or change while a loop runs, as Python may pass the same array
// twice: each index is checked when it is used, and the checked copy is used.
#pragma once

#include "common.hpp"

namespace parasphere {

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

// Return the range between two consecutive offsets.
template <typename Integer>
Range range_at(const Array<const Integer>& offsets, std::size_t i, std::size_t entries) {
    return range_within(entries, offsets[i], offsets[i + 1], offsets.name());
}

}  // namespace parasphere
