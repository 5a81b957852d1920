"""What rivals share: texts of every kind in, words counted once, save and load."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from ..errors import CorpusError
from ..features.inputs import held_texts
from ..storage import Saved
from ..text import AnyTokenizer, Tokenizer, Vocabulary, count_matrix, count_words
from ..vectors import WordVectors


class TextEncoder(Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer from texts to vectors; texts are whatever :func:`parasphere.corpus.blocks` takes.

    A subclass has a parameter ``tokenizer`` (by default runs of Unicode letters, lower-cased, without English stop
    words), ``fit`` and ``transform``; what it fits is kept in attributes that :class:`~parasphere.storage.Saved` can save.
    """

    tokenizer: AnyTokenizer | None

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, then transform the same texts; a stream that can be read only once is held in memory."""
        held = held_texts(X)
        return self.fit(held, y).transform(held)

    def _words(self) -> AnyTokenizer:
        return Tokenizer(stop_words="english") if self.tokenizer is None else self.tokenizer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class CountEncoder(TextEncoder):
    """A text encoder that looks at counts of words.

    A subclass also has a parameter ``max_words``: the most frequent words of the training texts that are counted (ties
    in alphabetical order), or None for all.
    """

    max_words: int | None
    vocabulary_: Vocabulary

    def _fit_counts(self, X: Any) -> sparse.csr_array:
        """Choose the words and return how often each occurs in each text, (n_docs, n_words) int32."""
        if self.max_words is not None and self.max_words < 1:
            raise ValueError(f"max_words must be at least 1 or None, not {self.max_words!r}")
        held = held_texts(X)
        words, _ = count_words(held, self._words())
        if not words:
            raise CorpusError("none of the texts has a word; at least one must")
        self.vocabulary_ = Vocabulary(words[: self.max_words])
        return count_matrix(held, self.vocabulary_, self._words())

    def _counts(self, X: Any) -> sparse.csr_array:
        """Return how often each of the chosen words occurs in each text, (n_docs, n_words) int32."""
        check_is_fitted(self, "vocabulary_")
        return count_matrix(X, self.vocabulary_, self._words())


def smoothed_idf(counts: sparse.csr_array) -> NDArray[np.float64]:
    """Return how rare each word of counts, (n_docs, n_words), is: ``1 + log((1 + n) / (1 + df))``, (n_words,).

    ``df`` of the ``n`` texts have the word. The ones stand for one more text with every word in it, so that a word
    which no text has weighs the most, and not infinitely much.
    """
    n_docs, n_words = counts.shape
    return np.asarray(1 + np.log((1 + n_docs) / (1 + np.bincount(counts.indices, minlength=n_words))))


def unit_length(rows: Any) -> Any:
    """Scale rows, (n, dim), dense or sparse, to unit length in place; zeros stay, and so do no rows at all."""
    return normalize(rows, copy=False) if rows.shape[0] else rows


def loaded(vectors: Any) -> WordVectors:
    """Return word vectors, loaded if they are given by name or path."""
    return vectors if isinstance(vectors, WordVectors) else WordVectors.load(vectors)
