"""Products of sparse rows, beside the same sums in Python."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from parasphere import _kernels


def matrix(n: int, dim: int, kind: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = sparse.random_array((n, dim), density=0.5, rng=np.random.default_rng(n), format="csr")
    return rows.indptr.astype(kind), rows.indices.astype(kind), rows.data


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("k", [0, 1, 8, 21])
@pytest.mark.parametrize(("n", "dim"), [(1, 1), (6, 90), (40, 7)])
def test_products_are_summed_in_the_order_of_entries(n: int, dim: int, k: int, kind: Any) -> None:
    ends, columns, data = matrix(n, dim, kind)
    directions = np.random.default_rng(k).normal(size=(dim, k))
    out, due = np.full((n, k), np.nan), np.zeros((n, k))
    for i in range(n):
        for p in range(ends[i], ends[i + 1]):
            due[i] += data[p] * directions[columns[p]]
    _kernels.csr_products(ends, columns, data, directions, out)
    assert out.tobytes() == due.tobytes()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("zeros", [0, 0.5, 1])
@pytest.mark.parametrize("k", [1, 8, 21])
def test_sums_are_summed_in_the_order_of_rows(k: int, zeros: float, kind: Any) -> None:
    ends, columns, data = matrix(40, 50, kind)
    rng = np.random.default_rng(k)
    weights = rng.normal(size=(40, k)) * (rng.uniform(size=(40, k)) >= zeros)
    out = rng.normal(size=(50, k))
    due = out.copy()
    for i in range(40):
        for p in range(ends[i], ends[i + 1]):
            due[columns[p]] += data[p] * weights[i]
    _kernels.csr_sums(ends, columns, data, weights, out)
    assert out.tobytes() == due.tobytes()


@pytest.mark.parametrize("kernel", [_kernels.csr_products, _kernels.csr_sums])
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ends", np.array([0, 2, 4]), "ends must rise from 0 to at most 3, but 4 follows 2"),
        ("ends", np.array([0, 2, 1], np.int32), "ends must rise from 0 to at most 3, but 1 follows 2"),
        ("ends", np.array([-1, 2, 3]), "ends must rise from 0"),
        ("ends", np.array([0, 2**62, 3]), "ends must rise from 0"),
        ("ends", np.array([0, 3]), "ends must have size 3"),
        ("ends", np.array([0, 2, 3], np.int16), "ends must be int32 or int64 with 1 axis, not int16"),
        ("columns", np.array([0, 1, 2]), "columns must be from 0 to below 2, not 2"),
        ("columns", np.array([0, -1, 1], np.int32), "columns must be from 0 to below 2, not -1"),
        ("columns", np.array([0, -(2**63), 1]), "columns must be from 0 to below 2"),
        ("columns", np.array([0, 1]), "data must have size 2"),
        ("data", np.ones(3, np.float32), "data must be float64"),
        ("data", np.ones(6)[::2], "data must be contiguous"),
        ("matrix", np.ones((2, 3)), "out must have size 3 along axis 1"),
        ("matrix", np.ones((2, 8))[:, ::2], "must be contiguous"),
        ("matrix", None, "must be an array, not None"),
        ("out", np.ones((2, 4), np.float32), "out must be float64"),
        ("out", np.broadcast_to(1.0, (2, 4)), "out (is written to|must be contiguous)"),
    ],
)
def test_wrong_arguments(kernel: Any, name: str, value: Any, message: str) -> None:
    a: dict[str, Any] = {
        "ends": np.array([0, 2, 3]), "columns": np.array([0, 1, 1]), "data": np.ones(3),
        "matrix": np.ones((2, 4)), "out": np.ones((2, 4)),
    }  # fmt: skip
    kernel(*a.values())
    with pytest.raises(ValueError, match=message):
        kernel(*(a | {name: value}).values())


def test_columns_that_are_written_over() -> None:
    """Products that overwrite the columns that are read: none is followed beyond the directions."""
    out = np.zeros((8, 1))
    with pytest.raises(ValueError, match="columns must be from 0 to below 2"):
        _kernels.csr_products(
            np.maximum(np.arange(9) - 1, 0), out.view(np.int64).ravel(), np.ones(8), np.full((2, 1), -1.0), out
        )
