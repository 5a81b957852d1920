"""Topics of unit vectors over weighted words: movMF, a mixture, and what it shares with SAM, an admixture."""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from parasphere import MovMF, vmf
from parasphere.errors import CorpusError, ParasphereError
from parasphere.parameters import Constraints, one_of
from parasphere.text import AnyTokenizer

from ..sphere import SphericalAdmixture
from .base import SHARED, TopicWordsMixin
from .tfidf import WeightedCounts

Weighting = Literal["tf", "tfidf"]


class DirectionTopics(TopicWordsMixin, WeightedCounts):
    """A text encoder that fits an estimator of unit vectors to weighted word counts, and transforms with it.

    A subclass has a parameter ``weighting``: "tf" for counts, "tfidf" for counts times inverse document frequency.
    """

    weighting: Weighting
    model_: Any

    _parameters: ClassVar[Constraints] = SHARED | MovMF._parameters | {"weighting": one_of("tf", "tfidf")}

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the topics; ``y`` is ignored."""
        rows = self._fit_weighted(X, idf=self.weighting == "tfidf")
        if rows.shape[1] < 2:
            raise CorpusError("directions need at least two words; the training texts, within max_words, have one")
        self.model_ = self._fitted_model(rows)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the shares of the topics in each text, (n_docs, n_topics); each row sums to 1."""
        rows = self._weighted(X)
        return np.asarray(self.model_.transform(rows)) if rows.shape[0] else np.empty((0, self._n_features_out))

    def _word_weights(self) -> NDArray[np.float64]:
        model = self.model_
        return np.asarray(model.mean_directions_ if isinstance(model, MovMF) else model.topics_)

    @abstractmethod
    def _fitted_model(self, rows: sparse.csr_array) -> MovMF | SphericalAdmixture:
        """Return the model of directions, fitted to rows, (n_docs, n_words)."""

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if self.model_.n_features_in_ != len(self.vocabulary_):
            raise ParasphereError("the topics and the vocabulary do not fit each other")

    @property
    def _n_features_out(self) -> int:
        return int(self.model_._n_features_out)


@dataclass(eq=False, repr=False)
class MovMFTopics(DirectionTopics):
    """Texts as their responsibilities in a mixture of von Mises-Fisher distributions over weighted words.

    Parameters
    ----------
    n_topics : int, default=50
        Number of components.
    weighting : {"tf", "tfidf"}, default="tfidf"
        Counts of words, or counts times inverse document frequency.
    max_words : int, default=None
        Use only so many words, the most frequent ones; None is all.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased, without English stop words.
    kappa : {"free", "shared"}, default="shared"
        One concentration per component, or one for all; the latter did better in cross-validation.
    max_kappa : float, default=1e8
        Largest concentration; a small one, such as 1000, makes responsibilities soft.
    n_init : int, default=1
        Number of starts.
    max_iter : int, default=200
        Maximum number of iterations per start.
    tol : float, default=1e-4
        Stop when the mean log-likelihood per text rises by no more than this, in nats.
    random_state : int, RandomState or None, default=0
        Seeds the start.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The words, most frequent first, and what texts are split with.
    idf_ : (n_words,) float64
        The factor of each word; 1 if ``weighting`` is "tf".
    model_ : MovMF
        The fitted mixture.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words has the mixing weights.
    Under maximum likelihood nearly all responsibilities are 0 or 1: in tens of thousands of dimensions the components
    are narrow.

    Examples
    --------
    >>> texts = ["cat mouse", "mouse cat cat", "sea ship", "ship sea sea"]
    >>> MovMFTopics(2, max_kappa=50.0).fit_transform(texts).round(2)
    array([[1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    n_topics: int = 50
    weighting: Weighting = "tfidf"
    max_words: int | None = None
    tokenizer: AnyTokenizer | None = None
    _: KW_ONLY
    kappa: Literal["free", "shared"] = "shared"
    max_kappa: float = vmf.MAX_KAPPA
    n_init: int = 1
    max_iter: int = 200
    tol: float = 1e-4
    random_state: Any = 0
    verbose: bool = False

    model_: MovMF = field(init=False)

    def _fitted_model(self, rows: sparse.csr_array) -> MovMF:
        model = MovMF(
            self.n_topics, kappa=self.kappa, max_kappa=self.max_kappa, n_init=self.n_init, max_iter=self.max_iter,
            tol=self.tol, random_state=self.random_state, verbose=self.verbose,
        )  # fmt: skip
        return model.fit(rows)
