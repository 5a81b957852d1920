// Near-duplicates: pairs of documents that share most of their words. near_duplicates.py describes the algorithm.
#include "common.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

namespace parasphere {
namespace {

constexpr double slack = 1 - 1e-5;      // bounds are computed in float32
constexpr double rounding = 1 - 1e-9;  // a computed cosine may be below the true one by this factor

void expect_threshold(double threshold) {
    if (!(threshold > 0 && threshold <= 1)) {
        refuse("threshold must be above 0 and at most 1, not ", threshold);
    }
}

void find_rare(const Array<const std::int64_t>& starts, const Array<const double>& values, double threshold,
               const Array<std::int64_t>& rare, const Array<float>& reach) {
    starts.expect_size(0, rare.count() + 1, "one more than rare");
    reach.expect_size(0, values.count(), "one per value");
    expect_threshold(threshold);

    const Unlocked unlocked(values.count() + starts.count());
    Interrupts interrupts;
    const double least = threshold * slack;
    for (std::size_t doc = 0; doc < rare.count(); ++doc) {
        const Range own = range_within(values.count(), starts[doc], starts[doc + 1], "starts");
        double squares = 0.0;
        std::size_t first = own.end;
        for (std::size_t at = own.begin; at < own.end; ++at) {
            squares += values[at] * values[at];
            reach[at] = static_cast<float>(std::sqrt(squares));
            if (static_cast<double>(reach[at]) >= least && first > at) {
                first = at;
            }
        }
        rare[doc] = static_cast<std::int64_t>(first);
        interrupts.worked(10 * own.size() + 1);
    }
}

// The vectors of documents: compressed rows, frequent words first.
struct Rows {
    const Array<const std::int64_t>& starts;
    const Array<const std::int32_t>& words;
    const Array<const double>& values;

    Range of(std::size_t doc) const { return range_within(words.count(), starts[doc], starts[doc + 1], "starts"); }

    // Which of two words is smaller is unpredictable, so there is no branch for it.
    double cosine(const Range& one, const Range& other) const {
        std::size_t i = one.begin, j = other.begin;
        double total = 0.0;
        while (i < one.end && j < other.end) {
            const std::int32_t left = words[i], right = words[j];
            if (left == right) {
                total += values[i] * values[j];
            }
            i += left <= right ? 1 : 0;
            j += right <= left ? 1 : 0;
        }
        return total;
    }
};

using Postings = std::tuple<Array<const std::int64_t>, Array<const std::int32_t>, Array<const float>>;

std::pair<std::size_t, std::size_t> find_pairs(
    const Array<const std::int64_t>& starts, const Array<const std::int32_t>& words, const Array<const double>& values,
    const Array<const std::int64_t>& rare, const Array<const float>& reach, const Postings& postings, double threshold,
    std::int64_t first, const Array<std::int64_t, 2>& pairs, const Array<double>& cosines) {
    const Rows rows{starts, words, values};
    const auto& [firsts, documents, reaches] = postings;
    const std::size_t n = rare.count();
    rows.starts.expect_size(0, n + 1, "one more than rare");
    rows.values.expect_size(0, rows.words.count(), "one per word of a document");
    reach.expect_size(0, rows.words.count(), "one per word of a document");
    reaches.expect_size(0, documents.count(), "one per posting");
    pairs.expect_size(0, cosines.count(), "one per cosine");
    pairs.expect_size(1, 2, "two documents");
    expect_threshold(threshold);
    if (firsts.count() == 0) {
        refuse("postings.starts must have one number more than there are words, and hence at least one");
    }
    if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        refuse("rare must be of at most ", std::numeric_limits<std::int32_t>::max(), " documents, not ", n);
    }
    if (first < 0 || static_cast<std::uint64_t>(first) > n) {
        refuse("first must be from 0 to the ", n, " documents, not ", first);
    }

    const Unlocked unlocked(rows.words.count() + n);
    Interrupts interrupts;
    std::vector<std::int32_t> seen(n, -1);  // the last document that each document was compared with
    const double least = threshold * slack;
    std::size_t count = 0;
    for (auto doc = static_cast<std::size_t>(first); doc < n; ++doc) {
        if (count + doc > cosines.count()) {
            return {doc, count};
        }
        const auto marked = static_cast<std::int32_t>(doc);
        const Range own = rows.of(doc);
        const std::int64_t common = rare[doc];
        if (common < static_cast<std::int64_t>(own.begin)) {
            refuse("rare must be within the words of a document, which begin at ", own.begin, ", not ", common);
        }
        for (std::size_t i = own.end; i-- > static_cast<std::size_t>(common);) {  // the rarest word first
            const std::size_t word = index_below(firsts.count() - 1, rows.words[i], "words");
            const Range own_postings =
                range_within(documents.count(), firsts[word], firsts[word + 1], "postings.starts");
            std::size_t at = own_postings.begin;
            for (; at < own_postings.end; ++at) {
                const float bound = reach[i] * reaches[at];
                if (static_cast<double>(bound) < least) {  // true for all following postings too
                    break;
                }
                const std::int32_t candidate = documents[at];
                if (candidate >= marked) {
                    continue;
                }
                const std::size_t other = index_below(n, candidate, "postings.documents");
                if (seen[other] == marked) {
                    continue;
                }
                seen[other] = marked;
                const Range its = rows.of(other);
                const double cosine = rows.cosine(own, its);
                interrupts.worked(own.size() + its.size());
                if (cosine >= threshold * rounding) {
                    pairs.row(count)[0] = candidate;
                    pairs.row(count)[1] = marked;
                    cosines[count] = std::min(cosine, 1.0);
                    ++count;  // at most `doc` times per document, which fits
                }
            }
            interrupts.worked(at - own_postings.begin + 1);
        }
    }
    return {n, count};
}

}  // namespace

void bind_near_duplicates(nb::module_& kernels) {
    kernels.def("find_rare", find_rare, nb::arg("starts"), nb::arg("values"), nb::arg("threshold"),
                nb::arg("rare"), nb::arg("reach"),
                "Write the index of the first rare word of each document, and the length of its vector up to each\n"
                "word.");
    kernels.def("find_pairs", find_pairs, nb::arg("starts"), nb::arg("words"), nb::arg("values"), nb::arg("rare"),
                nb::arg("reach"), nb::arg("postings"), nb::arg("threshold"), nb::arg("first"), nb::arg("pairs"),
                nb::arg("cosines"),
                "Find the pairs of documents from ``first`` on with earlier ones; return the first document whose\n"
                "pairs may not fit, and the number of pairs.\n\n"
                "The first five arrays are compressed rows, frequent words first, and the output of\n"
                ":func:`find_rare`.");
}

}  // namespace parasphere
