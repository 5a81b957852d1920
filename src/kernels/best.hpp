// The best of many scores: those that are not above the least of the best so far are skipped many at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace parasphere {

constexpr std::size_t stretch = 32;  // scores that are looked at together

// Return the place of the first whole stretch of scores, from `from` on, that has one above `least`, or else of the rest.
std::size_t first_stretch(std::span<const float> scores, std::size_t from, float least);

// Call `enter` with the place of each score that is above what `least` returns then.
template <typename Least, typename Enter>
void each_above(std::span<const float> scores, Least&& least, Enter&& enter) {
    for (std::size_t at = first_stretch(scores, 0, least()); at < scores.size();
         at = first_stretch(scores, at, least())) {
        for (const std::size_t end = std::min(at + stretch, scores.size()); at < end; ++at) {
            if (scores[at] > least()) {
                enter(at);
            }
        }
    }
}

// Enter a score above the least of the best, and its place, largest first; of equal ones the first stays.
inline void enter_best(float score, std::int64_t place, std::span<float> best, std::span<std::int64_t> places) {
    std::size_t at = best.size() - 1;
    for (; at > 0 && best[at - 1] < score; --at) {
        best[at] = best[at - 1];
        places[at] = places[at - 1];
    }
    best[at] = score;
    places[at] = place;
}

}  // namespace parasphere
