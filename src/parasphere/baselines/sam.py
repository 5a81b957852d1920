"""SAM: how much of each topic a text's weighted words have, topics being directions."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..sphere.admixture import SphericalAdmixture
from ..text import AnyTokenizer
from .movmf import WeightedEncoder, Weighting


class SphericalAdmixtureTopics(WeightedEncoder):
    """Texts as their expected proportions of topics in a spherical admixture model over weighted words.

    Parameters
    ----------
    n_topics : int
    weighting : {"tf", "tfidf"}
        Counts of words, or counts times inverse document frequency.
    max_words : int or None
        How many words are looked at: those most frequent in the training texts, or all.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.
    max_iter, tol, random_state
        As in :class:`parasphere.sphere.admixture.SphericalAdmixture`.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    idf_ : (n_words,) array or None
    topics_ : (n_topics, n_words) array
    alpha_ : (n_topics,) array
    kappa_, xi_ : float
    centre_ : (n_words,) array
    n_iter_ : int

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words has the proportions of
    the prior, ``alpha_ / sum(alpha_)``.

    Examples
    --------
    >>> texts = ["cat mouse", "mouse cat cat", "sea ship", "ship sea sea"] * 3
    >>> found = SphericalAdmixtureTopics(2).fit(texts).transform(["cat mouse", "sea ship cat mouse"])
    >>> bool(found[0].max() > 0.9), found[1].round(1)
    (True, array([0.5, 0.5]))
    """

    topics_: NDArray[np.float64]
    alpha_: NDArray[np.float64]
    kappa_: float
    xi_: float
    centre_: NDArray[np.float64]
    n_iter_: int
    _layouts: ClassVar = {
        "idf_": "f8[words]?", "topics_": "f8[topics,words]", "alpha_": "f8[topics]", "centre_": "f8[words]",
    }  # fmt: skip
    _positive: ClassVar = ("alpha_", "kappa_", "xi_")

    def __init__(
        self,
        n_topics: int = 50,
        weighting: Weighting = "tfidf",
        max_words: int | None = None,
        tokenizer: AnyTokenizer | None = None,
        *,
        max_iter: int = 100,
        tol: float = 0.1,
        random_state: Any = 0,
    ) -> None:
        self.n_topics = n_topics
        self.weighting = weighting
        self.max_words = max_words
        self.tokenizer = tokenizer
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the topics from texts; labels are not looked at."""
        rows = self._fit_rows(X)
        model = SphericalAdmixture(
            self.n_topics, max_iter=self.max_iter, tol=self.tol, random_state=self.random_state
        ).fit(rows)
        self.topics_, self.alpha_, self.centre_ = model.topics_, model.alpha_, model.centre_
        self.kappa_, self.xi_, self.n_iter_ = model.kappa_, model.xi_, model.n_iter_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the expected proportions, (n_docs, n_topics)."""
        check_is_fitted(self, "topics_")
        model = SphericalAdmixture(self.n_topics)
        model.topics_, model.alpha_, model.centre_ = self.topics_, self.alpha_, self.centre_
        model.kappa_, model.xi_, model.n_features_in_ = self.kappa_, self.xi_, self.topics_.shape[1]
        rows = self._rows(X)
        return model.transform(rows) if rows.shape[0] else np.empty((0, self._n_features_out))

    @property
    def _n_features_out(self) -> int:
        return len(self.alpha_)
