"""cBow: the mean of a text's word vectors."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..features.bags import Bags
from ..text import AnyTokenizer
from ..vectors import GLOVE, WordVectors
from .base import TextEncoder, loaded


class MeanOfVectors(TextEncoder):
    """Texts as the mean of their words' unit vectors.

    Parameters
    ----------
    vectors : str, path or WordVectors
        Word vectors, or what :meth:`WordVectors.load` takes.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    vectors_ : WordVectors

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes, or :class:`Bags`. A text without known words has the
    zero vector. Nothing is learned from the training texts.

    Examples
    --------
    >>> compass = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> MeanOfVectors(compass).fit_transform(["north north north east", "up"])
    array([[0.25, 0.75],
           [0.  , 0.  ]], dtype=float32)
    """

    vectors_: WordVectors

    def __init__(self, vectors: Any = GLOVE, tokenizer: AnyTokenizer | None = None) -> None:
        self.vectors = vectors
        self.tokenizer = tokenizer

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the word vectors; the texts are not looked at."""
        self.vectors_ = loaded(self.vectors)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the means, (n_docs, dim)."""
        check_is_fitted(self, "vectors_")
        bags = X if isinstance(X, Bags) else Bags.from_texts(X, self.vectors_, tokenizer=self._words())
        lengths = np.maximum(bags.lengths, 1.0)[:, None]
        return np.asarray(bags.sums / lengths, bags.sums.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.vectors_.dim
