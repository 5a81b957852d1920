"""Non-negative matrix factorisation of the tf-idf matrix, by scikit-learn."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..text import AnyTokenizer
from .tfidf import WeightedCounts, check_topics

FOLD_IN_TOL = 1e-8
FOLD_IN_ITER = 1000


class NonnegativeFactors(WeightedCounts):
    """Texts as non-negative mixtures of non-negative topics: the least-squares factors of the tf-idf matrix.

    Parameters
    ----------
    n_topics : int
        Less than the training texts and their words.
    max_iter : int
        Sweeps of coordinate descent at most; scikit-learn warns if they did not suffice.
    tol : float
        Stop when a sweep's violation of the optimum's conditions has fallen to this part of the first one's.
    sublinear_tf : bool
        Take 1 + log(count) in place of the count.
    max_words : int or None
        The most frequent words that are looked at, or None for all.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.
    random_state : int, RandomState or None
        For the singular vectors from which the factors start.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    idf_ : (n_words,) float64
    components_ : (n_topics, n_words) float64
    n_iter_ : int
    reconstruction_error_ : float
        The Frobenius norm of what the factors leave of the training texts' matrix.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words has the zero vector. One
    thread does the work, so that the bits do not depend on how many BLAS may use.

    Examples
    --------
    >>> texts = ["north sea", "north sea wind", "east wind", "east wind east sea"]
    >>> NonnegativeFactors(2).fit(texts).transform(["north sea", "east wind", "up"]).round(1) > 0
    array([[False,  True],
           [ True, False],
           [False, False]])
    """

    components_: NDArray[np.float64]
    n_iter_: int
    reconstruction_error_: float
    _layouts: ClassVar = {"idf_": "f8[words]", "components_": "f8[n_topics,words]"}
    _not_negative: ClassVar = ("components_",)

    def __init__(
        self,
        n_topics: int = 50,
        max_iter: int = 200,
        tol: float = 3e-3,
        sublinear_tf: bool = False,
        max_words: int | None = None,
        tokenizer: AnyTokenizer | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_topics = n_topics
        self.max_iter = max_iter
        self.tol = tol
        self.sublinear_tf = sublinear_tf
        self.max_words = max_words
        self.tokenizer = tokenizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Find the factors; labels are not looked at."""
        check_topics(self.n_topics)
        weighted = self._fit_weighted(X)
        check_topics(self.n_topics, weighted)
        with threadpool_limits(1):  # the sums of several threads of BLAS would have other bits
            solver = self._solver().fit(weighted)
        self.components_ = solver.components_
        self.n_iter_ = int(solver.n_iter_)
        self.reconstruction_error_ = float(solver.reconstruction_err_)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return how much of each topic is in each text, (n_docs, n_topics)."""
        check_is_fitted(self, "components_")
        weighted = self._weighted(X)
        if not weighted.shape[0]:  # scikit-learn refuses what has no rows
            return np.zeros((0, self._n_features_out))
        # What one text's share of the topics is should not depend on when the texts beside it are done.
        solver = self._solver().set_params(tol=FOLD_IN_TOL, max_iter=FOLD_IN_ITER)
        solver.components_, solver.n_components_ = self.components_, len(self.components_)
        with threadpool_limits(1):
            return np.asarray(solver.transform(weighted))

    def _solver(self) -> NMF:
        # Starting from singular vectors, a fit takes fewer sweeps than from random numbers, and hardly depends on them.
        return NMF(self.n_topics, init="nndsvd", max_iter=self.max_iter, tol=self.tol, random_state=self.random_state)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
