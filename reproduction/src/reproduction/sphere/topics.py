"""The topics of a spherical admixture: the bound as a function of them, and the steps that raise it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from parasphere import vmf

from .directions import Floats, cosines, unit_columns, weighted_sums


@dataclass(frozen=True)
class Topics:
    """All parameters of the bound but the proportions of the rows."""

    directions: Floats  # (dim, T): mean directions of the topics, one per column
    centre: Floats  # (dim,): mean direction of the topics' centre
    alpha: Floats  # (T,): Dirichlet prior of the proportions
    kappa: float  # concentration of rows about their mixed topics
    xi: float  # concentration of topics about their centre

    @property
    def length(self) -> float:
        """The mean length of a topic, ``A(xi)``."""
        return float(vmf.mean_length(self.xi, len(self.centre)))

    @property
    def gram(self) -> Floats:
        """The cosines between topics, (T, T)."""
        cosines = self.directions.T @ self.directions
        np.fill_diagonal(cosines, 1.0)
        return cosines


@dataclass(frozen=True)
class CentrePrior:
    """Prior of the topics' centre: von Mises-Fisher about ``direction``, (dim,), with a concentration ``k0``."""

    direction: Floats
    concentration: float

    @property
    def length(self) -> float:
        """The mean length of the centre, ``A(k0)``."""
        return float(vmf.mean_length(self.concentration, len(self.direction)))

    def cost(self, topics: Topics) -> float:
        """Return the Kullback-Leibler divergence of the topics and their centre from their priors."""
        apart = topics.directions.shape[1] - self.length * float(topics.centre @ topics.directions.sum(axis=1))
        moved = self.concentration * self.length * (1.0 - float(topics.centre @ self.direction))
        return float(topics.xi * topics.length * apart + moved)

    def centre(self, topics: Topics) -> Floats:
        """Return the centre that maximises the bound, along ``k0 m + A(xi) xi sum phi_t``."""
        total = self.concentration * self.direction + topics.length * topics.xi * topics.directions.sum(axis=1)
        return unit_columns(total[:, None])[0][:, 0]


@dataclass(frozen=True)
class Usage:
    """Statistics of the topics in each row, on which the expected cosines depend, (n,) each."""

    total: Floats  # a0
    squares: Floats  # sum a_t**2
    mixed: Floats  # a'Ga
    along: Floats  # a.c

    @classmethod
    def of(cls, a: Floats, cosine: Floats, gram: Floats) -> "Usage":
        """Compute them from Dirichlet parameters (n, T), cosines with topics (n, T) and between topics (T, T)."""
        dot = "ij,ij->i"
        return cls(a.sum(axis=1), np.einsum(dot, a, a), np.einsum(dot, a @ gram, a), np.einsum(dot, a, cosine))

    def spread(self, length: float) -> Floats:
        """Return ``S``: ``S/(a0 (a0 + 1))`` is the expectation of ``|phi theta|**2``."""
        return np.asarray(self.total + (1.0 - length**2) * self.squares + length**2 * self.mixed)

    def rho(self, length: float) -> Floats:
        """Return the expected cosine of each row with its mixed direction (:mod:`reproduction.sphere.proportions`)."""
        return np.asarray(length * self.along * np.sqrt((self.total + 1.0) / (self.total * self.spread(length))))


def topic_slope(rows: Any, a: Floats, cosine: Floats, topics: Topics, prior: CentrePrior) -> tuple[Floats, Floats]:
    """Return the gradient of the bound in the topics' directions, (dim, T), and the curvature of each, (T,).

    With ``w = sqrt((a0 + 1)/(a0 S))`` per row and ``M = sum_d a.c w/S a a'`` the gradient is
    ``kappa A (X'(w a) - A**2 phi M) + xi A A(k0) m``; it is not yet tangent to the sphere.
    """
    length = topics.length
    usage = Usage.of(a, cosine, topics.gram)
    spread = usage.spread(length)
    scale = np.sqrt((usage.total + 1.0) / (usage.total * spread))
    shared = (a * (usage.along * scale / spread)[:, None]).T @ a
    slope = weighted_sums(rows, a * scale[:, None])
    slope -= length**2 * (topics.directions @ shared)
    slope *= topics.kappa * length
    slope += (topics.xi * length * prior.length * topics.centre)[:, None]
    own = topics.kappa * length**3 * np.diag(shared)
    radial = np.einsum("ij,ij->j", slope, topics.directions)
    return slope, np.maximum(radial + own, 0.1 * own + 1e-12 * topics.kappa)


def move_topics(rows: Any, a: Floats, cosine: Floats, topics: Topics, prior: CentrePrior) -> tuple[Topics, Floats]:
    """Return topics after one gradient step on the sphere, and the cosines of the rows with them.

    The full step moves each topic to its optimum given all other topics and lengths. It is shortened until the bound
    has risen. Before normalisation cosines are linear in the step, so that shortening it needs no product with rows.
    """
    slope, curvature = topic_slope(rows, a, cosine, topics, prior)
    slope -= topics.directions * np.einsum("ij,ij->j", slope, topics.directions)
    way = slope / curvature
    promise = float(np.einsum("ij,ij->", slope, way))
    turned = cosines(rows, way)
    gram, cross, squares = topics.gram, topics.directions.T @ way, way.T @ way
    pull = topics.xi * topics.length * prior.length
    along, along_way = topics.centre @ topics.directions, topics.centre @ way

    def at(step: float) -> tuple[float, Floats, Floats]:
        norms = np.sqrt(1.0 + step**2 * np.diag(squares))
        there = (cosine + step * turned) / norms
        between = (gram + step * (cross + cross.T) + step**2 * squares) / np.outer(norms, norms)
        rho = Usage.of(a, there, between).rho(topics.length)
        return topics.kappa * float(rho.sum()) + pull * float(((along + step * along_way) / norms).sum()), there, norms

    before, step = at(0.0)[0], 1.0
    while step > 1e-6:
        value, there, norms = at(step)
        if value >= before + 1e-4 * step * promise:
            return replace(topics, directions=(topics.directions + step * way) / norms), there
        step *= 0.5
    return topics, cosine


def best_xi(topics: Topics, prior: CentrePrior, usage: Usage) -> float:
    """Return the concentration of the topics that maximises the bound, within a factor of ten of the last."""
    dim = len(topics.centre)

    def cost(log_xi: float) -> float:
        xi = float(np.exp(log_xi))
        length = float(vmf.mean_length(xi, dim))
        return prior.cost(replace(topics, xi=xi)) - topics.kappa * float(usage.rho(length).sum())

    here = float(np.log(topics.xi))
    ceiling = float(np.log(vmf.MAX_KAPPA))
    result = minimize_scalar(
        cost, bounds=(here - 2.3, min(here + 2.3, ceiling)), method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(result.x)) if result.fun < cost(here) else topics.xi
