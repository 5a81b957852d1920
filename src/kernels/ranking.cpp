// Ranking: BM25 scores of the words that queries and documents share, and the rows of largest scores.
//
// The postings of an index come from a file, which may be damaged.
#include "best.hpp"
#include "common.hpp"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace parasphere {
namespace {

// The documents of each word, in ascending order, and its number of occurrences in them.
struct Postings {
    using Fields = std::tuple<Array<const std::int64_t>, Array<const std::int32_t>, Array<const std::uint16_t>,
                              Array<const float>>;

    explicit Postings(const Fields& given)
        : starts(std::get<0>(given)),
          documents(std::get<1>(given)),
          counts(std::get<2>(given)),
          norms(std::get<3>(given)) {
        if (starts.count() == 0) {
            refuse("starts must have one number more than there are words, and hence at least one");
        }
        counts.expect_size(0, documents.count(), "one per posting");
    }

    // The range of the postings of a word.
    Range of(std::int32_t word) const {
        const std::size_t row = index_below(starts.count() - 1, word, "words");
        return range_within(documents.count(), starts[row], starts[row + 1], "starts");
    }

    const Array<const std::int64_t>& starts;
    const Array<const std::int32_t>& documents;
    const Array<const std::uint16_t>& counts;
    const Array<const float>& norms;
};

// The words of each query, and their weights.
struct QueryTerms {
    using Fields = std::tuple<Array<const std::int64_t>, Array<const std::int32_t>, Array<const double>>;

    explicit QueryTerms(const Fields& given)
        : ends(std::get<0>(given)), words(std::get<1>(given)), weights(std::get<2>(given)) {
        weights.expect_size(0, words.count(), "one per query term");
    }

    // The range of the words of a query.
    Range of(std::size_t query) const {
        return range_within(words.count(), query == 0 ? 0 : ends[query - 1], ends[query], "ends");
    }

    const Array<const std::int64_t>& ends;
    const Array<const std::int32_t>& words;
    const Array<const double>& weights;
};

// The score of a word in a document before its weight: less than `most`, however often it occurs.
template <typename Float>
Float saturated(Float count, Float norm, Float most) {
    const Float denominator = count + norm;
    if (denominator == 0) {
        refuse("counts must be above 0 where norms are 0");
    }
    return most * count / denominator;
}

void add_word_scores(const QueryTerms::Fields& given_terms, const Postings::Fields& given_postings, double most,
                     double scale, std::int64_t begin, const Array<std::int64_t>& cursors,
                     const Array<float, 2>& scores, std::int64_t end) {
    const Postings postings(given_postings);
    const QueryTerms terms(given_terms);
    cursors.expect_size(0, terms.words.count(), "one per query term");
    scores.expect_size(0, terms.ends.count(), "one row per query");
    if (begin < 0) {
        refuse("begin must be at least 0, not ", begin);
    }
    // Documents from `begin` on up to `limit` have a norm and a column of scores.
    std::int64_t limit = std::min(end, static_cast<std::int64_t>(postings.norms.count()));
    if (limit > begin) {
        limit = begin + std::min(limit - begin, static_cast<std::int64_t>(scores.size(1)));
    }

    std::size_t work = 0;
    for (const std::int32_t word : terms.words.all()) {
        work += postings.of(word).size();
    }
    const Unlocked unlocked(work);
    Interrupts interrupts;
    const float most_single = static_cast<float>(most);
    for (std::size_t query = 0; query < terms.ends.count(); ++query) {
        const std::span<float> row = scores.row(query);
        const Range own = terms.of(query);
        for (std::size_t i = own.begin; i < own.end; ++i) {
            const auto weight = static_cast<float>(scale * terms.weights[i]);
            const std::size_t last = postings.of(terms.words[i]).end;
            const std::size_t from = index_below(postings.documents.count() + 1, cursors[i], "cursors");
            std::size_t at = from;
            for (; at < last; ++at) {
                const std::int32_t doc = postings.documents[at];
                if (doc >= limit) {
                    break;
                }
                if (doc < begin) {
                    refuse("documents of a word must rise, and its cursor be that of the first from ", begin,
                           " on, but document ", doc, " comes next");
                }
                const float value = saturated(static_cast<float>(postings.counts[at]),
                                              postings.norms[static_cast<std::size_t>(doc)], most_single);
                row[static_cast<std::size_t>(doc - begin)] += weight * value;
            }
            interrupts.worked(2 * (at - from) + 1);
            cursors[i] = static_cast<std::int64_t>(at);
        }
    }
}

void word_scores(const QueryTerms::Fields& given_terms, const Postings::Fields& given_postings, double most,
                 const Array<const std::int64_t, 2>& positions, const Array<double, 2>& scores) {
    const Postings postings(given_postings);
    const QueryTerms terms(given_terms);
    positions.expect_size(0, terms.ends.count(), "one row per query");
    scores.expect_size(0, positions.size(0), "one row per query");
    scores.expect_size(1, positions.size(1), "one column per position");
    const std::size_t n_docs = postings.norms.count();

    const Unlocked unlocked(100 * positions.size(1) * terms.words.count() + positions.count());
    Interrupts interrupts;
    for (std::size_t query = 0; query < terms.ends.count(); ++query) {
        const std::span<double> row = scores.row(query);
        std::fill(row.begin(), row.end(), 0.0);
        const Range own = terms.of(query);
        for (std::size_t i = own.begin; i < own.end; ++i) {
            const double weight = terms.weights[i];
            const Range held = postings.of(terms.words[i]);
            const std::span<const std::int32_t> docs = postings.documents.all().subspan(held.begin, held.size());
            std::size_t from = 0, before = 0;  // start at the last document found, as positions mostly ascend
            for (std::size_t column = 0; column < row.size(); ++column) {
                interrupts.worked(20);
                const std::size_t doc = index_below(n_docs, positions.row(query)[column], "positions");
                from = doc < before ? 0 : from;
                before = doc;
                const auto sought = static_cast<std::int32_t>(doc);
                std::size_t end = from;
                for (std::size_t step = 1; end < docs.size() && docs[end] < sought; step *= 2) {
                    from = end + 1;
                    end += step;
                }
                const auto last = docs.begin() + static_cast<std::ptrdiff_t>(std::min(end, docs.size()));
                const auto found = std::lower_bound(docs.begin() + static_cast<std::ptrdiff_t>(from), last, sought);
                from = static_cast<std::size_t>(found - docs.begin());
                if (found != docs.end() && *found == sought) {
                    const std::size_t at = held.begin + static_cast<std::size_t>(found - docs.begin());
                    row[column] += weight * saturated(static_cast<double>(postings.counts[at]),
                                                      static_cast<double>(postings.norms[doc]), most);
                }
            }
        }
    }
}

// A document with its score. The best so far form a heap with the worst of them first.
struct Ranked {
    float score;
    std::int64_t position;
    // The later of two equal ones is worse. There are no branches, as they would be unpredictable.
    bool worse_than(const Ranked& other) const {
        const int below = score < other.score, equal = score == other.score, later = position > other.position;
        return (below | (equal & later)) != 0;
    }
};

// Replace the worst document of a heap.
void replace_worst(std::span<float> heap, std::span<std::int64_t> places, const Ranked& entered) {
    std::size_t at = 0;
    while (2 * at + 1 < heap.size()) {
        std::size_t child = 2 * at + 1;
        if (child + 1 < heap.size()) {
            const Ranked one{heap[child], places[child]}, other{heap[child + 1], places[child + 1]};
            child += other.worse_than(one) ? 1 : 0;
        }
        const Ranked worst{heap[child], places[child]};
        if (!worst.worse_than(entered)) {
            break;
        }
        heap[at] = worst.score;
        places[at] = worst.position;
        at = child;
    }
    heap[at] = entered.score;
    places[at] = entered.position;
}

void keep_best(const Array<const float, 2>& scores, std::int64_t size, std::int64_t begin, const Array<float, 2>& best,
               const Array<std::int64_t, 2>& positions) {
    best.expect_size(0, scores.size(0), "one row per row of scores");
    positions.expect_size(0, best.size(0), "one row per row of scores");
    positions.expect_size(1, best.size(1), "one per score of best");
    if (size < 0 || static_cast<std::uint64_t>(size) > scores.size(1)) {
        refuse("size must be from 0 to the ", scores.size(1), " scores of a row, not ", size);
    }
    if (begin < 0 || begin > INT64_MAX - size) {
        refuse("begin must be the position of a document, not ", begin);
    }
    if (best.size(1) == 0) {
        return;
    }

    const Unlocked unlocked(scores.count());
    Interrupts interrupts;
    for (std::size_t query = 0; query < scores.size(0); ++query) {
        const std::span<const float> row = scores.row(query).first(static_cast<std::size_t>(size));
        const std::span<float> heap = best.row(query);
        const std::span<std::int64_t> own = positions.row(query);
        const bool empty = heap[0] == -std::numeric_limits<float>::infinity();
        each_above(row, empty ? dense(heap.size()) : 0, heap[0], [heap, own, row, begin](std::size_t i) {
            replace_worst(heap, own, {row[i], begin + static_cast<std::int64_t>(i)});
            return heap[0];
        });
        interrupts.worked(10 * row.size());
    }
}

}  // namespace

std::size_t first_stretch(std::span<const float> scores, std::size_t from, float least) {
    return vectorised([=](auto) PARASPHERE_LOOP {
        std::size_t at = from;
        for (; at + stretch <= scores.size(); at += stretch) {
            int above = 0;
            for (std::size_t i = at; i < at + stretch; ++i) {
                above |= scores[i] > least ? 1 : 0;
            }
            if (above != 0) {
                break;
            }
        }
        return at;
    });
}

void bind_ranking(nb::module_& kernels) {
    kernels.def("add_word_scores", add_word_scores, nb::arg("terms"), nb::arg("postings"), nb::arg("most"),
                nb::arg("scale"), nb::arg("begin"), nb::arg("cursors"), nb::arg("scores"), nb::arg("end"),
                "Add the scores of words, times ``scale``, to those of documents from ``begin`` to ``end``.\n\n"
                "``cursors`` has the first posting of each word that is not before ``begin``, and is advanced past "
                "these documents.");
    kernels.def("word_scores", word_scores, nb::arg("terms"), nb::arg("postings"), nb::arg("most"),
                nb::arg("positions"), nb::arg("scores"),
                "Write the scores of the words of some documents per query, in float64, (n_queries, k).");
    kernels.def("keep_best", keep_best, nb::arg("scores"), nb::arg("size"), nb::arg("begin"), nb::arg("best"),
                nb::arg("positions"),
                "Update the best documents of each query, a heap with the worst of them first, with the first ``size`` "
                "scores.");
}

}  // namespace parasphere
