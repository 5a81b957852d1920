"""How well words that are left out of a text are told from the rest of it: SPM's predictive likelihood, exactly.

Learning estimates it from drawn words (:mod:`parasphere.vectors.predictive`); here the sum goes over the whole vocabulary, so
that models of other vocabularies can be compared, even where one takes for a phrase what is two words to the other.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PARTS = 5  # of a text; each is told from the others
ROWS = 256  # directions that meet the vocabulary at a time


class Words(NamedTuple):
    """What the model says of words.

    Attributes
    ----------
    rows : (n_words, dim) float32
        Unit vectors.
    weights : (n_words,) float32
        a, concentrations as multiples of kappa.
    mean : (dim,) float32
        mu0.
    kappa, kappa0 : float
    kept : (n_words,)
        The probability with which an occurrence of the word was looked at in learning. The model tells words as
        they were looked at; to tell them as they are, each probability is divided by this.
    """

    rows: NDArray[np.float32]
    weights: NDArray[np.float32]
    mean: NDArray[np.float32]
    kappa: float
    kappa0: float
    kept: NDArray[np.float32]


def leave_out_likelihood(
    words: Words, ids: NDArray[np.int32], ends: NDArray[np.int64], texts: NDArray[np.int64], seed: int = 0
) -> float:
    """Return the log-likelihood of all units of some texts, each told from four fifths of its text, added up.

    Parameters
    ----------
    words : Words
    ids, ends : (n,) and (n_all_texts + 1,)
        Texts end to end, as rows; ``ends`` begins with 0.
    texts : ints
        Which texts.
    seed : int
        Of the parts into which a text is cut.
    """
    rng = np.random.default_rng(seed)
    directions, targets = [], []
    pull = words.kappa * words.weights
    for text in texts:
        units = rng.permutation(ids[ends[text] : ends[text + 1]])
        if len(units) < 2:
            continue
        pulls = pull[units, None] * words.rows[units]
        whole = words.kappa0 * words.mean + pulls.sum(0)
        n_parts = min(PARTS, len(units))
        for part in range(n_parts):
            eta = whole - pulls[part::n_parts].sum(0)
            directions.append(eta / max(float(np.linalg.norm(eta)), 1e-12))
            targets.append(units[part::n_parts])
    total = 0.0
    offsets = np.log(words.kept)
    for begin in range(0, len(directions), ROWS):
        logits = np.stack(directions[begin : begin + ROWS]) @ words.rows.T * pull - offsets
        top = logits.max(1)
        log_sums = top + np.log(np.exp(logits - top[:, None]).sum(1, dtype=np.float64))
        for row, log_sum, units in zip(logits, log_sums, targets[begin : begin + ROWS], strict=True):
            total += float(row[units].sum(dtype=np.float64) - len(units) * log_sum)
    return total
