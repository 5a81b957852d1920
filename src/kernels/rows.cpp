// Loops over the rows of a matrix: sums of word vectors, and the products of an EM iteration.
//
// Everything is summed in float64, in an order that does not depend on how many rows are passed at once: a document has
// the same bits alone and among a million.
#include "common.hpp"

namespace parasphere {
namespace {

void count_ids(nb::handle given_ids, nb::handle given_counts) {
    const Array<const std::int32_t> ids(given_ids, "ids");
    const Array<double> counts(given_counts, "counts");

    const Unlocked unlocked(ids.count());
    Interrupts interrupts;
    for (const std::int32_t id : ids.all()) {
        interrupts.worked(1);
        if (id < 0) {
            continue;
        }
        if (static_cast<std::size_t>(id) >= counts.count()) {
            refuse("ids must be below the ", counts.count(), " words that are counted, not ", id);
        }
        counts[static_cast<std::size_t>(id)] += 1.0;
    }
}

}  // namespace

void bind_rows(nb::module_& kernels) {
    kernels.def("count_ids", count_ids, argument("ids"), argument("counts"),
                "Add the number of occurrences of each word id to ``counts``; negative ids are not counted.");
}

}  // namespace parasphere
