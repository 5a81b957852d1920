// Loops over the rows of a matrix: sums of word vectors, and the products of an EM iteration.
//
// Everything is summed in float64, in an order that does not depend on how many rows are passed at once: a document has
// the same bits alone and among a million.
#include "rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

namespace parasphere {
namespace {

constexpr std::int64_t hashed_below = -3;  // this and lower ids are of words without a row: hashed_below - hash
constexpr std::ptrdiff_t ahead = 12;       // words by which rows are prefetched ahead
constexpr std::size_t together = 4;        // rows that are added in one pass over the sum
constexpr std::size_t group = 16;          // rows that are multiplied by a matrix while a part of it is cached
constexpr std::size_t stretch = 4096;      // rows per partial sum

// Add four rows times weights to the columns from `j` on, `width` at a time and then half as many.
template <std::size_t width, typename T>
PARASPHERE_INLINE void add_four_rows(double* total, const T* const* rows, const double* weights, std::size_t j,
                                     std::size_t dim) {
    const T *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const double wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
    for (; j + width <= dim; j += width) {
        Lanes<double, width> sum = load<double, width>(total + j);
        sum = sum + wa * load<double, width>(a + j);
        sum = sum + wb * load<double, width>(b + j);
        sum = sum + wc * load<double, width>(c + j);
        sum = sum + wd * load<double, width>(d + j);
        store(total + j, sum);
    }
    if constexpr (width > 1) {
        add_four_rows<width / 2>(total, rows, weights, j, dim);
    }
}

template <std::size_t width, typename T>
PARASPHERE_INLINE void add_one_row(double* total, const T* row, double weight, std::size_t j, std::size_t dim) {
    for (; j + width <= dim; j += width) {
        store(total + j, load<double, width>(total + j) + weight * load<double, width>(row + j));
    }
    if constexpr (width > 1) {
        add_one_row<width / 2>(total, row, weight, j, dim);
    }
}

// Sums are read and written once per four rows.
template <std::size_t width, typename T>
PARASPHERE_INLINE void add_rows_by(double* total, const T* const* rows, const double* weights, std::size_t many,
                                   std::size_t dim) {
    std::size_t i = 0;
    for (; i + 4 <= many; i += 4) {
        add_four_rows<width>(total, rows + i, weights + i, 0, dim);
    }
    for (; i < many; ++i) {
        add_one_row<width>(total, rows[i], weights[i], 0, dim);
    }
}

// The product of a row and a direction, in eight partial sums, followed by the rest of the row.
template <std::size_t width, typename T>
PARASPHERE_INLINE double product_of(const T* row, const double* direction, std::size_t dim) {
    const std::size_t whole = dim & ~std::size_t{7};
    Lanes<double, width> parts[8 / width] = {};
    for (std::size_t j = 0; j < whole; j += 8) {
        for (std::size_t k = 0; k < 8; k += width) {
            parts[k / width] = parts[k / width] + load<double, width>(row + j + k) * load<double, width>(direction + j + k);
        }
    }
    double sums[8];
    std::memcpy(sums, parts, sizeof sums);
    double total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (std::size_t j = whole; j < dim; ++j) {
        total += static_cast<double>(row[j]) * direction[j];
    }
    return total;
}

// Two partial sums, of even and of odd entries.
PARASPHERE_INLINE double length_of(std::span<const double> row) {
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
void add_signed(double* total, std::size_t many, std::uint64_t bits, double step) {
    vectorised([=, positive = std::bit_cast<std::uint64_t>(step)](auto) PARASPHERE_LOOP {
        for (std::size_t j = 0; j < many; ++j) {
            const std::uint64_t sign = (~(bits >> j) & 1) << 63;
            total[j] += std::bit_cast<double>(positive ^ sign);
        }
    });
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

void add_hashed(std::int64_t word, double weight, const Array<double>& total) {
    add_hashed_word(word, weight, total.all());
}

// Sums the rows of the words of a document; used for one document after another.
class WordSum {
public:
    WordSum(Rows<const float> matrix, const double* weights, double hashed)
        : matrix_(matrix), weights_(weights), hashed_(hashed), total_(matrix.dim) {}

    // Sum the words of a document. Words up to `limit` can be read, so that the rows of the next ones are prefetched.
    void add(std::span<const std::int32_t> words, const std::int32_t* limit) {
        vectorised([=, this](auto bytes) PARASPHERE_LOOP { add_by<bytes / sizeof(double)>(words, limit); });
    }

    std::span<const double> total() const { return total_; }

    double length = 0.0;
    double squares = 0.0;
    std::int64_t unknown = 0;

private:
    template <std::size_t width>
    PARASPHERE_INLINE void add_by(std::span<const std::int32_t> words, const std::int32_t* limit) {
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
                    add_waiting<width>(waiting);
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
                add_four_rows<width>(total_.data(), rows_.data(), row_weights_.data(), 0, matrix_.dim);
                waiting = 0;
            }
        }
        add_waiting<width>(waiting);
        length = sum;
        squares = sum_of_squares;
        unknown = lacking;
    }

    // Prefetch the row of a word that will be added soon. Nothing is read, so any id is valid.
    PARASPHERE_INLINE void announce(std::int32_t id) const {
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

    template <std::size_t width>
    PARASPHERE_INLINE void add_waiting(std::size_t waiting) {  // fewer than four
        for (std::size_t i = 0; i < waiting; ++i) {
            add_one_row<width>(total_.data(), rows_[i], row_weights_[i], 0, matrix_.dim);
        }
    }

    Rows<const float> matrix_;
    const double* weights_;
    double hashed_;
    std::vector<double> total_;
    std::array<const float*, together> rows_{};
    std::array<double, together> row_weights_{};
};

void sum_rows(const Array<const std::int32_t>& ids, const Array<const std::int64_t>& ends,
              const Array<const float, 2>& matrix, const std::optional<Array<const double>>& weights, double hashed,
              const WritableRows& given_sums, const Array<double>& lengths, const Array<double>& squared_norms,
              const Array<std::int64_t>& unknown, const Array<double>& squared_weights) {
    if (weights) {
        weights->expect_size(0, matrix.size(0), "one per row of the matrix");
    }
    for (const Array<double>* results : {&lengths, &squared_norms, &squared_weights}) {
        results->expect_size(0, ends.count(), "one per document");
    }
    unknown.expect_size(0, ends.count(), "one per document");
    WordSum sum(rows_of(matrix), weights ? weights->data() : nullptr, hashed);
    std::visit([&](const auto& sums) {
        sums.expect_size(0, ends.count(), "one row per document");
        sums.expect_size(1, matrix.size(1), "as wide as the matrix");
        const Unlocked unlocked(ids.count() * matrix.size(1) + ends.count() * 10);
        Interrupts interrupts;
        std::size_t at = 0;
        for (std::size_t doc = 0; doc < ends.count(); ++doc) {
            const Range own = range_within(ids.count(), static_cast<std::int64_t>(at), ends[doc], "ends");
            const auto words = ids.all().subspan(at, own.size());
            sum.add(words, ids.data() + ids.count());
            interrupts.worked(own.size() * 64);
            at = own.end;
            double squared = 0.0;
            auto* out = sums.row(doc).data();
            for (const double number : sum.total()) {
                *out = static_cast<std::remove_reference_t<decltype(*out)>>(number);
                squared += static_cast<double>(*out) * static_cast<double>(*out);
                ++out;
            }
            lengths[doc] = sum.length;
            squared_weights[doc] = sum.squares;
            squared_norms[doc] = squared;
            unknown[doc] = sum.unknown;
        }
    }, given_sums);
}

void count_ids(const Array<const std::int32_t>& ids, const Array<double>& counts) {
    const Unlocked unlocked(ids.count());
    Interrupts interrupts;
    for (const std::int32_t id : ids.all()) {
        interrupts.worked(1);
        if (id >= 0) {
            counts[index_below(counts.count(), id, "ids")] += 1.0;
        }
    }
}

void unit_combinations(const FloatRows& given_rows, const Array<const double>& factors,
                       const Array<const double>& shift, const Array<const double>& otherwise,
                       const WritableRows& given_out) {
    std::visit([&](const auto& rows, const auto& out) {
        factors.expect_size(0, rows.size(0), "one per row");
        shift.expect_size(0, rows.size(1), "as wide as the rows");
        otherwise.expect_size(0, rows.size(1), "as wide as the rows");
        out.expect_size(0, rows.size(0), "as many as the rows");
        out.expect_size(1, rows.size(1), "as wide as the rows");
        const Unlocked unlocked(rows.count());
        Interrupts interrupts;
        combine_rows(rows_of(rows), factors.data(), shift.data(), otherwise.data(), out.data(), interrupts);
    }, given_rows, given_out);
}

// Multiply some rows by a square matrix. Four rows of the matrix are used for all rows while they are cached; each sum
// adds them in their order.
void multiply(const double* rows, std::size_t many, const double* matrix, std::size_t dim, double* products) {
    std::fill(products, products + many * dim, 0.0);
    vectorised([=](auto bytes) PARASPHERE_LOOP {
        for (std::size_t j = 0; j < dim; j += together) {
            const std::size_t wide = std::min(together, dim - j);
            const double* some[together];
            for (std::size_t k = 0; k < wide; ++k) {
                some[k] = matrix + (j + k) * dim;
            }
            for (std::size_t i = 0; i < many; ++i) {
                add_rows_by<bytes / sizeof(double)>(products + i * dim, some, rows + i * dim + j, wide, dim);
            }
        }
    });
}

// Write `factor * row - shift`, or zeros if the row is silent.
template <typename T, typename Out>
void shift_row(std::span<const T> row, double factor, const double* shift, bool silent, Out* out) {
    if (silent) {
        std::fill(out, out + row.size(), Out{0});
        return;
    }
    vectorised([=](auto) PARASPHERE_LOOP {
        for (std::size_t j = 0; j < row.size(); ++j) {
            out[j] = static_cast<Out>(static_cast<double>(row[j]) * factor - shift[j]);
        }
    });
}

// Write `factor * row - shift` for each row, times a square matrix unless that is null; 0 for those that are silent.
// `out` may be `rows`.
template <typename T, typename Out>
void map_rows(Rows<const T> rows, const double* factors, const double* shift, const double* matrix,
              const std::uint8_t* silent, Out* out, Interrupts& interrupts) {
    const std::size_t dim = rows.dim;
    if (matrix == nullptr) {
        for (std::size_t i = 0; i < rows.many; ++i) {
            shift_row(rows.row(i), factors[i], shift, silent[i] != 0, out + i * dim);
            interrupts.worked(dim);
        }
        return;
    }
    std::vector<double> moved(group * dim), mapped(group * dim);
    for (std::size_t begin = 0; begin < rows.many; begin += group) {
        const std::size_t many = std::min(group, rows.many - begin);
        for (std::size_t i = 0; i < many; ++i) {
            shift_row(rows.row(begin + i), factors[begin + i], shift, silent[begin + i] != 0, moved.data() + i * dim);
        }
        multiply(moved.data(), many, matrix, dim, mapped.data());
        std::transform(mapped.data(), mapped.data() + many * dim, out + begin * dim,
                       [](double number) { return static_cast<Out>(number); });
        interrupts.worked(many * dim * dim / 4);
    }
}

void map_shifted_rows(const FloatRows& given_rows, const Array<const double>& factors,
                      const Array<const double>& shift, const std::optional<Array<const double, 2>>& matrix,
                      const Array<const bool>& silent, const WritableRows& given_out) {
    std::visit([&](const auto& rows, const auto& out) {
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
    }, given_rows, given_out);
}

void project(const FloatRows& given_rows, const Array<const double>& direction, const Array<double>& along) {
    std::visit([&](const auto& rows) {
        direction.expect_size(0, rows.size(1), "as wide as the rows");
        along.expect_size(0, rows.size(0), "one per row");
        const Unlocked unlocked(rows.count());
        Interrupts interrupts;
        project_rows(rows_of(rows), direction.data(), along.all(), interrupts);
    }, given_rows);
}

void weighted_sum(const FloatRows& given_rows, const Array<const double>& weights, const Array<double>& total) {
    std::visit([&](const auto& rows) {
        const std::size_t n = rows.size(0), dim = rows.size(1);
        weights.expect_size(0, n, "one per row");
        total.expect_size(0, dim, "as wide as the rows");
        const Unlocked unlocked(rows.count());
        Interrupts interrupts;
        std::fill(total.all().begin(), total.all().end(), 0.0);
        std::vector<double> part(dim);
        for (std::size_t begin = 0; begin < n; begin += stretch) {
            const std::size_t end = std::min(begin + stretch, n);
            std::fill(part.begin(), part.end(), 0.0);
            vectorised([=, matrix = rows_of(rows), factors = weights.data(), to = part.data()](auto bytes)
                           PARASPHERE_LOOP {
                               decltype(rows.data()) some[together];
                               for (std::size_t i = begin; i < end; i += together) {
                                   const std::size_t many = std::min(together, end - i);
                                   for (std::size_t k = 0; k < many; ++k) {
                                       some[k] = matrix.data + (i + k) * matrix.dim;
                                   }
                                   add_rows_by<bytes / sizeof(double)>(to, some, factors + i, many, matrix.dim);
                               }
                           });
            std::transform(part.begin(), part.end(), total.data(), total.data(), std::plus());
            interrupts.worked((end - begin) * dim / 4);
        }
    }, given_rows);
}

// Add the outer products of two rows each, `many` in all, to a sum of them; only to the right of its diagonal.
void add_outer(const double* left, const double* right, std::size_t many, std::size_t columns, double* total) {
    vectorised([=](auto bytes) PARASPHERE_LOOP {
        constexpr std::size_t width = bytes / sizeof(double);
        constexpr std::size_t down = 4, across = 2;  // sums of this many rows times registers are kept in registers
        for (std::size_t i = 0; i < columns; i += down) {
            for (std::size_t j = i / (across * width) * (across * width); j < columns; j += across * width) {
                Lanes<double, width> sums[down][across] = {};
                for (std::size_t k = 0; k < many; ++k) {
                    for (std::size_t y = 0; y < down; ++y) {
                        for (std::size_t x = 0; x < across; ++x) {
                            sums[y][x] = sums[y][x] + left[k * columns + i + y] *
                                                          load<double, width>(right + k * columns + j + x * width);
                        }
                    }
                }
                for (std::size_t y = 0; y < down; ++y) {
                    for (std::size_t x = 0; x < across; ++x) {
                        double* const place = total + (i + y) * columns + j + x * width;
                        store(place, load<double, width>(place) + sums[y][x]);
                    }
                }
            }
        }
    });
}

void outer_products(const FloatRows& given_rows, const Array<const double>& weights, const Array<double, 2>& total) {
    std::visit([&](const auto& rows) {
        const std::size_t n = rows.size(0), dim = rows.size(1);
        weights.expect_size(0, n, "one per row");
        total.expect_size(0, dim, "as wide as the rows");
        total.expect_size(1, dim, "as wide as the rows");
        constexpr std::size_t block = 256, widest = 16;
        const std::size_t columns = (dim + widest - 1) / widest * widest;
        std::vector<double> left(block * columns), right(block * columns), sums(columns * columns);
        const Unlocked unlocked(n * dim * dim / 8);
        Interrupts interrupts;
        for (std::size_t begin = 0; begin < n; begin += block) {
            const std::size_t many = std::min(block, n - begin);
            for (std::size_t k = 0; k < many; ++k) {
                for (std::size_t j = 0; j < dim; ++j) {
                    right[k * columns + j] = static_cast<double>(rows.row(begin + k)[j]);
                    left[k * columns + j] = weights[begin + k] * right[k * columns + j];
                }
            }
            add_outer(left.data(), right.data(), many, columns, sums.data());
            interrupts.worked(many * dim * dim / 8);
        }
        for (std::size_t i = 0; i < dim; ++i) {
            for (std::size_t j = i; j < dim; ++j) {
                total.row(i)[j] = total.row(j)[i] = sums[i * columns + j];
            }
        }
    }, given_rows);
}

}  // namespace

template <typename T>
void project_rows(Rows<const T> rows, const double* direction, std::span<double> along, Interrupts& interrupts) {
    for (std::size_t begin = 0; begin < rows.many; begin += stretch) {
        const std::size_t end = std::min(begin + stretch, rows.many);
        vectorised([=](auto bytes) PARASPHERE_LOOP {
            for (std::size_t i = begin; i < end; ++i) {
                along[i] = product_of<bytes / sizeof(double)>(rows.data + i * rows.dim, direction, rows.dim);
            }
        });
        interrupts.worked((end - begin) * rows.dim / 4);
    }
}

template <typename T, typename Out>
void combine_rows(Rows<const T> rows, const double* factors, const double* shift, const double* otherwise, Out* out,
                  Interrupts& interrupts) {
    std::vector<double> space(rows.dim);
    for (std::size_t begin = 0; begin < rows.many; begin += group) {
        const std::size_t end = std::min(begin + group, rows.many);
        vectorised([=, moved = std::span(space)](auto) PARASPHERE_LOOP {
            for (std::size_t i = begin; i < end; ++i) {
                const T* const row = rows.data + i * rows.dim;
                const double factor = factors[i];
                for (std::size_t j = 0; j < moved.size(); ++j) {
                    moved[j] = shift[j] + factor * static_cast<double>(row[j]);
                }
                const double length = length_of(moved);
                for (std::size_t j = 0; j < moved.size(); ++j) {
                    out[i * rows.dim + j] = static_cast<Out>(length > 0.0 ? moved[j] / length : otherwise[j]);
                }
            }
        });
        interrupts.worked((end - begin) * rows.dim);
    }
}

// Instances that other files call.
template void project_rows(Rows<const float>, const double*, std::span<double>, Interrupts&);
template void project_rows(Rows<const double>, const double*, std::span<double>, Interrupts&);
template void combine_rows(Rows<const float>, const double*, const double*, const double*, float*, Interrupts&);
template void combine_rows(Rows<const float>, const double*, const double*, const double*, double*, Interrupts&);
template void combine_rows(Rows<const double>, const double*, const double*, const double*, float*, Interrupts&);
template void combine_rows(Rows<const double>, const double*, const double*, const double*, double*, Interrupts&);

void bind_rows(nb::module_& kernels) {
    kernels.def("sum_rows", sum_rows, nb::arg("ids"), nb::arg("ends"), nb::arg("matrix"), nb::arg("weights").none(),
                nb::arg("hashed"), nb::arg("sums"), nb::arg("lengths"), nb::arg("squared_norms"), nb::arg("unknown"),
                nb::arg("squared_weights"),
                "Sum the rows of the word ids of each document, in order, in float64.\n\n"
                "``weights`` is None or has one weight per row. ``hashed`` is the weight of words that have only a\n"
                "hash; if it is 0, they are only counted as unknown. Writes the sums (n_docs, dim), and the lengths,\n"
                "squared norms, numbers of unknown words, and squared weights, (n_docs,) each.");
    kernels.def("add_hashed", add_hashed, nb::arg("word"), nb::arg("weight"), nb::arg("total"),
                "Add the unit vector of a word that has only a hash, times a weight, to ``total`` (dim,).");
    kernels.def("count_ids", count_ids, nb::arg("ids"), nb::arg("counts"),
                "Add the number of occurrences of each word id to ``counts``; negative ids are not counted.");
    kernels.def("unit_combinations", unit_combinations, nb::arg("rows"), nb::arg("factors"), nb::arg("shift"),
                nb::arg("otherwise"), nb::arg("out"),
                "Write ``shift + factor * row``, divided by its length, for each row; ``otherwise`` where that is 0.");
    kernels.def("map_shifted_rows", map_shifted_rows, nb::arg("rows"), nb::arg("factors"), nb::arg("shift"),
                nb::arg("matrix").none(), nb::arg("silent"), nb::arg("out"),
                "Write ``factor * row - shift`` for each row, times a matrix unless that is None; 0 for rows that are\n"
                "silent. BLAS is not used, as its order of additions varies.");
    kernels.def("project", project, nb::arg("rows"), nb::arg("direction"), nb::arg("along"),
                "Write the inner product of each row with a direction to ``along``: (n, dim), (dim,) -> (n,).");
    kernels.def("weighted_sum", weighted_sum, nb::arg("rows"), nb::arg("weights"), nb::arg("total"),
                "Write the sum of the rows times their weights to ``total``: (n, dim), (n,) -> (dim,).\n\n"
                "Blocks of 4,096 rows are summed one by one, and their sums added in order.");
    kernels.def("outer_products", outer_products, nb::arg("rows"), nb::arg("weights"), nb::arg("total"),
                "Write the sum of the outer products of rows with themselves, times their weights, to ``total``:\n"
                "(n, dim), (n,) -> (dim, dim). Blocks of 256 rows are summed one by one, and added in order.");
}

}  // namespace parasphere
