"""The compiled scanner: texts to word ids. No I/O, no Python objects.

ASCII is scanned eight bytes at a time; words with other characters are scanned one code point at a time. Words are
looked up in a :class:`~parasphere.text.word_table.WordTable`.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, guarded
from ..compiled.memory import address, prefetch, read_u8, read_u32, read_u64, trailing_zeros, write_u64
from .word_table import MAX_WORD_BYTES, TABLE, UNKNOWN, enter_word, find_word, hash_word, hashed_id

CODE_POINTS = 0x33480  # the size of a fold table; no letter is assigned above (the last is U+323AF)
BATCH = 64  # how many words are scanned before the first of them is looked up
STOP = -2  # the id of a stop word, which is passed over

# What a fold table holds for a code point: 0 for a separator, else the folded code point, with this bit set
# for a combining mark, which continues a word but cannot begin one.
MARK = np.uint32(1 << 31)

_EIGHT = np.uint64(8)
_ZERO = np.uint64(0)
_TOPS = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_CASE = np.uint64(0x2020202020202020)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_FOLDING = {"fold": f"u4[{CODE_POINTS}]"}


class Folding(NamedTuple):
    """What counts as a word, for compiled code; ``case`` and ``digits`` are ``fold`` for ASCII, eight bytes at once."""

    fold: NDArray[np.uint32]  # (CODE_POINTS,): what each is folded to; 0 for a separator, MARK for a combining mark
    case: np.uint64  # the bits to set in an upper-case letter
    digits: np.uint64  # the top bits, if digits are part of words
    min_length: int  # words of fewer characters are dropped


class Reached(NamedTuple):
    """How far :func:`learn_texts` has come: the text, the byte in it, the words so far, and the ids so far."""

    text: int
    byte: int
    n_words: int
    n_ids: int


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
    to :func:`_next_word_slow`. ``fold``, ``case`` and ``digits`` are those of :class:`Folding`.

    Returns (address after the word, its length in folded bytes, its characters); length 0 if there is none.
    A word longer than :data:`MAX_WORD_BYTES` has a length beyond it and only its first bytes at ``word``.
    """
    while pos < end and pos + 8 <= limit:  # to the first letter
        x = read_u64(pos)
        letters, figures = _marks(x, digits)
        begins = letters | figures | (x & _TOPS)
        if begins != _ZERO:
            pos += np.int64(trailing_zeros(begins) >> np.uint64(3))
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


@guarded(data="u1[bytes]", offsets="i8[texts+1]", beginnings="u1[65536]", found="u1[texts]")
@compiled
def find_beginnings(data: Any, offsets: Any, beginnings: Any, found: Any) -> Any:
    """Write 1 to ``found`` for each text with a character that begins with one of some pairs of bytes.

    ``beginnings`` is 1 for such a pair, ``256 first + second``, and above 1 if the third byte must be that one or the
    next. First bytes below 0xCC are not looked at. Returns the number of texts.
    """
    text = address(data)
    count = 0
    for doc in range(offsets.shape[0] - 1):
        pos = offsets[doc]
        end = offsets[doc + 1]
        found[doc] = 0
        while pos < end:
            first = np.int64(data[pos])
            if first < 0x80:  # on to what is not ASCII
                high = _ZERO
                while high == _ZERO and pos + 8 <= end:
                    high = read_u64(text + pos) & _TOPS
                    pos += 8 if high == _ZERO else np.int64(trailing_zeros(high)) >> 3
                while high == _ZERO and pos < end and data[pos] < 0x80:  # the last bytes
                    pos += 1
                continue
            if first >= 0xCC and pos + 1 < end:
                kind = np.int64(beginnings[256 * first + np.int64(data[pos + 1])])
                if kind == 1 or (kind > 1 and pos + 2 < end and 0 <= np.int64(data[pos + 2]) - kind <= 1):
                    found[doc] = 1
                    count += 1
                    break
            pos += 1
    return count


@guarded(
    data="u1[bytes]", offsets="i8[texts+1]", folding=_FOLDING, table=TABLE, names="i4[words]", ids="i4[room]",
    ends="i8[texts]",
)  # fmt: skip
@compiled
def ids_of_texts(
    data: Any, offsets: Any, folding: Any, table: Any, names: Any, hashing: Any, ids: Any, ends: Any
) -> Any:
    """Write the word ids of texts (Arrow's layout) one after another to ``ids``, and where each text ends to ``ends``.

    ``names`` (n_words,) int32 gives the id of each row of the table. Words whose id is :data:`STOP` are passed over.
    Unknown words have the id :data:`UNKNOWN` or, with ``hashing``, one of their own (:func:`hashed_id`).
    Returns the number of ids written.
    """
    scratch = np.empty(BATCH * MAX_WORD_BYTES // 8, np.uint64)
    words = np.empty(BATCH, np.int64)
    lengths = np.empty(BATCH, np.int64)
    hashes = np.empty(BATCH, np.uint64)
    fold, case, digits, min_length = folding
    slots, chunks, starts, key = table
    text, limit = address(data), address(data) + data.shape[0]
    entries, pieces, begins, folded = address(slots), address(chunks), address(starts), address(fold)
    capacity, one, other = slots.shape[0], key[0], key[1]
    count = 0
    for doc in range(offsets.shape[0] - 1):
        pos = text + offsets[doc]
        end = text + offsets[doc + 1]
        more = True
        while more:
            # First scan some words and ask for their slots; look them up when the slots have arrived.
            n = 0
            word = address(scratch)
            while n < BATCH:
                pos, length, characters = _next_word(pos, end, limit, folded, case, digits, word)
                if length == 0:
                    more = False
                    break
                if characters < min_length:
                    continue
                words[n] = word
                lengths[n] = length
                if length <= MAX_WORD_BYTES:
                    hashes[n] = hash_word(word, length, one, other)
                    prefetch(entries + 16 * np.int64(hashes[n] & np.uint64(capacity - 1)))
                    word += (length + 7) & ~7
                n += 1
            for k in range(n):
                name = np.int64(UNKNOWN)
                if lengths[k] <= MAX_WORD_BYTES:
                    _, row = find_word(entries, capacity, pieces, begins, words[k], lengths[k], hashes[k])
                    if row >= 0:
                        name = np.int64(names[row])
                    elif hashing:
                        name = hashed_id(words[k], lengths[k])
                if name != STOP:
                    ids[count] = name
                    count += 1
        ends[doc] = count
    return count


@guarded(
    data="u1[bytes]", offsets="i8[texts+1]", folding=_FOLDING, table=TABLE, lengths="i8[words]", counts="i8[words]",
    ids="i4[room]", ends="i8[texts]",
)  # fmt: skip
@compiled
def learn_texts(
    data: Any, offsets: Any, reached: Any, folding: Any, table: Any, lengths: Any, counts: Any, ids: Any, ends: Any
) -> Any:
    """Give every word of texts an id, new words the next free one, and count them.

    Like :func:`ids_of_texts`, into a table that grows. Begins where ``reached`` says and stops where the table is
    full; returns the :class:`Reached` to continue with when the caller has made room, whose text lies beyond the last
    one when all is done.
    """
    scratch = np.empty(MAX_WORD_BYTES // 8, np.uint64)
    fold, case, digits, min_length = folding
    slots, chunks, starts, key = table
    doc, pos, n_words, count = reached
    word, text = address(scratch), address(data)
    entries, pieces, begins, folded = address(slots), address(chunks), address(starts), address(fold)
    capacity, limit = slots.shape[0], text + data.shape[0]
    one, other = key[0], key[1]
    at = text + pos
    while doc < offsets.shape[0] - 1:
        end = text + offsets[doc + 1]
        while True:
            full = 2 * n_words >= capacity or n_words >= lengths.shape[0]
            if full or starts[n_words] + MAX_WORD_BYTES // 8 > chunks.shape[0]:
                return Reached(doc, at - text, n_words, count)
            at, length, characters = _next_word(at, end, limit, folded, case, digits, word)
            if length == 0:
                break
            if characters < min_length:
                continue
            row = np.int64(UNKNOWN)
            if length <= MAX_WORD_BYTES:
                hashed = hash_word(word, length, one, other)
                slot, row = find_word(entries, capacity, pieces, begins, word, length, hashed)
                if row < 0:
                    row = n_words
                    n_words += 1
                    size = (length + 7) >> 3
                    for k in range(size):
                        chunks[starts[row] + k] = scratch[k]
                    starts[row + 1] = starts[row] + size
                    lengths[row] = length
                    enter_word(slot, word, length, row)
                counts[row] += 1
            ids[count] = row
            count += 1
        ends[doc] = count
        doc += 1
        at = text + offsets[doc]
    return Reached(doc, at - text, n_words, count)
