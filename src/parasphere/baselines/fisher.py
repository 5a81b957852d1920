r"""Fisher vectors (Clinchant and Perronnin 2013): how a text would move a Gaussian mixture over word vectors.

A mixture with weights :math:`\pi_k`, means :math:`\mu_k` and deviations :math:`\sigma_k` (diagonal) is fitted to the
words of the training texts. With the posteriors :math:`\gamma_k(x)` and :math:`z_k = (x - \mu_k) / \sigma_k`, a text
of T words is the gradient of its mean log-likelihood, scaled by the diagonal of the Fisher information:

.. math::
    G_{\mu_k} = \frac{1}{T \sqrt{\pi_k}} \sum_t \gamma_k(x_t)\, z_k(x_t), \qquad
    G_{\sigma_k} = \frac{1}{T \sqrt{2 \pi_k}} \sum_t \gamma_k(x_t) \left( z_k(x_t)^2 - 1 \right), \qquad
    G_{\pi_k} = \frac{1}{T \sqrt{\pi_k}} \sum_t \left( \gamma_k(x_t) - \pi_k \right)

Each term depends on the word alone, so it is computed once for each distinct word and summed by the counts.
"""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..errors import CorpusError
from ..text import AnyTokenizer, count_matrix
from ..vectors import GLOVE, WordVectors
from .base import TextEncoder, loaded


class FisherVector(TextEncoder):
    """Texts as Fisher vectors of a Gaussian mixture over unit word vectors.

    Parameters
    ----------
    vectors : str, path or WordVectors
        Word vectors, or what :meth:`WordVectors.load` takes.
    n_components : int
        How many Gaussians.
    weights : bool
        Take the gradient with respect to the Gaussians' weights too.
    power : float
        Each number becomes its sign times its size to this power; 1 leaves it.
    unit : bool
        Scale each vector to unit length, after the power.
    max_tokens : int
        To how many words of the training texts, drawn at random, the mixture is fitted at most.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.
    random_state : int, RandomState or None
        For the words that are drawn, and the mixture's start.

    Attributes
    ----------
    vectors_ : WordVectors
    weights_ : (n_components,) float64
    means_, deviations_ : (n_components, dim) float64

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without known words has the zero vector. The
    columns are the Gaussians' in turn: for each its means', its deviations' and, if asked for, its weight's.

    Examples
    --------
    >>> compass = WordVectors.from_arrays(["north", "east", "south"], [[0, 1], [1, 0], [0, -1]])
    >>> fisher = FisherVector(compass, n_components=1, power=1, unit=False).fit(["north north south", "east"])
    >>> fisher.transform(["north", "up"]).round(2)
    array([[-0.58,  0.9 , -0.47, -0.13],
           [ 0.  ,  0.  ,  0.  ,  0.  ]], dtype=float32)
    """

    vectors_: WordVectors
    weights_: NDArray[np.float64]
    means_: NDArray[np.float64]
    deviations_: NDArray[np.float64]
    _layouts: ClassVar = {
        "weights_": "f8[n_components]", "means_": "f8[n_components,dim]", "deviations_": "f8[n_components,dim]",
    }  # fmt: skip
    _positive: ClassVar = ("weights_", "deviations_")

    def __init__(
        self,
        vectors: Any = GLOVE,
        n_components: int = 4,
        weights: bool = False,
        power: float = 0.5,
        unit: bool = True,
        max_tokens: int = 50_000,
        tokenizer: AnyTokenizer | None = None,
        random_state: Any = 0,
    ) -> None:
        self.vectors = vectors
        self.n_components = n_components
        self.weights = weights
        self.power = power
        self.unit = unit
        self.max_tokens = max_tokens
        self.tokenizer = tokenizer
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Fit the mixture to the texts' words; labels are not looked at."""
        if self.n_components < 1:
            raise ValueError(f"n_components must be at least 1, not {self.n_components!r}")
        if not self.power > 0:
            raise ValueError(f"power must be positive, not {self.power!r}")
        self.vectors_ = loaded(self.vectors)
        rng = check_random_state(self.random_state)
        words = self._drawn(X, rng)
        mixture = GaussianMixture(self.n_components, covariance_type="diag", random_state=rng)
        mixture.fit(self.vectors_.matrix[words].astype(np.float64))
        self.weights_ = mixture.weights_
        self.means_ = mixture.means_
        self.deviations_ = np.sqrt(mixture.covariances_)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the Fisher vectors, (n_docs, n_components * 2 * dim), or one more a component with ``weights``."""
        check_is_fitted(self, "means_")
        words, counts = self._distinct(X)
        lengths = np.maximum(counts.sum(axis=1), 1)
        shares = sparse.diags_array(1 / lengths).tocsr() @ counts  # each word's part of its text
        table = self.vectors_.matrix[words].astype(np.float64)
        posteriors = self._posteriors(table)
        gradients = np.empty((shares.shape[0], self._n_features_out), np.float32)
        width = self._n_features_out // self.n_components
        for k in range(self.n_components):  # one at a time: the table of all may be larger than the texts' vectors
            gradients[:, k * width : (k + 1) * width] = shares @ self._gradient(table, posteriors[:, k], k)
        return self._scaled(gradients)

    def _gradient(self, table: NDArray[np.float64], posterior: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        """Return what each word adds to a text's columns of one Gaussian, (n_words, width)."""
        z = (table - self.means_[k]) / self.deviations_[k]
        parts = [posterior[:, None] * z, posterior[:, None] * (z**2 - 1) / np.sqrt(2)]
        if self.weights:
            parts.append((posterior - self.weights_[k])[:, None])
        return np.asarray(np.concatenate(parts, axis=1) / np.sqrt(self.weights_[k]))

    def _posteriors(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each Gaussian given each word, (n_words, n_components)."""
        told = np.empty((len(table), self.n_components))
        for k in range(self.n_components):
            z = (table - self.means_[k]) / self.deviations_[k]
            told[:, k] = np.log(self.weights_[k]) - np.log(self.deviations_[k]).sum() - 0.5 * (z**2).sum(axis=1)
        return np.asarray(np.exp(told - logsumexp(told, axis=1, keepdims=True))) if len(told) else told

    def _scaled(self, gradients: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.power != 1:
            gradients = np.copysign(np.abs(gradients) ** np.float32(self.power), gradients)
        return normalize(gradients, copy=False) if self.unit and len(gradients) else gradients

    def _drawn(self, X: Any, rng: np.random.RandomState) -> NDArray[np.int64]:
        """Return the row of every word of the texts, each as often as it occurs, or of ``max_tokens`` of them."""
        words, counts = self._distinct(X)
        tokens = np.repeat(words, np.asarray(counts.sum(axis=0)).astype(np.int64))
        if len(tokens) < max(self.n_components, 2):
            least = max(self.n_components, 2)
            raise CorpusError(f"the texts have {len(tokens)} known words; {self.n_components} Gaussians need {least}")
        if len(tokens) <= self.max_tokens:
            return tokens
        return np.asarray(tokens[rng.choice(len(tokens), self.max_tokens, replace=False)])

    def _distinct(self, X: Any) -> tuple[NDArray[np.int64], sparse.csr_array]:
        """Return the rows of the words that occur, (n_distinct,), and their counts, (n_docs, n_distinct)."""
        counts = count_matrix(X, self.vectors_.vocabulary, self._words())
        words, columns = np.unique(counts.indices, return_inverse=True)
        shape = (counts.shape[0], len(words))
        return words, sparse.csr_array((counts.data.astype(np.float64), columns, counts.indptr), shape=shape)

    @property
    def _n_features_out(self) -> int:
        return self.n_components * (2 * int(self.means_.shape[1]) + self.weights)
