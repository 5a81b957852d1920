"""Linear support vector machines on sparse features, a whole grid at a time.

The machines are those of :mod:`reproduction.experiments.linear`, and so is the method: Newton's. Texts have more
features than there are texts, so a vector of weights is kept as one number per document, ``w = X' a``: products of such
vectors need the matrix ``K = X X'`` of inner products of documents alone, and all machines of all folds are columns of
one matrix. liblinear instead passes over the documents one by one, thousands of times where C is large.

A Newton step leaves weight on the documents within the margin alone (Chapelle 2007). Where these are few, as for a
rare label or a large C, it is the solution of a small system of equations; otherwise conjugate gradients find it.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.exceptions import ConvergenceWarning

from .linear import ARMIJO, FORCING, MAX_CONJUGATE, MAX_NEWTON, SMALLEST_STEP, LinearMachines

Floats = NDArray[np.float64]
GRAM = 16_384  # K, in single precision, is kept for at most so many documents: 1 GiB
FEW = 0.2  # share of the documents up to which a system of equations is solved faster than by conjugate gradients
WIDE = 16  # machines from which K itself is multiplied faster than the features
DENSE = 0.05  # features of a larger share of the documents are kept as a dense matrix
COLUMNS = 8  # machines at a time without K: with more, their weights, one per feature, leave the processor's cache
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
        self.gram = self._gram() if shared.shape[0] <= GRAM else None

    def _gram(self) -> NDArray[np.float32]:
        """Return K."""
        gram: NDArray[np.float32] = (self.matrix.astype(np.float32) @ self.turned.astype(np.float32)).toarray()
        dense = self.dense.astype(np.float32)
        gram += dense @ dense.T
        gram.flat[:: len(gram) + 1] += self.diagonal[:, 0]
        return gram

    def fit(self, signs: Floats, costs: Floats, start: Floats | None = None) -> Floats:
        """Fit machines; parameters and ``start`` are those of :func:`~reproduction.experiments.linear.fit_machines`.

        Returns
        -------
        (n, n_machines) array
            The weights of the documents.
        """
        found = np.zeros(signs.shape) if start is None else start.copy()
        width = COLUMNS if self.gram is None else signs.shape[1]
        for begin in range(0, signs.shape[1], width):
            some = slice(begin, begin + width)
            found[:, some] = self._fit(signs[:, some].astype(np.float64), costs[some], found[:, some])
        return found

    def scores(self, found: Floats) -> Floats:
        """Return the scores of all documents, (n, n_machines)."""
        parts = [self._exact(found[:, begin : begin + COLUMNS]) for begin in range(0, found.shape[1], COLUMNS)]
        return np.concatenate(parts, axis=1)

    def machines(self, found: Floats, labels: NDArray[np.int64]) -> LinearMachines:
        """Return the machines as weights of the features."""
        return LinearMachines(self.features.T @ found, found.sum(0), labels)

    def _inner(self, found: Floats) -> Floats:
        """Multiply by K, to single precision if it is kept: (n, m) -> (n, m)."""
        if self.gram is None or found.shape[1] < WIDE:
            return self._exact(found)
        return (self.gram @ found.astype(np.float32)).astype(np.float64)

    def _exact(self, found: Floats) -> Floats:
        """Multiply by K: (n, m) -> (n, m)."""
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
            active = sign * (slack[:, left] > 0)
            step, moved = self._newton_step(active, cost, weight, gradient[:, left], inner[:, left])
            length = _step_lengths(weight, step, score, moved, sign, cost)
            weights[:, open_] = weight + length * step
            scores[:, open_] = score + length * moved
            open_ = open_[length > 0]  # the others have converged to rounding
            if not len(open_):
                return weights
        warnings.warn(f"{len(open_)} machines did not converge", ConvergenceWarning, stacklevel=3)
        return weights

    def _newton_step(
        self, active: Floats, costs: Floats, weights: Floats, gradient: Floats, inner: Floats
    ) -> tuple[Floats, Floats]:
        """Return the Newton step of each machine, and K times it: what it changes in the scores.

        ``active`` holds the signs of the documents within the margin, else 0; ``inner`` is K times the gradient.
        """
        step, moved = np.empty_like(gradient), np.empty_like(gradient)
        few = self._few(active, costs)
        if few.any():
            step[:, few] = self._solved(active[:, few], costs[few]) - weights[:, few]
            moved[:, few] = self._inner(step[:, few])
        if not few.all():
            curvature = (active[:, ~few] != 0) * 2 * costs[~few]
            step[:, ~few], moved[:, ~few] = self._conjugate(curvature, gradient[:, ~few], inner[:, ~few])
        return step, moved

    def _few(self, active: Floats, costs: Floats) -> NDArray[np.bool_]:
        """Return whether the equations of each machine are few, and can be solved in single precision."""
        counts = np.count_nonzero(active, axis=0)
        if self.gram is None:
            return np.zeros(len(counts), bool)
        rounding = np.finfo(np.float32).eps * counts * self.gram.diagonal().max()  # the norm of K is at most that
        return np.asarray((counts <= FEW * len(active)) & (rounding * 2 * costs < 0.5))

    def _solved(self, active: Floats, costs: Floats) -> Floats:
        """Return the weights that a Newton step leads to: (K + 1 / 2C) weights = signs, among the active documents."""
        assert self.gram is not None
        found = np.zeros_like(active)
        for place, cost in enumerate(costs):
            rows = np.flatnonzero(active[:, place])
            block = self.gram[np.ix_(rows, rows)]
            block.flat[:: len(rows) + 1] += 1 / (2 * cost)
            factor = linalg.cho_factor(block, lower=True, overwrite_a=True, check_finite=False)
            found[rows, place] = linalg.cho_solve(factor, active[rows, place], check_finite=False)
        return found

    def _conjugate(self, curvature: Floats, gradient: Floats, inner: Floats) -> tuple[Floats, Floats]:
        """Solve (1 + X' D X) step = -gradient for each machine, D being the curvature, by conjugate gradients."""
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
