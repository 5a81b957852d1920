"""Texts as unit vectors to cluster: offsets from word vectors beside tf-idf weights in fewer dimensions.

Word vectors carry what words mean in general; tf-idf weights show which words occur together in this corpus. The offset
of a text (:class:`parasphere.SphericalParagraphModel`) and the coordinates of its tf-idf weights on their leading
singular vectors, each of unit length, are concatenated with weights ``sqrt(1 - a)`` and ``sqrt(a)``, so that the cosine
is the mean of both cosines with weights ``1 - a`` and ``a``.
"""

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import mutual_info_score
from sklearn.metrics.cluster import contingency_matrix, expected_mutual_information

from ..corpus import Block
from ..search import mean_reciprocal_rank
from ..sphere.rows import unit_rows
from .merging import Merges

Rows = NDArray[np.float32]

AXES = 200  # singular vectors of the words
TEXTS_PER_AXIS = 10  # at least; with fewer texts, further axes are noise
AXES_FROM = 20_000  # texts from which they are found, if there are more
GRID = np.linspace(0.0, 0.7, 8)  # not more, because the axes were fitted to the same texts
SAMPLE, FEWEST = 2000, 50  # most and fewest texts by which the weight is found
KEPT = 0.9  # least share of the mutual information between halves of texts that topics must keep
USUAL = 0.4  # the weight if there are fewer


def lexical_axes(weights: sparse.csr_array, seed: int) -> NDArray[np.float32]:
    """Return the leading right singular vectors of tf-idf weights, (n_docs, n_words) -> (n_axes, n_words)."""
    if weights.shape[0] > AXES_FROM:
        weights = weights[np.sort(np.random.default_rng(seed).choice(weights.shape[0], AXES_FROM, replace=False))]
    n_axes = min(AXES, max(weights.shape[0] // TEXTS_PER_AXIS, 1), min(weights.shape) - 1)
    if n_axes < 1:  # one text or one word
        return np.zeros((1, weights.shape[1]), np.float32)
    with np.errstate(invalid="ignore"):  # if all texts are equal: shares of a variance of 0, which are not used
        svd = TruncatedSVD(n_axes, n_iter=3, random_state=seed).fit(weights.astype(np.float32))
    return np.asarray(svd.components_, np.float32)


def lexical_rows(weights: sparse.csr_array, axes: NDArray[np.float32]) -> Rows:
    """Return texts in the coordinates of the axes, of unit length, (n_docs, n_axes)."""
    return unit_rows(np.asarray(weights.astype(np.float32) @ axes.T))


def joined(offsets: NDArray[Any], lexical: Rows, weight: float) -> Rows:
    """Return both parts side by side, of unit length; if one part of a text is zero, the other counts alone."""
    parts = [np.sqrt(1 - weight) * offsets, np.sqrt(weight) * lexical]
    return np.asarray(unit_rows(np.hstack(parts).astype(np.float32)), np.float32)


def halves(blocks: list[Block], rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Divide the words of some texts at random into two halves each."""
    total = sum(map(len, blocks))
    chosen = np.sort(rng.choice(total, min(SAMPLE, total), replace=False))
    one, other = [], []
    for text in texts_at(blocks, chosen):
        words = text.split()
        if len(words) >= 4:
            order = rng.permutation(len(words))
            middle = len(words) // 2
            one.append(" ".join(words[i] for i in order[:middle]))
            other.append(" ".join(words[i] for i in order[middle:]))
    return one, other


def best_number(one: NDArray[np.int64], other: NDArray[np.int64], merges: Merges) -> int:
    """Return the least number of topics, after merging, that keeps most of the information between halves of texts.

    The information between the topics of two halves is their mutual information, less the expected one of topics
    that have nothing to do with each other (Vinh et al., 2010). It rises with the number of topics, is nearly level
    over a wide range, and falls when there are so many that chance decides between them.

    Parameters
    ----------
    one, other : (n,) int64
        The topic of either half of each text, before merging; -1 for a half without known words.
    merges : Merges
    """
    many = len(merges.criteria)
    both = (one >= 0) & (other >= 0)
    if many < 3 or both.sum() < FEWEST:
        return many - int(np.argmin(merges.criteria))
    groups = [merges.groups(k) for k in range(2, many + 1)]
    information = np.array([_information(group[one[both]], group[other[both]]) for group in groups])
    return 2 + int(np.argmax(information >= KEPT * information.max()))


def _information(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return the mutual information of two labellings of the same texts beyond that of chance, in nats."""
    table = contingency_matrix(one, other, sparse=True).astype(np.int64)
    return float(mutual_info_score(None, None, contingency=table) - expected_mutual_information(table, len(one)))


def best_weight(offsets: tuple[NDArray[Any], NDArray[Any]], lexical: tuple[Rows, Rows]) -> float:
    """Return the weight of the words with which halves of texts find each other best, by mean reciprocal rank.

    Parameters
    ----------
    offsets, lexical : pairs of (n, dim) unit rows
        Row i of both members belongs to one text.
    """
    if len(offsets[0]) < FEWEST:
        return USUAL
    by_offsets, by_words = offsets[0] @ offsets[1].T, lexical[0] @ lexical[1].T
    ranks = [mean_reciprocal_rank((1 - weight) * by_offsets + weight * by_words) for weight in GRID]
    return float(GRID[int(np.argmax(ranks))])


def texts_at(blocks: list[Block], indices: NDArray[Any]) -> list[str]:
    """Return the texts at some indices of a corpus; token lists are joined by spaces."""
    texts = list(chain.from_iterable(block.strings for block in blocks))
    return [texts[index] for index in indices.tolist()]
