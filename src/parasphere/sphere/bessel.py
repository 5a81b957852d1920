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

Below dimension 50 the order is too low for the series. It is raised by 24, and the results are brought back down one
order at a time. With ``q = A/kappa`` the recurrence ``I_{v-1} = (2 v/kappa) I_v + I_{v+1}`` reads::

    q_{v-1}     = 1/(2 v + kappa**2 q_v)
    1 - A_{v-1} = (2 v - kappa (1 - A_v)) q_{v-1}
    A'_{v-1}    = (2 v - kappa**2 A'_v) q_{v-1}**2

which is stable in this direction and finite at ``kappa = 0``; and ``I_v / kappa**v`` is divided by ``q_{v-1}``.

The formulas are in src/kernels/bessel.hpp; `apply` calls them by name. A float, and arrays of any length and layout,
get the same bits.
Nothing is checked here: concentrations must lie in [0, 1e150] and lengths in [0, 1), in float64.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from .._kernels import apply_formula

Array: TypeAlias = Any
"""A Python scalar or an array; the result is of the same kind."""

Order: TypeAlias = NDArray[np.float64]
"""The constants of a dimension: see `order_of`."""

Formula: TypeAlias = Literal[
    "quotient",  # A / kappa, which is finite at 0
    "mean_length",  # A
    "shortfall",  # 1 - A
    "mean_length_slope",  # A'
    "log_excess",  # Phi - kappa, which stays small where both are large
    "log_partition",  # Phi
    "entropy",  # Phi - kappa A
    "banerjee",  # of a mean length: the inverse of A to within a few percent, by Banerjee and others (2005)
    "concentration",  # of a mean length: the inverse of A
]

_LIFT: Final = 24  # orders that low dimensions are raised by, in two steps of 12
_TERMS: Final = 16  # of the Debye series: the rest is below 1e-16 from order 24 on
_DEGREE: Final = 18  # of the polynomials that stand in for the series on 0 <= p <= 1


# ---------------------------------------------------------------------------------------------------
# Constants of an order

_Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


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
    """Return two matrices: from powers of p to Chebyshev's T_n(2 p - 1), n <= degree, and back.

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
    """Return the constants of a dimension, at least 2, in one array.

    They are: the dimension; the order v that the series is evaluated at, and 1 if that lies 24 above dim/2 - 1, else 0;
    the logarithm of the area of the sphere, Phi(0); and the coefficients, highest power first, of the polynomials
    L(p) - L(1), G(p) = 1/2 + p L'(p), and p G'(p).
    """
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
    numbers = np.array([dim, v, raised, log_area])
    order = np.concatenate([numbers, series[::-1], series_slope[::-1], series_bend[::-1]])
    order.flags.writeable = False
    return order


# ---------------------------------------------------------------------------------------------------
# From formulas to functions of arrays


def apply(formula: Formula, x: Array, order: Order) -> Array:
    """Apply a formula to a float or a float64 array of any shape."""
    flat = np.ascontiguousarray(x, np.float64).reshape(-1)
    out = np.empty_like(flat)
    apply_formula(formula, flat, order, out)
    return out.reshape(x.shape) if isinstance(x, np.ndarray) else float(out[0])
