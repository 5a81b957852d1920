"""Words and their row numbers: a compact, exact table that compiled code can search."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..compiled.layout import check_layouts
from ..corpus.columns import one_text, strings
from ..errors import VectorsError
from ..storage import storable
from .kernels import empty_slots, fill_slots, ids_of_words, new_key, pack_words


class DuplicateWordError(VectorsError):
    """A word that stands in two rows."""

    def __init__(self, word: str, first: int, second: int) -> None:
        super().__init__(f"the word {word!r} stands in row {first} and again in row {second}; each word may occur once")
        self.word, self.first, self.second = word, first, second


class Table(NamedTuple):
    """A table of words as :mod:`parasphere.text.kernels` describes it."""

    slots: NDArray[np.uint64]
    chunks: NDArray[np.uint64]
    starts: NDArray[np.int64]
    key: NDArray[np.uint64]


@storable("vocabulary")
class Vocabulary:
    """An ordered set of words; a word's index is its row in a matrix.

    Parameters
    ----------
    words : iterable of str
        Each once, none empty.

    Attributes
    ----------
    data, offsets : uint8 and int64 arrays, read-only
        The words' UTF-8 bytes end to end, and the (n_words + 1,) places where they begin.

    Examples
    --------
    >>> fruit = Vocabulary(["apple", "pear", "Äpfel"])
    >>> len(fruit), "pear" in fruit, fruit.index("Äpfel"), fruit.get("plum")
    (3, True, 2, -1)
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.data, self.offsets = _checked(*_utf8(list(words)))
        self.table  # noqa: B018  (finds a repeated word now rather than later)

    @classmethod
    def from_buffers(
        cls, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, trusted: bool = False
    ) -> "Vocabulary":
        """Make a vocabulary of words that lie end to end in one buffer (Arrow's layout).

        Compiled code trusts these numbers, so they are looked at first: places that begin with 0, rise, and end
        within the bytes. If the words are ``trusted`` to be distinct, the table is built only when a word is first
        looked up.
        """
        vocabulary = cls.__new__(cls)
        vocabulary.data, vocabulary.offsets = _checked(data, offsets)
        if not trusted:
            vocabulary.table  # noqa: B018
        return vocabulary

    @cached_property
    def table(self) -> Table:
        """What compiled code searches (see :mod:`parasphere.text.kernels`)."""
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

    def sizes(self) -> dict[str, int]:
        """Return the sizes that a saved estimator's arrays may be named after."""
        return {"words": len(self)}

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a saved estimator keeps."""
        return {}, {"data": self.data, "offsets": self.offsets}

    @classmethod
    def from_saved(cls, _facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> "Vocabulary":
        """Make a vocabulary of what was saved."""
        vocabulary = cls.from_buffers(np.array(arrays["data"]), np.array(arrays["offsets"]))
        vocabulary.check_utf8()
        return vocabulary

    def check_utf8(self) -> None:
        """Raise unless every word is UTF-8, as words from outside may not be."""
        if not len(self):
            return
        # All bytes at once, and no word may begin within a character: much faster than one word after another.
        whole = pa.py_buffer(self.offsets[[0, -1]])
        begins_within = (self.data[self.offsets[:-1]] & 0xC0) == 0x80
        try:
            pa.LargeStringArray.from_buffers(1, whole, pa.py_buffer(self.data)).validate(full=True)
        except pa.ArrowInvalid:
            begins_within[0] = True
        if begins_within.any():
            raise VectorsError("the words are not UTF-8")

    def word(self, index: int) -> str:
        """Return the word at an index."""
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]]).decode("utf-8", "replace")


def first_rows(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark, (n_words,), each row whose word stands in no earlier row."""
    _, repeats = _table(data, offsets)
    return np.asarray(repeats < 0)


def _table(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[Table, NDArray[np.int64]]:
    data, offsets = _checked(data, offsets)
    lengths = np.diff(offsets)
    chunks = np.empty(int(((lengths + 7) // 8).sum()), np.uint64)
    starts = np.empty(len(offsets), np.int64)
    pack_words(data, offsets, chunks, starts)
    table = Table(empty_slots(len(lengths)), chunks, starts, new_key())
    repeats = np.empty(len(lengths), np.int64)
    fill_slots(*table, lengths, repeats)
    return table, repeats


def _checked(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return bytes and places that fit each other, read-only, or raise what is wrong with them."""
    check_layouts({"data": data, "offsets": offsets}, {"data": "u1[bytes]", "offsets": "i8[words+1]"})
    if offsets[0] != 0 or offsets[-1] > len(data) or (offsets[1:] < offsets[:-1]).any():
        raise VectorsError(f"words must begin at 0 and end, one after another, within their {len(data):,} bytes")
    empty = np.flatnonzero(offsets[1:] == offsets[:-1])
    if len(empty):
        raise VectorsError(f"the word in row {int(empty[0])} is empty; every row needs a word")
    data, offsets = data.view(), offsets.view()
    data.flags.writeable = offsets.flags.writeable = False
    return data, offsets


def _utf8(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    column = strings(words)
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    return np.frombuffer(data, np.uint8), np.frombuffer(offsets, np.int64, len(column) + 1)
