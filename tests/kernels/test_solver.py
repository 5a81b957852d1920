"""The formulas of Bessel's functions and word concentrations, beside Python float by float, bit by bit."""

import math
from types import SimpleNamespace
from typing import get_args

import mpmath
import numpy as np
import pytest

from parasphere import _kernels
from parasphere.model.equations import KernelPrior
from parasphere.sphere import bessel, vmf
from parasphere.sphere.bessel import Formula, Order, order_of

DIMS = [2, 3, 17, 49, 50, 128, 10_000]


@pytest.mark.parametrize("dim", DIMS)
def test_numbers_have_the_same_bits_alone_and_together(dim: int) -> None:
    kappa = np.concatenate([[0.0, 5e-324], np.geomspace(1e-12, 1e8, 301)])
    lengths = np.concatenate([[0.0], np.linspace(1e-9, 1 - 1e-9, 300)])
    for formula in get_args(Formula):
        x = lengths if formula in ("banerjee", "concentration") else kappa
        found = bessel.apply(formula, x, order_of(dim))
        assert np.array_equal(found, [bessel.apply(formula, value, order_of(dim)) for value in x.tolist()]), formula
        assert np.array_equal(found[::3], bessel.apply(formula, x[::3], order_of(dim))), formula


@pytest.mark.parametrize("dim", [2, 5, 50, 300])
def test_formulas_are_right(dim: int) -> None:
    kappa = np.geomspace(1e-3, 1e4, 15)
    found = np.empty_like(kappa)
    _kernels.apply_formula("mean_length", kappa, order_of(dim), found)
    with mpmath.workdps(40):
        v = mpmath.mpf(dim) / 2 - 1
        due = [float(mpmath.besseli(v + 1, k) / mpmath.besseli(v, k)) for k in kappa.tolist()]
    np.testing.assert_allclose(found, due, rtol=1e-15)


def _solved(m: float, q: float, words: float, prior: SimpleNamespace, order: Order, longest: float) -> float:
    """Return the word concentration of one document, as parasphere.model.equations.solve describes it."""
    k0, strength, rho = prior.concentration, prior.strength, prior.cosine
    total, length = words + strength, math.sqrt(q)
    cosine0 = m / max(length, 1e-300)
    newton = prior.method == "newton"
    bound = rho if math.isinf(strength) else (length + strength * rho) / (total + (total == 0.0))
    bound = min(max(bound, 0.0), longest)
    now = bessel.apply("concentration", bound, order) if newton else bessel.apply("banerjee", bound, order)
    now = min(max(now, 0.0), vmf.MAX_KAPPA)
    if math.isinf(strength):
        return now
    now = now if words > 0.0 else 0.0
    low, high = 0.0, now
    for _ in range(100):
        if not now > 0.0:
            break
        norm = math.sqrt(max(k0 * k0 + 2.0 * k0 * now * m + now * now * q, 1e-300))
        cosine = min(max((k0 * m + now * q) / max(norm * length, 1e-300), -1.0), 1.0)
        sine2 = k0 * k0 * max(1.0 - cosine0 * cosine0, 0.0) / (norm * norm)
        versine = sine2 / (1.0 + abs(cosine)) if cosine > 0.0 else 1.0 - cosine
        mean = bessel.apply("mean_length", norm, order)
        r = (mean * cosine * length + strength * rho) / total
        if r <= 0.0:
            return 0.0
        lack = max(words - length, 0.0) + length * (bessel.apply("shortfall", norm, order) + mean * versine)
        lack = (lack + strength * (1.0 - rho)) / total
        bend = bessel.apply("mean_length_slope", norm, order) * cosine * cosine + mean / norm * sine2
        rise = q * bend / total
        if newton:
            slope = rise - bessel.apply("mean_length_slope", now, order)
            gap = (
                bessel.apply("shortfall", now, order) - lack if r > 0.5 else r - bessel.apply("mean_length", now, order)
            )
        else:
            rest = max(lack * (2.0 - lack), 1e-300)
            image = r * (order[0] - r * r) / rest
            steep = (order[0] - 3.0 * r * r) / rest + 2.0 * r * r * (order[0] - r * r) / (rest * rest)
            gap, slope = min(max(image, 0.0), vmf.MAX_KAPPA) - now, steep * rise - 1.0
        if gap == 0.0:
            break
        if gap > 0.0:
            low = floor = now
        else:
            high, floor = now, max(0.7 * now, low)
        after = now - gap / slope if slope < 0.0 else -1.0
        sound = floor < after < high
        if not sound:
            after = math.sqrt(low * high) if low > 0.0 else 0.7 * now
        left = abs(after - now) / now
        now = after
        if (left * left if sound else left) <= 1e-13:
            break
    return now


@pytest.mark.parametrize("method", ["newton", "banerjee"])
@pytest.mark.parametrize("dim", [2, 20, 50, 128])
def test_concentrations_have_the_bits_of_python(rng: np.random.Generator, dim: int, method: str) -> None:
    n = 300  # more than are solved at once
    words = np.floor(rng.uniform(0, 40, n))
    squared = (words * rng.random(n)) ** 2
    squared[::7], squared[3::11] = words[::7] ** 2, 0.0
    along = np.sqrt(squared) * rng.uniform(-1, 1, n)
    kappa = np.empty(n)
    for k0, strength, rho in ((0.0, 0.0, 0.3), (30.0, 20.0, 0.4), (1e6, 3.0, 0.99), (5.0, math.inf, 0.2)):
        prior = SimpleNamespace(concentration=k0, strength=strength, cosine=rho, method=method)
        numbers = KernelPrior.of(prior, dim)
        _kernels.solve_each(along, squared, words, numbers, kappa)
        due = [
            _solved(*document, prior, order_of(dim), numbers.longest)
            for document in zip(along.tolist(), squared.tolist(), words.tolist(), strict=True)
        ]
        assert np.array_equal(kappa, due)
        alone = np.empty(1)
        for i in range(0, n, 37):
            _kernels.solve_each(along[i : i + 1], squared[i : i + 1], words[i : i + 1], numbers, alone)
            assert alone[0] == kappa[i]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_posteriors_are_those_of_the_steps_one_by_one(rng: np.random.Generator, kind: type) -> None:
    n, dim = 21, 18
    sums = rng.normal(size=(n, dim)).astype(kind)
    sums[4] = 0
    squared, words = np.einsum("ij,ij->i", sums, sums, dtype=np.float64), rng.integers(0, 9, n).astype(np.float64)
    mean = np.eye(dim)[2]
    prior = SimpleNamespace(concentration=9.0, strength=4.0, cosine=0.3, method="newton")
    numbers = KernelPrior.of(prior, dim)
    kappa, concentration, directions = np.empty(n), np.empty(n), np.empty_like(sums)
    _kernels.posteriors(sums, squared, words, mean, numbers, kappa, concentration, directions)
    along, solved, combined = np.empty(n), np.empty(n), np.empty_like(sums)
    _kernels.project(sums, mean, along)
    _kernels.solve_each(along, squared, words, numbers, solved)
    _kernels.unit_combinations(sums, solved, 9.0 * mean, mean, combined)
    assert np.array_equal(kappa, solved)
    assert np.array_equal(concentration, np.sqrt(81.0 + 2.0 * 9.0 * kappa * along + kappa * kappa * squared))
    assert np.array_equal(directions, combined)
