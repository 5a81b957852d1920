// Texts to words: what is a word, and which id it has.
//
// Which bytes belong to words is found for 64 bytes at once, as the bits of a mask. Runs of ASCII are hashed straight
// from the text, eight bytes at a time; runs that hold other characters are read one code point at a time.
#include <algorithm>
#include <atomic>
#include <limits>

#if defined(__SSE2__) || (defined(_MSC_VER) && defined(_M_X64))
#define PARASPHERE_SSE2 1
#include <emmintrin.h>
#endif

#include "words.hpp"

namespace parasphere {
namespace {

constexpr std::size_t code_points = 0x33480;     // the size of a fold table; no letter is assigned above
constexpr std::uint32_t mark = 1u << 31;         // of a combining mark, which continues a word but cannot begin one
constexpr std::int32_t stop_id = -2;             // of a stop word, which is passed over
constexpr std::size_t together = 64;             // words that are scanned before the first of them is looked up
constexpr std::uint64_t lower_case = 0x2020202020202020u;  // the bits that tell small letters from capital ones
constexpr std::uint64_t top_bits = 0x8080808080808080u;

// What counts as a word. ASCII is as the fold table says, too.
class Folding {
public:
    explicit Folding(nb::handle given) : Folding(fields_of(given)) {}

    std::uint32_t folded(std::uint32_t code) const { return code < code_points ? fold_[code] : 0; }
    std::uint64_t case_bits() const { return case_bits_; }
    bool digits() const { return digits_; }
    std::size_t min_length() const { return min_length_; }

private:
    static nb::tuple fields_of(nb::handle given) {
        if (!nb::isinstance<nb::tuple>(given) || nb::len(given) != 4) {
            refuse("folding must be a tuple of fold, lowercase, digits and min_length");
        }
        return nb::borrow<nb::tuple>(given);
    }

    explicit Folding(const nb::tuple& fields) : fold_(fields[0], "fold") {
        std::int64_t least = 0;
        fold_.expect_size(0, code_points, "one per code point");
        if (!nb::try_cast(fields[3], least)) {
            refuse("min_length must be a whole number");
        }
        case_bits_ = truth_of(fields[1], "lowercase") ? lower_case : 0;
        digits_ = truth_of(fields[2], "digits");
        min_length_ = static_cast<std::size_t>(std::max<std::int64_t>(least, 0));
    }

    Array<const std::uint32_t> fold_;  // 0 for a separator, else the folded code point, with `mark` for a mark
    std::uint64_t case_bits_ = 0;
    bool digits_ = false;
    std::size_t min_length_ = 0;  // words of fewer characters are dropped
};

// One bit for each of 64 bytes.
struct Masks {
    std::uint64_t words;  // letters, digits if they are part of words, and what is not ASCII
    std::uint64_t high;   // what is not ASCII
};

#ifdef PARASPHERE_SSE2
inline Masks masks_of(const std::uint8_t* text, bool digits) {
    Masks masks{0, 0};
    for (int k = 0; k < 4; ++k) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * k));
        const __m128i small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
        // Moved to the lowest numbers of a signed byte, a range is what lies below its end.
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
        // Sums of seven bits reach the top one from the beginning of a range on, and again from its end on.
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

// Decode the code point at the beginning of some bytes, beyond ASCII. A malformed byte is a separator.
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

// Finds the words of texts, and passes them on in order, some at a time: while their slots of the table are on their
// way, further words are scanned. The receiver has two functions: `take(word)`, where a word that is too long has a
// length beyond `max_word_bytes` and no chunks, and `end_text(text)`.
template <typename Receiver>
class Scanner {
public:
    Scanner(const Folding& folding, const WordTable& table, Receiver& receiver)
        : folding_(folding), table_(table), key_(table.key()), receiver_(receiver) {}

    // `limit` is where the memory of the text ends, which may be read up to there.
    void scan(std::span<const std::uint8_t> text, const std::uint8_t* limit, std::size_t number) {
        limit_ = limit;
        const std::uint8_t* const end = text.data() + text.size();
        const std::uint8_t* open = nullptr;  // where a run of letters began that has not ended yet
        bool open_high = false;              // whether it has anything but ASCII so far
        std::uint64_t carry = 0;
        for (const std::uint8_t* at = text.data(); at < end; at += 64) {
            const Masks masks = masks_at(at, end);
            const std::uint64_t before = masks.words << 1 | carry;
            std::uint64_t begins = masks.words & ~before, ends = ~masks.words & before;
            carry = masks.words >> 63;
            interrupts_.worked(16);
            if (open != nullptr) {
                if (ends == 0) {
                    open_high |= masks.high != 0;
                    continue;
                }
                const int last = std::countr_zero(ends);
                ends &= ends - 1;
                run(open, at + last, open_high || (masks.high & ((std::uint64_t{1} << last) - 1)) != 0);
                open = nullptr;
            }
            while (ends != 0) {
                const int first = std::countr_zero(begins), last = std::countr_zero(ends);
                begins &= begins - 1;
                ends &= ends - 1;
                run(at + first, at + last, (masks.high >> first & ((std::uint64_t{1} << (last - first)) - 1)) != 0);
            }
            if (begins != 0) {
                const int first = std::countr_zero(begins);
                open = at + first;
                open_high = masks.high >> first != 0;
            }
        }
        if (open != nullptr) {
            run(open, end, open_high);
        }
        if (n_ended_ == ended_.size()) {
            flush();
        }
        ended_[n_ended_++] = {n_words_, number};
    }

    // Pass on what is left.
    void flush() {
        for (std::size_t k = 0; k < n_words_; ++k) {
            table_.announce_entry(words_[k].hash);
        }
        std::size_t ended = 0;
        for (std::size_t k = 0; k < n_words_; ++k) {
            while (ended < n_ended_ && ended_[ended].n_words == k) {
                receiver_.end_text(ended_[ended++].number);
            }
            receiver_.take(words_[k]);
        }
        while (ended < n_ended_) {
            receiver_.end_text(ended_[ended++].number);
        }
        n_words_ = n_ended_ = n_chunks_ = 0;
        interrupts_.worked(together * 20);
    }

private:
    struct Ended {
        std::size_t n_words;  // how many words of those that wait were before the end of the text
        std::size_t number;   // of the text
    };

    Masks masks_at(const std::uint8_t* at, const std::uint8_t* end) const {
        const auto left = static_cast<std::size_t>(end - at);
        if (left >= 64) {
            return masks_of(at, folding_.digits());
        }
        std::array<std::uint8_t, 64> last{};
        std::memcpy(last.data(), at, left);
        return masks_of(last.data(), folding_.digits());
    }

    // Take the words of a run of letters: one if it is ASCII.
    void run(const std::uint8_t* begin, const std::uint8_t* end, bool high) {
        const auto length = static_cast<std::size_t>(end - begin);
        if (high) {
            slow_run({begin, length});
            return;
        }
        if (length < folding_.min_length()) {
            return;
        }
        std::uint64_t* chunks = room();
        std::uint64_t hash = length;
        if (length <= 8) {
            chunks[0] = chunk_at(begin, length);
            hash = folded_product(chunks[0] ^ key_.one, hash ^ key_.other);
        } else if (length <= max_word_bytes) {
            std::size_t k = 0;
            for (; 8 * k + 8 <= length; ++k) {
                chunks[k] = read_eight(begin + 8 * k) | folding_.case_bits();
                hash = folded_product(chunks[k] ^ key_.one, hash ^ key_.other);
            }
            if (8 * k < length) {
                chunks[k] = chunk_at(begin + 8 * k, length - 8 * k);
                hash = folded_product(chunks[k] ^ key_.one, hash ^ key_.other);
            }
        }
        add({chunks, length, hash});
    }

    // Up to eight bytes of a run of ASCII, folded. Letters and digits differ from their lower case in one bit only.
    std::uint64_t chunk_at(const std::uint8_t* begin, std::size_t length) const {
        const std::uint64_t used = ~std::uint64_t{0} >> (64 - 8 * length);
        if (limit_ - begin >= 8) {
            return (read_eight(begin) | folding_.case_bits()) & used;
        }
        std::uint64_t eight = 0;
        std::memcpy(&eight, begin, length);
        return (eight | folding_.case_bits()) & used;
    }

    // Take the words of a run with other characters, one code point at a time.
    void slow_run(std::span<const std::uint8_t> text) {
        std::size_t at = 0;
        while (at < text.size()) {
            auto* bytes = reinterpret_cast<std::uint8_t*>(room());
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
                auto* chunks = reinterpret_cast<std::uint64_t*>(bytes);
                if (length <= max_word_bytes) {
                    std::memset(bytes + length, 0, 8 * chunks_of(length) - length);
                    add({chunks, length, hash_word(chunks, length, key_)});
                } else {
                    add({chunks, length, 0});
                }
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

    void add(const Word& word) {
        table_.announce(word.hash);
        words_[n_words_++] = word;
        n_chunks_ += word.length <= max_word_bytes ? chunks_of(word.length) : 0;
    }

    const Folding& folding_;
    const WordTable& table_;
    const HashKey key_;
    Receiver& receiver_;
    Interrupts interrupts_;
    const std::uint8_t* limit_ = nullptr;
    std::array<Word, together> words_;
    std::array<Ended, together> ended_;
    std::array<std::uint64_t, 4 * max_word_bytes / 8> chunks_;
    std::size_t n_words_ = 0, n_ended_ = 0, n_chunks_ = 0;
};

// Where ids of words are written, one after another, and where each text ends.
class IdsOfTexts {
public:
    IdsOfTexts(const Texts& texts, nb::handle ids, nb::handle ends) : ids_(ids, "ids"), ends_(ends, "ends") {
        ends_.expect_size(0, texts.count(), "one per text");
    }

    std::size_t count() const { return count_; }

    void write(std::int32_t id) {
        if (count_ == ids_.count()) {
            refuse("ids must have room for all words of the texts, which are more than ", ids_.count());
        }
        ids_[count_++] = id;
    }

    void end_text(std::size_t text) { ends_[text] = static_cast<std::int64_t>(count_); }

private:
    Array<std::int32_t> ids_;
    Array<std::int64_t> ends_;
    std::size_t count_ = 0;
};

class LookUp {
public:
    LookUp(const WordTable& table, bool hashing, IdsOfTexts& ids) : table_(table), hashing_(hashing), ids_(ids) {}

    void take(const Word& word) {
        std::int32_t id = unknown_id;
        if (word.length <= max_word_bytes && !table_.find(word, id) && hashing_) {
            id = hashed_id(word.chunks, word.length);
        }
        if (id != stop_id) {
            ids_.write(id);
        }
    }

    void end_text(std::size_t text) { ids_.end_text(text); }

private:
    const WordTable& table_;
    const bool hashing_;
    IdsOfTexts& ids_;
};

template <typename Receiver>
void scan_texts(const Texts& texts, const Folding& folding, const WordTable& table, Receiver& receiver) {
    Scanner<Receiver> scanner(folding, table, receiver);
    for (std::size_t i = 0; i < texts.count(); ++i) {
        scanner.scan(texts[i], texts.limit(), i);
    }
    scanner.flush();
}

std::size_t ids_of_texts(nb::handle given_data, nb::handle given_offsets, nb::handle given_folding,
                         const WordTable& table, bool hashing, nb::handle given_ids, nb::handle given_ends) {
    const Texts texts(given_data, given_offsets);
    const Folding folding(given_folding);
    IdsOfTexts ids(texts, given_ids, given_ends);
    const Unlocked unlocked(texts.bytes() * 4);
    LookUp receiver(table, hashing, ids);
    scan_texts(texts, folding, table, receiver);
    return ids.count();
}

// Counts words, text after text, in a table that grows.
class WordCounts {
public:
    std::size_t size() const { return table_.size(); }

    // The bytes of all words together.
    std::size_t bytes() const { return bytes_; }

    std::size_t add(nb::handle given_data, nb::handle given_offsets, nb::handle given_folding, nb::handle given_ids,
                    nb::handle given_ends) {
        const Texts texts(given_data, given_offsets);
        const Folding folding(given_folding);
        IdsOfTexts ids(texts, given_ids, given_ends);
        const Claim claim(*this);
        const Unlocked unlocked(texts.bytes() * 4);
        Learner receiver{*this, ids};
        scan_texts(texts, folding, table_, receiver);
        return ids.count();
    }

    void read(nb::handle given_data, nb::handle given_offsets, nb::handle given_counts) {
        const Claim claim(*this);
        const Array<std::uint8_t> data(given_data, "data");
        const Array<std::int64_t> offsets(given_offsets, "offsets");
        const Array<std::int64_t> counts(given_counts, "counts");
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
        IdsOfTexts& ids;

        void take(const Word& word) {
            std::int32_t row = unknown_id;
            if (word.length <= max_word_bytes) {
                if (!counts.table_.find(word, row)) {
                    counts.counts_.push_back(0);
                    row = counts.table_.enter(word);
                    counts.bytes_ += word.length;
                }
                ++counts.counts_[static_cast<std::size_t>(row)];
            }
            ids.write(row);
        }

        void end_text(std::size_t text) { ids.end_text(text); }
    };

    // Two threads must not change a table at once. Neither waits for the other, which might wait for Python's lock.
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

// Tell whether a text has a character that begins with one of some pairs of bytes; see find_beginnings.
bool has_beginning(std::span<const std::uint8_t> text, std::span<const std::uint8_t> beginnings) {
    std::size_t at = 0;
    while (at < text.size()) {
        if (text[at] < 0x80) {  // on to what is not ASCII
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

std::size_t find_beginnings(nb::handle given_data, nb::handle given_offsets, nb::handle given_beginnings,
                            nb::handle given_found) {
    const Texts texts(given_data, given_offsets);
    const Array<const std::uint8_t> beginnings(given_beginnings, "beginnings");
    const Array<std::uint8_t> found(given_found, "found");
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
    kernels.def("find_beginnings", find_beginnings, argument("data"), argument("offsets"), argument("beginnings"),
                argument("found"),
                "Write 1 to ``found`` for each text with a character that begins with one of some pairs of bytes.\n\n"
                "``beginnings`` is 1 for such a pair, ``256 first + second``, and above 1 if the third byte must be\n"
                "that one or the next. First bytes below 0xCC are not looked at. Returns the number of texts.");
    kernels.def("ids_of_texts", ids_of_texts, argument("data"), argument("offsets"), argument("folding"),
                nb::arg("table"), nb::arg("hashing"), argument("ids"), argument("ends"),
                "Write the word ids of texts (Arrow's layout) one after another to ``ids``, and where each text ends\n"
                "to ``ends``.\n\n"
                "Words whose id is -2 are passed over. Unknown words have the id -1 or, with ``hashing``, one of their\n"
                "own of -3 or less. Returns the number of ids written.");
    nb::class_<WordCounts>(kernels, "WordCounts", "Counts words, text after text, in a table that grows.")
        .def(nb::init<>())
        .def("__len__", &WordCounts::size)
        .def_prop_ro("n_bytes", &WordCounts::bytes, "The bytes of all words together.")
        .def_prop_ro("longest_search", &WordCounts::longest_search,
                     "How many slots the longest search for a word of the table visits.")
        .def("add", &WordCounts::add, argument("data"), argument("offsets"), argument("folding"), argument("ids"),
             argument("ends"),
             "Count the words of texts, and give new words the next free ids; -1 is the id of those that are too long.\n\n"
             "Ids and ends are written as by :func:`ids_of_texts`. Returns the number of ids written.")
        .def("read", &WordCounts::read, argument("data"), argument("offsets"), argument("counts"),
             "Write all words in the order of their ids (Arrow's layout), and how often each occurred.");
}

}  // namespace parasphere
