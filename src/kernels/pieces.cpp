// Random choices of joint learning: cutting texts into pieces, and drawing the words that pieces are compared with.
#include "common.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace parasphere {
namespace {

// The generator xorshift64: the same state gives the same numbers everywhere.
class Random {
public:
    explicit Random(std::uint64_t state) : state_(state) {}

    std::uint64_t state() const { return state_; }

    // 31 random bits.
    std::uint32_t bits() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return static_cast<std::uint32_t>(state_ >> 33);
    }

private:
    std::uint64_t state_;
};

// The documents to cut, in order.
std::vector<Range> documents_of(const Array<const std::int64_t>& ends, const Array<const std::int64_t>& order,
                                   std::size_t n_ids) {
    if (ends.count() == 0) {
        refuse("ends must hold where the first document begins and where each ends, not nothing");
    }
    std::vector<Range> documents;
    documents.reserve(order.count());
    for (const std::int64_t n : order.all()) {
        const std::size_t document = index_below(ends.count() - 1, n, "order");
        documents.push_back(range_within(n_ids, ends[document], ends[document + 1], "ends"));
    }
    return documents;
}

// floor(part * size / parts), even if part * size exceeds 64 bits.
std::size_t share_of(std::size_t size, std::size_t part, std::size_t parts) {
    return size / parts * part + size % parts * part / parts;
}

nb::tuple cut(const Array<const std::int32_t>& ids, const Array<const std::int64_t>& ends,
              const Array<const std::int64_t>& order, const Array<const float>& keep, std::int64_t context,
              std::int64_t targets, double share, const Array<std::uint64_t>& state, const Array<std::int32_t>& words,
              const Array<std::int64_t>& begins, const Array<std::int64_t>& middles) {
    state.expect_size(0, 1, "the state of the random numbers");
    constexpr std::int64_t most = std::int64_t{1} << 40;
    if (context < 1 || context > most || targets < 1 || targets > most || context + targets < 3) {
        refuse("pieces need at least one word of context and one target, and three words in all, not context=", context,
               " and targets=", targets);
    }
    if (!(share >= 0.0 && share <= 1.0)) {
        refuse("share must be from 0 to 1, not ", share);
    }
    const std::vector<Range> documents = documents_of(ends, order, ids.count());
    std::size_t room = 0;
    for (const Range& document : documents) {
        room += document.size();
        if (room > words.count()) {
            refuse("words has room for ", words.count(), " words, and the documents have more");
        }
    }
    // Every piece has at least two words.
    if (middles.count() < room / 2 || begins.count() != middles.count() + 1) {
        refuse("middles must have size ", room / 2, " at least, one per two words, and begins one more, not ",
               middles.count(), " and ", begins.count());
    }

    Random random(state[0]);
    std::size_t at = 0;
    std::size_t done = 0;
    begins[0] = 0;
    {
        const Unlocked unlocked(10 * room);
        Interrupts interrupts;
        const auto longest = static_cast<std::size_t>(context + targets);
        for (const Range& document : documents) {
            interrupts.worked(20 * (document.end - document.begin) + 1);
            const std::size_t first = at;
            for (std::size_t i = document.begin; i < document.end; ++i) {
                const std::int32_t id = ids[i];
                if (random.bits() < static_cast<double>(keep[index_below(keep.count(), id, "ids")]) * 2147483648.0) {
                    words[at++] = id;
                }
            }
            const std::size_t m = at - first;
            if (m < 2) {  // nothing to predict a word from
                at = first;
                continue;
            }
            for (std::size_t i = m - 1; i > 0; --i) {
                std::swap(words[first + i], words[first + random.bits() % (i + 1)]);
            }
            const std::size_t pieces = m / longest + (m % longest > 0);
            for (std::size_t piece = 0; piece < pieces; ++piece) {
                const std::size_t begin = share_of(m, piece, pieces);
                const std::size_t end = share_of(m, piece + 1, pieces);
                const auto held = static_cast<std::int64_t>(static_cast<double>(end - begin) * share + 0.5);
                const auto place = static_cast<std::int64_t>(first + end);
                middles[done] = place - std::max<std::int64_t>(1, std::min(targets, held));
                begins[++done] = place;
            }
        }
    }
    state[0] = random.state();
    return nb::make_tuple(at, done);
}

void draw(const Array<const std::int32_t>& table, const Array<std::uint64_t>& state,
          const Array<std::int32_t>& drawn) {
    state.expect_size(0, 1, "the state of the random numbers");
    if (table.count() == 0) {
        refuse("table must hold words to draw, not nothing");
    }
    const Unlocked unlocked(10 * drawn.count());
    Interrupts interrupts;
    Random random(state[0]);
    const std::size_t size = table.count();
    const bool power_of_two = std::has_single_bit(size);  // a division would take longer than everything else
    constexpr std::size_t stretch = 4096;
    for (std::size_t begin = 0; begin < drawn.count(); begin += stretch) {
        const std::size_t end = std::min(begin + stretch, drawn.count());
        interrupts.worked(10 * (end - begin));
        for (std::size_t j = begin; j < end; ++j) {
            const std::size_t bits = random.bits();
            drawn[j] = table[power_of_two ? bits & (size - 1) : bits % size];
        }
    }
    state[0] = random.state();
}

}  // namespace

void bind_pieces(nb::module_& kernels) {
    kernels.def("cut", cut, nb::arg("ids"), nb::arg("ends"), nb::arg("order"), nb::arg("keep"), nb::arg("context"),
                nb::arg("targets"), nb::arg("share"), nb::arg("state"), nb::arg("words"), nb::arg("begins"),
                nb::arg("middles"),
                "Leave out words of each document at random, shuffle the others, and cut them into pieces. ``words``, "
                "``begins`` and ``middles`` have room for all; return the numbers of words and pieces.");
    kernels.def("draw", draw, nb::arg("table"), nb::arg("state"), nb::arg("drawn"),
                "Fill ``drawn`` with words drawn from the table.");
}

}  // namespace parasphere
