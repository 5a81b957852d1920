"""Ratios of modified Bessel functions: the numerics under the von Mises-Fisher distribution.

In dimension ``dim``, with ``v = dim/2 - 1``, the distribution needs the log-partition ``Phi``, its derivative ``A``
(the mean length) and the second derivative ``A'``::

    Phi(kappa) = log(I_v(kappa) / kappa**v) + dim/2 log(2 pi)
    A(kappa)   = I_{v+1}(kappa) / I_v(kappa)

The Bessel functions themselves underflow or overflow, and their differences cancel. So they are never computed: the
uniform expansion of Debye (DLMF 10.41) is taken in logarithms. With ``h = sqrt(v**2 + kappa**2)`` and ``p = v/h``::

    log(I_v / kappa**v) = h - v log(v + h) - log(2 pi h)/2 + L(p)
    A / kappa           = 1/(h + v) - G(p)/h**2               G = 1/2 + p L'
    1 - A               = (v**2/(h + kappa) + v)/(h + v) + kappa G/h**2
    A'                  = p/(h + v) + ((1 - 2 p**2) G + (1 - p**2) p G')/h**2

No term cancels another, neither at ``kappa = 0`` nor at ``kappa = 1e8``. ``L`` and ``G`` are polynomials in ``p``
whose coefficients depend on the order ``v`` alone: `order_of` computes them once for a dimension.

Below dimension 50 the order is too low for the series. It is raised by 24, and the results are brought down again one
order at a time. With ``q = A/kappa`` the recurrence ``I_{v-1} = (2 v/kappa) I_v + I_{v+1}`` reads::

    q_{v-1}     = 1/(2 v + kappa**2 q_v)
    1 - A_{v-1} = (2 v - kappa (1 - A_v)) q_{v-1}
    A'_{v-1}    = (2 v - kappa**2 A'_v) q_{v-1}**2

which is stable in this direction and finite at ``kappa = 0``; and ``I_v / kappa**v`` is divided by ``q_{v-1}``.

The formulas are written with operators only. `apply` runs a float through them as they stand, and an
array through the same operations in C++, src/kernels/bessel.hpp; a float, and numpy arrays of any length and layout,
get the same bits.
Nothing is checked here: concentrations must lie in [0, 1e150] and lengths in [0, 1), in float64.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from .._kernels import apply_formula

Array: TypeAlias = Any
"""A Python scalar or an array; what comes back is of the same kind."""

_LIFT: Final = 24  # orders that low dimensions are raised by, in two flights of 12
_TERMS: Final = 16  # of the Debye series: the rest is below 1e-16 from order 24 on
_DEGREE: Final = 18  # of the polynomials that stand in for the series on 0 <= p <= 1


# ---------------------------------------------------------------------------------------------------
# Constants of an order

_Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


class Order(NamedTuple):
    """What the formulas need to know of a dimension; polynomials have their highest power first."""

    dim: float
    v: float  # the order that the series is evaluated at
    raised: bool  # whether that lies _LIFT above dim/2 - 1
    log_area: float  # of the sphere, which is Phi(0)
    series: tuple[float, ...]  # L(p) - L(1)
    series_slope: tuple[float, ...]  # G(p) = 1/2 + p L'(p)
    series_bend: tuple[float, ...]  # p G'(p)


@functools.cache
def _debye_terms() -> list[list[int]]:
    """Integers ``a[k][i]`` with ``p L'(p) = sum_k (8 v)**-k sum_i a[k][i] p**(k + 2 i)``, for k >= 1.

    With ``M = p L'`` Bessel's equation reads
    ``2 v M = p (p (1 - p**2) M)' + p (1 - p**2) M**2 + (p - 5 p**3)/4``;
    the right-hand side at one power of ``1/v`` gives the left-hand side at the next.
    """
    terms: list[list[int]] = [[], [1, -5]]
    for k in range(1, _TERMS):
        following = [0] * (k + 2)
        for i, a in enumerate(terms[k]):
            following[i] += 4 * (k + 2 * i + 1) * a
            following[i + 1] -= 4 * (k + 2 * i + 3) * a
        for left, right in ((terms[j], terms[k - j]) for j in range(1, k)):
            for i, a in enumerate(left):
                for j, b in enumerate(right):
                    following[i + j] += 4 * a * b
                    following[i + j + 1] -= 4 * a * b
        terms.append(following)
    return terms


@functools.cache
def _chebyshev() -> tuple[_Matrix, _Matrix]:
    """Return two matrices: powers of p to Chebyshev's T_n(2 p - 1), n <= degree, and from these back.

    The first, (degree + 1, 3 terms + 1), interpolates on [0, 1] at Chebyshev's points; the second,
    (degree + 1, degree + 1), holds integers.
    """
    nodes = chebyshev.chebpts1(_DEGREE + 1)
    values = ((nodes + 1) / 2)[:, None] ** np.arange(3 * _TERMS + 1)
    interpolate = chebyshev.chebvander(nodes, _DEGREE).T @ values * (2 / (_DEGREE + 1))
    interpolate[0] /= 2
    expand = np.zeros((_DEGREE + 1, _DEGREE + 1))
    expand[0, 0] = 1
    expand[:2, 1] = -1, 2
    for n in range(2, _DEGREE + 1):
        expand[:, n] = -2 * expand[:, n - 1] - expand[:, n - 2]
        expand[1:, n] += 4 * expand[:-1, n - 1]
    return interpolate, expand


def _shortened(coefficients: _Matrix) -> _Matrix:
    """Bring the degree of a polynomial on [0, 1] down from 48 to 18, without loss in float64.

    The two products are kept apart: rounding in the first moves the coefficients a lot, but together,
    so that the polynomial itself moves by no more than the rounding.
    """
    interpolate, expand = _chebyshev()
    return expand @ (interpolate @ coefficients)


@functools.lru_cache(maxsize=256)
def order_of(dim: int) -> Order:
    """Compute the constants of a dimension, at least 2."""
    raised = dim < 2 * _LIFT + 2
    v = dim / 2 - 1 + raised * _LIFT
    slope = np.zeros(3 * _TERMS + 1)  # of p L'(p), rising powers
    for k, row in enumerate(_debye_terms()):
        for i, a in enumerate(row):
            slope[k + 2 * i] += a / (8 * v) ** k
    powers = np.arange(slope.size)
    series = _shortened(slope / np.maximum(powers, 1))
    series[0] -= math.fsum(series)
    series_slope = _shortened(slope)
    series_slope[0] += 0.5
    series_bend = _shortened(slope * powers)
    log_area = math.log(2) + dim / 2 * math.log(math.pi) - math.lgamma(dim / 2)
    polynomials = (tuple(rising[::-1].tolist()) for rising in (series, series_slope, series_bend))
    return Order(float(dim), v, raised, log_area, *polynomials)


# ---------------------------------------------------------------------------------------------------
# The formulas: one element or one tensor at a time, no branch on the values


def _sqrt(x: Array) -> Array:
    return math.sqrt(x) if isinstance(x, float) else np.sqrt(x)


def _log(x: Array) -> Array:
    return math.log(x) if isinstance(x, float) else np.log(x)


def _polynomial(c: tuple[float, ...], p: Array) -> Array:
    """Evaluate a polynomial of degree 18, highest power first.

    In groups of four powers, because one long chain keeps the processor waiting.
    """
    p2 = p * p
    p4 = p2 * p2
    total = c[0] * p2 + (c[1] * p + c[2])
    total = total * p4 + ((c[3] * p + c[4]) * p2 + (c[5] * p + c[6]))
    total = total * p4 + ((c[7] * p + c[8]) * p2 + (c[9] * p + c[10]))
    total = total * p4 + ((c[11] * p + c[12]) * p2 + (c[13] * p + c[14]))
    return total * p4 + ((c[15] * p + c[16]) * p2 + (c[17] * p + c[18]))


def _down(kappa: Array, top: float, quotient: Array, rest: Array) -> tuple[Array, Array]:
    """Bring ``A/kappa`` and ``1 - A`` down by 12 orders from ``top``."""
    square = kappa * kappa
    for j in range(12):
        twice = 2.0 * (top - j)
        quotient = 1.0 / (twice + square * quotient)
        rest = (twice - kappa * rest) * quotient
    return quotient, rest


def _down_slope(kappa: Array, top: float, quotient: Array, slope: Array) -> tuple[Array, Array]:
    """Bring ``A/kappa`` and ``A'`` down by 12 orders from ``top``."""
    square = kappa * kappa
    for j in range(12):
        twice = 2.0 * (top - j)
        quotient = 1.0 / (twice + square * quotient)
        slope = (twice - square * slope) * quotient * quotient
    return quotient, slope


def _down_product(kappa: Array, top: float, quotient: Array, product: Array, scale: Array) -> tuple[Array, Array]:
    """Bring ``A/kappa`` down by 12 orders from ``top``; multiply what was passed, scaled to stay near 1."""
    square = kappa * kappa
    for j in range(12):
        twice = 2.0 * (top - j)
        quotient = 1.0 / (twice + square * quotient)
        product = product * (twice * quotient * scale)
    return quotient, product


def _lengths(kappa: Array, order: Order) -> tuple[Array, Array]:
    """``A/kappa`` and ``1 - A``, each without cancellation."""
    v = order.v
    h = _sqrt(v * v + kappa * kappa)
    inverse = 1.0 / h
    correction = _polynomial(order.series_slope, v * inverse) * inverse * inverse
    leading = 1.0 / (h + v)
    quotient = leading - correction
    rest = v * (v / (h + kappa) + 1.0) * leading + kappa * correction
    if order.raised:
        quotient, rest = _down(kappa, v, quotient, rest)
        quotient, rest = _down(kappa, v - 12, quotient, rest)
    return quotient, rest


def quotient(kappa: Array, order: Order) -> Array:
    """Return ``A/kappa``, which is finite at 0."""
    ratio, _ = _lengths(kappa, order)
    return ratio


def mean_length(kappa: Array, order: Order) -> Array:
    """Return ``A``, the mean length."""
    quotient, rest = _lengths(kappa, order)
    length = kappa * quotient
    # Two roundings of the same number: near 1 the one from 1 - A is right to the last bit.
    return length + length * ((1.0 - rest) - length)


def shortfall(kappa: Array, order: Order) -> Array:
    """Return ``1 - A``."""
    _, rest = _lengths(kappa, order)
    return rest


def mean_length_slope(kappa: Array, order: Order) -> Array:
    """Return ``A'``, the slope of the mean length."""
    v = order.v
    h = _sqrt(v * v + kappa * kappa)
    inverse = 1.0 / h
    p = v * inverse
    leading = 1.0 / (h + v)
    cosine = kappa * inverse  # cosine**2 = 1 - p**2
    g = _polynomial(order.series_slope, p)
    bend = _polynomial(order.series_bend, p)
    slope = p * leading + ((1.0 - 2.0 * p * p) * g + cosine * cosine * bend) * inverse * inverse
    if order.raised:
        quotient = leading - g * inverse * inverse
        quotient, slope = _down_slope(kappa, v, quotient, slope)
        quotient, slope = _down_slope(kappa, v - 12, quotient, slope)
    return slope


def log_excess(kappa: Array, order: Order) -> Array:
    """Return ``Phi - kappa``, which stays small where both are large."""
    v = order.v
    h = _sqrt(v * v + kappa * kappa)
    inverse = 1.0 / h
    p = v * inverse
    leading = 1.0 / (h + v)
    growth = kappa * kappa * leading  # h - v
    log_h = _log(h / v)
    excess = _polynomial(order.series, p) - v * _log(0.5 + 0.5 * h / v) - 0.5 * log_h
    if order.raised:
        quotient = leading - _polynomial(order.series_slope, p) * inverse * inverse
        quotient, product = _down_product(kappa, v, quotient, 1.0, h / v)
        quotient, product = _down_product(kappa, v - 12, quotient, product, h / v)
        excess = excess + _LIFT * log_h - _log(product)
    return order.log_area + (excess - v * (growth + kappa) / (h + kappa))


def log_partition(kappa: Array, order: Order) -> Array:
    """Return ``Phi``."""
    return kappa + log_excess(kappa, order)


def entropy(kappa: Array, order: Order) -> Array:
    """Return ``Phi - kappa A``."""
    _, rest = _lengths(kappa, order)
    return log_excess(kappa, order) + kappa * rest


def banerjee(length: Array, order: Order) -> Array:
    """Return ``B``, the inverse of ``A`` but for a few percent, after Banerjee and others (2005)."""
    return length * (order.dim - length * length) / ((1.0 - length) * (1.0 + length))


def _newton(kappa: Array, target: Array, order: Order) -> Array:
    """One step towards ``B(A(kappa)) = target``; as a function of kappa the left side is nearly a straight line."""
    quotient, rest = _lengths(kappa, order)
    a = kappa * quotient
    square = a * a
    y = rest * (1.0 + a)  # 1 - A**2
    slope = y - (order.dim - 1.0) * quotient
    miss = target * y - a * (order.dim - square)
    return kappa + miss * y / ((order.dim + square * (order.dim - 3.0 + square)) * slope)


def concentration(length: Array, order: Order) -> Array:
    """Invert ``A``, by Newton's method on ``B(A(kappa)) = B(length)``."""
    target = banerjee(length, order)
    kappa = _newton(target, target, order)
    kappa = _newton(kappa, target, order)
    if order.raised:  # Banerjee is 7 % off in dimension 2, 0.3 % in dimension 50
        kappa = _newton(kappa, target, order)
    return kappa


# ---------------------------------------------------------------------------------------------------
# From formulas to functions of arrays

Formula: TypeAlias = Callable[[Array, Order], Array]
_FEW = 4  # so few numbers are no slower in Python than in compiled code


@functools.lru_cache(maxsize=256)
def packed_order(dim: int) -> NDArray[np.float64]:
    """Return the constants of a dimension as compiled code takes them, in one array."""
    dims, v, raised, log_area, *polynomials = order_of(dim)
    packed = np.array([dims, v, float(raised), log_area, *itertools.chain(*polynomials)])
    packed.flags.writeable = False
    return packed


def apply(formula: Formula, x: Array, order: Order) -> Array:
    """Apply a formula to a float or a float64 array."""
    if not isinstance(x, np.ndarray):
        return formula(x, order)
    flat = np.ascontiguousarray(x).reshape(-1)
    if flat.size <= _FEW:
        return np.array([formula(value, order) for value in flat.tolist()], np.float64).reshape(x.shape)
    out = np.empty_like(flat)
    apply_formula(formula.__name__, flat, packed_order(int(order.dim)), out)
    return out.reshape(x.shape)
