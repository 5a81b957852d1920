"""Latent semantic indexing: the leading singular vectors of the matrix of tf-idf weights, or of counts.

The decomposition is scikit-learn's ``TruncatedSVD`` by ARPACK. It is exact to rounding; the randomised solver and
gensim's ``LsiModel`` err by some percent in the smaller of fifty singular values, and are no faster.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.utils.extmath import svd_flip

from parasphere.parameters import Constraints, one_of
from parasphere.text import AnyTokenizer

from .base import SHARED, OfTopics, smoothed_idf
from .tfidf import WeightedCounts, check_topics, weighted


@dataclass(eq=False, repr=False)
class LatentSemanticIndex(OfTopics, WeightedCounts):
    """Texts in the coordinates of the leading right singular vectors of their weighted words.

    Parameters
    ----------
    n_topics : int, default=50
        Number of singular vectors; less than the number of training texts and of words.
    max_words : int, default=None
        Use only so many words, the most frequent ones; None is all.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased, without English stop words.
    random_state : int, RandomState or None, default=0
        Seeds the start of the solver; the result depends on it by rounding only.
    weighting : {"counts", "tfidf"}, default="tfidf"
        Plain counts of words, as gensim's ``LsiModel`` is given by default; or tf-idf, each text of unit length.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The words, most frequent first, and what texts are split with.
    idf_ : (n_words,) float64
        The inverse document frequency of each word; 1 if ``weighting`` is "counts".
    components_ : (n_topics, n_words) float64
        The right singular vectors, orthonormal, largest singular value first; the entry of largest absolute value in
        each is positive.
    singular_values_ : (n_topics,) float64
        The singular values, largest first.

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

    n_topics: int = 50
    max_words: int | None = None
    tokenizer: AnyTokenizer | None = None
    random_state: Any = 0
    weighting: Literal["counts", "tfidf"] = "tfidf"

    _parameters: ClassVar[Constraints] = SHARED | {"weighting": one_of("counts", "tfidf")}
    _fixed: ClassVar = ("weighting",)

    weighting_: Literal["counts", "tfidf"] = field(init=False)
    singular_values_: NDArray[np.float64] = field(init=False)
    _layouts: ClassVar = {"idf_": "f8[words]", "components_": "f8[topics,words]", "singular_values_": "f8[topics]"}

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Compute the singular vectors; ``y`` is ignored."""
        counts = self._fit_counts(X)
        check_topics(self.n_topics, counts)
        self.idf_ = smoothed_idf(counts) if self.weighting == "tfidf" else np.ones(counts.shape[1])
        svd = TruncatedSVD(self.n_topics, algorithm="arpack", random_state=self.random_state).fit(self._rows(counts))
        # Signs are arbitrary: make the entry of largest absolute value in each row positive.
        _, self.components_ = svd_flip(None, svd.components_, u_based_decision=False)
        self.singular_values_ = svd.singular_values_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the coordinates, (n_docs, n_topics)."""
        return np.asarray(self._rows(self._counts(X)) @ self.components_.T)

    def _rows(self, counts: sparse.csr_array) -> sparse.csr_array:
        return weighted(counts, self.idf_) if self.weighting_ == "tfidf" else counts.astype(np.float64)
