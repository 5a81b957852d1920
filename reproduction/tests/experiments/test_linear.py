"""Linear machines of a whole grid at once, beside liblinear one by one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

from reproduction.experiments import linear_sparse
from reproduction.experiments.linear import DenseFeatures, LinearMachines, choose_cost, decided, fit_machines, turned
from reproduction.experiments.linear_sparse import SparseFeatures
from reproduction.experiments.protocol import LINEAR_C, SPARSE_C, Options, choose


def made(n: int, d: int, n_labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    features, labels = make_classification(
        n, d, n_informative=8, n_redundant=d // 2, n_classes=n_labels, flip_y=0.2, random_state=seed
    )
    return (features - features.mean(0)) / features.std(0), labels


def loss(features: np.ndarray, signs: np.ndarray, cost: float, weights: np.ndarray, intercept: float) -> float:
    slack = np.maximum(0, 1 - signs * (features @ weights + intercept))
    return float((weights @ weights + intercept**2) / 2 + cost * (slack**2).sum())


@settings(max_examples=12, deadline=None)
@given(
    st.integers(2, 4),
    st.sampled_from([(60, 20), (40, 90), (200, 30)]),
    st.sampled_from([0.001, 0.1, 1.0, 100.0]),
    st.integers(0, 1000),
)
def test_losses_are_as_low_as_liblinears(n_labels: int, shape: tuple[int, int], cost: float, seed: int) -> None:
    features, labels = made(*shape, n_labels, seed)
    exact = LinearSVC(C=cost, dual=False, tol=1e-8, max_iter=100_000).fit(features, labels)
    signs = np.where(labels[:, None] == np.unique(labels), 1.0, -1.0).astype(np.float32)
    signs = signs[:, 1:] if signs.shape[1] == 2 else signs
    matrix, axes = turned(features)
    weights = fit_machines(matrix, signs, np.full(signs.shape[1], cost, np.float32))
    for place, column in enumerate(signs.T):
        least = loss(features, column, cost, exact.coef_[place], exact.intercept_[place])
        ours = loss(features, column, cost, axes @ weights[:-1, place], float(weights[-1, place]))
        assert ours <= least * (1 + 1e-4) + 1e-5 * loss(features, column, cost, np.zeros(shape[1]), 0.0)
    scores = LinearMachines(axes @ weights[:-1], weights[-1], np.unique(labels)).scores(features)
    np.testing.assert_allclose(scores, matrix @ weights, atol=1e-3)
    theirs = exact.decision_function(features).reshape(len(features), -1)
    clear = np.abs(theirs).min(1) > 0.05
    np.testing.assert_array_equal(np.sign(scores[clear]), np.sign(theirs[clear]))


@pytest.mark.parametrize("shape", [(120, 60), (80, 150)])
def test_a_rotation_keeps_every_distance(shape: tuple[int, int]) -> None:
    features, _ = made(*shape, 3)
    matrix, axes = turned(features)
    np.testing.assert_allclose(axes.T @ axes, np.eye(min(shape)), atol=1e-5)
    np.testing.assert_allclose(matrix[:, :-1] @ matrix[:, :-1].T, features @ features.T, rtol=1e-3, atol=1e-2)


def test_a_document_without_a_sign_is_not_learned_from() -> None:
    features, labels = made(100, 20, 2)
    signs = np.where(labels == 1, 1.0, -1.0).astype(np.float32)[:, None]
    hidden = signs.copy()
    hidden[60:] = 0
    matrix, _ = turned(features)
    cost = np.ones(1, np.float32)
    whole, part = fit_machines(matrix, hidden, cost), fit_machines(matrix[:60], signs[:60], cost)
    np.testing.assert_allclose(whole, part, atol=1e-4)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_same_machine_as_liblinear_is_chosen(n_labels: int, kind: Any) -> None:
    features, labels = made(400, 60, n_labels)
    features = kind(features)
    names = np.array([4, 7, 9])[labels]  # labels are told as they are, not by their place
    known, unknown = slice(0, 300), slice(300, None)
    ours, our_choice = choose(features[known], names[known], Options())
    inner = StratifiedKFold(3, shuffle=True, random_state=0)
    costs = SPARSE_C if sparse.issparse(features) else LINEAR_C
    grid = GridSearchCV(LinearSVC(dual=False, tol=1e-6), {"C": costs}, cv=inner).fit(features[known], names[known])
    assert our_choice["C"] == grid.best_params_["C"]
    assert our_choice["inner"] == pytest.approx(grid.best_score_, abs=0.004)
    agreed = ours.predict(features[unknown]) == grid.predict(features[unknown])
    assert agreed.mean() >= 0.99


@settings(max_examples=12, deadline=None)
@given(
    st.integers(2, 4), st.sampled_from([0.001, 1.0, 100.0]), st.integers(0, 1000),
    st.sampled_from(["equations", "gradients", "features"]),
)  # fmt: skip
def test_sparse_losses_are_as_low_as_liblinears(n_labels: int, cost: float, seed: int, way: str) -> None:
    rng = np.random.default_rng(seed)
    features = sparse.random_array((60, 400), density=0.03, rng=rng, format="csr")
    labels = np.arange(60) % n_labels
    exact = LinearSVC(C=cost, dual=False, tol=1e-8, max_iter=100_000).fit(features, labels)
    signs = np.where(labels[:, None] == np.arange(n_labels), 1.0, -1.0)
    signs = signs[:, 1:] if n_labels == 2 else signs
    problem = SparseFeatures(features)
    assert problem.gram is not None
    if way == "features":  # as with more documents
        problem.gram = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_sparse, "FEW", 1.0 if way == "equations" else 0.0)
        patch.setattr(linear_sparse, "WIDE", 1)
        found = problem.fit(signs, np.full(signs.shape[1], cost))
    machines = problem.machines(found, np.arange(n_labels))
    np.testing.assert_allclose(machines.scores(features), problem.scores(found), atol=1e-9)
    for place, column in enumerate(signs.T):
        least = loss(features, column, cost, exact.coef_[place], exact.intercept_[place])
        ours = loss(features, column, cost, machines.weights[:, place], machines.intercepts[place])
        assert ours <= least * (1 + 2e-3)


@pytest.mark.parametrize("length", [1.0, 1000.0])  # equations of long rows would be singular in single precision
def test_a_few_documents_within_the_margin(length: float) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 5
    features = sparse.csr_array(length * (np.eye(50)[labels] + 0.1 * rng.normal(size=(400, 50))))
    signs = np.where(labels[:, None] == np.arange(5), 1.0, -1.0)
    problem = SparseFeatures(features)
    machines = problem.machines(problem.fit(signs, np.full(5, 100.0)), np.arange(5))
    exact = LinearSVC(C=100.0, dual=False, tol=1e-8, max_iter=100_000).fit(features, labels)
    assert ((1 - signs * exact.decision_function(features)) > 0).mean() < linear_sparse.FEW
    for place, column in enumerate(signs.T):
        least = loss(features, column, 100.0, exact.coef_[place], exact.intercept_[place])
        ours = loss(features, column, 100.0, machines.weights[:, place], machines.intercepts[place])
        assert ours <= least * (1 + 1e-3) + 1e-7 * loss(features, column, 100.0, np.zeros(50), 0.0)


def test_a_plateau_does_not_end_the_search() -> None:
    labels = np.repeat([0, 1], [90, 30])  # where C is small all are taken for the first label
    features = sparse.csr_array(np.eye(2)[labels] + 0.01 * np.random.default_rng(0).normal(size=(120, 2)))
    parts = list(StratifiedKFold(3).split(features, labels))
    choice = choose_cost(SparseFeatures(features), labels, (1e-7, 1e-6, 1e-5, 1.0), parts)
    assert (choice.cost, choice.right) == (1.0, 1.0)


def test_a_tie_is_broken_by_the_smaller_cost() -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    features = rng.normal(size=(60, 5)) + 20 * labels[:, None]
    parts = list(StratifiedKFold(3).split(features, labels))
    machines, cost, right = choose_cost(DenseFeatures(features - features.mean(0)), labels, (0.1, 1.0, 10.0), parts)
    assert (cost, right) == (0.1, 1.0)
    np.testing.assert_array_equal(machines.predict(features - features.mean(0)), labels)


def test_who_decides() -> None:
    np.testing.assert_array_equal(decided(np.array([[0.2], [-0.1]], np.float32)), [1, 0])
    np.testing.assert_array_equal(decided(np.array([[0.2, 0.3, -1], [2, 0, 1]], np.float32)), [1, 0])
