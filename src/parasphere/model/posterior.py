"""What the model says of documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sphere import vmf

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FacetPosterior:
    """What the model knows of each document, facet by facet.

    Attributes
    ----------
    direction : (n_docs, n_facets, dim)
        Where the document points within each facet; a unit vector, or 0 where it says nothing.
    share : (n_docs, n_facets)
        How much of the document each facet is; adds up to 1.
    concentration : (n_docs, n_facets)
        ``|eta_t|``, the evidence on which a facet's direction rests.
    """

    direction: NDArray[Any]
    share: Floats
    concentration: Floats


@dataclass(frozen=True)
class Posterior:
    """What the model knows of each document after reading it.

    Attributes
    ----------
    direction : (n_docs, dim)
        mu', the document's vector on the unit sphere.
    concentration : (n_docs,)
        kappa', how sure that direction is.
    word_concentration : (n_docs,)
        kappa_n, how closely the document's words keep to its direction.
    length : (n_docs,)
        How many words were known; their total weight, if they are weighted.
    unknown : (n_docs,)
        How many were not.
    log_evidence : (n_docs,)
        The exact log-density of the document's words.
    """

    direction: NDArray[Any]
    concentration: Floats
    word_concentration: Floats
    length: Floats
    unknown: NDArray[np.int64]
    log_evidence: Floats

    @property
    def mean_length(self) -> Floats:
        """|E[d]|, (n_docs,): 0 for no idea of the direction, 1 for certainty."""
        return np.asarray(vmf.mean_length(self.concentration, self.direction.shape[1]))

    @property
    def mean(self) -> NDArray[Any]:
        """E[d], (n_docs, dim): the direction, shortened by doubt."""
        return (self.direction * self.mean_length[:, None]).astype(self.direction.dtype)

    def by_facet(self, n_facets: int) -> "FacetPosterior":
        """Take apart the directions of a model of several facets.

        Examples
        --------
        >>> parts = np.array([[0.6, 0.0, 0.0, 0.8]])
        >>> one = np.ones(1)
        >>> found = Posterior(parts, one, one, one, np.zeros(1, int), one).by_facet(2)
        >>> found.direction.tolist(), found.share.round(2).tolist()
        ([[[1.0, 0.0], [0.0, 1.0]]], [[0.36, 0.64]])
        """
        dim = self.direction.shape[1]
        if n_facets < 1 or dim < 1 or dim % n_facets:
            raise ValueError(f"directions of {dim} numbers do not fall into {n_facets!r} facets of equal size")
        blocks = self.direction.reshape(len(self), n_facets, dim // n_facets)
        lengths = np.linalg.norm(blocks, axis=2)
        directions = blocks / np.where(lengths > 0, lengths, 1)[:, :, None]
        return FacetPosterior(directions, lengths.astype(np.float64) ** 2, self.concentration[:, None] * lengths)

    def __len__(self) -> int:
        return len(self.direction)
