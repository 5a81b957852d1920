"""Counts of topics per value of a column."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tables import Table


def over_column(column: Sequence[Any], labels: NDArray[np.int64], k: int) -> Table:
    """Count labels, of -1 to ``k - 1``, per value of a column; the values are in ascending order, missing ones last."""
    values = [None if _missing(value) else value for value in _plain(column)]
    if len(values) != len(labels):
        raise ValueError(f"the column has {len(values):,} values for {len(labels):,} texts; it needs one per text")
    try:
        distinct: list[Any] = sorted({value for value in values if value is not None})
    except TypeError as error:
        raise ValueError(f"the values of the column cannot be put in order: {error}") from None
    if None in values:
        distinct.append(None)
    rows = {value: i for i, value in enumerate(distinct)}
    counts = np.zeros((len(distinct), k + 1), np.int64)
    np.add.at(counts, (np.array([rows[value] for value in values], np.int64), labels + 1), 1)
    first = 0 if counts[:, 0].any() else 1
    topics = {str(topic - 1): counts[:, topic].tolist() for topic in range(first, k + 1)}
    return Table.of({"value": distinct} | topics)


def _plain(column: Any) -> list[Any]:
    """Return the values of a column as a list."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)  # of Arrow


def _missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA, none of which is equal to itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
