"""Rows of unit length, compared with exact arithmetic."""

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import pytest

from parasphere.sphere.rows import unit_rows


def test_rows_are_divided_by_their_lengths(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(20, 7)) * 10.0 ** rng.integers(-100, 100, (20, 1))
    for row, unit in zip(rows, unit_rows(rows), strict=True):
        squares = sum(Fraction(x) ** 2 for x in row.tolist())
        digits = 10**80 if squares > 1 else 10**300
        length = Fraction(isqrt(int(squares * digits**2)), digits)
        assert unit == pytest.approx([float(Fraction(x) / length) for x in row.tolist()], rel=1e-15)


@pytest.mark.parametrize(
    ("dtype", "wanted", "expected"),
    [(np.float16, None, np.float32), (np.float32, None, np.float32), (np.float64, None, np.float64),
     (np.int64, None, np.float64), (np.float64, np.float32, np.float32), (np.float32, np.float64, np.float64)],
)  # fmt: skip
def test_types(dtype: Any, wanted: Any, expected: Any) -> None:
    rows = np.array([[3, 4], [0, 0], [-5, 0]], dtype)[:, ::-1]  # not contiguous
    before = rows.copy()
    unit = unit_rows(rows, wanted)
    assert unit.dtype == expected
    assert np.array_equal(unit, np.array([[0.8, 0.6], [0, 0], [0, -1]], expected))
    assert np.array_equal(rows, before)


def test_no_rows() -> None:
    assert unit_rows(np.empty((0, 3), np.float32)).shape == (0, 3)
