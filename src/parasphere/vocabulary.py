"""Words and their row numbers: a compact, exact table that compiled code can search."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .columns import one_text, strings
from .errors import VectorsError
from .kernels import empty_slots, fill_slots, ids_of_words, pack_words


class DuplicateWordError(VectorsError):
    """A word that stands in two rows."""

    def __init__(self, word: str, first: int, second: int) -> None:
        super().__init__(f"the word {word!r} stands in row {first} and again in row {second}; each word may occur once")
        self.word, self.first, self.second = word, first, second


class Table(NamedTuple):
    """A table of words as :mod:`parasphere.kernels` describes it."""

    slots: NDArray[np.uint64]
    chunks: NDArray[np.uint64]
    starts: NDArray[np.int64]


class Vocabulary:
    """An ordered set of words; a word's index is its row in a matrix.

    Parameters
    ----------
    words : iterable of str
        Each once, none empty.

    Attributes
    ----------
    data, offsets : uint8 and int64 arrays
        The words' UTF-8 bytes end to end, and the (n_words + 1,) places where they begin.

    Examples
    --------
    >>> fruit = Vocabulary(["apple", "pear", "Äpfel"])
    >>> len(fruit), "pear" in fruit, fruit.index("Äpfel"), fruit.get("plum")
    (3, True, 2, -1)
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.data, self.offsets = _utf8(list(words))
        self.table  # noqa: B018  (finds a repeated word now rather than later)

    @classmethod
    def from_buffers(
        cls, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, trusted: bool = False
    ) -> "Vocabulary":
        """Make a vocabulary of words that lie end to end in one buffer (Arrow's layout).

        If the words are ``trusted`` to be distinct, the table is built only when a word is first looked up.
        """
        vocabulary = cls.__new__(cls)
        vocabulary.data, vocabulary.offsets = data, offsets
        if not trusted:
            vocabulary.table  # noqa: B018
        return vocabulary

    @cached_property
    def table(self) -> Table:
        """What compiled code searches (see :mod:`parasphere.kernels`)."""
        table, repeats = _table(self.data, self.offsets)
        repeated = np.flatnonzero(repeats >= 0)
        if len(repeated):
            second = int(repeated[0])
            raise DuplicateWordError(self.word(second), int(repeats[second]), second)
        return table

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.get(word) >= 0

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self):,} words"

    def get(self, word: str) -> int:
        """Return the word's index, or -1."""
        return int(self.get_many([one_text(word, "the word", "word")])[0])

    def get_many(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the indices of many words, (n,), with -1 for each that is absent."""
        data, offsets = _utf8(words)
        ids = np.empty(len(offsets) - 1, np.int32)
        ids_of_words(data, offsets, *self.table, self.rows, ids)
        return ids

    def index(self, word: str) -> int:
        """Return the word's index; KeyError if it is absent."""
        index = self.get(word)
        if index < 0:
            raise KeyError(word)
        return index

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The indices 0, 1, ..., (n_words,)."""
        return np.arange(len(self), dtype=np.int32)

    @cached_property
    def words(self) -> list[str]:
        """All words, in order."""
        words: list[str] = self.arrow.to_pylist()
        return words

    @property
    def arrow(self) -> pa.LargeStringArray:
        """All words as an Arrow column that shares this vocabulary's memory."""
        return pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(self.offsets), pa.py_buffer(self.data))

    def word(self, index: int) -> str:
        """Return the word at an index."""
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]]).decode("utf-8", "replace")


def first_rows(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark, (n_words,), each row whose word stands in no earlier row."""
    _, repeats = _table(data, offsets)
    return np.asarray(repeats < 0)


def _table(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[Table, NDArray[np.int64]]:
    lengths = np.diff(offsets)
    if len(lengths) and lengths.min() == 0:
        raise VectorsError(f"the word in row {int(lengths.argmin())} is empty; every row needs a word")
    chunks = np.empty(int(((lengths + 7) // 8).sum()), np.uint64)
    starts = np.empty(len(offsets), np.int64)
    pack_words(data, offsets, chunks, starts)
    slots = empty_slots(len(lengths))
    repeats = np.empty(len(lengths), np.int64)
    fill_slots(slots, chunks, starts, lengths, repeats)
    return Table(slots, chunks, starts), repeats


def _utf8(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    column = strings(words)
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    return np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64, len(column) + 1)
