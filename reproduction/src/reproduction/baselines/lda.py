"""Latent Dirichlet allocation by online variational Bayes, with the steps of gensim's ``LdaModel``.

gensim's ``LdaMulticore`` is not deterministic, because its result depends on the timing of its workers. Its serial
``LdaModel`` is, but infers topics in Python and, after each chunk of texts, computes the expected logarithms of every
word of the vocabulary. Here the inference is compiled, has a fixed starting point, so that the topics of a text depend
neither on chance nor on the other texts, and touches only the words of the chunk.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from parasphere.parameters import NONE, Constraints
from parasphere.text import AnyTokenizer

from ..loops import compiled
from ..progress import progress
from .base import COUNT, POSITIVE, SHARED, CountEncoder, TopicWordsMixin

SMALLEST = 1e-100  # what the common factor of the topics may shrink to
SHIFTED = 8.0  # from here on the asymptotic series of the digamma function has an error below 1e-13


@dataclass(eq=False, repr=False)
class TopicsLDA(TopicWordsMixin, CountEncoder):
    """Texts as their expected topic proportions in latent Dirichlet allocation (Blei et al. 2003).

    Parameters
    ----------
    n_topics : int, default=50
        Number of topics.
    passes : int, default=10
        Passes over the training texts.
    alpha : float, default=None
        Dirichlet prior of the topics of a text; None is 1 / n_topics.
    eta : float, default=None
        Dirichlet prior of the words of a topic; None is 1 / n_topics.
    chunk_size : int, default=500
        Number of texts per update of the topics; gensim's 2000 is too many for small corpora.
    max_iter : int, default=50
        Maximum number of E-step iterations per text.
    tol : float, default=1e-3
        Stop the E-step of a text when its parameters change by less than this on average.
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
    lambda_ : (n_topics, n_words) float32
        Parameters of the Dirichlet posterior of each topic: pseudo-counts of the words.
    alpha_ : float
        Dirichlet prior of the topics of a text.
    max_iter_, tol_
        The parameters of the fit.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. Words that no training text has are ignored; a text
    without known words has the mean of the prior: equal proportions.

    Examples
    --------
    >>> texts = ["north sea sea", "north sea", "east wind wind", "east wind"] * 5
    >>> topics = TopicsLDA(2, passes=5).fit(texts)
    >>> topics.transform(["north sea sea north", "wind east", "up"]).round(1)
    array([[0.9, 0.1],
           [0.2, 0.8],
           [0.5, 0.5]])
    """

    n_topics: int = 50
    passes: int = 10
    alpha: float | None = None
    eta: float | None = None
    chunk_size: int = 500
    max_iter: int = 50
    tol: float = 1e-3
    max_words: int | None = None
    tokenizer: AnyTokenizer | None = None
    random_state: Any = 0
    verbose: bool = False

    _parameters: ClassVar[Constraints] = SHARED | {
        "passes": COUNT, "alpha": POSITIVE | NONE, "eta": POSITIVE | NONE, "chunk_size": COUNT,
    }  # fmt: skip
    _fixed: ClassVar = ("max_iter", "tol")

    max_iter_: int = field(init=False)
    tol_: float = field(init=False)
    lambda_: NDArray[np.float32] = field(init=False)
    alpha_: float = field(init=False)
    _layouts: ClassVar = {"lambda_": "f4[topics,words]"}
    _positive: ClassVar = ("lambda_", "alpha_")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the topics; ``y`` is ignored."""
        counts = self._fit_counts(X)
        self.alpha_ = 1 / self.n_topics if self.alpha is None else float(self.alpha)
        self.lambda_ = self._trained(counts)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the expected proportions of the topics, (n_docs, n_topics); each row sums to 1."""
        counts = self._counts(X)
        present, counts = _present(counts)
        parameters = np.ascontiguousarray(self.lambda_.T[present], np.float64)
        words = exp_expected_logs(parameters, self.lambda_.sum(axis=1, dtype=np.float64))
        posterior, _ = e_step(counts, words, self.alpha_, self.max_iter_, self.tol_)
        return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))

    def _trained(self, counts: sparse.csr_array) -> NDArray[np.float32]:
        """Return the parameters of the topics, (n_topics, n_words), after stochastic steps of one chunk of texts each.

        The expected number of times that each topic generated each word is ``shrunk * gains``: a step that shrinks all
        of them changes one number, so that its cost does not grow with the vocabulary.
        """
        n_docs, n_words = counts.shape
        eta = 1 / self.n_topics if self.eta is None else float(self.eta)
        start = check_random_state(self.random_state).gamma(100.0, 0.01, (self.n_topics, n_words))
        gains, shrunk = np.ascontiguousarray(start.T) - eta, 1.0
        totals = gains.sum(axis=0)
        chunks = [_present(counts[begin : begin + self.chunk_size]) for begin in range(0, n_docs, self.chunk_size)]
        with progress("fitting topics", n_docs * self.passes, shown=bool(self.verbose)) as advance:
            for number in range(self.passes):
                for place, (present, chunk) in enumerate(chunks):
                    words = exp_expected_logs(eta + shrunk * gains[present], n_words * eta + shrunk * totals)
                    _, gained = e_step(chunk, words, self.alpha_, self.max_iter, self.tol)
                    rate = self._rate(number, place, n_docs)
                    if rate < 1:
                        shrunk *= 1 - rate
                    else:  # the first step forgets the random start
                        gains[:], totals[:] = 0.0, 0.0
                    gained *= rate * n_docs / (chunk.shape[0] * shrunk)  # as if all texts were like these
                    gains[present] += gained
                    totals += gained.sum(axis=0)
                    if shrunk < SMALLEST:
                        gains, totals, shrunk = gains * shrunk, totals * shrunk, 1.0
                    advance(chunk.shape[0])
        return np.asarray(eta + shrunk * gains.T, np.float32)

    def _rate(self, number: int, place: int, n_docs: int) -> float:
        """Return the share of a step in the topics: that of a chunk, by its place, in one of the passes."""
        read = n_docs if number else place * self.chunk_size  # as gensim has it: further passes do not count
        return float((1 + number + read / min(self.chunk_size, n_docs)) ** -0.5)

    def _word_weights(self) -> NDArray[np.float32]:
        prior = self.lambda_.min(axis=1, keepdims=True)  # of a word that the topic does not have
        return np.where(self.lambda_ > prior, self.lambda_, np.float32(0))

    @property
    def _n_features_out(self) -> int:
        return len(self.lambda_)


def exp_expected_logs(parameters: NDArray[np.float64], totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(E[log p(w | z)]) of some words, (n_words, n_topics).

    Parameters
    ----------
    parameters : (n_words, n_topics) float64
        Parameters of the Dirichlet distributions of the topics, for these words.
    totals : (n_topics,) float64
        Their sums over all words.
    """
    words = np.empty_like(parameters)
    _exp_digammas(parameters, words)
    whole = np.empty_like(totals)
    _exp_digammas(totals, whole)
    return np.asarray(words / whole)


def e_step(
    counts: sparse.csr_array, words: NDArray[np.float64], alpha: float, max_iter: int, tol: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the posterior of the topics of each text, given ``words``, exp(E[log p(w | z)]), (n_words, n_topics).

    Returns the Dirichlet parameters of the texts, (n_docs, n_topics), and the expected number of times that each topic
    generated each word, (n_words, n_topics).
    """
    if counts.shape[1] != len(words):
        raise ValueError(f"counts of {counts.shape[1]} words do not fit topics of {len(words)}")
    posterior = np.ones((counts.shape[0], words.shape[1]))
    gains = np.zeros_like(words)
    data = counts.data.astype(np.float64)
    _infer(counts.indptr, counts.indices, data, words, alpha, max_iter, tol, posterior, gains)
    gains *= words
    return posterior, gains


def _present(counts: sparse.csr_array) -> tuple[NDArray[np.intp], sparse.csr_array]:
    """Return which words occur in some texts, and the counts of these words alone."""
    present, places = np.unique(counts.indices, return_inverse=True)
    shape = counts.shape[0], len(present)
    return present, sparse.csr_array((counts.data, places.astype(np.int32), counts.indptr), shape)


@compiled
def _infer(
    starts: Any, ids: Any, counts: Any, words: Any, alpha: float, max_iter: int, tol: float, posterior: Any, gains: Any
) -> None:
    """Iterate each row of ``posterior`` to its fixed point (Hoffman et al. 2010, the implicit form of phi)."""
    n_topics = words.shape[1]
    weights = np.empty(n_topics)
    fresh = np.empty(n_topics)
    for doc in range(len(posterior)):
        row = posterior[doc]
        _exp_expected_log(row, weights)
        for _ in range(max_iter):
            fresh[:] = 0.0
            for place in range(starts[doc], starts[doc + 1]):
                word = words[ids[place]]
                part = counts[place] / _dot(weights, word)
                for topic in range(n_topics):
                    fresh[topic] += part * word[topic]
            moved = 0.0
            for topic in range(n_topics):
                value = alpha + weights[topic] * fresh[topic]
                moved += abs(value - row[topic])
                row[topic] = value
            _exp_expected_log(row, weights)
            if moved < tol * n_topics:
                break
        for place in range(starts[doc], starts[doc + 1]):
            part = counts[place] / _dot(weights, words[ids[place]])
            for topic in range(n_topics):
                gains[ids[place], topic] += weights[topic] * part


@compiled(fastmath={"reassoc"})  # lets the compiler sum several terms at a time
def _dot(weights: Any, word: Any) -> float:
    total = 1e-100  # avoids division by 0; gensim adds the epsilon of float32
    for topic in range(len(weights)):
        total += weights[topic] * word[topic]
    return total


@compiled
def _exp_expected_log(parameters: Any, out: Any) -> None:
    """Write exp(E[log p]) of a Dirichlet distribution."""
    _exp_digammas(parameters, out)
    scale = 1.0 / _exp_digamma(parameters.sum())
    for place in range(len(out)):
        out[place] *= scale


@compiled
def _exp_digammas(values: Any, out: Any) -> None:
    flat, written = values.reshape(-1), out.reshape(-1)
    for place in range(len(flat)):
        written[place] = _exp_digamma(flat[place])


@compiled
def _exp_digamma(x: float) -> float:
    """Return the exponential of the digamma function of a positive number, by recurrence and asymptotic series.

    The eight terms of the recurrence are the logarithmic derivative of ``x (x + 1) ... (x + 7)``, a polynomial in
    ``x (x + 7)``: one division instead of eight.
    """
    shift = 0.0
    if x < SHIFTED:
        pairs = x * (x + 7.0)  # of the factors x + k and x + 7 - k
        a, b, c = pairs + 6.0, pairs + 10.0, pairs + 12.0
        product, others = pairs * a, b * c
        shift = (2.0 * x + 7.0) * (others * (pairs + a) + product * (b + c)) / (product * others)
        x += 8.0
    r = 1.0 / x
    q = r * r
    series = q * (1 / 12 - q * (1 / 120 - q * (1 / 252 - q * (1 / 240 - q * (1 / 132 - q * 691 / 32760)))))
    value: float = x * np.exp(-shift - 0.5 * r - series)
    return value
