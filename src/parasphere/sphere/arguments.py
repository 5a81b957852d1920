"""Converting and checking the arguments of functions on the sphere, and converting results back."""

from __future__ import annotations

import numbers
import operator
from typing import Final

import numpy as np

from . import bessel
from .bessel import Array

_LARGEST: Final = 1e150  # its square is still finite
_UNIT_TOLERANCE: Final = 1e-3  # of a vector's length: rejects unnormalised input, accepts half precision


def float64(x: Array, name: str) -> Array:
    """Return x as a Python float or as a float64 array."""
    if isinstance(x, numbers.Real):
        return float(x)
    x = np.asarray(x)
    if x.dtype.kind not in "fiu":
        raise ValueError(f"{name} must hold real numbers, not {x.dtype}")
    return x.astype(np.float64, copy=False)


def like(result: Array, *arguments: Array) -> Array:
    """Return the result in the precision of the arguments: float32 if every array among them is float32."""
    types = [x.dtype for x in arguments if hasattr(x, "dtype")]
    if isinstance(result, float):
        return np.float32(result) if types and all(t == np.float32 for t in types) else result
    if types and all(t == np.float32 for t in types):
        result = result.astype(np.float32)
    return result[()] if result.ndim == 0 else result


def require(x: Array, low: float, high: float, what: str) -> None:
    """Raise if a value is NaN or lies outside [low, high], naming the first such value."""
    if isinstance(x, float):
        if low <= x <= high:
            return
        bad, at = float(x), ""
    else:
        if x.size == 0 or (x.min() >= low and x.max() <= high):
            return
        flat = x.reshape(-1)
        first = int((~((flat >= low) & (flat <= high))).argmax())
        where = ", ".join(str(int(i)) for i in np.unravel_index(first, x.shape))
        bad, at = float(flat[first]), f" at index [{where}]" if where else ""
    raise ValueError(f"{what} must lie in [{low:g}, {high:g}], not {bad!r}{at}")


def nonnegative(x: Array, name: str, most: float = _LARGEST) -> Array:
    """Return numbers as float64; raise unless they lie between 0 and ``most``."""
    x = float64(x, name)
    require(x, 0.0, most, name)
    return x


def order_of_dim(dim: int) -> bessel.Order:
    """Return the constants of a dimension; raise unless it is a whole number of at least 2."""
    try:
        whole = operator.index(dim)
    except TypeError:
        raise ValueError(f"dim must be a whole number, not {dim!r}") from None
    if whole < 2:
        raise ValueError(f"dim must be at least 2, not {dim!r}")
    return bessel.order_of(whole)


def unit_vectors(x: Array, name: str) -> Array:
    """Return vectors as a float64 array, (..., dim); raise unless they have unit length."""
    x = float64(x, name)
    shape = () if isinstance(x, float) else tuple(x.shape)
    if not shape or shape[-1] < 2:
        raise ValueError(f"{name} must have shape (..., dim) with dim at least 2, not {shape}")
    lengths = np.sqrt(np.vecdot(x, x))
    require(lengths, 1 - _UNIT_TOLERANCE, 1 + _UNIT_TOLERANCE, f"the length of {name}, a unit vector,")
    return x


def two_unit_vectors(x: Array, y: Array, names: tuple[str, str]) -> tuple[Array, Array, bessel.Order]:
    """Return two arrays of unit vectors and the constants of their dimension, which must be the same."""
    x, y = unit_vectors(x, names[0]), unit_vectors(y, names[1])
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"{names[0]} and {names[1]} differ in dimension: {x.shape[-1]} and {y.shape[-1]}")
    return x, y, bessel.order_of(x.shape[-1])
