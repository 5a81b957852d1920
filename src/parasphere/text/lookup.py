"""Looking up the words of texts in a vocabulary."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from ..corpus import is_tokenised
from .scanning import STOP, Folding, ids_of_texts
from .tokens import AnyTokenizer, Tokenizer, WordIds, composed, most_words, split_texts
from .vocabulary import Vocabulary, utf8
from .word_table import WordTable, ids_of_words


class Lookup:
    """Turns texts into word ids: a tokenizer bound to a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words that have an id.
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, default=None
        A :class:`Tokenizer` runs compiled. Any other callable is called with each text and returns its words. None is
        ``Tokenizer()``.
    hashing : bool, default=False
        Give each word that the vocabulary lacks an id below -2, computed by a hash, rather than -1.

    Examples
    --------
    >>> lookup = Lookup(Vocabulary(["cat", "mat"]), Tokenizer(stop_words=["the", "on"]))
    >>> lookup.ids(["The cat sat", "on the mat"])
    WordIds(ids=array([ 0, -1,  1], dtype=int32), ends=array([2, 3]))
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenizer: AnyTokenizer | None = None,
        *,
        hashing: bool = False,
    ) -> None:
        self.vocabulary, self.hashing = vocabulary, hashing
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        ours = self.tokenizer if isinstance(self.tokenizer, Tokenizer) else None
        self._folding = None if ours is None else ours.folding
        if ours is not None and ours.stop_words:
            self._table = _with_stop_words(vocabulary, ours.stop_words)
        else:
            self._table = vocabulary.table

    def ids(self, texts: Any) -> WordIds:
        """Return the word ids of texts.

        Parameters
        ----------
        texts : list of str, or list of list of str
            Texts, or token lists, whose tokens are looked up unchanged.
        """
        if is_tokenised(texts):
            return self._ids_of_lists(texts)
        if self._folding is None:
            return self._ids_of_lists(split_texts(texts, self.tokenizer))
        return self._ids(texts, self._folding)

    def units(self, text: str) -> list[tuple[str, int]]:
        """Return the words of a text in order, each with its row or a negative id."""
        (words,) = split_texts([text], self.tokenizer)
        return list(zip(words, self._ids_of_lists([words]).ids.tolist(), strict=True))

    def _ids(self, texts: Any, folding: Folding) -> WordIds:
        texts = composed(texts)
        ids, ends = np.empty(most_words(texts), np.int32), np.empty(len(texts), np.int64)
        count = ids_of_texts(texts, folding, self._table, self.hashing, ids, ends)
        return WordIds(ids[:count], ends)

    def _ids_of_lists(self, lists: list[list[str]]) -> WordIds:
        tokens, ends = list(chain.from_iterable(lists)), np.cumsum(list(map(len, lists)), dtype=np.int64)
        ids = np.empty(len(tokens), np.int32)
        # Tokens are looked up unchanged: stop words among them are kept.
        ids_of_words(tokens, self.vocabulary.table, self.hashing, ids)
        return WordIds(ids, ends)


def _with_stop_words(vocabulary: Vocabulary, stop_words: Iterable[str]) -> WordTable:
    """Return the table of a vocabulary and of the stop words, whose ids are STOP."""
    words = sorted(stop_words)
    rows, found = np.arange(len(vocabulary), dtype=np.int32), vocabulary.get_many(words)
    rows[found[found >= 0]] = STOP
    others = [word for word, row in zip(words, found.tolist(), strict=True) if row < 0]
    data, offsets = utf8(others)
    size = vocabulary.offsets[-1]
    return WordTable(
        np.concatenate([vocabulary.data[:size], data[: offsets[-1]]]),
        np.concatenate([vocabulary.offsets, size + offsets[1:]]),
        np.concatenate([rows, np.full(len(others), STOP, np.int32)]),
    )
