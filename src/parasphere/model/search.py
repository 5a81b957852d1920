"""Documents like a query: ranked by the evidence for one shared direction."""

import heapq
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..corpus import Block
from ..errors import ParasphereError
from ..sphere import vmf
from .equations import Prior
from .posterior import Posterior


class Match(NamedTuple):
    """A document found.

    Attributes
    ----------
    position : int
        Its place in the corpus.
    score : float
        The log Bayes factor, in nats, that it shares one direction with the query: 0 is no evidence either way.
    cosine : float
        The expected cosine of the two directions.
    id, text : str or None
        What it is called and what it says, if known.
    """

    position: int
    score: float
    cosine: float
    id: str | None
    text: str | None


def similar(wanted: Posterior, among: Iterable[tuple[Block | None, Posterior]], prior: Prior, k: int) -> list[Match]:
    """Return the ``k`` documents most likely to share their direction with the one ``wanted``, best first.

    Ties go to the earlier document. Only the best so far are held in memory.
    """
    if wanted.length[0] == 0:
        raise ParasphereError("no word of the query has a vector, so that nothing can be said to be like it")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    mean = wanted.mean[0]
    best: list[tuple[float, int, Match]] = []
    for block, posterior in among:
        scores = shared_direction(wanted, posterior, prior)
        start = 0 if block is None else block.start
        ids, texts = (None, None) if block is None else (block.ids, None if block.tokenised else block.texts)
        for i in np.argsort(-scores, kind="stable")[:k]:
            score, position = float(scores[i]), start + int(i)
            if len(best) == k and score <= best[0][0]:
                break
            cosine = float(posterior.direction[i] @ mean * posterior.mean_length[i])
            match = Match(position, score, cosine, _item(ids, i), _item(texts, i))
            (heapq.heappushpop if len(best) == k else heapq.heappush)(best, (score, -position, match))
    return [match for _, _, match in sorted(best, reverse=True)]


def shared_direction(one: Posterior, others: Posterior, prior: Prior) -> NDArray[np.float64]:
    """Return the log Bayes factor that a document shares its direction with each of others: (1,), (n,) -> (n,).

    Together the words of both have the posterior parameter ``eta_1 + eta_2 - kappa0 mu0``, and the evidence for one
    direction against two is ``Phi`` of its length, plus ``Phi(kappa0)``, less ``Phi`` of each one's own.
    """
    dim = others.direction.shape[1]
    rest = one.concentration[0] * one.direction[0].astype(np.float64) - prior.concentration * prior.mean_direction
    squared = rest @ rest + others.concentration * (others.concentration + 2.0 * (others.direction @ rest))
    together = np.sqrt(np.maximum(squared, 0.0))
    alone = vmf.log_partition(others.concentration, dim) + float(vmf.log_partition(one.concentration[0], dim))
    return np.asarray(vmf.log_partition(together, dim) + float(vmf.log_partition(prior.concentration, dim)) - alone)


def _item(column: Any, i: Any) -> str | None:
    if column is None:
        return None
    value = column[int(i)].as_py()
    return None if value is None else str(value)
