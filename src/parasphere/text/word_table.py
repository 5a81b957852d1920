"""A hash table of words for compiled code: pack words, enter them, look them up.

A word is held as *chunks*: its UTF-8 bytes, eight per little-endian uint64, the last chunk padded with zeros.
Most words fit one chunk, so comparing two words is comparing two integers, and a hash costs one multiplication.

Both halves of a slot share a cache line: a short word is found, exactly, with one visit to memory. The hash depends on
a random key, so that nobody can choose words that all hash alike, which would make every search as long as the table.
"""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, guarded
from ..compiled.memory import address, folded_product, read_i64, read_u8, read_u64, write_u64

MAX_WORD_BYTES = 1024  # a longer run of letters is counted as unknown and never looked up
UNKNOWN = -1  # the id of a word that the table lacks
HASHED = -3  # the highest id of such a word that tells it from others: this less a hash of 30 bits
TABLE = {"slots": "u8[capacity,2]", "chunks": "u8[chunks]", "starts": "i8[words+1]", "key": "u8[2]"}

_SHIFT = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
# The hash of unknown words is the same everywhere, since vectors depend on it; nobody gains by making words collide.
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_THIRTY_BITS = np.uint64((1 << 30) - 1)


class WordTable(NamedTuple):
    """A hash table of words, by open addressing; a word's row is its place among them."""

    slots: NDArray[np.uint64]  # (capacity, 2): the first chunk, and length in bytes << 32 | row + 1; zeros if empty
    chunks: NDArray[np.uint64]  # (n_chunks,): the chunks of all words, one after another
    starts: NDArray[np.int64]  # (n_words + 1,): where each word's chunks begin
    key: NDArray[np.uint64]  # (2,): random; the hash of a word depends on it


@compiled(forceinline=True)
def hash_word(word: Any, length: Any, one: Any, other: Any) -> Any:
    """Hash the word whose chunks lie at an address, by the two halves of a key.

    Each chunk, hidden by one half, is multiplied with what came before, hidden by the other; all 128 bits of the
    product count, so that no part of a chunk is without effect on the low bits.
    """
    h = np.uint64(length)
    for k in range((length + 7) >> 3):
        h = folded_product(read_u64(word + 8 * k) ^ one, h ^ other)
    return h


@compiled(forceinline=True)
def hashed_id(word: Any, length: Any) -> Any:
    """Return the id of an unknown word whose chunks lie at an address: :data:`HASHED` or less."""
    return np.int64(HASHED) - np.int64(hash_word(word, length, _FIRST, _SECOND) & _THIRTY_BITS)


@compiled(forceinline=True)
def find_word(slots: Any, capacity: Any, chunks: Any, starts: Any, word: Any, length: Any, hashed: Any) -> Any:
    """Find the slot of the word whose chunks lie at the address ``word``, or the empty slot where it belongs.

    Returns (slot's address, what it holds: the word's row, or -1). All tables are given by their addresses.
    """
    mask = np.uint64(capacity - 1)
    at = hashed & mask
    first = read_u64(word)
    while True:
        slot = slots + 16 * np.int64(at)
        entry = read_u64(slot + 8)
        if entry == _ZERO:
            return slot, np.int64(-1)
        if read_u64(slot) == first and np.int64(entry >> _SHIFT) == length:
            row = np.int64(entry & _LOW) - 1
            if length <= 8:
                return slot, row
            begin = chunks + 8 * read_i64(starts + 8 * row)
            k = 8
            while k < length and read_u64(begin + k) == read_u64(word + k):
                k += 8
            if k >= length:
                return slot, row
        at = (at + _ONE) & mask


@compiled(forceinline=True)
def enter_word(slot: Any, word: Any, length: Any, row: Any) -> None:
    """Put a word into an empty slot."""
    write_u64(slot, read_u64(word))
    write_u64(slot + 8, (np.uint64(length) << _SHIFT) | np.uint64(row + 1))


@guarded(data="u1[bytes]", offsets="i8[words+1]", chunks="u8[chunks]", starts="i8[words+1]")
@compiled
def pack_words(data: Any, offsets: Any, chunks: Any, starts: Any) -> None:
    """Turn words given as UTF-8 bytes and offsets (Arrow's layout) into chunks."""
    at = 0
    for i in range(offsets.shape[0] - 1):
        starts[i] = at
        length = offsets[i + 1] - offsets[i]
        _pack(address(data) + offsets[i], length, address(chunks) + 8 * at)
        at += (length + 7) >> 3
    starts[offsets.shape[0] - 1] = at


@compiled(forceinline=True)
def _pack(text: Any, length: Any, word: Any) -> None:
    """Copy bytes into chunks."""
    chunk = _ZERO
    for k in range(length):
        chunk |= np.uint64(read_u8(text + k)) << np.uint64(8 * (k & 7))
        if k & 7 == 7 or k == length - 1:
            write_u64(word + (k & ~7), chunk)
            chunk = _ZERO


@guarded(table=TABLE, lengths="i8[words]", repeats="i8[words]")
@compiled
def fill_slots(table: Any, lengths: Any, repeats: Any) -> None:
    """Enter all words into a table without entries, except words that occur in an earlier row.

    ``repeats[i]`` is set to that earlier row, or to -1 if there is none.
    """
    slots, chunks, starts, key = table
    into, words, begins, capacity = address(slots), address(chunks), address(starts), slots.shape[0]
    for i in range(lengths.shape[0]):
        word = words + 8 * starts[i]
        hashed = hash_word(word, lengths[i], key[0], key[1])
        slot, row = find_word(into, capacity, words, begins, word, lengths[i], hashed)
        repeats[i] = row
        if row < 0:
            enter_word(slot, word, lengths[i], i)


@guarded(data="u1[bytes]", offsets="i8[n+1]", table=TABLE, names="i4[words]", ids="i4[n]")
@compiled
def ids_of_words(data: Any, offsets: Any, table: Any, names: Any, hashing: Any, ids: Any) -> None:
    """Look up whole words (Arrow's layout), one id each; ``names`` (n_words,) gives the id of each row.

    Unknown words have the id :data:`UNKNOWN` or, with ``hashing``, one of their own (:func:`hashed_id`).
    """
    scratch = np.empty(MAX_WORD_BYTES // 8, np.uint64)
    slots, chunks, starts, key = table
    into, words, begins, capacity = address(slots), address(chunks), address(starts), slots.shape[0]
    for i in range(offsets.shape[0] - 1):
        word = address(scratch)  # in the loop: numba frees an array after its last use
        length = offsets[i + 1] - offsets[i]
        ids[i] = UNKNOWN
        if 0 < length <= MAX_WORD_BYTES:
            _pack(address(data) + offsets[i], length, word)
            hashed = hash_word(word, length, key[0], key[1])
            _, row = find_word(into, capacity, words, begins, word, length, hashed)
            if row >= 0:
                ids[i] = names[row]
            elif hashing:
                ids[i] = hashed_id(word, length)


@guarded(chunks="u8[chunks]", starts="i8[*]", lengths="i8[words]", data="u1[bytes]", offsets="i8[words+1]")
@compiled
def unpack_words(chunks: Any, starts: Any, lengths: Any, data: Any, offsets: Any) -> None:
    """Turn chunks back into UTF-8 bytes and offsets (Arrow's layout)."""
    at = 0
    for i in range(lengths.shape[0]):
        offsets[i] = at
        for k in range(lengths[i]):
            chunk = chunks[starts[i] + (k >> 3)]
            data[at] = np.uint8((chunk >> np.uint64(8 * (k & 7))) & np.uint64(0xFF))
            at += 1
    offsets[lengths.shape[0]] = at


def empty_slots(n_words: int) -> NDArray[np.uint64]:
    """Return an empty table with room for ``n_words`` at half its capacity, which keeps searches short."""
    capacity = 1 << max(4, (2 * n_words).bit_length())
    return np.zeros((capacity, 2), np.uint64)


def new_key() -> NDArray[np.uint64]:
    """Return a random key for the hash of a table."""
    return np.frombuffer(os.urandom(16), np.uint64).copy()
