"""Lets a vocabulary fall into regions of the sphere, by a mixture of vMFs over its word vectors."""

import numpy as np
from numpy.typing import NDArray

from ..errors import VectorsError
from ..sphere.movmf import MovMF
from .facets import Facets

NEGLIGIBLE = 1e-2  # a smaller probability of a region is taken for none
MAX_KAPPA = 10.0  # of a region: closer ones would cut between words that mean the same
WORDS = 20_000  # the first words, which files have in the order of their frequency, make the regions
CHUNK = 65_536  # words that are put into regions at a time


def find_facets(rows: NDArray[np.float32], n_facets: int, seed: int = 0) -> Facets:
    """Let word vectors, (n_words, dim) unit rows, fall into regions."""
    if n_facets > len(rows):
        raise VectorsError(f"{len(rows)} words cannot fall into {n_facets} facets; choose fewer")
    mixture = MovMF(n_facets, kappa="shared", max_kappa=MAX_KAPPA, random_state=seed).fit(rows[:WORDS])
    chunks = [_parts(mixture.predict_proba(rows[i : i + CHUNK])) for i in range(0, len(rows), CHUNK)]
    counts = np.concatenate([count for count, _, _ in chunks])
    return Facets(
        centres=np.asarray(mixture.mean_directions_, np.float32),
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        which=np.concatenate([which for _, which, _ in chunks]).astype(np.int32),
        parts=np.concatenate([parts for _, _, parts in chunks]),
    )


def _parts(probabilities: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return how many regions each word has, which they are, and the roots of their probabilities."""
    least = np.minimum(NEGLIGIBLE, probabilities.max(1, keepdims=True))  # each word has one region at least
    found = np.where(probabilities < least, 0.0, probabilities)
    found /= found.sum(1, keepdims=True)
    word, which = np.nonzero(found)
    return np.bincount(word, minlength=len(found)), which, np.sqrt(found[word, which])
