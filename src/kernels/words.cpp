// Tables of words, and looking up whole words.
#include "words.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <limits>
#include <random>

#include "texts.hpp"

namespace parasphere {
namespace {

HashKey random_key() {
    std::random_device device;
    const auto draw = [&] { return (static_cast<std::uint64_t>(device()) << 32) ^ device(); };
    return {draw(), draw()};
}

// The least capacity that leaves more than a third of the slots empty, which keeps searches short.
std::size_t capacity_for(std::size_t n_words) { return std::bit_ceil(std::max<std::size_t>(16, n_words + n_words / 2 + 1)); }

// A word of any length, as chunks.
Word chunked(std::span<const std::uint8_t> text, HashKey key, std::vector<std::uint64_t>& chunks) {
    chunks.assign(chunks_of(text.size()), 0);
    std::memcpy(chunks.data(), text.data(), text.size());
    return {chunks.data(), text.size(), hash_word(chunks.data(), text.size(), key)};
}

}  // namespace

WordTable::WordTable() : key_(random_key()), slots_(16), mask_(15), entries_(1) {}

// Put a row that is not in the table into a slot.
void WordTable::put(std::size_t row) {
    const std::size_t size = length(row);
    std::size_t at = hash_word(chunks(row), size, key_) & mask_;
    while (slots_[at].rest != 0) {
        at = (at + 1) & mask_;
    }
    const std::uint64_t known = size <= 8 ? static_cast<std::uint32_t>(id(row)) : places_[row];
    slots_[at] = {chunks(row)[0], static_cast<std::uint64_t>(size) << 32 | known};
}

std::int32_t WordTable::enter(const Word& word) {
    const std::size_t row = places_.size(), place = entries_.size() - 1;
    if (place + 1 + chunks_of(word.length) > low_half || word.length > low_half ||
        row >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
        refuse("a table of words holds at most 2^31 words of 32 GiB together");
    }
    if (3 * (row + 1) > 2 * slots_.size()) {
        rehash(2 * slots_.size());
    }
    entries_.resize(entries_.size() + 1 + chunks_of(word.length));
    places_.push_back(static_cast<std::uint32_t>(place));
    entries_[place] = static_cast<std::uint64_t>(word.length) << 32 | row;
    std::copy(word.chunks, word.chunks + chunks_of(word.length), &entries_[place + 1]);
    put(row);
    return static_cast<std::int32_t>(row);
}

void WordTable::reserve(std::size_t n_words, std::size_t n_chunks) {
    places_.reserve(n_words);
    entries_.reserve(1 + n_words + n_chunks);
    if (capacity_for(n_words) > slots_.size()) {
        rehash(capacity_for(n_words));
    }
}

void WordTable::rehash(std::size_t capacity) {
    decltype(slots_)(capacity).swap(slots_);
    mask_ = capacity - 1;
    for (std::size_t row = 0; row < places_.size(); ++row) {
        put(row);
    }
}

void WordTable::set_ids(std::span<const std::int32_t> ids) {
    for (std::size_t row = 0; row < ids.size(); ++row) {
        std::uint64_t& entry = entries_[places_[row]];
        entry = (entry & ~low_half) | static_cast<std::uint32_t>(ids[row]);
    }
    rehash(slots_.size());
}

std::size_t WordTable::longest_search() const {
    std::size_t longest = 0;
    for (std::size_t row = 0; row < places_.size(); ++row) {
        const std::uint64_t known = length(row) <= 8 ? static_cast<std::uint32_t>(id(row)) : places_[row];
        std::size_t at = hash_word(chunks(row), length(row), key_) & mask_, visited = 1;
        while (slots_[at].first != chunks(row)[0] || slots_[at].rest != (static_cast<std::uint64_t>(length(row)) << 32 | known)) {
            at = (at + 1) & mask_;
            ++visited;
        }
        longest = std::max(longest, visited);
    }
    return longest;
}

namespace {

void make_table(WordTable* self, const Array<const std::uint8_t>& data, const Array<const std::int64_t>& offsets,
                const std::optional<Array<const std::int32_t>>& ids,
                const std::optional<Array<std::int64_t>>& repeats) {
    if (offsets.count() == 0) {
        refuse("offsets must have one entry more than there are words, not none");
    }
    const std::size_t n_words = offsets.count() - 1;
    if (ids) {
        ids->expect_size(0, n_words, "one per word");
    }
    if (repeats) {
        repeats->expect_size(0, n_words, "one per word");
    }
    new (self) WordTable();
    try {
        const Unlocked unlocked(n_words * 50);
        Interrupts interrupts;
        self->reserve(n_words, data.count() / 8 + n_words);
        std::vector<std::uint64_t> chunks;
        std::vector<std::int64_t> rows;  // of the distinct words among all, if some are repeated
        for (std::size_t i = 0; i < n_words; ++i) {
            const Range own = range_within(data.count(), offsets[i], offsets[i + 1], "offsets");
            const std::span<const std::uint8_t> text = data.all().subspan(own.begin, own.size());
            if (text.empty()) {
                refuse("words must not be empty, but word ", i, " is");
            }
            const Word word = chunked(text, self->key(), chunks);
            std::int32_t found = unknown_id;
            const bool repeated = self->find(word, found);
            if (repeats) {
                (*repeats)[i] = repeated ? rows[static_cast<std::size_t>(found)] : -1;
            }
            if (!repeated) {
                self->enter(word);
                rows.push_back(static_cast<std::int64_t>(i));
            }
            interrupts.worked(50);
        }
        if (ids || rows.size() < n_words) {
            std::vector<std::int32_t> own(rows.size());
            std::transform(rows.begin(), rows.end(), own.begin(), [&](std::int64_t given) {
                return ids ? (*ids)[static_cast<std::size_t>(given)] : static_cast<std::int32_t>(given);
            });
            self->set_ids(own);
        }
    } catch (...) {
        self->~WordTable();
        throw;
    }
}

// The words of a table and their ids, from which an equal table can be made.
nb::tuple reduced(nb::handle self) {
    if (!nb::isinstance<WordTable>(self) || !nb::inst_ready(self)) {
        throw nb::type_error("a table of words is due, and one that was made");
    }
    const auto& table = nb::cast<const WordTable&>(self);
    std::vector<std::uint8_t> data;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int32_t> ids;
    for (std::size_t row = 0; row < table.size(); ++row) {
        const std::size_t at = data.size();
        data.resize(at + table.length(row));
        std::memcpy(data.data() + at, table.chunks(row), table.length(row));
        offsets.push_back(static_cast<std::int64_t>(data.size()));
        ids.push_back(table.id(row));
    }
    const nb::object from = nb::module_::import_("numpy").attr("frombuffer");
    const auto packed = [&](const auto& numbers, const char* type) {
        return from(nb::bytes(numbers.data(), numbers.size() * sizeof(numbers[0])), type);
    };
    return nb::make_tuple(self.type(),
                          nb::make_tuple(packed(data, "u1"), packed(offsets, "i8"), packed(ids, "i4")));
}

void ids_of_words(nb::handle given_words, const WordTable& table, bool hashing, const Array<std::int32_t>& ids) {
    const Texts words(given_words);
    ids.expect_size(0, words.count(), "one per word");
    const Unlocked unlocked(words.count() * 50);
    Interrupts interrupts;
    ChunkedWord chunked;
    for (std::size_t i = 0; i < words.count(); ++i) {
        const std::span<const std::uint8_t> text = words[i];
        std::int32_t id = unknown_id;
        if (!text.empty() && text.size() <= max_word_bytes) {
            const Word word = chunked.of(text.data(), text.size(), table.key());
            if (!table.find(word, id) && hashing) {
                id = hashed_id(word.chunks, word.length);
            }
        }
        ids[i] = id;
        interrupts.worked(50);
    }
}

}  // namespace

void bind_words(nb::module_& kernels) {
    nb::class_<WordTable>(kernels, "WordTable",
                          "A hash table of words, passed as UTF-8 bytes and offsets (Arrow's layout).\n\n"
                          "The id of a word is its index, or its entry of ``ids``, (n_words,), unless that is None.\n"
                          "The index of an earlier equal word, or -1, is written to ``repeats``, (n_words,).")
        .def("__init__", make_table, nb::arg("data"), nb::arg("offsets"), nb::arg("ids") = nb::none(),
             nb::arg("repeats") = nb::none())
        .def("__len__", &WordTable::size)
        .def("__reduce__", reduced)
        .def_prop_ro("longest_search", &WordTable::longest_search,
                     "The number of slots that the longest search for a word of the table visits.");
    kernels.def("ids_of_words", ids_of_words, nb::arg("words"), nb::arg("table"), nb::arg("hashing"), nb::arg("ids"),
                "Look up whole words, a list of str, one id each.\n\n"
                "Unknown words have the id -1 or, with ``hashing``, a hash of -3 or less.");
}

}  // namespace parasphere
