"""The reader of word-vector files, beside Python's own `float`."""

import bz2
import gzip
import lzma
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from parasphere.errors import VectorsError
from parasphere.vectors import formats
from parasphere.vectors.formats import read
from parasphere.vectors.parsing import most_rows, scan_text, table_of

GOOD = b"sea 0.25 -1.5 3\nlake 1e-3 .5 4.\nfire -2 0 7e2\n"
EXPECTED = np.array([[0.25, -1.5, 3], [1e-3, 0.5, 4], [-2, 0, 700]], np.float32)

# A word has no white space; the rest of Unicode is welcome. A number would make the file ambiguous.
words_of = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1, max_size=8
).filter(lambda word: not re.fullmatch(r"[-+.\w]*\d[-+.\w]*", word) and word.encode() == word.encode().strip())
float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], np.ndarray]:
    words = draw(st.lists(words_of, min_size=1, max_size=8, unique=True))
    matrix = draw(hnp.arrays(np.float32, (len(words), draw(st.integers(2, 6))), elements=float32s))
    matrix[~matrix.any(axis=1), 0] = 1
    return words, matrix


def as_text(words: list[str], matrix: np.ndarray, *, header: bool = False) -> bytes:
    lines = [" ".join([word, *(repr(float(x)) for x in row)]) for word, row in zip(words, matrix, strict=True)]
    first = [f"{len(words)} {matrix.shape[1]}"] if header else []
    return "".join(line + "\n" for line in first + lines).encode()


def as_binary(words: list[str], matrix: np.ndarray, *, newline: bool = True) -> bytes:
    rows = [w.encode() + b" " + row.astype("<f4").tobytes() for w, row in zip(words, matrix, strict=True)]
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(row + b"\n" * newline for row in rows)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(content: bytes, name: str = "vectors.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats") / "file"  # no extension: only the content tells


# Numbers.

decimals = st.one_of(
    st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    float32s.map(lambda x: format(x, ".9g")),
    # Half-way between two float32, and a hair to either side: where rounding twice can go wrong.
    st.tuples(float32s, st.sampled_from(["", "0000000000001", "e0"])).map(
        lambda pair: repr(float(np.float64(pair[0]) * (1 + 2.0**-24))) + pair[1] if "e" not in repr(pair[0]) else "1"
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(decimals, min_size=1, max_size=40))
def test_numbers_are_those_of_python_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, tokens: list[str]) -> None:
    with np.errstate(over="ignore"):
        expected = np.array([np.float32(float(token)) for token in tokens])
    finite = np.isfinite(expected)
    if not finite.any():
        return
    tokens = [token for token, ok in zip(tokens, finite, strict=True) if ok]
    path = tmp_path_factory.getbasetemp() / "numbers.txt"
    path.write_text("x 1 " + " ".join(tokens) + "\n")
    found = read(path).matrix[0, 1:]
    assert found.tobytes() == expected[finite].tobytes()


def test_few_numbers_need_the_slow_path() -> None:
    rng = np.random.default_rng(0)
    rows = "".join("w " + " ".join(map(repr, rng.normal(size=50).tolist())) + "\n" for _ in range(200))
    codes = np.frombuffer(rows.encode(), np.uint8)
    good = np.empty(200, np.bool_)
    matrix = np.empty((most_rows(len(codes), 50), 50), np.float32)
    scan_text(codes, matrix, np.empty((200, 3), np.int64), np.empty(200, np.int64), good)
    assert good.all()  # seventeen digits each


# Whole files.


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(1, 40), st.data())
def test_what_was_written_is_read_back(
    scratch: Path, table: tuple[list[str], np.ndarray], block: int, data: st.DataObject
) -> None:
    words, matrix = table
    content = data.draw(
        st.sampled_from(
            [
                as_text(words, matrix),
                as_text(words, matrix, header=True),
                as_binary(words, matrix),
                as_binary(words, matrix, newline=False),
            ]
        )
    )
    pack = data.draw(st.sampled_from([bytes, gzip.compress, bz2.compress, lzma.compress]))
    scratch.write_bytes(pack(content))
    for size in (block, formats.BLOCK):
        found = read(scratch, block=size)
        assert found.vocabulary.words == words
        assert found.matrix.tobytes() == matrix.tobytes()


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD[:-1],
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"\n", b" \n"),
        GOOD.replace(b" ", b"\t"),
        GOOD.replace(b" ", b"   "),
        GOOD + b"\n\n",
        b"3 3\n" + GOOD,
        b"3 3 \r\n" + GOOD,
        gzip.compress(GOOD[:10]) + gzip.compress(GOOD[10:]) + bytes(8),
    ],
    ids=["plain", "unended", "crlf", "trailing", "tabs", "wide", "blank", "header", "header-crlf", "two-gz"],
)
@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
def test_every_spelling_of_text(write: Callable[..., Path], content: bytes, block: int) -> None:
    found = read(write(content), block=block)
    assert found.vocabulary.words == ["sea", "lake", "fire"]
    np.testing.assert_array_equal(found.matrix, EXPECTED)


def test_words_with_spaces_and_words_that_are_numbers(write: Callable[..., Path]) -> None:
    found = read(write(GOOD + b". . . 1 2 3\nat name@domain.com 4 5 6\n42 7 8 9\nnan 1 1 1\nto inf 1 1 1\n"))
    assert found.vocabulary.words[3:] == [". . .", "at name@domain.com", "42", "nan", "to inf"]
    assert found.matrix[3:6].ravel().tolist() == list(range(1, 10))


def test_the_dimension_is_that_of_most_rows(write: Callable[..., Path]) -> None:
    with pytest.raises(VectorsError, match=r"line 1: the row of 'odd' has 2 numbers instead of 3"):
        read(write(b"odd 1 2\n" + GOOD))
    with pytest.raises(VectorsError, match=r"line 1: 'x', value 2 of 3, is not a number"):
        read(write(b"odd 1 x 3\n" + GOOD))


def test_a_word_that_looks_like_a_compressed_file(write: Callable[..., Path]) -> None:
    assert read(write(b"BZh9 1 2\nPK 3 4\n")).vocabulary.words == ["BZh9", "PK"]


# Rows at fault: raised with the place.

TEXT_FAULTS = {
    "wrong width": [b"few 1 2", b"few", b"many 1 2 3 4", b"1 2 3 4 5"],
    "not a number": [b"bad 1 x 3", b"bad 1 2 3-", b"bad 1_0 2 3", b"bad 1 0x10 3", b"bad 1 2 .", b"bad 1e 2 3",
                     "bad 1 ٣ 3".encode()],
    "not finite": [b"bad 1 nan 3", b"bad inf 2 3", b"bad 1 2 -Infinity", b"bad 1 2 1e39", b"bad 1e999 2 3"],
    "zero vector": [b"null 0 0.0 -0", b"null 0 1e-60 0"],
    "empty word": [b" 1 2 3", b"\t1 2 3"],
    "not UTF-8": [b"\xff\xfe 1 2 3", b"caf\xe9 1 2 3", b"a caf\xe9 1 2 3"],
    "duplicate word": [b"lake 1 2 3"],
}  # fmt: skip


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize(("reason", "row"), [(reason, row) for reason, rows in TEXT_FAULTS.items() for row in rows])
@pytest.mark.parametrize("block", [5, 1 << 20])
def test_a_row_at_fault_in_text(write: Callable[..., Path], reason: str, row: bytes, header: bool, block: int) -> None:
    path = write(header * b"4 3\n" + GOOD + row + b"\n")
    line = 5 if header else 4
    with pytest.raises(VectorsError, match=rf"vectors\.txt.*line {line}\b") as raised:
        read(path, block=block)
    if reason == "duplicate word":
        assert re.search(rf"'lake' is at line {line - 2} and again at line {line}", str(raised.value))


@pytest.mark.parametrize(
    ("reason", "word", "row"),
    [
        ("not finite", b"bad", [1, np.nan, 3]),
        ("not finite", b"bad", [1, 2, -np.inf]),
        ("zero vector", b"bad", [0, -0.0, 0]),
        ("empty word", b"", [1, 2, 3]),
        ("not UTF-8", b"caf\xe9", [1, 2, 3]),
        ("duplicate word", b"lake", [1, 2, 3]),
    ],
)
@pytest.mark.parametrize("block", [5, 1 << 20])
def test_a_row_at_fault_in_binary(
    write: Callable[..., Path], reason: str, word: bytes, row: list[float], block: int
) -> None:
    good = as_binary(["sea", "lake", "fire"], EXPECTED)
    path = write(good.replace(b"3 3", b"4 3", 1) + word + b" " + np.array(row, "<f4").tobytes())
    with pytest.raises(VectorsError, match=rf"byte {len(good)}\b"):
        read(path, block=block)


@pytest.mark.parametrize("promised", [2, 4])
@pytest.mark.parametrize("binary", [False, True])
def test_a_header_that_does_not_hold(write: Callable[..., Path], promised: int, binary: bool) -> None:
    content = as_binary(["sea", "lake", "fire"], EXPECTED) if binary else b"3 3\n" + GOOD
    path = write(content.replace(b"3 3", b"%d 3" % promised, 1))
    with pytest.raises(VectorsError, match=rf"header promises {promised} rows and there are 3"):
        read(path)


def test_a_binary_file_cut_short(write: Callable[..., Path]) -> None:
    path = write(as_binary(["sea", "lake", "fire"], EXPECTED)[:-3])
    with pytest.raises(VectorsError, match=r"byte 39: the header promises 3 rows, 2 were read, and 15 bytes are left"):
        read(path)


# Files at fault.

BINARY = as_binary(["sea", "lake", "fire"], EXPECTED)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (gzip.compress(b""), "is empty"),
        (b"5 3\n", "promises 5 rows of 3 numbers, but the next line begins"),
        (b"5 0\nsea 1 2\n", "promises 5 rows of 0 numbers"),
        (b"5 4\n" + GOOD, "promises 5 rows of 4 numbers, but the next line begins b'sea"),
        (b"Call me Ishmael.\nSome years ago\n", "is not a word-vector file: it begins b'Call me"),
        (b"%PDF-1.4\n\x00\x01", "is not a word-vector file"),
        (b"\x80\x04\x95abc", "a Python pickle .* let gensim open it"),
        (b"\xba\x16\x4f\x2f\x0c\x00", r"fastText \.bin model. Give the \.vec"),
        (gzip.compress(GOOD * 50)[:-12], "ends in the middle of its compressed data"),
        (bz2.compress(GOOD * 50)[:-12], "ends in the middle of its compressed data"),
        (lzma.compress(GOOD * 50)[:-12], "ends in the middle of its compressed data"),
        (gzip.compress(GOOD)[:-8] + b"damaged!", "cannot be read to its end"),
        (gzip.compress(GOOD) + b"trailing", "cannot be read to its end"),
        (bz2.compress(GOOD * 50).replace(b"1AY&SY", b"1AY&SYx", 1), "cannot be read to its end"),
        (lzma.compress(GOOD * 50).replace(b"XZ\0\0", b"XZ\0\1", 1), "cannot be read to its end"),
        (b"PK\x03\x04 and nothing more", "is a zip archive. Unpack it"),
        (b"\x28\xb5\x2f\xfd and nothing more", "is compressed by zstd. Decompress it first"),
        (b"a 0 0\nb 0 0\n", "line 1: the row of 'a' is all zeros"),
    ],
    ids=range(20),
)
def test_a_file_at_fault(write: Callable[..., Path], content: bytes, sentence: str) -> None:
    with pytest.raises(VectorsError, match=sentence) as raised:
        read(write(content))
    assert "vectors.txt" in str(raised.value)


def test_an_endless_line(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "_LONGEST_ROW", 100)
    with pytest.raises(VectorsError, match="has a row of over 100 bytes"):
        read(write(GOOD + b"x" * 1000), block=50)


@pytest.mark.parametrize("blank", [0, 2, 99])
def test_many_lines_wherever_the_long_ones_are(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, blank: int
) -> None:
    monkeypatch.setattr(formats, "_LINES", 2)
    rows = GOOD.splitlines(keepends=True)
    long = rows[2].replace(b"-2", b"-2." + b"0" * 500)
    for content in ([rows[0], rows[1], long], [long, rows[0], rows[1]], [rows[0], long, rows[1]]):
        found = read(write((b"\n" * blank).join([b"", *content, b""])))
        assert sorted(found.vocabulary.words) == ["fire", "lake", "sea"]
        with pytest.raises(VectorsError, match=rf"line {4 * blank + 4}: the row of 'few'"):
            read(write((b"\n" * blank).join([b"", *content, b"few 1 2\n"])))


def test_the_digest_is_of_the_content(write: Callable[..., Path]) -> None:
    plain = read(write(GOOD)).digest
    assert plain == read(write(gzip.compress(GOOD)), block=3).digest
    assert plain != read(write(GOOD.replace(b"700", b"701").replace(b"7e2", b"8e2"))).digest


@pytest.mark.parametrize(
    ("words", "rows", "message"),
    [
        (["a", ""], [[1, 1], [1, 1]], "here, row 1: the row's word is empty"),
        (["a", "b"], [[1, 1], [1e300, 1]], "here, row 1: number 1 of 'b' is inf, not a finite float32"),
        (["a", "b"], [[0, 0], [1, 1]], "here, row 0: the row of 'a' is all zeros"),
        (["a", "\ud800"], [[1, 1], [1, 1]], "here, row 1: the word .* is not UTF-8"),
        (["a", "b", "a"], [[1, 1], [1, 1], [1, 1]], "here: the word 'a' is at row 0 and again at row 2"),
        (["a", "b"], [[1, 1]] * 3, r"2 words need a matrix .* shape is \(3, 2\)"),
        (["a", 7], [[1, 1]] * 2, "row 1: the word is 7; a str is needed"),
        ([], np.ones((0, 2)), "here holds no row"),
    ],
)
def test_rows_in_memory_are_checked_too(words: list[str], rows: list[list[float]], message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        table_of(words, rows, "here")


# Real files.

REAL = Path(os.environ.get("PARASPHERE_TEST_VECTORS", "absent"))
