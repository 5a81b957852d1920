"""The loops over the rows of a matrix, by their old name: see :mod:`parasphere._kernels`."""

from typing import Any

import numpy as np

from .. import _kernels
from .._kernels import add_hashed, count_ids, project, sum_rows, unit_combinations, weighted_sum

__all__ = [
    "HASHED",
    "add_hashed",
    "count_ids",
    "map_shifted_rows",
    "project",
    "sum_lifted_rows",
    "sum_rows",
    "unit_combinations",
    "weighted_sum",
]

HASHED = -3  # ids of this and less are those of words that have no row, only a hash: HASHED - hash


def map_shifted_rows(rows: Any, factors: Any, shift: Any, matrix: Any, silent: Any, out: Any) -> None:
    """Map the rows, which may have several blocks (facets) as wide as the matrix."""
    n, width = rows.shape
    dim = width if matrix is None else len(matrix)
    if width == dim:
        _kernels.map_shifted_rows(rows, factors, shift, matrix, silent, out)
        return
    for begin in range(0, width, dim):
        block, part = slice(begin, begin + dim), np.empty((n, dim), out.dtype)
        moved = np.ascontiguousarray(rows[:, block]), factors, np.ascontiguousarray(shift[block])
        _kernels.map_shifted_rows(*moved, matrix, silent, part)
        out[:, block] = part


def sum_lifted_rows(
    ids: Any, ends: Any, matrix: Any, weights: Any, hashed: Any, starts: Any, facets: Any, parts: Any,
    sums: Any, lengths: Any, squared_norms: Any, unknown: Any, squared_weights: Any,
) -> None:  # fmt: skip
    """Sum rows like :func:`sum_rows`, each into the blocks of its facets: slow, until there are no facets any more."""
    dim = matrix.shape[1]
    sum_rows(
        ids, ends, matrix, weights, hashed, np.empty((len(ends), dim)), lengths, squared_norms, unknown, squared_weights
    )
    begin = 0
    for doc, end in enumerate(ends.tolist()):
        total = np.zeros(sums.shape[1])
        for word in ids[begin:end].tolist():
            for k in range(starts[word], starts[word + 1]) if word >= 0 else ():
                part = parts[k] if weights is None else weights[word] * parts[k]
                total[dim * facets[k] : dim * (facets[k] + 1)] += matrix[word].astype(np.float64) * part
        sums[doc] = total
        squared_norms[doc] = sum(float(number) ** 2 for number in sums[doc])
        begin = end
