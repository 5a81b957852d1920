"""Nearest neighbours: the rows of largest cosine with each query, by products of matrices, block by block."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import keep_best

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Block = Callable[[int, int, NDArray[np.float32]], None]
MoreScores = Callable[[slice, int], Block]

QUERY_BATCH = 512  # queries that are multiplied with a block at once
BLOCK = 8192  # rows in a block
SPARE_CANDIDATES = 8  # beyond k: rounding to float32 may have ranked them too low


def nearest(queries: NDArray[Any], rows: NDArray[Any], k: int) -> tuple[Ints, Floats]:
    """Return positions and cosines of the ``k`` rows nearest to each query, best first, ties by position.

    The last bits of a product of matrices depend on how many rows are multiplied at once, so the cosines of the
    candidates are computed again, one by one, in float64.

    Parameters
    ----------
    queries : (n_queries, dim) array
    rows : (n, dim) array
        Unit rows, or 0 for rows without a direction; the queries likewise.
    k : int

    Returns
    -------
    positions : (n_queries, min(k, n)) int64
    cosines : (n_queries, min(k, n)) float64
    """
    positions = largest_products(queries, rows, k + SPARE_CANDIDATES)
    cosines = exact_cosines(queries, rows, positions)
    order = np.lexsort((positions, -cosines), axis=1)[:, :k]
    return np.take_along_axis(positions, order, 1), np.take_along_axis(cosines, order, 1)


def largest_products(
    queries: NDArray[Any], rows: NDArray[Any], k: int, threads: int = 1, more_scores: MoreScores | None = None
) -> Ints:
    """Return the positions of the ``k`` rows of largest product with each query in float32, best first.

    Parameters
    ----------
    queries : (n_queries, dim) array
    rows : (n, dim) array
    k : int
    threads : int, default=1
    more_scores : callable, default=None
        ``more_scores(batch, first)`` takes a slice of the queries and the first row of a range. It returns a function
        ``(begin, end, scores)`` that is called block by block, and adds to the scores of the rows from ``begin`` to
        ``end``, which are the first columns of ``scores``.

    Returns
    -------
    (n_queries, min(k, n)) int64
        Equal scores are in the order of the rows.
    """
    k = min(k, len(rows))
    batches = [slice(begin, begin + QUERY_BATCH) for begin in range(0, len(queries), QUERY_BATCH)]
    cuts = np.linspace(0, len(rows), max(1, min(threads, len(rows) // BLOCK)) + 1).astype(int).tolist()

    def search(part: tuple[slice, tuple[int, int]]) -> tuple[NDArray[np.float32], Ints]:
        batch, (first, last) = part
        more = None if more_scores is None else more_scores(batch, first)
        return _best_of_range(queries[batch], rows, k, first, last, more)

    parts = list(product(batches, pairwise(cuts)))
    if len(cuts) == 2:
        best = list(map(search, parts))
    else:
        with ThreadPoolExecutor(threads) as pool:
            best = list(pool.map(search, parts))
    result = np.empty((len(queries), k), np.int64)
    for i, batch in enumerate(batches):
        own = best[i * (len(cuts) - 1) : (i + 1) * (len(cuts) - 1)]
        scores, positions = (np.concatenate(column, axis=1) for column in zip(*own, strict=True))
        result[batch] = np.take_along_axis(positions, np.lexsort((positions, -scores), axis=1)[:, :k], 1)
    return result


def exact_cosines(queries: NDArray[Any], rows: NDArray[Any], positions: Ints) -> Floats:
    """Return the products of each query and its rows, (n_queries, k); their bits do not depend on other queries."""
    cosines = np.empty(positions.shape)
    for query, chosen, own in zip(queries.astype(np.float64), positions, cosines, strict=True):
        own[:] = np.einsum("d,kd->k", query, rows[chosen].astype(np.float64))
    return cosines


def _best_of_range(
    queries: NDArray[Any], rows: NDArray[Any], k: int, first: int, last: int, more: Block | None
) -> tuple[NDArray[np.float32], Ints]:
    """Return scores and positions, (n_queries, k), of the best rows from ``first`` to ``last``, in any order."""
    best = np.full((len(queries), k), -np.inf, np.float32)
    positions = np.zeros((len(queries), k), np.int64)
    scores = np.zeros((len(queries), min(BLOCK, last - first)), np.float32)
    dtype = np.float32 if rows.dtype == np.float16 else rows.dtype
    queries, silent = queries.astype(dtype), not queries.any()
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        if silent:
            scores[:] = 0.0
        elif end - begin == scores.shape[1] and dtype == np.float32:
            np.dot(queries, rows[begin:end].astype(dtype, copy=False).T, out=scores)
        else:
            scores[:, : end - begin] = queries @ rows[begin:end].astype(dtype, copy=False).T
        if more is not None:
            more(begin, end, scores)
        keep_best(scores, end - begin, begin, best, positions)
    return best, positions
