"""SAM: texts as mixtures of topics, all unit vectors over weighted words."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from scipy import sparse
from sklearn.utils import check_random_state

from parasphere.text import AnyTokenizer

from ..sphere import SphericalAdmixture
from .movmf import DirectionTopics, Weighting


@dataclass(eq=False, repr=False)
class SphericalAdmixtureTopics(DirectionTopics):
    """Texts as their expected proportions of topics in a spherical admixture model over weighted words.

    Parameters
    ----------
    n_topics : int, default=50
        Number of topics.
    weighting : {"tf", "tfidf"}, default="tfidf"
        Counts of words, or counts times inverse document frequency.
    max_words : int, default=None
        Use only so many words, the most frequent ones; None is all.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased, without English stop words.
    n_init : int, default=1
        Number of starts, of which the one with the highest bound is kept.
    max_iter : int, default=100
        Maximum number of iterations per start.
    tol : float, default=0.1
        Stop when the bound per text rises by no more than this, in nats.
    random_state : int, RandomState or None, default=0
        Seeds the initial topics.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The words, most frequent first, and what texts are split with.
    idf_ : (n_words,) float64
        The factor of each word; 1 if ``weighting`` is "tf".
    model_ : SphericalAdmixture
        The fitted admixture.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words has the proportions of
    the prior, ``model_.alpha_ / sum(model_.alpha_)``.

    Examples
    --------
    >>> texts = ["cat mouse", "mouse cat cat", "sea ship", "ship sea sea"] * 3
    >>> pure, mixed = SphericalAdmixtureTopics(2).fit(texts).transform(["cat mouse", "sea ship cat mouse"])
    >>> bool(pure.max() > 0.9), mixed.round(1)
    (True, array([0.5, 0.5]))
    """

    n_topics: int = 50
    weighting: Weighting = "tfidf"
    max_words: int | None = None
    tokenizer: AnyTokenizer | None = None
    _: KW_ONLY
    n_init: int = 1
    max_iter: int = 100
    tol: float = 0.1
    random_state: Any = 0
    verbose: bool = False

    model_: SphericalAdmixture = field(init=False)

    def _fitted_model(self, rows: sparse.csr_array) -> SphericalAdmixture:
        seeds = [self.random_state]
        if self.n_init > 1:
            seeds = check_random_state(self.random_state).randint(2**31, size=self.n_init).tolist()
        fits = (self._new_model(seed).fit(rows) for seed in seeds)
        return max(fits, key=lambda model: float(model.bound_[-1]))

    def _new_model(self, seed: Any) -> SphericalAdmixture:
        return SphericalAdmixture(
            self.n_topics, max_iter=self.max_iter, tol=self.tol, random_state=seed, verbose=self.verbose
        )
