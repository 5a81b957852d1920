// Texts to words: finding the words and looking up their ids.
//
// The bytes that belong to words are found 64 at a time, as the bits of a mask. Runs of ASCII are hashed directly from
// the text, eight bytes at a time; runs with other characters are decoded one code point at a time.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <tuple>

#if defined(__SSE2__) || (defined(_MSC_VER) && defined(_M_X64))
#define PARASPHERE_SSE2 1
#include <emmintrin.h>
#endif

#include "texts.hpp"
#include "words.hpp"

namespace parasphere {
namespace {

constexpr std::size_t code_points = 0x33480;     // the size of a fold table; no letter is assigned above
constexpr std::uint32_t mark = 1u << 31;         // of a combining mark, which continues a word but cannot begin one
constexpr std::int32_t stop_id = -2;             // of a stop word, which is skipped
constexpr std::size_t together = 64;             // words that are scanned before the first of them is looked up
constexpr std::size_t text_ahead = 512;          // bytes by which texts are prefetched ahead
constexpr std::uint64_t lower_case = 0x2020202020202020u;  // the bits that distinguish lower-case letters
constexpr std::uint64_t top_bits = 0x8080808080808080u;

// What counts as a word; the flags for ASCII agree with the fold table.
class Folding {
public:
    // The fields of parasphere.text.scanning.Folding.
    using Fields = std::tuple<Array<const std::uint32_t>, bool, bool, std::int64_t>;

    explicit Folding(const Fields& given)
        : fold_(std::get<0>(given).data()),
          case_bits_(std::get<1>(given) ? lower_case : 0),
          digits_(std::get<2>(given)),
          min_length_(static_cast<std::size_t>(std::max<std::int64_t>(std::get<3>(given), 0))) {
        std::get<0>(given).expect_size(0, code_points, "one per code point");
    }

    std::uint32_t folded(std::uint32_t code) const { return code < code_points ? fold_[code] : 0; }
    std::uint64_t case_bits() const { return case_bits_; }
    bool digits() const { return digits_; }
    std::size_t min_length() const { return min_length_; }

private:
    const std::uint32_t* fold_;  // 0 for a separator, else the folded code point, with `mark` for a mark
    std::uint64_t case_bits_;
    bool digits_;
    std::size_t min_length_;  // words of fewer characters are dropped
};

// One bit for each of 64 bytes.
struct Masks {
    std::uint64_t words;  // letters, digits if they are part of words, and bytes that are not ASCII
    std::uint64_t high;   // bytes that are not ASCII
};

#ifdef PARASPHERE_SSE2
inline Masks masks_of(const std::uint8_t* text, bool digits) {
    Masks masks{0, 0};
    for (int k = 0; k < 4; ++k) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * k));
        const __m128i small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        // Shifted to the lowest numbers of a signed byte, a range consists of the bytes below its end.
        __m128i words = _mm_cmplt_epi8(_mm_add_epi8(small, _mm_set1_epi8(static_cast<char>(-128 - 'a'))),
                                       _mm_set1_epi8(-128 + 26));
        if (digits) {
            words = _mm_or_si128(words,
                                 _mm_cmplt_epi8(_mm_add_epi8(bytes, _mm_set1_epi8(static_cast<char>(-128 - '0'))),
                                                _mm_set1_epi8(-128 + 10)));
        }
        const auto high = static_cast<std::uint64_t>(_mm_movemask_epi8(bytes));
        masks.words |= (static_cast<std::uint64_t>(_mm_movemask_epi8(words)) | high) << (16 * k);
        masks.high |= high << (16 * k);
    }
    return masks;
}
#else
// The top bits of eight bytes as the low bits of a number.
inline std::uint64_t gathered(std::uint64_t tops) { return ((tops & top_bits) >> 7) * 0x0102040810204080u >> 56; }

inline Masks masks_of(const std::uint8_t* text, bool digits) {
    constexpr std::uint64_t ones = 0x0101010101010101u;
    Masks masks{0, 0};
    for (int k = 0; k < 8; ++k) {
        const std::uint64_t bytes = read_eight(text + 8 * k);
        const std::uint64_t low = bytes & ~top_bits, small = low | lower_case;
        // The first sum sets the top bit from the beginning of a range on, the second from its end on.
        std::uint64_t words = (small + (0x80 - 'a') * ones) & ~(small + (0x80 - 'z' - 1) * ones);
        if (digits) {
            words |= (low + (0x80 - '0') * ones) & ~(low + (0x80 - '9' - 1) * ones);
        }
        masks.words |= gathered(words | bytes) << (8 * k);
        masks.high |= gathered(bytes) << (8 * k);
    }
    return masks;
}
#endif

struct CodePoint {
    std::uint32_t code;
    std::size_t size;
};

// Decode the first code point of some bytes, which is not ASCII. A malformed byte is a separator.
CodePoint code_point(std::span<const std::uint8_t> text) {
    constexpr CodePoint malformed{0, 1};
    const std::uint8_t lead = text[0];
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (size == 1 || size > text.size()) {
        return malformed;
    }
    std::uint32_t code = lead & (size == 4 ? 0x07 : size == 3 ? 0x0F : 0x1F);
    for (std::size_t k = 1; k < size; ++k) {
        if ((text[k] & 0xC0) != 0x80) {
            return malformed;
        }
        code = code << 6 | (text[k] & 0x3F);
    }
    return {code, size};
}

struct Encoded {
    std::array<std::uint8_t, 4> bytes;
    std::size_t size;
};

Encoded utf8(std::uint32_t code) {
    const auto tail = [&](int shift) { return static_cast<std::uint8_t>(0x80 | ((code >> shift) & 0x3F)); };
    if (code < 0x80) {
        return {{static_cast<std::uint8_t>(code)}, 1};
    }
    if (code < 0x800) {
        return {{static_cast<std::uint8_t>(0xC0 | code >> 6), tail(0)}, 2};
    }
    if (code < 0x10000) {
        return {{static_cast<std::uint8_t>(0xE0 | code >> 12), tail(6), tail(0)}, 3};
    }
    return {{static_cast<std::uint8_t>(0xF0 | code >> 18), tail(12), tail(6), tail(0)}, 4};
}

// Masks of the first bytes of two chunks, by the number of bytes.
constexpr std::array<std::array<std::uint64_t, 2>, 17> first_bytes = [] {
    std::array<std::array<std::uint64_t, 2>, 17> masks{};
    for (std::size_t n = 1; n <= 16; ++n) {
        masks[n][0] = ~std::uint64_t{0} >> (n < 8 ? 64 - 8 * n : 0);
        masks[n][1] = n <= 8 ? 0 : ~std::uint64_t{0} >> (128 - 8 * n);
    }
    return masks;
}();

// A word waiting to be looked up. The chunks of a word of more than 16 bytes are elsewhere; too long a word has none.
struct Waiting {
    std::array<std::uint64_t, 2> chunks;
    std::size_t length;
    std::uint64_t hash;
    const std::uint64_t* all_chunks;

    Word word() const { return {length <= 16 ? chunks.data() : all_chunks, length, hash}; }
};

// The runs of letters among 64 bytes: where they begin and end.
struct Runs {
    const std::uint8_t* at;
    std::uint64_t begins;
    std::uint64_t ends;
};

// The parameters for making words from runs of ASCII.
struct RunTaker {
    WordTable::Slots slots;
    HashKey key;
    std::uint64_t case_bits;
    std::size_t min_length;
};

// Make words from runs of ASCII up to the first that is longer than 16 bytes; return the position of the next word. The
// 16 bytes from the beginning of each run must be readable.
PARASPHERE_INLINE Waiting* take_short_runs(const RunTaker& taker, Runs& runs, Waiting* next) {
    const std::uint8_t* const at = runs.at;
    std::uint64_t begins = runs.begins, ends = runs.ends;
    for (; ends != 0; begins &= begins - 1, ends &= ends - 1) {
        const int first = std::countr_zero(begins);
        const auto length = static_cast<std::size_t>(std::countr_zero(ends) - first);
        if (length > 16) {
            break;
        }
        if (length < taker.min_length) {
            continue;
        }
        // Letters and digits differ from their lower case in one bit only.
        const std::uint8_t* text = at + first;
        next->length = length;
        next->chunks[0] = (read_eight(text) | taker.case_bits) & first_bytes[length][0];
        next->chunks[1] = (read_eight(text + 8) | taker.case_bits) & first_bytes[length][1];
        next->hash = hash_short(next->chunks[0], next->chunks[1], length, taker.key);
        taker.slots.announce(next->hash);
        ++next;
    }
    runs.begins = begins;
    runs.ends = ends;
    return next;
}

// Writes the concatenated word ids of texts, and where each text ends.
class IdsOfTexts {
public:
    IdsOfTexts(const Texts& texts, const Array<std::int32_t>& ids, const Array<std::int64_t>& ends)
        : ids_(ids), ends_(ends) {
        ends_.expect_size(0, texts.count(), "one per text");
    }

    std::size_t count() const { return count_; }

    // Write all ids but those of stop words.
    void write(std::span<const std::int32_t> found) {
        std::uint32_t stops = 0;
        for (const std::int32_t id : found) {
            stops += id == stop_id;
        }
        if (ids_.count() - count_ < found.size() - stops) {
            refuse("ids must have room for all words of the texts, which are more than ", ids_.count());
        }
        if (stops == 0) {
            std::copy(found.begin(), found.end(), ids_.data() + count_);
        } else {
            std::remove_copy(found.begin(), found.end(), ids_.data() + count_, stop_id);
        }
        count_ += found.size() - stops;
    }

    void end_text(std::size_t text) { ends_[text] = static_cast<std::int64_t>(count_); }

private:
    const Array<std::int32_t>& ids_;
    const Array<std::int64_t>& ends_;
    std::size_t count_ = 0;
};

// Finds the words of texts, and has them looked up in order, some at a time: more words are scanned while their slots
// of the table are being prefetched. `look_up(words, ids)` of the receiver writes the id of each word.
template <typename Receiver>
class Scanner {
public:
    Scanner(const Folding& folding, const WordTable& table, Receiver& receiver, IdsOfTexts& ids)
        : folding_(folding), table_(table), key_(table.key()), receiver_(receiver), ids_(ids) {}

    void scan(std::span<const std::uint8_t> text, std::size_t number) {
        const std::uint8_t* const end = text.data() + text.size();
        for (const std::uint8_t* at = text.data(); at < end;) {
            const std::size_t left = std::min<std::size_t>(static_cast<std::size_t>(end - at), 64);
            prefetch(at + text_ahead);
            if (end - at >= window) {
                at += block(at, left, {at, end});
            } else {  // a copy with readable memory after it
                std::array<std::uint8_t, window> copy{};
                std::memcpy(copy.data(), at, left);
                at += block(copy.data(), left, {at, end});
            }
            interrupts_.worked(16);
        }
        if (n_ended_ == ended_.size()) {
            flush();
        }
        ended_[n_ended_++] = {n_words_, number};
    }

    // Look up the waiting words.
    void flush() {
        receiver_.look_up({words_.data(), n_words_}, found_.data());
        std::size_t begin = 0;
        for (std::size_t ended = 0; ended < n_ended_; ++ended) {
            ids_.write({found_.data() + begin, found_.data() + ended_[ended].n_words});
            ids_.end_text(ended_[ended].number);
            begin = ended_[ended].n_words;
        }
        ids_.write({found_.data() + begin, found_.data() + n_words_});
        interrupts_.worked(n_words_ * 10);
        n_words_ = n_ended_ = n_chunks_ = 0;
    }

private:
    static constexpr std::ptrdiff_t window = 64 + 16;       // bytes that are read at once

    struct Ended {
        std::size_t n_words;  // number of waiting words before the end of the text
        std::size_t number;   // of the text
    };

    // Take the words that end within the next 64 bytes of a text (or fewer), and return where to continue: after these
    // bytes, or at the beginning of a run that does not end within them. `at` points to `rest` or to a copy of it.
    std::size_t block(const std::uint8_t* at, std::size_t left, std::span<const std::uint8_t> rest) {
        Masks masks = masks_of(at, folding_.digits());
        const std::uint64_t used = ~std::uint64_t{0} >> (64 - left);
        masks.words &= used;
        masks.high &= used;
        Runs runs{at, masks.words & ~(masks.words << 1), ~masks.words & masks.words << 1};
        while (masks.high != 0 && runs.ends != 0) {
            const std::uint64_t ascii = (masks.high & (~masks.high + 1)) - 1;  // the bytes before the first other one
            const std::uint64_t later = runs.ends & ~ascii;
            runs.ends &= ascii;
            short_runs(runs);
            runs.ends = later;
            if (later != 0) {
                const int first = std::countr_zero(runs.begins), last = std::countr_zero(runs.ends);
                slow_run(rest.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first)));
                runs.begins &= runs.begins - 1;
                runs.ends &= runs.ends - 1;
                masks.high &= ~((std::uint64_t{1} << last) - 1);
            }
        }
        short_runs(runs);
        if (runs.begins == 0) {
            return left;
        }
        const auto open = static_cast<std::size_t>(std::countr_zero(runs.begins));
        return open > 0 && left == 64 ? open : open + last_run(rest.subspan(open));
    }

    // Take the run at the beginning of some bytes, and return its length.
    std::size_t last_run(std::span<const std::uint8_t> text) {
        std::size_t length = 0;
        bool high = false;
        while (length < text.size()) {
            std::array<std::uint8_t, 64> some{};
            std::memcpy(some.data(), text.data() + length, std::min<std::size_t>(64, text.size() - length));
            const Masks masks = masks_of(some.data(), folding_.digits());
            const int letters = std::countr_one(masks.words);
            length += static_cast<std::size_t>(letters);
            high |= letters > 0 && (masks.high & ~std::uint64_t{0} >> (64 - letters)) != 0;
            interrupts_.worked(16);
            if (letters < 64) {
                break;
            }
        }
        if (high) {
            slow_run(text.first(length));
        } else if (length >= folding_.min_length()) {
            long_run(text.data(), length);
        }
        return length;
    }

    // Take the runs of ASCII that end within 64 bytes, after which 16 more can be read.
    void short_runs(Runs& runs) {
        if (n_words_ + 32 > together) {  // there are at most 32
            flush();
        }
        while (runs.ends != 0) {
            const RunTaker taker{table_.slots(), key_, folding_.case_bits(), folding_.min_length()};
            Waiting* const next = vectorised([taker, &runs, next = words_.data() + n_words_](auto)
                                                 PARASPHERE_LOOP { return take_short_runs(taker, runs, next); });
            n_words_ = static_cast<std::size_t>(next - words_.data());
            if (runs.ends != 0) {
                const int first = std::countr_zero(runs.begins), last = std::countr_zero(runs.ends);
                runs.begins &= runs.begins - 1;
                runs.ends &= runs.ends - 1;
                long_run(runs.at + first, static_cast<std::size_t>(last - first));
            }
        }
    }

    // Take a run of ASCII of any length.
    void long_run(const std::uint8_t* begin, std::size_t length) {
        std::uint64_t* chunks = room();
        if (length <= max_word_bytes) {
            chunks[chunks_of(length) - 1] = 0;
            std::memcpy(chunks, begin, length);
            for (std::size_t k = 0; k < chunks_of(length); ++k) {
                chunks[k] = (chunks[k] | folding_.case_bits()) & first_bytes[std::min<std::size_t>(length - 8 * k, 8)][0];
            }
        }
        add(chunks, length);
    }

    // Take the words of a run with other characters, one code point at a time.
    void slow_run(std::span<const std::uint8_t> text) {
        std::size_t at = 0;
        while (at < text.size()) {
            std::uint64_t* chunks = room();
            auto* bytes = reinterpret_cast<std::uint8_t*>(chunks);
            std::size_t length = 0, characters = 0;
            while (at < text.size()) {
                const CodePoint point = text[at] < 0x80 ? CodePoint{text[at], 1} : code_point(text.subspan(at));
                at += point.size;
                std::uint32_t code = folding_.folded(point.code);
                if (code >= mark) {  // before any letter it is a separator
                    code = length == 0 ? 0 : code - mark;
                }
                if (code == 0) {
                    if (length > 0) {
                        break;
                    }
                    continue;
                }
                const Encoded encoded = utf8(code);
                for (std::size_t k = 0; k < encoded.size; ++k, ++length) {
                    if (length < max_word_bytes) {
                        bytes[length] = encoded.bytes[k];
                    }
                }
                ++characters;
            }
            if (length > 0 && characters >= folding_.min_length()) {
                if (length <= max_word_bytes) {
                    std::memset(bytes + length, 0, 8 * chunks_of(length) - length);
                }
                add(chunks, length);
            }
        }
    }

    // Room for the chunks of one more word.
    std::uint64_t* room() {
        if (n_words_ == together || n_chunks_ + max_word_bytes / 8 > chunks_.size()) {
            flush();
        }
        return chunks_.data() + n_chunks_;
    }

    void add(const std::uint64_t* chunks, std::size_t length) {
        const bool known = length <= max_word_bytes;
        const std::uint64_t hash = known ? hash_word(chunks, length, key_) : 0;
        table_.slots().announce(hash);
        words_[n_words_++] = {{chunks[0], chunks[1]}, length, hash, chunks};
        n_chunks_ += known ? chunks_of(length) : 0;
    }

    const Folding& folding_;
    const WordTable& table_;
    const HashKey key_;
    Receiver& receiver_;
    IdsOfTexts& ids_;
    Interrupts interrupts_;
    std::array<Waiting, together> words_;
    std::array<std::int32_t, together> found_;
    std::array<Ended, together> ended_;
    std::array<std::uint64_t, 4 * max_word_bytes / 8> chunks_;
    std::size_t n_words_ = 0, n_ended_ = 0, n_chunks_ = 0;
};

class LookUp {
public:
    LookUp(const WordTable& table, bool hashing) : table_(table), hashing_(hashing) {}

    void look_up(std::span<const Waiting> words, std::int32_t* ids) const {
        // Look up all words as short ones, and then the longer ones again: a branch would often be mispredicted.
        std::array<std::uint8_t, together> rest;
        std::size_t n_rest = 0;
        const WordTable::Slots slots = table_.slots();
        for (std::size_t k = 0; k < words.size(); ++k) {
            const Waiting& one = words[k];
            rest[n_rest] = static_cast<std::uint8_t>(k);
            n_rest += one.length > 8;
            const WordTable::Slot& slot = slots.first(one.hash);
            ids[k] = static_cast<std::int32_t>(slot.rest);
            if (slot.first != one.chunks[0] || slot.rest >> 32 != one.length) [[unlikely]] {
                if (!table_.find_short(one.chunks[0], one.length, one.hash, ids[k])) {
                    ids[k] = lacking(one);
                }
            }
        }
        for (std::size_t i = 0; i < n_rest; ++i) {
            table_.announce_entry(words[rest[i]].hash);
        }
        for (std::size_t i = 0; i < n_rest; ++i) {
            const Waiting& one = words[rest[i]];
            if (one.length > max_word_bytes || !table_.find(one.word(), ids[rest[i]])) {
                ids[rest[i]] = lacking(one);
            }
        }
    }

private:
    // The id of a word that the table lacks.
    std::int32_t lacking(const Waiting& word) const {
        return hashing_ && word.length <= max_word_bytes ? hashed_id(word.word().chunks, word.length) : unknown_id;
    }

    const WordTable& table_;
    const bool hashing_;
};

template <typename Receiver>
void scan_texts(const Texts& texts, const Folding& folding, const WordTable& table, Receiver& receiver,
                IdsOfTexts& ids) {
    Scanner<Receiver> scanner(folding, table, receiver, ids);
    for (std::size_t i = 0; i < texts.count(); ++i) {
        if (i + 1 < texts.count()) {  // the next text may be anywhere in memory
            for (std::size_t at = 0; at < text_ahead; at += 64) {
                prefetch(texts[i + 1].data() + at);
            }
        }
        scanner.scan(texts[i], i);
    }
    scanner.flush();
}

std::size_t ids_of_texts(nb::handle given_texts, const Folding::Fields& given_folding, const WordTable& table,
                         bool hashing, const Array<std::int32_t>& given_ids, const Array<std::int64_t>& given_ends) {
    const Texts texts(given_texts);
    const Folding folding(given_folding);
    IdsOfTexts ids(texts, given_ids, given_ends);
    const Unlocked unlocked(texts.bytes() * 4);
    LookUp receiver(table, hashing);
    scan_texts(texts, folding, table, receiver, ids);
    return ids.count();
}

// Counts the words of texts in a growing table.
class WordCounts {
public:
    std::size_t size() const { return table_.size(); }

    // The total number of bytes of all words.
    std::size_t bytes() const { return bytes_; }

    std::size_t add(nb::handle given_texts, const Folding::Fields& given_folding, const Array<std::int32_t>& given_ids,
                    const Array<std::int64_t>& given_ends) {
        const Texts texts(given_texts);
        const Folding folding(given_folding);
        IdsOfTexts ids(texts, given_ids, given_ends);
        const Claim claim(*this);
        const Unlocked unlocked(texts.bytes() * 4);
        Learner receiver{*this};
        scan_texts(texts, folding, table_, receiver, ids);
        return ids.count();
    }

    void read(const Array<std::uint8_t>& data, const Array<std::int64_t>& offsets, const Array<std::int64_t>& counts) {
        const Claim claim(*this);
        data.expect_size(0, bytes_, "the bytes of all words");
        offsets.expect_size(0, size() + 1, "one more than there are words");
        counts.expect_size(0, size(), "one per word");
        std::size_t at = 0;
        for (std::size_t row = 0; row < size(); ++row) {
            offsets[row] = static_cast<std::int64_t>(at);
            std::memcpy(data.data() + at, table_.chunks(row), table_.length(row));
            at += table_.length(row);
        }
        offsets[size()] = static_cast<std::int64_t>(at);
        std::copy(counts_.begin(), counts_.end(), counts.data());
    }

    std::size_t longest_search() const { return table_.longest_search(); }

private:
    struct Learner {
        WordCounts& counts;

        void look_up(std::span<const Waiting> words, std::int32_t* ids) {
            for (std::size_t k = 0; k < words.size(); ++k) {
                ids[k] = words[k].length <= max_word_bytes ? row_of(words[k].word()) : unknown_id;
            }
        }

        std::int32_t row_of(const Word& word) {
            std::int32_t row = unknown_id;
            if (!counts.table_.find(word, row)) {
                counts.counts_.resize(counts.table_.size() + 1);
                row = counts.table_.enter(word);
                counts.bytes_ += word.length;
            }
            ++counts.counts_[static_cast<std::size_t>(row)];
            return row;
        }
    };

    // Two threads must not change a table at once. The second raises an error rather than wait, since the first may be
    // waiting for Python's lock.
    class Claim {
    public:
        explicit Claim(WordCounts& counts) : counts_(counts) {
            if (counts_.claimed_.test_and_set()) {
                refuse("words are being counted by another thread; every thread needs a counter of its own");
            }
        }
        Claim(const Claim&) = delete;
        Claim& operator=(const Claim&) = delete;
        ~Claim() { counts_.claimed_.clear(); }

    private:
        WordCounts& counts_;
    };

    WordTable table_;
    std::vector<std::int64_t> counts_;
    std::size_t bytes_ = 0;
    std::atomic_flag claimed_{};
};

// Return whether a text has a character that begins with one of some pairs of bytes; see find_beginnings.
bool has_beginning(std::span<const std::uint8_t> text, std::span<const std::uint8_t> beginnings) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (text[at] < 0x80) {  // skip ASCII
            while (at + 8 <= text.size()) {
                const std::uint64_t high = read_eight(text.data() + at) & top_bits;
                if (high != 0) {
                    at += static_cast<std::size_t>(std::countr_zero(high)) / 8;
                    break;
                }
                at += 8;
            }
            while (at < text.size() && text[at] < 0x80) {
                ++at;
            }
            continue;
        }
        if (text[at] >= 0xCC && at + 1 < text.size()) {
            const int kind = beginnings[std::size_t{256} * text[at] + text[at + 1]];
            if (kind == 1) {
                return true;
            }
            if (kind > 1 && at + 2 < text.size() && (text[at + 2] == kind || text[at + 2] == kind + 1)) {
                return true;
            }
        }
        ++at;
    }
    return false;
}

std::size_t find_beginnings(nb::handle given_texts, const Array<const std::uint8_t>& beginnings,
                            const Array<std::uint8_t>& found) {
    const Texts texts(given_texts);
    beginnings.expect_size(0, 65536, "one per pair of bytes");
    found.expect_size(0, texts.count(), "one per text");
    const Unlocked unlocked(texts.bytes());
    Interrupts interrupts;
    std::size_t count = 0;
    for (std::size_t i = 0; i < texts.count(); ++i) {
        const std::span<const std::uint8_t> text = texts[i];
        found[i] = has_beginning(text, beginnings.all()) ? 1 : 0;
        count += found[i];
        interrupts.worked(text.size() / 4 + 10);
    }
    return count;
}

}  // namespace

void bind_scanning(nb::module_& kernels) {
    kernels.def("find_beginnings", find_beginnings, nb::arg("texts"), nb::arg("beginnings"), nb::arg("found"),
                "Write 1 to ``found`` for each text with a character that begins with one of some pairs of bytes.\n\n"
                "``beginnings`` is 1 for such a pair, ``256 first + second``, and above 1 if the third byte must be\n"
                "that one or the next. First bytes below 0xCC are ignored. Returns the number of texts found.");
    kernels.def("ids_of_texts", ids_of_texts, nb::arg("texts"), nb::arg("folding"), nb::arg("table"),
                nb::arg("hashing"), nb::arg("ids"), nb::arg("ends"),
                "Write the concatenated word ids of texts, a list of str, to ``ids``, and the end of each text to\n"
                "``ends``.\n\n"
                "Words whose id is -2 are skipped. Unknown words have the id -1 or, with ``hashing``, a hash of -3 or\n"
                "less. Returns the number of ids written.");
    nb::class_<WordCounts>(kernels, "WordCounts", "Counts the words of texts in a growing table.")
        .def(nb::init<>())
        .def("__len__", &WordCounts::size)
        .def_prop_ro("n_bytes", &WordCounts::bytes, "The total number of bytes of all words.")
        .def_prop_ro("longest_search", &WordCounts::longest_search,
                     "The number of slots that the longest search for a word of the table visits.")
        .def("add", &WordCounts::add, nb::arg("texts"), nb::arg("folding"), nb::arg("ids"), nb::arg("ends"),
             "Count the words of texts, and give new words the next free ids; too long words have the id -1.\n\n"
             "Ids and ends are written as by :func:`ids_of_texts`. Returns the number of ids written.")
        .def("read", &WordCounts::read, nb::arg("data"), nb::arg("offsets"), nb::arg("counts"),
             "Write all words in the order of their ids (Arrow's layout), and their numbers of occurrences.");
}

}  // namespace parasphere
