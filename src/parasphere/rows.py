"""The compiled loops over the rows of a matrix: sums of word vectors, and the two products of an EM iteration.

Everything is added up in float64 and in an order that depends on the numbers alone, never on how many rows are
handed over at once: a document's bits are the same alone and among a million.
"""

from typing import Any

import numpy as np
from numba import njit

from .machine import add_eight, add_products_f32, add_products_f64, address, prefetch

AHEAD = 12  # how many words ahead of the sum their rows are asked for
STRETCH = 4096  # rows that are added up before their sum joins the others


@njit(cache=True, nogil=True)
def sum_rows(
    ids: Any, ends: Any, matrix: Any, weights: Any, sums: Any, lengths: Any, squared_norms: Any, unknown: Any
) -> None:
    """Add up the float32 rows of each document's word ids, in their order, in float64.

    ``weights`` is None or one weight a row. ``sums`` (n_docs, dim) and the three (n_docs,) arrays are written.
    """
    dim = matrix.shape[1]
    total = np.empty(dim, np.float64)
    into, rows, width = address(total), address(matrix), 4 * dim
    begin = 0
    for doc in range(ends.shape[0]):
        total[:] = 0.0
        length = 0.0
        missing = 0
        for i in range(begin, ends[doc]):
            if i + AHEAD < ids.shape[0] and ids[i + AHEAD] >= 0:
                coming = rows + width * np.int64(ids[i + AHEAD])
                for byte in range(0, width, 64):
                    prefetch(coming + byte)
            if ids[i] < 0:
                missing += 1
                continue
            row = rows + width * np.int64(ids[i])
            weight = 1.0 if weights is None else weights[ids[i]]
            length += weight
            for j in range(0, dim - 7, 8):
                add_eight(into + 8 * j, row + 4 * j, weight)
            for j in range(dim & ~7, dim):
                total[j] += np.float64(matrix[ids[i], j]) * weight
        squared = 0.0
        for j in range(dim):
            sums[doc, j] = total[j]
            squared += np.float64(sums[doc, j]) ** 2
        lengths[doc] = length
        squared_norms[doc] = squared
        unknown[doc] = missing
        begin = ends[doc]


@njit(cache=True, nogil=True)
def sum_lifted_rows(
    ids: Any, ends: Any, matrix: Any, weights: Any, starts: Any, facets: Any, parts: Any, sums: Any, lengths: Any,
    squared_norms: Any, unknown: Any,
) -> None:  # fmt: skip
    """Like :func:`sum_rows`, with each row added to the blocks of its facets, times its part in each.

    The facets of word w are ``facets[starts[w] : starts[w + 1]]``; ``sums`` is (n_docs, n_facets * dim).
    """
    dim = matrix.shape[1]
    total = np.empty(sums.shape[1], np.float64)
    into, rows = address(total), address(matrix)
    begin = 0
    for doc in range(ends.shape[0]):
        total[:] = 0.0
        length = 0.0
        missing = 0
        for i in range(begin, ends[doc]):
            w = ids[i]
            if w < 0:
                missing += 1
                continue
            weight = 1.0 if weights is None else weights[w]
            length += weight
            row = rows + 4 * dim * np.int64(w)
            for k in range(starts[w], starts[w + 1]):
                block, part = dim * np.int64(facets[k]), weight * parts[k]
                for j in range(0, dim - 7, 8):
                    add_eight(into + 8 * (block + j), row + 4 * j, part)
                for j in range(dim & ~7, dim):
                    total[block + j] += np.float64(matrix[w, j]) * part
        squared = 0.0
        for j in range(total.shape[0]):
            sums[doc, j] = total[j]
            squared += np.float64(sums[doc, j]) ** 2
        lengths[doc] = length
        squared_norms[doc] = squared
        unknown[doc] = missing
        begin = ends[doc]


@njit(cache=True, nogil=True)
def project(rows: Any, direction: Any, along: Any) -> None:
    """Write the inner product of each (contiguous) row with a direction to ``along``: (n, dim), (dim,) -> (n,)."""
    dim, size = direction.shape[0], rows.itemsize
    eight = np.empty(8, np.float64)  # sums side by side: the compiler may not reorder additions by itself
    into, first, factors = address(eight), address(rows), address(direction)
    for i in range(rows.shape[0]):
        eight[:] = 0.0
        row = first + size * dim * i
        for j in range(0, dim - 7, 8):
            if size == 4:
                add_products_f32(into, row + size * j, factors + 8 * j)
            else:
                add_products_f64(into, row + size * j, factors + 8 * j)
        total = ((eight[0] + eight[1]) + (eight[2] + eight[3])) + ((eight[4] + eight[5]) + (eight[6] + eight[7]))
        for j in range(dim & ~7, dim):
            total += rows[i, j] * direction[j]
        along[i] = total


@njit(cache=True, nogil=True)
def weighted_sum(rows: Any, weights: Any, total: Any) -> None:
    """Write the sum of the rows times their weights to ``total``: (n, dim), (n,) -> (dim,)."""
    dim = total.shape[0]
    total[:] = 0.0
    part = np.empty(dim, np.float64)
    for begin in range(0, rows.shape[0], STRETCH):
        part[:] = 0.0
        for i in range(begin, min(begin + STRETCH, rows.shape[0])):
            weight = weights[i]
            for j in range(dim):
                part[j] += weight * rows[i, j]
        total += part
