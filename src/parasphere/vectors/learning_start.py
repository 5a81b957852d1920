"""Where joint learning starts: the vectors and weights that are given, and how strongly they hold."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import text
from ..errors import VectorsError
from .learning_texts import Texts
from .wordvectors import WordVectors

SPREAD = 0.5, 0.6  # random part of the initial vector of a new word, and of a known word in further dimensions
SMALLEST = 0.01  # weight to start with: the logarithm of none can be moved
# The sums of squares of Adagrad begin as if some occurrences of each word had been seen: without them the first steps,
# of one noisy gradient each, would be the longest. Known words begin as if SEEN words of text had been read, but at
# most MOST epochs; others as if a quarter of an epoch had.
KNOWN, SEEN, MOST = 10.0, 6e5, 4.0
NEW, EPOCH = 1.0, 0.25
SQUARE = 100.0  # per occurrence; of weights:
KNOWN_WEIGHT, NEW_WEIGHT = 10.0, 2.0


class Start(NamedTuple):
    """The state that learning starts from."""

    matrix: NDArray[np.float32]  # (n_words, dim), unit rows
    squares: NDArray[np.float32]  # (n_words,), the sums of squares of Adagrad
    weights: NDArray[np.float32]  # (n_words,), of mean 1 over the texts
    weight_squares: NDArray[np.float32]  # (n_words,)
    strengths: NDArray[np.float32]  # (n_words,), concentrations of the prior, per occurrence in an epoch
    known: NDArray[np.bool_]  # (n_words,), which words have a vector in what is given

    def copies(self) -> tuple[NDArray[np.float32], ...]:
        """Return copies of the arrays that learning changes."""
        return self.matrix.copy(), self.squares.copy(), self.weights.copy(), self.weight_squares.copy()


def first_state(
    texts: Texts, keep: NDArray[np.float32], start: WordVectors | None, dim: int, seed: int, strength: float
) -> Start:
    """Return the state that learning starts from.

    Parameters
    ----------
    texts : Texts
    keep : (n_words,) float32
        The probability that an occurrence of a word is used.
    start : WordVectors or None
        The given vectors.
    dim, seed : int
        Dimension of the vectors, and seed of what is random in them.
    strength : float
        Concentration of the prior around the given vectors.
    """
    places = np.full(len(texts.words), -1) if start is None else start.vocabulary.get_many(texts.words)
    known, seen = places >= 0, texts.counts * keep
    weights = np.ones(len(places), np.float32)
    if start is not None and start.weights is not None and known.any():
        given = np.maximum(start.weights[places], 0.0)
        weights = np.where(known, given, np.median(given[known]))
        weights /= max(float(texts.counts @ weights) / texts.counts.sum(), 1e-12)
        weights = np.maximum(weights, SMALLEST).astype(np.float32)
    epochs = min(SEEN / max(float(seen.sum()), 1.0), MOST)
    occurrences = np.where(known, KNOWN + epochs * seen, NEW + EPOCH * seen)
    return Start(
        first_vectors(texts.words, start, dim, seed),
        (SQUARE * occurrences).astype(np.float32),
        weights,
        (np.where(known, KNOWN_WEIGHT, NEW_WEIGHT) * occurrences).astype(np.float32),
        np.where(known, strength / np.maximum(seen, 1.0), 0.0).astype(np.float32),
        known,
    )


def with_others(learned: WordVectors, start: WordVectors) -> WordVectors:
    """Return learned vectors followed by the words of ``start`` that were not learned.

    These keep their vectors, with zeros in further dimensions. Their weights are scaled as those of the common words
    were changed, by the median; if the start has no weights, they get the median weight of the common words.
    """
    places = start.vocabulary.get_many(learned.words)
    common = places >= 0
    others = np.setdiff1d(np.arange(len(start)), places[common])
    rows = np.zeros((len(learned) + len(others), learned.dim), np.float32)
    rows[: len(learned)] = learned.matrix
    rows[len(learned) :, : start.dim] = start.matrix[others]
    weights = np.ones(len(learned)) if learned.weights is None else learned.weights
    if start.weights is None:
        more = np.full(len(others), np.median(weights[common]))
    else:
        given = start.weights[places[common]]
        ratios = weights[common][given > 0] / given[given > 0]
        more = start.weights[others] * (np.median(ratios) if len(ratios) else 1.0)
    words = [*learned.words, *start.vocabulary.arrow.take(others).to_pylist()]
    return WordVectors(text.Vocabulary(words), rows, weights=np.append(weights, more), name=learned.name)


def first_vectors(words: list[str], start: WordVectors | None, dim: int, seed: int) -> NDArray[np.float32]:
    """Return the initial unit rows, (n_words, dim)."""
    rows = np.random.default_rng([seed, 0]).standard_normal((len(words), dim)).astype(np.float32) / np.sqrt(dim)
    if start is not None:
        places = start.vocabulary.get_many(words)
        known = places >= 0
        if not known.any():
            raise VectorsError(f"{start.name} has none of the {len(words):,} words of this corpus")
        given = start.matrix[places[known]]
        rows[~known] *= SPREAD[0]
        rows[~known, : start.dim] += given.mean(axis=0)
        rows[known, : start.dim] = given
        rows[known, start.dim :] *= SPREAD[0] * SPREAD[1]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    vocabulary = text.Vocabulary(words)
    for row in text.phrase_rows(vocabulary):
        if start is None or places[row] < 0:
            total = rows[vocabulary.get_many(words[row].split(" "))].sum(0)
            rows[row] = total / max(float(np.linalg.norm(total)), 1e-12)
    return np.ascontiguousarray(rows, np.float32)
