"""The largest scores of rows, beside a stable sort."""

from typing import Any

import numpy as np
import pytest

from parasphere import _kernels

F4 = np.float32


@pytest.mark.parametrize("k", [1, 3, 20, 60])
@pytest.mark.parametrize("width", [1, 60, 200, 9000])
@pytest.mark.parametrize("ties", [False, True])
def test_largest_first_and_of_equal_ones_the_first(k: int, width: int, ties: bool) -> None:
    scores = np.random.default_rng(width + k).normal(size=(4, width)).astype(F4)
    scores = np.round(scores, 1) if ties else scores
    places = np.full((4, k), -1)
    _kernels.largest(scores, places)
    due = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    assert (places[:, : due.shape[1]] == due).all()
    assert (places[:, due.shape[1] :] == 0).all()


def test_rising_scores() -> None:
    places = np.empty((1, 5), np.int64)
    _kernels.largest(np.arange(1000, dtype=F4)[None], places)
    assert places.tolist() == [[999, 998, 997, 996, 995]]


def test_what_is_not_a_number_is_never_among_the_largest() -> None:
    scores = np.full((1, 300), np.nan, F4)
    scores[0, [7, 200]] = -1, np.inf
    places = np.empty((1, 3), np.int64)
    _kernels.largest(scores, places)
    assert places.tolist() == [[200, 7, 0]]


@pytest.mark.parametrize(
    ("scores", "places", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 1), np.int64), "scores must be float32 with 2 axes, not float64"),
        (np.ones(3, F4), np.ones((1, 1), np.int64), "scores must be float32 with 2 axes"),
        (np.ones((2, 6), F4)[:, ::2], np.ones((2, 1), np.int64), "scores must be contiguous"),
        (np.ones((2, 3), F4), np.ones((3, 1), np.int64), "places must have size 2 along axis 0"),
        (np.ones((2, 3), F4), np.ones((2, 1), np.int32), "places must be int64"),
        (np.ones((2, 3), F4), np.broadcast_to(np.int64(0), (2, 1)), "places (is written to|must be contiguous)"),
        (None, np.ones((2, 1), np.int64), "scores must be an array, not None"),
    ],
)
def test_wrong_arguments(scores: Any, places: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _kernels.largest(scores, places)


def test_nothing() -> None:
    _kernels.largest(np.ones((2, 3), F4), np.ones((2, 0), np.int64))
    _kernels.largest(np.ones((0, 3), F4), np.ones((0, 2), np.int64))
    places = np.ones((2, 2), np.int64)
    _kernels.largest(np.ones((2, 0), F4), places)
    assert not places.any()
