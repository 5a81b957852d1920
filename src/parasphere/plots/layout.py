"""Layout of documents on a plane: those that are near in many dimensions are near on the map.

The layout is that of UMAP (McInnes, Healy and Melville, 2018). Each document has edges to its nearest neighbours, by
cosine, with weights that fall with distance; positions on the plane are found by gradient descent, in which edges
attract and random pairs repel. The similarity on the plane is 1 / (1 + a d^2), without UMAP's other exponent, which is
1.1 and costs most of the time. It is implemented here, in compiled loops, because umap-learn compiles for minutes
before its first map, and with its own random numbers, so that a seed gives the same map on every machine of a kind.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._kernels import attract_and_repel, nearest_in_cells
from ..errors import ParasphereError
from ..sphere.neighbours import largest_products
from ..sphere.rows import unit_rows

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

NEIGHBOURS = 15
AXES = 50  # principal axes in which neighbours are looked for, if there are more dimensions
EXACT = 12_000  # documents up to which all pairs are compared
CELL, CELLS = 400, 6  # beyond that: documents per cell, and cells in which the neighbours of a document are looked for
CURVE = 1.036  # 1 / (1 + a d^2) is about exp(-(d - 0.3)) beyond the distance 0.3, and 1 before


def neighbour_map(rows: ArrayLike, seed: int = 0) -> Floats:
    """Lay documents on a plane so that neighbours stay neighbours.

    Parameters
    ----------
    rows : (n, dim) array
        Vectors, compared by their cosines. Rows of zeros are put in the middle.
    seed : int, default=0

    Returns
    -------
    (n, 2) float64
        Positions, centred; the same for the same rows and seed.

    Notes
    -----
    Only neighbourhoods are meaningful on such a map, not distances between groups or the sizes of groups.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.repeat(np.eye(5)[:2], 30, axis=0) + 0.1 * rng.normal(size=(60, 5))
    >>> points = neighbour_map(rows)
    >>> one, other = points[:30].mean(axis=0), points[30:].mean(axis=0)
    >>> bool((np.linalg.norm(points[:30] - one, axis=1) < np.linalg.norm(points[:30] - other, axis=1)).all())
    True
    """
    given = np.asarray(rows, np.float32)
    if given.ndim != 2 or not np.isfinite(given).all():
        raise ParasphereError(f"a map needs finite rows (n, dim), not an array of shape {given.shape}")
    present = given.any(axis=1)
    points = np.zeros((len(given), 2))
    if present.sum() < 3:
        points[present, 0] = np.arange(present.sum())
        return points
    reduced, start = _principal(unit_rows(given[present]), seed)
    points[present] = _descend(_graph(reduced, seed), start, seed)
    return points


def _principal(rows: Rows, seed: int) -> tuple[Rows, Floats]:
    """Return unit rows in their leading principal axes, and a start on the plane: the first two, about 10 wide."""
    width = min(AXES, rows.shape[1], len(rows) - 1)
    if rows.shape[1] > width:
        centred = rows - rows.mean(axis=0)
        _, axes = np.linalg.eigh(centred.T @ centred)
        rows = centred @ _oriented(axes[:, : -width - 1 : -1])
    plane = np.zeros((len(rows), 2))
    plane[:, : min(2, rows.shape[1])] = rows[:, :2]
    plane *= 10 / max(float(np.abs(plane).max()), 1e-12)
    plane += np.random.default_rng(seed).normal(scale=1e-3, size=plane.shape)  # so that equal rows can separate
    return np.ascontiguousarray(unit_rows(rows), np.float32), plane


def _oriented(axes: NDArray[Any]) -> NDArray[Any]:
    """Return columns whose largest entry is positive, so that signs do not depend on how they were computed."""
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return np.asarray(axes * np.where(largest < 0, -1, 1).astype(axes.dtype))


def _graph(rows: Rows, seed: int) -> sparse.coo_array:
    """Return the edges between neighbours, (n, n), weighted by UMAP's fuzzy union of both directions."""
    n, k = len(rows), min(NEIGHBOURS, len(rows) - 1)
    places = largest_products(rows, rows, k + 1) if n <= EXACT else _in_cells(rows, k + 1, seed)
    cosines = np.einsum("ij,ikj->ik", rows, rows[places]) if n <= EXACT else _cosines(rows, places)
    away = np.where(places == np.arange(n)[:, None], np.inf, np.maximum(1 - cosines, 0).astype(np.float64))
    order = np.argsort(away, axis=1, kind="stable")[:, :k]
    places, away = np.take_along_axis(places, order, 1), np.take_along_axis(away, order, 1)
    away = np.where(np.isfinite(away), away, 2.0)
    weights = _weights(away)
    seen = sparse.csr_array((weights.ravel(), (np.repeat(np.arange(n), k), places.ravel())), shape=(n, n))
    seen.sum_duplicates()
    both = seen.multiply(seen.T)
    return sparse.coo_array(seen + seen.T - both)


def _weights(away: Floats) -> Floats:
    """Return ``exp(-(d - nearest) / s)`` per document, with s such that the weights sum to log2 of their number."""
    beyond = away - away.min(axis=1, keepdims=True)
    target = math.log2(away.shape[1]) if away.shape[1] > 1 else 1.0
    low, high = np.full(len(away), 1e-6), np.full(len(away), 10.0)
    for _ in range(40):
        middle = np.sqrt(low * high)
        above = np.exp(-beyond / middle[:, None]).sum(axis=1) > target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray(np.exp(-beyond / high[:, None]))


def _in_cells(rows: Rows, k: int, seed: int) -> NDArray[np.int64]:
    """Return approximately the ``k`` nearest rows of each row: those in the cells around the nearest random rows."""
    n = len(rows)
    rng = np.random.default_rng(seed)
    centres = rows[np.sort(rng.choice(n, n // CELL, replace=False))]
    cells = largest_products(rows, centres, CELLS)
    order = np.argsort(cells[:, 0], kind="stable")
    ends = np.searchsorted(cells[order, 0], np.arange(len(centres) + 1))
    places = np.empty((n, k), np.int64)
    nearest_in_cells(rows, cells, order, ends, places)
    return places


def _cosines(rows: Rows, places: NDArray[np.int64]) -> Rows:
    parts = [np.einsum("ij,ikj->ik", rows[i : i + 4096], rows[places[i : i + 4096]]) for i in range(0, len(rows), 4096)]
    return np.concatenate(parts)


def _descend(graph: sparse.coo_array, start: Floats, seed: int) -> Floats:
    """Return the positions after the descent from a start, (n, 2), centred."""
    n = len(start)
    rounds = 300 if n <= 10_000 else 200
    strong = graph.data >= graph.data.max() / rounds  # the others are too weak to be used even once
    heads, tails = graph.row[strong].astype(np.int64), graph.col[strong].astype(np.int64)
    every = graph.data.max() / graph.data[strong]  # rounds between two uses of an edge
    points = np.ascontiguousarray(start, np.float64)
    attract_and_repel(points, heads, tails, every, rounds, CURVE, seed + 1)
    points = _drawn_in(points)
    return np.asarray(points - (points.max(axis=0) + points.min(axis=0)) / 2)


def _drawn_in(points: Floats) -> Floats:
    """Return points whose coordinates are compressed logarithmically beyond the quantiles 0.02 and 0.98.

    Groups without neighbours in other groups are pushed ever farther away, and would leave little room for the rest.
    """
    low, high = np.quantile(points, [0.02, 0.98], axis=0)
    unit = np.maximum(high - low, 1e-12) / 20
    below, above = np.maximum(low - points, 0), np.maximum(points - high, 0)
    return np.asarray(np.clip(points, low, high) + unit * (np.log1p(above / unit) - np.log1p(below / unit)))
