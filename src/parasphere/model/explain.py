"""The contributions of words to the direction of a text."""

from dataclasses import dataclass

import numpy as np

from .equations import Prior
from .posterior import Posterior
from .reader import Reader


@dataclass(frozen=True)
class Explanation:
    """The contributions of words and corpus to the direction of a text.

    Attributes
    ----------
    words : list of (str, float)
        The known words (and phrases) in the order of the text, with their shares, ``kappa_n w.mu' / kappa'``. The share
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


def explain(text: str, posterior: Posterior, reader: Reader, prior: Prior) -> Explanation:
    """Return the contributions to the direction of a text whose posterior is given."""
    direction = np.asarray(posterior.direction[0], np.float64)
    kappa, whole = float(posterior.word_concentration[0]), float(posterior.concentration[0])
    scale = 1.0 / whole if whole > 0 else 0.0
    return Explanation(
        words=[(unit, float(kappa * scale * weight * (row @ direction))) for unit, weight, row in reader.parts(text)],
        prior=float(prior.concentration * scale * (prior.mean_direction @ direction)),
        unknown=[unit for unit, row in reader.lookup.units(text) if row < 0],
        concentration=whole,
        word_concentration=kappa,
    )
