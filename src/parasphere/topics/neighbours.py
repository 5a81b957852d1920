"""Averages of texts with their neighbours, which bring texts of one subject closer together.

A short text has few of the words of its subject. The mean of a text and of the texts nearest to it has more of them,
and clusters of such means agree better with subjects than clusters of the texts themselves. Neighbours are looked for
among some of the texts only, the landmarks, so that time grows in proportion to the number of texts.
"""

import numpy as np
from numpy.typing import NDArray

from ..sphere.neighbours import largest_products
from ..sphere.rows import unit_rows

Rows = NDArray[np.float32]
BATCH = 1024  # rows whose neighbours are held at a time
OWN = 0.5  # weight of a text itself beside the mean of its neighbours


def smoothed(rows: Rows, landmarks: Rows, k: int) -> Rows:
    """Return the directions of half of each row plus the mean of its ``k`` nearest landmarks, (n, dim).

    Rows of zeros remain.
    """
    if not k:
        return rows
    means = np.zeros_like(rows)
    present = np.flatnonzero(rows.any(axis=1))
    for begin in range(0, len(present), BATCH):
        some = present[begin : begin + BATCH]
        near = landmarks[largest_products(rows[some], landmarks, k)]
        means[some] = OWN * rows[some] + near.mean(axis=1)
    return unit_rows(means)
