"""Rows as unit vectors, dense or sparse, and their products with directions and weights."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..compiled import compiled, guarded
from ..compiled.memory import address, prefetch

Floats = NDArray[np.float64]

AHEAD = 8  # entries whose directions are prefetched


def unit_rows(estimator: Any, X: Any, *, reset: bool) -> tuple[Any, NDArray[np.bool_]]:
    """Check a matrix as scikit-learn does and scale its rows to unit length; rows of zeros stay as they are.

    Returns the rows, (n, dim) float64 or CSR if the matrix is sparse, and which of them are not zero, (n,).
    """
    least = 2 if reset else 1  # later, the number of columns is compared with that of the fit
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_features=least)
    # Scale the largest entry to 1 first: squares of very large or small numbers overflow or underflow.
    if not sparse.issparse(X):
        peaks = np.abs(X).max(axis=1)
        rows = X / np.where(peaks > 0, peaks, 1.0)[:, None]
        return rows / _lengths(np.einsum("ij,ij->i", rows, rows))[:, None], peaks > 0
    rows = sparse.csr_array(X, copy=True)
    rows.check_format(full_check=True)  # compiled code relies on the indices, and scikit-learn does not check them
    rows.sum_duplicates()
    counts = np.diff(rows.indptr)
    peaks = abs(rows).max(axis=1).toarray().ravel()
    rows.data /= np.repeat(np.where(peaks > 0, peaks, 1.0), counts)
    rows.data /= np.repeat(_lengths(np.asarray((rows * rows).sum(axis=1)).ravel()), counts)
    return rows, peaks > 0


def _lengths(squares: Floats) -> Floats:
    """Return square roots, and 1 in place of 0, to divide by."""
    return np.asarray(np.sqrt(np.where(squares > 0, squares, 1.0)))


def cosines(rows: Any, directions: Floats) -> Floats:
    """Return the cosine of each row with each direction, (n, dim), (dim, k) -> (n, k)."""
    if not sparse.issparse(rows):
        return np.asarray(rows @ directions)
    if rows.shape[1] != len(directions):
        raise ValueError(f"rows of {rows.shape[1]} numbers have no cosine with directions of {len(directions)}")
    products = np.empty((rows.shape[0], directions.shape[1]))
    _csr_products(rows.indptr, rows.indices, rows.data, np.ascontiguousarray(directions), products)
    return products


def weighted_sums(rows: Any, weights: Floats) -> Floats:
    """Return the sums of the rows by each column of weights, (n, dim), (n, k) -> (dim, k), C-contiguous."""
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows.T @ weights)
    sums = np.zeros((rows.shape[1], weights.shape[1]))
    _csr_sums(rows.indptr, rows.indices, rows.data, np.ascontiguousarray(weights), sums)
    return sums


@guarded(ends="i[n+1]", columns="i[entries]", data="f8[entries]", directions="f8[dim,k]", out="f8[n,k]")
@compiled
def _csr_products(ends: Any, columns: Any, data: Any, directions: Any, out: Any) -> None:
    """Multiply a CSR matrix by a dense one, prefetching its rows: those of rare columns are not in the cache."""
    k = directions.shape[1]
    first, width = address(directions), 8 * k
    for i in range(out.shape[0]):
        for j in range(k):
            out[i, j] = 0.0
        for p in range(ends[i], ends[i + 1]):
            if p + AHEAD < columns.shape[0]:
                coming = first + width * np.int64(columns[p + AHEAD])
                for byte in range(0, width, 64):
                    prefetch(coming + byte)
            value, column = data[p], columns[p]
            for j in range(k):
                out[i, j] += value * directions[column, j]


@guarded(ends="i[n+1]", columns="i[entries]", data="f8[entries]", weights="f8[n,k]", out="f8[dim,k]")
@compiled
def _csr_sums(ends: Any, columns: Any, data: Any, weights: Any, out: Any) -> None:
    """Add the product of a transposed CSR matrix with a dense one to ``out``, skipping weights of 0.

    In high dimensions nearly all responsibilities are 0.
    """
    k = weights.shape[1]
    used = np.empty(k, np.int64)
    for i in range(weights.shape[0]):
        count = 0
        for j in range(k):
            if weights[i, j] != 0.0:
                used[count] = j
                count += 1
        for p in range(ends[i], ends[i + 1]):
            value, column = data[p], columns[p]
            if count == k:  # a loop without indirection can use SIMD
                for j in range(k):
                    out[column, j] += value * weights[i, j]
            else:
                for place in range(count):
                    out[column, used[place]] += value * weights[i, used[place]]


def normalised(columns: Floats) -> tuple[Floats, Floats]:
    """Scale columns (dim, k) to unit length in place; return them and their former lengths, (k,).

    A column of zeros becomes the first axis.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns /= np.where(lengths > 0, lengths, 1.0)
    columns[0, lengths == 0] = 1.0
    return columns, lengths


def spread_seeds(rows: Any, count: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Choose rows far from each other: greedy k-means++ (Arthur and Vassilvitskii, 2007) with ``1 - cosine``.

    That is half the squared distance between unit vectors. Of several rows, drawn with probabilities proportional to
    their distance from those chosen before, the one that leaves the smallest total distance is kept.
    """
    n = rows.shape[0]
    chosen = np.empty(count, np.int64)
    chosen[0] = rng.randint(n)
    away = _versines(rows, chosen[:1])[:, 0]
    trials = 2 + int(np.log(count))
    for place in range(1, count):
        total = away.sum()
        if total > 0:
            drawn = np.searchsorted(np.cumsum(away), rng.uniform(size=trials) * total)
        else:  # every row equals a chosen one
            drawn = rng.randint(n, size=trials)
        after = np.minimum(away[:, None], _versines(rows, np.minimum(drawn, n - 1)))
        best = int(after.sum(axis=0).argmin())
        chosen[place], away = min(int(drawn[best]), n - 1), after[:, best]
    return chosen


def dense_columns(rows: Any, places: NDArray[np.int64]) -> Floats:
    """Return some rows as the columns of a dense matrix, (dim, k)."""
    some = rows[places]
    return np.ascontiguousarray((some.toarray() if sparse.issparse(some) else some).T)


def _versines(rows: Any, places: NDArray[np.int64]) -> Floats:
    return np.maximum(1.0 - cosines(rows, dense_columns(rows, places)), 0.0)
