"""Rows of numbers scaled to unit length."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._kernels import unit_combinations

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def unit_rows(rows: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return rows divided by their lengths, (n, dim), computed in float64; rows of zeros stay zero.

    Parameters
    ----------
    rows : (n, dim) array
    dtype : {float32, float64}, default=None
        Type of the result; None is that of the rows, or float32 for float16 and float64 for integers.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    rows = np.ascontiguousarray(rows, rows.dtype if rows.dtype in _FLOATS else np.result_type(rows, np.float32))
    result, zeros = np.empty(rows.shape, rows.dtype if dtype is None else dtype), np.zeros(rows.shape[1])
    unit_combinations(rows, np.ones(len(rows)), zeros, zeros, result)
    return result
