"""How much words and offsets count in a search, found without labels.

Both scores are divided by their standard deviations over pairs of queries and documents. Then each counts as much as it
is good at a task that every corpus brings along: to find the second half of a text by some words of its first half,
among the second halves of other texts. If ``r`` are the mean reciprocal ranks, the weight of words is
``r_words / (r_words + r_offsets)``.
"""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..model.posterior import unit_rows
from ..text import split_texts
from .lexical import Lexical

SAMPLE = 1024  # texts that the weights are found with, at most
QUERY_WORDS = 10
FEWEST_WORDS = 4  # of a text that has two halves
FEWEST_TEXTS = 16


class Fusion(NamedTuple):
    """The score ``(1 - weight) cosine + weight scale words``.

    Attributes
    ----------
    weight : float
        Weight of words, 0 to 1.
    scale : float
        What the scores of words are multiplied with, so that they vary as much as the cosines.
    """

    weight: float = 0.5
    scale: float = 0.3  # about that of the corpora it was measured with


def find_fusion(texts: pa.Array, model: Any, tokenizer: Any) -> Fusion:
    """Return the fusion for a sample of the texts or token lists of a corpus, with the reader of a model."""
    lists = texts if pa.types.is_large_list(texts.type) else split_texts(texts, tokenizer)
    rng = np.random.default_rng(0)
    asked, halves = [], []
    for words in lists.to_pylist():
        middle = len(words) // 2
        if len(words) >= FEWEST_WORDS:
            asked.append([words[i] for i in rng.permutation(middle)[:QUERY_WORDS]])
            halves.append(words[middle:])
    if len(halves) < FEWEST_TEXTS:
        return Fusion()
    queries, documents = (pa.array(each, pa.large_list(pa.large_string())) for each in (asked, halves))
    by_words = _word_scores(queries, documents, tokenizer)
    one, other = (unit_rows(model.posterior(model.text_reader.bags(each)).offset) for each in (queries, documents))
    by_offsets = one @ other.T
    if not (by_words.std() > 0 and by_offsets.std() > 0):
        return Fusion()
    words, offsets = _reciprocal_rank(by_words), _reciprocal_rank(by_offsets)
    return Fusion(words / (words + offsets), float(by_offsets.std() / by_words.std()))


def _word_scores(queries: pa.Array, documents: pa.Array, tokenizer: Any) -> NDArray[Any]:
    lexical = Lexical.of(documents, tokenizer)
    return lexical.scores(lexical.asked_ids(lexical.lookup.ids(queries)))


def _reciprocal_rank(scores: NDArray[Any]) -> float:
    """Return the mean reciprocal rank of document i for query i; a tie counts as half a place."""
    own = scores.diagonal()[:, None]
    ranks = 0.5 + (scores > own).sum(axis=1) + 0.5 * (scores == own).sum(axis=1)
    return float((1 / ranks).mean())
