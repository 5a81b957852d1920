"""Word vectors learned from texts by the leave-out likelihood of the Spherical Paragraph Model."""

from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..errors import VectorsError
from ..parameters import (
    BOOLEAN,
    CALLABLE,
    N_JOBS,
    NONE,
    PATH,
    RANDOM_STATE,
    VERBOSE,
    Constraints,
    check_parameters,
    instance_of,
    number,
)
from ..places import ENGLISH
from ..storage import Saved
from ..text import AnyTokenizer, Tokenizer
from .learning import Learning, LearningSettings, with_others
from .learning_texts import read_texts, seed_of
from .wordvectors import WordVectors

UPDATING = 300.0  # least concentration of the prior around vectors that partial_fit updates


class JointVectors(Saved, BaseEstimator):
    """Word vectors and word weights, learned from texts without labels.

    Words are held out of each text and predicted from the SPM posterior of the other words. Vectors, weights and
    concentrations follow the gradient of that likelihood. Models accept a learner in place of vectors:
    ``SphericalParagraphModel(JointVectors(dim=300))`` learns the vectors inside ``fit``.

    Parameters
    ----------
    dim : int, default=None
        Dimension of the vectors; None is that of ``start``, or 100. It cannot be smaller than that of ``start``. If it
        is larger, the additional coordinates of known words are initialised at random.
    start : str, path, WordVectors or None, default="english-128"
        Initial vectors, and weights if they have any. Words without a vector are initialised near the mean of the
        others; None initialises all words at random. Words of ``start`` that are not learned keep their vectors.
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None is the tokenizer of the model that the learner is part of, and otherwise
        ``Tokenizer(digits=True)``: lower-cased runs of Unicode letters and digits, including stop words (which get
        small weights).
    start_strength : float, default=0.0
        Concentration of a vMF prior of each word around its vector in ``start``. To compare sentences by vectors made
        for that, 1,000,000 together with ``weigh=False`` hardly changes the vectors, and learns the words they lack.
    epochs : int, default=None
        Passes over the texts. None learns from about 45 million words, in 4 to 18 passes (40 if ``start`` is None), and
        stops earlier once the held-out texts are predicted no better.
    rate : float, default=0.8
        Initial length of the steps; it decreases linearly to zero.
    min_count : int, default=2
        Words with fewer occurrences are not learned.
    weigh : bool, default=True
        Learn a weight per word; otherwise words keep the weights of ``start``, or 1 if it has none.
    random_state : int, RandomState or None, default=0
        Seed of initial vectors and sampling; the same integer gives the same bits.
    n_jobs : int, default=None
        Number of threads; None is 1, -1 is one per core. Results do not depend on it.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    vectors_ : WordVectors
        Unit rows; ``vectors_.weights`` are the weights of the words, with mean 1 over the texts. The words of the texts
        come first, then the other words of ``start``.
    gained_ : bool
        Whether the held-out texts are predicted better than with the vectors of ``start``, which are kept if not.
    tokenizer_ : Tokenizer or callable
        The tokenizer that was used.
    concentration_, prior_concentration_ : float
        The concentrations kappa and kappa0, learned with the vectors; finally fitted to the held-out texts, if there
        are enough.
    mean_direction_ : (dim,) float32
        The mean direction mu0, learned with the vectors.
    losses_, held_out_losses_ : (n_epochs,) float64
        Loss per held-out word after each epoch, on the texts that are learned from and on the held-out texts (5 % of
        all, at most 5,000): minus the log of the word's share among itself and randomly drawn words. More words are
        drawn for the held-out texts, so the two cannot be compared with each other.

    Examples
    --------
    >>> texts = ["cats purr, cats meow", "dogs bark, dogs growl"] * 50
    >>> learner = JointVectors(dim=8, start=None).fit(texts)
    >>> sorted(word for word, _ in learner.vectors_.nearest("purr", 2))
    ['cats', 'meow']
    """

    _parameters: ClassVar[Constraints] = {
        "dim": number(int, 2) | NONE,
        "start": PATH | instance_of(WordVectors) | NONE,
        "tokenizer": CALLABLE | NONE,
        "start_strength": number(float, 0),
        "epochs": number(int, 1) | NONE,
        "rate": number(float, 0, closed="neither"),
        "min_count": number(int, 1),
        "weigh": BOOLEAN,
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }

    vectors_: WordVectors
    losses_: NDArray[np.float64]
    held_out_losses_: NDArray[np.float64]

    def __init__(
        self,
        dim: int | None = None,
        *,
        start: Any = ENGLISH,
        tokenizer: AnyTokenizer | None = None,
        start_strength: float = 0.0,
        epochs: int | None = None,
        rate: float = 0.8,
        min_count: int = 2,
        weigh: bool = True,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.dim = dim
        self.start = start
        self.tokenizer = tokenizer
        self.start_strength = start_strength
        self.epochs = epochs
        self.rate = rate
        self.min_count = min_count
        self.weigh = weigh
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn word vectors from texts.

        Parameters
        ----------
        X : iterable, table or Path
            Anything that :func:`parasphere.corpus.blocks` accepts. Word ids are held in memory.
        y : None
            Ignored.
        """
        check_parameters(self)
        start = self.start
        if start is not None and not isinstance(start, WordVectors):
            start = WordVectors.load(start)
        self.tokenizer_ = Tokenizer(digits=True) if self.tokenizer is None else self.tokenizer
        name = "learned" if start is None else f"learned from {start.name}"
        return self._learn(X, start, self._dim(start), self.start_strength, name)

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from more texts: new words are added to the vocabulary, and the vectors of known words change little.

        Learning starts from the vectors and weights learned so far; each vector has a prior of concentration 300 or
        more around it. The first call is :meth:`fit`.

        Parameters
        ----------
        X : iterable, table or Path
            The new texts only; anything that :func:`parasphere.corpus.blocks` accepts.
        y : None
            Ignored.
        """
        if not hasattr(self, "vectors_"):
            return self.fit(X)
        check_parameters(self)
        known = self.vectors_
        return self._learn(X, known, known.dim, max(self.start_strength, UPDATING), known.name)

    def _learn(self, X: Any, start: WordVectors | None, dim: int, strength: float, name: str) -> Self:
        settings = LearningSettings(
            self.epochs, self.rate, self.min_count, weigh=self.weigh, start_strength=strength,
            seed=seed_of(self.random_state),
        )  # fmt: skip
        texts = read_texts(X, self.tokenizer_, settings.min_count, known=True)
        if not (np.diff(texts.ends) > 1).any():
            raise VectorsError("no text has two words to learn from; lower min_count or pass longer texts.")
        learning = Learning(texts, start, dim, settings, effective_n_jobs(self.n_jobs))
        learning.run(bool(self.verbose))
        learning.settle()
        learned = learning.vectors(name)
        self.vectors_ = learned if start is None else with_others(learned, start)
        self.gained_ = learning.gained
        self.concentration_, self.prior_concentration_ = learning.concentrations
        self.mean_direction_ = learning.mean
        self.losses_, self.held_out_losses_ = np.array(learning.losses).reshape(-1, 2).T.copy()
        return self

    def _dim(self, start: WordVectors | None) -> int:
        if self.dim is None:
            return 100 if start is None else start.dim
        if start is not None and self.dim < start.dim:
            raise ValueError(f"dim={self.dim} is less than the {start.dim} dimensions of start, {start.name}.")
        return int(self.dim)
