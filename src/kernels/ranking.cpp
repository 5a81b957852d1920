// Ranking: BM25 scores of the words that queries and documents share, and the rows of largest scores.
//
// The postings of an index come from a file, which may be damaged.
#include "best.hpp"
#include "blocks.hpp"
#include "common.hpp"
#include "products.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

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

// ---- ranking -------------------------------------------------------------------------------------------------------

constexpr std::size_t range_size = 2048;  // documents that are scored together
constexpr std::size_t tile = 64;          // of which so many are multiplied while they are cached
constexpr std::size_t few = 4;            // fewer queries are multiplied one by one

// The rows of documents, of single or half precision; half precision is given as its bits.
template <typename T>
struct Documents {
    const T* data;
    std::size_t many;
    std::size_t dim;

    // Some rows as float32, padded; `space` holds them if they have to be copied.
    const float* padded(std::size_t from, std::size_t count, std::size_t width, float* space) const {
        if constexpr (std::is_same_v<T, float>) {
            if (dim == width) {
                return data + from * dim;
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            const T* const row = data + (from + i) * dim;
            if constexpr (std::is_same_v<T, float>) {
                std::copy_n(row, dim, space + i * width);
            } else {
                widen(row, space + i * width, dim);
            }
        }
        return space;
    }
};

// What queries and documents are ranked by.
template <typename T>
struct Ranking {
    Documents<T> documents;
    std::vector<float> queries;  // padded rows
    std::vector<char> silent;    // queries whose rows are 0
    std::size_t n_queries;
    std::size_t width;
    const std::uint8_t* admitted;  // or null
    const QueryTerms* terms;       // or null, as are the postings then
    const Postings* postings;
    float most;
    double scale;
    std::size_t k;

    std::size_t batches() const { return (n_queries + product_lanes - 1) / product_lanes; }
};

// The memory of a worker.
struct RankingDesk {
    std::vector<float> rows, columns, products, scores;
    explicit RankingDesk(std::size_t width)
        : rows(tile * width), columns(product_lanes * width), products(tile * product_lanes),
          scores(product_lanes * range_size) {}
};

// Write the products of the queries of a batch with the documents from `begin` to `end`, a row of scores per query.
template <typename T>
void multiply_range(const Ranking<T>& ranking, std::size_t first, std::size_t some, Range docs, RankingDesk& desk) {
    const bool together = some >= few;
    for (std::size_t from = docs.begin; from < docs.end; from += tile) {
        const std::size_t count = std::min(tile, docs.end - from), at = from - docs.begin;
        const float* const rows = ranking.documents.padded(from, count, ranking.width, desk.rows.data());
        if (together) {
            multiply_sixteen(desk.columns.data(), rows, count, ranking.width, desk.products.data());
            for (std::size_t query = 0; query < some; ++query) {
                float* const scores = desk.scores.data() + query * range_size + at;
                for (std::size_t i = 0; i < count; ++i) {
                    scores[i] = desk.products[i * product_lanes + query];
                }
            }
            continue;
        }
        for (std::size_t query = 0; query < some; ++query) {
            float* const scores = desk.scores.data() + query * range_size + at;
            if (ranking.silent[first + query] != 0) {
                std::fill_n(scores, count, 0.0F);
            } else {
                multiply_row(ranking.queries.data() + (first + query) * ranking.width, rows, count, ranking.width,
                             scores);
            }
        }
    }
}

// Add the scores of the words of a query to those of some documents.
void add_words(const Postings& postings, const QueryTerms& terms, std::size_t query, float most, double scale,
               Range docs, float* scores) {
    const Range own = terms.of(query);
    for (std::size_t i = own.begin; i < own.end; ++i) {
        const auto weight = static_cast<float>(scale * terms.weights[i]);
        const Range held = postings.of(terms.words[i]);
        const std::int32_t* const last = postings.documents.data() + held.end;
        const std::int32_t* doc = std::lower_bound(postings.documents.data() + held.begin, last,
                                                   static_cast<std::int32_t>(docs.begin));
        for (; doc != last; ++doc) {
            const std::int32_t here = *doc;
            if (here < 0 || static_cast<std::size_t>(here) < docs.begin || static_cast<std::size_t>(here) >= docs.end) {
                break;  // the next range; those of a damaged file need not rise
            }
            const auto at = static_cast<std::size_t>(here);
            const auto count = static_cast<float>(postings.counts[static_cast<std::size_t>(doc - postings.documents.data())]);
            scores[at - docs.begin] += weight * saturated(count, postings.norms[at], most);
        }
    }
}

// Keep the best documents of a part of the corpus for each query of a batch, in heaps.
template <typename T>
void rank_part(const Ranking<T>& ranking, std::size_t batch, Range part, std::span<float> best,
               std::span<std::int64_t> positions, RankingDesk& desk) {
    const std::size_t first = batch * product_lanes, k = ranking.k;
    const std::size_t some = std::min(product_lanes, ranking.n_queries - first);
    if (some >= few) {
        std::fill(desk.columns.begin(), desk.columns.end(), 0.0F);
        for (std::size_t query = 0; query < some; ++query) {
            for (std::size_t x = 0; x < ranking.width; ++x) {
                desk.columns[x * product_lanes + query] = ranking.queries[(first + query) * ranking.width + x];
            }
        }
    }
    for (std::size_t begin = part.begin; begin < part.end; begin += range_size) {
        const Range docs{begin, std::min(begin + range_size, part.end)};
        multiply_range(ranking, first, some, docs, desk);
        for (std::size_t query = 0; query < some; ++query) {
            const std::span<float> scores(desk.scores.data() + query * range_size, docs.size());
            if (ranking.terms != nullptr) {
                add_words(*ranking.postings, *ranking.terms, first + query, ranking.most, ranking.scale, docs,
                          scores.data());
            }
            if (ranking.admitted != nullptr) {
                for (std::size_t i = 0; i < scores.size(); ++i) {
                    scores[i] = ranking.admitted[begin + i] != 0 ? scores[i] : -std::numeric_limits<float>::infinity();
                }
            }
            const std::span<float> heap = best.subspan(query * k, k);
            const std::span<std::int64_t> own = positions.subspan(query * k, k);
            const bool empty = heap[0] == -std::numeric_limits<float>::infinity();
            each_above(scores, empty ? dense(k) : 0, heap[0], [&](std::size_t i) {
                replace_worst(heap, own, {scores[i], static_cast<std::int64_t>(begin + i)});
                return heap[0];
            });
        }
    }
}

// The k documents of largest float32 score of each query, best first, ties by position; fewer if fewer have a score.
template <typename T>
std::vector<std::vector<Ranked>> candidates_of(const Ranking<T>& ranking, std::size_t threads, Interrupts& interrupts) {
    const std::size_t n = ranking.documents.many, k = ranking.k, batches = ranking.batches();
    std::vector<std::vector<Ranked>> found(ranking.n_queries);
    if (k == 0 || n == 0) {
        return found;
    }
    // Parts of whole ranges: as many as keep the threads busy. What is found does not depend on their number.
    const std::size_t ranges = (n + range_size - 1) / range_size;
    const std::size_t wanted = std::min(4 * threads / std::max<std::size_t>(1, batches), n / k);
    const std::size_t parts = std::clamp<std::size_t>(wanted, 1, ranges);
    const std::size_t size = (ranges + parts - 1) / parts * range_size;
    const std::size_t together = std::min(ranking.n_queries, product_lanes);
    const std::size_t blocks = batches * parts, slots = together * k;
    std::vector<float> best(blocks * slots, -std::numeric_limits<float>::infinity());
    std::vector<std::int64_t> positions(blocks * slots, 0);
    const std::size_t amount = size * ranking.width * std::min(together, few) / 8 + 1;
    std::vector<std::unique_ptr<RankingDesk>> desks(threads);
    for_blocks(blocks, threads, amount, interrupts, [&](std::size_t block, std::size_t worker) {
        if (!desks[worker]) {
            desks[worker] = std::make_unique<RankingDesk>(ranking.width);
        }
        const std::size_t begin = std::min(block % parts * size, n);
        rank_part(ranking, block / parts, {begin, std::min(begin + size, n)},
                  std::span(best).subspan(block * slots, slots), std::span(positions).subspan(block * slots, slots),
                  *desks[worker]);
    });
    for (std::size_t query = 0; query < ranking.n_queries; ++query) {
        std::vector<Ranked>& own = found[query];
        for (std::size_t part = 0; part < parts; ++part) {
            const std::size_t at = (query / product_lanes * parts + part) * slots + query % product_lanes * k;
            for (std::size_t i = at; i < at + k; ++i) {
                if (best[i] > -std::numeric_limits<float>::infinity()) {
                    own.push_back({best[i], positions[i]});
                }
            }
        }
        std::sort(own.begin(), own.end(), [](const Ranked& one, const Ranked& other) { return other.worse_than(one); });
        own.resize(std::min(own.size(), k));
    }
    return found;
}

// Given candidates, each once per query.
std::vector<std::vector<Ranked>> checked_candidates(const Array<const std::int64_t, 2>& given, std::size_t n_docs) {
    std::vector<std::vector<Ranked>> found(given.size(0));
    for (std::size_t query = 0; query < found.size(); ++query) {
        std::vector<std::int64_t> own(given.row(query).begin(), given.row(query).end());
        std::sort(own.begin(), own.end());
        own.erase(std::unique(own.begin(), own.end()), own.end());
        for (const std::int64_t position : own) {
            found[query].push_back({0.0F, static_cast<std::int64_t>(index_below(n_docs, position, "candidates"))});
        }
    }
    return found;
}

// The product of a query and a document in float64, in eight partial sums.
template <typename T>
double exact_product(const double* query, const T* row, std::size_t dim, float* space) {
    const float* numbers = nullptr;
    if constexpr (std::is_same_v<T, float>) {
        numbers = row;
    } else {
        widen(row, space, dim);
        numbers = space;
    }
    double sums[8] = {};
    std::size_t x = 0;
    for (; x + 8 <= dim; x += 8) {
        for (std::size_t i = 0; i < 8; ++i) {
            sums[i] += query[x + i] * static_cast<double>(numbers[x + i]);
        }
    }
    double total = ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
    for (; x < dim; ++x) {
        total += query[x] * static_cast<double>(numbers[x]);
    }
    return total;
}

// The score of the words of a query in a document, in float64.
double words_of(const Postings& postings, const QueryTerms& terms, std::size_t query, std::size_t doc, double most) {
    double score = 0.0;
    const Range own = terms.of(query);
    for (std::size_t i = own.begin; i < own.end; ++i) {
        const Range held = postings.of(terms.words[i]);
        const std::int32_t* const first = postings.documents.data() + held.begin;
        const std::int32_t* const last = postings.documents.data() + held.end;
        const std::int32_t* const at = std::lower_bound(first, last, static_cast<std::int32_t>(doc));
        if (at != last && *at == static_cast<std::int32_t>(doc)) {
            const auto place = static_cast<std::size_t>(at - postings.documents.data());
            score += terms.weights[i] * saturated(static_cast<double>(postings.counts[place]),
                                                  static_cast<double>(postings.norms[doc]), most);
        }
    }
    return score;
}

template <typename T>
Ranking<T> ranking_of(Documents<T> documents, const double* queries, std::size_t n_queries, double factor,
                      std::size_t k) {
    Ranking<T> ranking{documents, {}, {}, n_queries, padded_width(documents.dim), nullptr, nullptr, nullptr, 0, 0, k};
    ranking.queries.resize(n_queries * ranking.width);
    ranking.silent.resize(n_queries, 1);
    for (std::size_t query = 0; query < n_queries; ++query) {
        for (std::size_t x = 0; x < documents.dim; ++x) {
            const auto number = static_cast<float>(factor * queries[query * documents.dim + x]);
            ranking.queries[query * ranking.width + x] = number;
            ranking.silent[query] &= number == 0.0F ? 1 : 0;
        }
    }
    return ranking;
}

// Documents of single precision, or of half precision given as uint16.
using DocumentRows = std::variant<Array<const float, 2>, Array<const std::uint16_t, 2>>;

// Call a function with documents of either precision.
template <typename Function>
void with_documents(const DocumentRows& given, std::size_t dim, Function&& function) {
    std::visit(
        [&](const auto& array) {
            array.expect_size(1, dim, "as wide as the queries");
            using Number = typename std::remove_cvref_t<decltype(array)>::Number;
            function(Documents<Number>{array.data(), array.size(0), array.size(1)});
        },
        given);
}

void rank(const Array<const double, 2>& queries, const DocumentRows& rows, double cosine_weight,
          const std::optional<QueryTerms::Fields>& given_terms, const std::optional<Postings::Fields>& given_postings,
          double most, double bm25_weight, const std::optional<Array<const bool>>& admitted,
          const std::optional<Array<const std::int64_t, 2>>& candidates, std::int64_t spare, std::int64_t given_threads,
          const Array<std::int64_t, 2>& positions, const Array<double, 2>& cosines, const Array<double, 2>& scores) {
    const std::size_t threads = checked_threads(given_threads), n_queries = queries.size(0), k = positions.size(1);
    for (const std::size_t axis : {0, 1}) {
        const std::size_t due = axis == 0 ? n_queries : k;
        positions.expect_size(axis, due, "one row per query");
        cosines.expect_size(axis, due, "the shape of positions");
        scores.expect_size(axis, due, "the shape of positions");
    }
    std::optional<QueryTerms> terms;
    std::optional<Postings> postings;
    if (given_terms && given_postings) {
        terms.emplace(*given_terms);
        postings.emplace(*given_postings);
        terms->ends.expect_size(0, n_queries, "one per query");
    }
    with_documents(rows, queries.size(1), [&](const auto& documents) {
        if (admitted) {
            admitted->expect_size(0, documents.many, "one per document");
        }
        if (postings) {
            postings->norms.expect_size(0, documents.many, "one per document");
        }
        if (candidates) {
            candidates->expect_size(0, n_queries, "one row per query");
        }
        if (spare < 0 || k > documents.many) {
            refuse("positions must have at most as many columns as there are documents, ", documents.many);
        }
        const nb::gil_scoped_release released;
        Interrupts interrupts;
        auto ranking = ranking_of(documents, queries.data(), n_queries, cosine_weight,
                                  std::min(k + static_cast<std::size_t>(spare), documents.many));
        ranking.admitted = admitted ? admitted->bytes() : nullptr;
        ranking.terms = terms ? &*terms : nullptr;
        ranking.postings = postings ? &*postings : nullptr;
        ranking.most = static_cast<float>(most);
        ranking.scale = bm25_weight;
        const auto found = candidates ? checked_candidates(*candidates, documents.many)
                                      : candidates_of(ranking, threads, interrupts);
        struct Exact {
            double score, cosine;
            std::int64_t position;
        };
        const std::size_t amount = ranking.k * (documents.dim + 200);
        for_blocks(n_queries, threads, amount, interrupts, [&](std::size_t query, std::size_t) {
            std::vector<Exact> exact;
            std::vector<float> space(documents.dim);
            for (const Ranked& candidate : found[query]) {
                const auto doc = static_cast<std::size_t>(candidate.position);
                const double cosine = exact_product(queries.row(query).data(), documents.data + doc * documents.dim,
                                                    documents.dim, space.data());
                double score = cosine_weight * cosine;
                if (terms) {
                    score += bm25_weight * words_of(*postings, *terms, query, doc, most);
                }
                exact.push_back({score, cosine, candidate.position});
            }
            if (exact.size() < k) {
                refuse("query ", query, " has a score with ", exact.size(), " documents only, but ", k,
                       " were to be found: the rows must be finite, and as many documents be admitted");
            }
            std::sort(exact.begin(), exact.end(), [](const Exact& one, const Exact& other) {
                return one.score != other.score ? one.score > other.score : one.position < other.position;
            });
            for (std::size_t i = 0; i < k; ++i) {
                positions.row(query)[i] = exact[i].position;
                cosines.row(query)[i] = exact[i].cosine;
                scores.row(query)[i] = exact[i].score;
            }
        });
    });
}

void largest_products(const Array<const double, 2>& queries, const DocumentRows& rows, std::int64_t given_threads,
                      const Array<std::int64_t, 2>& positions) {
    const std::size_t threads = checked_threads(given_threads), k = positions.size(1);
    positions.expect_size(0, queries.size(0), "one row per query");
    with_documents(rows, queries.size(1), [&](const auto& documents) {
        if (k > documents.many) {
            refuse("positions must have at most as many columns as there are documents, ", documents.many);
        }
        const nb::gil_scoped_release released;
        Interrupts interrupts;
        const auto ranking = ranking_of(documents, queries.data(), queries.size(0), 1.0, k);
        const auto found = candidates_of(ranking, threads, interrupts);
        for (std::size_t query = 0; query < found.size(); ++query) {
            if (found[query].size() < k) {
                refuse("the rows of queries and documents must be finite");
            }
            for (std::size_t i = 0; i < k; ++i) {
                positions.row(query)[i] = found[query][i].position;
            }
        }
    });
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
    kernels.def("rank", rank, nb::arg("queries"), nb::arg("documents"), nb::arg("cosine_weight"), nb::arg("terms").none(),
                nb::arg("postings").none(), nb::arg("most"), nb::arg("bm25_weight"), nb::arg("admitted").none(), nb::arg("candidates").none(), nb::arg("spare"),
                nb::arg("threads"), nb::arg("positions"), nb::arg("cosines"), nb::arg("scores"),
                "Write the best documents per query, best first, (n_queries, k): their positions, cosines, and scores\n"
                "``cosine_weight * cosine + bm25_weight * BM25``.\n\n"
                "Scores in float32 find ``k + spare`` candidates, unless they are given, (n_queries, n); their scores are\n"
                "computed again in float64.");
    kernels.def("largest_products", largest_products, nb::arg("queries"), nb::arg("documents"), nb::arg("threads"),
                nb::arg("positions"),
                "Write the positions of the rows of largest product in float32 with each query, best first.");
}

}  // namespace parasphere
