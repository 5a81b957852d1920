"""Tf-idf: counts of words, those that few texts have weighing more."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.utils.validation import check_is_fitted

from ..errors import CorpusError
from ..tokens import AnyTokenizer
from .base import CountEncoder


class WeightedCounts(CountEncoder):
    """A text encoder that looks at counts by the tf-idf scheme, each text of unit length.

    A subclass has the parameters ``sublinear_tf`` and ``max_words``, and calls :meth:`_fit_weighted`.
    """

    sublinear_tf: bool
    idf_: NDArray[np.float64]

    _layouts: ClassVar = {"idf_": "f8[words]"}

    def _fit_weighted(self, X: Any) -> sparse.csr_array:
        """Choose the words, learn how rare they are, and return the weighted counts, (n_docs, n_words)."""
        counts = self._fit_counts(X)
        self.idf_ = TfidfTransformer().fit(counts).idf_
        return self._reweighted(counts)

    def _weighted(self, X: Any) -> sparse.csr_array:
        """Return the weighted counts of texts, (n_docs, n_words)."""
        return self._reweighted(self._counts(X))

    def _reweighted(self, counts: sparse.csr_array) -> sparse.csr_array:
        if not counts.shape[0]:  # scikit-learn refuses what has no rows
            return counts.astype(np.float64)
        scheme = TfidfTransformer(sublinear_tf=self.sublinear_tf)
        scheme.idf_ = self.idf_
        return sparse.csr_array(scheme.transform(counts.astype(np.float64), copy=False))


class TfIdf(WeightedCounts):
    """Texts as tf-idf weights of their words, scaled to unit length.

    A word that occurs in ``df`` of ``n`` training texts weighs its count times ``1 + log((1 + n) / (1 + df))``.

    Parameters
    ----------
    sublinear_tf : bool
        Take 1 + log(count) in place of the count.
    max_words : int or None
        How many words have a column: those most frequent in the training texts, ties in alphabetical order.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The words that have a column, most frequent first.
    idf_ : (n_words,) float64
        The factor of each word.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words is a row of zeros.

    Examples
    --------
    >>> weights = TfIdf().fit(["north north sea", "sea north", "sea west"])
    >>> weights.get_feature_names_out()
    array(['north', 'sea', 'west'], dtype=object)
    >>> weights.transform(["north sea", "east"]).toarray().round(2)
    array([[0.79, 0.61, 0.  ],
           [0.  , 0.  , 0.  ]])
    """

    def __init__(
        self, sublinear_tf: bool = False, max_words: int | None = None, tokenizer: AnyTokenizer | None = None
    ) -> None:
        self.sublinear_tf = sublinear_tf
        self.max_words = max_words
        self.tokenizer = tokenizer

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose the words and learn how rare they are; labels are not looked at."""
        self._fit_weighted(X)
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the weights, (n_docs, n_words), sparse, each row of unit length."""
        return self._weighted(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the words, one a column."""
        check_is_fitted(self, "vocabulary_")
        return np.array(self.vocabulary_.words, dtype=object)


def check_topics(n_topics: int, counts: sparse.csr_array | None = None) -> None:
    """Insist on at least one topic, and on more texts and more words than topics if there are counts."""
    if n_topics < 1:
        raise ValueError(f"n_topics must be at least 1, not {n_topics!r}")
    if counts is not None and n_topics >= min(counts.shape):
        texts, words = counts.shape
        raise CorpusError(f"{n_topics} topics need more texts and more words than that; there are {texts} and {words}")
