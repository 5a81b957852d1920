"""Posteriors: the directions of documents, and how certain they are."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from .._kernels import map_shifted_rows, unit_combinations
from ..sphere import vmf
from . import equations
from .bags import Bags
from .equations import Prior
from .solver import numbers_of, unit_offsets

Floats = NDArray[np.float64]
Space: TypeAlias = Literal["offset", "direction"]


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
    log_likelihood : (n_docs,) array
        Log-density of the words given ``word_concentration``. As that is fitted to the same words, it is a profile
        likelihood: it does not integrate to 1 over all texts, except with ``prior_strength=inf``.
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
    log_likelihood: Floats
    prior: Prior
    whitening: Floats | None = field(default=None, repr=False)

    @property
    def mean_length(self) -> Floats:
        """|E[d]|, (n_docs,): 0 if nothing is known of the direction, 1 if it is certain."""
        return np.asarray(vmf.mean_length(self.concentration, self.direction.shape[1]))

    @property
    def mean(self) -> NDArray[Any]:
        """E[d], (n_docs, dim): the direction times :attr:`mean_length`."""
        return (self.direction * self.mean_length[:, None]).astype(self.direction.dtype)

    @property
    def parameter(self) -> Floats:
        """eta, (n_docs, dim): the direction times the concentration."""
        return self.direction.astype(np.float64) * self.concentration[:, None]

    @cached_property
    def offset(self) -> NDArray[Any]:
        """``W (E[d | text] - E[d])``, (n_docs, dim): what each text adds to the corpus; made for comparing texts.

        0 for a text without known words, and longer the more a text says (:mod:`parasphere.model.comparing`).
        """
        silent = self.length * self.word_concentration == 0
        return offsets(self.direction, self.mean_length, silent, self.prior, self.whitening)

    @cached_property
    def information(self) -> Floats:
        """How much each text says of its direction, (n_docs,), in nats: 0 for an empty text.

        It is the Kullback-Leibler divergence of the posterior from the prior.
        """
        dim = self.direction.shape[1]
        change = self.parameter - self.prior.concentration * self.prior.mean_direction
        gained = np.einsum("ij,ij->i", change, self.direction.astype(np.float64)) * self.mean_length
        normalisers = vmf.log_partition(self.concentration, dim) - vmf.log_partition(self.prior.concentration, dim)
        silent = self.length * self.word_concentration == 0
        return np.where(silent, 0.0, np.maximum(gained - normalisers, 0.0))

    def vectors(self, space: Space) -> NDArray[Any]:
        """Return unit vectors in a space, (n_docs, dim): directions, or the directions of offsets (0 for offset 0)."""
        check_space(space)
        return self.direction if space == "direction" else of_unit_length(self.offset)

    def in_metric(self, rows: Floats) -> Floats:
        """Return rows times the metric of the offsets: (n, dim) -> (n, dim)."""
        return mapped(rows, self.whitening)

    def __len__(self) -> int:
        return len(self.direction)


def posterior_of(bags: Bags, prior: Prior, whitening: Floats | None = None) -> Posterior:
    """Return the posterior of each document."""
    documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    kappa = equations.solve(documents, prior, bags.dim)
    step = equations.e_step(documents, kappa, prior, bags.dim)
    return Posterior(
        direction=equations.directions(bags.sums, kappa, prior),
        concentration=step.concentration,
        word_concentration=kappa,
        length=bags.lengths,
        unknown=bags.unknown,
        log_likelihood=equations.evidence(documents, kappa, step.concentration, prior, bags.dim),
        prior=prior,
        whitening=whitening,
    )


def check_space(space: str) -> None:
    """Raise unless there is a space of this name."""
    if space not in get_args(Space):
        raise ValueError(f"space must be 'offset' or 'direction', not {space!r}")


def directions_of(bags: Bags, prior: Prior) -> NDArray[Any]:
    """Return the posterior direction of each document, (n_docs, dim), in the type of the sums."""
    documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    directions: NDArray[Any] = equations.directions(bags.sums, equations.solve(documents, prior, bags.dim), prior)
    return directions


def unit_offsets_of(bags: Bags, prior: Prior, whitening: Floats | None) -> NDArray[Any]:
    """Return the offset of each document, divided by its length, (n_docs, dim), in the type of the sums."""
    result = np.empty_like(bags.sums)
    mean, common = prior.mean_direction, _mean_length(float(prior.concentration), bags.dim)
    numbers = numbers_of(prior, bags.dim)
    unit_offsets(bags.sums, bags.squared_norms, bags.lengths, mean, numbers, common, whitening, result)
    return result


def offsets(
    directions: NDArray[Any], mean_lengths: Floats, silent: NDArray[np.bool_], prior: Prior, whitening: Floats | None
) -> NDArray[Any]:
    """Return the offsets of documents, in the type of their directions; 0 for those that say nothing."""
    common = _mean_length(float(prior.concentration), directions.shape[1]) * prior.mean_direction
    result = np.empty_like(directions)
    map_shifted_rows(directions, mean_lengths, common, whitening, silent, result)
    return result


@lru_cache(maxsize=64)
def _mean_length(concentration: float, dim: int) -> float:
    """Return the mean length of one concentration: that of a prior is the same at every call."""
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


def unit_rows(rows: NDArray[np.floating]) -> Floats:
    """Return rows divided by their lengths, in float64; rows of zeros stay."""
    return _divided(rows, np.float64)


def of_unit_length(rows: NDArray[Any]) -> NDArray[Any]:
    """Return :func:`unit_rows` in the type of the rows."""
    return _divided(rows, rows.dtype)


def _divided(rows: NDArray[Any], dtype: Any) -> NDArray[Any]:
    result, nothing = np.empty(rows.shape, dtype), np.zeros(rows.shape[1])
    unit_combinations(np.ascontiguousarray(rows), np.ones(len(rows)), nothing, nothing, result)
    return result
