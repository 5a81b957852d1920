"""Calibration of the shares of topics, without labels.

The words of a text come in bursts and go together, so that its coordinates are not independent, as the mixture takes
them to be, and its log-odds between topics are several times too large. Divided by one temperature, they keep their
order, and the topic of each text.

A share is right if of all texts whose largest share is p, p belong where most texts of their topic belong. Where texts
belong is what labels would tell; here other divisions of the same corpus tell it. Each is found by a mixture of half of
the texts, with a start of its own, and judged by the other half.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..sphere import MovMF

Floats = NDArray[np.float64]
Rows = NDArray[np.float32]

GRID = np.geomspace(1, 1000, 61)
DIVISIONS, TEXTS = 4, 3000  # of the corpus, and the most texts by which each is found and judged


def best_temperature(rows: Rows, joint: Floats, seed: int) -> float:
    """Return the temperature with which the topics of texts agree with other divisions as often as their shares say.

    That is the one with the highest likelihood of whether each text, by a division that it had no part in, belongs with
    most texts of its topic. It is 1 for a single topic, and for fewer than two texts per topic.

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
        texts = np.zeros((k, k))  # of each topic in each part of the division
        np.add.at(texts, (topics[one], mixture.labels_), 1)
        agrees = texts.argmax(axis=1)[topics[other]] == mixture.predict(rows[other])
        losses += [_loss(centred[other], agrees, temperature) for temperature in GRID]
    return float(GRID[int(losses.argmin())])


def _loss(centred: Floats, agrees: NDArray[np.bool_], temperature: float) -> float:
    """Return the mean negative log-likelihood that those texts agree, with their largest share as probability."""
    odds = np.exp(centred / temperature).sum(axis=1) - 1  # of the other topics together
    odds = np.maximum(odds, np.finfo(np.float64).eps)
    return float((np.log1p(odds) - np.where(agrees, 0.0, np.log(odds))).mean())
