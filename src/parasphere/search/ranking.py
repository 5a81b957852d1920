"""Exact ranking of many documents for many queries, by cosines, by BM25, or by both."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import add_word_scores, word_scores
from ..sphere.neighbours import SPARE_CANDIDATES, Floats, Ints, exact_cosines, largest_products
from .bm25 import BM25, MAX_GAIN, QueryTerms


class Queries(NamedTuple):
    """Queries, whose score is ``cosine_weight * cosine + bm25_weight * BM25``.

    Attributes
    ----------
    offsets : (n_queries, dim) float64
        Unit rows, or 0 for queries without known words.
    terms : QueryTerms or None
        The words of the queries; None if they do not count.
    cosine_weight, bm25_weight : float
    """

    offsets: Floats
    terms: QueryTerms | None
    cosine_weight: float
    bm25_weight: float


class Hits(NamedTuple):
    """The best documents per query, best first; each (n_queries, k)."""

    positions: Ints
    cosines: Floats
    scores: Floats


def rank(
    queries: Queries,
    documents: NDArray[Any],
    bm25: BM25 | None,
    k: int,
    threads: int,
    admitted: NDArray[np.bool_] | None = None,
) -> Hits:
    """Return the ``k`` best documents of each query, ties by position.

    Scores in float32 find the candidates, whose scores are computed again in float64.

    Parameters
    ----------
    queries : Queries
    documents : (n_docs, dim) float32 or float16
        Unit rows, or 0 for documents without known words.
    bm25 : BM25 or None
        The words of the documents, if words count.
    k : int
    threads : int
    admitted : (n_docs,) bool, default=None
        The documents that are ranked; None is all.
    """
    n_ranked = len(documents) if admitted is None else int(admitted.sum())
    n_candidates = min(k + SPARE_CANDIDATES, n_ranked)  # others have no finite score
    near = _candidates(queries, documents, bm25, n_candidates, threads, admitted)
    return _best(near, queries, documents, bm25, min(k, n_ranked))


def rank_among(near: Ints, queries: Queries, documents: NDArray[Any], bm25: BM25 | None, k: int, threads: int) -> Hits:
    """Return the ``k`` best documents of each query among given candidates and those that words find.

    Parameters
    ----------
    near : (n_queries, n) int64
        Positions of documents whose offsets are close to those of each query, at least ``k`` or all of them.
    queries, documents, bm25, k, threads
        As in :func:`rank`.
    """
    if queries.terms is None or bm25 is None:
        return _best(near, queries, documents, bm25, k)
    by_words = queries._replace(cosine_weight=0.0, bm25_weight=1.0)
    positions = rank(by_words, documents, bm25, near.shape[1], threads).positions
    return _best(np.concatenate([near, positions], axis=1), queries, documents, bm25, k)


def _candidates(
    queries: Queries,
    documents: NDArray[Any],
    bm25: BM25 | None,
    k: int,
    threads: int,
    admitted: NDArray[np.bool_] | None,
) -> Ints:
    offsets = queries.cosine_weight * queries.offsets
    all_terms = queries.terms
    if (all_terms is None or bm25 is None) and admitted is None:
        return largest_products(offsets, documents, k, threads)
    penalties = None if admitted is None else np.where(admitted, np.float32(0), np.float32(-np.inf))

    def more_scores(batch: slice, first: int) -> Any:
        terms = None if all_terms is None else all_terms.of(batch)
        cursors = None if terms is None or bm25 is None else _cursors(terms, bm25, first)

        def add(begin: int, end: int, scores: NDArray[np.float32]) -> None:
            if terms is not None and bm25 is not None and cursors is not None:
                add_word_scores(terms, bm25.postings, MAX_GAIN, queries.bm25_weight, begin, cursors, scores, end)
            if penalties is not None:
                scores[:, : end - begin] += penalties[begin:end]

        return add

    return largest_products(offsets, documents, k, threads, more_scores)


def _cursors(terms: QueryTerms, bm25: BM25, first: int) -> Ints:
    """Return the first posting of each word in a document that is not before ``first``."""
    cursors = bm25.starts[terms.words]
    if first:
        ends = bm25.starts[terms.words + 1]
        for i, (begin, end) in enumerate(zip(cursors, ends, strict=True)):
            cursors[i] = begin + np.searchsorted(bm25.documents[begin:end], first)
    return cursors


def _best(positions: Ints, queries: Queries, documents: NDArray[Any], bm25: BM25 | None, k: int) -> Hits:
    """Return the ``k`` best of some candidates of each query, which may be repeated, by exact scores."""
    positions = np.sort(positions, axis=1)
    cosines = exact_cosines(queries.offsets, documents, positions)
    scores = queries.cosine_weight * cosines
    if queries.terms is not None and bm25 is not None:
        words = np.empty(positions.shape)
        word_scores(queries.terms, bm25.postings, MAX_GAIN, positions, words)
        scores = scores + queries.bm25_weight * words
    scores[:, 1:][positions[:, 1:] == positions[:, :-1]] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, : min(k, len(documents))]
    return Hits(
        np.take_along_axis(positions, order, 1),
        np.take_along_axis(cosines, order, 1),
        np.take_along_axis(scores, order, 1),
    )
