"""Sums and products of rows, beside the same additions in the same order in Python, bit by bit."""

import numpy as np
import pytest

from parasphere import _kernels

DIMS = [1, 2, 3, 7, 8, 9, 13, 16, 31, 50, 64, 65, 128, 130]
KINDS = [np.float32, np.float64]


def _hashed(word: int, dim: int) -> np.ndarray:
    """Return the direction of a word that has only a hash, by SplitMix64."""
    state, bits = (-3 - word) % 2**64, []
    for _ in range(0, dim, 64):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        x = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
        x ^= x >> 31
        bits += [(x >> k) & 1 for k in range(64)]
    return np.where(np.array(bits[:dim]) == 1, 1.0, -1.0)


def _sum_rows(ids, ends, matrix, weights, hashed, kind):  # type: ignore[no-untyped-def]
    found, begin = [], 0
    for end in ends:
        total, length, squares, unknown = np.zeros(matrix.shape[1]), 0.0, 0.0, 0
        for word in ids[begin:end].tolist():
            if word >= 0:
                weight = 1.0 if weights is None else weights[word]
                total += matrix[word].astype(np.float64) * weight
            else:
                unknown += 1
                weight = hashed if word <= -3 else 0.0
                if weight:
                    total += (weight / np.sqrt(np.float64(len(total)))) * _hashed(word, len(total))
            length += weight
            squares += weight * weight
        total = total.astype(kind)
        squared = 0.0
        for number in total.astype(np.float64):
            squared += number * number
        found.append((total, length, squared, unknown, squares))
        begin = end
    return [np.array(column) for column in zip(*found, strict=True)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", DIMS)
def test_sums_of_word_vectors(rng: np.random.Generator, dim: int, kind: type) -> None:
    matrix = rng.normal(size=(40, dim)).astype(np.float32)
    ends = np.cumsum(rng.integers(0, 30, 20))
    ids = rng.integers(-5, 40, ends[-1]).astype(np.int32)
    ids[::17] = -(2**30)
    for weights in (None, rng.random(40)):
        for hashed in (0.0, 0.3):
            sums = np.empty((20, dim), kind)
            columns = np.empty(20), np.empty(20), np.empty(20, np.int64), np.empty(20)
            _kernels.sum_rows(ids, ends, matrix, weights, hashed, sums, *columns)
            for one, due in zip((sums, *columns), _sum_rows(ids, ends, matrix, weights, hashed, kind), strict=True):
                assert np.array_equal(one, due)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", DIMS)
def test_products_with_a_direction(rng: np.random.Generator, dim: int, kind: type) -> None:
    rows, direction, along = rng.normal(size=(9, dim)).astype(kind), rng.normal(size=dim), np.empty(9)
    _kernels.project(rows, direction, along)
    whole = dim // 8 * 8
    for i, row in enumerate(rows.astype(np.float64)):
        eight = np.zeros(8)
        for j in range(0, whole, 8):
            eight += row[j : j + 8] * direction[j : j + 8]
        a, b, c, d, e, f, g, h = eight.tolist()
        total = ((a + b) + (c + d)) + ((e + f) + (g + h))
        for j in range(whole, dim):
            total += float(row[j] * direction[j])
        assert along[i] == total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 3, 4096, 4099, 9000])
def test_weighted_sums(rng: np.random.Generator, n: int, kind: type) -> None:
    rows, weights, total = rng.normal(size=(n, 5)).astype(kind), rng.normal(size=n), np.empty(5)
    _kernels.weighted_sum(rows, weights, total)
    due = np.zeros(5)
    for begin in range(0, n, 4096):
        part = np.zeros(5)
        for i in range(begin, min(begin + 4096, n)):
            part += weights[i] * rows[i].astype(np.float64)
        due += part
    assert np.array_equal(total, due)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "dim"), [(0, 3), (1, 1), (5, 2), (300, 7), (256, 16), (513, 17), (700, 50)])
def test_sums_of_outer_products(rng: np.random.Generator, n: int, dim: int, kind: type) -> None:
    rows, weights, total = rng.normal(size=(n, dim)).astype(kind), rng.normal(size=n), np.empty((dim, dim))
    _kernels.outer_products(rows, weights, total)
    due = np.zeros((dim, dim))
    for begin in range(0, n, 256):
        part = np.zeros((dim, dim))
        for i in range(begin, min(begin + 256, n)):
            row = rows[i].astype(np.float64)
            part += np.outer(weights[i] * row, row)
        due += part
    upper = np.triu_indices(dim)
    assert np.array_equal(total[upper], due[upper])
    assert np.array_equal(total, total.T)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", DIMS)
def test_rows_of_unit_length(rng: np.random.Generator, dim: int, kind: type) -> None:
    rows, factors, out = rng.normal(size=(4, dim)).astype(kind), rng.normal(size=4), np.empty((4, dim), kind)
    shift, otherwise = rng.normal(size=dim), rng.normal(size=dim)
    _kernels.unit_combinations(rows, factors, shift, otherwise, out)
    for i, row in enumerate(rows.astype(np.float64)):
        moved = shift + factors[i] * row
        even = odd = 0.0
        for j in range(dim):
            even, odd = (even, odd + moved[j] * moved[j]) if j % 2 else (even + moved[j] * moved[j], odd)
        assert np.array_equal(out[i], (moved / np.sqrt(even + odd)).astype(kind))
    _kernels.unit_combinations(rows, np.zeros(4), np.zeros(dim), otherwise, out)
    assert np.array_equal(out, np.tile(otherwise.astype(kind), (4, 1)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dim", DIMS)
def test_shifted_rows_times_a_matrix(rng: np.random.Generator, dim: int, kind: type) -> None:
    n = 19
    rows, factors, shift = rng.normal(size=(n, dim)).astype(kind), rng.uniform(size=n), rng.normal(size=dim)
    matrix, silent, out = rng.normal(size=(dim, dim)), rng.random(n) < 0.3, np.empty((n, dim), kind)
    moved = rows * factors[:, None] - shift
    moved[silent] = 0
    _kernels.map_shifted_rows(rows, factors, shift, None, silent, out)
    assert np.array_equal(out, moved.astype(kind))
    _kernels.map_shifted_rows(rows, factors, shift, matrix, silent, out)
    due = np.zeros((n, dim))
    for j in range(dim):
        due += moved[:, j : j + 1] * matrix[j]
    assert np.array_equal(out, due.astype(kind))
    _kernels.map_shifted_rows(rows, factors, shift, matrix, silent, rows)  # in place
    assert np.array_equal(rows, due.astype(kind))


def test_ids_are_counted() -> None:
    counts = np.array([1.0, 0.0, 0.5])
    _kernels.count_ids(np.array([2, -1, 0, 2, -9], np.int32), counts)
    assert counts.tolist() == [2.0, 0.0, 2.5]


def test_wrong_ids_and_ends_are_named() -> None:
    matrix, lengths = np.ones((3, 4), np.float32), np.empty((4, 2))
    unknown = np.empty(2, np.int64)

    def sums(ids: list[int], ends: list[int]) -> None:
        arrays = np.array(ids, np.int32), np.array(ends), matrix, None, 0.0, np.empty((2, 4))
        _kernels.sum_rows(*arrays, lengths[0], lengths[1], unknown, lengths[2])

    with pytest.raises(ValueError, match="ids must be below the 3 rows of the matrix, not 3"):
        sums([0, 3], [1, 2])
    with pytest.raises(ValueError, match="ends must rise from 0 to at most 2, but 0 follows 1"):
        sums([0, 1], [1, 0])
    with pytest.raises(ValueError, match="at most 2, but 3 follows 0"):
        sums([0, 1], [3, 3])
    with pytest.raises(ValueError, match="at most 2, but -1 follows 0"):
        sums([0, 1], [-1, 2])
    with pytest.raises(ValueError, match="ids must be from 0 to below 3, not 9"):
        _kernels.count_ids(np.array([9], np.int32), np.zeros(3))
