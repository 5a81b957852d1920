// A hash table of words.
//
// A word is held as chunks: its UTF-8 bytes, eight per little-endian uint64, the last chunk padded with zeros. Most
// words fit one chunk, so that comparing two words is comparing two integers, and a hash costs one multiplication.
//
// The table uses open addressing. A slot holds the first chunk of a word, its length, and its id: a word of one chunk
// is found exactly with one memory access. For a longer word, the slot has the position of its entry in place of the
// id; the entry has the id and all chunks. The hash depends on a random key, so that nobody can choose words with equal
// hashes, which would make every search as long as the table.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

#include "common.hpp"

namespace parasphere {

static_assert(std::endian::native == std::endian::little, "chunks are read as they lie in memory");

constexpr std::size_t max_word_bytes = 1024;  // a longer run of letters is counted as unknown and never looked up
constexpr std::int32_t unknown_id = -1;       // of a word that the table lacks
constexpr std::int32_t hashed_id_limit = -3;  // the highest hashed id of such a word

// A word that is looked up.
struct Word {
    const std::uint64_t* chunks;
    std::size_t length;  // in bytes
    std::uint64_t hash;
};

inline std::size_t chunks_of(std::size_t length) { return length / 8 + (length % 8 != 0); }

inline std::uint64_t read_eight(const std::uint8_t* place) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, place, 8);
    return eight;
}

// Multiply, and fold the 128-bit product to 64 bits.
inline std::uint64_t folded_product(std::uint64_t one, std::uint64_t other) {
#if defined(__SIZEOF_INT128__)
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(one) * other;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    std::uint64_t high = 0;
    const std::uint64_t low = _umul128(one, other, &high);
    return low ^ high;
#else
    const std::uint64_t mask = 0xFFFFFFFF;
    const std::uint64_t a = one >> 32, b = one & mask, c = other >> 32, d = other & mask;
    const std::uint64_t low = b * d, left = a * d, right = b * c;
    const std::uint64_t middle = (low >> 32) + (left & mask) + (right & mask);
    const std::uint64_t high = a * c + (left >> 32) + (right >> 32) + (middle >> 32);
    return ((middle << 32) | (low & mask)) ^ high;
#endif
}

struct HashKey {
    std::uint64_t one;
    std::uint64_t other;
};

// Continue the hash of a word from a chunk on, with the two halves of a key. Each chunk, xored with one half, is
// multiplied by the previous hash, xored with the other; all 128 bits of the product are used, so that every bit of a
// chunk has an effect.
inline std::uint64_t hash_chunks(std::uint64_t hash, const std::uint64_t* chunks, std::size_t first, std::size_t length,
                                 HashKey key) {
    for (std::size_t k = first; k < chunks_of(length); ++k) {
        hash = folded_product(chunks[k] ^ key.one, hash ^ key.other);
    }
    return hash;
}

// The hash of a word of at most 16 bytes: one product for any length, as branches would often be mispredicted.
inline std::uint64_t hash_short(std::uint64_t first, std::uint64_t second, std::size_t length, HashKey key) {
    return folded_product(first ^ key.one, second ^ length ^ key.other);
}

inline std::uint64_t hash_word(const std::uint64_t* chunks, std::size_t length, HashKey key) {
    const std::uint64_t hash = hash_short(chunks[0], length > 8 ? chunks[1] : 0, length, key);
    return hash_chunks(hash, chunks, 2, length, key);
}

// The id of an unknown word: its hash, which is the same everywhere, since vectors depend on it. Here collisions of
// chosen words would do no harm, so the key is fixed.
inline std::int32_t hashed_id(const std::uint64_t* chunks, std::size_t length) {
    constexpr HashKey common{0x9E3779B97F4A7C15u, 0xD1B54A32D192ED03u};
    const std::uint64_t thirty_bits = hash_chunks(length, chunks, 0, length, common) & ((1u << 30) - 1);
    return hashed_id_limit - static_cast<std::int32_t>(thirty_bits);
}

// Large memory in pages of 2 MB, if the system has such pages: words are scattered over a table, and translating the
// address of a small page takes as long as reading from it.
template <typename T>
struct InLargePages {
    using value_type = T;
    static constexpr std::size_t page = std::size_t{1} << 21;

    InLargePages() = default;
    template <typename Other>
    explicit InLargePages(const InLargePages<Other>&) {}

    T* allocate(std::size_t many) {
        const std::size_t size = many * sizeof(T);
        if (size < page) {
            return static_cast<T*>(::operator new(size));
        }
        void* memory = ::operator new(size, std::align_val_t{page});
#ifdef MADV_HUGEPAGE
        madvise(memory, size, MADV_HUGEPAGE);
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t many) {
        if (many * sizeof(T) < page) {
            ::operator delete(memory);
        } else {
            ::operator delete(memory, std::align_val_t{page});
        }
    }
    bool operator==(const InLargePages&) const { return true; }
};

class WordTable {
public:
    WordTable();

    HashKey key() const { return key_; }
    std::size_t size() const { return places_.size(); }

    struct Slot {
        std::uint64_t first;
        std::uint64_t rest;  // length << 32 | id or place of the entry; 0 if the slot is empty
    };

    // The slots in which words are looked up first; invalid after a word is entered.
    struct Slots {
        const Slot* slots;
        std::uint64_t mask;

        const Slot& first(std::uint64_t hash) const { return slots[hash & mask]; }
        // Prefetch the slot of a word that will soon be looked up.
        [[gnu::always_inline]] void announce(std::uint64_t hash) const { prefetch(&first(hash)); }
    };
    Slots slots() const { return {slots_.data(), mask_}; }

    // Prefetch the entry of a word of more than 8 bytes that will soon be looked up.
    [[gnu::always_inline]] void announce_entry(std::uint64_t hash) const {
        const Slot& slot = slots_[hash & mask_];
        prefetch(entries_.data() + (slot.rest >> 32 > 8 ? slot.rest & low_half : 0));
    }

    // The id of a word of one chunk, if the table has it.
    bool find_short(std::uint64_t chunk, std::size_t length, std::uint64_t hash, std::int32_t& id) const {
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            const Slot slot = slots_[at];
            if (slot.first == chunk && slot.rest >> 32 == length) {
                id = static_cast<std::int32_t>(slot.rest & low_half);
                return true;
            }
            if (slot.rest == 0) {
                return false;
            }
        }
    }

    // The id of a word of any length, if the table has it.
    bool find(const Word& word, std::int32_t& id) const {
        if (word.length <= 8) {
            return find_short(word.chunks[0], word.length, word.hash, id);
        }
        for (std::size_t at = word.hash & mask_; slots_[at].rest != 0; at = (at + 1) & mask_) {
            const Slot slot = slots_[at];
            if (slot.first == word.chunks[0] && slot.rest >> 32 == word.length) {
                const std::uint64_t* entry = &entries_[slot.rest & low_half];
                if (std::equal(word.chunks, word.chunks + chunks_of(word.length), entry + 1)) {
                    id = static_cast<std::int32_t>(entry[0] & low_half);
                    return true;
                }
            }
        }
        return false;
    }

    // Add a word that is not in the table. Its id is its row: the number of words before it.
    std::int32_t enter(const Word& word);

    // Reserve memory for a number of words, so that the table need not grow step by step.
    void reserve(std::size_t n_words, std::size_t n_chunks);

    // Set the id of each row.
    void set_ids(std::span<const std::int32_t> ids);
    std::int32_t id(std::size_t row) const { return static_cast<std::int32_t>(entries_[places_[row]] & low_half); }
    std::size_t length(std::size_t row) const { return entries_[places_[row]] >> 32; }
    const std::uint64_t* chunks(std::size_t row) const { return &entries_[places_[row] + 1]; }

    // The number of slots that the longest search for a word of the table visits.
    std::size_t longest_search() const;

private:
    static constexpr std::uint64_t low_half = 0xFFFFFFFF;

    void put(std::size_t row);
    void rehash(std::size_t capacity);

    HashKey key_;
    std::vector<Slot, InLargePages<Slot>> slots_;
    std::uint64_t mask_;
    std::vector<std::uint64_t> entries_;  // length << 32 | id, and then the chunks of a word; the last is not used
    std::vector<std::uint32_t> places_;   // of the entry of each row
};

// Copies the bytes of a word, of at most `max_word_bytes`, into chunks.
class ChunkedWord {
public:
    Word of(const std::uint8_t* text, std::size_t length, HashKey key) {
        chunks_[chunks_of(length) - (length > 0)] = 0;
        std::memcpy(chunks_.data(), text, length);
        return {chunks_.data(), length, hash_word(chunks_.data(), length, key)};
    }

private:
    std::array<std::uint64_t, max_word_bytes / 8> chunks_{};
};

}  // namespace parasphere
