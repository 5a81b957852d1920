from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma, gammaln, polygamma
from scipy.stats import dirichlet
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from parasphere import MovMF
from parasphere.sphere import vmf
from reproduction.sphere.admixture import SphericalAdmixture
from reproduction.sphere.proportions import climb_value, fit_dirichlet, polygammas, settle
from reproduction.sphere.topics import CentrePrior, Topics, Usage, best_xi, move_topics, topic_slope


def planted(n: int = 400, dim: int = 60, t: int = 5, kappa: float = 4000.0, alpha: float = 0.3) -> tuple[Any, ...]:
    """Texts that mix topics, drawn as the model says: rows (n, dim), topics (t, dim), proportions (n, t)."""
    rng = np.random.default_rng(0)
    topics = normalize(rng.gamma(0.15, size=(t, dim)))
    theta = rng.dirichlet(np.full(t, alpha), n)
    return vmf.sample(normalize(theta @ topics), kappa, rng=rng), topics, theta


def small(seed: int = 0, n: int = 7, dim: int = 12, t: int = 4) -> tuple[Any, ...]:
    """Some texts, topics and proportions, nowhere near a maximum."""
    rng = np.random.default_rng(seed)
    rows = normalize(rng.gamma(0.5, size=(n, dim)))
    directions = normalize(rng.gamma(0.5, size=(dim, t)), axis=0)
    mean = normalize(rows.sum(axis=0)[None])[0]
    topics = Topics(directions, normalize(rng.random((1, dim)))[0], rng.random(t) + 0.1, 50.0, 40.0)
    return rows, rng.gamma(1.0, 3.0, size=(n, t)) + 0.05, topics, CentrePrior(mean, 9.0)


def bound_by_hand(rows: Any, a: Any, topics: Topics, prior: CentrePrior) -> float:
    """The bound for all texts, term by term, from scipy's Dirichlet and the vMF functions."""
    dim = len(topics.centre)
    length, length0 = vmf.mean_length(topics.xi, dim), vmf.mean_length(prior.concentration, dim)
    total = 0.0
    for v, row in zip(rows, a, strict=True):
        a0 = row.sum()
        outer = (np.outer(row, row) + np.diag(row)) / (a0 * (a0 + 1))  # E[theta theta']
        between = length**2 * (topics.directions.T @ topics.directions)
        np.fill_diagonal(between, 1.0)  # E[phi' phi]
        cosine = length * (topics.directions @ row / a0) @ v / np.sqrt((outer * between).sum())
        logs = digamma(row) - digamma(a0)
        prior_term = gammaln(topics.alpha.sum()) - gammaln(topics.alpha).sum() + (topics.alpha - 1) @ logs
        total += topics.kappa * cosine - vmf.log_partition(topics.kappa, dim) + prior_term + dirichlet.entropy(row)
    for phi in topics.directions.T:
        expected = topics.xi * length * length0 * (topics.centre @ phi) - vmf.log_partition(topics.xi, dim)
        total += expected + vmf.entropy(topics.xi, dim)
    k0 = prior.concentration
    expected = k0 * length0 * (topics.centre @ prior.direction) - vmf.log_partition(k0, dim)
    return float(total + expected + vmf.entropy(k0, dim))


def test_the_square_of_a_mixed_direction_is_what_draws_have() -> None:
    rng = np.random.default_rng(0)
    directions = normalize(rng.gamma(0.5, size=(8, 3)), axis=0)
    a, xi = np.array([0.7, 2.0, 0.4]), 15.0
    theta = rng.dirichlet(a, 200_000)
    phi = vmf.sample(directions.T, xi, 200_000, rng=rng)  # (draws, t, dim)
    mixed = np.einsum("nt,ntd->nd", theta, phi)
    squares = np.einsum("nd,nd->n", mixed, mixed)
    uses = Usage.of(a[None], np.zeros((1, 3)), directions.T @ directions)
    expected = uses.spread(vmf.mean_length(xi, 8))[0] / (a.sum() * (a.sum() + 1))
    assert expected == pytest.approx(squares.mean(), abs=4 * squares.std() / 200_000**0.5)
    assert squares.std() / 200_000**0.5 < 1e-3


@pytest.mark.parametrize("x", [1e-6, 0.01, 0.5, 1.0, 3.3, 7.99, 8.01, 150.0, 1e7])
def test_polygammas_are_scipys(x: float) -> None:
    np.testing.assert_allclose(polygammas(x), [digamma(x), polygamma(1, x)], rtol=1e-13)


def test_a_texts_part_of_the_bound_and_its_slope() -> None:
    rows, a, topics, prior = small()
    cosine, slope, spare, metric = rows @ topics.directions, np.empty(4), np.empty(4), np.empty(4)

    def part(d: int, u: Any, into: Any) -> float:
        return climb_value(cosine[d], topics.gram, topics.alpha, topics.kappa, topics.length, u, into, metric)

    parts = sum(part(d, np.log(a[d]), slope) for d in range(len(rows)))
    whole = parts - len(rows) * vmf.log_partition(topics.kappa, 12) - prior.cost(topics)
    assert whole == pytest.approx(bound_by_hand(rows, a, topics, prior), rel=1e-11)
    for d in range(len(rows)):
        u = np.log(a[d])
        part(d, u, slope)
        np.testing.assert_allclose(metric, a[d] ** 2 * polygamma(1, a[d]), rtol=1e-12)
        steps = 1e-5 * np.eye(4)
        rises = [(part(d, u + step, spare) - part(d, u - step, spare)) / 2e-5 for step in steps]
        np.testing.assert_allclose(slope, rises, rtol=1e-6, atol=1e-7)


def test_the_slope_in_topics() -> None:
    rows, a, topics, prior = small()
    slope, curvature = topic_slope(rows, a, rows @ topics.directions, topics, prior)
    assert (curvature > 0).all()
    rng = np.random.default_rng(1)
    for _ in range(5):
        way = rng.normal(size=slope.shape)
        way -= topics.directions * (topics.directions * way).sum(axis=0)  # tangent

        def at(step: float, way: Any = way) -> float:
            moved = replace(topics, directions=normalize(topics.directions + step * way, axis=0))
            return bound_by_hand(rows, a, moved, prior)

        assert (slope * way).sum() == pytest.approx((at(1e-5) - at(-1e-5)) / 2e-5, rel=1e-6)


def test_each_step_climbs() -> None:
    for seed in range(5):
        rows, a, topics, prior = small(seed, n=20)
        bounds = [bound_by_hand(rows, a, topics, prior)]
        cosine, values = rows @ topics.directions, np.empty(20)
        settle(cosine, topics.gram, topics.alpha, topics.kappa, topics.length, a, values, 3, 0.0)
        bounds.append(bound_by_hand(rows, a, topics, prior))
        topics, moved = move_topics(rows, a, cosine, topics, prior)
        np.testing.assert_allclose(moved, rows @ topics.directions, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(topics.directions, axis=0), 1)
        bounds.append(bound_by_hand(rows, a, topics, prior))
        topics = replace(topics, xi=best_xi(topics, prior, Usage.of(a, moved, topics.gram)))
        bounds.append(bound_by_hand(rows, a, topics, prior))
        topics = replace(topics, centre=prior.centre(topics))
        bounds.append(bound_by_hand(rows, a, topics, prior))
        assert np.diff(bounds).min() > 0


def test_xi_and_the_centre_are_the_best() -> None:
    rows, a, topics, prior = small(n=40)
    uses = Usage.of(a, rows @ topics.directions, topics.gram)
    topics = replace(topics, xi=best_xi(topics, prior, uses))
    grid = [bound_by_hand(rows, a, replace(topics, xi=topics.xi * f), prior) for f in (0.9, 0.99, 1.0, 1.01, 1.1)]
    assert np.argmax(grid) == 2
    topics = replace(topics, centre=prior.centre(topics))
    best = bound_by_hand(rows, a, topics, prior)
    for noise in 0.05 * np.random.default_rng(0).normal(size=(20, 12)):
        other = replace(topics, centre=normalize((topics.centre + noise)[None])[0])
        assert bound_by_hand(rows, a, other, prior) < best


def test_the_dirichlet_prior_of_draws() -> None:
    truth = np.array([0.2, 1.5, 4.0])
    draws = np.random.default_rng(0).dirichlet(truth, 50_000)
    found = fit_dirichlet(np.ones(3), np.log(draws).mean(axis=0), 1e-3)
    np.testing.assert_allclose(found, truth, rtol=0.03)
    held = fit_dirichlet(np.ones(2), np.array([-1e6, -1e-6]), 1e-3)
    assert held[0] == 1e-3
    assert np.isfinite(held).all()


def matched(found: Any, truth: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the cosines of topics with those found, matched one to one, and the order of the latter."""
    cosine = truth @ found.T
    places, order = linear_sum_assignment(-cosine)
    return cosine[places, order], order


def test_planted_topics_and_proportions_are_found() -> None:
    X, truth, theta = planted()
    model = SphericalAdmixture(5, random_state=0).fit(X)
    cosine, order = matched(model.topics_, truth)
    assert cosine.min() > 0.95
    assert np.abs(model.transform(X)[:, order] - theta).mean() < 0.05
    assert 1000 < model.kappa_ < 4000  # what is not known of topics and proportions counts as scatter of the texts
    mixture = MovMF(5, n_init=5, random_state=0).fit(X)
    rival, order_of_rival = matched(mixture.mean_directions_, truth)
    assert rival.mean() < cosine.mean() - 0.02
    assert np.abs(mixture.transform(X)[:, order_of_rival] - theta).mean() > 0.1


def test_the_bound_never_falls() -> None:
    X, _, _ = planted(n=150, alpha=0.1)
    for seed, t in ((0, 5), (1, 8), (2, 2), (3, 1)):
        model = SphericalAdmixture(t, tol=1e-4, max_iter=400, random_state=seed).fit(X)
        assert np.diff(model.bound_).min() >= -1e-11 * np.abs(model.bound_).max()
        assert model.converged_
        assert len(model.bound_) == model.n_iter_ + 1


def test_sparse_is_dense_and_a_text_alone_is_a_text_among_many() -> None:
    X = planted(n=80)[0]
    X[X < 0.05] = 0
    model = SphericalAdmixture(4, random_state=0).fit(X)
    thin = SphericalAdmixture(4, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(thin.topics_, model.topics_, atol=1e-6)
    found = thin.transform(sparse.csr_array(X))
    np.testing.assert_allclose(found, thin.transform(3 * X), atol=1e-5)
    for i in (0, 17):
        np.testing.assert_array_equal(thin.transform(sparse.csr_array(X[[i]]))[0], found[i])
    again = clone(thin).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(again.topics_, thin.topics_)
    np.testing.assert_array_equal(again.bound_, thin.bound_)
    other = SphericalAdmixture(4, random_state=1).fit(X)
    assert not np.array_equal(other.topics_, model.topics_)


def test_rows_of_zeros() -> None:
    X = planted(n=60)[0]
    holes = np.vstack([np.zeros((2, X.shape[1])), X])
    model, plain = (SphericalAdmixture(3, random_state=0).fit(rows) for rows in (holes, X))
    np.testing.assert_array_equal(model.topics_, plain.topics_)
    np.testing.assert_allclose(model.transform(holes)[0], model.alpha_ / model.alpha_.sum(), rtol=1e-3)


def test_saved_and_loaded(tmp_path: Path) -> None:
    X = planted(n=60)[0]
    model = SphericalAdmixture(3, random_state=0).fit(X)
    model.save(tmp_path / "saved")
    found = SphericalAdmixture.load(tmp_path / "saved")
    np.testing.assert_array_equal(found.transform(X), model.transform(X))
    np.testing.assert_array_equal(found.bound_, model.bound_)
    assert found.get_params() == model.get_params()


@parametrize_with_checks([SphericalAdmixture(n_topics=2, max_iter=500)])
def test_what_scikit_learn_asks(estimator: Any, check: Any) -> None:
    check(estimator)


def test_faults_are_told() -> None:
    X = planted(n=20)[0]
    for parameters, fault in (
        ({"n_topics": 0}, "'n_topics' parameter of SphericalAdmixture .* Got 0"),
        ({"n_topics": 21}, "n_topics=21 needs at least as many rows.*n_samples=20"),
        ({"max_iter": 1.5}, "'max_iter'"),
        ({"tol": -1}, "'tol'"),
        ({"prior_concentration": 0.0}, "'prior_concentration'"),
    ):
        with pytest.raises(ValueError, match=fault):
            SphericalAdmixture(**parameters).fit(X)
    with pytest.raises(NotFittedError):
        SphericalAdmixture().transform(X)
    with pytest.raises(ValueError, match="contains NaN"):
        SphericalAdmixture(1).fit([[np.nan, 1.0]])
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1 iterations"):
        SphericalAdmixture(3, max_iter=1, tol=0.0, random_state=0).fit(X)
