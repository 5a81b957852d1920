"""movMF: which cluster of directions a text's weighted words belong to."""

from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..sphere import vmf
from ..sphere.movmf import Kappa, MovMF
from ..text import AnyTokenizer
from .base import CountEncoder, smoothed_idf, unit_length

Weighting = Literal["tf", "tfidf"]


class WeightedEncoder(CountEncoder):
    """A text encoder that looks at weighted counts of words, scaled to unit length.

    A subclass has a parameter ``weighting``: "tf" for the counts themselves, "tfidf" for counts times
    ``log((1 + n)/(1 + n_w)) + 1``, where ``n_w`` of ``n`` training texts have the word.
    """

    weighting: Weighting
    idf_: NDArray[np.float64] | None

    def _fit_rows(self, X: Any) -> sparse.csr_array:
        """Choose words and their weights and return unit rows, (n_docs, n_words)."""
        if self.weighting not in get_args(Weighting):
            raise ValueError(f"weighting must be one of {', '.join(get_args(Weighting))}, not {self.weighting!r}")
        counts = self._fit_counts(X)
        n_words = counts.shape[1]
        if n_words < 2:
            raise ValueError(
                f"directions need at least two words; the training texts, within max_words, have {n_words}"
            )
        self.idf_ = smoothed_idf(counts) if self.weighting == "tfidf" else None
        return self._weighted(counts)

    def _rows(self, X: Any) -> sparse.csr_array:
        """Return unit rows, (n_docs, n_words); zeros for a text without any of the words."""
        return self._weighted(self._counts(X))

    def _weighted(self, counts: sparse.csr_array) -> sparse.csr_array:
        rows = counts.astype(np.float64)
        if self.idf_ is not None:
            rows.data *= self.idf_[rows.indices]
        unit: sparse.csr_array = unit_length(rows)
        return unit


class MovMFTopics(WeightedEncoder):
    """Texts as their responsibilities in a mixture of von Mises-Fisher distributions over weighted words.

    Parameters
    ----------
    n_topics : int
    weighting : {"tf", "tfidf"}
        Counts of words, or counts times inverse document frequency.
    max_words : int or None
        How many words are looked at: those most frequent in the training texts, or all.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.
    kappa : {"free", "shared"}
        A concentration for each component, or one for all; the latter did better in cross-validation.
    max_kappa : float
        Largest concentration; a small one, such as 1000, makes responsibilities soft.
    n_init, max_iter, tol, random_state
        As in :class:`parasphere.sphere.movmf.MovMF`.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    idf_ : (n_words,) array or None
    weights_ : (n_topics,) array
    mean_directions_ : (n_topics, n_words) array
    concentrations_ : (n_topics,) array
    n_iter_ : int

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words has the mixing weights.
    Under maximum likelihood nearly all responsibilities are 0 or 1: in tens of thousands of dimensions the clusters are
    narrow.

    Examples
    --------
    >>> texts = ["cat mouse", "mouse cat cat", "sea ship", "ship sea sea"]
    >>> MovMFTopics(2, max_kappa=50.0).fit_transform(texts).round(2)
    array([[1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    weights_: NDArray[np.float64]
    mean_directions_: NDArray[np.float64]
    concentrations_: NDArray[np.float64]
    n_iter_: int
    _layouts: ClassVar = {
        "idf_": "f8[words]?", "weights_": "f8[topics]", "mean_directions_": "f8[topics,words]",
        "concentrations_": "f8[topics]",
    }  # fmt: skip
    _not_negative: ClassVar = ("weights_", "concentrations_")

    def __init__(
        self,
        n_topics: int = 50,
        weighting: Weighting = "tfidf",
        max_words: int | None = None,
        tokenizer: AnyTokenizer | None = None,
        *,
        kappa: Kappa = "shared",
        max_kappa: float = vmf.MAX_KAPPA,
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: Any = 0,
    ) -> None:
        self.n_topics = n_topics
        self.weighting = weighting
        self.max_words = max_words
        self.tokenizer = tokenizer
        self.kappa = kappa
        self.max_kappa = max_kappa
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the components from texts; labels are not looked at."""
        rows = self._fit_rows(X)
        mixture = MovMF(
            self.n_topics, kappa=self.kappa, max_kappa=self.max_kappa, n_init=self.n_init, max_iter=self.max_iter,
            tol=self.tol, random_state=self.random_state,
        ).fit(rows)  # fmt: skip
        self.weights_, self.concentrations_ = mixture.weights_, mixture.concentrations_
        self.mean_directions_, self.n_iter_ = mixture.mean_directions_, mixture.n_iter_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the responsibilities, (n_docs, n_topics)."""
        check_is_fitted(self, "mean_directions_")
        mixture = MovMF(self.n_topics)
        mixture.weights_, mixture.concentrations_ = self.weights_, self.concentrations_
        mixture.mean_directions_ = self.mean_directions_
        mixture.n_features_in_ = self.mean_directions_.shape[1]
        rows = self._rows(X)
        return mixture.predict_proba(rows) if rows.shape[0] else np.empty((0, self._n_features_out))

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)
