"""Nearest neighbours, beside scikit-learn's and a stable sort."""

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from parasphere.sphere import neighbours
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
def test_of_equal_rows_the_first_comes_first(k: int, n: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK", 70)
    monkeypatch.setattr(neighbours, "QUERY_BATCH", 3)
    values = np.round(np.random.default_rng(n + k).normal(size=n), 1)
    queries = np.array([[2.0], [-1.0], [0.5], [4.0]])
    due = np.argsort(-(queries * values), axis=1, kind="stable")[:, :k]
    assert (largest_products(queries, values[:, None], k, threads) == due).all()
    assert (nearest(queries, values[:, None], k)[0][:, :1] == due[:, :1]).all()


def test_results_depend_on_neither_batches_nor_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, rows = unit_rows(50, 40), unit_rows(500, 40, seed=1)
    due = nearest(queries, rows, 9)
    monkeypatch.setattr(neighbours, "BLOCK", 33)
    monkeypatch.setattr(neighbours, "QUERY_BATCH", 7)
    for found, expected in zip(nearest(queries, rows, 9), due, strict=True):
        assert found.tobytes() == expected.tobytes()


def test_other_scores_are_added_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "BLOCK", 33)
    queries, rows, more = unit_rows(5, 4), unit_rows(100, 4, seed=1), np.random.default_rng(2).normal(size=(5, 100))

    def adder(batch: slice, _first: int) -> Any:
        def add(begin: int, end: int, scores: np.ndarray) -> None:
            scores[:, : end - begin] += more[batch, begin:end]

        return add

    for factor in (1.0, 0.0):
        due = np.argsort(-(factor * queries @ rows.T + more), axis=1)[:, :6]
        assert (largest_products(factor * queries, rows, 6, 1, adder) == due).all()


def test_nothing() -> None:
    assert largest_products(np.ones((2, 3)), np.ones((0, 3)), 4).shape == (2, 0)
    assert nearest(np.ones((0, 3)), np.ones((5, 3)), 4)[0].shape == (0, 4)
