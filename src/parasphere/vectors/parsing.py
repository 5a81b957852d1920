"""Rows of word vectors: compiled loops that parse many of them, a slow parser of single rows, and their checks.

The loops mark the rows that are not clearly valid. :func:`text_row` parses such a row again, and either accepts it or
raises a sentence that says what is wrong with it; :func:`check` does the same for a row whose numbers are parsed
already.
"""

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import text
from .._kernels import scan_binary as scan_binary
from .._kernels import scan_text as scan_text
from ..errors import VectorsError
from ..text import DuplicateWordError, Vocabulary

_GAP = re.compile(rb"([ \t]+)")
_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NUMBER = re.compile(_DECIMAL.pattern + rb"|[+-]?(nan|inf|infinity)", re.IGNORECASE)

Rows = NDArray[np.float32]
Words = tuple[NDArray[np.uint8], NDArray[np.int64]]  # UTF-8 bytes, concatenated, and the offsets where words begin


class RowError(Exception):
    """A faulty row."""


def text_row(line: bytes, dim: int) -> tuple[bytes, NDArray[np.float32]]:
    """Parse any valid row that is not blank; raise a RowError for others."""
    parts = _GAP.split(line.rstrip(b" \t\r"))  # fields at even indices, the gaps between them at odd ones
    fields = parts[::2]
    if not fields[0]:
        raise RowError("the row begins with a space: its word is empty.")
    numbers = sum(1 for _ in takewhile(_DECIMAL.fullmatch, reversed(fields[1:])))
    if len(fields) <= dim or numbers > dim:
        actual = len(fields) - 1 if len(fields) <= dim else numbers
        sentence = f"the row of {_shown(fields[0])} has {actual} numbers instead of {dim}. Is the file cut short?"
        raise RowError(sentence)
    for position, number in enumerate(fields[-dim:], start=1):
        if not _NUMBER.fullmatch(number):
            raise RowError(f"{_shown(number)}, value {position} of {dim}, is not a number.")
    with np.errstate(over="ignore"):
        values = np.array([float(number) for number in fields[-dim:]]).astype(np.float32)
    word = b"".join(parts[: -2 * dim])
    check(word, values)
    return word, values


def is_row(line: bytes, dim: int) -> bool:
    """Return whether a line could be a row: any word, and then ``dim`` numbers."""
    fields = line.split()
    return dim > 0 and len(fields) > dim and all(_NUMBER.fullmatch(number) for number in fields[-dim:])


def check(word: bytes, values: NDArray[np.float32]) -> None:
    """Raise a RowError if a parsed row is faulty."""
    if not word:
        raise RowError("the row's word is empty.")
    if not _is_utf8(word):
        raise RowError(f"the word {word[:40]!r} is not UTF-8.")
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise RowError(f"number {bad + 1} of {_shown(word)} is {values[bad]}, not a finite float32.")
    if not values.any():
        raise RowError(f"the row of {_shown(word)} is all zeros and so has no direction.")


def _shown(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))


def usable(codes: NDArray[np.uint8], spans: NDArray[np.int64], matrix: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return a mask, (n,), of the rows that :func:`check` accepts."""
    with np.errstate(invalid="ignore"):  # a signalling NaN would issue a warning
        good: NDArray[np.bool_] = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1) & (spans[:, 0] < spans[:, 1])
    good[not_utf8(codes, spans)] = False
    return good


def not_utf8(codes: NDArray[np.uint8], spans: NDArray[np.int64]) -> list[int]:
    """Return the rows whose word is not UTF-8; words are checked one by one only if a check of all at once fails."""
    data, offsets = gather(codes, spans)
    begins = offsets[:-1][offsets[:-1] < offsets[1:]]
    if _is_utf8(data.data) and not ((data[begins] & 0xC0) == 0x80).any():  # no word begins within a character
        return []
    words = (bytes(data[begin:end]) for begin, end in pairwise(offsets))
    return [row for row, word in enumerate(words) if not _is_utf8(word)]


def _is_utf8(data: bytes | memoryview) -> bool:
    try:
        str(data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def gather(codes: NDArray[np.uint8], spans: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate the words at ``spans``; return the bytes and the (n + 1,) offsets at which words begin."""
    if not len(spans):
        return codes[:0], np.zeros(1, np.int64)
    if (spans[1:, 0] == spans[:-1, 1]).all():  # they are contiguous already
        return codes[spans[0, 0] : spans[-1, 1]], np.append(spans[:, 0], spans[-1, 1]) - spans[0, 0]
    return text.gather(codes, spans[:, 0], spans[:, 1])


def most_rows(size: int, dim: int) -> int:
    """Return one more than the number of rows that ``size`` bytes of text can hold."""
    return size // (2 * dim + 2) + 1


def table_of(words: Sequence[str], matrix: ArrayLike, name: str) -> tuple[Vocabulary, Rows]:
    """Return a vocabulary and a copy of a matrix (n_words, dim), checked in the same way as the rows of a file."""
    with np.errstate(over="ignore"):  # numbers too large for float32 become inf, which is reported below
        values = np.array(matrix, np.float32, order="C")
    if values.ndim != 2 or len(values) != len(words) or not values.shape[1]:
        raise VectorsError(
            f"{name}: {len(words):,} words need a matrix with one row each; its shape is {values.shape}."
        )
    strange = next((row for row, word in enumerate(words) if not isinstance(word, str)), None)
    if strange is not None:
        raise VectorsError(f"{name}, row {strange:,}: the word is {words[strange]!r}; a str is needed.")
    spelled = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in spelled], out=offsets[1:])
    return checked((np.frombuffer(b"".join(spelled), np.uint8), offsets), values, name), values


def checked(words: Words, matrix: Rows, name: str) -> Vocabulary:
    """Return the vocabulary of some words; raise unless they and their rows (n_words, dim) are valid."""
    codes, offsets = words
    spans = np.stack([offsets[:-1], offsets[1:]], axis=1)
    positions = np.arange(len(matrix))
    raise_first(codes, spans, matrix, name, "row", positions)
    return distinct(words, name, "row", positions)


def raise_first(
    codes: NDArray[np.uint8], spans: NDArray[np.int64], matrix: Rows, name: str, unit: str, positions: NDArray[np.int64]
) -> None:
    """Raise the fault of the first row that :func:`check` does not accept, if there is one.

    ``positions`` tells where in ``name`` each row is, counted in ``unit``.
    """
    for row in np.flatnonzero(~usable(codes, spans, matrix)):
        try:
            check(bytes(codes[slice(*spans[row])]), matrix[row])
        except RowError as fault:
            raise VectorsError(f"{name}, {unit} {positions[row]:,}: {fault}") from None


def distinct(words: Words, name: str, unit: str, positions: NDArray[np.int64]) -> Vocabulary:
    """Return the vocabulary of some words; raise if one of them occurs twice, or if there are none."""
    try:
        vocabulary = Vocabulary.from_buffers(*words)
    except DuplicateWordError as twice:
        first, second = (f"{unit} {positions[row]:,}" for row in (twice.first, twice.second))
        raise VectorsError(f"{name}: the word {twice.word!r} is at {first} and again at {second}.") from None
    if not len(vocabulary):
        raise VectorsError(f"{name} holds no row.")
    return vocabulary
