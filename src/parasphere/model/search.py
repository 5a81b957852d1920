"""Search: documents ranked by the evidence that they share the direction of a query."""

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
    """A search result.

    Attributes
    ----------
    position : int
        Position of the document in the corpus.
    score : float
        Log Bayes factor, in nats, that document and query share one direction; 0 is no evidence either way.
    cosine : float
        Expected cosine of the two directions.
    id, text : str or None
        Id and text of the document, if they are known.
    """

    position: int
    score: float
    cosine: float
    id: str | None
    text: str | None


def similar(query: Posterior, among: Iterable[tuple[Block | None, Posterior]], prior: Prior, k: int) -> list[Match]:
    """Return the ``k`` documents most likely to share the direction of the query, best first.

    The earlier of two equal documents comes first. Only the best so far are held in memory.
    """
    if query.length[0] == 0:
        raise ParasphereError("no word of the query has a vector, so nothing can be compared with it")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    mean = query.mean[0]
    best: list[tuple[float, int, Match]] = []
    for block, posterior in among:
        scores = shared_direction(query, posterior, prior)
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
    """Return the log Bayes factor that one document and each of the others share a direction: (1,), (n,) -> (n,).

    Given one direction the words of both have the posterior parameter ``eta = eta_1 + eta_2 - kappa0 mu0``, and the
    log-evidence for one direction against two is ``Phi(|eta|) + Phi(kappa0) - Phi(|eta_1|) - Phi(|eta_2|)``.
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
