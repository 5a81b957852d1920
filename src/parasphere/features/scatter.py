"""Scatter: how the words of a corpus lie around their mean, and the metric in which they lie alike in all directions.

The vMF distribution knows no axes: around its mean, words scatter equally in all directions. Word vectors do not. A few
axes, mostly of frequency and grammar, hold much of their variance, and sums of words about different subjects are long
along these axes by chance. Let C be the covariance of the words of a corpus. The sum of ``l`` words drawn at random
from the corpus has the covariance ``l C``, so that ``C^(-1/2)`` times its distance from the mean has no preferred
direction: two texts with nothing in common have a cosine of 0 on average and a standard deviation of ``1 / sqrt(dim)``.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..compiled import check_layouts
from ..errors import ParasphereError
from ..storage import check_types, storable

Floats = NDArray[np.float64]
ROWS = 16_384  # rows that are widened to float64 at a time
# Share of the mean variance that every axis has at least: the axes along which words hardly differ hold mostly noise.
# Chosen on the development part of the STS benchmark and on Cranfield, where 0.05 to 0.3 differ by about a point.
FLOOR = 0.1


@storable("scatter")
@dataclass(frozen=True, eq=False)
class Scatter:
    """The first two moments of the word vectors of a corpus. Those of two corpora are added by ``+``.

    Attributes
    ----------
    weight : float
        Number of words; their total weight if they are weighted.
    first : (dim,) float64
        Sum of the word vectors times their weights.
    second : (dim, dim) float64
        Sum of their outer products with themselves, times their weights.
    """

    weight: float
    first: Floats
    second: Floats

    @classmethod
    def of(cls, matrix: NDArray[Any], weights: Floats) -> "Scatter":
        """Return the moments of the rows of a matrix with the given weights: (n_words, dim), (n_words,)."""
        used = np.flatnonzero(weights)
        first, second = np.zeros(matrix.shape[1]), np.zeros((matrix.shape[1], matrix.shape[1]))
        for begin in range(0, len(used), ROWS):
            part = used[begin : begin + ROWS]
            rows = matrix[part].astype(np.float64)
            weighted = rows * weights[part][:, None]
            first += weighted.sum(axis=0)
            second += weighted.T @ rows
        return cls(float(weights.sum()), first, second)

    def __add__(self, other: "Scatter") -> "Scatter":
        return Scatter(self.weight + other.weight, self.first + other.first, self.second + other.second)

    @cached_property
    def whitening(self) -> Floats:
        """``(C / v)^(-1/2)``, (dim, dim), where ``v`` is the mean variance of an axis; the identity if all are alike.

        C is the covariance of the words, mixed with 10 % of the isotropic covariance ``v I``.
        """
        dim = len(self.first)
        mean = self.first / (self.weight or 1.0)
        covariance = self.second / (self.weight or 1.0) - np.outer(mean, mean)
        variance = float(np.trace(covariance)) / dim
        if not variance > 1e-12:  # no words, or a single one
            return np.eye(dim)
        values, axes = np.linalg.eigh(covariance / variance)
        scales = ((1 - FLOOR) * values.clip(0) + FLOOR) ** -0.5
        return np.ascontiguousarray((axes * scales) @ axes.T)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed again when it is needed."""
        return {name: value for name, value in vars(self).items() if name != "whitening"}

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model."""
        return {"weight": self.weight}, {"first": self.first, "second": self.second}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make a scatter of saved facts and arrays, which are checked."""
        check_types({"weight": float}, facts)
        check_layouts(arrays, {"first": "f8[dim]", "second": "f8[dim,dim]"})
        scatter = cls(facts["weight"], np.array(arrays["first"]), np.array(arrays["second"]))
        whole = scatter.weight >= 0 and np.isfinite(scatter.first).all() and np.isfinite(scatter.second).all()
        if not (whole and np.isfinite(scatter.weight)):
            raise ParasphereError("the moments of words must be finite, and their weight not negative")
        return scatter
