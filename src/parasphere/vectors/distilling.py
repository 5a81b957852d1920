"""Word vectors from a sentence encoder without texts: encode each word, reduce to the main axes, weight words by rank.

:class:`parasphere.TaughtVectors` starts in the same way, and then learns from texts.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import VectorsError
from ..sphere.rows import unit_rows
from ..text import Vocabulary
from .encoding import Encoding
from .teaching import Course, check_dim
from .wordvectors import WordVectors


def distil(encoder: Any, dim: int = 256, *, words: Iterable[str] | None = None, verbose: bool = False) -> WordVectors:
    """Return word vectors made by a sentence encoder, which encodes each word once.

    Parameters
    ----------
    encoder : object with ``encode``, or callable
        Takes a list of strings and returns one row of numbers per text, such as a model of sentence-transformers.
    dim : int, default=256
        Dimension of the word vectors, at most that of the encoder.
    words : iterable of str, default=None
        The words, most frequent first: their weights are those of smooth inverse frequency, with frequencies estimated
        from ranks by Zipf's law. None is the 131,000 words of ``english-128``.
    verbose : bool, default=False
        Show a progress bar.

    Examples
    --------
    >>> def encoder(texts):
    ...     return np.array([[len(text), text.count("a"), text.count("e")] for text in texts])
    >>> vectors = distil(encoder, dim=2, words=["the", "a", "sea", "apple", "elephant"])
    >>> vectors.dim, bool((np.diff(vectors.weights) > 0).all())
    (2, True)
    """
    spelled = WordVectors.load().words if words is None else list(words)
    if len(spelled) < 2:
        raise VectorsError(f"distilling needs at least two words, not {len(spelled)}.")
    vocabulary = Vocabulary(spelled)
    encoding = Encoding(encoder, None, verbose)
    taught = encoding.of(spelled, "words")
    check_dim(dim, taught)
    rows = unit_rows(taught, np.float32)
    rows -= rows.mean(0)
    _, axes = np.linalg.eigh((rows.T @ rows).astype(np.float64))
    rows = unit_rows(rows @ axes[:, ::-1][:, :dim], np.float32)
    share = 1.0 / np.arange(2, len(rows) + 2)
    share /= share.sum()
    weights = Course.rarity / (Course.rarity + share)
    weights *= rows.any(axis=1)  # a word whose row equals the mean has no direction
    rows[weights == 0, 0] = 1.0
    weights /= share @ weights
    return WordVectors(vocabulary, rows, weights=weights, name=f"distilled from {encoding.name}")
