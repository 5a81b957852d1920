"""Bag of words: counts of the most frequent words."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from parasphere.text import AnyTokenizer

from .base import CountEncoder, unit_length


@dataclass(eq=False, repr=False)
class BagOfWords(CountEncoder):
    """Texts as counts of their words, scaled to unit length.

    Parameters
    ----------
    max_words : int, default=5000
        How many words have a column: the most frequent of the training texts, ties in alphabetical order; None is all.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    vocabulary_, tokenizer_ : Vocabulary, and Tokenizer or callable
        The words that have a column, most frequent first, and what texts are split with.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes. A text without any of the words is a row of zeros.

    Examples
    --------
    >>> counts = BagOfWords(max_words=2).fit(["north north sea", "sea north", "west"])
    >>> counts.get_feature_names_out()
    array(['north', 'sea'], dtype=object)
    >>> counts.transform(["sea sea sea north north north north", "east"]).toarray()
    array([[0.8, 0.6],
           [0. , 0. ]])
    """

    max_words: int | None = 5000
    tokenizer: AnyTokenizer | None = None

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose the words; ``y`` is ignored."""
        self._fit_counts(X)
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the counts, (n_docs, n_words), sparse, each row of unit length."""
        rows: sparse.csr_array = unit_length(self._counts(X).astype(np.float64))
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Return the words, one per column."""
        check_is_fitted(self)
        return np.array(self.vocabulary_.words, dtype=object)
