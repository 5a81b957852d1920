"""Word-vector files: recognised by their content, decompressed by Python's own modules, parsed by compiled loops."""

import bz2
import gzip
import hashlib
import lzma
import re
import zlib
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import VectorsError
from ..progress import progress
from ..text import Vocabulary
from .parsing import (
    RowError,
    Rows,
    Words,
    distinct,
    gather,
    is_row,
    most_rows,
    not_utf8,
    raise_first,
    scan_binary,
    scan_text,
    text_row,
)

KNOWN = "GloVe text, word2vec text or binary, or fastText .vec, plain or in gzip, bzip2 or xz"
VERSION = 2  # part of every cache key: raise it when the same file would be read differently
BLOCK = 1 << 22  # bytes read at a time
_SAMPLE = 1 << 20  # bytes by which a file is recognised
_LONGEST_ROW = 1 << 26
_LINES = 1 << 16  # lines of text that are parsed at a time
_UNCHECKED = 1 << 18  # rows after which words are first checked for repeats

_PACKINGS: dict[str, tuple[re.Pattern[bytes], Callable[[BinaryIO], Any]]] = {
    "gzip": (re.compile(rb"\x1f\x8b\x08"), lambda file: gzip.GzipFile(fileobj=file)),
    "bzip2": (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2File),  # "BZh" alone could be a word
    "xz": (re.compile(rb"\xfd7zXZ\0"), lzma.LZMAFile),
}
_STRANGERS = (
    (re.compile(rb"PK(\x03\x04|\x05\x06)"), "a zip archive. Unpack it, and give one of its files"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "compressed by zstd. Decompress it first"),
    (re.compile(rb"\x80[\x02-\x05]"), "a Python pickle (gensim's .kv?), which can run any code when opened. If you "
        "trust its source, let gensim open it: WordVectors.load(gensim.models.KeyedVectors.load(path))"),
    (re.compile(rb"\xba\x16\x4f\x2f"), "a fastText .bin model. Give the .vec file that fastText writes beside it"),
)  # fmt: skip
_HEADER = re.compile(rb"[ \t]*([0-9]{1,15})[ \t]+([0-9]{1,7})[ \t\r]*")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
SomeRows = tuple[Words, Rows, NDArray[np.int64]]  # and the line or byte of each


class Table(NamedTuple):
    """Words, their rows before normalisation, (n_words, dim), and a hash of the decompressed bytes of their file."""

    vocabulary: Vocabulary
    matrix: Rows
    digest: str


@dataclass(frozen=True)
class FileLayout:
    """The layout of a file: binary or text, the dimension, the header's number of rows, and the header's length."""

    binary: bool
    dim: int
    rows: int | None
    start: int


def read(path: Path, *, verbose: bool = False, block: int = BLOCK) -> Table:
    r"""Read a word-vector file of any known format.

    Parameters
    ----------
    path : Path
    verbose : bool, default=False
        Show a progress bar.
    block : int, default=4194304
        The number of bytes that are read at a time; the result does not depend on it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "tiny.txt")
    >>> _ = path.write_text("sea 3 4\nlake 0 .5e1\n")
    >>> read(path).matrix.tolist()
    [[3.0, 4.0], [0.0, 5.0]]
    """
    check_regular(path)
    digest = hashlib.blake2b(digest_size=16)
    try:
        with progress(f"reading {path.name}", path.stat().st_size, shown=verbose) as advance:
            blocks = _blocks(path, block, advance, digest.update)
            sample = next(blocks, b"")
            layout = sniff(sample, str(path))
            pieces = (sample[i : i + block] for i in range(layout.start, len(sample), block))
            rows = _binary_rows if layout.binary else _text_rows
            unit = "byte" if layout.binary else "line"
            parts = _collected(rows(chain(pieces, blocks), layout, str(path)), str(path), unit)
            words, matrix, positions = _stacked(parts, layout.dim)
        if layout.rows is not None and len(positions) != layout.rows:
            raise VectorsError(f"{path}: the header promises {layout.rows:,} rows and there are {len(positions):,}.")
        vocabulary = distinct(words, str(path), unit, positions)
    except (OSError, MemoryError, OverflowError) as error:
        raise VectorsError(f"{path} cannot be read ({error or type(error).__name__}).") from error
    return Table(vocabulary, matrix, digest.hexdigest())


def check_regular(path: Path) -> None:
    """Raise unless a path is a regular file, since reading a pipe or device could block forever."""
    if not path.is_file():
        what = "is a pipe, a device or a socket" if path.exists() else "does not exist"
        raise VectorsError(f"{path} {what}; word vectors are read from a file. Copy them to one.")


def _blocks(path: Path, size: int, advance: Callable[[int], None], hashed: Callable[[bytes], None]) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file: first those by which it is recognised, then ``size`` at a time."""
    with path.open("rb") as raw:
        head = raw.read(16)
        raw.seek(0)
        packing = next((name for name, (magic, _) in _PACKINGS.items() if magic.match(head)), None)
        file = raw if packing is None else _PACKINGS[packing][1](raw)
        done, wanted = 0, _SAMPLE
        try:
            while block := file.read(wanted):
                hashed(block)
                advance(raw.tell() - done)
                done, wanted = raw.tell(), size
                yield block
        except EOFError:
            problem = f"ends in the middle of its compressed data, at byte {raw.tell():,}: it is truncated"
            raise VectorsError(f"{path}: {problem}; copy or download it again") from None
        except (zlib.error, lzma.LZMAError, OSError) as error:
            if packing is None or getattr(error, "errno", None) is not None:  # errors of the data have no number
                raise
            problem = f"invalid {packing} data: cannot be read to its end, near byte {raw.tell():,} ({error})"
            raise VectorsError(f"{path}: {problem}; copy or download it again") from None


def sniff(sample: bytes, name: str) -> FileLayout:
    r"""Recognise the layout of a file by its first (decompressed) bytes.

    Examples
    --------
    >>> sniff(b"2 3\nsea 1 2 3\nlake 4 5 6\n", "tiny.vec")
    FileLayout(binary=False, dim=3, rows=2, start=4)
    """
    if not sample.strip():
        raise VectorsError(f"{name} is empty. Known formats: {KNOWN}.")
    for magic, what in _STRANGERS:
        if magic.match(sample):
            raise VectorsError(f"{name} is {what}.")
    mark = len(BOM_UTF8) if sample.startswith(BOM_UTF8) else 0  # the mark is not part of the first word
    first, *lines = sample[mark:_SAMPLE].split(b"\n", 100)[:100]
    header = _HEADER.fullmatch(first)
    if header is None:
        lines = [first, *lines]
        # The most common width, rather than that of the first line, which may be faulty.
        widths = Counter(len(line.split()) - 1 for line in lines if line.strip())
        dim = widths.most_common(1)[0][0]
        if dim > 0 and any(is_row(line, dim) for line in lines):
            return FileLayout(binary=False, dim=dim, rows=None, start=mark)
        raise VectorsError(f"{name} is not a word-vector file: it begins {sample[:40]!r}. Known formats: {KNOWN}.")
    rows, dim = map(int, header.groups())
    start = mark + len(first) + 1
    if any(is_row(line, dim) for line in lines):
        return FileLayout(binary=False, dim=dim, rows=rows, start=start)
    if dim and (_NOT_TEXT.search(sample, start) or _is_framed(sample[start:], rows, dim)):
        return FileLayout(binary=True, dim=dim, rows=rows, start=start)
    second = lines[0] if lines else b""
    raise VectorsError(
        f"{name}: the header promises {rows:,} rows of {dim:,} numbers, but the next line begins {second[:40]!r}."
    )


def _is_framed(body: bytes, rows: int, dim: int) -> bool:
    """Return whether bytes are exactly these binary rows: a few numbers may happen to be printable bytes."""
    raw = np.empty((len(body) // (4 * dim + 1), 4 * dim), np.uint8)
    n, used = scan_binary(np.frombuffer(body, np.uint8), raw, np.empty((len(raw), 2), np.int64))
    return bool(n == rows and not body[used:].strip(b"\n"))


def _text_rows(blocks: Iterable[bytes], layout: FileLayout, name: str) -> Iterator[SomeRows]:
    line = 1 if layout.rows is None else 2
    for text, n in _whole_lines(blocks, name):
        # Not one row of the matrix per line: millions of empty lines after a wide row would need terabytes.
        matrix = np.empty((most_rows(len(text), layout.dim), layout.dim), np.float32)
        spans = np.empty((n, 3), np.int64)  # where each row's word begins and ends, and where the row ends
        slots = np.empty(n, np.int64)  # each row's index in the matrix; -1 for a blank line
        good = np.empty(n, np.bool_)
        codes = np.frombuffer(text, np.uint8)
        scan_text(codes, matrix, spans, slots, good)
        lines = np.flatnonzero(slots >= 0)  # without blank ones
        spans, slots, good = spans[lines], slots[lines], good[lines]
        good[not_utf8(codes, spans)] = False
        for row in np.flatnonzero(~good):
            begin, _, end = spans[row].tolist()
            try:
                word, matrix[slots[row]] = text_row(text[begin:end], layout.dim)
            except RowError as fault:
                raise VectorsError(f"{name}, line {line + lines[row]:,}: {fault}") from None
            spans[row, 1] = begin + len(word)
        yield gather(codes, spans), matrix[slots], line + lines
        line += n


def _whole_lines(blocks: Iterable[bytes], name: str) -> Iterator[tuple[bytes, int]]:
    """Cut blocks at line ends, and count their lines; a newline is added to the last line if it has none."""
    carry = b""
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield from _of_few_lines(carry + block[:cut])
            carry = block[cut:]
        else:
            carry = _not_endless(carry + block, name)
    if carry:
        yield carry + b"\n", 1


def _of_few_lines(text: bytes) -> Iterator[tuple[bytes, int]]:
    """Halve a text until no part has many lines, and count these: each line takes memory, even an empty one."""
    count = int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n")))  # faster than bytes.count
    if count <= _LINES:
        yield text, count
        return
    middle = text.rfind(b"\n", 0, len(text) // 2) + 1 or text.find(b"\n") + 1  # not the end: there are many lines
    yield from _of_few_lines(text[:middle])
    yield from _of_few_lines(text[middle:])


def _not_endless(carry: bytes, name: str) -> bytes:
    if len(carry) > _LONGEST_ROW:
        raise VectorsError(f"{name} has a row of over {_LONGEST_ROW:,} bytes: it is not a word-vector file.")
    return carry


def _binary_rows(blocks: Iterable[bytes], layout: FileLayout, name: str) -> Iterator[SomeRows]:
    width = 4 * layout.dim
    carry, position, n_rows = b"", layout.start, 0
    for block in blocks:
        carry = _not_endless(carry, name) + block
        codes = np.frombuffer(carry, np.uint8)
        raw = np.empty((len(carry) // (width + 1), width), np.uint8)
        spans = np.empty((len(raw), 2), np.int64)
        n, used = scan_binary(codes, raw, spans)
        matrix, spans = raw[:n].view("<f4").astype(np.float32, copy=False), spans[:n]
        starts = position + spans[:, 0]
        raise_first(codes, spans, matrix, name, "byte", starts)
        yield gather(codes, spans), matrix, starts
        carry, position, n_rows = carry[used:], position + used, n_rows + n
    if left := carry.lstrip(b"\n"):
        promise = f"the header promises {layout.rows:,} rows, {n_rows:,} were read, and {len(left):,} bytes are left"
        position += len(carry) - len(left)
        raise VectorsError(f"{name}, byte {position:,}: {promise}, too few for a row of {layout.dim:,} numbers.")


def _collected(parts: Iterable[SomeRows], name: str, unit: str) -> deque[SomeRows]:
    """Collect parts, looking for repeated words from time to time: many copies of one row could fill the memory.

    Each check covers at least twice the rows of the one before, so that all of them take about as long as the last.
    """
    waiting: deque[SomeRows] = deque()
    rows, limit = 0, _UNCHECKED
    for part in parts:
        waiting.append(part)
        rows += len(part[2])
        if rows >= limit:
            positions = np.concatenate([positions for _, _, positions in waiting])
            distinct(_concatenated([words for words, _, _ in waiting]), name, unit, positions)
            limit = 2 * rows
    return waiting


def _concatenated(words: Sequence[Words]) -> Words:
    lengths = np.concatenate([np.diff(offsets) for _, offsets in words])
    return np.concatenate([data for data, _ in words]), np.concatenate([[0], np.cumsum(lengths)])


def _stacked(waiting: deque[SomeRows], dim: int) -> SomeRows:
    """Concatenate parts, freeing each one as it is copied: the matrix is never in memory twice."""
    words = _concatenated([words for words, _, _ in waiting])
    positions = np.concatenate([positions for _, _, positions in waiting])
    matrix = np.empty((len(positions), dim), np.float32)
    done = 0
    while waiting:
        part = waiting.popleft()[1]
        matrix[done : done + len(part)] = part
        done += len(part)
    return words, matrix, positions
