"""Scatter: how the words of texts lie around the means of their texts, and the metric in which they lie alike.

The vMF distribution knows no axes: around the direction of a text, words scatter equally in all directions. Those of
real texts do not. A few axes, mostly of frequency and grammar, hold much of their variance, and texts about the same
subject differ along these axes by chance. Let C be the covariance of words within texts. The mean of ``l`` words has
the covariance ``C / l`` around the direction of its text, so that after ``C^(-1/2)`` it errs equally in all directions,
and differences between texts count for as much as they stand out from that error.

Both sums that the scatter is made of, over words and over texts, are exact (:mod:`parasphere.model.exact`): the
scatter of a corpus has the same bits whether it is read at once or in parts.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..storage import check_layouts, storable
from .exact import Exact, exact_products

Floats = NDArray[np.float64]
# Share of the mean variance that every axis has at least: axes along which words hardly differ hold mostly noise.
# Chosen on the development part of the STS benchmark and on Cranfield, where 0.05 to 0.3 differ by about a point; CISI
# had been seen by then (results/README.md).
FLOOR = 0.1


@storable("scatter")
@dataclass(frozen=True, eq=False)
class Scatter:
    """The scatter of words within the texts of a corpus. Those of two corpora are added by ``+``.

    Attributes
    ----------
    within : (dim, dim) float64
        Sum over all words of the outer product with itself of the word less the mean of its text, times its weight.
    """

    within: Floats

    @classmethod
    def of(
        cls, matrix: NDArray[Any], weights: Floats, sums: NDArray[Any], lengths: Floats, unknown: float = 0.0
    ) -> "Scatter":
        """Return the scatter of words within texts.

        Parameters
        ----------
        matrix : (n_words, dim) array
            The word vectors.
        weights : (n_words,) array
            Number of occurrences of each word, times its weight.
        sums, lengths : (n_docs, dim) and (n_docs,) arrays
            Sum of the words of each text, and of their weights.
        unknown : float, default=0.0
            Total weight of the words whose vectors are drawn by their hashes: their outer products are taken to be
            the expected ones, equal in all directions.
        """
        return cls.from_means(matrix, weights, cls.means(sums, lengths), unknown)

    @staticmethod
    def means(sums: NDArray[Any], lengths: Floats) -> Exact:
        """Return the part of the texts: the sum of the outer products of their means, times their lengths.

        Those of several corpora are added by ``+``, and then give the scatter of all of them.
        """
        shares = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        return exact_products(sums, shares)

    @classmethod
    def from_means(cls, matrix: NDArray[Any], weights: Floats, means: Exact, unknown: float = 0.0) -> "Scatter":
        """Return the scatter, given the part of the texts (:meth:`means`); the parameters are those of :meth:`of`."""
        used = np.flatnonzero(weights)
        words = exact_products(matrix[used], weights[used]).value
        words[np.diag_indices_from(words)] += unknown / matrix.shape[1]
        return cls(words - means.value)

    def __add__(self, other: "Scatter") -> "Scatter":
        return Scatter(self.within + other.within)

    @cached_property
    def whitening(self) -> Floats:
        """``(C / v)^(-1/2)``, (dim, dim), where ``v`` is the mean variance of an axis; the identity if all are alike.

        C is the covariance of words within texts, mixed with a tenth of the isotropic covariance ``v I``.
        """
        dim = len(self.within)
        variance = float(np.trace(self.within)) / dim
        if not variance > 1e-9:  # no text has two different words
            return np.eye(dim)
        values, axes = np.linalg.eigh(self.within / variance)
        scales = ((1 - FLOOR) * values.clip(0) + FLOOR) ** -0.5
        return np.ascontiguousarray((axes * scales) @ axes.T)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed again when it is needed."""
        return {name: value for name, value in vars(self).items() if name != "whitening"}

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model."""
        return {}, {"within": self.within}

    @classmethod
    def from_saved(cls, _facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make a scatter of saved facts and arrays, which are checked."""
        check_layouts(arrays, {"within": "f8[dim,dim]"})
        if not np.isfinite(arrays["within"]).all():
            raise ParasphereError("the scatter of words must be finite")
        return cls(np.array(arrays["within"]))
