r"""Fisher vectors (Clinchant and Perronnin 2013): gradients of a Gaussian mixture over word vectors.

A mixture with weights :math:`\pi_k`, means :math:`\mu_k` and deviations :math:`\sigma_k` (diagonal) is fitted to the
words of the training texts. With the posteriors :math:`\gamma_k(x)` and :math:`z_k = (x - \mu_k) / \sigma_k`, a text
of T words is the gradient of its mean log-likelihood, scaled by the diagonal of the Fisher information:

.. math::
    G_{\mu_k} = \frac{1}{T \sqrt{\pi_k}} \sum_t \gamma_k(x_t)\, z_k(x_t), \qquad
    G_{\sigma_k} = \frac{1}{T \sqrt{2 \pi_k}} \sum_t \gamma_k(x_t) \left( z_k(x_t)^2 - 1 \right)

Each term depends on the word alone, so that it is computed once per distinct word and summed by the counts.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from parasphere.errors import CorpusError
from parasphere.parameters import BOOLEAN, Constraints
from parasphere.text import AnyTokenizer, count_matrix
from parasphere.vectors import ENGLISH

from .base import COUNT, POSITIVE, SHARED, VectorEncoder, unit_length


@dataclass(eq=False, repr=False)
class FisherVector(VectorEncoder):
    """Texts as Fisher vectors of a Gaussian mixture over unit word vectors.

    Parameters
    ----------
    vectors : str, path, WordVectors or learner, default="english-128"
        Word vectors, or what :meth:`WordVectors.load` takes; or a learner such as :class:`parasphere.JointVectors`,
        which learns them from the training texts.
    n_components : int, default=4
        Number of Gaussians.
    power : float, default=0.5
        Each number becomes its sign times its absolute value to this power; 1 leaves it as it is.
    unit : bool, default=True
        Scale each vector to unit length, after the power.
    max_tokens : int, default=50000
        Fit the mixture to at most so many words of the training texts, drawn at random.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is the learner's tokenizer, if ``vectors`` is one, or runs of Unicode letters,
        lower-cased, without English stop words.
    random_state : int, RandomState or None, default=0
        Seeds the drawn words and the start of the mixture.

    Attributes
    ----------
    vectors_, tokenizer_ : WordVectors, and Tokenizer or callable
        The word vectors, and what texts are split with.
    weights_ : (n_components,) float64
        Weights of the Gaussians.
    means_, deviations_ : (n_components, dim) float64
        Means and standard deviations of the Gaussians.
    power_, unit_
        The parameters of the fit.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without known words has the zero vector. The
    columns are those of each Gaussian in turn: the gradient in its means, then in its deviations.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east", "south"], [[0, 1], [1, 0], [0, -1]])
    >>> fisher = FisherVector(compass, n_components=1, power=1, unit=False).fit(["north north south", "east"])
    >>> fisher.transform(["north", "up"]).round(2)
    array([[-0.58,  0.9 , -0.47, -0.13],
           [ 0.  ,  0.  ,  0.  ,  0.  ]], dtype=float32)
    """

    vectors: Any = ENGLISH
    n_components: int = 4
    power: float = 0.5
    unit: bool = True
    max_tokens: int = 50_000
    tokenizer: AnyTokenizer | None = None
    random_state: Any = 0

    _parameters: ClassVar[Constraints] = SHARED | {
        "n_components": COUNT, "power": POSITIVE, "unit": BOOLEAN, "max_tokens": COUNT,
    }  # fmt: skip
    _fixed: ClassVar = ("power", "unit")

    power_: float = field(init=False)
    unit_: bool = field(init=False)
    weights_: NDArray[np.float64] = field(init=False)
    means_: NDArray[np.float64] = field(init=False)
    deviations_: NDArray[np.float64] = field(init=False)
    _layouts: ClassVar = {
        "weights_": "f8[components]", "means_": "f8[components,dim]", "deviations_": "f8[components,dim]",
    }  # fmt: skip
    _positive: ClassVar = ("weights_", "deviations_")

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Fit the mixture to the words of the texts; ``y`` is ignored."""
        texts = self._fit_vectors(X)
        rng = check_random_state(self.random_state)
        words = self._drawn(texts, rng)
        mixture = GaussianMixture(self.n_components, covariance_type="diag", random_state=rng)
        mixture.fit(self.vectors_.matrix[words].astype(np.float64))
        self.weights_ = mixture.weights_
        self.means_ = mixture.means_
        self.deviations_ = np.sqrt(mixture.covariances_)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the Fisher vectors, (n_docs, n_components * 2 * dim)."""
        check_is_fitted(self)
        words, counts = self._distinct(X)
        lengths = np.maximum(counts.sum(axis=1), 1)
        shares = sparse.diags_array(1 / lengths).tocsr() @ counts  # of each word in its text
        table = self.vectors_.matrix[words].astype(np.float64)
        posteriors = self._posteriors(table)
        gradients = np.empty((shares.shape[0], self._n_features_out), np.float32)
        width = 2 * self.vectors_.dim
        for k in range(len(self.weights_)):  # one at a time: the table of all may be larger than the result
            gradients[:, k * width : (k + 1) * width] = shares @ self._gradient(table, posteriors[:, k], k)
        if self.power_ != 1:
            gradients = np.copysign(np.abs(gradients) ** np.float32(self.power_), gradients)
        return unit_length(gradients) if self.unit_ else gradients

    def _gradient(self, table: NDArray[np.float64], posterior: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        """Return the gradient of each word in the parameters of one Gaussian, (n_words, 2 * dim)."""
        z = (table - self.means_[k]) / self.deviations_[k]
        parts = [posterior[:, None] * z, posterior[:, None] * (z**2 - 1) / np.sqrt(2)]
        return np.asarray(np.concatenate(parts, axis=1) / np.sqrt(self.weights_[k]))

    def _posteriors(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each Gaussian given each word, (n_words, n_components)."""
        joint = np.empty((len(table), len(self.weights_)))
        for k in range(len(self.weights_)):
            z = (table - self.means_[k]) / self.deviations_[k]
            joint[:, k] = np.log(self.weights_[k]) - np.log(self.deviations_[k]).sum() - 0.5 * (z**2).sum(axis=1)
        return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True))) if len(joint) else joint

    def _drawn(self, X: Any, rng: np.random.RandomState) -> NDArray[np.int64]:
        """Return the row of every word of the texts, each as often as it occurs, or of ``max_tokens`` of them."""
        words, counts = self._distinct(X)
        tokens = np.repeat(words, np.asarray(counts.sum(axis=0)).astype(np.int64))
        if len(tokens) < (least := max(self.n_components, 2)):
            raise CorpusError(f"the texts have {len(tokens)} known words; {self.n_components} Gaussians need {least}")
        if len(tokens) <= self.max_tokens:
            return tokens
        return np.asarray(tokens[rng.choice(len(tokens), self.max_tokens, replace=False)])

    def _distinct(self, X: Any) -> tuple[NDArray[np.int64], sparse.csr_array]:
        """Return the rows of the words that occur, (n_distinct,), and their counts, (n_docs, n_distinct)."""
        counts = count_matrix(X, self.vectors_.vocabulary, self.tokenizer_)
        words, columns = np.unique(counts.indices, return_inverse=True)
        shape = (counts.shape[0], len(words))
        return words, sparse.csr_array((counts.data.astype(np.float64), columns, counts.indptr), shape=shape)

    @property
    def _n_features_out(self) -> int:
        return 2 * int(self.means_.size)
