"""Posteriors: the directions of documents, and their certainty."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from .._kernels import map_shifted_rows, posteriors
from ..sphere import vmf
from ..sphere.bessel import apply, order_of
from ..sphere.rows import unit_rows
from . import equations
from .bags import Bags
from .equations import KernelPrior, Prior

Floats = NDArray[np.float64]
Space: TypeAlias = Literal["offset", "direction"]
_SPACES = get_args(Space)

ROWS = 2048  # documents whose vectors are computed at a time, so that intermediate results stay in the CPU cache


@dataclass(frozen=True)
class Posterior:
    """The posterior of each document given its words.

    Attributes
    ----------
    direction : (n_docs, dim) array
        mu', the vector of the document on the unit sphere.
    concentration : (n_docs,) array
        kappa', the certainty of that direction.
    word_concentration : (n_docs,) array
        kappa_n, how close the words of the document are to its direction.
    length : (n_docs,) array
        Number of known words; their total weight if they are weighted.
    unknown : (n_docs,) array
        Number of words without a vector.
    prior : Prior
        The prior of the model.
    whitening : (dim, dim) array, default=None
        The metric of :attr:`offset` (:class:`parasphere.model.Scatter`); None is the ordinary one.
    """

    direction: NDArray[Any]
    concentration: Floats
    word_concentration: Floats
    length: Floats
    unknown: NDArray[np.int64]
    prior: Prior
    whitening: Floats | None = field(default=None, repr=False)

    @cached_property
    def mean_length(self) -> Floats:
        """|E[d]|, (n_docs,): 0 if nothing is known of the direction, 1 if it is certain."""
        return np.asarray(apply("mean_length", self.concentration, order_of(self.direction.shape[1])))

    @property
    def mean(self) -> NDArray[Any]:
        """E[d], (n_docs, dim): the direction times :attr:`mean_length`."""
        return (self.direction * self.mean_length[:, None]).astype(self.direction.dtype)

    @property
    def parameter(self) -> Floats:
        """eta, (n_docs, dim): the direction times the concentration."""
        return self.direction.astype(np.float64) * self.concentration[:, None]

    @cached_property
    def log_likelihood(self) -> Floats:
        """Log-density of the words of each document given ``word_concentration``, (n_docs,).

        As that concentration is fitted to the same words, this is a profile likelihood: it does not integrate to 1
        over all texts, except with ``prior_strength=inf``.
        """
        dim = self.direction.shape[1]
        evidence = equations.evidence(self.length, self.word_concentration, self.concentration, self.prior, dim)
        return np.asarray(evidence)

    @cached_property
    def offset(self) -> NDArray[Any]:
        """``W (E[d | text] - E[d])``, (n_docs, dim): what each text adds to the corpus, for comparing texts.

        It is 0 for a text without known words, and longer for more informative texts
        (:mod:`parasphere.model.comparing`).
        """
        result = np.empty_like(self.direction)
        common = _mean_length(float(self.prior.concentration), self.direction.shape[1]) * self.prior.mean_direction
        map_shifted_rows(self.direction, self.mean_length, common, self.whitening, self._says_nothing, result)
        return result

    @cached_property
    def information(self) -> Floats:
        """How much each text tells about its direction, (n_docs,), in nats: 0 for an empty text.

        It is the Kullback-Leibler divergence of the posterior from the prior.
        """
        dim = self.direction.shape[1]
        change = self.parameter - self.prior.concentration * self.prior.mean_direction
        gained = np.einsum("ij,ij->i", change, self.direction.astype(np.float64)) * self.mean_length
        normalisers = vmf.log_partition(self.concentration, dim) - vmf.log_partition(self.prior.concentration, dim)
        return np.where(self._says_nothing, 0.0, np.maximum(gained - normalisers, 0.0))

    def vectors(self, space: Space) -> NDArray[Any]:
        """Return the unit vectors of a space, (n_docs, dim): directions, or directions of offsets (0 for offset 0)."""
        check_space(space)
        return self.direction if space == "direction" else unit_rows(self.offset)

    def in_metric(self, rows: Floats) -> Floats:
        """Return rows times the metric of the offsets: (n, dim) -> (n, dim)."""
        return mapped(rows, self.whitening)

    @property
    def _says_nothing(self) -> NDArray[np.bool_]:
        return np.asarray(self.length * self.word_concentration == 0)

    def __len__(self) -> int:
        return len(self.direction)


def posterior_of(bags: Bags, prior: Prior, whitening: Floats | None = None) -> Posterior:
    """Return the posterior of each document."""
    sums, n_docs = np.ascontiguousarray(bags.sums), len(bags)
    direction, kappa, concentration = np.empty_like(sums), np.empty(n_docs), np.empty(n_docs)
    numbers, mean = KernelPrior.of(prior, bags.dim), np.ascontiguousarray(prior.mean_direction)
    posteriors(sums, bags.possible_norms, bags.lengths, mean, numbers, kappa, concentration, direction)
    return Posterior(direction, concentration, kappa, bags.lengths, bags.unknown, prior, whitening)


def vectors_of(bags: Bags, prior: Prior, whitening: Floats | None, space: Space) -> NDArray[Any]:
    """Return the vectors of documents in a space, (n_docs, dim), with little additional memory."""
    if len(bags) <= ROWS:
        return posterior_of(bags, prior, whitening).vectors(space)
    vectors = np.empty_like(bags.sums)
    for begin in range(0, len(bags), ROWS):
        part = slice(begin, begin + ROWS)
        vectors[part] = posterior_of(bags[part], prior, whitening).vectors(space)
    return vectors


def check_space(space: str) -> None:
    """Raise unless this is the name of a space."""
    if space not in _SPACES:
        raise ValueError(f"space must be 'offset' or 'direction', not {space!r}")


@lru_cache(maxsize=64)
def _mean_length(concentration: float, dim: int) -> float:
    """Return the mean length of one concentration; cached, as a prior always has the same."""
    return float(vmf.mean_length(concentration, dim))


def mapped(rows: Floats, whitening: Floats | None) -> Floats:
    """Return rows times the whitening."""
    if whitening is None:
        return rows
    n_rows, width = rows.shape
    result = np.empty(rows.shape)
    map_shifted_rows(
        np.ascontiguousarray(rows), np.ones(n_rows), np.zeros(width), whitening, np.zeros(n_rows, bool), result
    )
    return result
