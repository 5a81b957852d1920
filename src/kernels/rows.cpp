// Loops over the rows of a matrix: sums of word vectors, and the products of an EM iteration.
//
// Everything is summed in float64, in an order that does not depend on how many rows are passed at once: a document has
// the same bits alone and among a million.
#include "rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "lanes.hpp"

namespace parasphere {
namespace {

constexpr std::int64_t hashed_below = -3;  // this and lower ids are of words without a row: hashed_below - hash
constexpr std::ptrdiff_t ahead = 12;       // words by which rows are prefetched ahead
constexpr std::size_t together = 4;        // rows that are added in one pass over the sum
constexpr std::size_t group = 16;          // rows that are multiplied by a matrix while a part of it is cached
constexpr std::size_t stretch = 4096;      // rows per partial sum

template <std::size_t Width, typename T>
[[gnu::always_inline]] inline void add_lanes(Lanes<Width>& sum, const T* row, double weight) {
    Lanes<Width> numbers;
    read_lanes<Width>(row, numbers);
    numbers *= weight;
    sum += numbers;
}

// Add four rows times weights to the columns from `j` on, `Width` at a time and then half as many.
template <std::size_t Width, typename T>
[[gnu::always_inline]] inline void add_four_rows(double* total, const T* const* rows, const double* weights,
                                                 std::size_t j, std::size_t dim) {
    const T *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const double wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
    for (; j + Width <= dim; j += Width) {
        Lanes<Width> sum;
        std::memcpy(&sum, total + j, sizeof(sum));
        add_lanes<Width>(sum, a + j, wa);
        add_lanes<Width>(sum, b + j, wb);
        add_lanes<Width>(sum, c + j, wc);
        add_lanes<Width>(sum, d + j, wd);
        std::memcpy(total + j, &sum, sizeof(sum));
    }
    if constexpr (Width > 1) {
        add_four_rows<Width / 2>(total, rows, weights, j, dim);
    }
}

template <std::size_t Width, typename T>
[[gnu::always_inline]] inline void add_one_row(double* total, const T* row, double weight, std::size_t j,
                                               std::size_t dim) {
    for (; j + Width <= dim; j += Width) {
        Lanes<Width> sum;
        std::memcpy(&sum, total + j, sizeof(sum));
        add_lanes<Width>(sum, row + j, weight);
        std::memcpy(total + j, &sum, sizeof(sum));
    }
    if constexpr (Width > 1) {
        add_one_row<Width / 2>(total, row, weight, j, dim);
    }
}

// Sums are read and written once per four rows.
template <std::size_t Width, typename T>
[[gnu::always_inline]] inline void add_rows_by(double* total, const T* const* rows, const double* weights,
                                               std::size_t many, std::size_t dim) {
    std::size_t i = 0;
    for (; i + 4 <= many; i += 4) {
        add_four_rows<Width>(total, rows + i, weights + i, 0, dim);
    }
    for (; i < many; ++i) {
        add_one_row<Width>(total, rows[i], weights[i], 0, dim);
    }
}

#ifdef PARASPHERE_TARGET

// The vectors are as wide as the registers of each level: the compiler would spill wider ones.
template <typename T>
PARASPHERE_TARGET("arch=x86-64-v4")
void add_rows_512(double* total, const T* const* rows, const double* weights, std::size_t many, std::size_t dim) {
    add_rows_by<8>(total, rows, weights, many, dim);
}

template <typename T>
PARASPHERE_TARGET("arch=x86-64-v3")
void add_rows_256(double* total, const T* const* rows, const double* weights, std::size_t many, std::size_t dim) {
    add_rows_by<4>(total, rows, weights, many, dim);
}

// The level of x86-64 that the processor has.
int best_level() {
    static const int level = __builtin_cpu_supports("x86-64-v4") ? 4 : __builtin_cpu_supports("x86-64-v3") ? 3 : 1;
    return level;
}

template <typename T>
void add_rows_at_best(double* total, const T* const* rows, const double* weights, std::size_t many, std::size_t dim) {
    const int level = best_level();
    if (level == 4) {
        add_rows_512(total, rows, weights, many, dim);
    } else if (level == 3) {
        add_rows_256(total, rows, weights, many, dim);
    } else {
        add_rows_by<2>(total, rows, weights, many, dim);
    }
}

#else

template <typename T>
void add_rows_at_best(double* total, const T* const* rows, const double* weights, std::size_t many, std::size_t dim) {
    add_rows_by<2>(total, rows, weights, many, dim);
}

#endif

// The product of a row and a direction, in eight partial sums, followed by the rest of the row.
template <typename T>
[[gnu::always_inline]] inline void products_of(const T* rows, std::size_t many, std::size_t dim,
                                               const double* __restrict direction, double* __restrict along) {
    const std::size_t whole = dim & ~std::size_t{7};
    for (std::size_t i = 0; i < many; ++i) {
        const T* __restrict row = rows + i * dim;
        double sums[8] = {};
        for (std::size_t j = 0; j < whole; j += 8) {
            for (std::size_t k = 0; k < 8; ++k) {
                sums[k] += static_cast<double>(row[j + k]) * direction[j + k];
            }
        }
        double total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        for (std::size_t j = whole; j < dim; ++j) {
            total += static_cast<double>(row[j]) * direction[j];
        }
        along[i] = total;
    }
}

PARASPHERE_VECTORISED void products(const float* rows, std::size_t many, std::size_t dim, const double* direction,
                                    double* along) {
    products_of(rows, many, dim, direction, along);
}

PARASPHERE_VECTORISED void products(const double* rows, std::size_t many, std::size_t dim, const double* direction,
                                    double* along) {
    products_of(rows, many, dim, direction, along);
}

template <typename T>
[[gnu::always_inline]] inline void move_row_by(const T* row, double factor, const double* __restrict shift,
                                               double* __restrict moved, std::size_t dim) {
    for (std::size_t j = 0; j < dim; ++j) {
        moved[j] = shift[j] + factor * static_cast<double>(row[j]);
    }
}

PARASPHERE_VECTORISED void move_row(const float* row, double factor, const double* shift, double* moved,
                                    std::size_t dim) {
    move_row_by(row, factor, shift, moved, dim);
}

PARASPHERE_VECTORISED void move_row(const double* row, double factor, const double* shift, double* moved,
                                    std::size_t dim) {
    move_row_by(row, factor, shift, moved, dim);
}

template <typename T>
[[gnu::always_inline]] inline void divide_row_by(const double* __restrict moved, double length, T* __restrict out,
                                                 std::size_t dim) {
    for (std::size_t j = 0; j < dim; ++j) {
        out[j] = static_cast<T>(moved[j] / length);
    }
}

PARASPHERE_VECTORISED void divide_row(const double* moved, double length, float* out, std::size_t dim) {
    divide_row_by(moved, length, out, dim);
}

PARASPHERE_VECTORISED void divide_row(const double* moved, double length, double* out, std::size_t dim) {
    divide_row_by(moved, length, out, dim);
}

// Two partial sums, of even and of odd entries.
double length_of(std::span<const double> row) {
    double even = 0.0, odd = 0.0;
    std::size_t j = 0;
    for (; j + 1 < row.size(); j += 2) {
        even += row[j] * row[j];
        odd += row[j + 1] * row[j + 1];
    }
    if (j < row.size()) {
        even += row[j] * row[j];
    }
    return std::sqrt(even + odd);
}

// The random bits of the generator SplitMix64.
class SplitMix {
public:
    explicit SplitMix(std::uint64_t state) : state_(state) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t bits = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9u;
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
        return bits ^ (bits >> 31);
    }

private:
    std::uint64_t state_;
};

// Add a step to each number whose bit is set, and subtract it from the others.
PARASPHERE_VECTORISED void add_signed(double* __restrict total, std::size_t many, std::uint64_t bits, double step) {
    const auto positive = std::bit_cast<std::uint64_t>(step);
    for (std::size_t j = 0; j < many; ++j) {
        const std::uint64_t sign = (~(bits >> j) & 1) << 63;
        total[j] += std::bit_cast<double>(positive ^ sign);
    }
}

// Add the unit vector of a word without a row, times a weight: plus or minus 1 / sqrt(dim) by random bits seeded by its
// id. Two such vectors are nearly orthogonal, like any random vectors.
void add_hashed_word(std::int64_t word, double weight, std::span<double> total) {
    const double step = weight / std::sqrt(static_cast<double>(total.size()));
    SplitMix random(static_cast<std::uint64_t>(hashed_below) - static_cast<std::uint64_t>(word));
    for (std::size_t j = 0; j < total.size(); j += 64) {
        add_signed(total.data() + j, std::min<std::size_t>(64, total.size() - j), random.next(), step);
    }
}

void add_hashed(std::int64_t word, double weight, nb::handle given_total) {
    const Array<double> total(given_total, "total");
    add_hashed_word(word, weight, total.all());
}

// Sums the rows of the words of a document; used for one document after another.
class WordSum {
public:
    WordSum(Rows<const float> matrix, const double* weights, double hashed)
        : matrix_(matrix), weights_(weights), hashed_(hashed), total_(matrix.dim) {}

    // Sum the words of a document. Words up to `limit` can be read, so that the rows of the next ones are prefetched.
    template <std::size_t Width>
    [[gnu::always_inline]] void add_by(std::span<const std::int32_t> words, const std::int32_t* limit) {
        std::fill(total_.begin(), total_.end(), 0.0);
        // Local variables, which the compiler can keep in registers.
        double sum = 0.0, sum_of_squares = 0.0;
        std::int64_t lacking = 0;
        std::size_t waiting = 0;
        for (const std::int32_t& id : words) {
            if (limit - &id > ahead) {
                announce((&id)[ahead]);
            }
            if (id < 0) {
                ++lacking;
                if (id <= hashed_below && hashed_ > 0.0) {
                    add_waiting<Width>(waiting);
                    waiting = 0;
                    sum += hashed_;
                    sum_of_squares += hashed_ * hashed_;
                    add_hashed_word(id, hashed_, total_);
                }
                continue;
            }
            const auto word = static_cast<std::size_t>(id);
            if (word >= matrix_.many) {
                refuse("ids must be below the ", matrix_.many, " rows of the matrix, not ", id);
            }
            const double weight = weights_ == nullptr ? 1.0 : weights_[word];
            sum += weight;
            sum_of_squares += weight * weight;
            rows_[waiting] = matrix_.data + word * matrix_.dim;
            row_weights_[waiting] = weight;
            if (++waiting == together) {
                add_waiting<Width>(waiting);
                waiting = 0;
            }
        }
        add_waiting<Width>(waiting);
        length = sum;
        squares = sum_of_squares;
        unknown = lacking;
    }

    std::span<const double> total() const { return total_; }

    double length = 0.0;
    double squares = 0.0;
    std::int64_t unknown = 0;

private:
    // Prefetch the row of a word that will be added soon. Nothing is read, so any id is valid.
    [[gnu::always_inline]] void announce(std::int32_t id) const {
        if (id >= 0) {
            const auto* row = matrix_.data + static_cast<std::size_t>(id) * matrix_.dim;
            for (std::size_t j = 0; j < matrix_.dim; j += 64 / sizeof(float)) {
                prefetch(row + j);
            }
            if (weights_ != nullptr) {
                prefetch(weights_ + id);
            }
        }
    }

    template <std::size_t Width>
    [[gnu::always_inline]] void add_waiting(std::size_t waiting) {
        add_rows_by<Width>(total_.data(), rows_.data(), row_weights_.data(), waiting, matrix_.dim);
    }

    Rows<const float> matrix_;
    const double* weights_;
    double hashed_;
    std::vector<double> total_;
    std::array<const float*, together> rows_{};
    std::array<double, together> row_weights_{};
};

#ifdef PARASPHERE_TARGET

PARASPHERE_TARGET("arch=x86-64-v4")
void sum_words_512(WordSum& sum, std::span<const std::int32_t> words, const std::int32_t* limit) {
    sum.add_by<8>(words, limit);
}

PARASPHERE_TARGET("arch=x86-64-v3")
void sum_words_256(WordSum& sum, std::span<const std::int32_t> words, const std::int32_t* limit) {
    sum.add_by<4>(words, limit);
}

void sum_words(WordSum& sum, std::span<const std::int32_t> words, const std::int32_t* limit) {
    const int level = best_level();
    if (level == 4) {
        sum_words_512(sum, words, limit);
    } else if (level == 3) {
        sum_words_256(sum, words, limit);
    } else {
        sum.add_by<2>(words, limit);
    }
}

#else

void sum_words(WordSum& sum, std::span<const std::int32_t> words, const std::int32_t* limit) {
    sum.add_by<2>(words, limit);
}

#endif

struct WordSumResults {
    Array<double> lengths;
    Array<double> squared_norms;
    Array<std::int64_t> unknown;
    Array<double> squared_weights;
};

template <typename T>
void sum_documents(const Array<const std::int32_t>& ids, const Array<const std::int64_t>& ends, WordSum sum,
                   const Array<T, 2>& sums, const WordSumResults& results) {
    const Unlocked unlocked(ids.count() * sums.size(1) + ends.count() * 10);
    Interrupts interrupts;
    std::size_t at = 0;
    for (std::size_t doc = 0; doc < ends.count(); ++doc) {
        const std::int64_t end = ends[doc];
        if (end < static_cast<std::int64_t>(at) || end > static_cast<std::int64_t>(ids.count())) {
            refuse("ends must rise and lie within the ", ids.count(), " ids, but entry ", doc, " is ", end, " after ",
                   at);
        }
        interrupts.worked((static_cast<std::size_t>(end) - at) * 64);
        const auto many = static_cast<std::size_t>(end) - at;
        sum_words(sum, ids.all().subspan(at, many), ids.data() + ids.count());
        at += many;
        const std::span<const double> total = sum.total();
        T* out = sums.row(doc).data();
        double squared = 0.0;
        for (std::size_t j = 0; j < total.size(); ++j) {
            out[j] = static_cast<T>(total[j]);
            squared += static_cast<double>(out[j]) * static_cast<double>(out[j]);
        }
        results.lengths[doc] = sum.length;
        results.squared_weights[doc] = sum.squares;
        results.squared_norms[doc] = squared;
        results.unknown[doc] = sum.unknown;
    }
}

void sum_rows(nb::handle given_ids, nb::handle given_ends, nb::handle given_matrix, nb::handle given_weights,
              double hashed, nb::handle given_sums, nb::handle given_lengths, nb::handle given_squared_norms,
              nb::handle given_unknown, nb::handle given_squared_weights) {
    const Array<const std::int32_t> ids(given_ids, "ids");
    const Array<const std::int64_t> ends(given_ends, "ends");
    const Array<const float, 2> matrix(given_matrix, "matrix");
    const auto weights = array_or_none<const double>(given_weights, "weights");
    const WordSumResults results{{given_lengths, "lengths"},
                                 {given_squared_norms, "squared_norms"},
                                 {given_unknown, "unknown"},
                                 {given_squared_weights, "squared_weights"}};
    if (weights) {
        weights->expect_size(0, matrix.size(0), "one per row of the matrix");
    }
    results.lengths.expect_size(0, ends.count(), "one per document");
    results.squared_norms.expect_size(0, ends.count(), "one per document");
    results.unknown.expect_size(0, ends.count(), "one per document");
    results.squared_weights.expect_size(0, ends.count(), "one per document");
    with_floats<float, 2>(given_sums, "sums", [&](const auto& sums) {
        sums.expect_size(0, ends.count(), "one row per document");
        sums.expect_size(1, matrix.size(1), "as wide as the matrix");
        sum_documents(ids, ends, WordSum(rows_of(matrix), weights ? weights->data() : nullptr, hashed), sums, results);
    });
}

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

void unit_combinations(nb::handle given_rows, nb::handle given_factors, nb::handle given_shift,
                       nb::handle given_otherwise, nb::handle given_out) {
    const Array<const double> factors(given_factors, "factors");
    const Array<const double> shift(given_shift, "shift");
    const Array<const double> otherwise(given_otherwise, "otherwise");
    with_floats<const float, 2>(given_rows, "rows", [&](const auto& rows) {
        with_floats<float, 2>(given_out, "out", [&](const auto& out) {
            factors.expect_size(0, rows.size(0), "one per row");
            shift.expect_size(0, rows.size(1), "as wide as the rows");
            otherwise.expect_size(0, rows.size(1), "as wide as the rows");
            out.expect_size(0, rows.size(0), "as many as the rows");
            out.expect_size(1, rows.size(1), "as wide as the rows");
            const Unlocked unlocked(rows.count());
            Interrupts interrupts;
            combine_rows(rows_of(rows), factors.data(), shift.data(), otherwise.data(), out.data(), interrupts);
        });
    });
}

void map_shifted_rows(nb::handle given_rows, nb::handle given_factors, nb::handle given_shift, nb::handle given_matrix,
                      nb::handle given_silent, nb::handle given_out) {
    const Array<const double> factors(given_factors, "factors");
    const Array<const double> shift(given_shift, "shift");
    const auto matrix = array_or_none<const double, 2>(given_matrix, "matrix");
    const Array<const bool> silent(given_silent, "silent");
    with_floats<const float, 2>(given_rows, "rows", [&](const auto& rows) {
        with_floats<float, 2>(given_out, "out", [&](const auto& out) {
            factors.expect_size(0, rows.size(0), "one per row");
            shift.expect_size(0, rows.size(1), "as wide as the rows");
            silent.expect_size(0, rows.size(0), "one per row");
            if (matrix) {
                matrix->expect_size(0, rows.size(1), "as wide as the rows");
                matrix->expect_size(1, rows.size(1), "as wide as the rows");
            }
            out.expect_size(0, rows.size(0), "as many as the rows");
            out.expect_size(1, rows.size(1), "as wide as the rows");
            const Unlocked unlocked(rows.count() * (matrix ? rows.size(1) / 4 : 1));
            Interrupts interrupts;
            map_rows(rows_of(rows), factors.data(), shift.data(), matrix ? matrix->data() : nullptr, silent.bytes(),
                     out.data(), interrupts);
        });
    });
}

void project(nb::handle given_rows, nb::handle given_direction, nb::handle given_along) {
    const Array<const double> direction(given_direction, "direction");
    const Array<double> along(given_along, "along");
    with_floats<const float, 2>(given_rows, "rows", [&](const auto& rows) {
        direction.expect_size(0, rows.size(1), "as wide as the rows");
        along.expect_size(0, rows.size(0), "one per row");
        const Unlocked unlocked(rows.count());
        Interrupts interrupts;
        project_rows(rows_of(rows), direction.data(), along.all(), interrupts);
    });
}

template <typename T>
void sum_weighted(Rows<const T> rows, const double* weights, std::span<double> total, Interrupts& interrupts) {
    std::fill(total.begin(), total.end(), 0.0);
    std::vector<double> part(rows.dim);
    std::array<const T*, together> some{};
    for (std::size_t begin = 0; begin < rows.many; begin += stretch) {
        const std::size_t end = std::min(begin + stretch, rows.many);
        std::fill(part.begin(), part.end(), 0.0);
        for (std::size_t i = begin; i < end; i += together) {
            const std::size_t many = std::min(together, end - i);
            for (std::size_t k = 0; k < many; ++k) {
                some[k] = rows.data + (i + k) * rows.dim;
            }
            add_rows(part.data(), some.data(), weights + i, many, rows.dim);
        }
        for (std::size_t j = 0; j < rows.dim; ++j) {
            total[j] += part[j];
        }
        interrupts.worked((end - begin) * rows.dim / 4);
    }
}

void weighted_sum(nb::handle given_rows, nb::handle given_weights, nb::handle given_total) {
    const Array<const double> weights(given_weights, "weights");
    const Array<double> total(given_total, "total");
    with_floats<const float, 2>(given_rows, "rows", [&](const auto& rows) {
        weights.expect_size(0, rows.size(0), "one per row");
        total.expect_size(0, rows.size(1), "as wide as the rows");
        const Unlocked unlocked(rows.count());
        Interrupts interrupts;
        sum_weighted(rows_of(rows), weights.data(), total.all(), interrupts);
    });
}

}  // namespace

void add_rows(double* total, const float* const* rows, const double* weights, std::size_t many, std::size_t dim) {
    add_rows_at_best(total, rows, weights, many, dim);
}

void add_rows(double* total, const double* const* rows, const double* weights, std::size_t many, std::size_t dim) {
    add_rows_at_best(total, rows, weights, many, dim);
}

template <typename T>
void project_rows(Rows<const T> rows, const double* direction, std::span<double> along, Interrupts& interrupts) {
    for (std::size_t begin = 0; begin < rows.many; begin += stretch) {
        const std::size_t many = std::min(stretch, rows.many - begin);
        products(rows.data + begin * rows.dim, many, rows.dim, direction, along.data() + begin);
        interrupts.worked(many * rows.dim / 4);
    }
}

template <typename T, typename Out>
void combine_rows(Rows<const T> rows, const double* factors, const double* shift, const double* otherwise, Out* out,
                  Interrupts& interrupts) {
    std::vector<double> moved(rows.dim);
    for (std::size_t i = 0; i < rows.many; ++i) {
        move_row(rows.data + i * rows.dim, factors[i], shift, moved.data(), rows.dim);
        const double length = length_of(moved);
        Out* into = out + i * rows.dim;
        if (length > 0.0) {
            divide_row(moved.data(), length, into, rows.dim);
        } else {
            std::transform(otherwise, otherwise + rows.dim, into, [](double entry) { return static_cast<Out>(entry); });
        }
        interrupts.worked(rows.dim);
    }
}

template <typename T, typename Out>
void map_rows(Rows<const T> rows, const double* factors, const double* shift, const double* matrix,
              const std::uint8_t* silent,
              Out* out, Interrupts& interrupts) {
    const std::size_t dim = rows.dim;
    std::vector<double> moved(group * dim), mapped(matrix == nullptr ? 0 : group * dim);
    for (std::size_t begin = 0; begin < rows.many; begin += group) {
        const std::size_t many = std::min(group, rows.many - begin);
        for (std::size_t i = 0; i < many; ++i) {
            const T* row = rows.data + (begin + i) * dim;
            const double factor = factors[begin + i];
            for (std::size_t j = 0; j < dim; ++j) {
                moved[i * dim + j] = silent[begin + i] != 0 ? 0.0 : static_cast<double>(row[j]) * factor - shift[j];
            }
        }
        if (matrix != nullptr) {
            // Some rows of the matrix are used for all rows while they are cached; each sum adds them in their order.
            std::fill(mapped.begin(), mapped.end(), 0.0);
            std::array<const double*, together> some{};
            for (std::size_t j = 0; j < dim; j += together) {
                const std::size_t wide = std::min(together, dim - j);
                for (std::size_t k = 0; k < wide; ++k) {
                    some[k] = matrix + (j + k) * dim;
                }
                for (std::size_t i = 0; i < many; ++i) {
                    add_rows(mapped.data() + i * dim, some.data(), moved.data() + i * dim + j, wide, dim);
                }
            }
        }
        const std::vector<double>& from = matrix == nullptr ? moved : mapped;
        Out* into = out + begin * dim;
        for (std::size_t k = 0; k < many * dim; ++k) {
            into[k] = static_cast<Out>(from[k]);
        }
        interrupts.worked(many * dim * (matrix == nullptr ? 1 : dim / 4));
    }
}

// Instances that other files call.
template void project_rows(Rows<const float>, const double*, std::span<double>, Interrupts&);
template void project_rows(Rows<const double>, const double*, std::span<double>, Interrupts&);
template void combine_rows(Rows<const float>, const double*, const double*, const double*, float*, Interrupts&);
template void combine_rows(Rows<const float>, const double*, const double*, const double*, double*, Interrupts&);
template void combine_rows(Rows<const double>, const double*, const double*, const double*, float*, Interrupts&);
template void combine_rows(Rows<const double>, const double*, const double*, const double*, double*, Interrupts&);
template void map_rows(Rows<const float>, const double*, const double*, const double*, const std::uint8_t*, float*,
                       Interrupts&);
template void map_rows(Rows<const float>, const double*, const double*, const double*, const std::uint8_t*, double*,
                       Interrupts&);
template void map_rows(Rows<const double>, const double*, const double*, const double*, const std::uint8_t*, float*,
                       Interrupts&);
template void map_rows(Rows<const double>, const double*, const double*, const double*, const std::uint8_t*, double*,
                       Interrupts&);

void bind_rows(nb::module_& kernels) {
    kernels.def("sum_rows", sum_rows, argument("ids"), argument("ends"), argument("matrix"), argument("weights"),
                nb::arg("hashed"), argument("sums"), argument("lengths"), argument("squared_norms"),
                argument("unknown"), argument("squared_weights"),
                "Sum the rows of the word ids of each document, in order, in float64.\n\n"
                "``weights`` is None or has one weight per row. ``hashed`` is the weight of words that have only a\n"
                "hash; if it is 0, they are only counted as unknown. Writes the sums (n_docs, dim), and the lengths,\n"
                "squared norms, numbers of unknown words, and squared weights, (n_docs,) each.");
    kernels.def("add_hashed", add_hashed, nb::arg("word"), nb::arg("weight"), argument("total"),
                "Add the unit vector of a word that has only a hash, times a weight, to ``total`` (dim,).");
    kernels.def("count_ids", count_ids, argument("ids"), argument("counts"),
                "Add the number of occurrences of each word id to ``counts``; negative ids are not counted.");
    kernels.def("unit_combinations", unit_combinations, argument("rows"), argument("factors"), argument("shift"),
                argument("otherwise"), argument("out"),
                "Write ``shift + factor * row``, divided by its length, for each row; ``otherwise`` where that is 0.");
    kernels.def("map_shifted_rows", map_shifted_rows, argument("rows"), argument("factors"), argument("shift"),
                argument("matrix"), argument("silent"), argument("out"),
                "Write ``factor * row - shift`` for each row, times a matrix unless that is None; 0 for rows that are\n"
                "silent. BLAS is not used, as its order of additions varies.");
    kernels.def("project", project, argument("rows"), argument("direction"), argument("along"),
                "Write the inner product of each row with a direction to ``along``: (n, dim), (dim,) -> (n,).");
    kernels.def("weighted_sum", weighted_sum, argument("rows"), argument("weights"), argument("total"),
                "Write the sum of the rows times their weights to ``total``: (n, dim), (n,) -> (dim,).");
}

}  // namespace parasphere
