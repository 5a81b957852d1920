"""The spherical admixture model: rows as mixtures of topics, both unit vectors (Reisinger et al., 2010)."""

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from parasphere import vmf
from parasphere.parameters import NONE, RANDOM_STATE, VERBOSE, Constraints, check_parameters, number
from parasphere.storage import Saved

from ..progress import progress
from .directions import (
    Floats,
    cosines,
    dense_columns,
    spread_seeds,
    unit_columns,
    validated_rows,
    weighted_sums,
)
from .proportions import expected_logs, fit_dirichlet, settle
from .topics import CentrePrior, Topics, Usage, best_xi, move_topics

MIN_ALPHA = 1e-3  # smaller values of alpha make expected logarithms meaningless
START_LENGTH = 0.95  # initial mean length of a topic
FIT_STEPS, FIT_TOL = 8, 1e-2  # of the proportions in each iteration of fit; they continue from the last ones
FINAL_STEPS, FINAL_TOL = 300, 1e-6  # of the proportions in transform
START_STEPS = 8  # iterations of spherical k-means that the topics start from
AT_ONCE = 1000  # rows that are transformed between two updates of the progress bar


class SphericalAdmixture(Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Spherical admixture model (SAM): each row is a mixture of topics; rows and topics are unit vectors.

    The generative model: a centre ``mu ~ vMF(m, k0)``; topics ``phi_t ~ vMF(mu, xi)``; for each row proportions
    ``theta ~ Dirichlet(alpha)`` and the row itself ``v ~ vMF(phi theta / |phi theta|, kappa)``.

    Parameters
    ----------
    n_topics : int, default=10
        Number of topics.
    prior_concentration : float, default=None
        ``k0``: how close the topics' centre is to the mean direction of the rows. None is the dimension.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=0.1
        Stop when the bound per row rises by no more than this, in nats.
    random_state : int, RandomState or None, default=None
        Seeds the initial topics.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    topics_ : (n_topics, dim) array
        Mean directions of the topics; their entries may be negative.
    alpha_ : (n_topics,) array
        Dirichlet prior of the proportions.
    kappa_, xi_ : float
        Concentrations of rows about their mixed topics, and of topics about their centre.
    centre_ : (dim,) array
        Mean direction of the topics' centre.
    bound_ : (n_iter_ + 1,) array
        Lower bound of the mean log-likelihood per row, at the start and after each iteration; it never falls.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether it stopped by ``tol``.
    n_features_in_ : int
        Number of columns of the training rows.

    Notes
    -----
    Rows, such as weighted word counts, are dense or sparse and are scaled to unit length. A row of zeros is left out of
    the fit, and its proportions are those of the prior, ``alpha / sum(alpha)``.

    Inference is variational: ``mu``, ``phi_t`` and ``theta`` are independent, von Mises-Fisher with concentrations
    ``k0`` and ``xi``, and Dirichlet. One expectation has no closed form, the cosine of a row with its mixed direction.
    It is approximated as described in :mod:`reproduction.sphere.proportions`, so that the bound holds to within that
    approximation. Topics take Riemannian gradient steps and proportions L-BFGS steps, each of which raises the bound.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[3, 2, 0, 0], [2, 3, 0, 0], [0, 0, 2, 3], [0, 0, 3, 2], [1, 1, 1, 1]] * 4)
    >>> model = SphericalAdmixture(n_topics=2, random_state=0).fit(X)
    >>> pure, mixed = model.transform([[1, 1, 0, 0], [5, 5, 5, 5]])
    >>> bool(pure.max() > 0.8), bool(abs(mixed[0] - 0.5) < 0.1)
    (True, True)
    """

    topics_: Floats
    alpha_: Floats
    kappa_: float
    xi_: float
    centre_: Floats
    bound_: Floats
    n_iter_: int
    converged_: bool

    _parameters: ClassVar[Constraints] = {
        "n_topics": number(int, 1), "prior_concentration": number(float, 0, vmf.MAX_KAPPA, "right") | NONE,
        "max_iter": number(int, 1), "tol": number(float, 0), "random_state": RANDOM_STATE, "verbose": VERBOSE,
    }  # fmt: skip
    _layouts: ClassVar = {
        "topics_": "f8[topics,n_features_in_]", "alpha_": "f8[topics]", "centre_": "f8[n_features_in_]",
    }  # fmt: skip
    _positive: ClassVar = ("alpha_", "kappa_", "xi_")

    def __init__(
        self,
        n_topics: int = 10,
        *,
        prior_concentration: float | None = None,
        max_iter: int = 100,
        tol: float = 0.1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_topics = n_topics
        self.prior_concentration = prior_concentration
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the topics.

        Parameters
        ----------
        X : (n, dim) array or sparse matrix
        y : ignored
        """
        check_parameters(self)
        rows, present = validated_rows(self, X, reset=True)
        if present.sum() < self.n_topics:
            raise ValueError(
                f"n_topics={self.n_topics} needs at least as many rows that are not zero; "
                f"found n_samples={len(present)}, of which {int((~present).sum())} are zero"
            )
        rows = rows if present.all() else rows[present]
        n, dim = rows.shape
        mean = unit_columns(np.asarray(rows.sum(axis=0)).reshape(-1, 1))[0][:, 0]
        prior = CentrePrior(mean, float(self.prior_concentration or dim))
        topics = self._start(rows, mean)
        cosine = cosines(rows, topics.directions)
        a, values = _first_guess(cosine, topics.alpha), np.empty(n)
        trace: list[float] = []
        self.converged_ = False
        with progress("admixture", total=self.max_iter, shown=bool(self.verbose)) as advance:
            for iteration in range(self.max_iter + 1):
                gram = topics.gram
                settle(cosine, gram, topics.alpha, topics.kappa, topics.length, a, values, FIT_STEPS, FIT_TOL)
                bound = values.mean() - vmf.log_partition(topics.kappa, dim) - prior.cost(topics) / n
                trace.append(float(bound))
                self.converged_ = iteration > 0 and trace[-1] - trace[-2] <= self.tol
                if self.converged_ or iteration == self.max_iter:
                    break
                topics, cosine = move_topics(rows, a, cosine, topics, prior)
                topics = _settled(topics, prior, a, cosine)
                advance(1)
        self.topics_ = np.ascontiguousarray(topics.directions.T)
        self.alpha_, self.kappa_, self.xi_, self.centre_ = topics.alpha, topics.kappa, topics.xi, topics.centre
        self.bound_, self.n_iter_ = np.array(trace), len(trace) - 1
        if not self.converged_:
            warnings.warn(
                f"SphericalAdmixture stopped after max_iter={self.max_iter} iterations, before the bound rose by less "
                f"than tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def transform(self, X: Any) -> Floats:
        """Return the expected proportions of each row, (n, n_topics), each summing to 1."""
        check_is_fitted(self)
        rows, _ = validated_rows(self, X, reset=False)
        alpha = np.array(self.alpha_)  # a copy: a read-only array would be another type to compile for
        topics = Topics(np.ascontiguousarray(self.topics_.T), self.centre_, alpha, self.kappa_, self.xi_)
        cosine = cosines(rows, topics.directions)
        a = _first_guess(cosine, topics.alpha)
        values = np.empty(len(a))
        with progress("proportions", total=len(a), shown=bool(self.verbose)) as advance:
            for begin in range(0, len(a), AT_ONCE):
                part = slice(begin, begin + AT_ONCE)
                some = (cosine[part], topics.gram, topics.alpha, topics.kappa, topics.length, a[part], values[part])
                settle(*some, FINAL_STEPS, FINAL_TOL)
                advance(len(a[part]))
        return np.asarray(a / a.sum(axis=1, keepdims=True))

    @property
    def _n_features_out(self) -> int:
        return len(self.topics_)

    def _check_parameters(self) -> None:
        check_parameters(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _start(self, rows: Any, mean: Floats) -> Topics:
        """Return topics at the centres of a few iterations of spherical k-means."""
        dim = rows.shape[1]
        rng = check_random_state(self.random_state)
        directions = dense_columns(rows, spread_seeds(rows, self.n_topics, rng))
        for _ in range(START_STEPS):
            cosine = cosines(rows, directions)
            nearest = np.eye(self.n_topics)[cosine.argmax(axis=1)]
            sums, lengths = unit_columns(weighted_sums(rows, nearest))
            directions = np.where(lengths > 0, sums, directions)
        kappa = vmf.concentration(float(np.clip(cosine.max(axis=1).mean(), 0.0, 1.0)), dim)
        xi = vmf.concentration(START_LENGTH, dim)
        return Topics(directions, mean, np.full(self.n_topics, 1.0 / self.n_topics), kappa, xi)


def _first_guess(cosine: Floats, alpha: Floats) -> Floats:
    """Return initial Dirichlet parameters, (n, T): the prior plus T counts, shared by squared cosine."""
    likely = np.maximum(cosine, 0.0) ** 2
    share = likely / np.maximum(likely.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(alpha + len(alpha) * share)


def _settled(topics: Topics, prior: CentrePrior, a: Floats, cosine: Floats) -> Topics:
    """Return topics with the best centre, concentrations and Dirichlet prior for the proportions."""
    usage = Usage.of(a, cosine, topics.gram)
    topics = replace(topics, xi=best_xi(topics, prior, usage))
    topics = replace(topics, centre=prior.centre(topics))
    rho = float(np.clip(usage.rho(topics.length).mean(), 0.0, 1.0))
    alpha = fit_dirichlet(topics.alpha, expected_logs(a).mean(axis=0), MIN_ALPHA)
    return replace(topics, kappa=vmf.concentration(rho, len(topics.centre)), alpha=alpha)
