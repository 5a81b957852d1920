"""Bag of words: how often each of the commonest words occurs."""

import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from ..corpus import blocks
from ..errors import CorpusError
from ..tokens import AnyTokenizer, Tokenizer, count_matrix, count_words
from ..vocabulary import Vocabulary


class BagOfWords(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts as counts of their words, scaled to unit length.

    Parameters
    ----------
    max_words : int
        How many words have a column: those most frequent in the training texts, ties in alphabetical order.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The words that have a column, most frequent first.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words is a row of zeros.

    Examples
    --------
    >>> counts = BagOfWords(max_words=2).fit(["north north sea", "sea north", "west"])
    >>> counts.get_feature_names_out()
    array(['north', 'sea'], dtype=object)
    >>> counts.transform(["sea sea sea north north north north", "east"]).toarray()
    array([[0.8, 0.6],
           [0. , 0. ]])
    """

    vocabulary_: Vocabulary

    def __init__(self, max_words: int = 5000, tokenizer: AnyTokenizer | None = None) -> None:
        self.max_words = max_words
        self.tokenizer = tokenizer

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose the words; labels are not looked at."""
        if self.max_words < 1:
            raise ValueError(f"max_words must be at least 1, not {self.max_words!r}")
        words, _ = count_words(X, self._tokenizer())
        if not words:
            raise CorpusError("none of the texts has a word; at least one must")
        self.vocabulary_ = Vocabulary(words[: self.max_words])
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the counts, (n_docs, n_words), sparse, each row of unit length."""
        check_is_fitted(self, "vocabulary_")
        counts = count_matrix(X, self.vocabulary_, self._tokenizer())
        return normalize(counts.astype(np.float64), copy=False)

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_array:
        """Fit, then transform the same texts; a stream that can be read only once is held in memory."""
        held = X if isinstance(X, str | os.PathLike) else list(blocks(X))
        return self.fit(held, y).transform(held)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the words, one a column."""
        check_is_fitted(self, "vocabulary_")
        return np.array(self.vocabulary_.words, dtype=object)

    def _tokenizer(self) -> AnyTokenizer:
        return Tokenizer(stop_words="english") if self.tokenizer is None else self.tokenizer

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
