r"""Probabilistic latent semantic indexing (Hofmann 1999): texts as mixtures of topics, by maximum likelihood.

The model says :math:`p(w \mid d) = \sum_z p(z \mid d)\, p(w \mid z)`. EM fits it: the E-step distributes each
count :math:`n(d, w)` among topics in proportion to :math:`p(z \mid d)\, p(w \mid z)`, the M-step normalises what each
text and each topic received. (Non-negative matrix factorisation with the Kullback-Leibler loss is the same up to
scale.) The compiled loop visits only the words that a text has.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from parasphere.errors import CorpusError
from parasphere.text import AnyTokenizer

from ..loops import compiled
from ..progress import progress
from .base import ComponentTopicsMixin, CountEncoder


@dataclass(eq=False, repr=False)
class ProbabilisticLatentSemanticIndex(ComponentTopicsMixin, CountEncoder):
    """Texts as the probabilities of their topics, p(z | d).

    Parameters
    ----------
    n_topics : int, default=50
        Number of topics.
    max_iter : int, default=100
        Maximum number of EM steps, to fit and to fold in a text.
    tol : float, default=1e-4
        Stop fitting when a step raises the log-likelihood by less than this fraction of it; stop folding in when no
        probability changes by this much.
    max_words : int, default=None
        Use only so many words, the most frequent ones; None is all.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased, without English stop words.
    random_state : int, RandomState or None, default=0
        Seeds the initial topics.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The words, most frequent first, and what texts are split with.
    components_ : (n_topics, n_words) float64
        Probabilities of the words in each topic, p(w | z).
    topic_shares_ : (n_topics,) float64
        Probabilities of the topics in all training texts together, p(z).
    log_likelihood_ : (n_iter_ + 1,) float64
        Log-likelihood of the training texts at the start and after each step; it never falls.
    n_iter_ : int
        Number of EM steps.
    max_iter_, tol_
        The parameters of the fit.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. Every text, whether new or one of the training texts, is
    folded in on its own: p(z | d) starts from p(z) and is fitted by EM with p(w | z) fixed. Words that no training text
    has are ignored; a text without known words has p(z).

    Examples
    --------
    >>> texts = ["north sea", "north sea sea", "east wind", "east wind east"]
    >>> topics = ProbabilisticLatentSemanticIndex(2).fit(texts)
    >>> topics.transform(["sea", "wind", "up"]).round(2)
    array([[1. , 0. ],
           [0. , 1. ],
           [0.5, 0.5]])
    >>> round(topics.perplexity(["sea north", "wind"]), 2)
    2.18
    """

    n_topics: int = 50
    max_iter: int = 100
    tol: float = 1e-4
    max_words: int | None = None
    tokenizer: AnyTokenizer | None = None
    random_state: Any = 0
    verbose: bool = False

    _fixed: ClassVar = ("max_iter", "tol")

    max_iter_: int = field(init=False)
    tol_: float = field(init=False)
    topic_shares_: NDArray[np.float64] = field(init=False)
    log_likelihood_: NDArray[np.float64] = field(init=False)
    n_iter_: int = field(init=False)
    _layouts: ClassVar = {"components_": "f8[topics,words]", "topic_shares_": "f8[topics]"}
    _not_negative: ClassVar = ("components_", "topic_shares_")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the topics; ``y`` is ignored."""
        counts = self._fit_counts(X)
        rng = check_random_state(self.random_state)
        words = _columns_to_one(rng.uniform(0.5, 1.5, (counts.shape[1], self.n_topics)))  # p(w | z)
        mixes = np.full((counts.shape[0], self.n_topics), 1 / self.n_topics)  # p(z | d)
        trace: list[float] = []
        with progress("fitting topics", self.max_iter, shown=bool(self.verbose)) as advance:
            for _ in range(self.max_iter):
                gains = np.zeros_like(words)
                trace.append(_em_step(*_parts(counts), words, mixes, gains))
                words = _columns_to_one(gains)
                advance(1)
                if len(trace) > 1 and trace[-1] - trace[-2] < self.tol * abs(trace[-1]):
                    break
        trace.append(_em_step(*_parts(counts), words, mixes.copy(), np.zeros_like(words)))
        self.components_ = np.ascontiguousarray(words.T)
        self.topic_shares_ = gains.sum(axis=0) / gains.sum()
        self.log_likelihood_ = np.array(trace)
        self.n_iter_ = len(trace) - 1
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the topics, (n_docs, n_topics); each row sums to 1."""
        return self._folded_in(self._counts(X))[0]

    def perplexity(self, X: Any) -> float:
        """Return exp(- mean log p(w | d)) over the known words of texts, which are folded in; lower is better."""
        counts = self._counts(X)
        if not counts.nnz:
            raise CorpusError("none of the texts has a known word; a perplexity needs at least one")
        _, log_likelihoods = self._folded_in(counts)
        return float(np.exp(-log_likelihoods.sum() / counts.sum()))

    def _folded_in(self, counts: sparse.csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return p(z | d), (n_docs, n_topics), and the log-likelihood of each text, (n_docs,)."""
        mixes = np.tile(self.topic_shares_, (counts.shape[0], 1))
        log_likelihoods = np.zeros(counts.shape[0])
        words = np.ascontiguousarray(self.components_.T)
        if counts.shape[1] != len(words):
            raise ValueError(f"counts of {counts.shape[1]} words do not fit topics of {len(words)}")
        _fold_in(*_parts(counts), words, self.max_iter_, self.tol_, mixes, log_likelihoods)
        return mixes, log_likelihoods


def _parts(counts: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    return counts.indptr, counts.indices, counts.data.astype(np.float64)


def _columns_to_one(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(gains / np.maximum(gains.sum(axis=0), np.finfo(float).tiny))


@compiled(fastmath={"reassoc"})  # lets the compiler sum several topics at a time
def _share_out(ids: Any, counts: Any, words: Any, mix: Any, gain: Any, gains: Any) -> float:
    """Distribute the counts of one text among topics, adding to ``gain`` and, unless it is empty, to ``gains``.

    Returns the log-likelihood of the text.
    """
    log_likelihood = 0.0
    for place in range(len(ids)):
        row = words[ids[place]]
        total = 1e-300  # avoids division by 0 if all products vanish
        for topic in range(len(mix)):
            total += mix[topic] * row[topic]
        log_likelihood += counts[place] * np.log(total)
        scale = counts[place] / total
        for topic in range(len(mix)):
            gain[topic] += scale * mix[topic] * row[topic]
        if len(gains):
            received = gains[ids[place]]
            for topic in range(len(mix)):
                received[topic] += scale * mix[topic] * row[topic]
    return log_likelihood


@compiled
def _em_step(starts: Any, ids: Any, counts: Any, words: Any, mixes: Any, gains: Any) -> float:
    """Take one EM step: replace ``mixes`` (n_docs, n_topics) and add to ``gains`` (n_words, n_topics).

    Returns the log-likelihood before the step.
    """
    log_likelihood = 0.0
    gain = np.empty(mixes.shape[1])
    for doc in range(len(mixes)):
        begin, end = starts[doc], starts[doc + 1]
        if end > begin:
            gain[:] = 0.0
            log_likelihood += _share_out(ids[begin:end], counts[begin:end], words, mixes[doc], gain, gains)
            mixes[doc] = gain / gain.sum()
    return log_likelihood


@compiled
def _fold_in(
    starts: Any, ids: Any, counts: Any, words: Any, max_iter: int, tol: float, mixes: Any, log_likelihoods: Any
) -> None:
    """Fit the topics of each text with fixed p(w | z); ``mixes`` holds the start and then the result."""
    gain = np.empty(mixes.shape[1])
    nothing = np.empty((0, mixes.shape[1]))
    for doc in range(len(mixes)):
        begin, end = starts[doc], starts[doc + 1]
        if begin == end:
            continue
        mix = mixes[doc]
        for _ in range(max_iter):
            gain[:] = 0.0
            _share_out(ids[begin:end], counts[begin:end], words, mix, gain, nothing)
            gain /= gain.sum()
            moved = np.abs(gain - mix).max()
            mix[:] = gain
            if moved < tol:
                break
        log_likelihoods[doc] = _share_out(ids[begin:end], counts[begin:end], words, mix, gain, nothing)
