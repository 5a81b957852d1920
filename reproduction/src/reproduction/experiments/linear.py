"""Linear support vector machines on dense features, a whole grid at a time.

They minimise the objective of scikit-learn's ``LinearSVC``, |w|^2 / 2 + C sum_i max(0, 1 - y_i w.x_i)^2 for each label
against the rest, with the intercept as the weight of one more feature that is always 1. liblinear fits one label, one
fold and one C at a time, feature by feature, which takes hours for thousands of dense features. Here every machine is a
column of one matrix, so a Newton step of all of them is a few matrix products.

Features are first rotated to their principal axes. That changes no distance, and hence no machine, but makes the
Hessian nearly diagonal, so conjugate gradients with a diagonal preconditioner need few steps.
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

TOL = 1e-5  # of the gradient, by liblinear's rule; scikit-learn's default of 1e-4 is far from the optimum at large C
MAX_NEWTON = 100
MAX_CONJUGATE = 50
FORCING = 0.1  # how exactly a Newton step is solved for
ARMIJO = 1e-4
SMALLEST_STEP = 1e-4
PRECISION = 1e-7  # relative gains below this are rounding


def turned(features: NDArray[np.float64]) -> tuple[Floats, Floats]:
    """Rotate features, (n, n_features), to their principal axes.

    Returns
    -------
    matrix : (n, n_axes + 1) array
        The features on the axes, and a last feature that is always 1.
    axes : (n_features, n_axes) array
        The principal axes, as columns; at most one per document, since no machine leaves the documents' span.
    """
    plain = np.asarray(features, np.float32)
    if len(plain) >= plain.shape[1]:
        axes = np.linalg.eigh(plain.T @ plain)[1]
    else:
        axes = np.linalg.qr(plain.T @ np.linalg.eigh(plain @ plain.T)[1][:, ::-1])[0]
    return np.column_stack([plain @ axes, np.ones(len(plain), np.float32)]), axes


class LinearMachines(NamedTuple):
    """One machine per label (a single one for two labels), equal to scikit-learn's ``LinearSVC``.

    Attributes
    ----------
    weights : (n_features, n_machines) array
    intercepts : (n_machines,) array
    labels : (n_labels,) int array
        Sorted.
    """

    weights: NDArray[Any]
    intercepts: NDArray[Any]
    labels: Ints

    def scores(self, features: Any) -> NDArray[Any]:
        """Return the scores of each row of dense or sparse features, (n, n_machines)."""
        return np.asarray(features.astype(self.weights.dtype) @ self.weights + self.intercepts)

    def predict(self, features: Any) -> Ints:
        """Return the label of each row, (n,)."""
        return self.labels[decided(self.scores(features))]


class Features(Protocol):
    """Features of documents that machines can be fitted to; what is found is an array with one column per machine."""

    def fit(self, signs: Any, costs: Any, start: Any = None) -> Any:
        """Fit machines, as :func:`fit_machines` does."""

    def scores(self, found: Any) -> Any:
        """Return the scores of all documents, (n, n_machines)."""

    def machines(self, found: Any, labels: Ints) -> LinearMachines:
        """Return the machines as weights of the features."""


class DenseFeatures:
    """Dense features of documents, and the machines on them.

    Parameters
    ----------
    features : (n, n_features) array
    """

    def __init__(self, features: NDArray[np.float64]) -> None:
        self.matrix, self.axes = turned(features)

    def fit(self, signs: Floats, costs: Floats, start: Floats | None = None) -> Floats:
        """Return the weights of the axes, (n_axes + 1, n_machines); see :func:`fit_machines`."""
        return fit_machines(self.matrix, signs, costs, start)

    def scores(self, found: Floats) -> Floats:
        """Return the scores of all documents, (n, n_machines)."""
        scores: Floats = self.matrix @ found
        return scores

    def machines(self, found: Floats, labels: Ints) -> LinearMachines:
        """Return the machines as weights of the features."""
        return LinearMachines(self.axes @ found[:-1], found[-1], labels)


class Choice(NamedTuple):
    """Fitted machines, their C, and the share of documents that were right in the cross-validation."""

    machines: LinearMachines
    cost: float
    right: float


def choose_cost(
    features: Features, labels: Ints, costs: tuple[float, ...], parts: Sequence[tuple[Ints, Ints]], patience: int = 2
) -> Choice:
    """Fit machines whose C is chosen by cross-validation.

    Parameters
    ----------
    features : DenseFeatures or SparseFeatures
    labels : (n,) int array
    costs : floats
        Candidates for C, ascending; of equally accurate ones the first is chosen.
    parts : sequence of (train, test)
        Positions of the training and of the test documents of each fold.
    patience : int, default=2
        The search ends after so many candidates in a row that are worse than the best so far: a large C takes longest.
    """
    known, codes = np.unique(labels, return_inverse=True)
    signs = np.where(codes[:, None] == np.arange(len(known)), np.float32(1), np.float32(-1))
    signs = signs[:, 1:] if len(known) == 2 else signs
    n_machines = signs.shape[1]
    hidden = np.tile(signs, len(parts))  # all folds at once, each without its own test documents
    for place, (_, test) in enumerate(parts):
        hidden[test, place * n_machines : (place + 1) * n_machines] = 0
    right: list[int] = []
    found: list[Any] = []
    for cost in costs:
        every = np.full(hidden.shape[1], cost, np.float32)
        found.append(features.fit(hidden, every, found[-1] if found else None))
        scores = np.split(features.scores(found[-1]), len(parts), axis=1)
        hits = (decided(one[test]) == codes[test] for one, (_, test) in zip(scores, parts, strict=True))
        right.append(sum(int(hit.sum()) for hit in hits))
        if len(right) > patience and max(right[-patience:]) < max(right):
            break
    best = int(np.argmax(right))
    near = np.mean(np.split(found[best], len(parts), axis=1), axis=0)  # of the folds' machines
    final = features.fit(signs, np.full(n_machines, costs[best], np.float32), near)
    return Choice(features.machines(final, known), costs[best], right[best] / len(labels))


def decided(scores: NDArray[Any]) -> Ints:
    """Return the position of the predicted label, given scores (n, n_machines)."""
    return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(1)


def fit_machines(features: Floats, signs: Floats, costs: Floats, start: Floats | None = None) -> Floats:
    """Fit machines to the same features.

    Parameters
    ----------
    features : (n, d) array
    signs : (n, n_machines) array
        1 or -1 for the label of each document; 0 for a document that a machine does not learn from.
    costs : (n_machines,) array
        C of each machine.
    start : (d, n_machines) array, default=None
        Initial weights; zeros by default.

    Returns
    -------
    (d, n_machines) array
    """
    weights = np.zeros((features.shape[1], signs.shape[1]), np.float32) if start is None else start.copy()
    scores = features @ weights
    slack = _slack(scores, signs)
    rarer = np.minimum((signs > 0).sum(0), (signs < 0).sum(0)) / np.maximum(1, (signs != 0).sum(0))
    first = 2 * costs * np.linalg.norm(features.T @ signs, axis=0)
    enough = TOL * np.maximum(rarer, 1 / len(signs)) * first
    squares = features * features
    open_ = np.arange(signs.shape[1])
    for _ in range(MAX_NEWTON):
        cost, sign, weight = costs[open_], signs[:, open_], weights[:, open_]
        gradient = weight - 2 * cost * (features.T @ (sign * slack[:, open_]))
        left = np.linalg.norm(gradient, axis=0) > enough[open_]
        if not left.any():
            return weights
        open_, cost, sign, weight, gradient = open_[left], cost[left], sign[:, left], weight[:, left], gradient[:, left]
        step = _newton_step(features, squares, (slack[:, open_] > 0).astype(np.float32), cost, gradient)
        moved = features @ step
        length, gain = _line_search(weight, step, scores[:, open_], moved, sign, cost, gradient)
        weights[:, open_] = weight + length * step
        scores[:, open_] += length * moved
        slack[:, open_] = _slack(scores[:, open_], sign)
        loss = _squares(weight) / 2 + cost * _squares(slack[:, open_])
        open_ = open_[gain > PRECISION * loss]  # the others have converged to single precision
        if not len(open_):
            return weights
    warnings.warn(f"{len(open_)} machines did not converge", ConvergenceWarning, stacklevel=2)
    return weights


def _slack(scores: Floats, signs: Floats) -> Floats:
    slack: Floats = np.maximum(0, np.abs(signs) - signs * scores)
    return slack


def _squares(columns: Floats) -> NDArray[np.float64]:
    return np.asarray(np.square(columns, dtype=np.float64).sum(0))


def _newton_step(features: Floats, squares: Floats, active: Floats, costs: Floats, gradient: Floats) -> Floats:
    """Solve (1 + 2 C X' A X) step = -gradient for each machine, by preconditioned conjugate gradients."""
    diagonal = 1 + 2 * costs * (squares.T @ active)
    step = np.zeros_like(gradient)
    residual = -gradient
    scaled = residual / diagonal
    direction = scaled
    product = (residual * scaled).sum(0)
    enough = FORCING**2 * product
    for _ in range(MAX_CONJUGATE):
        image = direction + 2 * costs * (features.T @ (active * (features @ direction)))
        length = product / np.maximum((direction * image).sum(0), np.finfo(np.float32).tiny)
        step = step + length * direction
        residual = residual - length * image
        scaled = residual / diagonal
        before, product = product, (residual * scaled).sum(0)
        if (product <= enough).all():
            break
        direction = scaled + product / np.maximum(before, np.finfo(np.float32).tiny) * direction
    return step


def _line_search(
    weight: Floats, step: Floats, scores: Floats, moved: Floats, signs: Floats, costs: Floats, gradient: Floats
) -> tuple[Floats, NDArray[np.float64]]:
    """Halve each machine's step until its loss falls; return the step lengths (0 if none helps) and the gains."""
    along = (gradient * step).sum(0).astype(np.float64)
    cross, square = (weight * step).sum(0).astype(np.float64), (step * step).sum(0).astype(np.float64)
    before = _squares(_slack(scores, signs))
    length = np.ones(len(costs), np.float64)
    while True:
        after = _squares(_slack(scores + length.astype(np.float32) * moved, signs))
        change = length * cross + length**2 * square / 2 + costs * (after - before)
        wrong = (length > 0) & ~(change <= ARMIJO * length * along)
        if not wrong.any():
            return length.astype(np.float32), -change
        length[wrong] /= 2
        length[length < SMALLEST_STEP] = 0
