"""Loops of maps, beside the same in Python."""

from typing import Any

import numpy as np
import pytest

from parasphere import _kernels

F4 = np.float32
MASK = (1 << 64) - 1


def in_cells(n: int, dim: int, many: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, dim)).astype(F4)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    first = rng.integers(0, many, n)
    cells = np.stack([first, (first + 1) % many], axis=1)
    order = np.argsort(first, kind="stable")
    return rows, cells, order, np.searchsorted(first[order], np.arange(many + 1))


@pytest.mark.parametrize(("n", "dim", "many", "k"), [(300, 50, 4, 7), (40, 3, 20, 9), (700, 9, 2, 1), (1, 1, 2, 3)])
def test_the_nearest_in_cells(n: int, dim: int, many: int, k: int) -> None:
    rows, cells, order, ends = in_cells(n, dim, many)
    places = np.full((n, k), -1)
    _kernels.nearest_in_cells(rows, cells, order, ends, places)
    for i in range(n):
        others = np.concatenate([order[ends[cell] : ends[cell + 1]] for cell in cells[i]])
        products = np.zeros(len(others), F4)
        for d in range(dim):  # in the order of the numbers, in float32
            products += rows[i, d] * rows[others, d]
        due = others[np.argsort(-products, kind="stable")][:k].tolist()
        assert places[i].tolist() == due + [i] * (k - len(due))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rows", np.ones((5, 2)), "incompatible function arguments"),
        ("rows", np.ones((4, 2), F4), "an array must have size 4 along axis 0"),
        ("cells", np.full((5, 2), 2), "cells must be from 0 to below 2, not 2"),
        ("cells", np.full((5, 2), -1), "cells must be from 0 to below 2, not -1"),
        ("order", np.array([0, 1, 2, 3, 5]), "order must be from 0 to below 5, not 5"),
        ("order", np.array([0, 1, 2, 3, -5]), "order must be from 0 to below 5, not -5"),
        ("order", np.arange(4), "an array must have size 5"),
        ("ends", np.array([0, 3, 6]), "ends must rise from 0 to at most 5, but 6 follows 3"),
        ("ends", np.array([0, 3, 2]), "ends must rise from 0 to at most 5, but 2 follows 3"),
        ("ends", np.array([-1, 3, 5]), "ends must rise"),
        ("ends", np.array([], np.int64), "ends must have one number more"),
        ("places", np.ones((5, 3), np.int32), "incompatible function arguments"),
        ("places", np.ones((4, 3), np.int64), "an array must have size 5"),
    ],
)
def test_wrong_cells(name: str, value: Any, message: str) -> None:
    a: dict[str, Any] = {
        "rows": np.ones((5, 2), F4), "cells": np.zeros((5, 2), np.int64), "order": np.arange(5),
        "ends": np.array([0, 3, 5]), "places": np.ones((5, 3), np.int64),
    }  # fmt: skip
    _kernels.nearest_in_cells(*a.values())
    with pytest.raises((ValueError, TypeError), match=message):
        _kernels.nearest_in_cells(*(a | {name: value}).values())


def test_cells_that_are_written_over() -> None:
    cells = np.zeros((5, 2), np.int64)
    with pytest.raises(ValueError, match="cells must be from 0 to below 2"):
        _kernels.nearest_in_cells(np.ones((5, 2), F4), cells, np.arange(5), np.array([0, 3, 5]), cells)


def test_rows_that_are_not_numbers_are_their_own_neighbours() -> None:
    places = np.empty((3, 2), np.int64)
    _kernels.nearest_in_cells(
        np.full((3, 2), np.nan, F4), np.zeros((3, 1), np.int64), np.arange(3), np.array([0, 3]), places
    )
    assert places.tolist() == [[0, 0], [1, 1], [2, 2]]


def moved(
    points: np.ndarray, heads: Any, tails: Any, every: Any, rounds: int, a: float, seed: int
) -> list[list[float]]:
    places, due = points.tolist(), every.tolist()
    state = (seed * 0x9E3779B97F4A7C15 + 1) & MASK

    def clipped(x: float) -> float:
        return min(4.0, max(-4.0, x))

    for turn in range(rounds):
        step = 1.0 - turn / rounds
        for edge, (i, j) in enumerate(zip(heads.tolist(), tails.tolist(), strict=True)):
            if due[edge] > turn:
                continue
            due[edge] += float(every[edge])
            dx, dy = places[i][0] - places[j][0], places[i][1] - places[j][1]
            pull = -2.0 * a / (a * (dx * dx + dy * dy) + 1.0)
            gx, gy = step * clipped(pull * dx), step * clipped(pull * dy)
            places[i][0] += gx
            places[i][1] += gy
            places[j][0] -= gx
            places[j][1] -= gy
            for _ in range(5):
                state ^= state << 13 & MASK
                state ^= state >> 7
                state ^= state << 17 & MASK
                other = (state >> 11) % len(places)
                if other == i:
                    continue
                dx, dy = places[i][0] - places[other][0], places[i][1] - places[other][1]
                square = dx * dx + dy * dy
                push = 2.0 / ((0.001 + square) * (a * square + 1.0))
                places[i][0] += step * clipped(push * dx)
                places[i][1] += step * clipped(push * dy)
    return places


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**14 - 1])
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_places_are_those_of_python(n: int, seed: int) -> None:
    rng = np.random.default_rng(n)
    points, every = rng.normal(size=(n, 2)), rng.uniform(1, 7, 60)
    heads, tails = rng.integers(0, n, (2, 60))
    due = moved(points, heads, tails, every, 20, 1.036, seed)
    _kernels.attract_and_repel(points, heads, tails, every, 20, 1.036, seed)
    assert points.tolist() == due


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("points", np.ones((4, 3)), "an array must have size 2 along axis 1"),
        ("points", np.ones((0, 2)), "heads must be from 0 to below 0, not 0"),
        ("points", np.ones((2, 4)).T, "incompatible function arguments"),
        ("heads", np.array([0, 4]), "heads must be from 0 to below 4, not 4"),
        ("heads", np.array([0, -1]), "heads must be from 0 to below 4, not -1"),
        ("heads", np.zeros(2, np.int32), "incompatible function arguments"),
        ("tails", np.array([0, 4]), "tails must be from 0 to below 4, not 4"),
        ("tails", np.array([0]), "an array must have size 2"),
        ("every", np.ones(3), "an array must have size 2"),
        ("every", None, "incompatible function arguments"),
    ],
)
def test_wrong_edges(name: str, value: Any, message: str) -> None:
    a: dict[str, Any] = {
        "points": np.ones((4, 2)), "heads": np.array([0, 1]), "tails": np.array([2, 3]), "every": np.ones(2),
        "rounds": 3, "a": 1.0, "seed": 1,
    }  # fmt: skip
    _kernels.attract_and_repel(*a.values())
    with pytest.raises((ValueError, TypeError), match=message):
        _kernels.attract_and_repel(*(a | {name: value}).values())


def test_odd_numbers_of_a_descent() -> None:
    points, edge, every = np.ones((4, 2)), np.array([1]), np.ones(1)
    for rounds in (0, -1, -(2**63)):
        _kernels.attract_and_repel(points, edge, edge, every, rounds, 1.0, 0)
    assert (points == 1).all()
    for seed in (-1, 2**64):
        with pytest.raises(TypeError):
            _kernels.attract_and_repel(points, edge, edge, every, 1, 1.0, seed)
    for a in (np.nan, np.inf, -1.0):
        _kernels.attract_and_repel(np.full((4, 2), np.nan), edge, edge, np.array([np.nan]), 3, a, 0)
