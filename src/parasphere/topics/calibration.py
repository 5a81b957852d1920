"""Calibration of the shares of topics, without labels.

The mixture assumes that the coordinates of a text are independent. They are not, because words come in bursts and occur
together, so that the log-odds between topics are several times too large. They are divided by one temperature, which
changes neither their order nor the topic of a text.

Shares are calibrated if, of the texts whose largest share is p, a proportion p belongs to the same class as most texts
of their topic. Without labels, the classes are those of other divisions of the corpus: each is a mixture fitted to half
of the texts, from a start of its own, and applied to the other half.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..sphere import MovMF

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

GRID = np.geomspace(1, 1000, 61)
DIVISIONS, TEXTS = 4, 3000  # of the corpus, and most texts that each is fitted and applied to


def best_temperature(rows: Rows, joint: Floats, seed: int) -> float:
    """Return the temperature with which the shares of topics predict best how often other divisions agree with them.

    It maximises the likelihood of whether a text is in the same part as most texts of its topic, in a division that was
    fitted to other texts. It is 1 for a single topic, and for fewer than two texts per topic.

    Parameters
    ----------
    rows : (n, dim) unit rows
    joint : (n, n_topics) array
        Log-density of each text and topic together.
    seed : int
    """
    n, k = joint.shape
    if k < 2 or n < 2 * k:
        return 1.0
    topics, rng = joint.argmax(axis=1), np.random.default_rng(seed)
    losses = np.zeros(len(GRID))
    centred = joint - joint.max(axis=1, keepdims=True)
    for _ in range(DIVISIONS):
        one, other = np.array_split(rng.permutation(n)[:TEXTS], 2)
        start = int(rng.integers(2**31))
        mixture = MovMF(k, kappa="shared", assignment="hard", tol=1e-3, random_state=start)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixture.fit(rows[one])
        texts = np.zeros((k, k))  # of each topic, per part of the division
        np.add.at(texts, (topics[one], mixture.labels_), 1)
        agrees = texts.argmax(axis=1)[topics[other]] == mixture.predict(rows[other])
        losses += [_loss(centred[other], agrees, temperature) for temperature in GRID]
    return float(GRID[int(losses.argmin())])


def _loss(centred: Floats, agrees: NDArray[np.bool_], temperature: float) -> float:
    """Return the mean negative log-likelihood that those texts agree, with their largest share as probability."""
    odds = np.exp(centred / temperature).sum(axis=1) - 1  # of the other topics together
    odds = np.maximum(odds, np.finfo(np.float64).eps)
    return float((np.log1p(odds) - np.where(agrees, 0.0, np.log(odds))).mean())
