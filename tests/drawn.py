"""Corpora that are drawn from the model."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parasphere import vmf
from parasphere.model import Bags, Prior


class Sampled(NamedTuple):
    """A corpus drawn from the model.

    Attributes
    ----------
    bags : Bags
    directions : (n_docs, dim) float64
        The document directions that the words were drawn around.
    """

    bags: Bags
    directions: NDArray[np.float64]


def draw(
    prior: Prior, n_docs: int, lengths: int | Sequence[int], kappa: float | None, rng: np.random.Generator
) -> Sampled:
    """Draw documents from a prior: the direction of each, then its words."""
    dim = len(prior.mean_direction)
    if kappa is None:
        kappa = float(vmf.concentration(prior.cosine, dim))
    counts = np.broadcast_to(np.asarray(lengths, np.int64), (n_docs,))
    directions = vmf.sample(prior.mean_direction, prior.concentration, n_docs, rng)
    sums = np.zeros((n_docs, dim))
    for doc, count in enumerate(counts):
        if count:
            sums[doc] = vmf.sample(directions[doc], kappa, int(count), rng).sum(axis=0)
    bags = Bags(sums, counts.astype(np.float64), (sums**2).sum(axis=1), np.zeros(n_docs, np.int64))
    return Sampled(bags, directions)
