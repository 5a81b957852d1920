"""Tf-idf: counts of words, or of n-grams, those that few texts have weighing more."""

import numbers
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..compiled import compiled
from ..errors import CorpusError, StoreError
from ..features.inputs import as_texts
from ..text import AnyTokenizer, Ngrams, Vocabulary, hashed_counts, learn_ngrams
from .base import CountEncoder, TextEncoder, smoothed_idf

MOST_COLUMNS = 2**31 - 1  # that scipy's narrow indices can name


class WeightedCounts(CountEncoder):
    """A text encoder that looks at counts by the tf-idf scheme, each text of unit length.

    A subclass has the parameters ``sublinear_tf`` and ``max_words``, and calls :meth:`_fit_weighted`.
    """

    sublinear_tf: bool
    idf_: NDArray[np.float64]

    _layouts: ClassVar = {"idf_": "f8[words]"}

    def _fit_weighted(self, X: Any) -> sparse.csr_array:
        """Choose the words, learn how rare they are, and return the weighted counts, (n_docs, n_words)."""
        counts = self._fit_counts(X)
        self.idf_ = smoothed_idf(counts)
        return weighted(counts, self.idf_, sublinear_tf=self.sublinear_tf)

    def _weighted(self, X: Any) -> sparse.csr_array:
        """Return the weighted counts of texts, (n_docs, n_words)."""
        return weighted(self._counts(X), self.idf_, sublinear_tf=self.sublinear_tf)


class TfIdf(TextEncoder):
    """Texts as tf-idf weights of their words or n-grams, scaled to unit length.

    An n-gram that occurs in ``df`` of ``n`` training texts weighs its count times ``1 + log((1 + n) / (1 + df))``.

    Parameters
    ----------
    ngram_range : (int, int), default=(1, 1)
        How many words the shortest and the longest n-grams have: (1, 2) for words and pairs of neighbours. Neighbours
        are words that follow each other once stop words are gone.
    sublinear_tf : bool, default=False
        Take 1 + log(count) in place of the count.
    max_words : int or None, default=None
        How many n-grams have a column: those most frequent in the training texts; of equally frequent ones those of
        fewer words first, and then in alphabetical order. None: all.
    n_features : int or None, default=None
        Keep no vocabulary, but hash n-grams to so many columns, which some will share. The hash is the same in every
        process. ``max_words`` does not apply.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.

    Attributes
    ----------
    idf_ : (n_features,) float64
        The factor of each column.
    vocabulary_ : Vocabulary
        The n-grams that have a column, most frequent first, their words joined by spaces; none if they are hashed.
    ngrams_ : dict or None
        The same as :class:`parasphere.text.ngrams.Ngrams` takes it; None if they are hashed.
    ngram_range_ : (int, int)

    Notes
    -----
    Texts are whatever :func:`parasphere.corpus.blocks` takes; ``fit_transform`` reads them once. A text without any of
    the n-grams is a row of zeros. Where the tokenizer splits alike, the numbers are those of scikit-learn's
    ``TfidfVectorizer``; only the columns are in another order.

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

    idf_: NDArray[np.float64]
    ngrams_: dict[str, Any] | None
    ngram_range_: tuple[int, int]
    _ngrams: Ngrams | None = None

    def __init__(
        self,
        ngram_range: tuple[int, int] = (1, 1),
        sublinear_tf: bool = False,
        max_words: int | None = None,
        n_features: int | None = None,
        tokenizer: AnyTokenizer | None = None,
    ) -> None:
        self.ngram_range = ngram_range
        self.sublinear_tf = sublinear_tf
        self.max_words = max_words
        self.n_features = n_features
        self.tokenizer = tokenizer

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Choose the n-grams and learn how rare they are; labels are not looked at."""
        self._fit_counts(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sparse.csr_array:  # noqa: ARG002
        """Do the same, and return the weights of the same texts."""
        return weighted(self._fit_counts(X), self.idf_, sublinear_tf=self.sublinear_tf)

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the weights, (n_docs, n_features), sparse, each row of unit length."""
        check_is_fitted(self, "idf_")
        if self.ngrams_ is None:
            counts = hashed_counts(as_texts(X), self._words(), self.ngram_range_, len(self.idf_))
        else:
            counts = self._table.count(as_texts(X), self._words())
        return weighted(counts, self.idf_, sublinear_tf=self.sublinear_tf)

    @classmethod
    def load(cls, folder: str | Path, **given: Any) -> Self:
        """Read what :meth:`save` wrote, as :meth:`parasphere.storage.Saved.load` does."""
        found = super().load(folder, **given)
        # Compiled code relies on these, and does not ask.
        if found.ngrams_ is not None and found._table.n_columns != len(found.idf_):
            raise StoreError(f"{folder}: its n-grams and their idf do not fit each other: it is damaged.")
        return found

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the n-grams, one per column; "tfidf0", "tfidf1", ... if they are hashed."""
        check_is_fitted(self, "idf_")
        if self.ngrams_ is None:
            return np.asarray(super().get_feature_names_out(input_features), dtype=object)
        return np.array(self.vocabulary_.words, dtype=object)

    @property
    def vocabulary_(self) -> Vocabulary:
        """The n-grams that have a column."""
        check_is_fitted(self, "idf_")
        if self.ngrams_ is None:
            raise AttributeError(f"n-grams that are hashed (n_features={len(self.idf_)}) have no vocabulary")
        return self._table.names

    @property
    def _n_features_out(self) -> int:
        return len(self.idf_)

    @property
    def _table(self) -> Ngrams:
        """The n-grams, ready to be looked up; made anew after ``load``."""
        if self._ngrams is None:
            assert self.ngrams_ is not None
            self._ngrams = Ngrams(**self.ngrams_)
        return self._ngrams

    def _fit_counts(self, X: Any) -> sparse.csr_array:
        self._check()
        shortest, longest = map(int, self.ngram_range)
        texts, sizes = as_texts(X), (shortest, longest)
        table = None
        if self.n_features is None:
            table, counts = learn_ngrams(texts, self._words(), sizes, self.max_words)
        else:
            counts = hashed_counts(texts, self._words(), sizes, int(self.n_features))
            if not counts.nnz:
                raise CorpusError(f"none of the texts has {shortest} words in a row; at least one must")
        self._ngrams, self.ngrams_ = table, None if table is None else table.parts
        self.ngram_range_, self.idf_ = sizes, smoothed_idf(counts)
        return counts

    def _check(self) -> None:
        """Insist on parameters that make sense."""
        given = self.ngram_range
        pair = isinstance(given, tuple | list) and len(given) == 2 and all(map(_is_whole, given))
        if not pair or not 1 <= given[0] <= given[1]:
            raise ValueError(f"ngram_range must be two whole numbers from 1 on, the larger last, not {given!r}")
        if not isinstance(self.sublinear_tf, bool | np.bool_):
            raise ValueError(f"sublinear_tf must be True or False, not {self.sublinear_tf!r}")
        for name in ("max_words", "n_features"):
            value = getattr(self, name)
            if value is not None and not (_is_whole(value) and 1 <= value <= MOST_COLUMNS):
                raise ValueError(f"{name} must be None or a whole number from 1 to {MOST_COLUMNS}, not {value!r}")
        if self.n_features is not None and self.max_words is not None:
            raise ValueError("max_words chooses from a vocabulary, which n_features does without")


def weighted(counts: sparse.csr_array, idf: NDArray[np.float64], *, sublinear_tf: bool) -> sparse.csr_array:
    """Return counts, (n_docs, n_words), times idf, (n_words,), each row of unit length; a row of zeros stays.

    Bit for bit what scikit-learn's ``TfidfTransformer`` makes of them.
    """
    if counts.shape[1] != len(idf):
        raise ValueError(f"counts of {counts.shape[1]} words do not fit the idf of {len(idf)}")
    tf = np.arange(int(counts.data.max(initial=0)) + 1, dtype=np.float64)  # for each count
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
            weights[i] /= length  # not 0: counts are at least 1, and so is idf


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_topics(n_topics: int, counts: sparse.csr_array | None = None) -> None:
    """Insist on at least one topic, and on more texts and more words than topics if there are counts."""
    if n_topics < 1:
        raise ValueError(f"n_topics must be at least 1, not {n_topics!r}")
    if counts is not None and n_topics >= min(counts.shape):
        texts, words = counts.shape
        raise CorpusError(f"{n_topics} topics need more texts and more words than that; there are {texts} and {words}")
