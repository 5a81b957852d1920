"""Tables for people: pandas where it is installed, otherwise lists of dicts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def table(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns of equal length as a pandas.DataFrame, or as a list of dicts if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return pd.DataFrame(dict(columns))


def over_column(column: Sequence[Any], labels: NDArray[np.int64], k: int) -> Any:
    """Count labels, of -1 to ``k - 1``, per value of a column; the values ascend, and missing ones come last."""
    values = [None if _missing(value) else value for value in _plain(column)]
    if len(values) != len(labels):
        raise ValueError(f"the column has {len(values):,} values for {len(labels):,} texts; it needs one per text")
    try:
        distinct: list[Any] = sorted({value for value in values if value is not None})
    except TypeError as error:
        raise ValueError(f"the values of the column cannot be put in order: {error}") from None
    if None in values:
        distinct.append(None)
    place = {value: i for i, value in enumerate(distinct)}
    counts = np.zeros((len(distinct), k + 1), np.int64)
    np.add.at(counts, (np.array([place[value] for value in values], np.int64), labels + 1), 1)
    first = 0 if counts[:, 0].any() else 1
    shown = np.array(distinct, object) if distinct and distinct[-1] is None else distinct  # numbers stay as they are
    return table({"value": shown} | {str(topic - 1): counts[:, topic].tolist() for topic in range(first, k + 1)})


def _plain(column: Any) -> list[Any]:
    """Return the values of a column as Python's own."""
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column)


def _missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or pandas.NA, none of which is equal to itself."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
