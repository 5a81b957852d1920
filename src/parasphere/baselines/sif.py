"""Weighted means of word vectors: by idf, by smooth inverse frequency (SIF) and by its unsupervised kin (uSIF)."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..corpus import blocks
from ..errors import CorpusError
from ..features import Bags, Reader, held_texts
from ..text import AnyTokenizer, count_matrix, count_words
from ..vectors import GLOVE, WordVectors
from .base import TextEncoder, loaded, smoothed_idf


class WeightedMean(TextEncoder):
    """Texts as the mean of their words' unit vectors, weighted by idf.

    A word that ``df`` of ``n`` training texts have weighs ``1 + log((1 + n) / (1 + df))``, each time it occurs; one
    that has a vector but is in none of them, as with ``df = 0``.

    Parameters
    ----------
    vectors : str, path or WordVectors
        Word vectors, or what :meth:`WordVectors.load` takes.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    vectors_ : WordVectors
    weights_ : (n_words,) float64
        The weight of each word that has a vector.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without known words has the zero vector.

    Examples
    --------
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> mean = WeightedMean(compass).fit(["north", "north", "north east"])
    >>> mean.transform(["north east", "up"]).round(2)
    array([[0.63, 0.37],
           [0.  , 0.  ]], dtype=float32)
    """

    vectors_: WordVectors
    weights_: NDArray[np.float64]
    _layouts: ClassVar = {"weights_": "f8[rows]"}
    _not_negative: ClassVar = ("weights_",)

    def __init__(self, vectors: Any = GLOVE, tokenizer: AnyTokenizer | None = None) -> None:
        self.vectors = vectors
        self.tokenizer = tokenizer

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn how rare the words are; labels are not looked at."""
        self.vectors_ = loaded(self.vectors)
        counts = count_matrix(X, self.vectors_.vocabulary, self._words())
        if not counts.shape[0]:
            raise CorpusError("there are no texts to fit to; at least one is needed")
        self.weights_ = smoothed_idf(counts)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the means, (n_docs, dim)."""
        check_is_fitted(self, "weights_")
        bags = Bags.from_texts(X, self.vectors_, tokenizer=self._words(), weights=self.weights_)
        return np.asarray(bags.sums / np.where(bags.lengths > 0, bags.lengths, 1)[:, None], np.float32)

    @property
    def _n_features_out(self) -> int:
        return self.vectors_.dim


class CommonRemoved(TextEncoder):
    """A mean of weighted unit word vectors, less (a part of) its components along common directions.

    A subclass has the parameters ``vectors`` and ``n_removed``, weighs words by their probability, and says how much of
    each common direction goes. The directions are the leading right singular vectors of the training texts' means.
    """

    vectors: Any
    n_removed: int
    vectors_: WordVectors
    a_: float
    weights_: NDArray[np.float64]
    components_: NDArray[np.float64]
    removed_: NDArray[np.float64]
    _layouts: ClassVar = {"weights_": "f8[rows]", "components_": "f8[removed,dim]", "removed_": "f8[removed]"}
    _not_negative: ClassVar = ("weights_",)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the words' weights and the common directions; labels are not looked at."""
        self.vectors_ = loaded(self.vectors)
        if not 0 <= self.n_removed <= self.vectors_.dim:
            raise ValueError(f"n_removed must be from 0 to {self.vectors_.dim}, the dimension, not {self.n_removed!r}")
        held = held_texts(X)
        words, counts = count_words(held, self._words())
        if not words:
            raise CorpusError("none of the texts has a word; at least one must")
        probabilities = counts / counts.sum()
        units = count_matrix(held, self.vectors_.vocabulary, self._words())  # phrases among them, if there are any
        known = np.bincount(units.indices, units.data, len(self.vectors_)) / counts.sum()
        self.a_, self.weights_ = self._weigh(known, probabilities, self._mean_length(held, int(counts.sum())))
        means = self._means(held)
        # The eigenvectors of a small matrix: the means may be many.
        squares, directions = np.linalg.eigh(means.T @ means)
        leading = slice(None, -self.n_removed - 1, -1)
        self.components_ = np.ascontiguousarray(directions.T[leading])
        self.removed_ = self._share(np.maximum(squares[leading], 0))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the vectors, (n_docs, dim)."""
        check_is_fitted(self, "components_")
        means = self._means(X)
        return np.asarray(means - (means @ self.components_.T * self.removed_) @ self.components_)

    @abstractmethod
    def _weigh(
        self, known: NDArray[np.float64], probabilities: NDArray[np.float64], mean_length: float
    ) -> tuple[float, NDArray[np.float64]]:
        """Return a, and the weight of each word that has a vector.

        Given are the probabilities of these (0 if the training texts lack them), those of all words of the training
        texts, and how many words a text has on average.
        """

    @abstractmethod
    def _share(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return which part of each common direction goes, from their squared singular values, (n_removed,)."""

    @staticmethod
    def _mean_length(held: Any, n_words: int) -> float:
        return n_words / sum(len(block) for block in blocks(held))

    def _means(self, X: Any) -> NDArray[np.float64]:
        """Return the sums of weighted vectors over the numbers of known words, (n_docs, dim)."""
        weighted = Reader(self.vectors_, self._words(), weights=self.weights_, dtype=np.float64)
        plain = Reader(self.vectors_, self._words(), dtype=np.float64)
        parts = [
            weighted.bags(block.texts).sums / np.maximum(plain.bags(block.texts).lengths, 1)[:, None]
            for block in blocks(X)
        ]
        return np.concatenate([weighted.empty().sums, *parts])

    @property
    def _n_features_out(self) -> int:
        return self.vectors_.dim


class SmoothInverseFrequency(CommonRemoved):
    """SIF (Arora, Liang and Ma 2017): words of probability p weigh a / (a + p); the first common direction goes.

    Parameters
    ----------
    vectors : str, path or WordVectors
        Word vectors, or what :meth:`WordVectors.load` takes.
    a : float
        The probability at which a word weighs one half.
    n_removed : int
        How many common directions are removed.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    vectors_ : WordVectors
    weights_ : (n_words,) float64
        The weight of each word that has a vector; 1 for one that no training text has.
    components_ : (n_removed, dim) float64
        The common directions: leading right singular vectors of the training texts' weighted means, not centred.
    removed_ : (n_removed,) float64
        Which part of each is removed: all.
    a_ : float

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. Word probabilities and common directions are those of the
    training texts. A text without known words has the zero vector.

    Examples
    --------
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> sif = SmoothInverseFrequency(compass).fit(["north", "north", "north"])
    >>> sif.transform(["north", "east", "north east", "up"]).round(2)
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ],
           [0. , 0. ]])
    """

    def __init__(
        self, vectors: Any = GLOVE, a: float = 1e-3, n_removed: int = 1, tokenizer: AnyTokenizer | None = None
    ) -> None:
        self.vectors = vectors
        self.a = a
        self.n_removed = n_removed
        self.tokenizer = tokenizer

    def _weigh(
        self,
        known: NDArray[np.float64],
        probabilities: NDArray[np.float64],  # noqa: ARG002
        mean_length: float,  # noqa: ARG002
    ) -> tuple[float, NDArray[np.float64]]:
        if not self.a > 0:
            raise ValueError(f"a must be positive, not {self.a!r}")
        return self.a, self.a / (self.a + known)

    def _share(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.ones(len(squares))


class UnsupervisedSIF(CommonRemoved):
    r"""USIF (Ethayarajh 2018): SIF whose a is derived, with common directions removed in part.

    With :math:`V` distinct words in the training texts, :math:`n` words a text on average and :math:`\alpha` the share
    of words whose probability exceeds :math:`1 - (1 - 1/V)^n`, the expected one of a word's being in a text at random,
    :math:`a = (1 - \alpha) / (\alpha V / 2)`, and a word of probability p weighs :math:`a / (a/2 + p)`. Of each of the
    leading directions, the part :math:`\sigma_i^2 / \sum_j \sigma_j^2` is removed (over the ``n_removed`` ones).

    Parameters
    ----------
    vectors : str, path or WordVectors
        Word vectors, or what :meth:`WordVectors.load` takes.
    n_removed : int
        How many common directions are weakened.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    vectors_ : WordVectors
    a_ : float
        Infinite if no word is that common; then all weigh the same, 2.
    weights_ : (n_words,) float64
        The weight of each word that has a vector; 2 for one that no training text has.
    components_ : (n_removed, dim) float64
    removed_ : (n_removed,) float64
        Which part of each direction is removed.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. Words have unit vectors, as everywhere in this package;
    the author's code scales each dimension over a text's words instead. Word probabilities and common directions are
    those of the training texts. A text without known words has the zero vector.

    Examples
    --------
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> usif = UnsupervisedSIF(compass, n_removed=1).fit(["north", "north", "north", "north", "east"])
    >>> usif.transform(["north", "east", "up"]).round(2)
    array([[0.  , 0.  ],
           [1.43, 0.  ],
           [0.  , 0.  ]])
    """

    def __init__(self, vectors: Any = GLOVE, n_removed: int = 5, tokenizer: AnyTokenizer | None = None) -> None:
        self.vectors = vectors
        self.n_removed = n_removed
        self.tokenizer = tokenizer

    def _weigh(
        self, known: NDArray[np.float64], probabilities: NDArray[np.float64], mean_length: float
    ) -> tuple[float, NDArray[np.float64]]:
        n_words = len(probabilities)
        common = float(np.mean(probabilities > 1 - (1 - 1 / n_words) ** max(mean_length, 1.0)))
        common = min(common, 1 - 1 / n_words)  # not all can exceed their mean; rounding might say so
        if common == 0:
            return np.inf, np.full(len(known), 2.0)
        a = (1 - common) / (common * n_words / 2)
        return a, a / (a / 2 + known)

    def _share(self, squares: NDArray[np.float64]) -> NDArray[np.float64]:
        total = squares.sum()
        return np.asarray(squares / total if total > 0 else squares)
