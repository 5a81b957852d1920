// Files of word vectors: parsing their rows, which may be malformed, and the lengths of rows.
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace parasphere {
namespace {

static_assert(std::numeric_limits<float>::is_iec559 && std::numeric_limits<double>::is_iec559);

constexpr std::uint8_t newline = '\n';
constexpr std::int64_t full = 100'000'000'000'000'000;  // 10^17: one more digit fits an int64
constexpr std::int64_t most_power = 308;

constexpr bool is_gap(std::uint8_t code) { return code == ' ' || code == '\t'; }
constexpr bool is_blank(std::uint8_t code) { return is_gap(code) || code == '\r'; }

// 10^0 to 10^308, each the nearest double.
constexpr std::array<double, 309> ten_to_the = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38,
    1e39, 1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53, 1e54, 1e55, 1e56, 1e57,
    1e58, 1e59, 1e60, 1e61, 1e62, 1e63, 1e64, 1e65, 1e66, 1e67, 1e68, 1e69, 1e70, 1e71, 1e72, 1e73, 1e74, 1e75, 1e76,
    1e77, 1e78, 1e79, 1e80, 1e81, 1e82, 1e83, 1e84, 1e85, 1e86, 1e87, 1e88, 1e89, 1e90, 1e91, 1e92, 1e93, 1e94, 1e95,
    1e96, 1e97, 1e98, 1e99, 1e100, 1e101, 1e102, 1e103, 1e104, 1e105, 1e106, 1e107, 1e108, 1e109, 1e110, 1e111, 1e112,
    1e113, 1e114, 1e115, 1e116, 1e117, 1e118, 1e119, 1e120, 1e121, 1e122, 1e123, 1e124, 1e125, 1e126, 1e127, 1e128,
    1e129, 1e130, 1e131, 1e132, 1e133, 1e134, 1e135, 1e136, 1e137, 1e138, 1e139, 1e140, 1e141, 1e142, 1e143, 1e144,
    1e145, 1e146, 1e147, 1e148, 1e149, 1e150, 1e151, 1e152, 1e153, 1e154, 1e155, 1e156, 1e157, 1e158, 1e159, 1e160,
    1e161, 1e162, 1e163, 1e164, 1e165, 1e166, 1e167, 1e168, 1e169, 1e170, 1e171, 1e172, 1e173, 1e174, 1e175, 1e176,
    1e177, 1e178, 1e179, 1e180, 1e181, 1e182, 1e183, 1e184, 1e185, 1e186, 1e187, 1e188, 1e189, 1e190, 1e191, 1e192,
    1e193, 1e194, 1e195, 1e196, 1e197, 1e198, 1e199, 1e200, 1e201, 1e202, 1e203, 1e204, 1e205, 1e206, 1e207, 1e208,
    1e209, 1e210, 1e211, 1e212, 1e213, 1e214, 1e215, 1e216, 1e217, 1e218, 1e219, 1e220, 1e221, 1e222, 1e223, 1e224,
    1e225, 1e226, 1e227, 1e228, 1e229, 1e230, 1e231, 1e232, 1e233, 1e234, 1e235, 1e236, 1e237, 1e238, 1e239, 1e240,
    1e241, 1e242, 1e243, 1e244, 1e245, 1e246, 1e247, 1e248, 1e249, 1e250, 1e251, 1e252, 1e253, 1e254, 1e255, 1e256,
    1e257, 1e258, 1e259, 1e260, 1e261, 1e262, 1e263, 1e264, 1e265, 1e266, 1e267, 1e268, 1e269, 1e270, 1e271, 1e272,
    1e273, 1e274, 1e275, 1e276, 1e277, 1e278, 1e279, 1e280, 1e281, 1e282, 1e283, 1e284, 1e285, 1e286, 1e287, 1e288,
    1e289, 1e290, 1e291, 1e292, 1e293, 1e294, 1e295, 1e296, 1e297, 1e298, 1e299, 1e300, 1e301, 1e302, 1e303, 1e304,
    1e305, 1e306, 1e307, 1e308,
};

// Moves along a text, but never beyond the next newline, since it skips no newline.
struct Cursor {
    const std::uint8_t* at;
    const std::uint8_t* end;  // of the text

    void skip_gaps() {
        while (is_gap(*at)) {
            ++at;
        }
    }
    void skip_blanks() {
        while (is_blank(*at)) {
            ++at;
        }
    }
    // Skip a sign; return whether it is a minus.
    bool minus() {
        const bool negative = *at == '-';
        at += negative | (*at == '+');  // without a branch: half of all numbers are negative
        return negative;
    }
};

struct Digits {
    std::int64_t number;
    std::int64_t taken;
    std::int64_t dropped;
    Cursor after;
};

struct Eight {
    std::uint64_t number;
    std::size_t count;
};

// Parse the up to eight digits at the beginning of eight bytes, all at once.
inline Eight eight_digits(const std::uint8_t* at) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, at, 8);
    bytes ^= 0x3030303030303030;  // digits become 0 to 9
    // The highest bit of each byte of `others` is set if it is not a digit; it may be wrong after the first such byte.
    const std::uint64_t others = ((bytes + 0x7676767676767676) | bytes) & 0x8080808080808080;
    const auto count = static_cast<std::size_t>(std::countr_zero(others)) / 8;
    if (count == 0) {
        return {0, 0};
    }
    bytes <<= 64 - 8 * count;  // as if padded with zeros on the left
    bytes = bytes * 10 + (bytes >> 8);
    constexpr std::uint64_t pairs = 0x000000FF000000FF;
    bytes = ((bytes & pairs) * (100 + (std::uint64_t{1'000'000} << 32)) +
             ((bytes >> 16) & pairs) * (1 + (std::uint64_t{10'000} << 32))) >> 32;
    return {bytes, count};
}

// Append digits to a number as long as it fits an int64.
inline Digits digits(Cursor from, std::int64_t number) {
    const std::uint8_t* at = from.at;
    unsigned digit = *at - unsigned{'0'};
    while (digit <= 9 && number < full) {
        number = 10 * number + digit;
        digit = *++at - unsigned{'0'};
    }
    const std::uint8_t* const taken = at;
    while (digit <= 9) {
        digit = *++at - unsigned{'0'};
    }
    return {number, taken - from.at, at - taken, {at, from.end}};
}

// The same for the digits after a decimal point, of which there usually are several.
inline Digits many_digits(Cursor from, std::int64_t number) {
    if constexpr (std::endian::native == std::endian::little) {
        constexpr std::int64_t small = 1'000'000'000;  // eight digits more are below 10^17
        constexpr std::array<std::int64_t, 9> powers = {1,       10,        100,        1'000,      10'000,
                                                        100'000, 1'000'000, 10'000'000, 100'000'000};
        if (number < small && from.end - from.at >= 8) {
            const Eight found = eight_digits(from.at);
            number = number * powers[found.count] + static_cast<std::int64_t>(found.number);
            from.at += found.count;
            if (found.count < 8) {
                return {number, static_cast<std::int64_t>(found.count), 0, from};
            }
            Digits more = digits(from, number);
            more.taken += 8;
            return more;
        }
    }
    return digits(from, number);
}

struct Decimal {
    float value;
    bool known;  // whether the value is the float32 of the nearest double
    Cursor after;
};

// Parse a decimal.
inline Decimal decimal(Cursor cursor) {
    const bool negative = cursor.minus();
    Digits found = digits(cursor, 0);
    bool known = found.taken > 0;
    std::int64_t dropped = found.dropped;
    std::int64_t exponent = dropped;
    if (*found.after.at == '.') {
        found = many_digits({found.after.at + 1, cursor.end}, found.number);
        known = known || found.taken > 0;
        exponent -= found.taken;
        dropped += found.dropped;
    }
    const std::int64_t mantissa = found.number;
    cursor = found.after;
    if (known && (*cursor.at == 'e' || *cursor.at == 'E')) {
        ++cursor.at;
        const bool down = cursor.minus();
        const Digits power = digits(cursor, 0);
        known = power.taken > 0 && power.dropped == 0;
        exponent += down ? -power.number : power.number;
        cursor = power.after;
    }
    if (!known || exponent > most_power || exponent < -most_power) {
        return {0.0F, false, cursor};
    }
    const double whole = std::array{1.0, -1.0}[negative] * static_cast<double>(mantissa);
    const double value = exponent >= 0 ? whole * ten_to_the[static_cast<std::size_t>(exponent)]
                                       : whole / ten_to_the[static_cast<std::size_t>(-exponent)];
    // Up to 2^53 and 10^22 both operands are exact, so the single operation rounds correctly (Clinger 1990). Beyond, at
    // most four roundings and the dropped digits make a relative error below 2^-50, which matters only if a boundary
    // between two float32 is that close.
    const bool exact = dropped == 0 && mantissa <= (std::int64_t{1} << 53) && exponent <= 22 && exponent >= -22;
    constexpr double hair = 0x1p-50;
    known = exact || static_cast<float>(value * (1 - hair)) == static_cast<float>(value * (1 + hair));
    return {static_cast<float>(value), known, cursor};
}

struct Numbers {
    bool good;  // nothing else is left of the line, and the row has a direction
    Cursor after;
};

// Parse this number of plain decimals.
Numbers numbers(Cursor cursor, std::span<float> row) {
    bool zero = true;
    for (float& place : row) {
        cursor.skip_gaps();
        const Decimal found = decimal(cursor);
        cursor = found.after;
        if (!found.known || *cursor.at > ' ' || !std::isfinite(found.value)) {
            return {false, cursor};
        }
        place = found.value;
        zero = zero && found.value == 0;
    }
    cursor.skip_blanks();
    return {!zero && *cursor.at == newline, cursor};
}

void scan_text(const Array<const std::uint8_t>& text, const Array<float, 2>& matrix,
               const Array<std::int64_t, 2>& spans, const Array<std::int64_t>& slots, const Array<bool>& good) {
    const std::size_t rows = spans.size(0);
    spans.expect_size(1, 3, "where each word begins and ends, and where its row ends");
    slots.expect_size(0, rows, "one per row of spans");
    good.expect_size(0, rows, "one per row of spans");
    // Every search ends at a newline, so none leaves the text.
    if (rows > 0 && (text.count() == 0 || text[text.count() - 1] != newline)) {
        refuse("the text must end with a newline");
    }
    expect_apart(matrix, "matrix", text, "text");
    expect_apart(spans, "spans", text, "text");
    expect_apart(slots, "slots", text, "text");
    expect_apart(good, "good", text, "text");

    const Unlocked unlocked(text.count());
    Interrupts interrupts;
    const std::uint8_t* const start = text.data();
    const std::uint8_t* const end = start + text.count();
    Cursor cursor{start, end};
    std::size_t slot = 0;
    const auto place = [start](Cursor where) { return static_cast<std::int64_t>(where.at - start); };
    for (std::size_t row = 0; row < rows; ++row) {
        if (cursor.at == end || slot >= matrix.size(0)) {
            refuse("the text has fewer lines, or the matrix fewer rows, than expected");
        }
        const std::span<std::int64_t> span = spans.row(row);
        const Cursor begin = cursor;
        cursor.skip_blanks();
        if (*cursor.at == newline) {
            std::ranges::fill(span, place(cursor));
            slots[row] = -1;
            good[row] = false;
            ++cursor.at;
            interrupts.worked(static_cast<std::size_t>(cursor.at - begin.at));
            continue;
        }
        cursor = begin;
        while (!is_gap(*cursor.at) && *cursor.at != newline) {
            ++cursor.at;
        }
        span[0] = place(begin);
        span[1] = place(cursor);
        slots[row] = static_cast<std::int64_t>(slot);
        good[row] = false;
        if (begin.at < cursor.at) {
            const Numbers found = numbers(cursor, matrix.row(slot));
            good[row] = found.good;
            cursor = found.after;
        }
        const void* const line_end = std::memchr(cursor.at, newline, static_cast<std::size_t>(end - cursor.at));
        cursor.at = static_cast<const std::uint8_t*>(line_end);
        span[2] = place(cursor);
        ++cursor.at;
        interrupts.worked(2 * static_cast<std::size_t>(cursor.at - begin.at));
        slot += static_cast<std::size_t>(span[2] - span[0]) > 2 * matrix.size(1);
    }
}

nb::tuple scan_binary(const Array<const std::uint8_t>& codes, const Array<std::uint8_t, 2>& raw,
                      const Array<std::int64_t, 2>& spans) {
    spans.expect_size(0, raw.size(0), "one per row of raw");
    if (spans.size(1) < 2) {
        refuse("spans must have two columns, where each word begins and ends, not ", spans.size(1));
    }

    std::size_t row = 0;
    std::size_t used = 0;
    {
        const Unlocked unlocked(codes.count());
        Interrupts interrupts;
        const std::size_t n = codes.count();
        const std::size_t width = raw.size(1);
        for (; row < raw.size(0); ++row) {
            std::size_t begin = used;
            while (begin < n && codes[begin] == newline) {
                ++begin;
            }
            const void* const gap = begin < n ? std::memchr(codes.data() + begin, ' ', n - begin) : nullptr;
            if (gap == nullptr) {
                break;
            }
            const auto end = static_cast<std::size_t>(static_cast<const std::uint8_t*>(gap) - codes.data());
            if (n - (end + 1) < width) {
                break;
            }
            std::copy_n(codes.data() + end + 1, width, raw.row(row).data());
            spans.row(row)[0] = static_cast<std::int64_t>(begin);
            spans.row(row)[1] = static_cast<std::int64_t>(end);
            interrupts.worked(end + 1 + width - used);
            used = end + 1 + width;
        }
    }
    return nb::make_tuple(row, used);
}

// The squared length of a row, in sixteen sums of every sixteenth square, so that processors can add several at a time.
PARASPHERE_INLINE float squared_length(const float* row, std::size_t dim) {
    constexpr std::size_t lanes = 16;
    float sums[lanes] = {};
    std::size_t column = 0;
    for (; column + lanes <= dim; column += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] += row[column + lane] * row[column + lane];
        }
    }
    float total = 0.0F;
    for (; column < dim; ++column) {
        total += row[column] * row[column];
    }
    for (const float sum : sums) {
        total += sum;
    }
    return total;
}

std::int64_t first_not_unit(const Array<const float, 2>& matrix) {
    constexpr float tolerance = 1e-3F;  // how far the squared length of a unit row may be from 1
    constexpr std::size_t block = 256;
    const Unlocked unlocked(matrix.count());
    Interrupts interrupts;
    const std::size_t n = matrix.size(0), dim = matrix.size(1);
    for (std::size_t begin = 0; begin < n; begin += block) {
        const std::size_t end = std::min(begin + block, n);
        const std::size_t unit = vectorised([=, rows = matrix.data()](auto) PARASPHERE_LOOP {
            std::size_t row = begin;
            while (row < end && std::abs(squared_length(rows + row * dim, dim) - 1.0F) <= tolerance) {  // not if NaN
                ++row;
            }
            return row;
        });
        if (unit < end) {
            return static_cast<std::int64_t>(unit);
        }
        interrupts.worked((end - begin) * (dim + 10));
    }
    return -1;
}

// The squared lengths of some rows in float64, each a sum in the order of its columns. The rows are interleaved, so
// that the processor need not wait for one addition before it starts the next.
template <std::size_t rows>
void squared_lengths(const float* first, std::size_t dim, double* squares) {
    std::array<double, rows> sums{};
    for (std::size_t column = 0; column < dim; ++column) {
        for (std::size_t row = 0; row < rows; ++row) {
            const double value = first[row * dim + column];
            sums[row] += value * value;
        }
    }
    std::ranges::copy(sums, squares);
}

void divide(float* row, std::size_t dim, double length) {
    vectorised([=](auto) PARASPHERE_LOOP {
        for (std::size_t column = 0; column < dim; ++column) {
            row[column] = static_cast<float>(static_cast<double>(row[column]) / length);
        }
    });
}

void normalise(const Array<float, 2>& matrix, const Array<double>& norms) {
    const std::size_t n = matrix.size(0);
    const std::size_t dim = matrix.size(1);
    norms.expect_size(0, n, "one per row of matrix");
    const Unlocked unlocked(matrix.count());
    Interrupts interrupts;
    constexpr std::size_t together = 8;
    for (std::size_t row = 0; row < n;) {
        const std::size_t some = n - row >= together ? together : 1;
        float* const first = matrix.data() + row * dim;
        if (some == together) {
            squared_lengths<together>(first, dim, norms.data() + row);
        } else {
            squared_lengths<1>(first, dim, norms.data() + row);
        }
        for (std::size_t i = 0; i < some; ++i) {
            double& norm = norms[row + i];
            norm = std::sqrt(norm);
            if (norm == 0) {
                refuse("matrix must have rows with a direction; row ", row + i, " is all zeros");
            }
            divide(first + i * dim, dim, norm);
        }
        row += some;
        interrupts.worked(3 * some * dim + 10);
    }
}

}  // namespace

void bind_vector_files(nb::module_& kernels) {
    kernels.def("scan_text", scan_text, nb::arg("text"), nb::arg("matrix"), nb::arg("spans"), nb::arg("slots"),
                nb::arg("good"),
                "Parse a word without spaces and dim plain numbers from each line, and mark the lines with exactly "
                "these. A line too short for a row has no row in the matrix, (most_rows, dim): the next line "
                "overwrites it. A blank line has the slot -1. The text must end with a newline.");
    kernels.def("scan_binary", scan_binary, nb::arg("codes"), nb::arg("raw"), nb::arg("spans"),
                "Parse all whole rows (word, space, float32 bytes, optional newline); return their number and the "
                "bytes used.");
    kernels.def("first_not_unit", first_not_unit, nb::arg("matrix"),
                "Return the first row whose length is not about 1, or -1.");
    kernels.def("normalise", normalise, nb::arg("matrix"), nb::arg("norms"),
                "Scale the rows, (n, dim), to unit length in float64, and write their lengths to ``norms``.");
}

}  // namespace parasphere
