"""Texts averaged with their neighbours, which brings texts of one subject closer together.

A short text has few of the words of its subject. The mean of a text and of the texts nearest to it has more of them,
and clusters of such means agree better with subjects than clusters of the texts themselves. Neighbours are looked for
among some of the texts only, the landmarks, so that time grows in proportion to the number of texts.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, guarded

Rows = NDArray[np.float32]
CHUNK = 1024  # rows whose cosines with all landmarks are held at a time
OWN = 0.5  # weight of a text itself beside the mean of its neighbours


def nearest(rows: Rows, landmarks: Rows, k: int) -> NDArray[np.int64]:
    """Return the places of the ``k`` landmarks of largest cosine with each unit row, nearest first, (n, k)."""
    places = np.empty((len(rows), min(k, len(landmarks))), np.int64)
    for begin in range(0, len(rows), CHUNK):
        part = slice(begin, begin + CHUNK)
        _largest(np.ascontiguousarray(rows[part] @ landmarks.T), places[part])
    return places


def smoothed(rows: Rows, landmarks: Rows, k: int) -> Rows:
    """Return the direction of each row, times 1/2, plus the mean of its ``k`` nearest landmarks, (n, dim).

    Rows of zeros stay.
    """
    if not k:
        return rows
    means = np.zeros_like(rows)
    present = np.flatnonzero(rows.any(axis=1))
    for begin in range(0, len(present), CHUNK):
        some = present[begin : begin + CHUNK]
        means[some] = OWN * rows[some] + landmarks[nearest(rows[some], landmarks, k)].mean(axis=1)
    return of_unit_length(means)


def of_unit_length(rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows scaled to unit length; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


@compiled
def enter_best(score: Any, place: Any, best: Any, places: Any) -> Any:
    """Enter a score above the least of the best, and its place, largest first; return the new least.

    Of equal ones the first stays. Calls are dear beside a comparison, so that callers compare with the least.
    """
    at = best.shape[0] - 1
    while at > 0 and best[at - 1] < score:
        best[at], places[at] = best[at - 1], places[at - 1]
        at -= 1
    best[at], places[at] = score, place
    return best[-1]


@guarded(scores="f4[n,m]", places="i8[n,k]")
@compiled
def _largest(scores: Any, places: Any) -> None:
    """Write the places of the largest scores of each row, largest first; of equal ones the first."""
    k = places.shape[1]
    best = np.empty(k, np.float32)
    for i in range(scores.shape[0]):
        best[:] = least = np.float32(-np.inf)
        places[i] = 0
        for j in range(scores.shape[1]):
            if scores[i, j] > least:
                least = enter_best(scores[i, j], j, best, places[i])
