// Maps: nearest neighbours by cells, and positions on the plane by gradient descent.
#include "best.hpp"
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace parasphere {
namespace {

constexpr std::size_t piece = 256;  // members of a cell that are compared at a time
constexpr int repelled = 5;  // random documents that each attraction is balanced by

// The products of a row with some columns of a block (dim, width), each summed in the order of the rows of the block.
template <std::size_t lanes, std::size_t registers>
PARASPHERE_INLINE void multiply_columns(std::span<const float> row, const float* block, std::size_t width,
                                        float* products) {
    Lanes<float, lanes> sums[registers] = {};
    for (std::size_t d = 0; d < row.size(); ++d) {
        for (std::size_t k = 0; k < registers; ++k) {
            sums[k] = sums[k] + row[d] * load<float, lanes>(block + d * width + k * lanes);
        }
    }
    for (std::size_t k = 0; k < registers; ++k) {
        store(products + k * lanes, sums[k]);
    }
}

// The same for any number of columns: four registers at a time, then one, and then half as many lanes.
template <std::size_t lanes>
PARASPHERE_INLINE void multiply(std::span<const float> row, const float* block, std::size_t width,
                                std::span<float> products) {
    std::size_t at = 0;
    for (; at + 4 * lanes <= products.size(); at += 4 * lanes) {
        multiply_columns<lanes, 4>(row, block + at, width, products.data() + at);
    }
    for (; at + lanes <= products.size(); at += lanes) {
        multiply_columns<lanes, 1>(row, block + at, width, products.data() + at);
    }
    if constexpr (lanes > 1) {
        multiply<lanes / 2>(row, block + at, width, products.subspan(at));
    }
}

// The rows of each cell, transposed.
class Cells {
public:
    Cells(const Array<const float, 2>& rows, const Array<const std::int64_t>& order,
          const Array<const std::int64_t>& ends)
        : dim_(rows.size(1)), numbers_(rows.count()) {
        members_.reserve(order.count());
        for (const std::int64_t member : order.all()) {
            members_.push_back(index_below(rows.size(0), member, "order"));
        }
        for (std::size_t cell = 0; cell + 1 < ends.count(); ++cell) {
            const Range range = range_within(members_.size(), ends[cell], ends[cell + 1], "ends");
            ranges_.push_back(range);
            for (std::size_t at = 0; at < range.size(); ++at) {
                const std::span<const float> row = rows.row(members_[range.begin + at]);
                for (std::size_t d = 0; d < dim_; ++d) {
                    numbers_[range.begin * dim_ + d * range.size() + at] = row[d];
                }
            }
        }
    }

    std::size_t size() const { return ranges_.size(); }
    const std::vector<std::size_t>& members() const { return members_; }

    // Call `compared` with members of a cell and their inner products with a row, in parts.
    template <typename Compared>
    void compare(std::size_t cell, std::span<const float> row, Compared&& compared) const {
        std::array<float, piece> products;
        const Range range = ranges_[cell];
        for (std::size_t at = 0; at < range.size(); at += piece) {
            const std::size_t count = std::min(piece, range.size() - at);
            const std::span<float> some(products.data(), count);
            vectorised([=, block = numbers_.data() + range.begin * dim_ + at](auto bytes)
                           PARASPHERE_LOOP { multiply<bytes / sizeof(float)>(row, block, range.size(), some); });
            compared(members_.data() + range.begin + at, std::span<const float>(some));
        }
    }

private:
    std::size_t dim_;
    std::vector<float> numbers_;
    std::vector<std::size_t> members_;
    std::vector<Range> ranges_;
};

void nearest_in_cells(const Array<const float, 2>& rows, const Array<const std::int64_t, 2>& searched,
                      const Array<const std::int64_t>& order, const Array<const std::int64_t>& ends,
                      const Array<std::int64_t, 2>& places) {
    const std::size_t n = rows.size(0);
    searched.expect_size(0, n, "one row per row");
    order.expect_size(0, n, "one per row");
    places.expect_size(0, n, "one row per row");
    if (ends.count() == 0) {
        refuse("ends must have one number more than there are cells, and hence at least one");
    }
    if (places.size(1) == 0) {
        return;
    }

    const Unlocked unlocked(100 * rows.count());
    Interrupts interrupts;
    const Cells cells(rows, order, ends);
    for (std::size_t i = 0; i < n; ++i) {
        std::fill(places.row(i).begin(), places.row(i).end(), static_cast<std::int64_t>(i));
    }
    std::vector<float> best(places.size(1));
    for (const std::size_t i : cells.members()) {  // rows of one cell are compared with the same others
        std::fill(best.begin(), best.end(), -2.0F);
        std::size_t singly = dense(best.size());
        for (const std::int64_t cell : searched.row(i)) {
            const auto enter = [&](const std::size_t* members, std::span<const float> products) {
                interrupts.worked((rows.size(1) / 4 + 1) * products.size());
                each_above(products, singly, best.back(), [&](std::size_t at) {
                    return enter_best(products[at], static_cast<std::int64_t>(members[at]), best, places.row(i));
                });
                singly -= std::min(singly, products.size());
            };
            cells.compare(index_below(cells.size(), cell, "cells"), rows.row(i), enter);
        }
    }
}

// Random numbers below a bound, by xorshift. Integer remainders are computed without an integer division.
class Random {
public:
    Random(std::uint64_t seed, std::size_t below)
        : state_(seed * 0x9E3779B97F4A7C15U + 1), below_(below), inverse_(1.0 / static_cast<double>(below)) {}

    std::size_t next() {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        const std::uint64_t bits = state_ >> 11U;  // 53 bits, which a double holds
        const auto quotient = static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(bits)) * inverse_);
        auto rest = static_cast<std::int64_t>(bits) - quotient * static_cast<std::int64_t>(below_);
        rest += rest < 0 ? static_cast<std::int64_t>(below_) : 0;  // the quotient may be one too large or small
        rest -= rest >= static_cast<std::int64_t>(below_) ? static_cast<std::int64_t>(below_) : 0;
        return static_cast<std::size_t>(rest);
    }

private:
    std::uint64_t state_;
    std::size_t below_;
    double inverse_;
};

double clipped(double x) { return std::min(4.0, std::max(-4.0, x)); }

void attract_and_repel(const Array<double, 2>& points, const Array<const std::int64_t>& heads,
                       const Array<const std::int64_t>& tails, const Array<const double>& every, std::int64_t rounds,
                       double a, std::uint64_t seed) {
    const std::size_t n = points.size(0);
    points.expect_size(1, 2, "two coordinates");
    tails.expect_size(0, heads.count(), "one per edge");
    every.expect_size(0, heads.count(), "one per edge");

    const Unlocked unlocked(1000 * heads.count());
    Interrupts interrupts;
    std::vector<double> due(every.all().begin(), every.all().end());
    Random random(seed, std::max<std::size_t>(n, 1));
    for (std::int64_t turn = 0; turn < rounds; ++turn) {
        const double now = static_cast<double>(turn);
        const double step = 1.0 - now / static_cast<double>(rounds);
        interrupts.worked(1);
        for (std::size_t edge = 0; edge < due.size(); ++edge) {
            interrupts.worked(1);
            if (due[edge] > now) {
                continue;
            }
            interrupts.worked(100);
            due[edge] += every[edge];
            const std::size_t i = index_below(n, heads[edge], "heads");
            const std::span<double> here = points.row(i), there = points.row(index_below(n, tails[edge], "tails"));
            const double dx = here[0] - there[0], dy = here[1] - there[1];
            const double pull = -2.0 * a / (a * (dx * dx + dy * dy) + 1.0);
            const double gx = step * clipped(pull * dx), gy = step * clipped(pull * dy);
            here[0] += gx;
            here[1] += gy;
            there[0] -= gx;
            there[1] -= gy;
            double x = here[0], y = here[1];
            for (int draw = 0; draw < repelled; ++draw) {
                const std::size_t other = random.next();
                if (other == i) {
                    continue;
                }
                const std::span<const double> far = points.row(other);
                const double across = x - far[0], along = y - far[1];
                const double square = across * across + along * along;
                const double push = 2.0 / ((0.001 + square) * (a * square + 1.0));
                x += step * clipped(push * across);
                y += step * clipped(push * along);
            }
            here[0] = x;
            here[1] = y;
        }
    }
}

}  // namespace

void bind_layout(nb::module_& kernels) {
    kernels.def("nearest_in_cells", nearest_in_cells, nb::arg("rows"), nb::arg("cells"), nb::arg("order"),
                nb::arg("ends"), nb::arg("places"),
                "Write the nearest rows of each row among the members of its cells, nearest first; itself if there "
                "are fewer.\n\n"
                "``order`` has each row once, cell by cell, and ``ends`` has the begins and ends of the cells in it.");
    kernels.def("attract_and_repel", attract_and_repel, nb::arg("points"), nb::arg("heads"), nb::arg("tails"),
                nb::arg("every"), nb::arg("rounds"), nb::arg("a"), nb::arg("seed"),
                "Move positions along UMAP's gradient, edge by edge, with steps that shrink to 0.");
}

}  // namespace parasphere
