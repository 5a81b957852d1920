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

// How many scores to look at one by one until those among the k best are fewer than one in two stretches.
constexpr std::size_t dense(std::size_t k) { return 2 * stretch * k; }

// Call `enter` with the place of each score above `least`, which is from then on what `enter` returns. The first
// `singly` scores are looked at one by one.
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

// Enter a score above the least of the best, and its place, largest first; of equal ones the first stays. Return the
// least of the best then.
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
