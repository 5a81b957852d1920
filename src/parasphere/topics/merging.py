"""Merging of topics, two at a time, by likelihood.

Texts are unit vectors x, each in one topic. Topic t has n_t texts, whose sum is R_t, its direction is that of R_t, and
all topics have the same concentration kappa. The log-likelihood of texts and topics together is then

    kappa sum_t |R_t| - n Phi(kappa) + sum_t n_t log(n_t / n),       A(kappa) = sum_t |R_t| / n,

which depends on the texts only by the sums. Merging two topics adds their sums; each step merges the pair that loses
least likelihood. The Bayesian information criterion shows how many topics are worth their parameters.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sphere import vmf

Floats = NDArray[np.float64]


class Merges(NamedTuple):
    """The merges from ``k`` topics to one.

    Attributes
    ----------
    pairs : (k - 1, 2) int64
        The topics that each step merges. Step i makes topic k + i, as in :func:`scipy.cluster.hierarchy.linkage`.
    losses : (k - 1,) float64
        Log-likelihood lost by each step, in nats.
    criteria : (k,) float64
        The Bayesian information criterion with k, k - 1, ..., 1 topics; lower is better.
    """

    pairs: NDArray[np.int64]
    losses: Floats
    criteria: Floats

    def groups(self, n_topics: int) -> NDArray[np.int64]:
        """Return the group of each of the first topics after merging down to ``n_topics``, (k,), numbered from 0."""
        k = len(self.criteria)
        group = np.arange(2 * k - 1)
        for step in range(k - n_topics):
            group[np.isin(group, self.pairs[step])] = k + step
        return np.unique(group[:k], return_inverse=True)[1].astype(np.int64)


def merge_topics(sums: Floats, sizes: Floats) -> Merges:
    """Merge topics, given the sums of their unit vectors, (k, dim), and their numbers of texts, (k,), down to one."""
    sums, sizes = np.array(sums, np.float64), np.array(sizes, np.float64)
    k = len(sums)
    names = list(range(k))
    pairs, losses, criteria = [], [], [_criterion(sums, sizes)]
    for step in range(k - 1):
        kappa = _concentration(sums, sizes)
        loss = _losses(sums, sizes, kappa)
        i, j = np.unravel_index(int(loss.argmin()), loss.shape)
        low, high = sorted((int(i), int(j)))
        pairs.append(sorted((names[low], names[high])))
        losses.append(float(loss[low, high]))
        sums[low] += sums[high]
        sizes[low] += sizes[high]
        names[low] = k + step
        sums, sizes = np.delete(sums, high, axis=0), np.delete(sizes, high)
        del names[high]
        criteria.append(_criterion(sums, sizes))
    return Merges(np.array(pairs, np.int64).reshape(-1, 2), np.array(losses), np.array(criteria))


def _concentration(sums: Floats, sizes: Floats) -> float:
    mean = float(np.linalg.norm(sums, axis=1).sum() / sizes.sum())
    return float(vmf.concentration(min(mean, 1.0), sums.shape[1]))


def _losses(sums: Floats, sizes: Floats, kappa: float) -> Floats:
    """Return the log-likelihood lost by merging each pair, (k, k); infinite on the diagonal."""
    lengths = np.linalg.norm(sums, axis=1)
    squares = lengths**2
    together = np.sqrt(np.maximum(squares[:, None] + squares + 2 * sums @ sums.T, 0.0))
    entropy = _n_log_n(sizes)
    apart = kappa * lengths + entropy
    loss = apart[:, None] + apart - kappa * together - _n_log_n(sizes[:, None] + sizes)
    np.fill_diagonal(loss, np.inf)
    return np.asarray(loss)


def _criterion(sums: Floats, sizes: Floats) -> float:
    n, (k, dim) = float(sizes.sum()), sums.shape
    kappa = _concentration(sums, sizes)
    fit = kappa * np.linalg.norm(sums, axis=1).sum() - n * vmf.log_partition(kappa, dim)
    likelihood = fit + _n_log_n(sizes).sum() - n * np.log(n)
    parameters = (k - 1) + k * (dim - 1) + 1
    return float(-2 * likelihood + parameters * np.log(n))


def _n_log_n(counts: Floats) -> Floats:
    return np.asarray(counts * np.log(np.where(counts > 0, counts, 1.0)))
