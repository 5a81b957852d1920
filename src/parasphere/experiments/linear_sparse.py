"""Linear support vector machines on sparse features, a whole grid at a time.

The machines are those of :mod:`parasphere.experiments.linear`, and so is the method: Newton's, with conjugate
gradients. Texts have more features than there are texts, so a vector of weights is kept as one number per document,
``w = X' a``: products of such vectors need the matrix ``K = X X'`` of inner products of documents alone, and all
machines of all folds are columns of one matrix. liblinear instead passes over the documents one by one, thousands of
times where C is large.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from .linear import ARMIJO, FORCING, MAX_CONJUGATE, MAX_NEWTON, SMALLEST_STEP, LinearMachines

Floats = NDArray[np.float64]
GRAM = 16  # K is kept if it has no more entries than so many times the non-zero features
DENSE = 0.2  # features of a larger share of the documents are kept as a dense matrix
COLUMNS = 8  # machines at a time: with more, their weights, one per feature, leave the processor's cache
TOL = 1e-4  # of the gradient, by liblinear's rule: scikit-learn's default
TINY = np.finfo(np.float64).tiny


class SparseFeatures:
    """Sparse features of documents, and the machines on them.

    Parameters
    ----------
    features : sparse array of shape (n, n_features)
    """

    def __init__(self, features: sparse.csr_array) -> None:
        self.features = sparse.csr_array(features, dtype=np.float64)
        counts = np.bincount(self.features.indices, minlength=self.features.shape[1])
        columns = sparse.csc_array(self.features)
        usual = counts > DENSE * self.features.shape[0]
        # Features of many documents are multiplied faster as a dense matrix; the last of them is always 1.
        self.dense = np.column_stack([columns[:, np.flatnonzero(usual)].toarray(), np.ones(self.features.shape[0])])
        shared = sparse.csr_array(columns[:, np.flatnonzero((counts > 1) & ~usual)])
        # A feature of one document alone adds to the diagonal of K and to nothing else.
        alone = sparse.csr_array(columns[:, np.flatnonzero((counts == 1) & ~usual)])
        self.diagonal = np.asarray(alone.multiply(alone).sum(1)).reshape(-1, 1)
        self.matrix, self.turned = shared, sparse.csr_array(shared.T)
        small = shared.shape[0] ** 2 <= GRAM * (shared.nnz + self.dense.size)
        self.gram = (shared @ self.turned).toarray() + self.dense @ self.dense.T if small else None

    def fit(self, signs: Floats, costs: Floats, start: Floats | None = None) -> Floats:
        """Fit machines; parameters and ``start`` are those of :func:`~parasphere.experiments.linear.fit_machines`.

        Returns
        -------
        (n, n_machines) array
            The weights of the documents.
        """
        found = np.zeros(signs.shape) if start is None else start.copy()
        for begin in range(0, signs.shape[1], COLUMNS):
            some = slice(begin, begin + COLUMNS)
            found[:, some] = self._fit(signs[:, some].astype(np.float64), costs[some], found[:, some])
        return found

    def scores(self, found: Floats) -> Floats:
        """Return the scores of all documents, (n, n_machines)."""
        parts = [self._inner(found[:, begin : begin + COLUMNS]) for begin in range(0, found.shape[1], COLUMNS)]
        return np.concatenate(parts, axis=1)

    def machines(self, found: Floats, labels: NDArray[np.int64]) -> LinearMachines:
        """Return the machines as weights of the features."""
        return LinearMachines(self.features.T @ found, found.sum(0), labels)

    def _inner(self, found: Floats) -> Floats:
        """Multiply by K: (n, m) -> (n, m)."""
        if self.gram is not None:
            return np.asarray(self.gram @ found + self.diagonal * found)
        dense = self.dense @ (self.dense.T @ found)
        return np.asarray(self.matrix @ (self.turned @ found) + dense + self.diagonal * found)

    def _fit(self, signs: Floats, costs: Floats, start: Floats) -> Floats:
        weights, scores = start.copy(), self._inner(start)
        rarer = np.minimum((signs > 0).sum(0), (signs < 0).sum(0)) / np.maximum(1, (signs != 0).sum(0))
        first = 2 * costs * np.sqrt(_dots(signs, self._inner(signs)))
        enough = TOL * np.maximum(rarer, 1 / len(signs)) * first
        open_ = np.arange(signs.shape[1])
        for _ in range(MAX_NEWTON):
            cost, sign, weight, score = costs[open_], signs[:, open_], weights[:, open_], scores[:, open_]
            slack = _slack(score, sign)
            gradient = weight - 2 * cost * sign * slack
            inner = self._inner(gradient)
            left = np.sqrt(np.maximum(0, _dots(gradient, inner))) > enough[open_]
            if not left.any():
                return weights
            open_, cost, sign, weight, score = open_[left], cost[left], sign[:, left], weight[:, left], score[:, left]
            step, moved = self._newton_step((slack[:, left] > 0) * 2 * cost, gradient[:, left], inner[:, left])
            length = _step_lengths(weight, step, score, moved, sign, cost)
            weights[:, open_] = weight + length * step
            scores[:, open_] = score + length * moved
            open_ = open_[length > 0]  # the others have converged to rounding
            if not len(open_):
                return weights
        warnings.warn(f"{len(open_)} machines did not converge", ConvergenceWarning, stacklevel=3)
        return weights

    def _newton_step(self, curvature: Floats, gradient: Floats, inner: Floats) -> tuple[Floats, Floats]:
        """Solve (1 + X' D X) step = -gradient for each machine, D being the curvature, by conjugate gradients.

        ``inner`` is K times the gradient. Returns the step, and K times the step: what it changes in the scores.
        """
        step, moved = np.zeros_like(gradient), np.zeros_like(gradient)
        residual, direction, along = -gradient, -gradient, -inner
        product = _dots(gradient, inner)
        enough = FORCING**2 * product
        for _ in range(MAX_CONJUGATE):
            image = direction + curvature * along
            length = product / np.maximum(_dots(along, image), TINY)
            step += length * direction
            moved += length * along
            residual = residual - length * image
            inner = self._inner(residual)
            before, product = product, np.maximum(0, _dots(residual, inner))
            if (product <= enough).all():
                break
            share = product / np.maximum(before, TINY)
            direction, along = residual + share * direction, inner + share * along
        return step, moved


def _slack(scores: Floats, signs: Floats) -> Floats:
    slack: Floats = np.maximum(0, np.abs(signs) - signs * scores)
    return slack


def _dots(first: Floats, second: Floats) -> Floats:
    """Return the inner products of columns: (n, m), (n, m) -> (m,)."""
    return np.asarray(np.einsum("ij,ij->j", first, second))


def _step_lengths(weight: Floats, step: Floats, score: Floats, moved: Floats, sign: Floats, cost: Floats) -> Floats:
    """Halve each machine's step until its loss falls; 0 if no step helps."""
    cross, square = _dots(weight, moved), _dots(step, moved)
    slack = _slack(score, sign)
    before = _dots(slack, slack)
    along = cross - 2 * cost * _dots(sign * slack, moved)
    length = np.ones(len(cost))
    while True:
        slack = _slack(score + length * moved, sign)
        change = length * cross + length**2 * square / 2 + cost * (_dots(slack, slack) - before)
        wrong = (length > 0) & ~(change <= ARMIJO * length * along)
        if not wrong.any():
            return length
        length[wrong] /= 2
        length[length < SMALLEST_STEP] = 0
