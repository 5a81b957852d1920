"""The compiled loops over the rows of a matrix: sums of word vectors, and the two products of an EM iteration.

Everything is summed in float64, in an order that does not depend on how many rows are passed at once: a document has
the same bits alone and among a million.
"""

from typing import Any

import numpy as np

from .jit import compiled
from .layout import guarded
from .memory import add_eight, add_eight_rows, add_products_f32, add_products_f64, address, prefetch

HASHED = -3  # ids of this and less are those of words that have no row, only a hash: HASHED - hash
AHEAD = 12  # how many words ahead rows are prefetched
GROUP = 16  # rows that are multiplied together
STRETCH = 4096  # rows per partial sum


@compiled
def _check_ids(ids: Any, ends: Any, n_rows: Any) -> None:
    """Raise unless the ends of documents rise and lie within the ids, and each id is a row or negative."""
    begin = 0
    for doc in range(ends.shape[0]):
        if ends[doc] < begin or ends[doc] > ids.shape[0]:
            raise ValueError("the ends of documents must rise, and lie within the ids")
        begin = ends[doc]
    highest = -1
    for i in range(ids.shape[0]):
        highest = max(highest, ids[i])
    if highest >= n_rows:
        raise ValueError("a word's id is beyond the last row")


@compiled(forceinline=True)
def _next_bits(state: Any) -> Any:
    """Return the next state and 64 random bits of the generator SplitMix64."""
    state += np.uint64(0x9E3779B97F4A7C15)
    bits = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, bits ^ (bits >> np.uint64(31))


@compiled
def _add_hashed(word: Any, weight: Any, total: Any) -> None:
    """Add the unit vector of a word without a row, times a weight: plus or minus 1 / sqrt(dim) by random bits.

    ``word`` is its id, from which the bits follow. Two such vectors are nearly orthogonal, as random ones are.
    """
    dim = total.shape[0]
    step = weight / np.sqrt(np.float64(dim))
    state = np.uint64(HASHED - np.int64(word))
    bits = np.uint64(0)
    for j in range(dim):
        if j & 63 == 0:
            state, bits = _next_bits(state)
        total[j] += step if bits & np.uint64(1) else -step
        bits >>= np.uint64(1)


@guarded(total="f8[dim]")
@compiled
def add_hashed(word: Any, weight: Any, total: Any) -> None:
    """Add the unit vector of a word that has only a hash, times a weight, to ``total`` (dim,)."""
    _add_hashed(word, weight, total)


@guarded(
    ids="i4[n]", ends="i8[docs]", matrix="f4[words,dim]", weights="f8[words]?", sums="f[docs,dim]",
    lengths="f8[docs]", squared_norms="f8[docs]", unknown="i8[docs]", squared_weights="f8[docs]",
)  # fmt: skip
@compiled
def sum_rows(
    ids: Any, ends: Any, matrix: Any, weights: Any, hashed: Any,
    sums: Any, lengths: Any, squared_norms: Any, unknown: Any, squared_weights: Any,
) -> None:  # fmt: skip
    """Sum the float32 rows of the word ids of each document, in order, in float64.

    ``weights`` is None or has one weight per row. ``hashed`` is the weight of words that have only a hash; if it is 0,
    they count as unknown words do. What is written: the sums (n_docs, dim), and the lengths, squared
    norms, numbers of unknown words, and squared weights, (n_docs,) each.
    """
    dim = matrix.shape[1]
    _check_ids(ids, ends, matrix.shape[0])
    total = np.empty(dim, np.float64)
    into, rows, size = address(total), address(matrix), 4 * dim
    begin = 0
    for doc in range(ends.shape[0]):
        total[:] = 0.0
        length = 0.0
        squares = 0.0
        missing = 0
        for i in range(begin, ends[doc]):
            if i + AHEAD < ids.shape[0] and ids[i + AHEAD] >= 0:
                coming = rows + size * np.int64(ids[i + AHEAD])
                for byte in range(0, size, 64):
                    prefetch(coming + byte)
            w = np.int64(ids[i])
            if w < 0:
                missing += 1
                if w <= HASHED and hashed > 0.0:
                    length += hashed
                    squares += hashed * hashed
                    _add_hashed(w, hashed, total)
                continue
            row = rows + size * w
            weight = 1.0 if weights is None else weights[w]
            length += weight
            squares += weight * weight
            for j in range(0, dim - 7, 8):
                add_eight(into + 8 * j, row + 4 * j, weight)
            for j in range(dim & ~7, dim):
                total[j] += np.float64(matrix[w, j]) * weight
        squared = 0.0
        for j in range(dim):
            sums[doc, j] = total[j]
            squared += np.float64(sums[doc, j]) ** 2
        lengths[doc] = length
        squared_weights[doc] = squares
        squared_norms[doc] = squared
        unknown[doc] = missing
        begin = ends[doc]


@guarded(ids="i4[n]", counts="f8[words]")
@compiled
def count_ids(ids: Any, counts: Any) -> None:
    """Add the number of occurrences of each word id to ``counts``; negative ids are not counted."""
    for i in range(ids.shape[0]):
        if ids[i] >= counts.shape[0]:
            raise ValueError("a word's id is beyond the last row")
        if ids[i] >= 0:
            counts[ids[i]] += 1.0


@guarded(rows="f[n,width]", factors="f8[n]", shift="f8[width]", otherwise="f8[width]", out="f[n,width]")
@compiled
def unit_combinations(rows: Any, factors: Any, shift: Any, otherwise: Any, out: Any) -> None:
    """Write ``shift + factor * row``, divided by its length, for each row; ``otherwise`` where that is 0."""
    width = rows.shape[1]
    moved = np.empty(width, np.float64)
    for i in range(rows.shape[0]):
        even, odd = 0.0, 0.0  # two partial sums: the compiler may not reorder additions
        for j in range(0, width - 1, 2):
            moved[j] = shift[j] + factors[i] * rows[i, j]
            moved[j + 1] = shift[j + 1] + factors[i] * rows[i, j + 1]
            even += moved[j] * moved[j]
            odd += moved[j + 1] * moved[j + 1]
        if width & 1:
            moved[width - 1] = shift[width - 1] + factors[i] * rows[i, width - 1]
            even += moved[width - 1] * moved[width - 1]
        length = (even + odd) ** 0.5
        for j in range(width):
            out[i, j] = moved[j] / length if length > 0.0 else otherwise[j]


@guarded(rows="f[n,dim]", factors="f8[n]", shift="f8[dim]", matrix="f8[dim,dim]?", silent="b1[n]", out="f[n,dim]")
@compiled
def map_shifted_rows(rows: Any, factors: Any, shift: Any, matrix: Any, silent: Any, out: Any) -> None:
    """Write ``factor * row - shift`` for each row, times a matrix if there is one; 0 for those that are silent.

    BLAS would not keep to one order of additions.
    """
    n, dim = rows.shape
    moved, mapped = np.empty((GROUP, dim), np.float64), np.empty((GROUP, dim), np.float64)
    for begin in range(0, n, GROUP):
        many = min(GROUP, n - begin)
        for i in range(many):
            for j in range(dim):
                moved[i, j] = 0.0 if silent[begin + i] else rows[begin + i, j] * factors[begin + i] - shift[j]
        if matrix is None:  # known when this is compiled
            out[begin : begin + many] = moved[:many]
        else:
            mapped[:many] = 0.0
            _add_tiles(address(mapped), address(matrix), address(moved), many, dim)
            _add_rest(moved[:many], matrix, mapped)
            out[begin : begin + many] = mapped[:many]


@compiled
def _add_tiles(into: Any, first: Any, rows: Any, n: Any, dim: Any) -> None:
    """Add the products of ``n`` rows and of the whole eights of a square matrix, by addresses.

    Eight by eight numbers of the matrix are used for all rows while they are near. The sums of a row are those of the
    row alone: the rows of the matrix are added in their order.
    """
    for j in range(0, dim - 7, 8):
        for k in range(0, dim - 7, 8):
            for i in range(n):
                row = 8 * dim * i
                add_eight_rows(into + row + 8 * k, first + 8 * (dim * j + k), 8 * dim, rows + row + 8 * j)


@compiled
def _add_rest(rows: Any, matrix: Any, out: Any) -> None:
    """Add the products that :func:`_add_tiles` leaves out."""
    dim = matrix.shape[0]
    whole = dim & ~7
    for i in range(rows.shape[0]):
        for j in range(dim):
            for k in range(0 if j >= whole else whole, dim):
                out[i, k] += rows[i, j] * matrix[j, k]


@guarded(rows="f[n,dim]", direction="f8[dim]", along="f8[n]")
@compiled
def project(rows: Any, direction: Any, along: Any) -> None:
    """Write the inner product of each (contiguous) row with a direction to ``along``: (n, dim), (dim,) -> (n,)."""
    dim, size = direction.shape[0], rows.itemsize
    eight = np.empty(8, np.float64)  # eight partial sums: the compiler may not reorder additions
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


@guarded(rows="f[n,dim]", weights="f8[n]", total="f8[dim]")
@compiled
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
