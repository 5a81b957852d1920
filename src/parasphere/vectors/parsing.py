"""Parsing the rows of word-vector files: compiled loops over many rows, and a slow parser of single rows.

The loops mark the rows that are not plainly good. :func:`text_row` parses such a row again and either accepts it or
says what is wrong with it; :func:`check` does the same for a row whose numbers are known.
"""

import re
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..compiled import compiled, guarded

_GAP = re.compile(rb"([ \t]+)")
_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NUMBER = re.compile(_DECIMAL.pattern + rb"|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_SPACE, _TAB, _NEWLINE, _RETURN = 32, 9, 10, 13
_ONE, _NINE = np.uint64(1), np.uint64(9)
_FULL = 10**17  # one more digit fits an int64
_TEN_TO_THE = np.array([float(f"1e{power}") for power in range(309)])


class RowError(Exception):
    """A faulty row: a reason, by which faults are counted, and a sentence."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


def text_row(line: bytes, dim: int) -> tuple[bytes, NDArray[np.float32]]:
    """Parse any valid row that is not blank; raise a RowError for others."""
    parts = _GAP.split(line.rstrip(b" \t\r"))  # fields at even places, the gaps between them at odd ones
    fields = parts[::2]
    if not fields[0]:
        raise RowError("empty word", "the row begins with a space: its word is empty.")
    numbers = sum(1 for _ in takewhile(_DECIMAL.fullmatch, reversed(fields[1:])))
    if len(fields) <= dim or numbers > dim:
        found = len(fields) - 1 if len(fields) <= dim else numbers
        sentence = f"the row of {_shown(fields[0])} has {found} numbers instead of {dim}. Is the file cut short?"
        raise RowError("wrong width", sentence)
    for place, number in enumerate(fields[-dim:], start=1):
        if not _NUMBER.fullmatch(number):
            raise RowError("not a number", f"{_shown(number)} is in the place of number {place} of {dim}.")
    with np.errstate(over="ignore"):
        values = np.array([float(number) for number in fields[-dim:]]).astype(np.float32)
    word = b"".join(parts[: -2 * dim])
    check(word, values)
    return word, values


def is_row(line: bytes, dim: int) -> bool:
    """Tell whether a line could be a row: something, and then ``dim`` numbers."""
    fields = line.split()
    return dim > 0 and len(fields) > dim and all(_NUMBER.fullmatch(number) for number in fields[-dim:])


def check(word: bytes, values: NDArray[np.float32]) -> None:
    """Raise a RowError if a parsed row is faulty."""
    if not word:
        raise RowError("empty word", "the row's word is empty.")
    if not _is_utf8(word):
        raise RowError("not UTF-8", f"the word {word[:40]!r} is not UTF-8.")
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise RowError("not finite", f"number {bad + 1} of {_shown(word)} is {values[bad]}, not a finite float32.")
    if not values.any():
        raise RowError("zero vector", f"the row of {_shown(word)} is all zeros and so has no direction.")


def _shown(field: bytes) -> str:
    return repr(field[:40].decode("utf-8", "replace"))


def usable(codes: NDArray[np.uint8], spans: NDArray[np.int64], matrix: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return a mask, (n,), of the rows that :func:`check` accepts."""
    with np.errstate(invalid="ignore"):  # a signalling NaN would warn
        good: NDArray[np.bool_] = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1) & (spans[:, 0] < spans[:, 1])
    good[not_utf8(codes, spans)] = False
    return good


def not_utf8(codes: NDArray[np.uint8], spans: NDArray[np.int64]) -> list[int]:
    """Return the rows whose word is not UTF-8; Arrow checks all at once, and only if that fails each is checked."""
    data, offsets = gather(codes, spans)
    try:
        column = pa.LargeStringArray.from_buffers(len(spans), pa.py_buffer(offsets), pa.py_buffer(data))
        column.validate(full=True)
    except pa.ArrowInvalid:
        words = (bytes(data[begin:end]) for begin, end in pairwise(offsets))
        return [row for row, word in enumerate(words) if not _is_utf8(word)]
    return []


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def gather(codes: NDArray[np.uint8], spans: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate the words at ``spans``; return the bytes and the (n + 1,) offsets at which words begin."""
    if not len(spans):
        return codes[:0], np.zeros(1, np.int64)
    if (spans[1:, 0] == spans[:-1, 1]).all():  # they are contiguous already
        return codes[spans[0, 0] : spans[-1, 1]], np.append(spans[:, 0], spans[-1, 1]) - spans[0, 0]
    ends = spans[:, :2].ravel()  # of words, at even places, and of what lies between them
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(codes)]
    pieces = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(ends) - 1, buffers)
    _, offsets, data = pieces.take(pa.array(np.arange(0, len(ends), 2))).buffers()
    return np.frombuffer(data or b"", np.uint8), np.frombuffer(offsets, np.int64)


def most_rows(size: int, dim: int) -> int:
    """Return one more than the number of rows that ``size`` bytes of text can hold."""
    return size // (2 * dim + 2) + 1


@guarded(text="u1[bytes]", matrix="f4[room,dim]", spans="i8[rows,3]", slots="i8[rows]", good="b1[rows]")
@compiled
def scan_text(text: Any, matrix: Any, spans: Any, slots: Any, good: Any) -> None:
    """Parse a word without spaces and dim plain numbers from each line; mark the lines that are just that.

    A line too short for a row takes no place in the matrix, (most_rows, dim): the next line overwrites it. A blank
    line has the slot -1. The text must end with a newline, at which every search ends.
    """
    if spans.shape[0] and (not text.shape[0] or text[text.shape[0] - 1] != _NEWLINE):
        raise ValueError("the text must end with a newline")
    i = np.uint64(0)  # unsigned: numba need not check for negative indices, which is twice as fast
    slot = 0
    for row in range(spans.shape[0]):
        if i >= np.uint64(text.shape[0]) or slot >= matrix.shape[0]:
            raise ValueError("the text has fewer lines, or the matrix fewer rows, than expected")
        begin = i
        while text[i] == _SPACE or text[i] == _TAB or text[i] == _RETURN:
            i += _ONE
        if text[i] == _NEWLINE:
            spans[row] = i
            slots[row] = -1
            good[row] = False
            i += _ONE
            continue
        i = begin
        spans[row, 0] = i
        slots[row] = slot
        while text[i] != _SPACE and text[i] != _TAB and text[i] != _NEWLINE:
            i += _ONE
        spans[row, 1] = i
        fine = spans[row, 0] < spans[row, 1]
        zero = True
        for column in range(matrix.shape[1]):
            while text[i] == _SPACE or text[i] == _TAB:
                i += _ONE
            value, i, known = _decimal(text, i)
            fine = fine and known and text[i] <= _SPACE and np.isfinite(value)
            if not fine:
                break
            matrix[slot, column] = value
            zero = zero and value == 0
        while text[i] == _SPACE or text[i] == _TAB or text[i] == _RETURN:
            i += _ONE
        good[row] = fine and not zero and text[i] == _NEWLINE
        while text[i] != _NEWLINE:
            i += _ONE
        spans[row, 2] = i
        i += _ONE
        slot += spans[row, 2] - spans[row, 0] > 2 * matrix.shape[1]


@compiled(inline="always")
def _decimal(text: Any, i: Any) -> Any:
    """Parse a decimal: (value, where it ends, whether value is surely the float32 of the nearest double)."""
    negative = text[i] == 45
    if negative or text[i] == 43:
        i += _ONE
    mantissa, taken, dropped, i = _digits(text, i, 0)
    known = taken > 0
    exponent = dropped
    if text[i] == 46:
        mantissa, taken, more, i = _digits(text, i + _ONE, mantissa)
        known = known or taken > 0
        exponent -= taken
        dropped += more
    if known and (text[i] == 101 or text[i] == 69):
        i += _ONE
        down = text[i] == 45
        if down or text[i] == 43:
            i += _ONE
        power, taken, more, i = _digits(text, i, 0)
        known = taken > 0 and more == 0
        exponent += -power if down else power
    if not known or abs(exponent) > 308:
        return np.float32(0), i, False
    value = mantissa * _TEN_TO_THE[exponent] if exponent >= 0 else mantissa / _TEN_TO_THE[-exponent]
    value = -value if negative else value
    # Up to 2^53 and 10^22 both operands are exact, so the one operation rounds correctly (Clinger 1990). Beyond, at
    # most four roundings and the dropped digits make a relative error below 2^-50, which does not matter unless a
    # boundary between two float32 is that near.
    exact = dropped == 0 and mantissa <= 2**53 and abs(exponent) <= 22
    return np.float32(value), i, exact or np.float32(value * (1 - 2**-50)) == np.float32(value * (1 + 2**-50))


@compiled(inline="always")
def _digits(text: Any, i: Any, number: Any) -> Any:
    """Append digits to a number while int64 holds it: (number, digits taken, digits dropped, where they end)."""
    begin = i
    dropped = 0
    digit = np.int64(text[i]) - 48
    while np.uint64(digit) <= _NINE:
        if number < _FULL:
            number = 10 * number + digit
        else:
            dropped += 1
        i += _ONE
        digit = np.int64(text[i]) - 48
    return number, np.int64(i - begin) - dropped, dropped, i


@guarded(codes="u1[bytes]", raw="u1[rows,width]", spans="i8[rows,*]")
@compiled
def scan_binary(codes: Any, raw: Any, spans: Any) -> Any:
    """Parse all whole rows (word, space, float32 bytes, optional newline); return their number and the bytes used."""
    row = used = 0
    while row < len(raw):
        begin = used
        while begin < len(codes) and codes[begin] == _NEWLINE:
            begin += 1
        end = begin
        while end < len(codes) and codes[end] != _SPACE:
            end += 1
        if end + 1 + raw.shape[1] > len(codes):
            break
        for k in range(raw.shape[1]):
            raw[row, k] = codes[end + 1 + k]
        spans[row, 0], spans[row, 1] = begin, end
        used = end + 1 + raw.shape[1]
        row += 1
    return row, used
