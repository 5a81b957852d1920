"""The mathematics of the model, against integrals, brute force and endless EM."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, special

from parasphere._kernels import unit_combinations
from parasphere.model import equations
from parasphere.model.equations import Prior, Statistics
from parasphere.sphere import vmf

Floats = NDArray[np.float64]


def log_normaliser(kappa: float, dim: int) -> float:
    """log of the integral of exp(kappa mu.x) over the sphere, by scipy and without parasphere."""
    order = dim / 2 - 1
    return math.log(special.ive(order, kappa)) + kappa - order * math.log(kappa) + dim / 2 * math.log(2 * math.pi)


def reduced(words: Floats, prior: Prior) -> Statistics:
    """One document's three numbers from its words, (n_words, dim)."""
    total = words.sum(axis=0)[None]
    return equations.statistics(total, (total**2).sum(axis=1), np.array([float(len(words))]), prior)


def directions(sums: NDArray[Any], kappa: Floats, prior: Prior) -> NDArray[Any]:
    """The posterior directions for given word concentrations; mu0 where words cancel the prior."""
    result = np.empty_like(sums)
    unit_combinations(sums, kappa, prior.concentration * prior.mean_direction, prior.mean_direction, result)
    return result


def some_words(dim: int, n_words: int, seed: int = 0) -> Floats:
    draws = np.random.default_rng(seed).normal(size=(n_words, dim)) + 0.7
    return draws / np.linalg.norm(draws, axis=1, keepdims=True)


def axis(dim: int) -> Floats:
    return np.eye(dim)[0]


def circle(angle: float) -> Floats:
    return np.array([math.cos(angle), math.sin(angle)])


# ---------------------------------------------------------------------------------------------------
# The evidence and the posterior are integrals over the sphere


@pytest.mark.parametrize(("kappa0", "kappa"), [(0.5, 0.3), (3.0, 8.0), (40.0, 2.0), (5.0, 60.0)])
@pytest.mark.parametrize("n_words", [1, 2, 7])
def test_evidence_and_posterior_on_the_circle(kappa0: float, kappa: float, n_words: int) -> None:
    prior, words = Prior(circle(0.4), kappa0, 0.5, 0.0), some_words(2, n_words)
    constant = log_normaliser(kappa0, 2) + n_words * log_normaliser(kappa, 2)

    def density(angle: float) -> float:
        d = circle(angle)
        return math.exp(kappa0 * d @ prior.mean_direction + kappa * (words @ d).sum() - constant)

    def integral(f) -> float:
        return integrate.quad(f, -math.pi, math.pi, epsabs=0, epsrel=1e-11, limit=500)[0]

    whole = integral(density)
    mean = (
        np.array([integral(lambda t: math.cos(t) * density(t)), integral(lambda t: math.sin(t) * density(t))]) / whole
    )
    documents, concentrations = reduced(words, prior), np.array([kappa])
    step = equations.e_step(documents, concentrations, prior, 2)
    evidence = equations.evidence(documents.lengths, concentrations, step.concentration, prior, 2)
    assert evidence[0] == pytest.approx(math.log(whole), rel=1e-9, abs=1e-9)

    total = words.sum(axis=0)
    assert step.pull[0] == pytest.approx(mean @ total, rel=1e-8)
    direction = directions(total[None], concentrations, prior)[0]
    length = vmf.mean_length(step.concentration[0], 2)
    np.testing.assert_allclose(length * direction, mean, atol=1e-9)
    np.testing.assert_allclose(equations.sum_of_posteriors(total[None], concentrations, step, prior), mean, atol=1e-9)


@pytest.mark.parametrize(("kappa0", "kappa"), [(0.5, 0.3), (3.0, 8.0), (20.0, 2.0), (5.0, 15.0)])
def test_evidence_and_posterior_on_the_sphere(kappa0: float, kappa: float) -> None:
    mu0 = np.array([2.0, -1.0, 2.0]) / 3.0
    prior, words = Prior(mu0, kappa0, 0.5, 0.0), some_words(3, 5)
    # A product grid: Gauss-Legendre in the height, equal steps around; exact for what is this smooth.
    height, weight = np.polynomial.legendre.leggauss(200)
    angle = 2 * math.pi * np.arange(400) / 400
    ring = np.sqrt(1 - height**2)
    points = np.stack(
        [np.outer(ring, np.cos(angle)), np.outer(ring, np.sin(angle)), np.outer(height, np.ones(400))], axis=-1
    )
    total = words.sum(axis=0)
    log_constant = lambda k: math.log(4 * math.pi * math.sinh(k) / k)  # noqa: E731
    density = np.exp(points @ (kappa0 * mu0 + kappa * total) - log_constant(kappa0) - 5 * log_constant(kappa))
    area = np.outer(weight, np.full(400, 2 * math.pi / 400))
    whole = (density * area).sum()
    mean = np.einsum("ijk,ij->k", points, density * area) / whole

    documents, concentrations = reduced(words, prior), np.array([kappa])
    step = equations.e_step(documents, concentrations, prior, 3)
    assert equations.evidence(documents.lengths, concentrations, step.concentration, prior, 3)[0] == pytest.approx(
        math.log(whole), rel=1e-10, abs=1e-10
    )
    np.testing.assert_allclose(equations.sum_of_posteriors(total[None], concentrations, step, prior), mean, atol=1e-11)


@pytest.mark.parametrize(("kappa0", "kappa", "n_words"), [(6.0, 3.0, 4), (25.0, 6.0, 3), (1.0, 1.0, 10)])
def test_evidence_in_ten_dimensions_by_monte_carlo(kappa0: float, kappa: float, n_words: int) -> None:
    prior, words = Prior(axis(10), kappa0, 0.5, 0.0), some_words(10, n_words)
    draws = vmf.sample(prior.mean_direction, kappa0, 200_000, rng=1)
    weights = np.exp(kappa * (draws @ words.sum(axis=0)) - n_words * log_normaliser(kappa, 10))
    error = weights.std() / math.sqrt(len(weights))
    assert error < 0.02 * weights.mean()
    documents, concentrations = reduced(words, prior), np.array([kappa])
    step = equations.e_step(documents, concentrations, prior, 10)
    exact = math.exp(equations.evidence(documents.lengths, concentrations, step.concentration, prior, 10)[0])
    assert abs(weights.mean() - exact) < 3.5 * error


# ---------------------------------------------------------------------------------------------------
# Word concentrations


def cases(seed: int, strength: float, dim: int, method: equations.Method = "newton") -> tuple[Statistics, Prior]:
    """Documents of every kind: short and long, words that agree and that cancel, along the prior and against it."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice([2, 3, 10, 100, 1000], 40).astype(float)
    norms = lengths * rng.uniform(0.05, 0.95, 40)
    cosines = rng.uniform(-1, 1, 40)
    prior = Prior(axis(dim), float(10 ** rng.uniform(-1, 3)), float(rng.uniform(0.05, 0.9)), strength, method)
    return Statistics(norms * cosines, norms**2, lengths), prior


def image(documents: Statistics, kappa: Floats, prior: Prior, dim: int) -> Floats:
    return equations.update(documents, equations.e_step(documents, kappa, prior, dim), prior, dim)


def plain_em(documents: Statistics, prior: Prior, dim: int, steps: int) -> Floats:
    """Update upon update, begun far above."""
    start = np.minimum(np.sqrt(documents.squared_norms) / documents.lengths, 1.0)
    weight = documents.lengths / (documents.lengths + prior.strength)
    kappa = vmf.concentration(weight * start + (1 - weight) * prior.cosine, dim, method=prior.method)
    for _ in range(steps):
        kappa = image(documents, kappa, prior, dim)
    return kappa


@pytest.mark.parametrize("method", ["newton", "banerjee"])
@pytest.mark.parametrize("strength", [0.0, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("dim", [2, 3, 10, 50, 300])
def test_solve_ends_where_endless_em_ends(dim: int, strength: float, method: equations.Method) -> None:
    documents, prior = cases(dim, strength, dim, method)
    kappa = equations.solve(documents, prior, dim)
    assert (kappa >= 0).all()
    np.testing.assert_allclose(image(documents, kappa, prior, dim), kappa, rtol=1e-9, atol=1e-9)
    slow = plain_em(documents, prior, dim, 2000)
    np.testing.assert_allclose(kappa, slow, rtol=1e-6, atol=1e-6)


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 10, 300]), st.sampled_from([0.0, 0.5, 10.0]))
def test_solve_finds_a_maximum_that_no_larger_concentration_beats(seed: int, dim: int, strength: float) -> None:
    documents, prior = cases(seed, strength, dim)
    kappa = equations.solve(documents, prior, dim)

    def climbed(k: Floats) -> Floats:
        """The objective of EM, written from the module's docstring."""
        step = equations.e_step(documents, k, prior, dim)
        pseudo = strength * (prior.cosine * k - vmf.log_partition(k, dim))
        return equations.evidence(documents.lengths, k, step.concentration, prior, dim) + pseudo

    best = climbed(kappa)
    rounding = 1e-9 + 1e-14 * (documents.lengths + strength) * (kappa + dim)
    # Below, only what is near: another maximum, of less concentration and more evidence, may lie close by.
    for factor in (0.999, 1.001, 1.01, 1.1, 1.5, 3.0):
        assert (climbed(kappa * factor) <= best + rounding * factor).all()


@pytest.mark.parametrize("method", ["newton", "banerjee"])
@pytest.mark.parametrize(
    ("dim", "kappa0", "cosine", "expected"),
    [(10, 100.0, 0.0, 0.0), (300, 1000.0, -0.1, 0.0), (10, 10.0, -0.5, 0.0), (300, 1000.0, 0.05, None),
     (50, 500.0, 0.3, None)],
)  # fmt: skip
def test_one_word_off_the_prior_does_not_stay_at_the_ceiling(
    dim: int, kappa0: float, cosine: float, expected: float | None, method: equations.Method
) -> None:
    # (K - 1) cos < kappa0 sin^2: the evidence falls at infinity, and EM from anywhere comes down, if slowly.
    documents = Statistics(np.array([cosine]), np.array([1.0]), np.array([1.0]))
    prior = Prior(axis(dim), kappa0, 0.3, 0.0, method)
    kappa = equations.solve(documents, prior, dim)
    if expected is not None:
        assert kappa[0] == pytest.approx(expected, abs=1e-6)
    else:
        slow = np.array([30.0])
        for _ in range(3000):
            slow = image(documents, slow, prior, dim)
        np.testing.assert_allclose(kappa, slow, rtol=1e-6)


@pytest.mark.parametrize("method", ["newton", "banerjee"])
def test_noise_at_the_edge_of_meaning_is_solved_too(method: equations.Method) -> None:
    # |s|^2 is close to l, as of random words, and the prior is weak: EM's slope is close to 1.
    dim, norm = 300, math.sqrt(10.0)
    documents = Statistics(np.array([0.0835 * norm]), np.array([norm**2 - 0.05]), np.array([10.0]))
    prior = Prior(axis(dim), 0.106, 0.5, 0.0, method)
    kappa = equations.solve(documents, prior, dim)
    np.testing.assert_allclose(image(documents, kappa, prior, dim), kappa, rtol=1e-9)


@pytest.mark.parametrize("strength", [0.0, 10.0, math.inf])
@pytest.mark.parametrize("dim", [2, 50, 300])
@pytest.mark.parametrize("method", ["newton", "banerjee"])
def test_extremes_are_finite(dim: int, strength: float, method: equations.Method) -> None:
    lengths = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 1000.0, 1e6, 1e6, 1e6])
    norms = np.array([0.0, 1.0, 1.0, 0.0, 1e-8, 1000.0 * (1 + 1e-7), 1e6, 1.0, 0.0])  # the sixth rounded up
    cosines = np.array([0.0, 1.0, -1.0, 0.0, 0.3, 1.0, -1.0, 1.0, 0.0])
    documents = Statistics(norms * cosines, norms**2, lengths)
    for kappa0 in (0.0, 1e-12, 1.0, 1e4, 1e8):
        for rho in (0.0, 0.5, 1 - 1e-9):
            prior = Prior(axis(dim), kappa0, rho, strength, method)
            kappa = equations.solve(documents, prior, dim)
            step = equations.e_step(documents, kappa, prior, dim)
            evidence = equations.evidence(documents.lengths, kappa, step.concentration, prior, dim)
            for numbers in (kappa, *step, evidence):
                assert np.isfinite(numbers).all()
            assert ((kappa >= 0) & (kappa <= vmf.MAX_KAPPA)).all()
            assert step.concentration[0] == kappa0
            assert evidence[0] == 0.0


def test_words_that_point_away_leave_the_prior() -> None:
    documents = Statistics(np.array([-1.0]), np.array([2.0]), np.array([3.0]))
    prior = Prior(axis(10), 50.0, 0.3, 0.0)
    kappa = equations.solve(documents, prior, 10)
    assert kappa[0] == 0.0
    assert equations.e_step(documents, kappa, prior, 10).concentration[0] == 50.0


def test_an_infinite_strength_shares_one_concentration() -> None:
    documents, prior = cases(0, math.inf, 10)
    expected = vmf.concentration(prior.cosine, 10)
    assert np.array_equal(equations.solve(documents, prior, 10), np.full(40, expected))
    step = equations.e_step(documents, np.full(40, 3.0), prior, 10)
    assert np.array_equal(equations.update(documents, step, prior, 10), np.full(40, expected))
    nearly = equations.solve(documents, prior._replace(strength=1e12), 10)
    np.testing.assert_allclose(nearly, expected, rtol=1e-8)


def test_a_document_is_solved_the_same_alone_and_among_others() -> None:
    for strength, method in itertools.product((0.0, 10.0), ("newton", "banerjee")):
        documents, prior = cases(7, strength, 50, method)
        together = equations.solve(documents, prior, 50)
        alone = [equations.solve(Statistics(*(x[i : i + 1] for x in documents)), prior, 50)[0] for i in range(40)]
        assert together.tobytes() == np.array(alone).tobytes()


# ---------------------------------------------------------------------------------------------------
# rho, the M-step of the prior, and the two products


def pooled_cosine(*documents: np.ndarray) -> float:
    return equations.cosine_of_pairs(*equations.pairs_of_words(*documents))


def test_pooled_cosine_is_the_mean_over_all_pairs_of_words() -> None:
    documents = [some_words(5, n, seed=n) for n in (0, 1, 2, 3, 9, 30)]
    cosines = [a @ b for words in documents for a, b in itertools.permutations(words, 2)]
    sums = np.array([words.sum(axis=0) for words in documents])
    lengths = np.array([float(len(words)) for words in documents])
    pooled = pooled_cosine((sums**2).sum(axis=1), lengths, lengths)
    assert pooled == pytest.approx(math.sqrt(np.mean(cosines)), rel=1e-12)
    assert pooled_cosine(*[np.array([1.0, 0.0])] * 3) == 0.5  # no pair at all
    assert pooled_cosine(np.array([0.0]), *[np.array([2.0])] * 2) == 0.0  # words that cancel
    assert pooled_cosine(np.array([1e6]), *[np.array([1e3])] * 2) < 1.0  # one word repeated


def test_the_expected_cosine_of_two_words_is_the_squared_mean_length() -> None:
    words = vmf.sample(axis(8), 12.0, (200_000, 2), rng=3)
    cosines = np.vecdot(words[:, 0], words[:, 1])
    assert abs(cosines.mean() - vmf.mean_length(12.0, 8) ** 2) < 3.5 * cosines.std() / math.sqrt(len(cosines))


def test_m_step_has_the_mean_of_the_posteriors() -> None:
    prior = Prior(axis(6), 3.0, 0.5, 1.0)
    mean = np.array([0.1, 0.2, 0.0, -0.1, 0.3, 0.2])
    after = equations.m_step(mean, prior)
    np.testing.assert_allclose(vmf.mean_length(after.concentration, 6) * after.mean_direction, mean, rtol=1e-12)
    assert (after.cosine, after.strength) == (0.5, 1.0)
    nothing = equations.m_step(np.zeros(6), prior)
    assert nothing.concentration == 0.0
    assert np.array_equal(nothing.mean_direction, prior.mean_direction)
    assert equations.m_step(axis(6) * (1 + 1e-15), prior).concentration == vmf.MAX_KAPPA


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [2, 7, 8, 9, 300])
def test_products_are_those_of_float64(dim: int, dtype: type, rng: np.random.Generator) -> None:
    wide = rng.normal(size=(10_000, 2 * dim)).astype(dtype)
    weights, direction = rng.normal(size=10_000), rng.normal(size=dim)
    for sums in (np.ascontiguousarray(wide[:, :dim]), wide[:, dim:], np.asfortranarray(wide[:, :dim])):
        exact = sums.astype(np.float64)
        np.testing.assert_allclose(equations.products(sums, direction), exact @ direction, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(equations.combination(sums, weights), weights @ exact, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_are_unit_and_the_prior_where_words_cancel(dtype: type) -> None:
    prior = Prior(axis(4), 2.0, 0.5, 0.0)
    sums = np.array([[0, 0, 0, 0], [-1, 0, 0, 0], [0, 3, 0, 0], [1e6, -1e6, 0, 1]], dtype)
    found = directions(sums, np.array([5.0, 2.0, 1.0, 1e8]), prior)
    assert found.dtype == dtype
    lengths = np.linalg.norm(found.astype(np.float64), axis=1)
    np.testing.assert_allclose(lengths, 1.0, rtol=1e-15 if dtype is np.float64 else 1e-7)
    assert np.array_equal(found[:2], [axis(4), axis(4)])  # no words; words that cancel the prior


def test_rho_of_weighted_words_is_that_of_all_pairs() -> None:
    """By brute force: the mean cosine of two different places of a text, each pair weighted by its words."""
    rng = np.random.default_rng(0)
    top = weight = 0.0
    sums, lengths, squares = [], [], []
    for n_words in (1, 2, 5, 9):
        words, weights = vmf.sample(np.eye(6)[0], 4.0, n_words, rng), rng.gamma(1.0, size=n_words)
        for i in range(n_words):
            for j in range(n_words):
                if i != j:
                    top += weights[i] * weights[j] * float(words[i] @ words[j])
                    weight += weights[i] * weights[j]
        sums.append(weights @ words)
        lengths.append(weights.sum())
        squares.append((weights**2).sum())
    norms = (np.array(sums) ** 2).sum(axis=1)
    assert pooled_cosine(norms, np.array(lengths), np.array(squares)) == pytest.approx(np.sqrt(top / weight))


def test_weights_do_not_bend_rho() -> None:
    """Planted: words scatter about their text's direction with a known mean cosine, whatever they weigh."""
    rng, dim, kappa = np.random.default_rng(1), 10, 30.0
    directions = vmf.sample(np.eye(dim)[0], 5.0, 400, rng)
    weights = 0.3 * rng.gamma(0.5, size=(400, 8))
    sums = np.array([w @ vmf.sample(d, kappa, 8, rng) for d, w in zip(directions, weights, strict=True)])
    lengths, squares = weights.sum(axis=1), (weights**2).sum(axis=1)
    cosine = pooled_cosine((sums**2).sum(axis=1), lengths, squares)
    assert cosine == pytest.approx(float(vmf.mean_length(kappa, dim)), rel=0.02)
    assert (
        abs(pooled_cosine((sums**2).sum(axis=1), lengths, lengths) - cosine) > 0.05
    )  # what a formula for equal weights gives
