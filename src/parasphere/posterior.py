"""What the model says of documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import vmf

Floats = NDArray[np.float64]


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
        How many words were known.
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

    def __len__(self) -> int:
        return len(self.direction)
