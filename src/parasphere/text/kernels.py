"""The compiled inner loops over words: pack, hash, look up, scan. No I/O, no Python objects.

A word is held as *chunks*: its UTF-8 bytes, eight to a little-endian uint64, the last one padded with zeros.
Most words fit one chunk, so comparing two words is comparing two integers, and a hash costs one multiplication.

A table of words is four arrays:

``chunks``  (n_chunks,) uint64, the chunks of all words one after another
``starts``  (n_words + 1,) int64, where each word's chunks begin
``slots``   (capacity, 2) uint64, open addressing: a word's first chunk, and its length in bytes << 32 | id + 1;
            an empty slot holds zeros
``key``     (2,) uint64, random: what the hash of a word depends on beside the word

Both halves of a slot share a cache line: a short word is found, exactly, with one visit to memory. Who does not know
the key cannot write words that all hash alike, which would make every search as long as the table.
"""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled.jit import compiled
from ..compiled.layout import guarded
from ..compiled.memory import (
    address,
    folded_product,
    prefetch,
    read_i64,
    read_u8,
    read_u32,
    read_u64,
    trailing_zeros,
    write_u64,
)

MAX_WORD_BYTES = 1024  # a longer run of letters is counted as unknown and never looked up
CODE_POINTS = 0x33480  # the size of a fold table; no letter is assigned above (the last is U+323AF)

BATCH = 64  # how many words are scanned before the first of them is looked up

UNKNOWN = -1  # a word that the table lacks
STOP = -2  # a word to be passed over

# What a fold table holds for a code point: 0 for a separator, else the folded code point, with this bit set
# for a combining mark, which goes on with a word but cannot begin one.
MARK = np.uint32(1 << 31)

_EIGHT = np.uint64(8)
_SHIFT = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TOPS = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_CASE = np.uint64(0x2020202020202020)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@compiled(forceinline=True)
def _hash(word: Any, length: Any, one: Any, other: Any) -> Any:
    """Hash the word whose chunks lie at an address, by the two halves of a key.

    Each chunk, hidden by one half, is multiplied with what came before, hidden by the other; all 128 bits of the
    product count, so that no part of a chunk is without effect on the low bits.
    """
    h = np.uint64(length)
    for k in range((length + 7) >> 3):
        h = folded_product(read_u64(word + 8 * k) ^ one, h ^ other)
    return h


@compiled(forceinline=True)
def _find(slots: Any, capacity: Any, chunks: Any, starts: Any, word: Any, length: Any, hashed: Any) -> Any:
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
def _enter(slot: Any, word: Any, length: Any, row: Any) -> None:
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


@guarded(
    slots="u8[capacity,2]", chunks="u8[chunks]", starts="i8[words+1]", key="u8[2]", lengths="i8[words]",
    repeats="i8[words]",
)  # fmt: skip
@compiled
def fill_slots(slots: Any, chunks: Any, starts: Any, key: Any, lengths: Any, repeats: Any) -> None:
    """Enter all words into empty slots, but for a word that stands in an earlier row.

    ``repeats[i]`` becomes that earlier row, -1 for every word that has none.
    """
    table, entries, begins, capacity = address(slots), address(chunks), address(starts), slots.shape[0]
    for i in range(lengths.shape[0]):
        word = entries + 8 * starts[i]
        hashed = _hash(word, lengths[i], key[0], key[1])
        slot, row = _find(table, capacity, entries, begins, word, lengths[i], hashed)
        repeats[i] = row
        if row < 0:
            _enter(slot, word, lengths[i], i)


@compiled(forceinline=True)
def _code_point(pos: Any, end: Any) -> Any:
    """Decode the code point at ``pos``, beyond ASCII: (code point, bytes). A malformed byte is a separator (0, 1)."""
    lead = read_u8(pos)
    if lead >= 0xF0:
        size = 4
        code = np.uint32(lead & 0x07)
    elif lead >= 0xE0:
        size = 3
        code = np.uint32(lead & 0x0F)
    elif lead >= 0xC0:
        size = 2
        code = np.uint32(lead & 0x1F)
    else:
        return np.uint32(0), 1
    if pos + size > end:
        return np.uint32(0), 1
    for k in range(1, size):
        tail = read_u8(pos + k)
        if tail & 0xC0 != 0x80:
            return np.uint32(0), 1
        code = (code << np.uint32(6)) | np.uint32(tail & 0x3F)
    return code, size


@compiled(forceinline=True)
def _utf8(code: Any) -> Any:
    """Encode a code point: its UTF-8 bytes as a little-endian integer, and how many."""
    low = np.uint64(0x80)
    six = np.uint64(0x3F)
    c = np.uint64(code)
    if c < low:
        return c, 1
    if c < np.uint64(0x800):
        return (np.uint64(0xC0) | (c >> np.uint64(6))) | ((low | (c & six)) << _EIGHT), 2
    if c < np.uint64(0x10000):
        packed = np.uint64(0xE0) | (c >> np.uint64(12))
        packed |= (low | ((c >> np.uint64(6)) & six)) << _EIGHT
        return packed | ((low | (c & six)) << np.uint64(16)), 3
    packed = np.uint64(0xF0) | (c >> np.uint64(18))
    packed |= (low | ((c >> np.uint64(12)) & six)) << _EIGHT
    packed |= (low | ((c >> np.uint64(6)) & six)) << np.uint64(16)
    return packed | ((low | (c & six)) << np.uint64(24)), 4


@compiled(forceinline=True)
def _marks(x: Any, digits: Any) -> Any:
    """Set the top bit of each byte that is an ASCII letter (or digit, if ``digits`` has its top bits set)."""
    low = x & _SEVENS
    case = low | _CASE
    letter = (case + np.uint64(0x1F1F1F1F1F1F1F1F)) & ~(case + np.uint64(0x0505050505050505))
    digit = (low + np.uint64(0x5050505050505050)) & ~(low + np.uint64(0x4646464646464646)) & digits
    return letter & ~x & _TOPS, digit & ~x & _TOPS


@compiled(forceinline=True)
def _next_word(pos: Any, end: Any, limit: Any, fold: Any, case: Any, digits: Any, word: Any) -> Any:
    """Scan the text from address ``pos`` to ``end`` for its next word, folding it into the chunks at ``word``.

    ASCII goes eight bytes at a time, as long as they lie below ``limit``; a word that holds anything else is left
    to :func:`_next_word_slow`. ``case`` and ``digits`` are eight bytes each: what to set in an upper-case letter to
    fold it, and whether digits make words. They say again, for ASCII, what ``fold`` says for every code point.

    Returns (address after the word, its length in folded bytes, its characters); length 0 if there is none.
    A word longer than :data:`MAX_WORD_BYTES` has a length beyond it and only its first bytes at ``word``.
    """
    while pos < end and pos + 8 <= limit:  # to the first letter
        x = read_u64(pos)
        letters, figures = _marks(x, digits)
        found = letters | figures | (x & _TOPS)
        if found != _ZERO:
            pos += np.int64(trailing_zeros(found) >> np.uint64(3))
            break
        pos += 8
    begin = pos
    at = word
    while pos < end and pos + 8 <= limit:
        x = read_u64(pos)
        letters, figures = _marks(x, digits)
        other = ~(letters | figures) & _TOPS
        folded = x | ((letters >> np.uint64(2)) & case)
        if other == _ZERO and end - pos > 8:
            if at < word + MAX_WORD_BYTES:
                write_u64(at, folded)
                at += 8
            pos += 8
            continue
        run = np.int64(8) if other == _ZERO else np.int64(trailing_zeros(other) >> np.uint64(3))
        if end - pos <= run:
            run = end - pos
        elif read_u8(pos + run) >= 128:
            break
        if at < word + MAX_WORD_BYTES:
            write_u64(at, folded & (_ALL >> np.uint64(64 - 8 * run)) if run else _ZERO)
        pos += run
        return pos, pos - begin, pos - begin
    return _next_word_slow(begin, end, fold, word)


@compiled
def _next_word_slow(pos: Any, end: Any, fold: Any, word: Any) -> Any:
    """Scan for the next word code point by code point; returns what :func:`_next_word` does."""
    chunk = _ZERO
    shift = _ZERO
    length = 0
    characters = 0
    at = word
    while pos < end:
        byte = read_u8(pos)
        code = np.uint32(byte)
        size = 1
        if byte >= 128:
            code, size = _code_point(pos, end)
        code = read_u32(fold + 4 * np.int64(code)) if code < CODE_POINTS else np.uint32(0)
        if code >= MARK:
            # A mark before any letter is a separator; within a word it is part of it.
            code = np.uint32(0) if length == 0 else np.uint32(code - MARK)
        if code == np.uint32(0):
            if length:
                break
            pos += size
            continue
        packed, count = _utf8(code)
        for _ in range(count):
            chunk |= (packed & np.uint64(0xFF)) << shift
            packed >>= _EIGHT
            shift += _EIGHT
            if shift == np.uint64(64):
                if at < word + MAX_WORD_BYTES:
                    write_u64(at, chunk)
                    at += 8
                chunk = _ZERO
                shift = _ZERO
        length += count
        characters += 1
        pos += size
    if shift != _ZERO and at < word + MAX_WORD_BYTES:
        write_u64(at, chunk)
    return pos, length, characters


@guarded(
    data="u1[bytes]", offsets="i8[texts+1]", fold=f"u4[{CODE_POINTS}]", slots="u8[capacity,2]", chunks="u8[chunks]",
    starts="i8[words+1]", key="u8[2]", names="i4[words]", ids="i4[room]", ends="i8[texts]",
)  # fmt: skip
@compiled
def ids_of_texts(
    data: Any, offsets: Any, fold: Any, case: Any, digits: Any, min_length: Any,
    slots: Any, chunks: Any, starts: Any, key: Any, names: Any, ids: Any, ends: Any,
) -> Any:  # fmt: skip
    """Write the word ids of texts (Arrow's layout) one after another to ``ids``, and where each text ends to ``ends``.

    ``names`` (n_words,) int32 turns a row of the table into the id to write, so that a stop word's is
    :data:`STOP`, which is passed over. Returns the number of ids written.
    """
    scratch = np.empty(BATCH * MAX_WORD_BYTES // 8, np.uint64)
    words = np.empty(BATCH, np.int64)
    lengths = np.empty(BATCH, np.int64)
    hashes = np.empty(BATCH, np.uint64)
    text, limit = address(data), address(data) + data.shape[0]
    table, entries, begins, folded = address(slots), address(chunks), address(starts), address(fold)
    capacity, one, other = slots.shape[0], key[0], key[1]
    count = 0
    for doc in range(offsets.shape[0] - 1):
        pos = text + offsets[doc]
        end = text + offsets[doc + 1]
        more = True
        while more:
            # First scan for some words, and ask for their slots; then look them up, when the slots have come.
            found = 0
            word = address(scratch)
            while found < BATCH:
                pos, length, characters = _next_word(pos, end, limit, folded, case, digits, word)
                if length == 0:
                    more = False
                    break
                if characters < min_length:
                    continue
                words[found] = word
                lengths[found] = length
                if length <= MAX_WORD_BYTES:
                    hashes[found] = _hash(word, length, one, other)
                    prefetch(table + 16 * np.int64(hashes[found] & np.uint64(capacity - 1)))
                    word += (length + 7) & ~7
                found += 1
            for k in range(found):
                name = np.int64(UNKNOWN)
                if lengths[k] <= MAX_WORD_BYTES:
                    _, row = _find(table, capacity, entries, begins, words[k], lengths[k], hashes[k])
                    if row >= 0:
                        name = np.int64(names[row])
                if name != STOP:
                    ids[count] = name
                    count += 1
        ends[doc] = count
    return count


@guarded(
    data="u1[bytes]", offsets="i8[n+1]", slots="u8[capacity,2]", chunks="u8[chunks]", starts="i8[words+1]",
    key="u8[2]", names="i4[words]", ids="i4[n]",
)  # fmt: skip
@compiled
def ids_of_words(data: Any, offsets: Any, slots: Any, chunks: Any, starts: Any, key: Any, names: Any, ids: Any) -> None:
    """Look whole words (Arrow's layout) up, one id each."""
    scratch = np.empty(MAX_WORD_BYTES // 8, np.uint64)
    table, entries, begins, capacity = address(slots), address(chunks), address(starts), slots.shape[0]
    for i in range(offsets.shape[0] - 1):
        word = address(scratch)  # in the loop: numba frees an array after its last use
        length = offsets[i + 1] - offsets[i]
        ids[i] = UNKNOWN
        if 0 < length <= MAX_WORD_BYTES:
            _pack(address(data) + offsets[i], length, word)
            hashed = _hash(word, length, key[0], key[1])
            _, row = _find(table, capacity, entries, begins, word, length, hashed)
            if row >= 0:
                ids[i] = names[row]


@guarded(
    data="u1[bytes]", offsets="i8[texts+1]", fold=f"u4[{CODE_POINTS}]", slots="u8[capacity,2]", chunks="u8[chunks]",
    starts="i8[words+1]", key="u8[2]", lengths="i8[words]", counts="i8[words]", ids="i4[room]", ends="i8[texts]",
)  # fmt: skip
@compiled
def learn_texts(
    data: Any, offsets: Any, doc: Any, pos: Any, fold: Any, case: Any, digits: Any, min_length: Any,
    slots: Any, chunks: Any, starts: Any, key: Any, lengths: Any, counts: Any, n_words: Any,
    ids: Any, ends: Any, count: Any,
) -> Any:  # fmt: skip
    """Give every word of texts an id, new words the next free one, and count them.

    Like :func:`ids_of_texts`, into a table that grows. Begins at byte ``pos`` of the text ``doc`` and stops where
    the table is full; returns (text, byte, words so far, ids so far) to go on with when the caller has made
    room, and a text beyond the last when all is done.
    """
    scratch = np.empty(MAX_WORD_BYTES // 8, np.uint64)
    word, text = address(scratch), address(data)
    table, entries, begins, folded = address(slots), address(chunks), address(starts), address(fold)
    capacity, limit = slots.shape[0], text + data.shape[0]
    one, other = key[0], key[1]
    at = text + pos
    while doc < offsets.shape[0] - 1:
        end = text + offsets[doc + 1]
        while True:
            full = 2 * n_words >= capacity or n_words >= lengths.shape[0]
            if full or starts[n_words] + MAX_WORD_BYTES // 8 > chunks.shape[0]:
                return doc, at - text, n_words, count
            at, length, characters = _next_word(at, end, limit, folded, case, digits, word)
            if length == 0:
                break
            if characters < min_length:
                continue
            row = np.int64(UNKNOWN)
            if length <= MAX_WORD_BYTES:
                slot, row = _find(table, capacity, entries, begins, word, length, _hash(word, length, one, other))
                if row < 0:
                    row = n_words
                    n_words += 1
                    size = (length + 7) >> 3
                    for k in range(size):
                        chunks[starts[row] + k] = scratch[k]
                    starts[row + 1] = starts[row] + size
                    lengths[row] = length
                    _enter(slot, word, length, row)
                counts[row] += 1
            ids[count] = row
            count += 1
        ends[doc] = count
        doc += 1
        at = text + offsets[doc]
    return doc, at - text, n_words, count


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
