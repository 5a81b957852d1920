"""EM: what it maximises, where it ends, and that it recovers planted parameters."""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from drawn import draw
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from parasphere import Bags
from parasphere.model import Partition, equations, run_em, run_paper_em
from parasphere.model.em import EMState, e_step
from parasphere.model.equations import Prior
from parasphere.sphere import vmf


def corpus(
    dim: int, n_docs: int, kappa0: float, kappa: float, lengths: tuple[int, int], seed: int = 0, dtype: type = float
) -> Bags:
    """Documents of the model around the first axis, with lengths from a range."""
    rng = np.random.default_rng(seed)
    prior = Prior(np.eye(dim)[0], kappa0, 0.5, 0.0)
    bags = draw(prior, n_docs, rng.integers(lengths[0], lengths[1] + 1, n_docs), kappa, rng).bags
    sums = bags.sums.astype(dtype)
    return Bags(sums, bags.lengths, (sums.astype(float) ** 2).sum(axis=1), bags.unknown)


class Fit(NamedTuple):
    prior: Prior
    trace: list[float]


def learn(
    bags: Bags,
    strength: float = 10.0,
    tol: float = 1e-10,
    max_iter: int = 5000,
    *,
    method: equations.Method = "newton",
    start: str = "data",
    random_state: int = 0,
) -> Fit:
    part, options = Partition(bags), {"strength": strength, "method": method, "tol": tol, "max_iter": max_iter}
    if start == "paper":
        state = run_paper_em(part, np.random.RandomState(random_state), **options)
    else:
        state = run_em(part.statistics, **options)
    return Fit(state.prior, list(state.trace))


def total_evidence(bags: Bags, prior: Prior) -> float:
    """The log-evidence of all words, each document's word concentration that of the pooled cosine."""
    documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    kappa = np.full(len(bags), float(vmf.concentration(prior.cosine, bags.dim)))
    step = equations.e_step(documents, kappa, prior, bags.dim)
    return float(equations.evidence(documents.lengths, kappa, step.concentration, prior, bags.dim).sum())


def bend(f, at: float, step: float) -> float:
    """Minus the second derivative: the observed information."""
    return -(f(at + step) - 2 * f(at) + f(at - step)) / step**2


# ---------------------------------------------------------------------------------------------------
# Recovery


@cache
def with_one_concentration(dim: int, kappa0: float, kappa: float, lengths: tuple[int, int]) -> tuple[Bags, Prior]:
    """A corpus, and what is learned from it if all documents have the same word concentration."""
    bags = corpus(dim, 1000, kappa0, kappa, lengths, seed=dim)
    return bags, learn(bags, math.inf, tol=1e-9).prior


@pytest.mark.parametrize("strength", [math.inf, 0.0, 10.0])
@pytest.mark.parametrize(
    ("dim", "kappa0", "kappa", "lengths"),
    [(2, 4.0, 6.0, (10, 60)), (3, 8.0, 12.0, (5, 40)), (10, 30.0, 20.0, (10, 60)), (10, 300.0, 5.0, (30, 60)),
     (50, 150.0, 60.0, (20, 80))],
)  # fmt: skip
def test_the_truth_is_found_within_its_standard_errors(
    dim: int, kappa0: float, kappa: float, lengths: tuple[int, int], strength: float
) -> None:
    bags, shared = with_one_concentration(dim, kappa0, kappa, lengths)
    prior = shared if math.isinf(strength) else learn(bags, strength, tol=1e-9).prior

    # kappa0 and mu0: errors from the curvature of the evidence where all word concentrations are one.
    at = shared.concentration
    error = bend(lambda k: total_evidence(bags, shared._replace(concentration=k)), at, 0.01 * at) ** -0.5
    assert abs(prior.concentration - kappa0) < 3.5 * error
    assert error < 0.15 * kappa0  # or the line above says nothing

    mu = shared.mean_direction
    aside = np.eye(dim)[-1] - mu[-1] * mu
    aside /= np.linalg.norm(aside)
    turned = lambda t: total_evidence(bags, shared._replace(mean_direction=math.cos(t) * mu + math.sin(t) * aside))  # noqa: E731
    information = bend(turned, 0.0, 0.01)
    off = prior.mean_direction - prior.mean_direction[0] * np.eye(dim)[0]
    assert off @ off * information < stats.chi2.ppf(0.9995, dim - 1)

    # kappa_n, pooled: a ratio of sums, whose error is that of the documents' residuals.
    pairs = bags.lengths * (bags.lengths - 1)
    residuals = bags.squared_norms - bags.lengths - prior.cosine**2 * pairs
    error = math.sqrt((residuals**2).sum()) / pairs.sum() / (2 * prior.cosine)  # of rho
    assert abs(prior.cosine - vmf.mean_length(kappa, dim)) < 3.5 * error
    assert error < 0.01


def test_each_documents_word_concentration_is_found_within_its_standard_error() -> None:
    dim, kappa = 10, 20.0
    bags = corpus(dim, 400, 30.0, kappa, (300, 600))
    prior = learn(bags, 0.0).prior
    documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    z = (equations.solve(documents, prior, dim) - kappa) * np.sqrt(bags.lengths * vmf.mean_length_slope(kappa, dim))
    assert abs(z.mean()) < 3.5 / math.sqrt(400)
    assert 0.88 < z.std() < 1.12


def test_em_ends_where_the_evidence_is_flat() -> None:
    bags = corpus(5, 60, 8.0, 6.0, (2, 20))
    prior = learn(bags, math.inf, tol=1e-15).prior
    best = total_evidence(bags, prior)
    rng = np.random.default_rng(0)
    for size in (1e-2, 0.1):
        for _ in range(10):
            mu = prior.mean_direction + size * rng.normal(size=5)
            moved = prior._replace(
                mean_direction=mu / np.linalg.norm(mu),
                concentration=prior.concentration * math.exp(size * rng.normal()),
            )
            assert total_evidence(bags, moved) < best


def test_shrinkage_helps_where_texts_are_short() -> None:
    # What the prior on word concentrations is for: closer to the one truth than the paper's own estimate.
    dim, kappa = 20, 30.0
    bags = corpus(dim, 400, 40.0, kappa, (2, 6))
    errors = []
    for strength in (0.0, 10.0):
        prior = learn(bags, strength, tol=1e-7).prior
        documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
        errors.append(np.median(np.abs(np.log1p(equations.solve(documents, prior, dim)) - math.log1p(kappa))))
    assert errors[1] < 0.5 * errors[0]


# ---------------------------------------------------------------------------------------------------
# What EM climbs


@settings(max_examples=40)
# Texts of one word, whose vector is longer than 1 by rounding.
@example(2, 2, 10.0, 10.0, 1, 0.0, "data", 0, np.float32)
@given(
    dim=st.sampled_from([2, 3, 10, 50, 300]),
    n_docs=st.integers(1, 25),
    kappa0=st.floats(-2, 3).map(lambda x: 10**x),
    kappa=st.floats(-2, 3).map(lambda x: 10**x),
    longest=st.sampled_from([1, 3, 20, 100]),
    strength=st.sampled_from([0.0, 0.1, 10.0, 1e5, math.inf]),
    start=st.sampled_from(["data", "paper"]),
    seed=st.integers(0, 10**6),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_evidence_never_falls(dim, n_docs, kappa0, kappa, longest, strength, start, seed, dtype) -> None:
    bags = corpus(dim, n_docs, kappa0, kappa, (1, longest), seed, dtype)
    fitted = learn(bags, strength, start=start, max_iter=30, tol=0.0, random_state=seed)
    trace = np.array(fitted.trace)
    assert np.isfinite(trace).all()
    # Rounding only: each document's terms are of the size of (words + 1) * kappa.
    pseudo = 0.0 if math.isinf(strength) else strength
    rho = fitted.prior.cosine
    length = np.minimum((np.sqrt(bags.squared_norms) + pseudo * rho) / (bags.lengths + pseudo), 1.0)
    top = np.maximum(vmf.concentration(length, dim), vmf.concentration(rho, dim)) + 1500.0
    terms = (bags.lengths + pseudo) * (top + 5.0 * dim) + max(fitted.prior.concentration, 1e4)
    assert np.diff(trace).min() > -8 * np.finfo(float).eps * terms.sum() / bags.lengths.sum()


@pytest.mark.parametrize("strength", [0.0, 10.0, math.inf])
@pytest.mark.parametrize(("dim", "kappa0", "kappa"), [(3, 5.0, 20.0), (20, 60.0, 25.0), (100, 100.0, 100.0)])
def test_every_start_ends_at_the_same_place(dim: int, kappa0: float, kappa: float, strength: float) -> None:
    # The paper also draws text vectors at random. EM never reads them: its state is the prior and the word
    # concentrations, and the first E-step makes the text vectors from these and the words.
    bags = corpus(dim, 80, kappa0, kappa, (4, 60))
    fits = [learn(bags, strength, tol=1e-15, start="data")]
    fits += [learn(bags, strength, tol=1e-15, start="paper", random_state=seed) for seed in (0, 1)]
    for other in fits[1:]:
        assert other.prior.concentration == pytest.approx(fits[0].prior.concentration, rel=2e-6)
        assert other.prior.mean_direction @ fits[0].prior.mean_direction == pytest.approx(1.0, abs=1e-10)
        assert other.trace[-1] == pytest.approx(fits[0].trace[-1], abs=1e-11)


def test_the_papers_start_and_its_single_steps() -> None:
    # Beside the equations of the paper, iterated by hand.
    bags = corpus(5, 200, 8.0, 6.0, (2, 20))
    total = bags.sums.sum(axis=0)
    prior = EMState.start(Partition(bags).statistics(None), 0.0, "banerjee").prior
    prior = prior._replace(mean_direction=total / np.linalg.norm(total), concentration=1500.0)
    kappa = np.random.RandomState(3).uniform(1000.0, 1500.0, 200)
    objectives = []
    for _ in range(4):
        documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
        step = equations.e_step(documents, kappa, prior, 5)
        objective = equations.objective(documents, kappa, step.concentration, prior, 5).sum()
        objectives.append(objective / bags.lengths.sum())
        mean = equations.sum_of_posteriors(bags.sums, kappa, step, prior) / len(bags)
        kappa, prior = equations.update(documents, step, prior, 5), equations.m_step(mean, prior)
    options = {"method": "banerjee", "start": "paper", "tol": 0.0}
    np.testing.assert_allclose(learn(bags, 0.0, max_iter=3, random_state=3, **options).trace, objectives, rtol=1e-12)
    other = learn(bags, 0.0, max_iter=3, random_state=4, **options)
    assert abs(other.trace[0] - objectives[0]) > 1e-9


def test_the_word_concentrations_of_each_iteration_are_fixed_points() -> None:
    bags = corpus(10, 100, 30.0, 20.0, (1, 60))
    for strength in (0.0, 10.0):
        state = EMState.start(Partition(bags).statistics(None), strength, "newton")
        for _ in range(3):
            documents, kappa, step = e_step(bags, state.prior)
            np.testing.assert_allclose(equations.update(documents, step, state.prior, 10), kappa, rtol=1e-9)
            state = state.after(Partition(bags).statistics(state.prior), 100, 0.0)


def test_banerjees_inverse_ends_close_by() -> None:
    bags = corpus(50, 300, 150.0, 60.0, (20, 80))
    newton, banerjee = (learn(bags, 0.0, method=method) for method in ("newton", "banerjee"))
    assert banerjee.prior.concentration == pytest.approx(newton.prior.concentration, rel=0.01)
    assert banerjee.prior.concentration != newton.prior.concentration
    assert banerjee.trace[-1] == pytest.approx(newton.trace[-1], abs=1e-3)


# ---------------------------------------------------------------------------------------------------
# Degenerate corpora

ONE = np.eye(3)[:1]
CORPORA = {
    "a single word": (ONE, [1.0]),
    "a single document": (np.array([[3.0, 1.0, 0.5]]), [5.0]),
    "one word a thousand times": (1000.0 * ONE, [1000.0]),
    "identical documents": (np.tile([[2.0, 1.0, 0.0]], (20, 1)), [3.0] * 20),
    "identical words": (np.tile(5.0 * ONE, (20, 1)), [5.0] * 20),
    "antipodal words": (np.array([[1.0, 0, 0], [-1.0, 0, 0]]), [1.0, 1.0]),
    "antipodal words in each document": (np.zeros((4, 3)), [2.0] * 4),
    "antipodal documents": (np.array([[9.0, 0, 0], [-9.0, 0, 0], [0, 9, 0], [0, -9, 0]]), [10.0] * 4),
    "one word and a million": (np.array([[0, 1.0, 0], [6e5, 0, 1e5]]), [1.0, 1e6]),
    "sums rounded above their lengths": (3.0 * ONE * (1 + 1e-7), [3.0]),
}


@pytest.mark.parametrize("method", ["newton", "banerjee"])
@pytest.mark.parametrize("strength", [0.0, 10.0, 1e12, math.inf])
@pytest.mark.parametrize("name", CORPORA)
def test_degenerate_corpora_have_an_answer(name: str, strength: float, method: equations.Method) -> None:
    rows, lengths = CORPORA[name]
    for dtype in (np.float32, np.float64):
        sums = rows.astype(dtype)
        bags = Bags(sums, np.array(lengths), (sums.astype(float) ** 2).sum(axis=1), np.zeros(len(rows), np.int64))
        for start in ("data", "paper"):
            fitted = learn(bags, strength, start=start, method=method, max_iter=50, random_state=0)
            assert np.isfinite(fitted.trace).all()
            assert 0 <= fitted.prior.concentration <= vmf.MAX_KAPPA
            assert np.linalg.norm(fitted.prior.mean_direction) == pytest.approx(1.0, rel=1e-14)


# ---------------------------------------------------------------------------------------------------
# Draws
