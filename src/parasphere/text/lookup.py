"""Looking up the words of texts in a vocabulary."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from ..corpus import is_tokenised
from .dividing import PIECE, DividingTokenizer
from .scanning import STOP, Folding, ids_of_texts
from .strings import Strings
from .tokens import AnyTokenizer, Tokenizer, WordIds, composed, most_words, split_texts
from .vocabulary import Vocabulary
from .word_table import WordTable, ids_of_words


class Lookup:
    """Turns texts into word ids: a tokenizer bound to a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words that have an id.
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, default=None
        A :class:`Tokenizer` runs compiled, as does a :class:`DividingTokenizer` where no word is divided. Any other
        callable is called with each text and returns its words. None is ``Tokenizer()``.
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
        self._divides = self.tokenizer if isinstance(self.tokenizer, DividingTokenizer) else None
        words = self.tokenizer if self._divides is None else self._divides.words
        self._folding = words.folding if isinstance(words, Tokenizer) else None
        if isinstance(words, Tokenizer) and words.stop_words:
            self._table = _with_stop_words(vocabulary, words.stop_words)
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
            return self._with_pieces(texts, self._ids_of_lists(texts))
        if self._folding is None:
            return self._ids_of_lists(split_texts(texts, self.tokenizer))
        return self._with_pieces(texts, self._ids(texts, self._folding))

    def units(self, text: str) -> list[tuple[str, int]]:
        """Return the words of a text in order, each with its row or a negative id."""
        (words,) = split_texts([text], self.tokenizer)
        if self._divides is not None:
            return self._units_and_pieces(words)
        return list(zip(words, self._ids_of_lists([words]).ids.tolist(), strict=True))

    def _with_pieces(self, texts: Any, found: WordIds) -> WordIds:
        """Replace words without an id by their pieces, in the texts that have such words."""
        lacking = np.flatnonzero(found.ids < 0) if self._divides is not None else ()
        if self._divides is None or not len(lacking):
            return found
        rows = np.unique(np.searchsorted(found.ends, lacking, side="right")).tolist()
        some = [texts[row] for row in rows]
        lists = some if is_tokenised(texts) else self._divides.split_column(some)
        pieces = self._pieces_of(set(chain.from_iterable(lists)))
        kept, growth, at = [], np.zeros(len(found.ends), np.int64), 0
        for row, words in zip(rows, lists, strict=True):
            begin, end = (int(found.ends[row - 1]) if row else 0), int(found.ends[row])
            own = [pieces.get(word, [one]) for word, one in zip(words, found.ids[begin:end].tolist(), strict=True)]
            kept += [found.ids[at:begin], np.array([one for several in own for one in several], np.int32)]
            growth[row], at = len(kept[-1]) - (end - begin), end
        return WordIds(np.concatenate([*kept, found.ids[at:]]), found.ends + np.cumsum(growth))

    def _pieces_of(self, words: set[str]) -> dict[str, list[int]]:
        """Return the ids of the pieces of each word that the vocabulary lacks, if any of its pieces has one."""
        spelled = sorted(words)
        ids = self.vocabulary.get_many(spelled)
        unseen = [word for word, one in zip(spelled, ids.tolist(), strict=True) if one < 0]
        divided = self._divides.divided(unseen) if self._divides is not None else []
        known = ([one for one in self.vocabulary.get_many(names).tolist() if one >= 0] for names in divided)
        return {word: some for word, some in zip(unseen, known, strict=True) if some}

    def _units_and_pieces(self, words: list[str]) -> list[tuple[str, int]]:
        pieces, rows = self._pieces_of(set(words)), self.vocabulary.get_many(words).tolist()
        return [
            (word if one == row else self.vocabulary.word(one).removeprefix(PIECE), one)
            for word, row in zip(words, rows, strict=True)
            for one in pieces.get(word, [row])
        ]

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
    every = Strings.concatenate([vocabulary.strings, Strings.of(others)])
    return WordTable(every.data, every.offsets, np.concatenate([rows, np.full(len(others), STOP, np.int32)]))
