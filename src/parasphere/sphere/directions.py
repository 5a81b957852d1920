"""Rows as points of the unit sphere, dense or sparse, and the two products that mixtures on the sphere are made of."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..compiled import compiled, guarded
from ..compiled.memory import address, prefetch
from . import vmf

Floats = NDArray[np.float64]

AHEAD = 8  # how many entries ahead of the product their directions are asked for


def check_whole(estimator: Any, *names: str) -> None:
    """Insist that parameters are whole numbers of at least 1."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")


def check_tol(estimator: Any) -> None:
    """Insist that ``tol`` is a number of at least 0."""
    value = estimator.tol
    if not isinstance(value, Real) or not float(value) >= 0:
        raise ValueError(f"tol must be a number of at least 0, not {value!r}")


def check_kappa(estimator: Any, name: str) -> None:
    """Insist that a parameter can be a concentration."""
    value = getattr(estimator, name)
    if not isinstance(value, Real) or not 0 < float(value) <= vmf.MAX_KAPPA:
        raise ValueError(f"{name} must lie above 0 and be at most {vmf.MAX_KAPPA:g}, not {value!r}")


def unit_rows(estimator: Any, X: Any, *, reset: bool) -> tuple[Any, NDArray[np.bool_]]:
    """Check a matrix as scikit-learn does and scale its rows to unit length.

    Returns
    -------
    rows : (n, dim) float64 array, or CSR if the matrix is sparse
        Rows of zeros stay as they are.
    present : (n,) bool array
        Which rows are not zero.
    """
    least = 2 if reset else 1  # later, the wrong number of columns is the clearer fault
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=reset, ensure_min_features=least)
    # To largest entry 1 first: squares of very large or very small numbers would not be finite, or be 0.
    if not sparse.issparse(X):
        peaks = np.abs(X).max(axis=1)
        rows = X / np.where(peaks > 0, peaks, 1.0)[:, None]
        return rows / _lengths(np.einsum("ij,ij->i", rows, rows))[:, None], peaks > 0
    rows = sparse.csr_array(X, copy=True)
    rows.check_format(full_check=True)  # compiled code trusts its indices, and scikit-learn does not look at them
    rows.sum_duplicates()
    counts = np.diff(rows.indptr)
    peaks = abs(rows).max(axis=1).toarray().ravel()
    rows.data /= np.repeat(np.where(peaks > 0, peaks, 1.0), counts)
    rows.data /= np.repeat(_lengths(np.asarray((rows * rows).sum(axis=1)).ravel()), counts)
    return rows, peaks > 0


def _lengths(squares: Floats) -> Floats:
    """Return roots, and 1 for the root of 0, to divide by."""
    found: Floats = np.sqrt(np.where(squares > 0, squares, 1.0))
    return found


def cosines(rows: Any, directions: Floats) -> Floats:
    """Return the cosine of each row with each direction, (n, dim), (dim, k) -> (n, k)."""
    if not sparse.issparse(rows):
        found: Floats = rows @ directions
        return found
    if rows.shape[1] != len(directions):
        raise ValueError(f"rows of {rows.shape[1]} numbers have no cosine with directions of {len(directions)}")
    found = np.empty((rows.shape[0], directions.shape[1]))
    _csr_products(rows.indptr, rows.indices, rows.data, np.ascontiguousarray(directions), found)
    return found


def weighted_sums(rows: Any, weights: Floats) -> Floats:
    """Return the sums of the rows by each column of weights, (n, dim), (n, k) -> (dim, k), C-contiguous."""
    if not sparse.issparse(rows):
        return np.ascontiguousarray(rows.T @ weights)
    found: Floats = np.zeros((rows.shape[1], weights.shape[1]))
    _csr_sums(rows.indptr, rows.indices, rows.data, np.ascontiguousarray(weights), found)
    return found


@guarded(ends="i[n+1]", columns="i[entries]", data="f8[entries]", directions="f8[dim,k]", out="f8[n,k]")
@compiled
def _csr_products(ends: Any, columns: Any, data: Any, directions: Any, out: Any) -> None:
    """Multiply a CSR matrix by a dense one, asking for memory ahead of the need: rare words are never at hand."""
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
    """Add the transpose of a CSR matrix times a dense one to ``out``, touching only weights that are not 0.

    In high dimension nearly all responsibilities are 0.
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
            if count == k:  # without the list of places the compiler can use SIMD
                for j in range(k):
                    out[column, j] += value * weights[i, j]
            else:
                for place in range(count):
                    out[column, used[place]] += value * weights[i, used[place]]


def normalised(columns: Floats) -> tuple[Floats, Floats]:
    """Scale columns (dim, k) to unit length, in place, and return them and the lengths they had, (k,).

    A column of zeros becomes the first axis.
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    columns /= np.where(lengths > 0, lengths, 1.0)
    columns[0, lengths == 0] = 1.0
    return columns, lengths


def spread_seeds(rows: Any, count: int, rng: np.random.RandomState) -> NDArray[np.int64]:
    """Choose rows far from each other: greedy k-means++ (Arthur and Vassilvitskii, 2007) with ``1 - cosine``.

    That is half the squared distance between unit vectors. Of several rows, each drawn with a chance that grows with
    its distance to those chosen before, the one is kept that leaves the least distance in all.
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
        else:  # all rows equal one that was chosen
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
