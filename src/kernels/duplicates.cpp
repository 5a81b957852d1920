// Near-duplicates: pairs of documents that share most of their words. near_duplicates.py describes the algorithm.
#include "common.hpp"
#include "indices.hpp"

#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

void find_rare(nb::handle given_starts, nb::handle given_values, double threshold, nb::handle given_rare,
               nb::handle given_reach) {
    const Array<const std::int64_t> starts(given_starts, "starts");
    const Array<const double> values(given_values, "values");
    const Array<std::int64_t> rare(given_rare, "rare");
    const Array<float> reach(given_reach, "reach");
    starts.expect_size(0, rare.count() + 1, "one more than rare");
    reach.expect_size(0, values.count(), "one per value");
    expect_threshold(threshold);

    const Unlocked unlocked(values.count() + starts.count());
    Interrupts interrupts;
    const double least = threshold * slack;
    for (std::size_t doc = 0; doc < rare.count(); ++doc) {
        const Range own = range_at(starts, doc, values.count());
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
    Array<const std::int64_t> starts;
    Array<const std::int32_t> words;
    Array<const double> values;

    Range of(std::size_t doc) const { return range_at(starts, doc, words.count()); }

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

std::pair<std::size_t, std::size_t> find_pairs(nb::handle given_starts, nb::handle given_words, nb::handle given_values,
                                               nb::handle given_rare, nb::handle given_reach,
                                               const nb::tuple& given_postings, double threshold, std::int64_t first,
                                               nb::handle given_pairs, nb::handle given_cosines) {
    const Rows rows{{given_starts, "starts"}, {given_words, "words"}, {given_values, "values"}};
    const Array<const std::int64_t> rare(given_rare, "rare");
    const Array<const float> reach(given_reach, "reach");
    if (given_postings.size() != 3) {
        refuse("postings must be 3 arrays (starts, documents, reach), not ", given_postings.size());
    }
    const Array<const std::int64_t> firsts(given_postings[0], "postings.starts");
    const Array<const std::int32_t> documents(given_postings[1], "postings.documents");
    const Array<const float> reaches(given_postings[2], "postings.reach");
    const Array<std::int64_t, 2> pairs(given_pairs, "pairs");
    const Array<double> cosines(given_cosines, "cosines");
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
            const Range own_postings = range_at(firsts, word, documents.count());
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
                const std::size_t other = index_below(n, candidate, documents.name());
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

void bind_duplicates(nb::module_& kernels) {
    kernels.def("find_rare", find_rare, argument("starts"), argument("values"), nb::arg("threshold"),
                argument("rare"), argument("reach"),
                "Write the index of the first rare word of each document, and the length of its vector up to each\n"
                "word.");
    kernels.def("find_pairs", find_pairs, argument("starts"), argument("words"), argument("values"), argument("rare"),
                argument("reach"), nb::arg("postings"), nb::arg("threshold"), nb::arg("first"), argument("pairs"),
                argument("cosines"),
                "Find the pairs of documents from ``first`` on with earlier ones; return the first document whose\n"
                "pairs may not fit, and the number of pairs.\n\n"
                "The first five arrays are compressed rows, frequent words first, and the output of\n"
                ":func:`find_rare`.");
}

}  // namespace parasphere
