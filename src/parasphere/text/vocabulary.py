"""Vocabularies: words and their row numbers, in a table that compiled code can search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..corpus import one_text, without_surrogates
from ..errors import VectorsError
from ..storage import check_layouts, storable
from .word_table import WordTable, ids_of_words


class DuplicateWordError(VectorsError):
    """A word that occurs in two rows."""

    def __init__(self, word: str, first: int, second: int) -> None:
        super().__init__(f"the word {word!r} is in row {first} and again in row {second}; each word may occur once")
        self.word, self.first, self.second = word, first, second


@storable("vocabulary")
class Vocabulary:
    """An ordered set of words; a word's index is its row in a matrix.

    Parameters
    ----------
    words : iterable of str
        The words, in order: each once, none empty.

    Attributes
    ----------
    data, offsets : uint8 and int64 arrays, read-only
        The UTF-8 bytes of the words, concatenated, and the (n_words + 1,) offsets at which words begin.

    Examples
    --------
    >>> fruit = Vocabulary(["apple", "pear", "Äpfel"])
    >>> len(fruit), "pear" in fruit, fruit.index("Äpfel"), fruit.get("plum")
    (3, True, 2, -1)
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.data, self.offsets = _checked(*utf8(list(words)))
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
        vocabulary.data, vocabulary.offsets = _checked(data, offsets)
        if not trusted:
            vocabulary.table  # noqa: B018
        return vocabulary

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
        return len(self.offsets) - 1

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

    @cached_property
    def words(self) -> list[str]:
        """All words, in order."""
        data, bounds = bytes(self.data[: self.offsets[-1]]), pairwise(self.offsets.tolist())
        if data.isascii():
            text = data.decode()
            return [text[begin:end] for begin, end in bounds]
        return [data[begin:end].decode() for begin, end in bounds]

    def sizes(self) -> dict[str, int]:
        """Return the sizes that the layouts of a saved estimator may refer to."""
        return {"words": len(self)}

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the words in the form that a saved estimator keeps."""
        return {}, {"data": self.data, "offsets": self.offsets}

    @classmethod
    def from_saved(cls, _facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make a vocabulary from saved words."""
        vocabulary = cls.from_buffers(np.array(arrays["data"]), np.array(arrays["offsets"]))
        vocabulary.check_utf8()
        return vocabulary

    def check_utf8(self) -> None:
        """Raise unless every word is UTF-8."""
        if not len(self):
            return
        # Decode all bytes at once, and check that no word begins within a character: faster than word by word.
        begins_within = (self.data[self.offsets[:-1]] & 0xC0) == 0x80
        try:
            bytes(self.data[: self.offsets[-1]]).decode()
        except UnicodeDecodeError:
            begins_within[0] = True
        if begins_within.any():
            raise VectorsError("the words are not UTF-8")

    def word(self, index: int) -> str:
        """Return the word at an index."""
        return bytes(self.data[self.offsets[index] : self.offsets[index + 1]]).decode("utf-8", "replace")


def table_of(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[WordTable, NDArray[np.int64]]:
    """Return the table of words, and for each row the earlier row with the same word, or -1, (n_words,)."""
    data, offsets = _checked(data, offsets)
    repeats = np.empty(len(offsets) - 1, np.int64)
    return WordTable(data, offsets, None, repeats), repeats


def _checked(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return bytes and offsets as read-only arrays; raise unless they fit each other."""
    check_layouts({"data": data, "offsets": offsets}, {"data": "u1[bytes]", "offsets": "i8[words+1]"})
    if offsets[0] != 0 or offsets[-1] > len(data) or (offsets[1:] < offsets[:-1]).any():
        raise VectorsError(f"the offsets of words must begin at 0, rise, and end within their {len(data):,} bytes")
    empty = np.flatnonzero(offsets[1:] == offsets[:-1])
    if len(empty):
        raise VectorsError(f"the word in row {int(empty[0])} is empty; every row needs a word")
    data, offsets = data.view(), offsets.view()
    data.flags.writeable = offsets.flags.writeable = False
    return data, offsets


def utf8(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the UTF-8 bytes of words, concatenated, and the offsets at which they begin."""
    strange = next((row for row, word in enumerate(words) if not isinstance(word, str)), None)
    if strange is not None:
        raise VectorsError(f"the word in row {strange} is {words[strange]!r:.60}; a str is needed")
    encoded = [without_surrogates(word).encode() for word in words]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends
