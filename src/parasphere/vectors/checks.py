"""Checks of the arrays that word vectors consist of."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compiled import compiled, guarded
from ..errors import VectorsError

_UNIT = 1e-3  # how far the squared length of a unit row may be from 1


def shaped_rows(matrix: ArrayLike, n_words: int) -> NDArray[np.float32]:
    """Return a matrix (n_words, dim) as read-only float32 in C order; raise if it is not one."""
    given = np.asarray(matrix)
    if given.ndim != 2 or len(given) != n_words or not given.shape[1] or given.dtype.kind not in "fiu":
        raise VectorsError(
            f"{n_words:,} words need a matrix of numbers with one row each, not {given.dtype} of shape {given.shape}"
        )
    return _read_only(np.ascontiguousarray(given, np.float32))


def check_saved_rows(arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless the matrix of saved word vectors has unit rows."""
    check_unit(shaped_rows(arrays["matrix"], len(arrays["matrix"])), "the folder")


def check_unit(rows: NDArray[np.float32], name: str) -> None:
    """Raise unless all rows have unit length; ``name`` is for the message."""
    bad = int(_first_not_unit(rows))
    if bad >= 0:
        with np.errstate(all="ignore"):
            length = float(np.linalg.norm(rows[bad].astype(np.float64)))
        raise VectorsError(
            f"the rows of {name} must have unit length, and row {bad:,} has length {length:.6g}; "
            "WordVectors.from_arrays normalises"
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def checked_numbers(numbers: ArrayLike, n_words: int, what: str) -> NDArray[np.float64]:
    """Return one finite, non-negative number per word as read-only float64; ``what`` is for the message."""
    given = np.asarray(numbers)
    if given.shape != (n_words,) or given.dtype.kind not in "fiu":
        raise VectorsError(f"{n_words:,} words need one {what} each, not {given.dtype} of shape {given.shape}")
    array = np.ascontiguousarray(given, np.float64)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise VectorsError(f"{what}s must be finite and not negative; {what} {bad[0]:,} is {array[bad[0]]}")
    return _read_only(array)


@guarded(matrix="f4[n,dim]")
@compiled(fastmath={"reassoc"})  # a sum in any order: several terms at a time
def _first_not_unit(matrix: Any) -> Any:
    """Return the first row whose length is not about 1, or -1."""
    for row in range(matrix.shape[0]):
        total = np.float32(0.0)
        for column in range(matrix.shape[1]):
            total += matrix[row, column] * matrix[row, column]
        if not abs(total - np.float32(1.0)) <= np.float32(_UNIT):
            return row
    return -1
