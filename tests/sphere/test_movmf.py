from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import estimator_checks_generator

from parasphere.sphere import vmf
from parasphere.sphere.movmf import MovMF


def planted(dim: int, kappa: float, k: int = 4, n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.normal(size=(dim, k)))[0].T if dim >= k else np.eye(dim)
    labels = rng.integers(len(centres), size=n)
    return vmf.sample(centres[labels], kappa, rng=rng), labels


def planted_words(n: int = 300, dim: int = 20_000, k: int = 5) -> tuple[sparse.csr_array, np.ndarray]:
    """Counts of 40 words a text, most of them from the 200 of its cluster."""
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    own = labels[:, None] * 200 + rng.integers(200, size=(n, 25))
    words = np.hstack([own, rng.integers(dim, size=(n, 15))])
    texts = np.repeat(np.arange(n), 40)
    return sparse.csr_array((np.ones(n * 40), (texts, words.ravel())), shape=(n, dim)), labels


# These take whatever has predict_proba and reads sparse rows for a classifier, and ask for the tags of one.
FOR_CLASSIFIERS = {"check_estimator_sparse_array", "check_estimator_sparse_matrix"}
CHECKS = {check.func.__name__: (model, check) for model, check in estimator_checks_generator(MovMF(n_components=2))}


@pytest.mark.parametrize("name", sorted(CHECKS.keys() - FOR_CLASSIFIERS))
def test_what_scikit_learn_asks(name: str) -> None:
    estimator, check = CHECKS[name]
    check(estimator)


@pytest.mark.parametrize("kappa", ["free", "shared"])
@pytest.mark.parametrize(("dim", "concentration"), [(3, 60.0), (50, 120.0)])
def test_planted_clusters_are_found(dim: int, concentration: float, kappa: Any) -> None:
    X, labels = planted(dim, concentration, n=600)
    k = len(np.unique(labels))
    found = MovMF(k, kappa=kappa, n_init=3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, found.labels_) > 0.95
    np.testing.assert_allclose(found.concentrations_, concentration, rtol=0.25)
    np.testing.assert_allclose(np.sort(found.weights_), np.sort(np.bincount(labels)) / len(labels), atol=0.02)


@pytest.mark.parametrize(("assignment", "kappa"), [("soft", "free"), ("soft", "shared"), ("hard", "shared")])
def test_planted_words_are_found(assignment: Any, kappa: Any) -> None:
    X, labels = planted_words()
    found = MovMF(5, kappa=kappa, assignment=assignment, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(labels, found.labels_) > 0.95
    assert found.mean_directions_.shape == (5, 20_000)


def test_the_likelihood_is_mpmaths() -> None:
    for dim, concentration in ((5, 8.0), (300, 700.0)):
        X, _ = planted(dim, concentration, k=3, n=30)
        model = MovMF(3, random_state=0).fit(X)
        with mpmath.workdps(40):
            expected = []
            for x in X[:4]:
                total = mpmath.mpf(0)
                for w, mu, kappa in zip(model.weights_, model.mean_directions_, model.concentrations_, strict=True):
                    v, k = mpmath.mpf(dim) / 2 - 1, mpmath.mpf(float(kappa))
                    constant = k**v / ((2 * mpmath.pi) ** (v + 1) * mpmath.besseli(v, k))
                    total += mpmath.mpf(float(w)) * constant * mpmath.exp(k * mpmath.fdot(mu.tolist(), x.tolist()))
                expected.append(float(mpmath.log(total)))
        np.testing.assert_allclose(model.score_samples(X[:4]), expected, rtol=1e-11)
        assert model.score(X) == pytest.approx(model.score_samples(X).mean())
        assert model.log_likelihood_[-1] == pytest.approx(model.score(X), rel=1e-12)


def plain_em(X: np.ndarray, directions: np.ndarray, kappa: np.ndarray, steps: int) -> tuple[np.ndarray, ...]:
    """EM as the textbook has it, with its loop over components."""
    weights = np.full(len(directions), 1 / len(directions))
    for _ in range(steps):
        terms = [np.log(w) + vmf.log_density(X, mu, k) for w, mu, k in zip(weights, directions, kappa, strict=True)]
        resp = np.exp(np.array(terms) - np.logaddexp.reduce(terms))
        weights = resp.mean(axis=1)
        fits = [vmf.fit(X, row) for row in resp]
        directions, kappa = np.array([f.mean_direction for f in fits]), np.array([f.kappa for f in fits])
    return weights, directions, kappa


def test_steps_are_those_of_a_textbook() -> None:
    X, _ = planted(4, 6.0, n=200)
    start = np.eye(4)[:3]
    nearest = (X @ start.T).argmax(axis=1)
    pooled = sum(np.linalg.norm(X[nearest == j].sum(axis=0)) for j in range(3)) / len(X)
    kappa = np.full(3, vmf.concentration(pooled, 4))
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=7 iterations.*Raise max_iter or tol"):
        found = MovMF(3, init=3 * start, max_iter=7, tol=0).fit(X)
    weights, directions, kappa = plain_em(X, start, kappa, 7)
    np.testing.assert_allclose(found.weights_, weights, rtol=1e-9)
    np.testing.assert_allclose(found.mean_directions_, directions, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found.concentrations_, kappa, rtol=1e-8)
    assert (found.n_iter_, found.converged_, len(found.log_likelihood_)) == (7, False, 8)


def test_one_component_is_the_closed_form() -> None:
    X, _ = planted(20, 30.0)
    found = MovMF(1).fit(X)
    mean, kappa = vmf.fit(X)
    np.testing.assert_allclose(found.mean_directions_[0], mean, rtol=1e-12)
    assert found.concentrations_[0] == pytest.approx(kappa, rel=1e-12)
    assert found.weights_.tolist() == [1.0]


def test_no_nearby_mixture_is_likelier() -> None:
    X, _ = planted(4, 10.0, n=300)
    model = MovMF(3, tol=0, max_iter=5000, n_init=1, random_state=0).fit(X)
    best = model.score(X)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-3):
        for _ in range(20):
            other = clone(model)
            other.n_features_in_ = 4
            other.weights_ = model.weights_ * np.exp(size * rng.normal(size=3))
            other.weights_ /= other.weights_.sum()
            other.mean_directions_ = normalize(model.mean_directions_ + size * rng.normal(size=(3, 4)))
            other.concentrations_ = model.concentrations_ * np.exp(size * rng.normal(size=3))
            assert other.score(X) < best


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("kappa", ["free", "shared"])
def test_the_likelihood_never_falls(kappa: Any, assignment: Any) -> None:
    words = planted_words(n=120, dim=3000)[0]
    for seed in range(5):
        noise = np.random.default_rng(seed).normal(size=(60, 4))
        for X, k in ((noise, 12), (words, 9)):
            model = MovMF(k, kappa=kappa, assignment=assignment, init="random", tol=0, max_iter=2000, random_state=seed)
            trace = model.fit(X).log_likelihood_
            assert np.diff(trace).min() >= -1e-12 * np.abs(trace).max()
            assert model.converged_


def test_sparse_is_dense_and_scale_is_nothing() -> None:
    X, _ = planted_words(n=120, dim=2000)
    model = MovMF(5, random_state=0)
    dense, thin = clone(model).fit(X.toarray()), clone(model).fit(X)
    scaled = clone(model).fit(X.toarray() * np.logspace(-200, 200, 120)[:, None])
    for other in (thin, scaled):
        np.testing.assert_allclose(other.mean_directions_, dense.mean_directions_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(other.concentrations_, dense.concentrations_, rtol=1e-9)
        np.testing.assert_array_equal(other.labels_, dense.labels_)
    np.testing.assert_allclose(thin.predict_proba(X.toarray()), dense.predict_proba(X), atol=1e-12)


def test_the_seed_decides() -> None:
    X, _ = planted(10, 5.0)
    one, same, other = (MovMF(6, random_state=seed).fit(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.mean_directions_, same.mean_directions_)
    assert not np.array_equal(one.mean_directions_, other.mean_directions_)
    best = MovMF(6, n_init=8, random_state=1).fit(X)
    assert best.log_likelihood_[-1] >= one.log_likelihood_[-1]


def test_rows_of_zeros() -> None:
    X, _ = planted(5, 50.0)
    holes = np.vstack([np.zeros((3, 5)), X, np.zeros((1, 5))])
    model, plain = MovMF(3, random_state=0).fit(holes), MovMF(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.mean_directions_, plain.mean_directions_)
    np.testing.assert_array_equal(model.labels_[3:-1], plain.labels_)
    np.testing.assert_allclose(model.predict_proba(holes)[[0, -1]], [model.weights_] * 2)
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(holes))[0], model.weights_)
    assert model.score_samples(holes)[0] == pytest.approx(-vmf.log_partition(0.0, 5))
    assert model.score(holes) == pytest.approx(plain.score(X))
    with pytest.raises(ValueError, match="every row is zero"):
        model.score(np.zeros((2, 5)))


def test_a_component_without_rows_starts_afresh() -> None:
    east, north = np.eye(50)[:2]
    X = np.vstack([vmf.sample(east, 3000.0, 95, rng=0), vmf.sample(north, 3000.0, 5, rng=1)])
    found = MovMF(2, init=[east, -east]).fit(X)  # nothing is near the second
    assert adjusted_rand_score(np.repeat([0, 1], [95, 5]), found.labels_) == 1
    assert np.diff(found.log_likelihood_).min() >= 0
    same = MovMF(3, init=np.eye(50)[:3]).fit(np.repeat([east, north], 10, axis=0))  # two points, three components
    assert np.isfinite(same.log_likelihood_).all()
    assert same.predict_proba([east]).sum() == pytest.approx(1)


def test_a_ceiling_keeps_components_wide() -> None:
    X, _ = planted_words()
    tight, wide = MovMF(5, random_state=0).fit(X), MovMF(5, max_kappa=10.0, random_state=0).fit(X)
    assert tight.concentrations_.min() > 1000
    assert wide.concentrations_.tolist() == [10.0] * 5
    assert tight.predict_proba(X).max(axis=1).mean() > 0.99
    assert wide.predict_proba(X).max(axis=1).mean() < 0.95


def test_criteria_and_draws() -> None:
    X, _ = planted(3, 40.0, n=500)
    models = {k: MovMF(k, n_init=3, random_state=0).fit(X) for k in (1, 2, 3, 4, 5)}
    assert min(models, key=lambda k: models[k].bic(X)) == 3
    free, shared = models[3], MovMF(3, kappa="shared", random_state=0).fit(X)
    for model, parameters in ((free, 2 + 6 + 3), (shared, 2 + 6 + 1)):
        assert model.bic(X) == pytest.approx(-1000 * model.score(X) + parameters * np.log(500))
        assert model.aic(X) == pytest.approx(-1000 * model.score(X) + parameters * 2)
    drawn, components = free.sample(20_000)
    np.testing.assert_allclose(np.bincount(components) / 20_000, free.weights_, atol=0.02)
    again = MovMF(3, random_state=0).fit(drawn)
    np.testing.assert_allclose(np.sort(again.concentrations_), np.sort(free.concentrations_), rtol=0.05)
    np.testing.assert_array_equal(free.sample(5)[0], free.sample(5)[0])


def test_saved_and_loaded(tmp_path: Path) -> None:
    X, _ = planted(6, 20.0)
    model = MovMF(3, random_state=0).fit(X)
    model.save(tmp_path / "mixture")
    found = MovMF.load(tmp_path / "mixture")
    assert found.get_params() == model.get_params()
    np.testing.assert_array_equal(found.transform(X), model.transform(X))
    np.testing.assert_array_equal(found.predict(X), model.labels_)
    assert found.get_feature_names_out().tolist() == ["movmf0", "movmf1", "movmf2"]


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"n_components": -1}, r"'n_components' parameter of MovMF must be an int in the range \[1, inf\). Got -1"),
        ({"n_components": 2.5}, "'n_components' .* Got 2.5"),
        ({"n_components": 11}, "n_components=11 needs at least as many rows.*n_samples=10, of which 0 are zero"),
        ({"n_init": 0}, "'n_init'"),
        ({"max_iter": 0}, "'max_iter'"),
        ({"tol": -1.0}, "'tol' .* Got -1.0"),
        ({"kappa": "tied"}, "'kappa' .* Got 'tied'"),
        ({"assignment": "medium"}, "'assignment'"),
        ({"max_kappa": 0}, "'max_kappa'"),
        ({"max_kappa": 1e9}, "'max_kappa'"),
        ({"init": "best"}, "'init'"),
        ({"init": np.eye(3)}, r"init must hold 2 finite directions of 4 numbers, not an array \(3, 3\)"),
        ({"random_state": "seed"}, "'random_state'"),
    ],
)
def test_faulty_parameters_are_told(parameters: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        MovMF(**{"n_components": 2} | parameters).fit(np.eye(10)[:, :4] + 0.1)


def test_faulty_rows_are_told() -> None:
    with pytest.raises(ValueError, match="contains NaN"):
        MovMF(1).fit([[1.0, np.nan]])
    with pytest.raises(ValueError, match="2 are zero"):
        MovMF(2).fit([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    with pytest.raises(NotFittedError):
        MovMF().predict([[1.0, 0.0]])
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        MovMF(1).fit(np.eye(2)).sample(0)
