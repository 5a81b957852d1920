"""Weighted means of word vectors: by idf, by smooth inverse frequency (SIF), and unsupervised SIF (uSIF)."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from parasphere.corpus import blocks, reread
from parasphere.errors import CorpusError
from parasphere.model import Reader
from parasphere.parameters import Constraints
from parasphere.text import AnyTokenizer, count_matrix, count_words
from parasphere.vectors import ENGLISH

from .base import POSITIVE, SHARED, VectorEncoder, smoothed_idf

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class WeightedMean(VectorEncoder):
    """Texts as the mean of their words' unit vectors, weighted by idf.

    Each occurrence of a word that is in ``df`` of ``n`` training texts has the weight ``1 + log((1 + n) / (1 + df))``;
    words that are in none of them have ``df = 0``.

    Parameters
    ----------
    vectors : str, path, WordVectors or learner, default="english-128"
        Word vectors, or what :meth:`WordVectors.load` takes; or a learner such as :class:`parasphere.JointVectors`,
        which learns them from the training texts.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is the learner's tokenizer, if ``vectors`` is one, or runs of Unicode letters,
        lower-cased, without English stop words.

    Attributes
    ----------
    vectors_, tokenizer_ : WordVectors, and Tokenizer or callable
        The word vectors, and what texts are split with.
    weights_ : (n_words,) float64
        The weight of each word that has a vector.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without known words has the zero vector.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> mean = WeightedMean(compass).fit(["north", "north", "north east"])
    >>> mean.transform(["north east", "up"]).round(2)
    array([[0.63, 0.37],
           [0.  , 0.  ]], dtype=float32)
    """

    vectors: Any = ENGLISH
    tokenizer: AnyTokenizer | None = None

    weights_: Floats = field(init=False)
    _layouts: ClassVar = {"weights_": "f8[rows]"}
    _not_negative: ClassVar = ("weights_",)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the weights of the words; ``y`` is ignored."""
        texts = self._fit_vectors(X)
        counts = count_matrix(texts, self.vectors_.vocabulary, self.tokenizer_)
        if not counts.shape[0]:
            raise CorpusError("there are no texts to fit to; at least one is needed")
        self.weights_ = smoothed_idf(counts)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the means, (n_docs, dim)."""
        check_is_fitted(self)
        bags = Reader(self.vectors_, self.tokenizer_, weights=self.weights_).read(X)
        return np.asarray(bags.sums / np.where(bags.lengths > 0, bags.lengths, 1)[:, None], np.float32)


class CommonRemoved(VectorEncoder):
    """A mean of weighted unit word vectors from which common directions are removed, in whole or in part.

    A subclass has the parameters ``vectors`` and ``n_removed``. It weights words by their probability and defines which
    part of each common direction is removed. These are the leading right singular vectors of the training texts' means.
    """

    n_removed: int
    a_: float
    weights_: Floats
    components_: Floats
    removed_: Floats
    _layouts: ClassVar = {"weights_": "f8[rows]", "components_": "f8[removed,dim]", "removed_": "f8[removed]"}
    _not_negative: ClassVar = ("weights_",)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the weights of the words and the common directions; ``y`` is ignored."""
        held = reread(self._fit_vectors(X))
        if self.n_removed > self.vectors_.dim:
            raise ValueError(f"n_removed={self.n_removed} is more than the {self.vectors_.dim} dimensions there are")
        words, counts = count_words(held, self.tokenizer_)
        if not words:
            raise CorpusError("none of the texts has a word; at least one must")
        probabilities = counts / counts.sum()
        units = count_matrix(held, self.vectors_.vocabulary, self.tokenizer_)
        known = np.bincount(units.indices, units.data, len(self.vectors_)) / counts.sum()
        mean_length = int(counts.sum()) / sum(len(block) for block in blocks(held))
        self.a_, self.weights_ = self._weigh(known, probabilities, mean_length)
        means = self._means(held)
        # Eigenvectors of a (dim, dim) matrix: there may be many means.
        squares, directions = np.linalg.eigh(means.T @ means)
        leading = slice(None, -self.n_removed - 1, -1)
        self.components_ = np.ascontiguousarray(directions.T[leading])
        self.removed_ = self._share(np.maximum(squares[leading], 0))
        return self

    def transform(self, X: Any) -> Floats:
        """Return the vectors, (n_docs, dim)."""
        check_is_fitted(self)
        means = self._means(X)
        return np.asarray(means - (means @ self.components_.T * self.removed_) @ self.components_)

    @abstractmethod
    def _weigh(self, known: Floats, probabilities: Floats, mean_length: float) -> tuple[float, Floats]:
        """Return a, and the weight of each word that has a vector, (n_vectors,).

        ``known`` holds the probability of each of these, ``probabilities`` that of each word of the training texts,
        which have ``mean_length`` words on average.
        """

    @abstractmethod
    def _share(self, squares: Floats) -> Floats:
        """Return which part of each common direction is removed, given squared singular values, (n_removed,)."""

    def _means(self, X: Any) -> Floats:
        """Return the sums of weighted vectors over the numbers of known words, (n_docs, dim)."""
        weighted = Reader(self.vectors_, self.tokenizer_, weights=self.weights_, dtype=np.float64)
        plain = Reader(self.vectors_, self.tokenizer_, dtype=np.float64)
        parts = [
            weighted.bags(block.texts).sums / np.maximum(plain.bags(block.texts).lengths, 1)[:, None]
            for block in blocks(X)
        ]
        return np.concatenate([weighted.empty().sums, *parts])


@dataclass(eq=False, repr=False)
class SmoothInverseFrequency(CommonRemoved):
    """SIF (Arora, Liang and Ma 2017): words of probability p have weight a / (a + p); a common direction is removed.

    Parameters
    ----------
    vectors : str, path, WordVectors or learner, default="english-128"
        Word vectors, or what :meth:`WordVectors.load` takes; or a learner such as :class:`parasphere.JointVectors`,
        which learns them from the training texts.
    a : float, default=1e-3
        The probability at which a word has the weight 1/2.
    n_removed : int, default=1
        Number of common directions that are removed.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is the learner's tokenizer, if ``vectors`` is one, or runs of Unicode letters,
        lower-cased, without English stop words.

    Attributes
    ----------
    vectors_, tokenizer_ : WordVectors, and Tokenizer or callable
        The word vectors, and what texts are split with.
    weights_ : (n_words,) float64
        The weight of each word that has a vector; 1 if no training text has it.
    components_ : (n_removed, dim) float64
        The common directions: leading right singular vectors of the training texts' weighted means, not centred.
    removed_ : (n_removed,) float64
        Which part of each is removed: 1.
    a_ : float
        The parameter ``a``.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. Word probabilities and common directions are those of the
    training texts. A text without known words has the zero vector.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> sif = SmoothInverseFrequency(compass).fit(["north", "north", "north"])
    >>> sif.transform(["north", "east", "north east", "up"]).round(2)
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ],
           [0. , 0. ]])
    """

    vectors: Any = ENGLISH
    a: float = 1e-3
    n_removed: int = 1
    tokenizer: AnyTokenizer | None = None

    _parameters: ClassVar[Constraints] = SHARED | {"a": POSITIVE}

    def _weigh(self, known: Floats, probabilities: Floats, mean_length: float) -> tuple[float, Floats]:  # noqa: ARG002
        return float(self.a), self.a / (self.a + known)

    def _share(self, squares: Floats) -> Floats:
        return np.ones(len(squares))


@dataclass(eq=False, repr=False)
class UnsupervisedSIF(CommonRemoved):
    r"""USIF (Ethayarajh 2018): SIF with a derived ``a`` and common directions that are removed in part.

    Let :math:`V` be the number of distinct words in the training texts, :math:`n` the mean number of words per text and
    :math:`\alpha` the share of words whose probability exceeds :math:`1 - (1 - 1/V)^n`, the probability that a text of
    random words has a given word. Then :math:`a = (1 - \alpha) / (\alpha V / 2)`, and a word of probability p has the
    weight :math:`a / (a/2 + p)`. Of each of the ``n_removed`` leading directions, the part
    :math:`\sigma_i^2 / \sum_j \sigma_j^2` is removed.

    Parameters
    ----------
    vectors : str, path, WordVectors or learner, default="english-128"
        Word vectors, or what :meth:`WordVectors.load` takes; or a learner such as :class:`parasphere.JointVectors`,
        which learns them from the training texts.
    n_removed : int, default=5
        Number of common directions that are removed in part.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is the learner's tokenizer, if ``vectors`` is one, or runs of Unicode letters,
        lower-cased, without English stop words.

    Attributes
    ----------
    vectors_, tokenizer_ : WordVectors, and Tokenizer or callable
        The word vectors, and what texts are split with.
    a_ : float
        Infinite if no word is that frequent; then all have the weight 2.
    weights_ : (n_words,) float64
        The weight of each word that has a vector; 2 if no training text has it.
    components_ : (n_removed, dim) float64
        The common directions.
    removed_ : (n_removed,) float64
        Which part of each direction is removed.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. Words have unit vectors, as everywhere in this package;
    the author's code scales each dimension over the words of a text instead. Word probabilities and common directions
    are those of the training texts. A text without known words has the zero vector.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> usif = UnsupervisedSIF(compass, n_removed=1).fit(["north", "north", "north", "north", "east"])
    >>> usif.transform(["north", "east", "up"]).round(2)
    array([[0.  , 0.  ],
           [1.43, 0.  ],
           [0.  , 0.  ]])
    """

    vectors: Any = ENGLISH
    n_removed: int = 5
    tokenizer: AnyTokenizer | None = None

    def _weigh(self, known: Floats, probabilities: Floats, mean_length: float) -> tuple[float, Floats]:
        n_words = len(probabilities)
        common = float(np.mean(probabilities > 1 - (1 - 1 / n_words) ** max(mean_length, 1.0)))
        common = min(common, 1 - 1 / n_words)  # not all can exceed their mean, but rounding may make them
        if common == 0:
            return np.inf, np.full(len(known), 2.0)
        a = (1 - common) / (common * n_words / 2)
        return a, a / (a / 2 + known)

    def _share(self, squares: Floats) -> Floats:
        total = squares.sum()
        return np.asarray(squares / total if total > 0 else squares)
