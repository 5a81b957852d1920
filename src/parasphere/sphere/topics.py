"""The topics of a spherical admixture: the bound as a function of them, and the steps that climb it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from . import vmf
from .directions import Floats, cosines, normalised, weighted_sums


@dataclass(frozen=True)
class Topics:
    """All that the bound depends on but the texts' proportions.

    Attributes
    ----------
    directions : (dim, T) array
        Mean directions of the topics, one a column.
    centre : (dim,) array
        Mean direction of what the topics scatter about.
    alpha : (T,) array
        The proportions' Dirichlet prior.
    kappa, xi : float
        Concentrations of texts about their mixed topics, and of topics about their centre.
    """

    directions: Floats
    centre: Floats
    alpha: Floats
    kappa: float
    xi: float

    @property
    def length(self) -> float:
        """The mean length of a topic, ``A(xi)``."""
        return float(vmf.mean_length(self.xi, len(self.centre)))

    @property
    def gram(self) -> Floats:
        """The cosines between topics, (T, T)."""
        found = self.directions.T @ self.directions
        np.fill_diagonal(found, 1.0)
        return found


@dataclass(frozen=True)
class Prior:
    """What topics are expected to look like: their centre is drawn about ``direction`` with this concentration."""

    direction: Floats
    concentration: float

    @property
    def length(self) -> float:
        """The mean length of the centre, ``A(k0)``."""
        return float(vmf.mean_length(self.concentration, len(self.direction)))

    def cost(self, topics: Topics) -> float:
        """Return the divergence of the topics and their centre from what was expected of them."""
        apart = topics.directions.shape[1] - self.length * float(topics.centre @ topics.directions.sum(axis=1))
        moved = self.concentration * self.length * (1.0 - float(topics.centre @ self.direction))
        return float(topics.xi * topics.length * apart + moved)

    def centre(self, topics: Topics) -> Floats:
        """Return the best centre, along ``k0 m + A(xi) xi sum phi_t``."""
        total = self.concentration * self.direction + topics.length * topics.xi * topics.directions.sum(axis=1)
        return normalised(total[:, None])[0][:, 0]


@dataclass(frozen=True)
class Uses:
    """How texts use topics: all that the expected cosines depend on, (n,) each.

    Attributes
    ----------
    total : ``a0``
    squares : ``sum a_t**2``
    mixed : ``a'Ga``
    along : ``a.c``
    """

    total: Floats
    squares: Floats
    mixed: Floats
    along: Floats

    @classmethod
    def of(cls, a: Floats, cosine: Floats, gram: Floats) -> "Uses":
        """Sum up proportions (n, T), cosines with topics (n, T) and cosines between topics (T, T)."""
        dot = "ij,ij->i"
        return cls(a.sum(axis=1), np.einsum(dot, a, a), np.einsum(dot, a @ gram, a), np.einsum(dot, a, cosine))

    def spread(self, length: float) -> Floats:
        """Return ``S``: ``S/(a0 (a0 + 1))`` is the expectation of ``|phi theta|**2``."""
        found: Floats = self.total + (1.0 - length**2) * self.squares + length**2 * self.mixed
        return found

    def rho(self, length: float) -> Floats:
        """Return the expected cosine of each text with its mixed direction, as in `parasphere.sphere.proportions`."""
        found: Floats = length * self.along * np.sqrt((self.total + 1.0) / (self.total * self.spread(length)))
        return found


def topic_slope(rows: Any, a: Floats, cosine: Floats, topics: Topics, prior: Prior) -> tuple[Floats, Floats]:
    """Return the gradient of the bound in the topics' directions, (dim, T), and the curvature of each, (T,).

    With ``w = sqrt((a0 + 1)/(a0 S))`` of each text and ``M = sum_d a.c w/S a a'`` the gradient is
    ``kappa A (X'(w a) - A**2 phi M) + xi A A(k0) m``; it is not yet tangent to the sphere.
    """
    length = topics.length
    uses = Uses.of(a, cosine, topics.gram)
    spread = uses.spread(length)
    scale = np.sqrt((uses.total + 1.0) / (uses.total * spread))
    shared = (a * (uses.along * scale / spread)[:, None]).T @ a
    slope = weighted_sums(rows, a * scale[:, None])
    slope -= length**2 * (topics.directions @ shared)
    slope *= topics.kappa * length
    slope += (topics.xi * length * prior.length * topics.centre)[:, None]
    own = topics.kappa * length**3 * np.diag(shared)
    radial = np.einsum("ij,ij->j", slope, topics.directions)
    return slope, np.maximum(radial + own, 0.1 * own + 1e-12 * topics.kappa)


def move_topics(rows: Any, a: Floats, cosine: Floats, topics: Topics, prior: Prior) -> tuple[Topics, Floats]:
    """Return topics after one step uphill on the sphere, and the texts' cosines with them.

    The full step takes each topic to the best place were all other topics and all lengths fixed. It is shortened until
    the bound has risen. Cosines are linear in the step, so that a shorter one costs no product with the texts.
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
        rho = Uses.of(a, there, between).rho(topics.length)
        return topics.kappa * float(rho.sum()) + pull * float(((along + step * along_way) / norms).sum()), there, norms

    before, step = at(0.0)[0], 1.0
    while step > 1e-6:
        value, there, norms = at(step)
        if value >= before + 1e-4 * step * promise:
            return replace(topics, directions=(topics.directions + step * way) / norms), there
        step *= 0.5
    return topics, cosine


def best_xi(topics: Topics, prior: Prior, uses: Uses) -> float:
    """Return the concentration of the topics at which the bound is highest, within a factor of ten of the last."""
    dim = len(topics.centre)

    def cost(log_xi: float) -> float:
        xi = float(np.exp(log_xi))
        length = float(vmf.mean_length(xi, dim))
        return prior.cost(replace(topics, xi=xi)) - topics.kappa * float(uses.rho(length).sum())

    here = float(np.log(topics.xi))
    ceiling = float(np.log(vmf.MAX_KAPPA))
    found = minimize_scalar(
        cost, bounds=(here - 2.3, min(here + 2.3, ceiling)), method="bounded", options={"xatol": 1e-4}
    )
    return float(np.exp(found.x)) if found.fun < cost(here) else topics.xi
