"""Word-vector files: what a file is, told from its bytes and not its name, and its rows, streamed and compiled.

One road for every file: blocks of bytes are read, decompressed and hashed in a second thread; a compiled loop
takes the rows of each block; a row that the loop refuses is read again, slowly, by :func:`parsing.text_row`.
"""

import hashlib
import re
from codecs import BOM_UTF8
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import VectorsError
from ..progress import progress
from ..storage.unpacking import Reader, ahead, first_bytes, packing_of
from ..text.vocabulary import DuplicateWordError, Vocabulary, first_rows
from .parsing import RowError, check, gather, is_row, most_rows, not_utf8, scan_binary, scan_text, text_row, usable

VERSION = 2  # part of every cache key: raise it when the same file would be read otherwise
KNOWN = "GloVe text, word2vec text or binary, or fastText .vec, plain or in gzip, bzip2, xz or zip"
BLOCK = 1 << 22  # bytes read at a time
_SAMPLE = 1 << 20  # bytes looked at to tell what a file is
_LONGEST_ROW = 1 << 26
_LINES = 1 << 16  # of text, parsed at a time
_UNCHECKED = 1 << 18  # rows after which words are first looked at for repeats
_EXAMPLES = 5  # faults of one reason that are quoted in full

PICKLE = re.compile(rb"\x80[\x02-\x05]")
_STRANGERS = (
    (PICKLE, "a Python pickle (gensim's .kv?), and those can run any code when opened. If you trust where it comes "
             "from, pass trust=True"),
    (re.compile(rb"\xba\x16\x4f\x2f"), "a fastText .bin model. Give the .vec file that fastText writes beside it"),
)  # fmt: skip
_HEADER = re.compile(rb"[ \t]*([0-9]{1,15})[ \t]+([0-9]{1,7})[ \t\r]*")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
Errors = Literal["raise", "skip"]
Words = tuple[NDArray[np.uint8], NDArray[np.int64]]  # UTF-8 bytes end to end, and the places where words begin
Part = tuple[Words, NDArray[np.float32], NDArray[np.int64]]  # good rows, and the line or byte at which each stands


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
    path = regular(path)
    faults = Faults(errors == "skip")
    digest = hashlib.blake2b(digest_size=16)
    try:
        with (
            _opened(path, member) as reader,
            progress(f"reading {path.name}", path.stat().st_size) as advance,
            closing(ahead(_drawn(reader, block, advance), digest.update)) as blocks,
        ):
            sample = first_bytes(blocks, _SAMPLE)
            layout = sniff(sample, str(path))
            pieces = (sample[i : i + block] for i in range(layout.start, len(sample), block))
            rows = _binary_rows if layout.binary else _text_rows
            unit = "byte" if layout.binary else "line"
            parts = _collected(rows(chain(pieces, blocks), layout, faults, str(path)), faults, str(path), unit)
            words, matrix, places = _joined(parts, layout.dim)
        found = len(places) + sum(skipped.count for skipped in faults.found.values())
        if layout.rows is not None and found != layout.rows:
            faults.add("header", f"{path}: the header promises {layout.rows:,} rows and there are {found:,}.")
        table = distinct(words, matrix, faults, str(path), lambda row: f"{unit} {places[row]:,}")
    except (OSError, MemoryError, OverflowError) as error:
        raise VectorsError(f"{path} cannot be read ({error or type(error).__name__}).") from error
    table.digest = digest.hexdigest()
    return table


def regular(path: str | Path) -> Path:
    """Return the path of a file, or raise: on a pipe or a device one could wait for ever, and it reads only once."""
    path = Path(path)
    if not path.is_file():
        what = "is a pipe, a device or a socket" if path.exists() else "does not exist"
        raise VectorsError(f"{path} {what}; word vectors are read from a file. Copy them to one.")
    return path


def _opened(path: Path, member: str | None) -> Reader:
    with Reader(path, str(path), fault=VectorsError) as reader:
        packing = packing_of(reader.read(16))
    if member is not None and packing != "zip":
        raise VectorsError(f"{path} is no zip file, so it has no member {member!r}; leave `member` out.")
    return Reader(path, str(path), packing, member=member, fault=VectorsError)


def _drawn(reader: Reader, size: int, advance: Callable[[int], None]) -> Iterator[bytes]:
    before = 0
    while block := reader.read(size):
        advance(reader.consumed - before)
        before = reader.consumed
        yield block


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
    offsets = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) for word in spelled], out=offsets[1:])
    return checked((np.frombuffer(b"".join(spelled), np.uint8), offsets), values, faults, name)


def checked(words: Words, matrix: NDArray[np.float32], faults: Faults, name: str) -> Table:
    """Make a table of words and their rows (n_words, dim) in memory, of which the good ones are not copied."""
    codes, offsets = words
    spans = np.stack([offsets[:-1], offsets[1:]], axis=1)
    good = usable(codes, spans, matrix)
    if good.all():
        return distinct(words, matrix, faults, name, lambda row: f"row {row:,}")
    for row in np.flatnonzero(~good):
        _report(bytes(codes[offsets[row] : offsets[row + 1]]), matrix[row], faults, f"{name}, row {row:,}")
    rows = np.flatnonzero(good)
    return distinct(gather(codes, spans[good]), matrix[good], faults, name, lambda row: f"row {rows[row]:,}")


def distinct(
    words: Words, matrix: NDArray[np.float32], faults: Faults, name: str, place: Callable[[int], str]
) -> Table:
    """Make a table of checked rows; a word's second row is a fault."""
    try:
        vocabulary = Vocabulary.from_buffers(*words)
    except DuplicateWordError as twice:
        keep = _first(words, twice, faults, name, place)
        vocabulary, matrix = Vocabulary.from_buffers(*_chosen(words, keep)), matrix[keep]
    if not len(matrix):
        raise VectorsError(f"{name} holds no row that can be used. Known formats: {KNOWN}.")
    return Table(vocabulary, matrix, faults.found)


def _first(
    words: Words, twice: DuplicateWordError, faults: Faults, name: str, place: Callable[[int], str]
) -> NDArray[np.bool_]:
    """Mark the first row of each word, (n,); the others are faults, and ``twice`` is the first of them."""
    if not faults.skip:
        first, second = place(twice.first), place(twice.second)
        faults.add("", f"{name}: the word {twice.word!r} stands at {first} and again at {second}.")
    keep = first_rows(*words)
    data, offsets = words
    for row in np.flatnonzero(~keep):
        word = bytes(data[offsets[row] : offsets[row + 1]]).decode()
        faults.add("duplicate word", f"{name}, {place(int(row))}: the word {word!r} stands further up already.")
    return keep


def _chosen(words: Words, keep: NDArray[np.bool_]) -> Words:
    data, offsets = words
    chosen: Words = gather(data, np.stack([offsets[:-1], offsets[1:]], axis=1)[keep])
    return chosen


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
    mark = len(BOM_UTF8) if sample.startswith(BOM_UTF8) else 0  # no part of the first word
    first, *lines = sample[mark:_SAMPLE].split(b"\n", 100)[:100]
    header = _HEADER.fullmatch(first)
    if header is None:
        lines = [first, *lines]
        # The commonest width, not the first line's: that line may be the one at fault.
        widths = Counter(len(line.split()) - 1 for line in lines if line.strip())
        dim = widths.most_common(1)[0][0]
        if dim > 0 and any(is_row(line, dim) for line in lines):
            return Layout(binary=False, dim=dim, rows=None, start=mark)
        raise VectorsError(f"{name} is no word-vector file: it begins {sample[:40]!r}. Known formats: {KNOWN}.")
    rows, dim = map(int, header.groups())
    start = mark + len(first) + 1
    if any(is_row(line, dim) for line in lines):
        return Layout(binary=False, dim=dim, rows=rows, start=start)
    if dim and (_NOT_TEXT.search(sample, start) or _is_framed(sample[start:], rows, dim)):
        return Layout(binary=True, dim=dim, rows=rows, start=start)
    second = lines[0] if lines else b""
    raise VectorsError(f"{name}: the header promises {rows:,} rows of {dim:,} numbers, but then comes {second[:40]!r}.")


def _is_framed(body: bytes, rows: int, dim: int) -> bool:
    """Tell whether bytes are just so many binary rows: few numbers may all be spelled by printable bytes."""
    raw = np.empty((len(body) // (4 * dim + 1), 4 * dim), np.uint8)
    found, used = scan_binary(np.frombuffer(body, np.uint8), raw, np.empty((len(raw), 2), np.int64))
    return bool(found == rows and not body[used:].strip(b"\n"))


def _text_rows(blocks: Iterable[bytes], layout: Layout, faults: Faults, name: str) -> Iterator[Part]:
    line = 1 if layout.rows is None else 2
    for text in _whole_lines(blocks, name):
        n = text.count(b"\n")
        # Not a row per line: millions of empty lines behind a wide row would ask for terabytes.
        matrix = np.empty((most_rows(len(text), layout.dim), layout.dim), np.float32)
        spans = np.empty((n, 3), np.int64)  # where each row's word begins and ends, and where the row ends
        slots = np.empty(n, np.int64)  # each row's place in the matrix; -1 for a blank line
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
                faults.add(fault.reason, f"{name}, line {line + lines[row]:,}: {fault}")
                continue
            spans[row, 1] = begin + len(word)
            good[row] = True
        yield gather(codes, spans[good]), matrix[slots[good]], line + lines[good]
        line += n


def _whole_lines(blocks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """Cut blocks at line ends; the last line is given the newline it may lack."""
    carry = b""
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield from _of_few_lines(carry + block[:cut])
            carry = block[cut:]
        else:
            carry = _not_endless(carry + block, name)
    if carry:
        yield carry + b"\n"


def _of_few_lines(text: bytes) -> Iterator[bytes]:
    """Cut a text into halves until none has many lines: what is kept of each line is more than an empty one has."""
    if text.count(b"\n") <= _LINES:
        yield text
        return
    middle = text.rfind(b"\n", 0, len(text) // 2) + 1 or text.find(b"\n") + 1  # never the end: there are many
    yield from _of_few_lines(text[:middle])
    yield from _of_few_lines(text[middle:])


def _not_endless(carry: bytes, name: str) -> bytes:
    if len(carry) > _LONGEST_ROW:
        raise VectorsError(f"{name} has a row of over {_LONGEST_ROW:,} bytes: it is no word-vector file.")
    return carry


def _report(word: bytes, values: NDArray[np.float32], faults: Faults, place: str) -> None:
    try:
        check(word, values)
    except RowError as fault:
        faults.add(fault.reason, f"{place}: {fault}")


def _binary_rows(blocks: Iterable[bytes], layout: Layout, faults: Faults, name: str) -> Iterator[Part]:
    width = 4 * layout.dim
    carry, place, found = b"", layout.start, 0
    for block in blocks:
        carry = _not_endless(carry, name) + block
        codes = np.frombuffer(carry, np.uint8)
        raw = np.empty((len(carry) // (width + 1), width), np.uint8)
        spans = np.empty((len(raw), 2), np.int64)
        n, used = scan_binary(codes, raw, spans)
        matrix, spans = raw[:n].view("<f4").astype(np.float32, copy=False), spans[:n]
        good = usable(codes, spans, matrix)
        for row in np.flatnonzero(~good):
            _report(carry[slice(*spans[row])], matrix[row], faults, f"{name}, byte {place + spans[row, 0]:,}")
        yield gather(codes, spans[good]), matrix[good], place + spans[good, 0]
        carry, place, found = carry[used:], place + used, found + n
    if left := carry.lstrip(b"\n"):
        promise = f"the header promises {layout.rows:,} rows, {found:,} were read, and {len(left):,} bytes are left"
        place += len(carry) - len(left)
        faults.add("cut row", f"{name}, byte {place:,}: {promise}, too few for a row of {layout.dim:,} numbers.")


def _collected(parts: Iterable[Part], faults: Faults, name: str, unit: str) -> deque[Part]:
    """Collect parts, and look now and then for repeated words: a billion times one row would be a bomb.

    Each look is at twice the rows of the one before, so that all together take about as long as the last.
    """
    waiting: deque[Part] = deque()
    rows, limit = 0, _UNCHECKED
    for part in parts:
        waiting.append(part)
        rows += len(part[2])
        if rows >= limit:
            waiting = _without_repeats(waiting, faults, name, unit)
            rows = sum(len(places) for _, _, places in waiting)
            limit = max(2 * rows, _UNCHECKED)
    return waiting


def _without_repeats(parts: deque[Part], faults: Faults, name: str, unit: str) -> deque[Part]:
    words = _end_to_end([words for words, _, _ in parts])
    try:
        Vocabulary.from_buffers(*words)
        return parts
    except DuplicateWordError as twice:
        places = np.concatenate([places for _, _, places in parts])
        keep = _first(words, twice, faults, name, lambda row: f"{unit} {places[row]:,}")
    left: deque[Part] = deque()
    while parts:
        words, matrix, places = parts.popleft()
        mine, keep = keep[: len(places)], keep[len(places) :]
        left.append((_chosen(words, mine), matrix[mine], places[mine]))
    return left


def _end_to_end(words: Sequence[Words]) -> Words:
    lengths = np.concatenate([np.diff(offsets) for _, offsets in words])
    return np.concatenate([data for data, _ in words]), np.concatenate([[0], np.cumsum(lengths)])


def _joined(waiting: deque[Part], dim: int) -> Part:
    """Lay parts end to end, letting go of each as it is copied: no moment holds the matrix twice."""
    words = _end_to_end([words for words, _, _ in waiting])
    places = np.concatenate([places for _, _, places in waiting])
    matrix = np.empty((len(places), dim), np.float32)
    done = 0
    while waiting:
        part = waiting.popleft()[1]
        matrix[done : done + len(part)] = part
        done += len(part)
    return words, matrix, places
