"""The contributions of words to the direction of a text, and to the similarity of two texts."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..sphere.rows import unit_rows
from .posterior import Floats, Posterior
from .reader import Reader


@dataclass(frozen=True)
class Explanation:
    """The contributions of words and of the corpus to the direction of a text.

    Attributes
    ----------
    words : list of (str, float)
        The known words in the order of the text, with their shares, ``kappa_n w.mu' / kappa'``. The share
        of a word that points away from the direction is negative. All shares and ``prior`` add up to 1.
    prior : float
        Share of the corpus direction, ``kappa0 mu0.mu' / kappa'``.
    unknown : list of str
        The words without a vector, in the order of the text.
    concentration, word_concentration : float
        kappa' and kappa_n.
    """

    words: list[tuple[str, float]]
    prior: float
    unknown: list[str]
    concentration: float
    word_concentration: float


def explain(text: str, posterior: Posterior, reader: Reader) -> Explanation:
    """Return the contributions to the direction of a text with a known posterior."""
    prior, direction = posterior.prior, np.asarray(posterior.direction[0], np.float64)
    kappa, whole = float(posterior.word_concentration[0]), float(posterior.concentration[0])
    scale = 1.0 / whole if whole > 0 else 0.0
    return Explanation(
        words=[(unit, float(kappa * scale * weight * (row @ direction))) for unit, weight, row in reader.parts(text)],
        prior=float(prior.concentration * scale * (prior.mean_direction @ direction)),
        unknown=[unit for unit, row in reader.lookup.units(text) if row < 0],
        concentration=whole,
        word_concentration=kappa,
    )


class MatchExplanation(NamedTuple):
    """The contributions of words to the similarity of two texts.

    Attributes
    ----------
    similarity : float
        Cosine of the offsets of the two texts.
    words_a, words_b : list of (str, float)
        The known words of each text with their contributions, largest first; those of a repeated word are added up. The
        contributions of the words of one text and its ``common`` contribution add up to the similarity.
    common_a, common_b : float
        Contributions of the subtracted direction that all texts of the corpus have in common.
    """

    similarity: float
    words_a: list[tuple[str, float]]
    words_b: list[tuple[str, float]]
    common_a: float
    common_b: float


def explain_match(texts: tuple[str, str], posterior: Posterior, reader: Reader) -> MatchExplanation:
    """Return the contribution of each word to the similarity of two texts with known posteriors."""
    directions = unit_rows(posterior.offset, np.float64)
    similarity = float(directions[0] @ directions[1])
    parts = [_parts(text, posterior, doc, directions[1 - doc], similarity, reader) for doc, text in enumerate(texts)]
    return MatchExplanation(similarity, parts[0][0], parts[1][0], parts[0][1], parts[1][1])


def _parts(
    text: str, posterior: Posterior, doc: int, other: Floats, similarity: float, reader: Reader
) -> tuple[list[tuple[str, float]], float]:
    """Return the contributions of the words of a text, and that of the direction subtracted from their sum."""
    length = float(np.linalg.norm(posterior.offset[doc].astype(np.float64)))
    concentration = float(posterior.concentration[doc])
    if length == 0.0 or concentration == 0.0:
        return list(dict.fromkeys((unit, 0.0) for unit, _, _ in reader.parts(text))), 0.0
    scale = float(posterior.mean_length[doc]) / concentration * float(posterior.word_concentration[doc]) / length
    axis = posterior.in_metric(other[None])[0]
    words: dict[str, float] = {}
    for unit, weight, row in reader.parts(text):
        words[unit] = words.get(unit, 0.0) + float(scale * weight * (row @ axis))
    return sorted(words.items(), key=lambda word: -word[1]), similarity - sum(words.values())
