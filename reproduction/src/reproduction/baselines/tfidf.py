"""Tf-idf: counts of words or n-grams, weighted by inverse document frequency."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from parasphere.errors import CorpusError, ParasphereError
from parasphere.parameters import BOOLEAN, NONE, Constraints, instance_of, number
from parasphere.text import AnyTokenizer, Vocabulary

from ..loops import compiled
from ..text import Ngrams, hashed_counts, learn_ngrams
from .base import SHARED, CountEncoder, WordEncoder, smoothed_idf

COLUMNS = number(int, 1, 2**31 - 1, "both")  # indices are int32


class WeightedCounts(CountEncoder):
    """A text encoder of counts times inverse document frequency, each text of unit length."""

    idf_: NDArray[np.float64]

    _layouts: ClassVar = {"idf_": "f8[words]"}
    _positive: ClassVar = ("idf_",)

    def _fit_weighted(self, X: Any, idf: bool = True) -> sparse.csr_array:
        """Choose the words, learn their idf (or take 1), and return the weighted counts, (n_docs, n_words)."""
        counts = self._fit_counts(X)
        self.idf_ = smoothed_idf(counts) if idf else np.ones(counts.shape[1])
        return weighted(counts, self.idf_)

    def _weighted(self, X: Any) -> sparse.csr_array:
        """Return the weighted counts of texts, (n_docs, n_words)."""
        return weighted(self._counts(X), self.idf_)


@dataclass(eq=False, repr=False)
class TfIdf(WordEncoder):
    """Texts as tf-idf weights of their words or n-grams, scaled to unit length.

    An n-gram that is in ``df`` of ``n`` training texts has the weight ``count * (1 + log((1 + n) / (1 + df)))``.

    Parameters
    ----------
    ngram_range : (int, int), default=(1, 1)
        Number of words of the shortest and the longest n-grams: (1, 2) is words and pairs of neighbours. Neighbours
        are words that follow each other after stop words are removed.
    sublinear_tf : bool, default=False
        Use 1 + log(count) in place of the count.
    max_words : int, default=None
        How many n-grams have a column: the most frequent of the training texts, ties by fewer words first and then in
        alphabetical order. None is all.
    n_features : int, default=None
        Keep no vocabulary, but hash n-grams to so many columns; some n-grams then share a column. The hash is the same
        in every process. ``max_words`` must be None.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    idf_ : (n_features,) float64
        The inverse document frequency of each column.
    vocabulary_ : Vocabulary
        The n-grams that have a column, most frequent first, their words joined by spaces; absent if they are hashed.
    ngrams_ : Ngrams or None
        The same, as they are looked up; None if they are hashed.
    tokenizer_ : Tokenizer or callable
        What texts are split with.
    ngram_range_, sublinear_tf_
        The parameters of the fit.

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes; ``fit_transform`` reads them once. A text without any of
    the n-grams is a row of zeros. Where the tokenizer splits alike, the numbers are those of scikit-learn's
    ``TfidfVectorizer``, with columns in another order.

    Examples
    --------
    >>> weights = TfIdf().fit(["north north sea", "sea north", "sea west"])
    >>> weights.get_feature_names_out()
    array(['north', 'sea', 'west'], dtype=object)
    >>> weights.transform(["north sea", "east"]).toarray().round(2)
    array([[0.79, 0.61, 0.  ],
           [0.  , 0.  , 0.  ]])
    >>> TfIdf(ngram_range=(1, 2), max_words=3).fit(["new york", "new york city"]).get_feature_names_out()
    array(['new', 'york', 'new york'], dtype=object)
    """

    ngram_range: tuple[int, int] = (1, 1)
    sublinear_tf: bool = False
    max_words: int | None = None
    n_features: int | None = None
    tokenizer: AnyTokenizer | None = None

    _parameters: ClassVar[Constraints] = SHARED | {
        "ngram_range": instance_of(tuple, list), "sublinear_tf": BOOLEAN, "max_words": COLUMNS | NONE,
        "n_features": COLUMNS | NONE,
    }  # fmt: skip
    _fixed: ClassVar = ("sublinear_tf",)

    sublinear_tf_: bool = field(init=False)
    idf_: NDArray[np.float64] = field(init=False)
    ngrams_: Ngrams | None = field(init=False)
    ngram_range_: tuple[int, int] = field(init=False)
    _layouts: ClassVar = {"idf_": "f8[columns]"}
    _positive: ClassVar = ("idf_",)

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose the n-grams and learn their idf; ``y`` is ignored."""
        self._fit_counts(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_array:  # noqa: ARG002
        """Fit, and return the weights of the same texts, which are read once."""
        return weighted(self._fit_counts(X), self.idf_, sublinear_tf=self.sublinear_tf_)

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the weights, (n_docs, n_features), sparse, each row of unit length."""
        check_is_fitted(self)
        if self.ngrams_ is None:
            counts = hashed_counts(X, self.tokenizer_, self.ngram_range_, len(self.idf_))
        else:
            counts = self.ngrams_.count(X, self.tokenizer_)
        return weighted(counts, self.idf_, sublinear_tf=self.sublinear_tf_)

    def _check_learned(self) -> None:
        """Compare the n-grams with their idf too: compiled code relies on them."""
        super()._check_learned()
        if self.ngrams_ is None:
            return
        if (self.ngrams_.n_columns, self.ngrams_.ngram_range) != (len(self.idf_), self.ngram_range_):
            raise ParasphereError("the n-grams and their idf do not fit each other")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the n-grams, one per column; "tfidf0", "tfidf1", ... if they are hashed."""
        check_is_fitted(self)
        if self.ngrams_ is None:
            return np.asarray(super().get_feature_names_out(input_features), dtype=object)
        return np.array(self.vocabulary_.words, dtype=object)

    @property
    def vocabulary_(self) -> Vocabulary:
        """The n-grams that have a column."""
        check_is_fitted(self)
        if self.ngrams_ is None:
            raise AttributeError(f"n-grams that are hashed (n_features={len(self.idf_)}) have no vocabulary")
        return self.ngrams_.names

    @property
    def _n_features_out(self) -> int:
        return len(self.idf_)

    def _fit_counts(self, X: Any) -> sparse.csr_array:
        self._begin_fit()
        texts, sizes = X, self._sizes()
        if self.n_features is None:
            self.ngrams_, counts = learn_ngrams(texts, self.tokenizer_, sizes, self.max_words)
        else:
            self.ngrams_ = None
            counts = hashed_counts(texts, self.tokenizer_, sizes, int(self.n_features))
            if not counts.nnz:
                raise CorpusError(f"none of the texts has {sizes[0]} words in a row; at least one must")
        self.ngram_range_, self.idf_ = sizes, smoothed_idf(counts)
        return counts

    def _sizes(self) -> tuple[int, int]:
        """Return the checked range of n-grams."""
        given = self.ngram_range
        whole = len(given) == 2 and all(isinstance(size, Integral) for size in given)
        if not whole or not 1 <= given[0] <= given[1]:
            raise ValueError(f"ngram_range must be two whole numbers, 1 <= shortest <= longest, not {given!r}")
        if self.n_features is not None and self.max_words is not None:
            raise ValueError("max_words and n_features exclude each other: hashed n-grams have no vocabulary")
        return int(given[0]), int(given[1])


def weighted(counts: sparse.csr_array, idf: NDArray[np.float64], *, sublinear_tf: bool = False) -> sparse.csr_array:
    """Return counts, (n_docs, n_words), times idf, (n_words,), each row of unit length; a row of zeros stays.

    The result is bit for bit that of scikit-learn's ``TfidfTransformer``.
    """
    if counts.shape[1] != len(idf):
        raise ValueError(f"counts of {counts.shape[1]} words do not fit the idf of {len(idf)}")
    tf = np.arange(int(counts.data.max(initial=0)) + 1, dtype=np.float64)  # of each count
    if sublinear_tf:
        tf[1:] = np.log(tf[1:]) + 1
    weights = np.empty(len(counts.data))
    _weigh(counts.indptr, counts.indices, counts.data, tf, idf, weights)
    rows = sparse.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)
    rows.has_canonical_format = counts.has_canonical_format
    return rows


@compiled
def _weigh(starts: Any, indices: Any, counts: Any, tf: Any, idf: Any, weights: Any) -> None:
    """Write the weight of each entry of a sparse array of counts."""
    for row in range(starts.shape[0] - 1):
        total = 0.0
        for i in range(starts[row], starts[row + 1]):
            weights[i] = tf[counts[i]] * idf[indices[i]]
            total += weights[i] * weights[i]
        length = np.sqrt(total)
        for i in range(starts[row], starts[row + 1]):
            weights[i] /= length  # above 0: counts and idf are at least 1


def check_topics(n_topics: int, counts: sparse.csr_array) -> None:
    """Raise unless there are more texts and more words than topics."""
    if n_topics >= min(counts.shape):
        texts, words = counts.shape
        raise CorpusError(f"{n_topics} topics need more texts and more words than that; there are {texts} and {words}")
