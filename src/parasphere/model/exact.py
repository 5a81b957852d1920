"""Exact sums: the same bits for any grouping and order of the terms, and any distribution over machines.

A sum of floating-point numbers depends on the order of its terms, because every addition is rounded. Here terms are
integers times a power of two, and sums are kept as wide integers: no addition is rounded, only the final value is.
There are three functions, for different kinds of terms:

* :func:`exact_sum`: any finite numbers. Each is cut into pieces of 32 bits (a superaccumulator, proposed by Kulisch).
* :func:`exact_mean_sum`: many rows with entries of at most 1. Each entry is rounded to a multiple of 2^-76 in
  two steps, by adding and subtracting a large number, so that the sums of 2,048 rows fit into the 53 bits of a float64.
* :func:`exact_products`: the sum of the outer products of rows with themselves, at the speed of BLAS. Each row is
  rounded to 42 bits below a power of two and cut in two halves of 21 bits. The products of halves, summed over 1,024
  rows, are integers of at most 53 bits, which BLAS adds without rounding in any order (the scheme of Ozaki and others).
  The product of the two lower halves is left out.

In the last two functions each row is rounded separately, so the rounding does not depend on other rows.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import add_bits, add_bounded, carry_digits, find_powers, split_rows

BITS = 32  # of a limb
MASK = (1 << BITS) - 1
ANY = -1088, 66  # exponent of the unit and number of limbs of sums of any numbers
MEANS = -96, 5  # of sums of rows with entries of at most 1
PRODUCTS = -128, 7  # of sums of outer products

STRETCH = 2048  # rows whose rounded entries a float64 sums exactly
FINE, FINER = 38, 76  # entries are rounded to multiples of 2^-38, and the remainders to multiples of 2^-76
SHORT = 1 - 1e-6  # rows whose entries are below this need not be clipped
MOST_ROWS = 1 << 24  # rows whose sums an int64 holds
HALF = 21  # bits of each half of an entry
PRODUCT_ROWS = 1024  # rows whose products of halves a float64 sums exactly
MOST_PRODUCTS = 1 << 20  # rows whose products an int64 sums
NOTHING = -34  # for rows of zeros, in place of the power of two that bounds a row


@dataclass(frozen=True, eq=False)
class Exact:
    """An exact sum of numbers, or of arrays of numbers; ``+`` adds two sums, with the same result in any order.

    Attributes
    ----------
    limbs : (n_limbs, ...) int64
        The digits of the sum in base 2^32, lowest first; all but the highest are not negative.
    unit : int
        The lowest digit has the unit ``2**unit``.

    Examples
    --------
    >>> parts = [exact_sum(np.array(part)) for part in ([1e100, 1.0], [-1e100, 2.0**-70])]
    >>> float(sum(parts[1:], parts[0]).value), 1e100 + 1.0 - 1e100 + 2.0**-70
    (1.0, 8.470329472543003e-22)
    """

    limbs: NDArray[np.int64]
    unit: int

    @classmethod
    def zero(cls, layout: tuple[int, int], shape: tuple[int, ...] = ()) -> "Exact":
        """Return an empty sum: ``layout`` is one of ``ANY``, ``MEANS`` and ``PRODUCTS``."""
        return cls(np.zeros((layout[1], *shape), np.int64), layout[0])

    def __add__(self, other: "Exact") -> "Exact":
        if self.unit != other.unit or self.limbs.shape != other.limbs.shape:
            raise ValueError(
                f"sums of shapes {self.limbs.shape[1:]} and {other.limbs.shape[1:]}, in units of 2^{self.unit} and "
                f"2^{other.unit}, cannot be added; both must be sums of the same kind"
            )
        return Exact(_carried(self.limbs + other.limbs), self.unit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Exact) and self.unit == other.unit and np.array_equal(self.limbs, other.limbs)

    __hash__ = None  # type: ignore[assignment]

    def plus_integers(self, integers: NDArray[np.int64], exponent: int) -> "Exact":
        """Add integers of at most 63 bits times ``2**exponent``, which must not be less than the unit."""
        place, shift = divmod(exponent - self.unit, BITS)
        low, high = (integers & MASK) << shift, (integers >> BITS) << shift
        limbs = self.limbs.copy()
        limbs[place] += low & MASK
        limbs[place + 1] += (low >> BITS) + (high & MASK)
        limbs[place + 2] += high >> BITS
        return Exact(_carried(limbs), self.unit)

    @property
    def value(self) -> NDArray[np.float64]:
        """The sum in float64, accurate to a few units in the last place."""
        total = np.zeros(self.limbs.shape[1:])
        # From the highest digit down, so that nothing is rounded before the sum has 53 bits.
        for place in range(len(self.limbs) - 1, -1, -1):
            if self.limbs[place].any():
                total = total + np.ldexp(self.limbs[place].astype(np.float64), BITS * place + self.unit)
        return np.asarray(total)


def exact_sum(numbers: NDArray[np.floating[Any]]) -> Exact:
    """Return the exact sum of finite numbers, (n,), or of rows of them, (n, m)."""
    numbers = np.ascontiguousarray(numbers, np.float64)
    flat = numbers.reshape(len(numbers), math.prod(numbers.shape[1:]))
    limbs = np.zeros((ANY[1], flat.shape[1]), np.int64)
    add_bits(flat.view(np.int64), limbs)
    return Exact(limbs.reshape(ANY[1], *numbers.shape[1:]), ANY[0])


def exact_mean_sum(
    rows: NDArray[Any],
    factors: NDArray[np.float64],
    shares: NDArray[np.float64],
    common: NDArray[np.float64],
    lengths: NDArray[np.float64] | None = None,
) -> Exact:
    """Return the exact sum of ``factors[i] * rows[i] + shares[i] * common``, (dim,).

    The entries of each term should be within [-1, 1]; others are clipped to it.

    Parameters
    ----------
    rows : (n, dim) float32 or float64
    factors, shares : (n,) float64
    common : (dim,) float64
    lengths : (n,) float64, default=None
        Lengths of the rows, if known: rows too short to need clipping are added faster, with the same result.
    """
    total = Exact.zero(MEANS, (rows.shape[1],))
    within = np.zeros(len(rows), np.bool_)
    if lengths is not None and len(common):
        within = np.abs(factors) * lengths + np.abs(shares) * np.abs(common).max() < SHORT
    for begin in range(0, len(rows), MOST_ROWS):
        part = slice(begin, begin + MOST_ROWS)
        fine, finer = np.zeros((2, rows.shape[1]), np.int64)
        add_bounded(rows[part], factors[part], shares[part], common, within[part], fine, finer)
        total = total.plus_integers(fine, -FINE).plus_integers(finer, -FINER)
    return total


def exact_products(rows: NDArray[Any], factors: NDArray[np.float64]) -> Exact:
    """Return the exact sum of ``factors[i] * outer(rows[i], rows[i])``, (n, dim), (n,) -> (dim, dim).

    Parameters
    ----------
    rows : (n, dim) float32 or float64
    factors : (n,) float64
        Not negative. The outer products are those of the rows times the square roots of their factors, in float64.
    """
    n, dim = rows.shape
    powers = np.empty(n, np.int64)
    find_powers(rows, factors, powers)
    order = np.argsort(powers, kind="stable")
    halves, total = np.empty((PRODUCT_ROWS, 2 * dim)), Exact.zero(PRODUCTS, (dim, dim))
    begin = int(np.searchsorted(powers, NOTHING, side="right", sorter=order))  # rows of zeros come first
    while begin < n:
        power = int(powers[order[begin]])
        end = int(np.searchsorted(powers, power, side="right", sorter=order))  # of the rows with this power
        end = min(end, begin + MOST_PRODUCTS)
        sums = np.zeros((dim, 2 * dim), np.int64)
        for at in range(begin, end, PRODUCT_ROWS):
            chosen = order[at : min(at + PRODUCT_ROWS, end)]
            part = halves[: len(chosen)]
            split_rows(rows, factors, chosen, 2.0 ** (HALF - power), part)
            sums += (part[:, :dim].T @ part).astype(np.int64)
        upper, mixed = sums[:, :dim], sums[:, dim:]
        total = total.plus_integers(upper, 2 * power - 2 * HALF)
        total = total.plus_integers(mixed + mixed.T, 2 * power - 3 * HALF)
        begin = end
    return total


def _carried(limbs: NDArray[np.int64]) -> NDArray[np.int64]:
    carry_digits(limbs.reshape(len(limbs), -1))
    return limbs
