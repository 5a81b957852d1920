"""The von Mises-Fisher distribution on the unit sphere, in any dimension and at any concentration.

The density of a unit vector ``x`` with mean direction ``mu`` and concentration ``kappa`` is::

    p(x) = exp(kappa mu.x - Phi(kappa)),        Phi(kappa) = log of the integral of exp(kappa mu.x)

Everything else follows from the log-partition ``Phi``: its derivative ``A`` is the mean resultant length, the second
derivative ``A'`` the variance of the cosine. They are ratios of Bessel functions, where other implementations
underflow, overflow or cancel; `parasphere.sphere.bessel` computes them without.

The functions take Python scalars or arrays of numpy, torch or cupy, compute in float64 and return what they were
given: the same library and shape, and float32 for float32. Scalars, and numpy arrays of any length and layout, give
the same bits: a document alone and a document in a batch have the same concentration.
"""

from __future__ import annotations

import functools
import math
import numbers
import operator
from typing import Final, Literal, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_array_api_obj, is_numpy_array, is_numpy_namespace, to_device

from . import bessel
from .bessel import Array

__all__ = [
    "MAX_KAPPA",
    "Fit",
    "concentration",
    "entropy",
    "fit",
    "kl_divergence",
    "log_density",
    "log_partition",
    "mean_length",
    "mean_length_slope",
    "sample",
]

MAX_KAPPA: Final = 1e8
"""The largest value that `concentration` and `fit` return.

The exact answer for a mean length of 1 is infinite. At 1e8 the vectors lie within about ``1e-4 * sqrt(dim - 1)``
radians of their mean, closer than float32 vectors can tell, and in dimension 2 the rounding of a float64 mean length
alone moves the concentration by 1e-8 of its value.
"""

_LARGEST: Final = 1e150  # its square is still finite
_UNIT_TOLERANCE: Final = 1e-3  # of a vector's length: catches unnormalised input, forgives half precision
_ROUNDING: Final = 1e-12  # by which a mean length may exceed 1 and is still taken for 1


def _float64(x: Array, name: str) -> Array:
    """Give x as a Python float or as a float64 array of its own library."""
    if isinstance(x, numbers.Real):
        return float(x)
    if not is_array_api_obj(x):
        x = np.asarray(x)
    xp = array_namespace(x)
    if not xp.isdtype(x.dtype, ("real floating", "integral")):
        raise ValueError(f"{name} must hold real numbers, not {x.dtype}")
    return xp.astype(x, xp.float64, copy=False)


def _like(result: Array, *arguments: Array) -> Array:
    """Give the result the precision of the arguments: float32 if every array among them is float32."""
    types = [x.dtype for x in arguments if hasattr(x, "dtype")]
    if isinstance(result, float):
        return np.float32(result) if types and all(t == np.float32 for t in types) else result
    xp = array_namespace(result)
    if types and all(t == xp.float32 for t in types):
        result = xp.astype(result, xp.float32)
    return result[()] if is_numpy_namespace(xp) and result.ndim == 0 else result


def _require(x: Array, low: float, high: float, what: str) -> None:
    """Raise if a value is NaN or lies outside [low, high], naming the first one at fault."""
    if isinstance(x, float):
        if low <= x <= high:
            return
        bad, at = float(x), ""
    else:
        xp = array_namespace(x)
        if math.prod(x.shape) == 0 or (xp.min(x) >= low and xp.max(x) <= high):
            return
        flat = xp.reshape(x, (-1,))
        first = int(xp.argmax(xp.astype(~((flat >= low) & (flat <= high)), xp.int8)))
        where = ", ".join(str(int(i)) for i in np.unravel_index(first, tuple(x.shape)))
        bad, at = float(flat[first]), f" at index [{where}]" if where else ""
    raise ValueError(f"{what} must lie in [{low:g}, {high:g}], not {bad!r}{at}")


def _nonnegative(x: Array, name: str, most: float = _LARGEST) -> Array:
    """Give numbers from 0 to ``most`` as float64."""
    x = _float64(x, name)
    _require(x, 0.0, most, name)
    return x


def _order(dim: int) -> bessel.Order:
    try:
        whole = operator.index(dim)
    except TypeError:
        raise ValueError(f"dim must be a whole number, not {dim!r}") from None
    if whole < 2:
        raise ValueError(f"dim must be at least 2, not {dim!r}")
    return bessel.order_of(whole)


def _directions(x: Array, name: str) -> Array:
    """Give unit vectors as a float64 array, (..., dim)."""
    x = _float64(x, name)
    shape = () if isinstance(x, float) else tuple(x.shape)
    if not shape or shape[-1] < 2:
        raise ValueError(f"{name} must have shape (..., dim) with dim at least 2, not {shape}")
    xp = array_namespace(x)
    lengths = xp.sqrt(xp.vecdot(x, x))
    _require(lengths, 1 - _UNIT_TOLERANCE, 1 + _UNIT_TOLERANCE, f"the length of {name}, a unit vector,")
    return x


def _two_directions(x: Array, y: Array, names: tuple[str, str]) -> tuple[Array, Array, bessel.Order]:
    x, y = _directions(x, names[0]), _directions(y, names[1])
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"{names[0]} and {names[1]} differ in dimension: {x.shape[-1]} and {y.shape[-1]}")
    return x, y, bessel.order_of(x.shape[-1])


def _of_kappa(formula: bessel.Formula, kappa: Array, dim: int) -> Array:
    order = _order(dim)
    return _like(bessel.apply(formula, _nonnegative(kappa, "kappa"), order), kappa)


# ---------------------------------------------------------------------------------------------------
# The distribution


def log_partition(kappa: Array, dim: int) -> Array:
    """Logarithm of the integral of ``exp(kappa mu.x)`` over the unit sphere.

    This is ``-log c(kappa)`` for the normalising constant ``c`` of the density, a convex function of ``kappa`` that
    starts at the logarithm of the area of the sphere.

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
    return _of_kappa(bessel.log_partition, kappa, dim)


def mean_length(kappa: Array, dim: int) -> Array:
    """Length of the mean vector, ``A(kappa) = I_{dim/2}(kappa) / I_{dim/2 - 1}(kappa)``.

    Also the expected cosine to the mean direction, and the derivative of `log_partition`. Within an ulp or two of the
    exact value, and 1 only where that rounds to 1, from ``kappa`` of about ``1e16 * dim`` on. Parameters and shape as
    in `log_partition`.

    Examples
    --------
    >>> mean_length(0.0, 50)
    0.0
    >>> import numpy as np
    >>> mean_length(np.asarray([1.0, 100.0, 10000.0]), 50).round(6)
    array([0.019992, 0.783661, 0.997553])
    """
    return _of_kappa(bessel.mean_length, kappa, dim)


def mean_length_slope(kappa: Array, dim: int) -> Array:
    """Slope ``A'(kappa)`` of `mean_length`: the variance of the cosine to the mean direction.

    The textbook form ``1 - A**2 - (dim - 1) A/kappa`` loses every digit as ``kappa`` grows; this one keeps twelve or
    more at any ``kappa``, and all but one from dimension 50 on. Parameters and shape as in `log_partition`.

    Examples
    --------
    >>> round(mean_length_slope(0.0, 50), 12)
    0.02
    >>> f"{mean_length_slope(1e8, 50):.12g}"
    '2.44999942425e-15'
    """
    return _of_kappa(bessel.mean_length_slope, kappa, dim)


@functools.lru_cache(maxsize=256)
def _longest(dim: int) -> float:
    """Return a mean length, below 1, whose concentration lies beyond MAX_KAPPA."""
    return 1.0 - 0.5 * float(bessel.shortfall(MAX_KAPPA, bessel.order_of(dim)))


_INVERSES = {"newton": bessel.concentration, "banerjee": bessel.banerjee}


def concentration(mean_length: Array, dim: int, method: Literal["newton", "banerjee"] = "newton") -> Array:
    """Concentration whose mean vector has the given length: the inverse of `mean_length`, at most `MAX_KAPPA`.

    Parameters
    ----------
    mean_length : array of any shape, or scalar
        Lengths in [0, 1]; up to ``1 + 1e-12``, the rounding of a mean of unit vectors, they are taken for 1.
    dim : int
        Dimension of the vectors, at least 2.
    method : {"newton", "banerjee"}
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
    order = _order(dim)
    if method not in _INVERSES:
        raise ValueError(f"method must be 'newton' or 'banerjee', not {method!r}")
    values = _nonnegative(mean_length, "mean_length", most=1.0 + _ROUNDING)
    if isinstance(values, float):
        longest = _longest(int(order.dim))
        return _like(min(bessel.apply(_INVERSES[method], min(values, longest), order), MAX_KAPPA), mean_length)
    return _like(invert(values, dim, method), mean_length)


def invert(lengths: Array, dim: int, method: Literal["newton", "banerjee"] = "newton") -> Array:
    """`concentration` of a float64 array, unchecked, for loops that call it often; lengths below 0 are taken for 0."""
    order = bessel.order_of(dim)
    return bessel.apply(_INVERSES[method], lengths.clip(0.0, _longest(dim)), order).clip(0.0, MAX_KAPPA)


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
    points, centre, order = _two_directions(x, mean_direction, ("x", "mean_direction"))
    values = _nonnegative(kappa, "kappa")
    cosine = array_namespace(points, centre).vecdot(points, centre)
    return _like(values * (cosine - 1.0) - bessel.apply(bessel.log_excess, values, order), x, mean_direction, kappa)


def entropy(kappa: Array, dim: int) -> Array:
    """Differential entropy, ``Phi(kappa) - kappa A(kappa)``, in nats.

    Parameters and shape as in `log_partition`.

    Examples
    --------
    >>> import math
    >>> math.isclose(entropy(0.0, 3), math.log(4 * math.pi))
    True
    >>> round(entropy(1e6, 3), 6)
    -10.977633
    """
    return _of_kappa(bessel.entropy, kappa, dim)


def kl_divergence(mean_direction_p: Array, kappa_p: Array, mean_direction_q: Array, kappa_q: Array) -> Array:
    """Kullback-Leibler divergence of q from p, ``E_p[log p - log q]``, in nats.

    Exactly 0 for equal arguments, never negative, and right to within the rounding of the two log-partitions.

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
    p, q, order = _two_directions(mean_direction_p, mean_direction_q, ("mean_direction_p", "mean_direction_q"))
    k_p, k_q = _nonnegative(kappa_p, "kappa_p"), _nonnegative(kappa_q, "kappa_q")
    xp = array_namespace(p, q)
    gap = p - q
    versine = 0.5 * xp.vecdot(gap, gap)  # 1 - cosine, and exactly 0 between equal vectors
    length = bessel.apply(bessel.mean_length, k_p, order)
    excess = bessel.apply(bessel.log_excess, k_q, order) - bessel.apply(bessel.log_excess, k_p, order)
    divergence = excess + (k_q - k_p) * bessel.apply(bessel.shortfall, k_p, order) + k_q * length * versine
    return _like(xp.clip(divergence, min=0.0), mean_direction_p, kappa_p, mean_direction_q, kappa_q)


def sample(
    mean_direction: Array, kappa: Array, size: int | tuple[int, ...] = (), rng: np.random.Generator | int | None = None
) -> Array:
    """Draw exact random unit vectors, (*size, ..., dim).

    The cosine to the mean direction comes from the rejection sampler of Ulrich (1984) and Wood (1994), the rest from
    normal variates turned into place by one Householder reflection: linear in ``dim``. The draws are made by numpy,
    then moved to the library and device of ``mean_direction``.

    Parameters
    ----------
    mean_direction : array, (..., dim)
        Unit vectors.
    kappa : array, (...), or scalar
        Concentrations, at least 0; broadcast against ``mean_direction`` without its last axis.
    size : int or tuple of int
        How many draws for each mean direction; by default one, without an axis of its own.
    rng : numpy.random.Generator, int or None
        Source of randomness, or a seed for one.

    Examples
    --------
    >>> import numpy as np
    >>> draws = sample(np.eye(300)[0], 1500.0, 1000, rng=0)
    >>> draws.shape
    (1000, 300)
    >>> bool(abs(draws[:, 0].mean() - mean_length(1500.0, 300)) < 0.001)
    True
    """
    centre = _directions(mean_direction, "mean_direction")
    values = _nonnegative(kappa, "kappa")
    rng = np.random.default_rng(rng)
    mu = np.asarray(to_device(centre, "cpu"))
    k = np.asarray(values if isinstance(values, float) else to_device(values, "cpu"))
    size = tuple(size) if isinstance(size, tuple | list) else (operator.index(size),)
    shape = (*size, *np.broadcast_shapes(mu.shape[:-1], k.shape))
    dim = mu.shape[-1]

    versine = _versines(np.broadcast_to(k, shape), dim, rng)
    out = np.empty((*shape, dim))
    out[..., 1:] = rng.standard_normal((*shape, dim - 1))
    tail = out[..., 1:]
    tail *= (np.sqrt(versine * (2.0 - versine)) / np.sqrt(np.vecdot(tail, tail)))[..., None]

    # Reflect the first axis onto -sign * mu; with this sign nothing cancels, whatever mu is.
    sign = np.where(mu[..., 0] < 0, -1.0, 1.0)
    out[..., 0] = sign * (versine - 1.0)
    mirror = mu.copy()
    mirror[..., 0] += sign
    out -= (2.0 * np.vecdot(out, mirror) / np.vecdot(mirror, mirror))[..., None] * mirror

    if not is_numpy_array(centre):
        out = array_namespace(centre).asarray(out, device=device(centre))
    return _like(out, mean_direction)


def _versines(kappa: Array, dim: int, rng: np.random.Generator) -> Array:
    """Draw ``t = 1 - cosine`` for each kappa by rejection; in ``t`` no precision is lost near the mean."""
    kappa, shape = kappa.reshape(-1), kappa.shape
    half = (dim - 1) / 2
    b = half / (kappa + np.sqrt(kappa * kappa + half * half))
    mode = 2.0 * b / (1.0 + b)  # where the envelope touches
    out = np.empty(kappa.size)
    left = np.arange(kappa.size)
    while left.size:
        t0 = mode[left]
        z = rng.beta(half, half, left.size)
        t = 2.0 * b[left] * z / ((1.0 - z) + b[left] * z)
        envelope = np.log((t + t0 - t * t0) / (t0 * (2.0 - t0)))
        accepted = kappa[left] * (t0 - t) + 2.0 * half * envelope >= -rng.standard_exponential(left.size)
        out[left[accepted]] = t[accepted]
        left = left[~accepted]
    return out.reshape(shape)


class Fit(NamedTuple):
    """A fitted distribution: what `fit` returns."""

    mean_direction: Array
    """Unit vector, (dim,)."""
    kappa: float
    """Concentration, between 0 and `MAX_KAPPA`."""


def fit(x: Array, weights: Array | None = None) -> Fit:
    """Maximum likelihood estimate from unit vectors.

    Parameters
    ----------
    x : array, (n, dim)
        Unit vectors, at least one.
    weights : array, (n,), optional
        How often each vector counts, at least 0 and not all 0; by default once.

    Notes
    -----
    Two kinds of data have no maximum and get the nearest sensible answer. Vectors that are all the same, one alone
    among them, have ``kappa = MAX_KAPPA``. Vectors that sum to 0 prefer no direction: ``kappa = 0``, and the mean
    direction is the first axis.

    Examples
    --------
    >>> import numpy as np
    >>> draws = sample(np.eye(50)[3], 100.0, 10000, rng=0)
    >>> mean_direction, kappa = fit(draws)
    >>> int(mean_direction.argmax()), round(kappa)
    (3, 100)
    """
    points = _directions(x, "x")
    if points.ndim != 2 or points.shape[0] == 0:
        raise ValueError(f"x must have shape (n, dim) with n at least 1, not {tuple(points.shape)}")
    xp = array_namespace(points)
    if weights is None:
        total, mass = xp.sum(points, axis=0), float(points.shape[0])
    else:
        counts = _nonnegative(weights, "weights")
        shape = () if isinstance(counts, float) else tuple(counts.shape)
        if shape != (points.shape[0],):
            raise ValueError(f"weights must have shape {(points.shape[0],)}, not {shape}")
        total, mass = counts @ points, float(xp.sum(counts))
        if mass == 0:
            raise ValueError("weights must not all be 0")
    length = float(xp.sqrt(xp.vecdot(total, total)))
    if length <= mass * np.finfo(np.float64).eps:
        axis = xp.zeros_like(total)
        axis[0] = 1.0
        return Fit(_like(axis, x), 0.0)
    return Fit(_like(total / length, x), concentration(min(length / mass, 1.0), points.shape[1]))
