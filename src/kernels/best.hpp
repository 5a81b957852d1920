// The best of many scores: scores that are not above the least of the best so far are skipped in blocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parasphere {

constexpr std::size_t stretch = 32;  // scores that are compared together

// Return the position of the first whole block of `stretch` scores, from `from` on, that has a score above `least`; if
// there is none, that of the remaining scores.
std::size_t first_stretch(std::span<const float> scores, std::size_t from, float least);

// The number of scores to compare one by one, until scores among the k best are fewer than one in two blocks.
constexpr std::size_t dense(std::size_t k) { return 2 * stretch * k; }

// Call `enter` with the position of each score above `least`; the value that it returns is the new `least`. The first
// `singly` scores are compared one by one.
template <typename Enter>
void each_above(std::span<const float> scores, std::size_t singly, float least, Enter&& enter) {
    std::size_t at = 0;
    for (std::size_t end = std::min(singly, scores.size());;) {
        for (; at < end; ++at) {
            if (scores[at] > least) {
                least = enter(at);
            }
        }
        at = first_stretch(scores, at, least);
        if (at == scores.size()) {
            return;
        }
        end = std::min(at + stretch, scores.size());
    }
}

// Insert a score above the least of the best, and its position; the best are sorted, largest first, and of equal scores
// the earlier one comes first. Return the least of the best afterwards.
inline float enter_best(float score, std::int64_t place, std::span<float> best, std::span<std::int64_t> places) {
    std::size_t at = best.size() - 1;
    for (; at > 0 && best[at - 1] < score; --at) {
        best[at] = best[at - 1];
        places[at] = places[at - 1];
    }
    best[at] = score;
    places[at] = place;
    return best.back();
}

}  // namespace parasphere
