"""Rows as unit vectors, dense or sparse, and their products with directions and weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import maxabs_scale, normalize
from sklearn.utils.validation import validate_data

Floats = NDArray[np.float64]


def validated_rows(estimator: Any, X: Any, *, reset: bool) -> tuple[Any, NDArray[np.bool_]]:
    """Return rows of unit length or of zeros, (n, dim) float64 or CSR, and a mask of those that are not zero, (n,)."""
    least = 2 if reset else 1  # after the fit, the number of columns is compared with that of the fit
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_features=least)
    if sparse.issparse(X):
        X = sparse.csr_array(X, copy=True)
        X.sum_duplicates()
    rows = normalize(maxabs_scale(X, axis=1))  # squares of very large or small numbers overflow or underflow
    return rows, np.asarray(abs(rows).sum(axis=1)).ravel() > 0


def cosines(rows: Any, directions: Floats) -> Floats:
    """Return the cosine of each row with each direction, (n, dim), (dim, k) -> (n, k)."""
    return np.asarray(rows @ directions)


def weighted_sums(rows: Any, weights: Floats) -> Floats:
    """Return the sums of the rows weighted by each column, (n, dim), (n, k) -> (dim, k)."""
    return np.ascontiguousarray(rows.T @ weights)


def unit_columns(columns: Floats) -> tuple[Floats, Floats]:
    """Return columns (dim, k) scaled to unit length, and their lengths, (k,); zeros become the first axis."""
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns / np.where(lengths > 0, lengths, 1.0)
    columns[0, lengths == 0] = 1.0
    return columns, lengths


def spread_seeds(rows: Any, count: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Choose rows far from each other: greedy k-means++ (Arthur and Vassilvitskii, 2007) with ``1 - cosine``.

    The distance is half the squared distance between unit vectors. Of several rows, drawn with probabilities
    proportional to their distance from those already chosen, the one that leaves the smallest total distance is kept.
    """
    n = rows.shape[0]
    chosen = np.empty(count, np.int64)
    chosen[0] = rng.randint(n)
    away = _versines(rows, chosen[:1])[:, 0]
    trials = 2 + int(np.log(count))
    for i in range(1, count):
        total = away.sum()
        if total > 0:
            drawn = np.searchsorted(np.cumsum(away), rng.uniform(size=trials) * total)
        else:  # every row equals a chosen one
            drawn = rng.randint(n, size=trials)
        after = np.minimum(away[:, None], _versines(rows, np.minimum(drawn, n - 1)))
        best = int(after.sum(axis=0).argmin())
        chosen[i], away = min(int(drawn[best]), n - 1), after[:, best]
    return chosen


def dense_columns(rows: Any, indices: NDArray[np.int64]) -> Floats:
    """Return the selected rows as the columns of a dense matrix, (dim, k)."""
    some = rows[indices]
    return np.ascontiguousarray((some.toarray() if sparse.issparse(some) else some).T)


def _versines(rows: Any, indices: NDArray[np.int64]) -> Floats:
    return np.maximum(1.0 - cosines(rows, dense_columns(rows, indices)), 0.0)
