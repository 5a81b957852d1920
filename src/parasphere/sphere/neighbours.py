"""Nearest neighbours: the rows of largest product with each query."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _kernels

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SPARE_CANDIDATES = 8  # beyond k: rounding to float32 may have ranked them too low


def nearest(queries: NDArray[Any], rows: NDArray[Any], k: int, threads: int = 1) -> tuple[Ints, Floats]:
    """Return positions and cosines of the ``k`` rows nearest to each query, best first, ties by position.

    Products in float32 find candidates, whose cosines are computed again in float64. The bits of a cosine depend on the
    two rows alone.

    Parameters
    ----------
    queries : (n_queries, dim) array
    rows : (n, dim) array
        Unit rows, or 0 for rows without a direction; the queries likewise.
    k : int
    threads : int, default=1

    Returns
    -------
    positions : (n_queries, min(k, n)) int64
    cosines : (n_queries, min(k, n)) float64
    """
    positions, cosines, _ = ranked(queries, rows, min(k, len(rows)), threads)
    return positions, cosines


def ranked(
    queries: NDArray[Any],
    rows: NDArray[Any],
    k: int,
    threads: int,
    *,
    weight: float = 1.0,
    terms: Any = None,
    postings: Any = None,
    most: float = 0.0,
    scale: float = 0.0,
    admitted: NDArray[np.bool_] | None = None,
    candidates: Ints | None = None,
) -> tuple[Ints, Floats, Floats]:
    """Return positions, cosines and scores, (n_queries, k) each, of the best rows: see ``_kernels.rank``."""
    shape = len(queries), k
    positions, cosines, scores = np.empty(shape, np.int64), np.empty(shape), np.empty(shape)
    _kernels.rank(
        np.ascontiguousarray(queries, np.float64), kernel_rows(rows), weight, terms, postings, most, scale, admitted,
        candidates, SPARE_CANDIDATES, threads, positions, cosines, scores,
    )  # fmt: skip
    return positions, cosines, scores


def largest_products(queries: NDArray[Any], rows: NDArray[Any], k: int, threads: int = 1) -> Ints:
    """Return the positions of the ``k`` rows of largest product with each query in float32, best first.

    Parameters
    ----------
    queries : (n_queries, dim) array
    rows : (n, dim) array
    k : int
    threads : int, default=1

    Returns
    -------
    (n_queries, min(k, n)) int64
        Equal products are in the order of the rows.
    """
    positions = np.empty((len(queries), min(k, len(rows))), np.int64)
    _kernels.largest_products(np.ascontiguousarray(queries, np.float64), kernel_rows(rows), threads, positions)
    return positions


def kernel_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows as the kernels read them: float32, or the bits of float16 as uint16."""
    if rows.dtype == np.float16:
        return np.ascontiguousarray(rows).view(np.uint16)
    return np.ascontiguousarray(rows, np.float32)
