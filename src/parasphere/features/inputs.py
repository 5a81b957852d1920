"""The kinds of input that stand for documents: texts, tables with one column of texts, and tables of numbers."""

import os
from typing import Any

import numpy as np
from scipy import sparse

from ..corpus import blocks
from .bags import Bags


def is_numeric(x: Any) -> bool:
    """Tell whether x is a table of numbers, sparse ones included, rather than texts or tokens."""
    if sparse.issparse(x):
        return True
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "biufc" or (x.dtype.kind == "O" and x.ndim == 2 and not _has_text(x[:1].ravel()))
    if isinstance(x, list) and x and isinstance(x[0], list | tuple | np.ndarray) and len(x[0]):
        return not isinstance(x[0][0], str)
    if hasattr(x, "__array__") and not hasattr(x, "__iter__"):  # something only numpy can look into
        return is_numeric(np.asarray(x))
    if hasattr(x, "dtypes") and hasattr(x, "to_numpy") and getattr(x, "ndim", 0) == 2:  # a pandas DataFrame
        return not _has_text(x.iloc[:1].to_numpy().ravel())
    return False


def _has_text(values: Any) -> bool:
    return any(isinstance(value, str) for value in values)


def as_texts(x: Any) -> Any:
    """Return the only column of a table of one column, as ``ColumnTransformer`` passes it, and anything else as is."""
    if getattr(x, "ndim", 0) == 2 and x.shape[1] == 1:
        return x.iloc[:, 0] if hasattr(x, "iloc") else x[:, 0]
    return x


def held_texts(x: Any) -> Any:
    """Return texts that can be read twice: a stream is held in memory, as Arrow blocks."""
    return x if isinstance(x, str | os.PathLike | Bags) else list(blocks(as_texts(x)))
