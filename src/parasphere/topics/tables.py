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
    """Count labels, of -1 to ``k - 1``, per value of a column; the values ascend."""
    values = list(column)
    if len(values) != len(labels):
        raise ValueError(f"the column has {len(values):,} values for {len(labels):,} texts; it needs one per text")
    distinct = sorted(set(values))
    place = {value: i for i, value in enumerate(distinct)}
    counts = np.zeros((len(distinct), k + 1), np.int64)
    np.add.at(counts, (np.array([place[value] for value in values], np.int64), labels + 1), 1)
    first = 0 if counts[:, 0].any() else 1
    return table({"value": distinct} | {str(topic - 1): counts[:, topic].tolist() for topic in range(first, k + 1)})
