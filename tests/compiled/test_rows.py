"""The loops over the rows of a matrix, compared with numpy: any width, either type."""

import numpy as np
import pytest

from parasphere.compiled.rows import map_shifted_rows, unit_combinations


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 3, 8, 13, 50, 64])
def test_shifted_rows_times_a_matrix(rng: np.random.Generator, dim: int, kind: type) -> None:
    rows = rng.normal(size=(4, dim)).astype(kind)
    factors, shift, matrix = rng.uniform(size=4), rng.normal(size=dim), rng.normal(size=(dim, dim))
    silent = np.array([False, True, False, False])
    moved = rows * factors[:, None] - shift
    expected = moved @ matrix
    expected[1] = 0
    out = np.empty_like(rows)
    map_shifted_rows(rows, factors, shift, matrix, silent, out)
    np.testing.assert_allclose(
        out, expected, rtol=1e-5 if kind is np.float32 else 1e-12, atol=1e-5 * np.finfo(kind).eps
    )
    map_shifted_rows(rows, factors, shift, None, silent, out)
    assert np.array_equal(out, np.where(silent[:, None], 0, moved).astype(kind))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 7, 50])
def test_rows_of_unit_length(rng: np.random.Generator, dim: int, kind: type) -> None:
    rows = rng.normal(size=(3, dim)).astype(kind)
    rows[1] = 0
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    out = np.empty_like(rows)
    unit_combinations(rows, np.ones(3), np.zeros(dim), np.zeros(dim), out)
    np.testing.assert_allclose(out, rows / np.where(lengths > 0, lengths, 1), rtol=4 * np.finfo(kind).eps)
    shift = rng.normal(size=dim)
    moved = shift + 2.0 * rows.astype(np.float64)
    unit_combinations(rows, np.full(3, 2.0), shift, shift, out)
    np.testing.assert_allclose(
        out, moved / np.linalg.norm(moved, axis=1, keepdims=True), rtol=4 * np.finfo(kind).eps, atol=1e-300
    )


def test_the_bits_of_a_row_do_not_depend_on_the_others(rng: np.random.Generator) -> None:
    rows, shift, matrix = rng.normal(size=(37, 24)), rng.normal(size=24), rng.normal(size=(24, 24))
    factors, silent, whole, alone = rng.uniform(size=37), np.zeros(37, bool), np.empty((37, 24)), np.empty((1, 24))
    map_shifted_rows(rows, factors, shift, matrix, silent, whole)
    for i in range(37):
        map_shifted_rows(rows[i : i + 1], factors[i : i + 1], shift, matrix, silent[:1], alone)
        assert np.array_equal(alone[0], whole[i])


def test_a_matrix_of_another_width_is_refused() -> None:
    rows, out = np.ones((2, 7)), np.empty((2, 7))
    for matrix in (np.eye(3), np.empty((0, 0))):
        with pytest.raises(ValueError, match="matrix"):
            map_shifted_rows(rows, np.ones(2), np.ones(7), matrix, np.zeros(2, bool), out)
