"""Exact sums, beside fractions: no addition is rounded, in whichever order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import _kernels


def _value(limbs: np.ndarray, unit: Fraction) -> Fraction:
    return sum((int(limb) * 2 ** (32 * place) for place, limb in enumerate(limbs)), 0) * unit


@given(st.lists(st.floats(-1e300, 1e300), max_size=30))
def test_sums_of_any_numbers(numbers: list[float]) -> None:
    limbs = np.zeros((66, 1), np.int64)
    for part in (numbers[:7], numbers[7:]):
        _kernels.add_bits(np.array(part).reshape(-1, 1).view(np.int64), limbs)
    assert _value(limbs[:, 0], Fraction(1, 2**1088)) == sum(map(Fraction, numbers))
    assert ((limbs[:-1] >= 0) & (limbs[:-1] < 2**32)).all()


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan, 1e308])
def test_numbers_that_have_no_place_are_refused(number: float) -> None:
    with pytest.raises(ValueError, match="numbers must be finite, and below"):
        _kernels.add_bits(np.array([[number]]).view(np.int64), np.zeros((66, 1), np.int64))


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=7))
def test_digits_are_carried(digits: list[int]) -> None:
    limbs = np.array(digits, np.int64).reshape(-1, 1)
    before = _value(limbs[:, 0], Fraction(1))
    _kernels.carry_digits(limbs)
    assert _value(limbs[:, 0], Fraction(1)) == before
    assert ((limbs[:-1] >= 0) & (limbs[:-1] < 2**32)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 2047, 2050])
def test_bounded_rows(rng: np.random.Generator, n: int, kind: type) -> None:
    rows = rng.uniform(-1.5, 1.5, (n, 3)).astype(kind)
    factors, shares, common = rng.random(n), rng.uniform(-0.3, 0.3, n), rng.uniform(-1, 1, 3)
    entries = shares[:, None] * common + factors[:, None] * rows
    within = (np.abs(entries) < 1).all(axis=1)
    entries = np.clip(entries, -1, 1)
    due = []
    for column in entries.T.tolist():
        fine = [round(Fraction(entry) * 2**38) for entry in column]
        left = [Fraction(entry) * 2**38 - one for entry, one in zip(column, fine, strict=True)]
        due.append((sum(fine), sum(round(rest * 2**38) for rest in left)))
    for known in (within, np.zeros(n, bool)):
        fine, finer = np.zeros((2, 3), np.int64)
        _kernels.add_bounded(rows, factors, shares, common, known, fine, finer)
        assert [*zip(fine.tolist(), finer.tolist(), strict=True)] == due


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 7, 8, 20])
def test_powers_and_halves(rng: np.random.Generator, dim: int, kind: type) -> None:
    rows = (rng.normal(size=(30, dim)) * 10.0 ** rng.integers(-14, 12, (30, 1))).astype(kind)
    rows[3] = 0
    factors, powers = rng.random(30), np.empty(30, np.int64)
    _kernels.find_powers(rows, factors, powers)
    largest = np.abs(rows.astype(np.float64)).max(axis=1) * np.sqrt(factors)
    for power, entry in zip(powers.tolist(), largest.tolist(), strict=True):
        assert power == (-34 if entry == 0 else min(p for p in range(-32, 34, 2) if p == 32 or entry < 2.0**p))
    chosen, halves = np.array([5, 0, 29]), np.empty((3, 2 * dim))
    _kernels.split_rows(rows, factors, chosen, 0.25, halves)
    entries = np.sqrt(factors[chosen])[:, None] * rows[chosen] * 0.25
    assert np.array_equal(halves[:, :dim], np.round(entries))
    assert np.array_equal(halves[:, dim:], np.round((entries - np.round(entries)) * 2**21))
    for wrong in (-1, 30):
        with pytest.raises(ValueError, match=f"chosen must be rows from 0 to below 30, not {wrong}"):
            _kernels.split_rows(rows, factors, np.array([wrong]), 1.0, np.empty((1, 2 * dim)))
