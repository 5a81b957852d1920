"""Exact sums: the same bits however the terms are grouped, ordered, and spread over machines.

A sum of floating-point numbers depends on the order of its terms, because every addition is rounded. Here terms are
integers, times a power of two, and sums are kept as wide integers: no addition is rounded, and only the final value is.
There are three ways in, by what is known of the terms:

* :func:`exact_sum`: any finite numbers. Each is cut into pieces of 32 bits (a superaccumulator, as Kulisch proposed).
* :func:`exact_mean_sum`: rows with entries of at most 1, many of them. Each entry is rounded to a multiple of 2^-76 in
  two steps, by adding and subtracting a large number, so that the sums of 2,048 rows fit into the 53 bits of a float64.
* :func:`exact_products`: the sum of the outer products of rows with themselves, at the speed of BLAS. Each row is
  rounded to 42 bits below a power of two and cut in two halves of 21 bits. The products of halves, summed over 1,024
  rows, are integers of at most 53 bits, which BLAS adds without rounding in whichever order it likes (the scheme of
  Ozaki and others). The product of the two lower halves is left out.

In the last two, what is rounded is a single row, by itself, and so the result does not depend on the others.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .jit import compiled
from .layout import guarded

BITS = 32  # of a limb
MASK = (1 << BITS) - 1
ANY = -1088, 66  # exponent of the unit and number of limbs of sums of any numbers
MEANS = -96, 5  # of sums of rows with entries of at most 1
PRODUCTS = -128, 7  # of sums of outer products

STRETCH = 2048  # rows whose rounded entries a float64 sums exactly
FINE, FINER = 38, 76  # entries are rounded to multiples of 2^-38, and what is left of them to multiples of 2^-76
SHORT = 1 - 1e-6  # a bound of the entries of rows that need not be clipped
MOST_ROWS = 1 << 24  # rows whose sums an int64 holds
HALF = 21  # bits of each half of an entry
PRODUCT_ROWS = 1024  # rows whose products of halves a float64 sums exactly
MOST_PRODUCTS = 1 << 20  # rows whose products an int64 sums
NOTHING = -34  # in place of the power of two that bounds a row, for rows of zeros


@dataclass(frozen=True, eq=False)
class Exact:
    """An exact sum of numbers, or of arrays of numbers. ``+`` adds two, in any order, with the same result.

    Attributes
    ----------
    limbs : (n_limbs, ...) int64
        The digits of the sum in base 2^32, lowest first: not negative, but for the highest.
    unit : int
        The lowest digit counts units of ``2**unit``.

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
        """The sum in float64, wrong by a few units in the last place at most."""
        total = np.zeros(self.limbs.shape[1:])
        # From the highest digit down: nothing is rounded before the sum has 53 bits.
        for place in range(len(self.limbs) - 1, -1, -1):
            if self.limbs[place].any():
                total = total + np.ldexp(self.limbs[place].astype(np.float64), BITS * place + self.unit)
        return np.asarray(total)


def exact_sum(numbers: NDArray[np.floating[Any]]) -> Exact:
    """Return the exact sum of finite numbers, (n,), or of rows of them, (n, m)."""
    numbers = np.ascontiguousarray(numbers, np.float64)
    flat = numbers.reshape(len(numbers), math.prod(numbers.shape[1:]))
    limbs = np.zeros((ANY[1], flat.shape[1]), np.int64)
    _add_bits(flat.view(np.int64), limbs)
    return Exact(limbs.reshape(ANY[1], *numbers.shape[1:]), ANY[0])


def exact_mean_sum(
    rows: NDArray[Any],
    factors: NDArray[np.float64],
    shares: NDArray[np.float64],
    common: NDArray[np.float64],
    lengths: NDArray[np.float64] | None = None,
) -> Exact:
    """Return the exact sum of ``factors[i] * rows[i] + shares[i] * common``, (dim,), each entry within [-1, 1].

    Entries beyond are taken as 1 or -1.

    Parameters
    ----------
    rows : (n, dim) float32 or float64
    factors, shares : (n,) float64
    common : (dim,) float64
    lengths : (n,) float64, default=None
        Lengths of the rows, if they are known: rows too short to reach 1 are added faster, with the same result.
    """
    total = Exact.zero(MEANS, (rows.shape[1],))
    within = np.zeros(len(rows), np.bool_)
    if lengths is not None and len(common):
        within = np.abs(factors) * lengths + np.abs(shares) * np.abs(common).max() < SHORT
    for begin in range(0, len(rows), MOST_ROWS):
        part = slice(begin, begin + MOST_ROWS)
        fine, finer = np.zeros((2, rows.shape[1]), np.int64)
        _add_bounded(rows[part], factors[part], shares[part], common, within[part], fine, finer)
        total = total.plus_integers(fine, -FINE).plus_integers(finer, -FINER)
    return total


def exact_products(rows: NDArray[Any], factors: NDArray[np.float64]) -> Exact:
    """Return the exact sum of ``factors[i] * outer(rows[i], rows[i])``, (n, dim), (n,) -> (dim, dim).

    Parameters
    ----------
    rows : (n, dim) float32 or float64
    factors : (n,) float64
        Not negative. A row is multiplied by the root of its factor, in float64, and is then what is summed.
    """
    n, dim = rows.shape
    powers = np.empty(n, np.int64)
    _find_powers(rows, factors, powers)
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
            _split(rows, factors, chosen, 2.0 ** (HALF - power), part)
            sums += (part[:, :dim].T @ part).astype(np.int64)
        upper, mixed = sums[:, :dim], sums[:, dim:]
        total = total.plus_integers(upper, 2 * power - 2 * HALF)
        total = total.plus_integers(mixed + mixed.T, 2 * power - 3 * HALF)
        begin = end
    return total


@compiled
def _carry_digits(limbs: Any) -> None:
    """Bring all digits but the highest into [0, 2^32)."""
    for place in range(limbs.shape[0] - 1):
        for i in range(limbs.shape[1]):
            limbs[place + 1, i] += limbs[place, i] >> 32
            limbs[place, i] &= 0xFFFFFFFF


_carry = guarded(limbs="i8[limbs,n]")(_carry_digits)


def _carried(limbs: NDArray[np.int64]) -> NDArray[np.int64]:
    _carry(limbs.reshape(len(limbs), -1))
    return limbs


@guarded(bits="i8[n,m]", limbs="i8[66,m]")
@compiled
def _add_bits(bits: Any, limbs: Any) -> None:
    """Add float64 numbers, given as their bits, to sums in the layout ``ANY``."""
    for i in range(bits.shape[0]):
        for j in range(bits.shape[1]):
            exponent = (bits[i, j] >> 52) & 0x7FF
            digits = bits[i, j] & 0xFFFFFFFFFFFFF
            if exponent:
                digits |= 1 << 52
            else:
                exponent = 1
            at = exponent - 1075 + 1088
            place, shift = at >> 5, at & 31
            if place > 63:
                raise ValueError("numbers must be finite, and below 2^1012, to be summed")
            low, high = (digits & 0xFFFFFFFF) << shift, (digits >> 32) << shift
            sign = 1 if bits[i, j] >= 0 else -1
            limbs[place, j] += sign * (low & 0xFFFFFFFF)
            limbs[place + 1, j] += sign * ((low >> 32) + (high & 0xFFFFFFFF))
            limbs[place + 2, j] += sign * (high >> 32)
        if i & 0xFFFFFFF == 0xFFFFFFF:  # before the digits overflow
            _carry_digits(limbs)
    _carry_digits(limbs)


@guarded(
    rows="f[n,dim]", factors="f8[n]", shares="f8[n]", common="f8[dim]", within="b1[n]", fine="i8[dim]", finer="i8[dim]"
)
@compiled
def _add_bounded(rows: Any, factors: Any, shares: Any, common: Any, within: Any, fine: Any, finer: Any) -> None:
    """Add the entries of :func:`exact_mean_sum` to integers, in units of 2^-38 and 2^-76; clip all but those within."""
    dim = rows.shape[1]
    large, small = 1.5 * 2.0**14, 1.5 * 2.0**-24  # their last bits are 2^-38 and 2^-76
    upper, lower, entries = np.empty(dim, np.float64), np.empty(dim, np.float64), np.empty(dim, np.float64)
    for begin in range(0, rows.shape[0], 2048):
        upper[:] = 0.0
        lower[:] = 0.0
        i, end = begin, min(begin + 2048, rows.shape[0])
        while i < end:
            factor, share = factors[i], shares[i]
            if i + 1 < end and within[i] and within[i + 1]:  # two at once: sums are read and written half as often
                other, its_share = factors[i + 1], shares[i + 1]
                for j in range(dim):
                    one = share * common[j] + factor * rows[i, j]
                    two = its_share * common[j] + other * rows[i + 1, j]
                    rounded_one, rounded_two = (one + large) - large, (two + large) - large
                    upper[j] += rounded_one + rounded_two
                    lower[j] += (((one - rounded_one) + small) - small) + (((two - rounded_two) + small) - small)
                i += 2
                continue
            # Two short loops: one with all arrays would not be vectorised, and nor would min and max.
            for j in range(dim):
                entry = share * common[j] + factor * rows[i, j]
                entry = entry if entry < 1.0 else 1.0
                entries[j] = entry if entry > -1.0 else -1.0
            for j in range(dim):
                rounded = (entries[j] + large) - large
                upper[j] += rounded
                lower[j] += ((entries[j] - rounded) + small) - small
            i += 1
        for j in range(dim):
            fine[j] += np.int64(upper[j] * 2.0**38)
            finer[j] += np.int64(lower[j] * 2.0**76)


@guarded(rows="f[n,dim]", factors="f8[n]", powers="i8[n]")
@compiled
def _find_powers(rows: Any, factors: Any, powers: Any) -> None:
    """Write the least even power of two, from -32 to 32, above the entries of each row times the root of its factor."""
    for i in range(rows.shape[0]):
        largest = 0.0
        for j in range(rows.shape[1]):
            size = abs(np.float64(rows[i, j]))
            largest = size if size > largest else largest
        largest *= factors[i] ** 0.5
        power, bound = -32 if largest > 0.0 else -34, 2.0**-32
        while bound <= largest and power < 32:  # even powers only, so that there are few
            power, bound = power + 2, 4.0 * bound
        powers[i] = power


@guarded(rows="f[n,dim]", factors="f8[n]", chosen="i8[m]", halves="f8[m,*]")
@compiled
def _split(rows: Any, factors: Any, chosen: Any, scale: Any, halves: Any) -> None:
    """Write the two halves of each chosen row, times the root of its factor and ``scale``, as integers."""
    dim = rows.shape[1]
    large = 1.5 * 2.0**52  # the last bit of which is 1
    if halves.shape[1] != 2 * dim:
        raise ValueError("the halves of rows are twice as wide as the rows")
    for k in range(chosen.shape[0]):
        i = chosen[k]
        if i < 0 or i >= rows.shape[0]:
            raise ValueError("a chosen row is beyond the last")
        factor = factors[i] ** 0.5
        for j in range(dim):
            entry = (factor * rows[i, j]) * scale
            high = (entry + large) - large
            halves[k, j] = high
            halves[k, dim + j] = ((entry - high) * 2097152.0 + large) - large
