"""Latent Dirichlet allocation, by gensim's online variational Bayes with a compiled E-step.

gensim's ``LdaMulticore`` is not deterministic, because its result depends on the timing of its workers. Its serial
``LdaModel`` is, but has an E-step written in Python. Here that E-step is compiled, with the same updates and a fixed
starting point, so that the topics of a text depend neither on chance nor on the other texts.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ..compiled.jit import compiled
from ..compiled.layout import guarded
from ..errors import import_extra
from ..progress import progress
from ..sphere.proportions import expected_logs
from ..text import AnyTokenizer
from .base import COUNT, POSITIVE, SHARED, CountEncoder, Described


@dataclass(eq=False, repr=False)
class TopicsLDA(Described, CountEncoder):
    """Texts as their expected topic proportions in latent Dirichlet allocation (Blei et al. 2003).

    The extra ``gensim`` is needed to fit, not to transform.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = SHARED | {
        "passes": [COUNT], "alpha": [POSITIVE, None], "eta": [POSITIVE, None], "chunk_size": [COUNT],
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
        topics = np.exp(expected_logs(self.lambda_.astype(np.float64)))
        posterior, _ = e_step(counts, topics, self.alpha_, self.max_iter_, self.tol_)
        return np.asarray(posterior / posterior.sum(axis=1, keepdims=True))

    def _trained(self, counts: sparse.csr_array) -> NDArray[np.float32]:
        """Train with gensim and return the parameters of the topics, (n_topics, n_words)."""
        base: Any = import_extra("gensim.models", "gensim", "Latent Dirichlet allocation").LdaModel
        alpha, max_iter, tol = self.alpha_, self.max_iter, self.tol
        n_docs, n_words = counts.shape
        with progress("fitting topics", n_docs * self.passes, unit="texts", shown=bool(self.verbose)) as advance:

            class Compiled(base):
                """gensim's model whose documents are rows of ``counts``."""

                def inference(self, chunk: list[int], collect_sstats: bool = False) -> tuple[Any, Any]:  # noqa: ARG002
                    topics = self.expElogbeta.astype(np.float64)
                    posterior, gains = e_step(counts[chunk], topics, alpha, max_iter, tol)
                    advance(len(chunk))
                    return posterior.astype(self.dtype), gains.astype(self.dtype)

                def do_mstep(self, rho: float, other: Any, extra_pass: bool = False) -> None:
                    # As gensim's, without the difference between the topics, which would take as long again.
                    self.state.blend(rho, other)
                    self.sync_state()
                    self.num_updates += 0 if extra_pass else other.numdocs

            # No bound is evaluated: it would take half the time.
            model = Compiled(
                range(n_docs), num_topics=self.n_topics, id2word=dict.fromkeys(range(n_words), ""), alpha=alpha,
                eta=self.eta, passes=self.passes, chunksize=self.chunk_size, eval_every=None,
                random_state=check_random_state(self.random_state),
            )  # fmt: skip
        return np.asarray(model.state.get_lambda(), np.float32)

    def _word_weights(self) -> NDArray[np.float32]:
        prior = self.lambda_.min(axis=1, keepdims=True)  # of a word that the topic does not have
        return np.where(self.lambda_ > prior, self.lambda_, np.float32(0))

    @property
    def _n_features_out(self) -> int:
        return len(self.lambda_)


def e_step(
    counts: sparse.csr_array, topics: NDArray[np.float64], alpha: float, max_iter: int, tol: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the posterior of the topics of each text, given ``topics``, exp(E[log p(w | z)]), (n_topics, n_words).

    Returns the Dirichlet parameters of the texts, (n_docs, n_topics), and the expected number of times that each topic
    generated each word, (n_topics, n_words).
    """
    if counts.shape[1] != topics.shape[1]:
        raise ValueError(f"counts of {counts.shape[1]} words do not fit topics of {topics.shape[1]}")
    words = np.ascontiguousarray(topics.T)
    posterior = np.ones((counts.shape[0], len(topics)))
    gains = np.zeros_like(words)
    data = counts.data.astype(np.float64)
    _infer(counts.indptr, counts.indices, data, words, alpha, max_iter, tol, posterior, gains)
    return posterior, np.asarray((gains * words).T)


@guarded(
    starts="i[n+1]", ids="i[entries]", counts="f8[entries]", words="f8[words,topics]", posterior="f8[n,topics]",
    gains="f8[words,topics]",
)  # fmt: skip
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
    whole = _digamma(parameters.sum())
    for place in range(len(parameters)):
        out[place] = np.exp(_digamma(parameters[place]) - whole)


@compiled
def _digamma(x: float) -> float:
    """Return the digamma function of a positive number, by recurrence and asymptotic series."""
    shift = 0.0
    while x < 8.0:
        shift -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    series = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r * (1 / 132 - r * 691 / 32760)))))
    value: float = shift + np.log(x) - 0.5 / x - series
    return value
