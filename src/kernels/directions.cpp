// Products of sparse rows (CSR) with directions and weights.
//
// Numbers are added in the order of the entries of a row, for several columns at a time.
#include "common.hpp"
#include "indices.hpp"
#include "rows.hpp"

#include <algorithm>
#include <vector>

namespace parasphere {
namespace {

constexpr std::size_t piece = 16;  // entries of a row that are processed at a time
constexpr std::size_t ahead = 16;  // entries by which rows are prefetched ahead: those of rare columns are not cached

// Add `weights`, multiplied by one value per row, to rows of a matrix (*, k).
PARASPHERE_VECTORISED void add_to_rows(double* __restrict matrix, const double* __restrict weights, std::size_t k,
                                       const std::size_t* places, const double* values, std::size_t count) {
    for (std::size_t p = 0; p < count; ++p) {
        double* row = matrix + places[p] * k;
        const double value = values[p];
        for (std::size_t j = 0; j < k; ++j) {
            row[j] += value * weights[j];
        }
    }
}

// The entries of a compressed matrix.
template <typename End, typename Column>
struct Entries {
    Array<const End> ends;
    Array<const Column> columns;
    Array<const double> data;

    // Raise unless the matrix has this number of rows.
    void check(std::size_t rows) const {
        ends.expect_size(0, rows + 1, "one more than there are rows");
        data.expect_size(0, columns.count(), "one per column of an entry");
    }

    // Call a function with the columns and values of a row, in parts. Columns are checked as row indices of a matrix.
    template <bool prefetched, typename Number, typename Function>
    void each(std::size_t row, const Array<Number, 2>& matrix, Function&& function) const {
        const Range own = range_at(ends, row, columns.count());
        std::array<std::size_t, piece> places;
        for (std::size_t begin = own.begin; begin < own.end; begin += piece) {
            const std::size_t count = std::min(piece, own.end - begin);
            for (std::size_t p = 0; p < count; ++p) {
                places[p] = index_below(matrix.size(0), columns[begin + p], "columns");
                if (prefetched && begin + p + ahead < columns.count()) {
                    prefetch_row(matrix, static_cast<std::uintptr_t>(columns[begin + p + ahead]));
                }
            }
            function(places.data(), data.data() + begin, count);
        }
    }

private:
    // The row need not exist.
    template <typename Number>
    static void prefetch_row(const Array<Number, 2>& matrix, std::uintptr_t row) {
        const std::size_t width = matrix.size(1) * sizeof(Number);
        const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(matrix.data()) + row * width;
        for (std::size_t byte = 0; byte < width; byte += 64) {
            prefetch(reinterpret_cast<const void*>(first + byte));
        }
    }
};

// Call a function with an array of int32 or int64, according to its type.
template <typename Function>
void with_integers(nb::handle given, const char* name, Function&& function) {
    Buffer buffer(given, name);
    if (buffer.holds<std::int64_t>()) {
        function(Array<const std::int64_t>(std::move(buffer), name));
    } else {
        function(Array<const std::int32_t>(std::move(buffer), name, "int32 or int64"));
    }
}

// Call a function with the entries of a compressed matrix.
template <typename Function>
void with_entries(nb::handle ends, nb::handle columns, nb::handle given_data, Function&& function) {
    Array<const double> data(given_data, "data");
    with_integers(ends, "ends", [&]<typename End>(Array<const End>&& checked_ends) {
        with_integers(columns, "columns", [&]<typename Column>(Array<const Column>&& checked_columns) {
            function(Entries<End, Column>{std::move(checked_ends), std::move(checked_columns), std::move(data)});
        });
    });
}

void csr_products(nb::handle ends, nb::handle columns, nb::handle data, nb::handle given_directions,
                  nb::handle given_out) {
    const Array<const double, 2> directions(given_directions, "directions");
    const Array<double, 2> out(given_out, "out");
    const std::size_t k = directions.size(1);
    out.expect_size(1, k, "one per direction");
    with_entries(ends, columns, data, [&](const auto& entries) {
        entries.check(out.size(0));

        const Unlocked unlocked(entries.data.count() * (k + 1));
        Interrupts interrupts;
        std::array<const double*, piece> rows;
        for (std::size_t i = 0; i < out.size(0); ++i) {
            const std::span<double> sums = out.row(i);
            std::fill(sums.begin(), sums.end(), 0.0);
            interrupts.worked(k + 1);
            entries.template each<true>(i, directions, [&](const std::size_t* places, const double* values, std::size_t count) {
                for (std::size_t p = 0; p < count; ++p) {
                    rows[p] = directions.data() + places[p] * k;
                }
                add_rows(sums.data(), rows.data(), values, count, k);
                interrupts.worked(count * (k + 1));
            });
        }
    });
}

void csr_sums(nb::handle ends, nb::handle columns, nb::handle data, nb::handle given_weights, nb::handle given_out) {
    const Array<const double, 2> weights(given_weights, "weights");
    const Array<double, 2> out(given_out, "out");
    const std::size_t k = weights.size(1);
    out.expect_size(1, k, "one per column of weights");
    with_entries(ends, columns, data, [&](const auto& entries) {
        entries.check(weights.size(0));

        const Unlocked unlocked(entries.data.count() * (k + 1));
        Interrupts interrupts;
        std::vector<std::size_t> used(k);  // in high dimensions nearly all weights (responsibilities) are 0
        std::vector<double> own(k);
        for (std::size_t i = 0; i < weights.size(0); ++i) {
            const std::span<const double> row = weights.row(i);
            std::size_t many = 0;
            for (std::size_t j = 0; j < k; ++j) {
                used[many] = j;
                own[many] = row[j];
                many += row[j] != 0.0 ? 1 : 0;
            }
            interrupts.worked(k + 1);
            if (many == 0) {
                continue;
            }
            entries.template each<false>(i, out, [&](const std::size_t* places, const double* values, std::size_t count) {
                interrupts.worked(count * (many + 1));
                if (many == k) {
                    add_to_rows(out.data(), own.data(), k, places, values, count);
                    return;
                }
                for (std::size_t p = 0; p < count; ++p) {
                    const std::span<double> sums = out.row(places[p]);
                    for (std::size_t place = 0; place < many; ++place) {
                        sums[used[place]] += values[p] * own[place];
                    }
                }
            });
        }
    });
}

}  // namespace

void bind_directions(nb::module_& kernels) {
    kernels.def("csr_products", csr_products, argument("ends"), argument("columns"), argument("data"),
                argument("directions"), argument("out"),
                "Multiply a CSR matrix (n, dim) by a dense one (dim, k): write the products to ``out`` (n, k).");
    kernels.def("csr_sums", csr_sums, argument("ends"), argument("columns"), argument("data"), argument("weights"),
                argument("out"),
                "Add the product of a transposed CSR matrix with weights (n, k) to ``out`` (dim, k).");
}

}  // namespace parasphere
