"""What is compared in the tasks beside the encoders: BM25, and hybrids of it.

A *comparer* has ``fit(texts)``; ``similarities(first, second)``, pair by pair; and ``index(texts)``, after which
``scores(queries)`` compares every query with every text. Encoders become one by the cosine of their vectors.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import normalize

from parasphere.text import Tokenizer, Vocabulary, count_matrix, count_words

Floats = NDArray[np.float64]
LEXICAL = Tokenizer(digits=True, stop_words="english")


def comparer(estimator: Any) -> BaseEstimator:
    """Return a comparer as it is, and an encoder as one that compares by cosine."""
    return estimator if hasattr(estimator, "scores") else Cosine(estimator)


class Cosine(BaseEstimator):
    """Texts compared by the cosines of their vectors; 0 for a text whose vector is 0.

    Parameters
    ----------
    encoder : estimator
        Transforms texts to dense or sparse vectors.
    """

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def fit(self, X: list[str], y: Any = None) -> Self:  # noqa: ARG002
        """Fit the encoder."""
        self.encoder.fit(X)
        return self

    def index(self, texts: list[str]) -> Self:
        """Keep the vectors of texts."""
        self.rows_ = normalize(self.encoder.transform(texts))
        return self

    def similarities(self, first: list[str], second: list[str]) -> Floats:
        """Return the cosines of texts, pair by pair: (n,)."""
        a, b = (normalize(self.encoder.transform(texts)) for texts in (first, second))
        products = a.multiply(b) if sparse.issparse(a) else a * b
        return np.asarray(products.sum(axis=1), np.float64).ravel()

    def scores(self, queries: list[str]) -> Floats:
        """Return the cosines of queries with the texts of the index: (n_queries, n_texts)."""
        cosines = normalize(self.encoder.transform(queries)) @ self.rows_.T
        return np.asarray(cosines.toarray() if sparse.issparse(cosines) else cosines, np.float64)


class BM25(BaseEstimator):
    """BM25 in the form of Lucene, by the library ``bm25s``.

    Parameters
    ----------
    tokenizer : Tokenizer, default=Tokenizer(digits=True, stop_words="english")
    k1, b : float, default=1.5, 0.75
        How soon repeated words stop to count, and how much long texts are held back.
    """

    def __init__(self, tokenizer: Tokenizer = LEXICAL, k1: float = 1.5, b: float = 0.75) -> None:
        self.tokenizer = tokenizer
        self.k1 = k1
        self.b = b

    def fit(self, X: list[str], y: Any = None) -> Self:  # noqa: ARG002
        """Learn how frequent words are, and how long texts."""
        words, _ = count_words(X, self.tokenizer)
        self.vocabulary_ = Vocabulary(words)
        counts = count_matrix(X, self.vocabulary_, self.tokenizer)
        frequencies = np.bincount(counts.indices, minlength=len(words))
        self.idf_ = np.log1p((len(X) - frequencies + 0.5) / (frequencies + 0.5))
        self.mean_length_ = counts.sum() / len(X)
        return self

    def index(self, texts: list[str]) -> Self:
        """Index texts, by their own frequencies."""
        import bm25s

        self.index_ = bm25s.BM25(k1=self.k1, b=self.b, method="lucene")
        self.index_.index(self._split(texts), show_progress=False)
        return self

    def scores(self, queries: list[str]) -> Floats:
        """Return the scores of queries with the texts of the index: (n_queries, n_texts)."""
        known = [[word for word in words if word in self.index_.vocab_dict] for words in self._split(queries)]
        nothing = np.zeros(self.index_.scores["num_docs"])
        return np.array([self.index_.get_scores(words) if words else nothing for words in known], np.float64)

    def similarities(self, first: list[str], second: list[str]) -> Floats:
        """Return how well each text answers the other as a query, as a share of how well both answer themselves.

        BM25 compares a query with a text; with ``s(a, b)`` its score, and idf and mean length those of the fit, this is
        ``(s(a, b) + s(b, a)) / (s(a, a) + s(b, b))``: 1 for the same text, 0 for texts without a common word.
        """
        counts = [count_matrix(texts, self.vocabulary_, self.tokenizer).astype(np.float64) for texts in (first, second)]
        weights = [self._weighted(part) for part in counts]

        def score(query: int, text: int) -> Floats:
            return np.asarray(counts[query].multiply(weights[text]).sum(axis=1)).ravel()

        most = score(0, 0) + score(1, 1)
        return (score(0, 1) + score(1, 0)) / np.where(most > 0, most, 1.0)

    def _split(self, texts: list[str]) -> list[list[str]]:
        return self.tokenizer.split(texts)

    def _weighted(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return the weight of each word in each text, as an array like that of its counts."""
        lengths = np.repeat(counts.sum(axis=1), np.diff(counts.indptr))
        saturation = self.k1 * (1 - self.b + self.b * lengths / self.mean_length_)
        weights = counts.data / (counts.data + saturation) * self.idf_[counts.indices]
        return sparse.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)


class Hybrid(BaseEstimator):
    """The sum of the scores of two comparers, each with mean 0 and variance 1 over the texts, query by query.

    Parameters
    ----------
    first, second : comparer
    """

    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = second

    def fit(self, X: list[str], y: Any = None) -> Self:  # noqa: ARG002
        """Fit both."""
        self.first.fit(X)
        self.second.fit(X)
        return self

    def index(self, texts: list[str]) -> Self:
        """Index texts by both."""
        self.first.index(texts)
        self.second.index(texts)
        return self

    def scores(self, queries: list[str]) -> Floats:
        """Return the sums of both scores of queries with the texts of the index: (n_queries, n_texts)."""
        return _standardised(self.first.scores(queries)) + _standardised(self.second.scores(queries))


class Indexed(BaseEstimator):
    """Texts ranked by the index of a model, as its users search: by offsets and BM25 of stems together.

    Parameters
    ----------
    model : SphericalParagraphModel
    weight : float, default=None
        The weight of words, from 0 to 1; None is the one that the index finds.
    """

    def __init__(self, model: Any, weight: float | None = None) -> None:
        self.model = model
        self.weight = weight

    def fit(self, X: list[str], y: Any = None) -> Self:  # noqa: ARG002
        """Fit the model."""
        self.model.fit(X)
        return self

    def index(self, texts: list[str]) -> Self:
        """Make the index."""
        self.index_ = self.model.index(texts, texts=False)
        return self

    def scores(self, queries: list[str]) -> Floats:
        """Return the scores of queries with the texts of the index: (n_queries, n_texts)."""
        scores = np.empty((len(queries), len(self.index_)))
        found = self.index_.search(queries, k=len(self.index_), weight=self.weight)
        for row, matches in zip(scores, found, strict=True):
            row[matches.positions] = matches.scores
        return scores


def _standardised(scores: Floats) -> Floats:
    """Return scores, (n_queries, n_texts), with mean 0 and variance 1 in each row; a constant row becomes 0."""
    deviations = scores.std(axis=1, keepdims=True)
    return np.asarray((scores - scores.mean(axis=1, keepdims=True)) / np.where(deviations > 0, deviations, 1.0))
