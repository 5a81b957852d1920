"""The von Mises-Fisher distribution on the unit sphere, in any dimension and at any concentration.

The density of a unit vector ``x`` with mean direction ``mu`` and concentration ``kappa`` is::

    p(x) = exp(kappa mu.x - Phi(kappa)),        Phi(kappa) = log of the integral of exp(kappa mu.x)

Everything else follows from the log-partition ``Phi``: its derivative ``A`` is the mean resultant length, the second
derivative ``A'`` the variance of the cosine. They are ratios of Bessel functions, where other implementations
underflow, overflow or lose digits by cancellation; :mod:`parasphere.sphere.bessel` avoids all three.

The functions take Python scalars or arrays, compute in float64, and return the shape and precision of their arguments.
Scalars, and arrays of any length and layout, give the same bits: a document has the same concentration alone and in a
batch.
"""

from __future__ import annotations

import functools
from typing import Final, Literal, NamedTuple

import numpy as np

from . import bessel
from .arguments import like, nonnegative, order_of_dim, two_unit_vectors, unit_vectors
from .bessel import Array
from .sampling import sample

__all__ = [
    "MAX_KAPPA", "Estimate", "concentration", "entropy", "fit", "kl_divergence", "log_density", "log_partition",
    "mean_length", "mean_length_slope", "sample",
]  # fmt: skip

MAX_KAPPA: Final = 1e8
"""The largest value that :func:`concentration` and :func:`fit` return.

The exact answer for a mean length of 1 is infinite. At 1e8 the vectors lie within about ``1e-4 * sqrt(dim - 1)``
radians of their mean, closer than float32 vectors can resolve, and in dimension 2 the rounding of a float64 mean length
alone moves the concentration by 1e-8 of its value.
"""

_ROUNDING: Final = 1e-12  # mean lengths that exceed 1 by at most this count as 1


def _of_kappa(formula: bessel.Formula, kappa: Array, dim: int) -> Array:
    order = order_of_dim(dim)
    return like(bessel.apply(formula, nonnegative(kappa, "kappa"), order), kappa)


def log_partition(kappa: Array, dim: int) -> Array:
    """Logarithm of the integral of ``exp(kappa mu.x)`` over the unit sphere.

    This is ``-log c(kappa)`` for the normalising constant ``c`` of the density: a convex function of ``kappa`` whose
    value at 0 is the logarithm of the area of the sphere.

    Parameters
    ----------
    kappa : array of any shape, or scalar
        Concentrations, at least 0.
    dim : int
        Dimension of the vectors, at least 2.

    Returns
    -------
    array of the same shape, or float

    Examples
    --------
    >>> import math
    >>> math.isclose(log_partition(0.0, 3), math.log(4 * math.pi))
    True
    >>> round(log_partition(1500.0, 300), 6)
    674.039534
    """
    return _of_kappa("log_partition", kappa, dim)


def mean_length(kappa: Array, dim: int) -> Array:
    """Length of the mean vector, ``A(kappa) = I_{dim/2}(kappa) / I_{dim/2 - 1}(kappa)``.

    It is also the expected cosine to the mean direction, and the derivative of :func:`log_partition`. The result is
    within an ulp or two of the exact value; it is 1 only where that rounds to 1, from ``kappa`` of about ``1e16 * dim``
    on. Parameters and shapes are those of :func:`log_partition`.

    Examples
    --------
    >>> mean_length(0.0, 50)
    0.0
    >>> import numpy as np
    >>> mean_length(np.asarray([1.0, 100.0, 10000.0]), 50).round(6)
    array([0.019992, 0.783661, 0.997553])
    """
    return _of_kappa("mean_length", kappa, dim)


def mean_length_slope(kappa: Array, dim: int) -> Array:
    """Slope ``A'(kappa)`` of :func:`mean_length`: the variance of the cosine to the mean direction.

    The textbook form ``1 - A**2 - (dim - 1) A/kappa`` loses every digit as ``kappa`` grows; this one keeps twelve or
    more at any ``kappa``, and all but one from dimension 50 on. Parameters and shapes are those of
    :func:`log_partition`.

    Examples
    --------
    >>> round(mean_length_slope(0.0, 50), 12)
    0.02
    >>> f"{mean_length_slope(1e8, 50):.12g}"
    '2.44999942425e-15'
    """
    return _of_kappa("mean_length_slope", kappa, dim)


@functools.lru_cache(maxsize=256)
def longest(dim: int) -> float:
    """Return a mean length, below 1, whose concentration lies beyond MAX_KAPPA."""
    return 1.0 - 0.5 * float(bessel.apply("shortfall", MAX_KAPPA, bessel.order_of(dim)))


_INVERSES: dict[str, bessel.Formula] = {"newton": "concentration", "banerjee": "banerjee"}


def concentration(mean_length: Array, dim: int, method: Literal["newton", "banerjee"] = "newton") -> Array:
    """Concentration for a given mean length: the inverse of :func:`mean_length`, at most ``MAX_KAPPA``.

    Parameters
    ----------
    mean_length : array of any shape, or scalar
        Lengths in [0, 1]. Values up to ``1 + 1e-12``, which rounding can produce, count as 1.
    dim : int
        Dimension of the vectors, at least 2.
    method : {"newton", "banerjee"}, default="newton"
        Newton's exact inverse, or the approximation ``(r dim - r**3)/(1 - r**2)`` of Banerjee and others (2005),
        which is off by up to 7 % in dimension 2, 0.3 % in dimension 50 and 0.06 % in dimension 300.

    Notes
    -----
    Newton's method runs on ``B(A(kappa)) = B(r)`` with Banerjee's formula as ``B``. As ``B(A(kappa))`` is nearly
    ``kappa``, two steps reach full precision from dimension 50 on, and three below. Close to 1 a float64 length is
    itself too coarse to tell concentrations apart: its rounding moves ``kappa`` by a relative ``5.6e-17/(1 - r)``, so
    no more than eight digits are left at ``1 - r = 5.6e-9``.

    Examples
    --------
    >>> round(concentration(0.5, 50), 6)
    33.069808
    >>> round(concentration(0.5, 50, method="banerjee"), 6)
    33.166667
    >>> concentration(1.0, 50)
    100000000.0
    """
    order = order_of_dim(dim)
    if method not in _INVERSES:
        raise ValueError(f"method must be 'newton' or 'banerjee', not {method!r}")
    values = nonnegative(mean_length, "mean_length", most=1.0 + _ROUNDING)
    if isinstance(values, float):
        value = min(values, longest(dim))
        return like(min(bessel.apply(_INVERSES[method], value, order), MAX_KAPPA), mean_length)
    return like(invert(values, dim, method), mean_length)


def invert(lengths: Array, dim: int, method: Literal["newton", "banerjee"] = "newton") -> Array:
    """Return :func:`concentration` of a float64 array without checks, for inner loops; lengths below 0 count as 0."""
    order = bessel.order_of(dim)
    kappa: Array = np.clip(bessel.apply(_INVERSES[method], lengths.clip(0.0, longest(dim)), order), 0.0, MAX_KAPPA)
    return kappa


def log_density(x: Array, mean_direction: Array, kappa: Array) -> Array:
    """Logarithm of the density, with respect to the area of the sphere.

    Parameters
    ----------
    x, mean_direction : array, (..., dim)
        Unit vectors, broadcast against each other.
    kappa : array, (...), or scalar
        Concentrations, at least 0. Like the result, they have no last axis; the other axes broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> north = np.asarray([0.0, 0.0, 1.0])
    >>> log_density(np.stack([north, -north]), north, 2.0).round(4)
    array([-1.1262, -5.1262])
    """
    points, centre, order = two_unit_vectors(x, mean_direction, ("x", "mean_direction"))
    values = nonnegative(kappa, "kappa")
    cosine = np.vecdot(points, centre)
    return like(values * (cosine - 1.0) - bessel.apply("log_excess", values, order), x, mean_direction, kappa)


def entropy(kappa: Array, dim: int) -> Array:
    """Differential entropy, ``Phi(kappa) - kappa A(kappa)``, in nats.

    Parameters and shapes are those of :func:`log_partition`.

    Examples
    --------
    >>> import math
    >>> math.isclose(entropy(0.0, 3), math.log(4 * math.pi))
    True
    >>> round(entropy(1e6, 3), 6)
    -10.977633
    """
    return _of_kappa("entropy", kappa, dim)


def kl_divergence(mean_direction_p: Array, kappa_p: Array, mean_direction_q: Array, kappa_q: Array) -> Array:
    """Kullback-Leibler divergence of q from p, ``E_p[log p - log q]``, in nats.

    Exactly 0 for equal arguments, never negative, and accurate to within the rounding of the two log-partitions.

    Parameters
    ----------
    mean_direction_p, mean_direction_q : array, (..., dim)
        Unit vectors, broadcast against each other.
    kappa_p, kappa_q : array, (...), or scalar
        Concentrations, at least 0. Like the result, they have no last axis; the other axes broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> p, q = np.eye(50)[:2]
    >>> float(kl_divergence(p, 100.0, p, 100.0))
    0.0
    >>> round(float(kl_divergence(p, 100.0, q, 100.0)), 4)
    78.3661
    """
    p, q, order = two_unit_vectors(mean_direction_p, mean_direction_q, ("mean_direction_p", "mean_direction_q"))
    k_p, k_q = nonnegative(kappa_p, "kappa_p"), nonnegative(kappa_q, "kappa_q")
    gap = p - q
    versine = 0.5 * np.vecdot(gap, gap)  # 1 - cosine, and exactly 0 between equal vectors
    length = bessel.apply("mean_length", k_p, order)
    excess = bessel.apply("log_excess", k_q, order) - bessel.apply("log_excess", k_p, order)
    divergence = excess + (k_q - k_p) * bessel.apply("shortfall", k_p, order) + k_q * length * versine
    return like(np.maximum(divergence, 0.0), mean_direction_p, kappa_p, mean_direction_q, kappa_q)


class Estimate(NamedTuple):
    """The parameters that :func:`fit` estimates."""

    mean_direction: Array
    """Unit vector, (dim,)."""
    kappa: float
    """Concentration, between 0 and ``MAX_KAPPA``."""


def fit(x: Array, weights: Array | None = None) -> Estimate:
    """Maximum likelihood estimate from unit vectors.

    Parameters
    ----------
    x : array, (n, dim)
        Unit vectors, at least one.
    weights : array, (n,), default=None
        How often each vector counts, at least 0 and not all 0; None counts each once.

    Notes
    -----
    Two kinds of data have no maximum of the likelihood. Vectors that are all equal, such as a single one, have
    ``kappa = MAX_KAPPA``. Vectors that sum to 0 have ``kappa = 0``, and the mean direction is the first axis.

    Examples
    --------
    >>> import numpy as np
    >>> draws = sample(np.eye(50)[3], 100.0, 10000, rng=0)
    >>> mean_direction, kappa = fit(draws)
    >>> int(mean_direction.argmax()), round(kappa)
    (3, 100)
    """
    points = unit_vectors(x, "x")
    if points.ndim != 2 or points.shape[0] == 0:
        raise ValueError(f"x must have shape (n, dim) with n at least 1, not {tuple(points.shape)}")
    if weights is None:
        total, mass = points.sum(axis=0), float(points.shape[0])
    else:
        counts = nonnegative(weights, "weights")
        shape = () if isinstance(counts, float) else tuple(counts.shape)
        if shape != (points.shape[0],):
            raise ValueError(f"weights must have shape {(points.shape[0],)}, not {shape}")
        total, mass = counts @ points, float(counts.sum())
        if mass == 0:
            raise ValueError("weights must not all be 0")
    length = float(np.sqrt(np.vecdot(total, total)))
    if length <= mass * np.finfo(np.float64).eps:
        axis = np.zeros_like(total)
        axis[0] = 1.0
        return Estimate(like(axis, x), 0.0)
    return Estimate(like(total / length, x), concentration(min(length / mass, 1.0), points.shape[1]))
