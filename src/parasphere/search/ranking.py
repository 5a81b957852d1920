"""Exact ranking of many documents for many queries, by cosines, by BM25, or by both."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sphere.neighbours import Floats, Ints, ranked
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
    return _ranked(queries, documents, bm25, min(k, n_ranked), threads, admitted=admitted)


def rank_among(near: Ints, queries: Queries, documents: NDArray[Any], bm25: BM25 | None, k: int, threads: int) -> Hits:
    """Return the ``k`` best documents of each query among given candidates and those that words find.

    Parameters
    ----------
    near : (n_queries, n) int64
        Positions of documents whose offsets are close to those of each query, at least ``k`` or all of them.
    queries, documents, bm25, k, threads
        As in :func:`rank`.
    """
    if queries.terms is not None and bm25 is not None:
        by_words = queries._replace(cosine_weight=0.0, bm25_weight=1.0)
        near = np.concatenate([near, rank(by_words, documents, bm25, near.shape[1], threads).positions], axis=1)
    return _ranked(queries, documents, bm25, min(k, len(documents)), threads, candidates=near)


def _ranked(queries: Queries, documents: NDArray[Any], bm25: BM25 | None, k: int, threads: int, **some: Any) -> Hits:
    """Return the best documents of each query by ``_kernels.rank``."""
    if queries.terms is not None and bm25 is not None:
        some |= {"terms": queries.terms, "postings": bm25.postings, "most": MAX_GAIN, "scale": queries.bm25_weight}
    return Hits(*ranked(queries.offsets, documents, k, threads, weight=queries.cosine_weight, **some))
