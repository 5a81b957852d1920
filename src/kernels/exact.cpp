// Exact sums: terms are integers times a power of two, and are added without rounding; see parasphere/model/exact.py.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common.hpp"

namespace parasphere {
namespace {

constexpr std::size_t any_limbs = 66;      // of sums of any numbers
constexpr std::size_t rows_together = 2048;  // rows whose rounded entries a float64 sums exactly

// Bring all digits but the highest into [0, 2^32).
void carry(std::int64_t* limbs, std::size_t places, std::size_t n) {
    for (std::size_t place = 0; place + 1 < places; ++place) {
        for (std::size_t i = 0; i < n; ++i) {
            std::int64_t& digit = limbs[place * n + i];
            limbs[(place + 1) * n + i] += digit >> 32;
            digit &= 0xFFFFFFFF;
        }
    }
}

void carry_digits(nb::handle given_limbs) {
    const Array<std::int64_t, 2> limbs(given_limbs, "limbs");
    if (limbs.count() == 0) {  // there may be any number of empty rows
        return;
    }
    const Unlocked unlocked(limbs.count());
    carry(limbs.data(), limbs.size(0), limbs.size(1));
}

// Add a float64 number, passed as its bits, to the limbs of a sum, which are `step` apart.
void add_number(std::int64_t bits, std::int64_t* limbs, std::size_t step) {
    std::int64_t exponent = (bits >> 52) & 0x7FF;
    std::int64_t digits = bits & 0xFFFFFFFFFFFFF;
    if (exponent != 0) {
        digits |= std::int64_t{1} << 52;
    } else {
        exponent = 1;
    }
    const std::int64_t at = exponent - 1075 + 1088;
    const auto place = static_cast<std::size_t>(at >> 5);
    const std::int64_t shift = at & 31;
    if (place > any_limbs - 3) {
        refuse("numbers must be finite, and below 2^1012, to be summed");
    }
    const std::int64_t low = (digits & 0xFFFFFFFF) << shift, high = (digits >> 32) << shift;
    const std::int64_t sign = bits >= 0 ? 1 : -1;
    limbs[place * step] += sign * (low & 0xFFFFFFFF);
    limbs[(place + 1) * step] += sign * ((low >> 32) + (high & 0xFFFFFFFF));
    limbs[(place + 2) * step] += sign * (high >> 32);
}

void add_bits(nb::handle given_bits, nb::handle given_limbs) {
    const Array<const std::int64_t, 2> bits(given_bits, "bits");
    const Array<std::int64_t, 2> limbs(given_limbs, "limbs");
    limbs.expect_size(0, any_limbs, "the digits of a sum");
    limbs.expect_size(1, bits.size(1), "as wide as the numbers");
    const std::size_t width = bits.size(1);
    const Unlocked unlocked(bits.count() * 4);
    Interrupts interrupts;
    for (std::size_t i = 0; i < bits.size(0); ++i) {
        for (std::size_t j = 0; j < width; ++j) {
            add_number(bits.row(i)[j], limbs.data() + j, width);
        }
        if ((i & 0xFFFFFFF) == 0xFFFFFFF) {  // before the digits overflow
            carry(limbs.data(), any_limbs, width);
        }
        interrupts.worked(width * 4);
    }
    carry(limbs.data(), any_limbs, width);
}

// The last bits of these two numbers are 2^-38 and 2^-76: adding and subtracting them rounds an entry to a multiple of
// 2^-38, and the remainder to a multiple of 2^-76.
constexpr double large = 1.5 * 16384.0;
constexpr double small = 1.5 / 16777216.0;

struct Sums {
    double* __restrict upper;
    double* __restrict lower;
};

// Add the entries of `factor * row + share * common`, clipped to [-1, 1].
template <typename T>
[[gnu::always_inline]] inline void add_clipped_row(const T* __restrict row, double factor, double share,
                                                   const double* __restrict common, Sums sums, std::size_t dim) {
    for (std::size_t j = 0; j < dim; ++j) {
        double entry = share * common[j] + factor * static_cast<double>(row[j]);
        entry = entry < 1.0 ? entry : 1.0;
        entry = entry > -1.0 ? entry : -1.0;
        const double rounded = (entry + large) - large;
        sums.upper[j] += rounded;
        sums.lower[j] += ((entry - rounded) + small) - small;
    }
}

// Add two rows whose entries are known to lie in [-1, 1]: sums are read and written half as often.
template <typename T>
[[gnu::always_inline]] inline void add_two_rows(const T* __restrict first, double factor, double share,
                                                const T* __restrict second, double other, double its_share,
                                                const double* __restrict common, Sums sums, std::size_t dim) {
    for (std::size_t j = 0; j < dim; ++j) {
        const double one = share * common[j] + factor * static_cast<double>(first[j]);
        const double two = its_share * common[j] + other * static_cast<double>(second[j]);
        const double rounded_one = (one + large) - large, rounded_two = (two + large) - large;
        sums.upper[j] += rounded_one + rounded_two;
        sums.lower[j] += (((one - rounded_one) + small) - small) + (((two - rounded_two) + small) - small);
    }
}

template <typename T>
struct BoundedRows {
    const T* rows;
    const double* factors;
    const double* shares;
    const double* common;
    const std::uint8_t* within;
};

template <typename T>
[[gnu::always_inline]] inline void add_rows_between(const BoundedRows<T>& given, std::size_t begin, std::size_t end,
                                                    Sums sums, std::size_t dim) {
    for (std::size_t i = begin; i < end;) {
        const T* row = given.rows + i * dim;
        if (i + 1 < end && given.within[i] != 0 && given.within[i + 1] != 0) {
            add_two_rows(row, given.factors[i], given.shares[i], row + dim, given.factors[i + 1], given.shares[i + 1],
                         given.common, sums, dim);
            i += 2;
        } else {
            add_clipped_row(row, given.factors[i], given.shares[i], given.common, sums, dim);
            ++i;
        }
    }
}

PARASPHERE_VECTORISED void add_some_rows(const BoundedRows<float>& given, std::size_t begin, std::size_t end, Sums sums,
                                         std::size_t dim) {
    add_rows_between(given, begin, end, sums, dim);
}

PARASPHERE_VECTORISED void add_some_rows(const BoundedRows<double>& given, std::size_t begin, std::size_t end,
                                         Sums sums, std::size_t dim) {
    add_rows_between(given, begin, end, sums, dim);
}

// A number as an integer, or the smallest integer if it is out of range, such as a sum of numbers that are not finite.
std::int64_t as_integer(double number) {
    constexpr double limit = 9223372036854775808.0;
    return number >= -limit && number < limit ? static_cast<std::int64_t>(number)
                                              : std::numeric_limits<std::int64_t>::min();
}

void add_bounded(nb::handle given_rows, nb::handle given_factors, nb::handle given_shares, nb::handle given_common,
                 nb::handle given_within, nb::handle given_fine, nb::handle given_finer) {
    const Array<const double> factors(given_factors, "factors");
    const Array<const double> shares(given_shares, "shares");
    const Array<const double> common(given_common, "common");
    const Array<const bool> within(given_within, "within");
    const Array<std::int64_t> fine(given_fine, "fine");
    const Array<std::int64_t> finer(given_finer, "finer");
    with_floats<const float, 2>(given_rows, "rows", [&](const auto& rows) {
        const std::size_t n = rows.size(0), dim = rows.size(1);
        factors.expect_size(0, n, "one per row");
        shares.expect_size(0, n, "one per row");
        common.expect_size(0, dim, "as wide as the rows");
        within.expect_size(0, n, "one per row");
        fine.expect_size(0, dim, "as wide as the rows");
        finer.expect_size(0, dim, "as wide as the rows");
        const BoundedRows given{rows.data(), factors.data(), shares.data(), common.data(), within.bytes()};
        std::vector<double> upper(dim), lower(dim);
        const Unlocked unlocked(rows.count());
        Interrupts interrupts;
        for (std::size_t begin = 0; begin < n; begin += rows_together) {
            const std::size_t end = std::min(begin + rows_together, n);
            std::fill(upper.begin(), upper.end(), 0.0);
            std::fill(lower.begin(), lower.end(), 0.0);
            add_some_rows(given, begin, end, {upper.data(), lower.data()}, dim);
            for (std::size_t j = 0; j < dim; ++j) {
                fine[j] += as_integer(upper[j] * 274877906944.0);            // 2^38
                finer[j] += as_integer(lower[j] * 75557863725914323419136.0);  // 2^76
            }
            interrupts.worked((end - begin) * dim);
        }
    });
}

template <typename T>
[[gnu::always_inline]] inline double largest_size_of(const T* row, std::size_t n) {
    T largest[8] = {};
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        for (std::size_t k = 0; k < 8; ++k) {
            const T size = std::abs(row[j + k]);
            largest[k] = size > largest[k] ? size : largest[k];
        }
    }
    for (; j < n; ++j) {
        const T size = std::abs(row[j]);
        largest[0] = size > largest[0] ? size : largest[0];
    }
    return static_cast<double>(*std::max_element(largest, largest + 8));
}

PARASPHERE_VECTORISED double largest_size(const float* row, std::size_t n) { return largest_size_of(row, n); }

PARASPHERE_VECTORISED double largest_size(const double* row, std::size_t n) { return largest_size_of(row, n); }

void find_powers(nb::handle given_rows, nb::handle given_factors, nb::handle given_powers) {
    const Array<const double> factors(given_factors, "factors");
    const Array<std::int64_t> powers(given_powers, "powers");
    with_floats<const float, 2>(given_rows, "rows", [&](const auto& rows) {
        factors.expect_size(0, rows.size(0), "one per row");
        powers.expect_size(0, rows.size(0), "one per row");
        const Unlocked unlocked(rows.count());
        Interrupts interrupts;
        for (std::size_t i = 0; i < rows.size(0); ++i) {
            const double largest = largest_size(rows.row(i).data(), rows.size(1)) * std::sqrt(factors[i]);
            std::int64_t power = largest > 0.0 ? -32 : -34;
            for (double bound = 1.0 / 4294967296.0; bound <= largest && power < 32; bound *= 4.0) {
                power += 2;  // even powers only, so that there are few
            }
            powers[i] = power;
            interrupts.worked(rows.size(1));
        }
    });
}

void split_rows(nb::handle given_rows, nb::handle given_factors, nb::handle given_chosen, double scale,
                nb::handle given_halves) {
    constexpr double whole = 1.5 * 4503599627370496.0;  // its last bit is 1
    const Array<const double> factors(given_factors, "factors");
    const Array<const std::int64_t> chosen(given_chosen, "chosen");
    const Array<double, 2> halves(given_halves, "halves");
    with_floats<const float, 2>(given_rows, "rows", [&](const auto& rows) {
        const std::size_t dim = rows.size(1);
        factors.expect_size(0, rows.size(0), "one per row");
        halves.expect_size(0, chosen.count(), "one row per chosen row");
        halves.expect_size(1, 2 * dim, "twice as wide as the rows");
        const Unlocked unlocked(halves.count());
        Interrupts interrupts;
        for (std::size_t k = 0; k < chosen.count(); ++k) {
            if (chosen[k] < 0 || chosen[k] >= static_cast<std::int64_t>(rows.size(0))) {
                refuse("chosen must be rows from 0 to below ", rows.size(0), ", not ", chosen[k]);
            }
            const auto i = static_cast<std::size_t>(chosen[k]);
            const double factor = std::sqrt(factors[i]);
            const auto* row = rows.row(i).data();
            double* high_half = halves.row(k).data();
            double* low_half = high_half + dim;
            for (std::size_t j = 0; j < dim; ++j) {
                const double entry = (factor * static_cast<double>(row[j])) * scale;
                const double high = (entry + whole) - whole;
                high_half[j] = high;
                low_half[j] = ((entry - high) * 2097152.0 + whole) - whole;
            }
            interrupts.worked(dim);
        }
    });
}

}  // namespace

void bind_exact(nb::module_& kernels) {
    kernels.def("carry_digits", carry_digits, argument("limbs"), "Bring all digits but the highest into [0, 2^32).");
    kernels.def("add_bits", add_bits, argument("bits"), argument("limbs"),
                "Add float64 numbers, passed as their bits, to sums of any numbers, (66, m).");
    kernels.def("add_bounded", add_bounded, argument("rows"), argument("factors"), argument("shares"),
                argument("common"), argument("within"), argument("fine"), argument("finer"),
                "Add ``factors[i] * rows[i] + shares[i] * common`` to integers, in units of 2^-38 and 2^-76; entries\n"
                "are clipped to [-1, 1], except in rows known to lie within.");
    kernels.def("find_powers", find_powers, argument("rows"), argument("factors"), argument("powers"),
                "Write the least even power of two, from -32 to 32, above the entries of each row times the root of\n"
                "its factor; -34 for rows of zeros.");
    kernels.def("split_rows", split_rows, argument("rows"), argument("factors"), argument("chosen"), nb::arg("scale"),
                argument("halves"),
                "Write the two halves of each chosen row, times the root of its factor and ``scale``, as integers.");
}

}  // namespace parasphere
