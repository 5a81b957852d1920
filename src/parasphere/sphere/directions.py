"""Rows as unit vectors, dense or sparse, and their products with directions and weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from .rows import unit_rows

Floats = NDArray[np.float64]


def validated_rows(estimator: Any, X: Any, *, reset: bool) -> tuple[Any, NDArray[np.bool_]]:
    """Check a matrix as scikit-learn does and scale its rows to unit length; rows of zeros are unchanged.

    Returns the rows, (n, dim) float64, or CSR if the matrix is sparse, and a mask of those that are not zero, (n,).
    """
    least = 2 if reset else 1  # after the fit, the number of columns is compared with that of the fit
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_features=least)
    # Scale the largest entry to 1 first: squares of very large or small numbers overflow or underflow.
    if not sparse.issparse(X):
        peaks = np.abs(X).max(axis=1)
        return unit_rows(X / np.where(peaks > 0, peaks, 1.0)[:, None]), peaks > 0
    rows = sparse.csr_array(X, copy=True)
    rows.check_format(full_check=True)  # compiled code relies on the indices, and scikit-learn does not check them
    rows.sum_duplicates()
    counts = np.diff(rows.indptr)
    peaks = abs(rows).max(axis=1).toarray().ravel()
    rows.data /= np.repeat(np.where(peaks > 0, peaks, 1.0), counts)
    squares = np.asarray((rows * rows).sum(axis=1)).ravel()
    rows.data /= np.repeat(np.sqrt(np.where(squares > 0, squares, 1.0)), counts)
    return rows, peaks > 0


def cosines(rows: Any, directions: Floats) -> Floats:
    """Return the cosine of each row with each direction, (n, dim), (dim, k) -> (n, k)."""
    if rows.shape[1] != len(directions):
        raise ValueError(f"rows of {rows.shape[1]} numbers have no cosine with directions of {len(directions)}")
    return np.asarray(rows @ directions)


def weighted_sums(rows: Any, weights: Floats) -> Floats:
    """Return the sums of the rows weighted by each column, (n, dim), (n, k) -> (dim, k), C-contiguous."""
    return np.ascontiguousarray(rows.T @ weights)


def unit_columns(columns: Floats) -> tuple[Floats, Floats]:
    """Scale columns (dim, k) to unit length in place; return them and their former lengths, (k,).

    A column of zeros becomes the first axis.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns /= np.where(lengths > 0, lengths, 1.0)
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
