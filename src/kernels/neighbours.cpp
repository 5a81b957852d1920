// Nearest neighbours: the largest of many cosines.
#include "best.hpp"
#include "common.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace parasphere {
namespace {

PARASPHERE_VECTORISED std::size_t skip_stretches(const float* scores, std::size_t from, std::size_t count, float least) {
    for (; from + stretch <= count; from += stretch) {
        int above = 0;
        for (std::size_t i = from; i < from + stretch; ++i) {
            above |= scores[i] > least ? 1 : 0;
        }
        if (above != 0) {
            break;
        }
    }
    return from;
}

void largest(nb::handle given_scores, nb::handle given_places) {
    const Array<const float, 2> scores(given_scores, "scores");
    const Array<std::int64_t, 2> places(given_places, "places");
    places.expect_size(0, scores.size(0), "one row per row of scores");
    if (places.size(1) == 0) {
        return;
    }

    const Unlocked unlocked(scores.count());
    Interrupts interrupts;
    std::vector<float> best(places.size(1));
    for (std::size_t i = 0; i < scores.size(0); ++i) {
        interrupts.worked(scores.size(1) + best.size() * 100);
        const std::span<const float> row = scores.row(i);
        std::fill(best.begin(), best.end(), -std::numeric_limits<float>::infinity());
        std::fill(places.row(i).begin(), places.row(i).end(), 0);
        const std::span<std::int64_t> own = places.row(i);
        each_above(row, dense(best.size()), best.back(), [&best, row, own](std::size_t j) {
            return enter_best(row[j], static_cast<std::int64_t>(j), best, own);
        });
    }
}

}  // namespace

std::size_t first_stretch(std::span<const float> scores, std::size_t from, float least) {
    return skip_stretches(scores.data(), from, scores.size(), least);
}

void bind_neighbours(nb::module_& kernels) {
    kernels.def("largest", largest, argument("scores"), argument("places"),
                "Write the places of the largest scores of each row, largest first; of equal ones the first.");
}

}  // namespace parasphere
