"""Non-negative matrix factorisation of the tf-idf matrix, by scikit-learn."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from threadpoolctl import threadpool_limits

from parasphere.text import AnyTokenizer

from .base import ComponentTopicsMixin
from .tfidf import WeightedCounts, check_topics

FOLD_IN_TOL = 1e-8
FOLD_IN_ITER = 1000


@dataclass(eq=False, repr=False)
class NonnegativeFactors(ComponentTopicsMixin, WeightedCounts):
    """Texts as non-negative mixtures of non-negative topics, by least squares on the tf-idf matrix.

    Parameters
    ----------
    n_topics : int, default=50
        Number of topics; less than the number of training texts and of words.
    max_iter : int, default=200
        Maximum number of sweeps of coordinate descent; scikit-learn warns if they did not suffice.
    tol : float, default=3e-3
        Stop when the projected gradient has fallen to this fraction of that of the first sweep.
    max_words : int, default=None
        Use only so many words, the most frequent ones; None is all.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased, without English stop words.
    random_state : int, RandomState or None, default=0
        Seeds the singular vectors from which the factors start.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The words, most frequent first, and what texts are split with.
    idf_ : (n_words,) float64
        The inverse document frequency of each word.
    components_ : (n_topics, n_words) float64
        The topics.
    n_iter_ : int
        Number of sweeps.
    reconstruction_error_ : float
        Frobenius norm of the difference between the tf-idf matrix of the training texts and the factors' product.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words has the zero vector. The
    work is done by one thread, so that the bits do not depend on the number of threads of BLAS.

    Examples
    --------
    >>> texts = ["north sea", "north sea wind", "east wind", "east wind east sea"]
    >>> NonnegativeFactors(2).fit(texts).transform(["north sea", "east wind", "up"]).round(1) > 0
    array([[False,  True],
           [ True, False],
           [False, False]])
    """

    n_topics: int = 50
    max_iter: int = 200
    tol: float = 3e-3
    max_words: int | None = None
    tokenizer: AnyTokenizer | None = None
    random_state: Any = 0

    n_iter_: int = field(init=False)
    reconstruction_error_: float = field(init=False)
    _layouts: ClassVar = {"idf_": "f8[words]", "components_": "f8[topics,words]"}
    _not_negative: ClassVar = ("components_",)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Compute the factors; ``y`` is ignored."""
        weighted = self._fit_weighted(X)
        check_topics(self.n_topics, weighted)
        # Starting from singular vectors takes fewer sweeps than from random numbers, and hardly depends on the seed.
        solver = NMF(self.n_topics, init="nndsvd", max_iter=self.max_iter, tol=self.tol, random_state=self.random_state)
        with threadpool_limits(1):  # sums by several threads would have other bits
            solver.fit(weighted)
        self.components_ = solver.components_
        self.n_iter_ = int(solver.n_iter_)
        self.reconstruction_error_ = float(solver.reconstruction_err_)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the coefficients of the topics in each text, (n_docs, n_topics)."""
        weighted = self._weighted(X)
        if not weighted.shape[0]:  # scikit-learn refuses what has no rows
            return np.zeros((0, self._n_features_out))
        # To full precision: the sweeps go on until all texts are done, and a text must not depend on the others.
        solver = NMF(self._n_features_out, tol=FOLD_IN_TOL, max_iter=FOLD_IN_ITER)
        solver.components_, solver.n_components_ = self.components_, self._n_features_out
        with threadpool_limits(1):
            return np.asarray(solver.transform(weighted))
