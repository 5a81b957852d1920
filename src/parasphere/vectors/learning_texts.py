"""The texts of joint learning, as word ids."""

import tempfile
from contextlib import closing
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import text
from ..corpus import Block, blocks
from ..errors import VectorsError
from ..text import WordIds

MOST_HELD = 1 << 28  # bytes of ids that are held in memory; more are written to a temporary file


class Texts(NamedTuple):
    """Texts as ids of the learned words."""

    words: list[str]
    counts: NDArray[np.int64]  # (n_words,), how often each occurs
    ids: NDArray[np.int32]  # (n,), the concatenated texts, as ids or -1
    ends: NDArray[np.int64]  # (n_texts + 1,), where each text begins and ends


def read_texts(corpus: Any, tokenizer: text.AnyTokenizer, min_count: int, *, known: bool = False) -> Texts:
    """Read a corpus once, and return its frequent words as ids; other words are -1, or left out if ``known``.

    Ids beyond :data:`MOST_HELD` are written to a temporary file, which is mapped into memory. With a
    :class:`parasphere.Tokenizer` nothing else of the texts is held; token lists, and texts for another tokenizer, are
    held until their words are counted.
    """
    counter = text.WordCounter(tokenizer)
    parts: list[Block | WordIds] = []
    with closing(_Spool()) as first, closing(_Spool()) as second:
        for block in blocks(corpus):
            found = counter.add(block.texts)
            if block.tokenised or not isinstance(tokenizer, text.Tokenizer):
                parts.append(block)
            else:
                parts.append(first.keep(_without_stop_words(found)))
        words, counts = counter.words_and_counts()
        n_words = int(np.searchsorted(-counts, -min_count, side="right"))
        if n_words < 2:
            raise VectorsError(
                f"only {n_words} words occur {min_count} times in this corpus; lower min_count or pass more texts"
            )
        vocabulary = text.Vocabulary(words[:n_words])
        lookup = text.Lookup(vocabulary, tokenizer)
        final = np.append(vocabulary.get_many(counter.vocabulary().words), -1).astype(np.int32)  # -1 stays -1
        ends: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        for part in parts:
            read = WordIds(final[part.ids], part.ends) if isinstance(part, WordIds) else lookup.ids(part.texts)
            read = _selected(read, read.ids >= 0) if known else read
            ends.append(second.total + read.ends)
            second.keep(read)
        return Texts(words[:n_words], counts[:n_words], second.all(), np.concatenate(ends))


class _Spool:
    """Concatenated arrays of ids, in memory or, once they are large, in a temporary file."""

    def __init__(self) -> None:
        self.total = 0
        self._held: list[NDArray[np.int32]] = []
        self._file: Any = None

    def keep(self, words: WordIds) -> WordIds:
        """Append ids; return them, mapped from the file if they are kept there."""
        ids = words.ids
        if self._file is None and 4 * (self.total + len(ids)) > MOST_HELD:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (close closes it)
            for held in self._held:
                self._file.write(held)
            self._held = []
        if self._file is None:
            self._held.append(ids)
        else:
            self._file.write(np.ascontiguousarray(ids))
            ids = self._mapped(self.total, len(ids))
        self.total += len(ids)
        return WordIds(ids, words.ends)

    def all(self) -> NDArray[np.int32]:
        """Return all ids as one array."""
        if self._file is None:
            return np.concatenate([np.empty(0, np.int32), *self._held])
        return self._mapped(0, self.total)

    def close(self) -> None:
        """Close the file; arrays mapped from it remain valid."""
        if self._file is not None:
            self._file.close()

    def _mapped(self, begin: int, length: int) -> NDArray[np.int32]:
        self._file.flush()
        if not length:
            return np.empty(0, np.int32)
        return np.memmap(self._file, np.int32, "r", 4 * begin, (length,))


def _without_stop_words(words: WordIds) -> WordIds:
    kept = words.ids != text.STOP
    return words if kept.all() else _selected(words, kept)


def _selected(words: WordIds, kept: NDArray[np.bool_]) -> WordIds:
    return WordIds(words.ids[kept], np.concatenate([[0], np.cumsum(kept)])[words.ends])


def seed_of(random_state: Any) -> int:
    """Return an integer as it is, or a seed drawn from a RandomState."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
