"""Mixtures of von Mises-Fisher distributions: soft clusters of unit vectors (Banerjee et al., 2005)."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..parameters import ARRAY_LIKE, RANDOM_STATE, VERBOSE, Constraints, check_parameters, number, one_of
from ..progress import progress
from ..storage import Saved
from . import vmf
from .directions import Floats, cosines, dense_columns, spread_seeds, unit_columns, validated_rows, weighted_sums

NEGLIGIBLE = 1e-30  # smaller responsibilities change no sum and are set to 0, which saves time


@dataclass
class Components:
    """Weights, directions and concentrations of the components of a mixture."""

    weights: Floats  # (k,), summing to 1; 0 for a component without rows
    directions: Floats  # (dim, k): one per column, so that products with sparse rows read contiguous memory
    kappa: Floats  # (k,)

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


class MovMF(Saved, ClusterMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Mixture of von Mises-Fisher distributions, by expectation maximisation.

    A unit vector belongs to component ``j`` with probability ``w_j`` and then has the density
    ``exp(kappa_j mu_j.x - Phi(kappa_j))``. It is to directions what a Gaussian mixture is to points.

    Parameters
    ----------
    n_components : int, default=8
        Number of components.
    kappa : {"free", "shared"}, default="free"
        One concentration per component, or one for all.
    init : {"k-means++", "random"} or (n_components, dim) array, default="k-means++"
        Initial mean directions: rows far from each other, rows drawn at random, or the array (of any lengths).
    n_init : int, default=1
        Number of starts; the one with the highest likelihood is kept. There is one start if ``init`` is an array.
    max_iter : int, default=200
        Maximum number of iterations per start.
    tol : float, default=1e-4
        Stop when the mean log-likelihood per row rises by no more than this, in nats.
    assignment : {"soft", "hard"}, default="soft"
        "hard" assigns each row to its most likely component while fitting, and maximises the likelihood of rows and
        components together; with ``kappa="shared"`` that is spherical k-means with mixing weights.
    max_kappa : float, default=1e8
        Largest concentration. See Notes.
    random_state : int, RandomState or None, default=None
        Seeds the initial directions and :meth:`sample`.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    weights_ : (n_components,) array
        Mixing weights.
    mean_directions_ : (n_components, dim) array
        Mean direction of each component.
    concentrations_ : (n_components,) array
        Concentration of each component.
    n_parameters_ : int
        Number of free parameters.
    log_likelihood_ : (n_iter_ + 1,) array
        Mean log-likelihood per row, at the start and after each iteration; it never falls.
    labels_ : (n,) int array
        Most likely component of each training row.
    n_iter_ : int
        Number of iterations of the best start.
    converged_ : bool
        Whether the best start stopped by ``tol``.
    n_features_in_ : int
        Number of columns of the training rows.

    Notes
    -----
    Rows are scaled to unit length. A row of zeros has no direction: it is left out of the fit, its responsibilities are
    the mixing weights, and its log-likelihood is that of a uniform direction.

    The likelihood of a component that holds a single row, or equal ones, is unbounded: its concentration goes to
    ``max_kappa``. In tens of thousands of dimensions concentrations are in the thousands and responsibilities are
    nearly 0 or 1. A smaller ``max_kappa`` keeps components wide and responsibilities soft; the likelihood is then
    maximised under that limit.

    A component that has lost all its rows restarts at the row with the lowest likelihood, with the concentration common
    to all, if that raises the likelihood; otherwise its weight stays 0.

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
    n_parameters_: int
    log_likelihood_: Floats
    labels_: NDArray[np.int64]
    n_iter_: int
    converged_: bool

    _parameters: ClassVar[Constraints] = {
        "n_components": number(int, 1), "kappa": one_of("free", "shared"), "n_init": number(int, 1),
        "init": one_of("k-means++", "random") | ARRAY_LIKE, "assignment": one_of("soft", "hard"),
        "max_iter": number(int, 1), "tol": number(float, 0), "max_kappa": number(float, 0, vmf.MAX_KAPPA, "right"),
        "random_state": RANDOM_STATE, "verbose": VERBOSE,
    }  # fmt: skip
    _layouts: ClassVar = {
        "weights_": "f8[k]", "mean_directions_": "f8[k,n_features_in_]", "concentrations_": "f8[k]",
    }  # fmt: skip
    _not_negative: ClassVar = ("weights_", "concentrations_")

    def __init__(
        self,
        n_components: int = 8,
        *,
        kappa: Literal["free", "shared"] = "free",
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 200,
        tol: float = 1e-4,
        assignment: Literal["soft", "hard"] = "soft",
        max_kappa: float = vmf.MAX_KAPPA,
        random_state: Any = None,
        verbose: bool = False,
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
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Fit the mixture.

        Parameters
        ----------
        X : (n, dim) array or sparse matrix
        y : ignored
        """
        check_parameters(self)
        rows, present = validated_rows(self, X, reset=True)
        if present.sum() < self.n_components:
            raise ValueError(
                f"n_components={self.n_components} needs at least as many rows that are not zero; "
                f"found n_samples={len(present)}, of which {int((~present).sum())} are zero"
            )
        used = rows if present.all() else rows[present]
        rng = check_random_state(self.random_state)
        starts = self.n_init if isinstance(self.init, str) else 1
        with progress("mixture", total=starts * self.max_iter, unit="iterations", shown=bool(self.verbose)) as advance:
            climbs = (self._climb(used, self._start(used, rng), advance) for _ in range(starts))
            mixture, trace, self.converged_ = max(climbs, key=lambda climb: climb[1][-1])
        self.weights_, self.concentrations_ = mixture.weights, mixture.kappa
        self.mean_directions_ = np.ascontiguousarray(mixture.directions.T)
        self.log_likelihood_, self.n_iter_ = np.array(trace), len(trace) - 1
        self.labels_ = self._joint(rows).argmax(axis=1)
        k, dim = self.mean_directions_.shape
        self.n_parameters_ = (k - 1) + k * (dim - 1) + (1 if self.kappa == "shared" else k)
        if not self.converged_:
            warnings.warn(
                f"MovMF stopped after max_iter={self.max_iter} iterations, before the log-likelihood rose by less than "
                f"tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the most likely component of each row, (n,)."""
        return np.asarray(self._joint(self._rows(X)[0]).argmax(axis=1))

    def predict_proba(self, X: Any) -> Floats:
        """Return the responsibilities, (n, n_components): the probability of each component given each row."""
        return responsibilities(self._joint(self._rows(X)[0]))[0]

    def transform(self, X: Any) -> Floats:
        """Return the responsibilities, as :meth:`predict_proba` does."""
        return self.predict_proba(X)

    def score_samples(self, X: Any) -> Floats:
        """Return the log-likelihood of each row, (n,); for a row of zeros, that of the uniform density."""
        rows, present = self._rows(X)
        evidence = responsibilities(self._joint(rows))[1]
        return np.where(present, evidence, -vmf.log_partition(0.0, rows.shape[1]))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-likelihood of the rows that are not zero."""
        rows, present = self._rows(X)
        if not present.any():
            raise ValueError("every row is zero; a likelihood needs at least one that is not")
        return float(responsibilities(self._joint(rows[present]))[1].mean())

    def bic(self, X: Any) -> float:
        """Return the Bayesian information criterion; lower is better."""
        n = int(self._rows(X)[1].sum())
        return -2.0 * n * self.score(X) + self.n_parameters_ * float(np.log(n))

    def aic(self, X: Any) -> float:
        """Return the Akaike information criterion; lower is better."""
        return -2.0 * int(self._rows(X)[1].sum()) * self.score(X) + 2.0 * self.n_parameters_

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Floats, NDArray[np.int64]]:
        """Draw unit vectors from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState or None, default=None
            None is the random state of the estimator.

        Returns
        -------
        X : (n_samples, dim) array
        components : (n_samples,) int array
            The component of each draw.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise ValueError(f"n_samples must be at least 1, not {n_samples!r}")
        rng = check_random_state(self.random_state if random_state is None else random_state)
        components = rng.choice(len(self.weights_), n_samples, p=self.weights_)
        seed = int(rng.randint(2**31))
        drawn = vmf.sample(self.mean_directions_[components], self.concentrations_[components], rng=seed)
        return drawn, components

    @property
    def _n_features_out(self) -> int:
        return len(self.weights_)

    def _check_parameters(self) -> None:
        check_parameters(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _rows(self, X: Any) -> tuple[Any, NDArray[np.bool_]]:
        check_is_fitted(self)
        return validated_rows(self, X, reset=False)

    def _joint(self, rows: Any) -> Floats:
        """Return :meth:`Components.log_joint`, (n, k); for a row of zeros, the log-weights alone."""
        mixture = Components(self.weights_, np.ascontiguousarray(self.mean_directions_.T), self.concentrations_)
        joint = mixture.log_joint(rows)
        zeros = np.asarray(abs(rows).sum(axis=1)).ravel() == 0
        with np.errstate(divide="ignore"):
            joint[zeros] = np.log(self.weights_)
        return joint

    def _start(self, rows: Any, rng: np.random.RandomState) -> Components:
        """Return equal weights, the initial directions, and the concentration of the rows about the nearest of them."""
        k, (n, dim) = self.n_components, rows.shape
        if not isinstance(self.init, str):
            init = np.asarray(self.init, np.float64)
            if init.shape != (k, dim) or not np.isfinite(init).all() or not init.any(axis=1).all():
                raise ValueError(f"init must hold {k} finite directions of {dim} numbers, not an array {init.shape}")
            directions = unit_columns(np.array(init.T, order="C"))[0]
        else:
            seeds = spread_seeds(rows, k, rng) if self.init == "k-means++" else rng.choice(n, k, replace=False)
            directions = dense_columns(rows, seeds)
        nearest = cosines(rows, directions).argmax(axis=1)
        lengths = unit_columns(weighted_sums(rows, np.eye(k)[nearest]))[1]
        shared = min(vmf.concentration(min(lengths.sum() / n, 1.0), dim), self.max_kappa)
        return Components(np.full(k, 1.0 / k), directions, np.full(k, shared))

    def _climb(self, rows: Any, mixture: Components, advance: Any) -> tuple[Components, list[float], bool]:
        """Return the mixture after EM, the log-likelihoods of all iterations, and whether it converged."""
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

    def _e_step(self, rows: Any, mixture: Components) -> tuple[Floats, Floats]:
        """Return the responsibilities, (n, k), and the log-likelihood of each row, (n,)."""
        joint = mixture.log_joint(rows)
        if self.assignment == "soft":
            resp, evidence = responsibilities(joint)
            resp[resp < NEGLIGIBLE] = 0.0
            return resp, evidence
        first = joint.argmax(axis=1)
        resp = np.zeros_like(joint)
        resp[np.arange(len(first)), first] = 1.0
        return resp, joint.max(axis=1)

    def _m_step(self, rows: Any, resp: Floats, evidence: Floats) -> Components:
        """Return the most likely mixture given the responsibilities.

        ``w = sum r / n``, ``mu = sum r x / |sum r x|``, ``A(kappa) = |sum r x| / sum r``
        """
        n, dim = rows.shape
        mass = resp.sum(axis=0)
        directions, lengths = unit_columns(weighted_sums(rows, resp))
        shared = min(vmf.concentration(min(lengths.sum() / n, 1.0), dim), self.max_kappa)
        if self.kappa == "shared":
            kappa = np.full(len(mass), shared)
        else:
            ratios = lengths / np.where(mass > 0, mass, 1.0)
            kappa = np.minimum(vmf.concentration(np.minimum(ratios, 1.0), dim), self.max_kappa)
        mixture = Components(mass / n, directions, kappa)
        revive(mixture, rows, np.flatnonzero(mass == 0), evidence, shared)
        return mixture


def responsibilities(joint: Floats) -> tuple[Floats, Floats]:
    """Overwrite log-densities (n, k) with responsibilities; return these and the log-likelihood of each row, (n,)."""
    top = joint.max(axis=1)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint /= total[:, None]
    return joint, top + np.log(total)


def revive(mixture: Components, rows: Any, empty: NDArray[np.int64], evidence: Floats, kappa: float) -> None:
    """Restart components without rows at the rows of lowest likelihood, as long as that raises the likelihood.

    A new component of weight ``1/n`` at a row raises that row to at least ``kappa - Phi(kappa) - log n``, and lowers
    every row by no more than ``-log(1 - 1/n)``, in total little over 1.
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
