"""Vocabularies: words and their row numbers, in a table that compiled code can search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..corpus import one_text
from ..errors import ParasphereError, VectorsError
from ..layouts import check_layouts
from ..storage import storable
from .strings import Strings
from .word_table import WordTable, ids_of_words


class DuplicateWordError(VectorsError):
    """A word that occurs in two rows."""

    def __init__(self, word: str, first: int, second: int) -> None:
        super().__init__(f"the word {word!r} is in row {first} and again in row {second}; each word may occur once")
        self.word, self.first, self.second = word, first, second


@storable()
class Vocabulary:
    """An ordered set of words; a word's index is its row in a matrix.

    Parameters
    ----------
    words : iterable of str
        The words, in order: each once, none empty.

    Attributes
    ----------
    strings : Strings
        The words.

    Examples
    --------
    >>> fruit = Vocabulary(["apple", "pear", "Äpfel"])
    >>> len(fruit), "pear" in fruit, fruit.index("Äpfel"), fruit.get("plum")
    (3, True, 2, -1)
    """

    strings: Strings

    def __init__(self, words: Iterable[str]) -> None:
        words = list(words)
        strange = next((row for row, word in enumerate(words) if not isinstance(word, str)), None)
        if strange is not None:
            raise VectorsError(f"the word in row {strange} is {words[strange]!r:.60}; a str is needed")
        self.strings = _checked(Strings.of(words))
        self.table  # noqa: B018  (raises if a word is repeated)

    @classmethod
    def from_buffers(cls, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, trusted: bool = False) -> Self:
        """Make a vocabulary from words that are concatenated in one buffer.

        Parameters
        ----------
        data : (n_bytes,) uint8
            The UTF-8 bytes of the words.
        offsets : (n_words + 1,) int64
            The offsets at which words begin. They are checked, since compiled code relies on them.
        trusted : bool, default=False
            Whether the words are known to be distinct. The table is then built only when a word is first looked up.
        """
        vocabulary = cls.__new__(cls)
        vocabulary.strings = _checked(Strings(data, offsets))
        if not trusted:
            vocabulary.table  # noqa: B018
        return vocabulary

    @property
    def data(self) -> NDArray[np.uint8]:
        """The UTF-8 bytes of the words, concatenated, read-only."""
        return self.strings.data

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The (n_words + 1,) offsets at which words begin, read-only."""
        return self.strings.offsets

    @cached_property
    def table(self) -> WordTable:
        """The hash table that compiled code searches."""
        table, repeats = table_of(self.data, self.offsets)
        repeated = np.flatnonzero(repeats >= 0)
        if len(repeated):
            second = int(repeated[0])
            raise DuplicateWordError(self.word(second), int(repeats[second]), second)
        return table

    def __len__(self) -> int:
        return len(self.strings)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.get(word) >= 0

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self):,} words"

    def get(self, word: str) -> int:
        """Return the index of a word, or -1."""
        return int(self.get_many([one_text(word, "the word", "word")])[0])

    def get_many(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the indices of several words, (n,), with -1 for each that is absent."""
        ids = np.empty(len(words), np.int32)
        ids_of_words(words, self.table, False, ids)
        return ids

    def index(self, word: str) -> int:
        """Return the index of a word; KeyError if it is absent."""
        index = self.get(word)
        if index < 0:
            raise KeyError(word)
        return index

    def begins_with(self, other: Vocabulary) -> bool:
        """Return whether the words of another vocabulary are the first of these."""
        n, end = len(other), other.offsets[-1]
        same = np.array_equal(self.offsets[: n + 1], other.offsets)
        return same and np.array_equal(self.data[:end], other.data[:end])

    def extended(self, words: Iterable[str]) -> Vocabulary:
        """Return a vocabulary with more words after these."""
        joined = Strings.concatenate([self.strings, Strings.of(words)])
        return Vocabulary.from_buffers(joined.data, joined.offsets, trusted=True)

    @cached_property
    def words(self) -> list[str]:
        """All words, in order."""
        return self.strings.tolist()

    def sizes(self) -> dict[str, int]:
        """Return the sizes that the layouts of a saved estimator may refer to."""
        return {"words": len(self)}

    def _check_loaded(self) -> None:
        self.strings = _checked(self.strings)
        self.check_utf8()

    def check_utf8(self) -> None:
        """Raise unless every word is UTF-8."""
        try:
            self.strings.check()
        except ParasphereError:
            raise VectorsError("the words are not UTF-8") from None

    def word(self, index: int) -> str:
        """Return the word at an index."""
        return self.strings[index]


def table_of(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[WordTable, NDArray[np.int64]]:
    """Return the table of words, and for each row the earlier row with the same word, or -1, (n_words,)."""
    words = _checked(Strings(data, offsets))
    repeats = np.empty(len(words), np.int64)
    return WordTable(words.data, words.offsets, None, repeats), repeats


def _checked(words: Strings) -> Strings:
    """Return words whose arrays are read-only; raise unless they fit each other and no word is empty."""
    data, offsets = words.data, words.offsets
    check_layouts({"data": data, "offsets": offsets}, {"data": "u1[bytes]", "offsets": "i8[words+1]"})
    if offsets[0] != 0 or offsets[-1] > len(data) or (offsets[1:] < offsets[:-1]).any():
        raise VectorsError(f"the offsets of words must begin at 0, rise, and end within their {len(data):,} bytes")
    empty = np.flatnonzero(offsets[1:] == offsets[:-1])
    if len(empty):
        raise VectorsError(f"the word in row {int(empty[0])} is empty; every row needs a word")
    data, offsets = data.view(), offsets.view()
    data.flags.writeable = offsets.flags.writeable = False
    return Strings(data, offsets)
