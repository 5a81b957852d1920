"""Latent semantic indexing: the leading singular vectors of the tf-idf matrix.

The decomposition is scikit-learn's ``TruncatedSVD`` by ARPACK. It is exact to rounding, where its randomised solver
and gensim's ``LsiModel`` stray by some percent in the smaller of fifty singular values, and it is no slower than they.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.validation import check_is_fitted

from ..text import AnyTokenizer
from .tfidf import WeightedCounts, check_topics


class LatentSemanticIndex(WeightedCounts):
    """Texts in the coordinates of the tf-idf matrix's leading right singular vectors.

    Parameters
    ----------
    n_topics : int
        How many singular vectors are kept; less than the training texts and their words.
    sublinear_tf : bool
        Take 1 + log(count) in place of the count.
    max_words : int or None
        The most frequent words that are looked at, or None for all.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.
    random_state : int, RandomState or None
        For the solver's start, on which the result does not depend beyond rounding.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    idf_ : (n_words,) float64
    components_ : (n_topics, n_words) float64
        The singular vectors, orthonormal, largest first; the entry of largest size in each is positive.
    singular_values_ : (n_topics,) float64

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words has the zero vector.

    Examples
    --------
    >>> texts = ["north sea", "north wind sea", "east wind", "east wind east"]
    >>> LatentSemanticIndex(2).fit(texts).transform(["north sea", "up"]).round(2)
    array([[0.55, 0.81],
           [0.  , 0.  ]])
    """

    components_: NDArray[np.float64]
    singular_values_: NDArray[np.float64]
    _layouts: ClassVar = {"idf_": "f8[words]", "components_": "f8[topics,words]", "singular_values_": "f8[topics]"}

    def __init__(
        self,
        n_topics: int = 50,
        sublinear_tf: bool = False,
        max_words: int | None = None,
        tokenizer: AnyTokenizer | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_topics = n_topics
        self.sublinear_tf = sublinear_tf
        self.max_words = max_words
        self.tokenizer = tokenizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the singular vectors; labels are not looked at."""
        check_topics(self.n_topics)
        weighted = self._fit_weighted(X)
        check_topics(self.n_topics, weighted)
        svd = TruncatedSVD(self.n_topics, algorithm="arpack", random_state=self.random_state).fit(weighted)
        self.components_ = _with_signs(svd.components_)
        self.singular_values_ = svd.singular_values_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the coordinates, (n_docs, n_topics)."""
        check_is_fitted(self, "components_")
        return np.asarray(self._weighted(X) @ self.components_.T)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def _with_signs(components: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn each row such that its entry of largest size is positive: a singular vector's sign is anyone's choice."""
    largest = np.abs(components).argmax(axis=1)
    return np.asarray(components * np.sign(components[np.arange(len(components)), largest])[:, None])
