"""Word-vector files: what a file is, told from its bytes and not its name, and its rows, streamed and compiled.

One road for every file: blocks of bytes are read, decompressed and hashed in a second thread; a compiled loop
takes the rows of each block; a row that the loop refuses is read again, slowly, by :func:`_text_row`, which
either understands it after all or says in a sentence what is wrong with it.
"""

import bz2
import hashlib
import lzma
import re
import zipfile
import zlib
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, pairwise, takewhile
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa
from numba import njit
from numpy.typing import ArrayLike, NDArray

from .errors import VectorsError
from .progress import progress
from .vocabulary import DuplicateWordError, Vocabulary, first_rows

VERSION = 1  # part of every cache key: raise it when the same file would be read otherwise
KNOWN = "GloVe text, word2vec text or binary, or fastText .vec, plain or in gzip, bzip2, xz or zip"
BLOCK = 1 << 22  # bytes read at a time
_SAMPLE = 1 << 20  # bytes looked at to tell what a file is
_LONGEST_ROW = 1 << 26
_EXAMPLES = 5  # faults of one reason that are quoted in full

_DECODERS: tuple[tuple[re.Pattern[bytes], Callable[[], Any]], ...] = (
    (re.compile(rb"\x1f\x8b\x08"), lambda: zlib.decompressobj(31)),
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor),  # "BZh" alone could be a word
    (re.compile(rb"\xfd7zXZ\0"), lzma.LZMADecompressor),
)
PICKLE = re.compile(rb"\x80[\x02-\x05]")
_STRANGERS = (
    (PICKLE, "a Python pickle (gensim's .kv?), and those can run any code when opened. If you trust where it comes "
             "from, pass trust=True"),
    (re.compile(rb"\xba\x16\x4f\x2f"), "a fastText .bin model. Give the .vec file that fastText writes beside it"),
)  # fmt: skip
_HEADER = re.compile(rb"[ \t]*([0-9]{1,15})[ \t]+([0-9]{1,7})[ \t\r]*")
_GAP = re.compile(rb"([ \t]+)")
_DECIMAL = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NUMBER = re.compile(_DECIMAL.pattern + rb"|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SPACE, _TAB, _NEWLINE, _RETURN = 32, 9, 10, 13
_ONE, _NINE = np.uint64(1), np.uint64(9)
_FULL = 10**17  # one more digit fits an int64
_TEN_TO_THE = np.array([float(f"1e{power}") for power in range(309)])

Errors = Literal["raise", "skip"]
Words = tuple[NDArray[np.uint8], NDArray[np.int64]]  # UTF-8 bytes end to end, and the places where words begin
Part = tuple[Words, NDArray[np.float32], NDArray[np.int64]]  # good rows, and the line or byte at which each stands


class RowError(Exception):
    """What is wrong with one row: a reason to count it under, and a sentence."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason


@dataclass
class Skipped:
    """Rows left out for one reason: how many, and the first few in full sentences."""

    count: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class Faults:
    """Row-level faults: the first one is raised or, to ``skip`` them, all are counted by reason."""

    skip: bool
    found: dict[str, Skipped] = field(default_factory=dict)

    def add(self, reason: str, sentence: str) -> None:
        """Raise a fault, or count it."""
        if not self.skip:
            raise VectorsError(f"{sentence} (errors='skip' leaves such rows out and reports them.)")
        entry = self.found.setdefault(reason, Skipped())
        entry.count += 1
        if len(entry.examples) < _EXAMPLES:
            entry.examples.append(sentence)


@dataclass
class Table:
    """The rows of a file as they stand in it: words, a float32 matrix (n_words, dim), and what was left out."""

    vocabulary: Vocabulary
    matrix: NDArray[np.float32]
    skipped: dict[str, Skipped]
    digest: str = ""  # of the decompressed bytes: a file and its .gz hold the same vectors


@dataclass(frozen=True)
class Layout:
    """What a file is: binary or text, its dimension, the rows its header promises, the header's length."""

    binary: bool
    dim: int
    rows: int | None
    start: int


def read(path: str | Path, *, errors: Errors = "raise", member: str | None = None, block: int = BLOCK) -> Table:
    r"""Read a word-vector file of any known format.

    Parameters
    ----------
    path : path
        GloVe text, word2vec text or binary, or fastText .vec, plain or in gzip, bzip2, xz or zip.
    errors : {"raise", "skip"}
        What to do with a row at fault. A fault of the file as a whole is always raised.
    member : str, optional
        Which file of a zip to read.
    block : int
        How many bytes to read at a time; the result does not depend on it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "tiny.txt")
    >>> _ = path.write_text("sea 3 4\nlake 0 .5e1\n")
    >>> read(path).matrix.tolist()
    [[3.0, 4.0], [0.0, 5.0]]
    """
    path = Path(path)
    faults = Faults(errors == "skip")
    digest = hashlib.blake2b(digest_size=16)
    with (
        progress(f"reading {path.name}", path.stat().st_size) as advance,
        closing(_ahead(_blocks(path, member, block, advance), digest.update)) as blocks,
    ):
        sample = _first_bytes(blocks)
        layout = sniff(sample, str(path))
        pieces = (sample[i : i + block] for i in range(layout.start, len(sample), block))
        rows = _binary_rows if layout.binary else _text_rows
        words, matrix, places = _joined(rows(chain(pieces, blocks), layout, faults, str(path)), layout.dim)
    found = len(places) + sum(skipped.count for skipped in faults.found.values())
    if layout.rows is not None and found != layout.rows:
        faults.add("header", f"{path}: the header promises {layout.rows:,} rows and there are {found:,}.")
    unit = "byte" if layout.binary else "line"
    table = distinct(words, matrix, faults, str(path), lambda row: f"{unit} {places[row]:,}")
    table.digest = digest.hexdigest()
    return table


def table_of(words: Sequence[str], matrix: ArrayLike, *, errors: Errors = "raise", name: str = "vectors") -> Table:
    """Check words and a matrix (n_words, dim) that are in memory as the rows of a file are checked."""
    faults = Faults(errors == "skip")
    with np.errstate(over="ignore"):  # what is too large for float32 becomes inf, and that is told below
        values = np.array(matrix, np.float32, order="C")
    if values.ndim != 2 or len(values) != len(words) or not values.shape[1]:
        raise VectorsError(f"{name}: {len(words):,} words need a matrix with a row each; its shape is {values.shape}.")
    strange = next((row for row, word in enumerate(words) if not isinstance(word, str)), None)
    if strange is not None:
        raise VectorsError(f"{name}, row {strange:,}: the word is {words[strange]!r}; a str is needed.")
    spelled = [word.encode("utf-8", "surrogatepass") for word in words]
    lengths = np.array([len(word) for word in spelled], np.int64)
    spans = np.stack([np.cumsum(lengths) - lengths, np.cumsum(lengths)], axis=1)
    codes = np.frombuffer(b"".join(spelled), np.uint8)
    good = _usable(codes, spans, values)
    for row in np.flatnonzero(~good):
        _report(spelled[row], values[row], faults, f"{name}, row {row:,}")
    rows = np.flatnonzero(good)
    return distinct(_gather(codes, spans[good]), values[good], faults, name, lambda row: f"row {rows[row]:,}")


def distinct(
    words: Words, matrix: NDArray[np.float32], faults: Faults, name: str, place: Callable[[int], str]
) -> Table:
    """Make a table of checked rows; a word's second row is a fault."""
    try:
        vocabulary = Vocabulary.from_buffers(*words)
    except DuplicateWordError as twice:
        first, second = place(twice.first), place(twice.second)
        if not faults.skip:
            faults.add("", f"{name}: the word {twice.word!r} stands at {first} and again at {second}.")
        keep = first_rows(*words)
        data, offsets = words
        for row in np.flatnonzero(~keep):
            word = bytes(data[offsets[row] : offsets[row + 1]]).decode()
            faults.add("duplicate word", f"{name}, {place(int(row))}: the word {word!r} stands further up already.")
        spans = np.stack([offsets[:-1], offsets[1:]], axis=1)[keep]
        vocabulary, matrix = Vocabulary.from_buffers(*_gather(data, spans)), matrix[keep]
    if not len(matrix):
        raise VectorsError(f"{name} holds no row that can be used. Known formats: {KNOWN}.")
    return Table(vocabulary, matrix, faults.found)


def _blocks(path: Path, member: str | None, size: int, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Read a file in blocks, decompressed if it is compressed."""
    with path.open("rb") as file:
        head = file.read(16)
        file.seek(0)
        zipped = head.startswith((b"PK\x03\x04", b"PK\x05\x06"))
        if member is not None and not zipped:
            raise VectorsError(f"{path} is no zip file, so it has no member {member!r}; leave `member` out.")
        decoder = next((make for magic, make in _DECODERS if magic.match(head)), None)
        try:
            if zipped:
                yield from _unzipped(file, path, member, size, advance)
            elif decoder is not None:
                yield from _decoded(_raw(file, size, advance), decoder, path)
            else:
                yield from _raw(file, size, advance)
        except (zlib.error, lzma.LZMAError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
            raise VectorsError(f"{path} cannot be read to its end ({error}). Is it whole?") from error


def _raw(file: BinaryIO, size: int, advance: Callable[[int], None]) -> Iterator[bytes]:
    while piece := file.read(size):
        advance(len(piece))
        yield piece


def _decoded(raw: Iterable[bytes], make: Callable[[], Any], path: Path) -> Iterator[bytes]:
    """Decompress a stream, or several one after another, as ``cat a.gz b.gz`` writes them."""
    decoder = make()
    for piece in raw:
        rest = piece
        while rest := rest.lstrip(b"\0") if decoder.eof else rest:  # zeros may pad the end of a stream
            if decoder.eof:
                decoder = make()
            yield decoder.decompress(rest)
            rest = decoder.unused_data
    if not decoder.eof:
        raise VectorsError(f"{path} ends in the middle of its compressed data. Is it whole?")


def _unzipped(
    file: BinaryIO, path: Path, member: str | None, size: int, advance: Callable[[int], None]
) -> Iterator[bytes]:
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
        if member is None and len(names) != 1:
            raise VectorsError(f"{path} holds {len(names)} files; pass member= one of {names}.")
        if member is not None and member not in names:
            raise VectorsError(f"{path} has no member {member!r}; it holds {names}.")
        info = archive.getinfo(member or names[0])
        with archive.open(info) as unpacked:
            for piece in _raw(unpacked, size, lambda _: None):  # type: ignore[arg-type]
                advance(len(piece) * info.compress_size // info.file_size)
                yield piece


def _ahead(blocks: Iterator[bytes], hashed: Callable[[bytes], None]) -> Generator[bytes, None, None]:
    """Draw and hash the next block in a second thread while this one is parsed."""

    def draw() -> bytes | None:
        block = next(blocks, None)
        if block is not None:
            hashed(block)
        return block

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(draw)
        while (block := coming.result()) is not None:
            coming = pool.submit(draw)
            yield block


def _first_bytes(blocks: Iterable[bytes]) -> bytes:
    sample = bytearray()
    for block in blocks:
        sample += block
        if len(sample) >= _SAMPLE:
            break
    return bytes(sample)


def sniff(sample: bytes, name: str) -> Layout:
    r"""Tell from the first (decompressed) bytes what a file is.

    Examples
    --------
    >>> sniff(b"2 3\nsea 1 2 3\nlake 4 5 6\n", "tiny.vec")
    Layout(binary=False, dim=3, rows=2, start=4)
    """
    if not sample.strip():
        raise VectorsError(f"{name} is empty. Known formats: {KNOWN}.")
    for magic, what in _STRANGERS:
        if magic.match(sample):
            raise VectorsError(f"{name} is {what}.")
    first, *lines = sample[:_SAMPLE].split(b"\n")[:100]
    header = _HEADER.fullmatch(first)
    if header is None:
        lines = [first, *lines]
        # The commonest width, not the first line's: that line may be the one at fault.
        widths = Counter(len(line.split()) - 1 for line in lines if line.strip())
        dim = widths.most_common(1)[0][0]
        if dim > 0 and any(_is_row(line, dim) for line in lines):
            return Layout(binary=False, dim=dim, rows=None, start=0)
        raise VectorsError(f"{name} is no word-vector file: it begins {sample[:40]!r}. Known formats: {KNOWN}.")
    rows, dim = map(int, header.groups())
    start = len(first) + 1
    if any(_is_row(line, dim) for line in lines):
        return Layout(binary=False, dim=dim, rows=rows, start=start)
    if dim and (_NOT_TEXT.search(sample, start) or _is_framed(sample[start:], rows, dim)):
        return Layout(binary=True, dim=dim, rows=rows, start=start)
    second = lines[0] if lines else b""
    raise VectorsError(f"{name}: the header promises {rows:,} rows of {dim:,} numbers, but then comes {second[:40]!r}.")


def _is_row(line: bytes, dim: int) -> bool:
    fields = line.split()
    return dim > 0 and len(fields) > dim and all(_NUMBER.fullmatch(number) for number in fields[-dim:])


def _is_framed(body: bytes, rows: int, dim: int) -> bool:
    """Tell whether bytes are just so many binary rows: few numbers may all be spelled by printable bytes."""
    raw = np.empty((len(body) // (4 * dim + 1), 4 * dim), np.uint8)
    found, used = _scan_binary(np.frombuffer(body, np.uint8), raw, np.empty((len(raw), 2), np.int64))
    return bool(found == rows and not body[used:].strip(b"\n"))


def _text_rows(blocks: Iterable[bytes], layout: Layout, faults: Faults, name: str) -> Iterator[Part]:
    line = 1 if layout.start == 0 else 2
    for text in _whole_lines(blocks, name):
        n = text.count(b"\n")
        matrix = np.empty((n, layout.dim), np.float32)
        spans = np.empty((n, 3), np.int64)  # where each row's word begins and ends, and where the row ends
        good = np.empty(n, np.bool_)
        codes = np.frombuffer(text, np.uint8)
        _scan_text(codes, matrix, spans, good)
        good[_not_utf8(codes, spans)] = False
        for row in np.flatnonzero(~good):
            begin, _, end = spans[row].tolist()
            try:
                word, matrix[row] = _text_row(text[begin:end], layout.dim)
            except RowError as fault:
                faults.add(fault.reason, f"{name}, line {line + row:,}: {fault}")
                continue
            spans[row, 1] = begin + len(word)
            good[row] = len(word) > 0
        yield _gather(codes, spans[good]), matrix[good], line + np.flatnonzero(good)
        line += n


def _whole_lines(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Cut blocks at line ends; the last line is given the newline it may lack."""
    carry = b""
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield carry + block[:cut]
            carry = block[cut:]
        else:
            carry = _not_endless(carry + block, name)
    if carry:
        yield carry + b"\n"


def _not_endless(carry: bytes, name: str) -> bytes:
    if len(carry) > _LONGEST_ROW:
        raise VectorsError(f"{name} has a row of over {_LONGEST_ROW:,} bytes: it is no word-vector file.")
    return carry


def _text_row(line: bytes, dim: int) -> tuple[bytes, NDArray[np.float32]]:
    """Read any row that can be read, or say what is wrong with it; a blank line has an empty word."""
    body = line.rstrip(b" \t\r")
    parts = _GAP.split(body)  # fields at even places, the gaps between them at odd ones
    fields = parts[::2]
    if not body:
        return b"", np.zeros(dim, np.float32)
    if not fields[0]:
        raise RowError("empty word", "the row begins with a space: its word is empty.")
    numbers = sum(1 for _ in takewhile(_DECIMAL.fullmatch, reversed(fields[1:])))
    if len(fields) <= dim or numbers > dim:
        raise RowError(
            "wrong width",
            f"the row of {_shown(fields[0])} has {len(fields) - 1 if len(fields) <= dim else numbers} numbers where "
            f"{dim} are due. Is the file cut short?",
        )
    for place, number in enumerate(fields[-dim:], start=1):
        if not _NUMBER.fullmatch(number):
            raise RowError("not a number", f"{_shown(number)} stands where number {place} of {dim} is due.")
    with np.errstate(over="ignore"):
        values = np.array([float(number) for number in fields[-dim:]]).astype(np.float32)
    word = b"".join(parts[: -2 * dim])
    _check(word, values)
    return word, values


def _report(word: bytes, values: NDArray[np.float32], faults: Faults, place: str) -> None:
    try:
        _check(word, values)
    except RowError as fault:
        faults.add(fault.reason, f"{place}: {fault}")


def _check(word: bytes, values: NDArray[np.float32]) -> None:
    """Raise the fault of a row that was read, if it has one."""
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


def _binary_rows(blocks: Iterable[bytes], layout: Layout, faults: Faults, name: str) -> Iterator[Part]:
    width = 4 * layout.dim
    carry, place, found = b"", layout.start, 0
    for block in blocks:
        carry = _not_endless(carry, name) + block
        codes = np.frombuffer(carry, np.uint8)
        raw = np.empty((len(carry) // (width + 1), width), np.uint8)
        spans = np.empty((len(raw), 2), np.int64)
        n, used = _scan_binary(codes, raw, spans)
        matrix, spans = raw[:n].view("<f4").astype(np.float32, copy=False), spans[:n]
        good = _usable(codes, spans, matrix)
        for row in np.flatnonzero(~good):
            _report(carry[slice(*spans[row])], matrix[row], faults, f"{name}, byte {place + spans[row, 0]:,}")
        yield _gather(codes, spans[good]), matrix[good], place + spans[good, 0]
        carry, place, found = carry[used:], place + used, found + n
    if left := carry.lstrip(b"\n"):
        promise = f"the header promises {layout.rows:,} rows, {found:,} were read, and {len(left):,} bytes are left"
        place += len(carry) - len(left)
        faults.add("cut row", f"{name}, byte {place:,}: {promise}, too few for a row of {layout.dim:,} numbers.")


def _usable(codes: NDArray[np.uint8], spans: NDArray[np.int64], matrix: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Mark, (n,), the rows in which :func:`_check` would find no fault."""
    good: NDArray[np.bool_] = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1) & (spans[:, 0] < spans[:, 1])
    good[_not_utf8(codes, spans)] = False
    return good


def _not_utf8(codes: NDArray[np.uint8], spans: NDArray[np.int64]) -> list[int]:
    """Rows whose word is not UTF-8; Arrow checks them all at once, and only if it objects is each looked at."""
    data, offsets = _gather(codes, spans)
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


def _joined(parts: Iterable[Part], dim: int) -> Part:
    """Lay parts end to end, letting go of each as it is copied: no moment holds the matrix twice."""
    waiting = deque(parts)
    data = np.concatenate([words[0] for words, _, _ in waiting])
    lengths = np.concatenate([np.diff(words[1]) for words, _, _ in waiting])
    places = np.concatenate([places for _, _, places in waiting])
    matrix = np.empty((len(places), dim), np.float32)
    done = 0
    while waiting:
        part = waiting.popleft()[1]
        matrix[done : done + len(part)] = part
        done += len(part)
    return (data, np.concatenate([[0], np.cumsum(lengths)])), matrix, places


@njit(cache=True, nogil=True)
def _gather(codes: Any, spans: Any) -> Any:
    """Copy the words at ``spans`` end to end; return the bytes and the (n + 1,) places where words begin."""
    offsets = np.zeros(len(spans) + 1, np.int64)
    for row in range(len(spans)):
        offsets[row + 1] = offsets[row] + spans[row, 1] - spans[row, 0]
    data = np.empty(offsets[-1], np.uint8)
    for row in range(len(spans)):
        data[offsets[row] : offsets[row + 1]] = codes[spans[row, 0] : spans[row, 1]]
    return data, offsets


@njit(cache=True, nogil=True)
def _scan_text(text: Any, matrix: Any, spans: Any, good: Any) -> None:
    """Read a word without spaces and dim plain numbers from each line; mark the lines that are just that."""
    i = np.uint64(0)  # unsigned, so that no access asks whether the index counts from the end: twice as fast
    for row in range(matrix.shape[0]):
        spans[row, 0] = i
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
            matrix[row, column] = value
            zero = zero and value == 0
        while text[i] == _SPACE or text[i] == _TAB or text[i] == _RETURN:
            i += _ONE
        good[row] = fine and not zero and text[i] == _NEWLINE
        while text[i] != _NEWLINE:
            i += _ONE
        spans[row, 2] = i
        i += _ONE


@njit(cache=True, nogil=True, inline="always")
def _decimal(text: Any, i: Any) -> Any:
    """Read a decimal: (value, where it ends, whether value is surely the float32 of the double nearest to it)."""
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
    # Up to 2^53 and 10^22 both operands are exact, so the one operation rounds as it should (Clinger 1990).
    # Beyond, at most four roundings and the dropped digits put value off by less than one part in 2^50; where
    # no border between two float32 lies that near, that does not matter.
    exact = dropped == 0 and mantissa <= 2**53 and abs(exponent) <= 22
    return np.float32(value), i, exact or np.float32(value * (1 - 2**-50)) == np.float32(value * (1 + 2**-50))


@njit(cache=True, nogil=True, inline="always")
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


@njit(cache=True, nogil=True)
def _scan_binary(codes: Any, raw: Any, spans: Any) -> Any:
    """Take all whole rows (word, space, float32 bytes, perhaps a newline); return how many, and the bytes used."""
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
        raw[row] = codes[end + 1 : end + 1 + raw.shape[1]]
        spans[row, 0], spans[row, 1] = begin, end
        used = end + 1 + raw.shape[1]
        row += 1
    return row, used
