"""Parsing rows of word-vector files, beside the same in Python, and with bytes of all kinds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere import _kernels
from parasphere.vectors.parsing import RowError, most_rows, text_row

hostile = st.lists(st.sampled_from(list(b"0123456789.-+eE \t\r\nainf\xff\x00")), max_size=80).map(bytes)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.from_regex(r"[+-]?([0-9]{1,30}\.?[0-9]{0,30}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,25})?", fullmatch=True),
)
rows = st.lists(st.lists(numbers, max_size=4), max_size=4).map(
    lambda lines: "\n".join(" ".join(["w", *line]) for line in lines).encode()
)


def scanned(text: bytes, dim: int) -> tuple[np.ndarray, ...]:
    codes, n = np.frombuffer(text, np.uint8), text.count(b"\n")
    matrix = np.zeros((most_rows(len(text), dim), dim), np.float32)
    spans, slots, good = np.empty((n, 3), np.int64), np.empty(n, np.int64), np.empty(n, np.bool_)
    _kernels.scan_text(codes, matrix, spans, slots, good)
    return matrix, spans, slots, good


@settings(max_examples=300, deadline=None)
@given(st.one_of(hostile, rows), st.integers(0, 4))
def test_what_is_marked_good_is_what_python_reads(text: bytes, dim: int) -> None:
    text += b"\n"
    matrix, spans, slots, good = scanned(text, dim)
    lines = text.split(b"\n")[:-1]
    begin = 0
    for row, line in enumerate(lines):
        end = begin + len(line)
        blank = not line.strip(b" \t\r")
        assert (slots[row] == -1) == blank
        assert spans[row].tolist() == [end] * 3 if blank else spans[row][[0, 2]].tolist() == [begin, end]
        if good[row]:
            found = text[spans[row, 0] : spans[row, 1]]
            # Whether a word is UTF-8 is for its reader to say.
            word, values = text_row(line.replace(found, b"w" * len(found), 1), dim)
            assert len(found) == len(word)
            assert matrix[slots[row]].tobytes() == values.tobytes()
        begin = end + 1


def test_plain_rows_are_good() -> None:
    text = b"a 1 -2.5\nb +.5 1e-3\r\n\nc\t3.\t1E+2  \nd 0 -0\ne 1\nf nan 1\ng 1 2x\n"
    matrix, _, slots, good = scanned(text, 2)
    assert good.tolist() == [True, True, False, True, False, False, False, False]
    expected = np.array([[1, -2.5], [0.5, 1e-3], [3, 100]], np.float32)
    np.testing.assert_array_equal(matrix[slots[good]], expected)


@settings(max_examples=300, deadline=None)
@given(st.lists(numbers, min_size=1, max_size=5))
def test_numbers_are_those_of_python_bit_for_bit(tokens: list[str]) -> None:
    line = " ".join(["w", *tokens]).encode()
    matrix, _, _, good = scanned(line + b"\n", len(tokens))
    with np.errstate(over="ignore"):
        expected = np.array([float(token) for token in tokens]).astype(np.float32)
    if good[0]:
        assert matrix[0].tobytes() == expected.tobytes()
    elif np.isfinite(expected).all() and expected.any():
        text_row(line, len(tokens))  # left to it: too near to the middle between two float32


def test_the_slow_parser_refuses_what_is_not_a_row() -> None:
    with pytest.raises(RowError):
        text_row(b"w nan 1", 2)


def text_arguments(**changed: Any) -> dict[str, Any]:
    given = {
        "text": np.frombuffer(b"a 1 2\nb 3 4\n", np.uint8),
        "matrix": np.empty((2, 2), np.float32),
        "spans": np.empty((2, 3), np.int64),
        "slots": np.empty(2, np.int64),
        "good": np.empty(2, np.bool_),
    }
    return given | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"text": np.frombuffer(b"a 1 2\nb 3 4", np.uint8)}, "the text must end with a newline"),
        ({"text": np.empty(0, np.uint8)}, "the text must end with a newline"),
        ({"text": np.frombuffer(b"a 1 2\n", np.uint8)}, "fewer lines"),
        ({"text": "a 1 2\n"}, "incompatible function arguments"),
        ({"text": np.zeros(12, np.int8)}, "incompatible function arguments"),
        ({"matrix": np.empty((1, 2), np.float32)}, "the matrix fewer rows"),
        ({"matrix": np.empty((2, 2))}, "incompatible function arguments"),
        ({"matrix": np.empty((2, 4), np.float32)[:, ::2]}, "incompatible function arguments"),
        ({"spans": np.empty((2, 2), np.int64)}, "an array must have size 3 along axis 1"),
        ({"spans": np.empty((3, 3), np.int64)}, "an array must have size 3"),
        ({"slots": np.empty(1, np.int64)}, "an array must have size 2"),
        ({"good": np.empty(3, np.bool_)}, "an array must have size 2"),
        ({"good": np.frombuffer(bytes(2), np.bool_)}, "incompatible function arguments"),
    ],
)
def test_a_wrong_call_for_text_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        _kernels.scan_text(**text_arguments(**changed))


def framed_slowly(codes: bytes, width: int, most: int) -> tuple[list[tuple[bytes, bytes]], int]:
    found: list[tuple[bytes, bytes]] = []
    used = 0
    while len(found) < most:
        begin = used
        while codes[begin : begin + 1] == b"\n":
            begin += 1
        end = codes.find(b" ", begin)
        if end < 0 or end + 1 + width > len(codes):
            break
        used = end + 1 + width
        found.append((codes[begin:end], codes[end + 1 : used]))
    return found, used


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(list(b"ab \n\x00")), max_size=60).map(bytes), st.integers(0, 6), st.integers(0, 12))
def test_binary_rows_are_framed_as_in_python(codes: bytes, width: int, most: int) -> None:
    raw, spans = np.empty((most, width), np.uint8), np.empty((most, 2), np.int64)
    n, used = _kernels.scan_binary(np.frombuffer(codes, np.uint8), raw, spans)
    found = [(codes[slice(*spans[row])], raw[row].tobytes()) for row in range(n)]
    assert (found, used) == framed_slowly(codes, width, most)


def test_wrong_calls_for_binary_rows_are_refused() -> None:
    codes, raw, spans = np.zeros(20, np.uint8), np.empty((3, 4), np.uint8), np.empty((3, 2), np.int64)
    with pytest.raises(ValueError, match="an array must have size 3"):
        _kernels.scan_binary(codes, raw, spans[:2])
    with pytest.raises(ValueError, match="spans must have two columns"):
        _kernels.scan_binary(codes, raw, np.empty((3, 1), np.int64))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.scan_binary(codes[::2], raw, spans)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.scan_binary(codes, codes, spans)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.scan_binary(codes, None, spans)


@pytest.mark.parametrize("dim", [1, 3, 15, 16, 17, 100, 300])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 30])
def test_rows_are_scaled_in_float64(n: int, dim: int, rng: np.random.Generator) -> None:
    matrix = (rng.normal(size=(n, dim)) * 10.0 ** rng.integers(-30, 30, size=(n, 1))).astype(np.float32)
    scaled, norms = matrix.copy(), np.empty(n)
    _kernels.normalise(scaled, norms)
    for row, unit, norm in zip(matrix.astype(np.float64), scaled, norms, strict=True):
        total = 0.0
        for value in row.tolist():
            total += value * value
        assert norm == np.sqrt(total)
        np.testing.assert_array_equal(unit, (row / norm).astype(np.float32))
    assert _kernels.first_not_unit(scaled) == -1
    for bad in range(n):
        for factor in (0.99, 1.01, np.nan, np.inf, 0.0):
            wrong = scaled.copy()
            wrong[bad, 0] = factor if not np.isfinite(factor) else wrong[bad, 0]
            wrong[bad] *= factor
            assert _kernels.first_not_unit(wrong) == bad


def test_wrong_matrices_are_refused() -> None:
    matrix, norms = np.ones((3, 2), np.float32), np.empty(3)
    with pytest.raises(ValueError, match="row 1 is all zeros"):
        _kernels.normalise(np.array([[1, 0], [0, 0]], np.float32), np.empty(2))
    with pytest.raises(ValueError, match="an array must have size 3"):
        _kernels.normalise(matrix, norms[:2])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.normalise(matrix, norms.astype(np.float32))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.normalise(np.asfortranarray(matrix), norms)
    unaligned = np.frombuffer(bytearray(9), np.uint8)[1:].view(np.float32).reshape(1, 2)
    assert _kernels.first_not_unit(unaligned) == 0  # read from a copy
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.normalise(unaligned, np.empty(1))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.first_not_unit(norms)
    fixed = matrix.copy()
    fixed.flags.writeable = False
    assert _kernels.first_not_unit(fixed) == 0
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.normalise(fixed, norms)
