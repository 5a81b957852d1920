"""Tables of word vectors: checked rows in memory, and a record of the rows that were left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import VectorsError
from ..text import DuplicateWordError, Vocabulary, first_rows
from .parsing import RowError, check, gather, usable

KNOWN = "GloVe text, word2vec text or binary, or fastText .vec, plain or in gzip, bzip2, xz or zip"
_EXAMPLES = 5  # faults per reason that are quoted in full

Errors = Literal["raise", "skip"]
Rows = NDArray[np.float32]
Words = tuple[NDArray[np.uint8], NDArray[np.int64]]  # UTF-8 bytes, concatenated, and the offsets where words begin


@dataclass
class Skipped:
    """Rows left out for one reason: their number, and the first few in full sentences."""

    count: int = 0
    examples: list[str] = field(default_factory=list)


@dataclass
class Faults:
    """Faults of single rows: the first one is raised, or all are counted by reason if ``skip``."""

    skip: bool
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def add(self, reason: str, sentence: str) -> None:
        """Raise a fault, or count it."""
        if not self.skip:
            raise VectorsError(f"{sentence} (errors='skip' leaves out such rows and reports them.)")
        entry = self.skipped.setdefault(reason, Skipped())
        entry.count += 1
        if len(entry.examples) < _EXAMPLES:
            entry.examples.append(sentence)


@dataclass
class VectorTable:
    """Words, their rows before normalisation, (n_words, dim) float32, and the rows that were left out."""

    vocabulary: Vocabulary
    matrix: NDArray[np.float32]
    skipped: dict[str, Skipped]
    digest: str = ""  # of the decompressed bytes: the same for a file and its .gz


def table_of(
    words: Sequence[str], matrix: ArrayLike, *, errors: Errors = "raise", name: str = "vectors"
) -> VectorTable:
    """Check words and a matrix (n_words, dim) in the same way as the rows of a file."""
    faults = Faults(errors == "skip")
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
    return checked((np.frombuffer(b"".join(spelled), np.uint8), offsets), values, faults, name)


def checked(words: Words, matrix: Rows, faults: Faults, name: str) -> VectorTable:
    """Make a table from words and rows (n_words, dim); the matrix is not copied if all rows are valid."""
    codes, offsets = words
    spans = np.stack([offsets[:-1], offsets[1:]], axis=1)
    good = usable(codes, spans, matrix)
    for row in np.flatnonzero(~good):
        report(bytes(codes[slice(*spans[row])]), matrix[row], faults, f"{name}, row {row:,}")
    rows = np.flatnonzero(good)
    if len(rows) < len(good):
        words, matrix = gather(codes, spans[good]), matrix[good]
    return distinct(words, matrix, faults, name, lambda row: f"row {rows[row]:,}")


def distinct(words: Words, matrix: Rows, faults: Faults, name: str, location: Callable[[int], str]) -> VectorTable:
    """Make a table from checked rows; a second row for the same word is a fault."""
    try:
        vocabulary = Vocabulary.from_buffers(*words)
    except DuplicateWordError as twice:
        keep = first_of_each(words, twice, faults, name, location)
        vocabulary, matrix = Vocabulary.from_buffers(*chosen(words, keep)), matrix[keep]
    if not len(matrix):
        raise VectorsError(f"{name} holds no row that can be used. Known formats: {KNOWN}.")
    return VectorTable(vocabulary, matrix, faults.skipped)


def first_of_each(
    words: Words, twice: DuplicateWordError, faults: Faults, name: str, location: Callable[[int], str]
) -> NDArray[np.bool_]:
    """Return a mask, (n,), of the first row of each word; the others are faults, of which ``twice`` is the first."""
    if not faults.skip:
        first, second = location(twice.first), location(twice.second)
        faults.add("", f"{name}: the word {twice.word!r} is at {first} and again at {second}.")
    keep = first_rows(*words)
    data, offsets = words
    for row in np.flatnonzero(~keep):
        word = bytes(data[offsets[row] : offsets[row + 1]]).decode()
        faults.add("duplicate word", f"{name}, {location(int(row))}: the word {word!r} already has a row.")
    return keep


def chosen(words: Words, keep: NDArray[np.bool_]) -> Words:
    """Return the words that a mask keeps."""
    data, offsets = words
    return gather(data, np.stack([offsets[:-1], offsets[1:]], axis=1)[keep])


def report(word: bytes, values: Rows, faults: Faults, location: str) -> None:
    """Add the fault of a row, if it has one."""
    try:
        check(word, values)
    except RowError as fault:
        faults.add(fault.reason, f"{location}: {fault}")
