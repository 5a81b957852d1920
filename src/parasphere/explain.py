"""What a document's vector is made of, and how alike two documents are, doubt included."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from .bags import Bagger
from .corpus import Block
from .posterior import Posterior
from .spm import Prior
from .tokens import split_texts


@dataclass(frozen=True)
class Explanation:
    """How a text's direction came about.

    Attributes
    ----------
    words : list of (str, float)
        The known words in their order, and each one's share of the pull on the direction,
        ``kappa_n w.mu' / kappa'``: negative for a word that pulls away. With ``prior`` the shares add up to 1.
    prior : float
        The share of the corpus direction, ``kappa0 mu0.mu' / kappa'``.
    unknown : list of str
        The words without a vector, in their order.
    concentration, word_concentration : float
        kappa' and kappa_n.
    """

    words: list[tuple[str, float]]
    prior: float
    unknown: list[str]
    concentration: float
    word_concentration: float


class Match(NamedTuple):
    """A document found: its place in the corpus, its expected cosine with the query, its id and text if known."""

    position: int
    score: float
    id: str | None
    text: str | None


def explain(text: str, posterior: Posterior, bagger: Bagger, prior: Prior) -> Explanation:
    """Return each word's share in the direction of a text whose posterior is given."""
    tokens: list[str] = split_texts(pa.array([text], pa.large_string()), bagger.lookup.tokenizer)[0].as_py()
    rows = bagger.lookup.vocabulary.get_many(tokens)
    direction = np.asarray(posterior.direction[0], np.float64)
    kappa, whole = float(posterior.word_concentration[0]), float(posterior.concentration[0])
    scale = 1.0 / whole if whole > 0 else 0.0
    known = [(token, row) for token, row in zip(tokens, rows, strict=True) if row >= 0]
    return Explanation(
        words=[(token, float(kappa * scale * (bagger.matrix[row] @ direction))) for token, row in known],
        prior=float(prior.concentration * scale * (prior.mean_direction @ direction)),
        unknown=[token for token, row in zip(tokens, rows, strict=True) if row < 0],
        concentration=whole,
        word_concentration=kappa,
    )


def similar(wanted: Posterior, among: Iterable[tuple[Block | None, Posterior]], k: int) -> list[Match]:
    """Return the ``k`` documents with the largest expected cosine with the one ``wanted``, best first.

    Ties go to the earlier document. Only the best so far are held in memory.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    mean = wanted.mean[0]
    best: list[tuple[float, int, Match]] = []
    for block, posterior in among:
        scores = posterior.mean @ mean
        start = 0 if block is None else block.start
        ids, texts = (None, None) if block is None else (block.ids, None if block.tokenised else block.texts)
        for i in np.argsort(-scores, kind="stable")[:k]:
            score, position = float(scores[i]), start + int(i)
            if len(best) == k and score <= best[0][0]:
                break
            match = Match(position, score, _item(ids, i), _item(texts, i))
            (heapq.heappushpop if len(best) == k else heapq.heappush)(best, (score, -position, match))
    return [match for _, _, match in sorted(best, reverse=True)]


def _item(column: Any, i: Any) -> str | None:
    if column is None:
        return None
    value = column[int(i)].as_py()
    return None if value is None else str(value)
