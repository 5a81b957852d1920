"""Nearest neighbours, beside scikit-learn's and a stable sort."""

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from parasphere.sphere.neighbours import largest_products, nearest


def unit_rows(n: int, dim: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nearest_are_those_of_scikit_learn(dtype: Any) -> None:
    queries, rows = unit_rows(1500, 6, dtype=dtype), unit_rows(300, 6, seed=1, dtype=dtype)
    index = NearestNeighbors(n_neighbors=7, metric="cosine", algorithm="brute").fit(rows.astype(np.float64))
    away, expected = index.kneighbors(queries.astype(np.float64))
    positions, cosines = nearest(queries, rows, 7)
    assert (positions == expected).mean() > 0.999  # but for ties by rounding
    np.testing.assert_allclose(cosines, 1 - away, atol=1e-6)
    assert (largest_products(queries, rows, 7) == expected).mean() > 0.999


@pytest.mark.parametrize("k", [1, 3, 20, 60])
@pytest.mark.parametrize("n", [1, 60, 200, 9000])
@pytest.mark.parametrize("threads", [1, 3])
def test_of_equal_rows_the_first_comes_first(k: int, n: int, threads: int) -> None:
    values = np.round(np.random.default_rng(n + k).normal(size=n), 1)
    queries = np.array([[2.0], [-1.0], [0.5], [4.0]])
    due = np.argsort(-(queries * values), axis=1, kind="stable")[:, :k]
    assert (largest_products(queries, values[:, None], k, threads) == due).all()
    assert (nearest(queries, values[:, None], k)[0][:, :1] == due[:, :1]).all()


@pytest.mark.parametrize("dim", [5, 16, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_results_depend_on_neither_other_queries_nor_threads(dim: int, dtype: Any) -> None:
    queries, rows = unit_rows(50, dim), unit_rows(9000, dim, seed=1, dtype=dtype)
    due = nearest(queries, rows, 9)
    for threads in (2, 3, 8, 16):
        for found, expected in zip(nearest(queries, rows, 9, threads), due, strict=True):
            assert found.tobytes() == expected.tobytes()
    for some in (slice(0, 1), slice(7, 10), slice(20, 25), slice(30, 47)):
        for found, expected in zip(nearest(queries[some], rows, 9, 3), due, strict=True):
            assert found.tobytes() == expected[some].tobytes()
        assert (largest_products(queries[some], rows, 9) == largest_products(queries, rows, 9)[some]).all()


def test_nothing() -> None:
    assert largest_products(np.ones((2, 3)), np.ones((0, 3)), 4).shape == (2, 0)
    assert nearest(np.ones((0, 3)), np.ones((5, 3)), 4)[0].shape == (0, 4)
