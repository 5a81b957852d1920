"""Mixtures of von Mises-Fisher distributions: soft clusters of unit vectors (Banerjee et al., 2005)."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..progress import progress
from ..storage import Saved
from . import vmf
from .directions import (
    Floats,
    check_kappa,
    check_tol,
    check_whole,
    cosines,
    dense_columns,
    normalised,
    spread_seeds,
    unit_rows,
    weighted_sums,
)

Kappa = Literal["free", "shared"]
Assignment = Literal["soft", "hard"]
NEGLIGIBLE = 1e-30  # a responsibility that no sum notices; taken for 0, which costs nothing


@dataclass
class Mixture:
    """Components of a mixture.

    Attributes
    ----------
    weights : (k,) array
        Mixing weights, summing to 1; 0 for a component without rows.
    directions : (dim, k) array
        Mean directions, one a column: so the rows of a sparse matrix meet contiguous memory.
    kappa : (k,) array
        Concentrations.
    """

    weights: Floats
    directions: Floats
    kappa: Floats

    def log_joint(self, rows: Any) -> Floats:
        """Return the log-density of each row and component together, (n, k).

        ``log w_j + kappa_j mu_j.x - Phi(kappa_j)``
        """
        with np.errstate(divide="ignore"):  # a weight of 0
            constants = np.log(self.weights) - vmf.log_partition(self.kappa, self.directions.shape[0])
        joint = cosines(rows, self.directions)
        joint *= self.kappa
        joint += constants
        return joint


class MovMF(Saved, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Mixture of von Mises-Fisher distributions, by expectation maximisation.

    A unit vector comes from component ``j`` with chance ``w_j``, and has there the density
    ``exp(kappa_j mu_j.x - Phi(kappa_j))``. It is to directions what a Gaussian mixture is to points.

    Parameters
    ----------
    n_components : int
    kappa : {"free", "shared"}
        A concentration for each component, or one for all.
    init : {"k-means++", "random"} or array, (n_components, dim)
        First mean directions: rows far from each other, any rows, or those given (which need not have unit length).
    n_init : int
        How many starts; the one with the highest likelihood is kept. Given directions are started from once.
    max_iter : int
        Iterations of each start.
    tol : float
        Iterations stop when the mean log-likelihood of a row rises by no more than this, in nats.
    assignment : {"soft", "hard"}
        "hard" gives each row to its most likely component while fitting, and climbs the likelihood of rows and
        components together; with ``kappa="shared"`` that is spherical k-means with mixing weights.
    max_kappa : float
        Largest concentration. See Notes.
    random_state : int, RandomState or None

    Attributes
    ----------
    weights_ : (n_components,) array
    mean_directions_ : (n_components, dim) array
    concentrations_ : (n_components,) array
    log_likelihood_ : (n_iter_ + 1,) array
        Mean log-likelihood of a row, at the start and after each iteration; it never falls.
    labels_ : (n,) int array
        Most likely component of each row that was fitted.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    Rows are scaled to unit length. A row of zeros has no direction: it is left out of the fit, its responsibilities are
    the mixing weights, and its log-likelihood is that of a uniform direction.

    This is plain maximum likelihood, and a component that holds one row only, or equal ones, has no largest likelihood:
    its concentration goes to ``max_kappa``. In tens of thousands of dimensions concentrations are in the thousands and
    responsibilities all but 0 and 1, as they must be under this model. A smaller ``max_kappa`` keeps components wide
    and responsibilities soft; then the likelihood is the largest one under that limit.

    A component that has lost all its rows is started afresh at the row that is explained worst, with the concentration
    that all share, if that raises the likelihood; else it keeps the weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> east, north = np.eye(3)[:2]
    >>> X = np.vstack([vmf.sample(east, 50.0, 100, rng=0), vmf.sample(north, 20.0, 300, rng=1)])
    >>> mixture = MovMF(n_components=2, random_state=0).fit(X)
    >>> order = mixture.weights_.argsort()
    >>> mixture.weights_[order].round(2)
    array([0.25, 0.75])
    >>> (mixture.mean_directions_[order] @ np.array([east, north]).T > 0.99).tolist()
    [[True, False], [False, True]]
    """

    weights_: Floats
    mean_directions_: Floats
    concentrations_: Floats
    log_likelihood_: Floats
    labels_: NDArray[np.int64]
    n_iter_: int
    converged_: bool
    _layouts: ClassVar = {
        "weights_": "f8[k]", "mean_directions_": "f8[k,n_features_in_]", "concentrations_": "f8[k]",
    }  # fmt: skip
    _not_negative: ClassVar = ("weights_", "concentrations_")

    def __init__(
        self,
        n_components: int = 8,
        *,
        kappa: Kappa = "free",
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        assignment: Assignment = "soft",
        max_kappa: float = vmf.MAX_KAPPA,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kappa = kappa
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.assignment = assignment
        self.max_kappa = max_kappa
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the components from rows, (n, dim), dense or sparse; labels are not looked at."""
        self._check_parameters()
        rows, present = unit_rows(self, X, reset=True)
        if present.sum() < self.n_components:
            n, zeros = len(present), int((~present).sum())
            raise ValueError(
                f"n_components={self.n_components} needs at least as many rows that are not zero; "
                f"found n_samples={n}, of which {zeros} are zero"
            )
        used = rows if present.all() else rows[present]
        rng = check_random_state(self.random_state)
        best: tuple[Mixture, list[float], bool] | None = None
        starts = self.n_init if isinstance(self.init, str) else 1
        with progress("mixture", total=starts * self.max_iter, unit="iterations") as advance:
            for _ in range(starts):
                found = self._climb(used, self._start(used, rng), advance)
                if best is None or found[1][-1] > best[1][-1]:
                    best = found
        assert best is not None
        mixture, trace, self.converged_ = best
        self.weights_, self.concentrations_ = mixture.weights, mixture.kappa
        self.mean_directions_ = np.ascontiguousarray(mixture.directions.T)
        self.log_likelihood_, self.n_iter_ = np.array(trace), len(trace) - 1
        self.labels_ = self._joint(rows).argmax(axis=1)
        if not self.converged_:
            warnings.warn(
                f"MovMF stopped after {self.max_iter} iterations, before the log-likelihood settled to within "
                f"tol={self.tol}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Fit, and return the most likely component of each row, (n,)."""
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most likely component of each row, (n,)."""
        found: NDArray[np.int64] = self._joint(self._rows(X)[0]).argmax(axis=1)
        return found

    def predict_proba(self, X: Any) -> Floats:
        """Return the responsibilities, (n, n_components): how likely each row is of each component."""
        return _responsibilities(self._joint(self._rows(X)[0]))[0]

    def transform(self, X: Any) -> Floats:
        """Return the responsibilities, as `predict_proba` does."""
        return self.predict_proba(X)

    def score_samples(self, X: Any) -> Floats:
        """Return the log-likelihood of each row, (n,); that of a row of zeros is the uniform density's."""
        rows, present = self._rows(X)
        evidence = _responsibilities(self._joint(rows))[1]
        return np.where(present, evidence, -vmf.log_partition(0.0, rows.shape[1]))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of the rows that are not zero."""
        rows, present = self._rows(X)
        if not present.any():
            raise ValueError("every row is zero; a likelihood needs at least one that is not")
        return float(_responsibilities(self._joint(rows[present]))[1].mean())

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion on rows; the lower the better."""
        n = int(self._rows(X)[1].sum())
        return -2.0 * n * self.score(X) + self._n_parameters * float(np.log(n))

    def aic(self, X: Any) -> float:
        """Return Akaike's information criterion on rows; the lower the better."""
        return -2.0 * int(self._rows(X)[1].sum()) * self.score(X) + 2.0 * self._n_parameters

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Floats, NDArray[np.int64]]:
        """Draw unit vectors from the mixture.

        Returns
        -------
        X : (n_samples, dim) array
        components : (n_samples,) int array
            Where each came from.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, not {n_samples!r}")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        components = rng.choice(len(self.weights_), n_samples, p=self.weights_)
        seed = int(rng.randint(2**31))
        drawn = vmf.sample(self.mean_directions_[components], self.concentrations_[components], rng=seed)
        return drawn, components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    @property
    def _n_parameters(self) -> int:
        k, dim = self.mean_directions_.shape
        return int((k - 1) + k * (dim - 1) + (1 if self.kappa == "shared" else k))

    def _rows(self, X: Any) -> tuple[Any, NDArray[np.bool_]]:
        check_is_fitted(self, "mean_directions_")
        return unit_rows(self, X, reset=False)

    def _joint(self, rows: Any) -> Floats:
        """Return `Mixture.log_joint`; for a row of zeros, of which nothing is known, the log-weights alone."""
        mixture = Mixture(self.weights_, np.ascontiguousarray(self.mean_directions_.T), self.concentrations_)
        joint = mixture.log_joint(rows)
        silent = np.asarray(abs(rows).sum(axis=1)).ravel() == 0
        with np.errstate(divide="ignore"):
            joint[silent] = np.log(self.weights_)
        return joint

    def _start(self, rows: Any, rng: np.random.RandomState) -> Mixture:
        """Return equal weights, the first directions, and the concentration of the rows about the nearest of them."""
        k, (n, dim) = self.n_components, rows.shape
        if not isinstance(self.init, str):
            given = np.asarray(self.init, np.float64)
            if given.shape != (k, dim) or not np.isfinite(given).all() or not given.any(axis=1).all():
                raise ValueError(f"init must hold {k} finite directions of {dim} numbers, not an array {given.shape}")
            directions = normalised(np.array(given.T, order="C"))[0]
        else:
            places = spread_seeds(rows, k, rng) if self.init == "k-means++" else rng.choice(n, k, replace=False)
            directions = dense_columns(rows, places)
        nearest = cosines(rows, directions).argmax(axis=1)
        lengths = normalised(weighted_sums(rows, np.eye(k)[nearest]))[1]
        shared = min(vmf.concentration(min(lengths.sum() / n, 1.0), dim), self.max_kappa)
        return Mixture(np.full(k, 1.0 / k), directions, np.full(k, shared))

    def _climb(self, rows: Any, mixture: Mixture, advance: Any) -> tuple[Mixture, list[float], bool]:
        """Return the mixture at a maximum, the log-likelihoods on the way, and whether it got there."""
        resp, evidence = self._e_step(rows, mixture)
        trace = [float(evidence.mean())]
        for _ in range(self.max_iter):
            mixture = self._m_step(rows, resp, evidence)
            resp, evidence = self._e_step(rows, mixture)
            trace.append(float(evidence.mean()))
            advance(1)
            if trace[-1] - trace[-2] <= self.tol:
                return mixture, trace, True
        return mixture, trace, False

    def _e_step(self, rows: Any, mixture: Mixture) -> tuple[Floats, Floats]:
        """Return the responsibilities, (n, k), and the log-likelihood of each row, (n,)."""
        joint = mixture.log_joint(rows)
        if self.assignment == "soft":
            resp, evidence = _responsibilities(joint)
            resp[resp < NEGLIGIBLE] = 0.0
            return resp, evidence
        first = joint.argmax(axis=1)
        resp = np.zeros_like(joint)
        resp[np.arange(len(first)), first] = 1.0
        return resp, joint.max(axis=1)

    def _m_step(self, rows: Any, resp: Floats, evidence: Floats) -> Mixture:
        """Return the most likely mixture given the responsibilities.

        ``w = sum r / n``, ``mu = sum r x / |sum r x|``, ``A(kappa) = |sum r x| / sum r``
        """
        n, dim = rows.shape
        mass = resp.sum(axis=0)
        directions, lengths = normalised(weighted_sums(rows, resp))
        shared = min(vmf.concentration(min(lengths.sum() / n, 1.0), dim), self.max_kappa)
        if self.kappa == "shared":
            kappa = np.full(len(mass), shared)
        else:
            ratios = lengths / np.where(mass > 0, mass, 1.0)
            kappa = np.minimum(vmf.concentration(np.minimum(ratios, 1.0), dim), self.max_kappa)
        mixture = Mixture(mass / n, directions, kappa)
        _revive(mixture, rows, np.flatnonzero(mass == 0), evidence, shared)
        return mixture

    def _check_parameters(self) -> None:
        check_whole(self, "n_components", "n_init", "max_iter")
        check_tol(self)
        check_kappa(self, "max_kappa")
        for name, kinds in (("kappa", get_args(Kappa)), ("assignment", get_args(Assignment))):
            if getattr(self, name) not in kinds:
                raise ValueError(f"{name} must be one of {', '.join(kinds)}, not {getattr(self, name)!r}")
        if isinstance(self.init, str) and self.init not in ("k-means++", "random"):
            raise ValueError(f"init must be 'k-means++', 'random' or an array of directions, not {self.init!r}")


def _responsibilities(joint: Floats) -> tuple[Floats, Floats]:
    """Return the responsibilities, in place of the log-densities (n, k), and each row's log-likelihood, (n,)."""
    top = joint.max(axis=1)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint /= total[:, None]
    return joint, top + np.log(total)


def _revive(mixture: Mixture, rows: Any, empty: NDArray[np.int64], evidence: Floats, kappa: float) -> None:
    """Start components without rows afresh, at the rows explained worst, as long as the likelihood gains by it.

    A new component of weight ``1/n`` at a row lifts that row to at least ``kappa - Phi(kappa) - log n``, and costs
    every row no more than ``-log(1 - 1/n)``, together little over 1.
    """
    n = len(evidence)
    if n < 2:
        return
    peak = kappa - vmf.log_partition(kappa, rows.shape[1]) - np.log(n)
    for component, row in zip(empty, np.argsort(evidence), strict=False):
        if peak - evidence[row] + n * np.log1p(-1.0 / n) <= 0:
            return
        mixture.weights *= 1.0 - 1.0 / n
        mixture.weights[component] = 1.0 / n
        mixture.directions[:, component] = dense_columns(rows, np.array([row]))[:, 0]
        mixture.kappa[component] = kappa
