"""cBow: the mean of a text's word vectors."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from parasphere.model import Bags, Reader
from parasphere.text import AnyTokenizer
from parasphere.vectors import ENGLISH

from .base import VectorEncoder


@dataclass(eq=False, repr=False)
class MeanOfVectors(VectorEncoder):
    """Texts as the mean of their words' unit vectors.

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

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes, or :class:`Bags`. A text without known words has the
    zero vector. Nothing is learned from the training texts but the word vectors, if ``vectors`` is a learner.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> MeanOfVectors(compass).fit_transform(["north north north east", "up"])
    array([[0.25, 0.75],
           [0.  , 0.  ]], dtype=float32)
    """

    vectors: Any = ENGLISH
    tokenizer: AnyTokenizer | None = None

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the word vectors, or learn them from the texts; ``y`` is ignored."""
        self._fit_vectors(X)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the means, (n_docs, dim)."""
        check_is_fitted(self)
        bags = X if isinstance(X, Bags) else Reader(self.vectors_, self.tokenizer_).read(X)
        lengths = np.maximum(bags.lengths, 1.0)[:, None]
        return np.asarray(bags.sums / lengths, bags.sums.dtype)
