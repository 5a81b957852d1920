"""What a document's vector is made of, and how alike two documents are, doubt included."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..corpus.source import Block
from ..errors import ParasphereError
from ..features.bags import Bagger
from ..sphere import vmf
from .equations import Prior
from .posterior import Posterior


@dataclass(frozen=True)
class Explanation:
    """How a text's direction came about.

    Attributes
    ----------
    words : list of (str, float)
        The known words (and phrases) in their order, and each one's share of the pull on the direction,
        ``kappa_n w.mu' / kappa'``: negative for a word that pulls away. With those of ``pairs`` and ``prior`` the
        shares add up to 1.
    pairs : list of (str, float)
        The same for the pairs of neighbouring words, if the model counts them.
    prior : float
        The share of the corpus direction, ``kappa0 mu0.mu' / kappa'``.
    unknown : list of str
        The words without a vector, in their order.
    facets : list of float
        The facets' shares in the direction (one if the model has but one): the squared lengths of its blocks. They
        add up to 1, or to what is left by words' own directions.
    concentration, word_concentration : float
        kappa' and kappa_n.
    """

    words: list[tuple[str, float]]
    pairs: list[tuple[str, float]]
    prior: float
    unknown: list[str]
    facets: list[float]
    concentration: float
    word_concentration: float


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


def explain(text: str, posterior: Posterior, bagger: Bagger, prior: Prior) -> Explanation:
    """Return each word's share in the direction of a text whose posterior is given."""
    direction = np.asarray(posterior.direction[0], np.float64)
    kappa, whole = float(posterior.word_concentration[0]), float(posterior.concentration[0])
    scale = 1.0 / whole if whole > 0 else 0.0
    shares = [
        (u, pair, float(kappa * scale * weight * (row @ direction))) for u, pair, weight, row in bagger.parts(text)
    ]
    n_facets = 1 if bagger.facets is None else bagger.facets.n_facets
    return Explanation(
        words=[(unit, share) for unit, pair, share in shares if not pair],
        pairs=[(unit, share) for unit, pair, share in shares if pair],
        prior=float(prior.concentration * scale * (prior.mean_direction @ direction)),
        unknown=[unit for unit, row in bagger.lookup.units(text) if row < 0],
        facets=posterior.by_facet(n_facets, bagger.dim - bagger.own_start).share[0].tolist(),
        concentration=whole,
        word_concentration=kappa,
    )


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
