"""The numbers of a prior, as the kernels of word concentrations and offsets take them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import solve_each, unit_offsets
from ..sphere import bessel, vmf

__all__ = ["Numbers", "numbers_of", "solve_each", "unit_offsets"]


class Numbers(NamedTuple):
    """The numbers of a prior, as the loops take them."""

    concentration: float
    strength: float
    cosine: float
    newton: bool  # whether the mean length is inverted exactly
    order: NDArray[np.float64]  # the constants of the dimension
    longest: float  # mean length that is inverted


def numbers_of(prior: Any, dim: int) -> Numbers:
    """Return the numbers of a :class:`parasphere.model.equations.Prior`."""
    numbers = float(prior.concentration), float(prior.strength), float(prior.cosine)
    return Numbers(*numbers, prior.method == "newton", bessel.order_of(dim), vmf.longest(dim))
