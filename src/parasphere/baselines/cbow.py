"""cBow: the mean of a text's word vectors."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..bags import Bags
from ..tokens import AnyTokenizer, Tokenizer
from ..vectors import GLOVE, WordVectors


class MeanOfVectors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
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
        self.vectors_ = self.vectors if isinstance(self.vectors, WordVectors) else WordVectors.load(self.vectors)
        self._n_features_out = self.vectors_.dim
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the means, (n_docs, dim)."""
        check_is_fitted(self, "vectors_")
        tokenizer = Tokenizer(stop_words="english") if self.tokenizer is None else self.tokenizer
        bags = X if isinstance(X, Bags) else Bags.from_texts(X, self.vectors_, tokenizer=tokenizer)
        lengths = np.maximum(bags.lengths, 1.0)[:, None]
        return np.asarray(bags.sums / lengths, bags.sums.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
