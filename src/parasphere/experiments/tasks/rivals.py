"""What is compared in the tasks beside the encoders: BM25, hybrids of it, and WordLlama.

A *comparer* has ``fit(texts)``; ``similarities(first, second)``, pair by pair; and ``index(texts)``, after which
``scores(queries)`` compares every query with every text. Encoders become one by the cosine of their vectors.
"""

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import normalize

from ...corpus import strings
from ...errors import ParasphereError, import_extra
from ...text import Tokenizer, Vocabulary, count_matrix, count_words
from ...vectors import WordVectors

Floats = NDArray[np.float64]
LEXICAL = Tokenizer(digits=True, stop_words="english")
PIECES = Tokenizer(digits=True)  # words that are composed of WordLlama's pieces


def comparer(estimator: Any) -> BaseEstimator:
    """Return a comparer as it is, and an encoder as one that compares by cosine."""
    return estimator if hasattr(estimator, "scores") else Cosine(estimator)


class Cosine(BaseEstimator):  # type: ignore[misc]
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


class BM25(BaseEstimator):  # type: ignore[misc]
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
        bm25s = import_extra("bm25s", "experiments", "BM25")
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
        words: list[list[str]] = self.tokenizer.split(strings(texts)).to_pylist()
        return words

    def _weighted(self, counts: sparse.csr_array) -> sparse.csr_array:
        """Return the weight of each word in each text, as an array like that of its counts."""
        lengths = np.repeat(counts.sum(axis=1), np.diff(counts.indptr))
        saturation = self.k1 * (1 - self.b + self.b * lengths / self.mean_length_)
        weights = counts.data / (counts.data + saturation) * self.idf_[counts.indices]
        return sparse.csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)


class Hybrid(BaseEstimator):  # type: ignore[misc]
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


class Indexed(BaseEstimator):  # type: ignore[misc]
    """Texts ranked by the index of a model, as its users search: by offsets and BM25 together.

    Parameters
    ----------
    model : SphericalParagraphModel
    """

    def __init__(self, model: Any) -> None:
        self.model = model

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
        for row, matches in zip(scores, self.index_.search(queries, k=len(self.index_)), strict=True):
            row[[match.position for match in matches]] = [match.score for match in matches]
        return scores


class WordLlama(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts as the mean of WordLlama's vectors of their pieces (Miller 2024); nothing is learned from the texts."""

    def fit(self, X: Any = None, y: Any = None) -> Self:  # noqa: ARG002
        """Load the table; ``X`` and ``y`` are ignored."""
        _pieces()
        return self

    def transform(self, X: list[str]) -> NDArray[np.float32]:
        """Return the means, (n_texts, 256)."""
        sums, lengths = _sums(list(X))
        return np.asarray(sums / np.maximum(lengths, 1)[:, None], np.float32)


def composed_vectors(texts: list[str]) -> WordVectors:
    """Return vectors for the words of texts: sums of WordLlama's vectors of their pieces, with the lengths as weights.

    Words are lower-cased, and their first piece is that of a word that follows a space.
    """
    words, _ = count_words(texts, PIECES)
    sums, _ = _sums(words)
    lengths = np.linalg.norm(sums, axis=1)
    kept = np.flatnonzero(lengths > 0)
    name = "wordllama-256, words composed of pieces"
    vectors = WordVectors.from_arrays([words[i] for i in kept], sums[kept], name=name)
    return vectors.with_weights(lengths[kept])


def _sums(texts: list[str]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the sums of the vectors of the pieces of texts, and how many each has: (n, 256), (n,)."""
    table, tokenizer = _pieces()
    ids = [encoded.ids for encoded in tokenizer.encode_batch(texts, add_special_tokens=False)]
    lengths = np.array([len(one) for one in ids], np.int64)
    flat = np.concatenate([np.zeros(0, np.int64), *(np.array(one, np.int64) for one in ids)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(texts), len(table))
    counts = sparse.csr_array((np.ones(len(flat)), flat.clip(max=len(table) - 1), starts), shape=shape)
    return np.asarray(counts @ table), lengths


@lru_cache(maxsize=1)
def _pieces() -> tuple[Floats, Any]:
    """Return WordLlama's table and its tokenizer, read from the files of its package, which needs not be imported."""
    found = find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise ParasphereError("WordLlama's table is not here; install it with: pip install --no-deps wordllama")
    folder = Path(found.submodule_search_locations[0])
    tensors = import_module("safetensors.numpy").load_file(folder / "weights" / "l2_supercat_256.safetensors")
    (table,) = tensors.values()
    settings = folder / "tokenizers" / "l2_supercat_tokenizer_config.json"
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(settings))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return np.asarray(table, np.float64), tokenizer


def _standardised(scores: Floats) -> Floats:
    """Return scores, (n_queries, n_texts), with mean 0 and variance 1 in each row; a constant row becomes 0."""
    deviations = scores.std(axis=1, keepdims=True)
    return np.asarray((scores - scores.mean(axis=1, keepdims=True)) / np.where(deviations > 0, deviations, 1.0))
