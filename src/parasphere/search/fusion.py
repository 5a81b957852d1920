"""The weights of words and offsets in a search, found without labels.

Both scores are divided by their standard deviations over pairs of queries and documents, and weighted by how well each
finds the second half of a text, among the second halves of other texts, given some words of its first half. If ``r``
are the mean reciprocal ranks, the weight of words is ``r_words / (r_words + r_offsets)``, and at least a half: vectors
that were learned from these texts have seen both halves, so that they find them more often than those of new queries.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..corpus import is_tokenised
from ..errors import ParasphereError
from ..storage import storable
from ..text import AnyTokenizer, split_texts
from .bm25 import BM25

SAMPLE_SIZE = 1024  # most texts that the weights are found with
QUERY_WORDS = 10
MIN_WORDS = 4  # of a text that has two halves
MIN_TEXTS = 16
LEAST = 0.5  # smallest weight of words


@storable()
class Fusion(NamedTuple):
    """The score ``(1 - weight) cosine + weight scale BM25``.

    Attributes
    ----------
    weight : float
        Weight of words, 0 to 1.
    scale : float
        Factor of the BM25 scores, by which they vary as much as the cosines.
    """

    weight: float = 0.5
    scale: float = 0.3  # about as for the corpora of the benchmarks

    def _check_loaded(self) -> None:
        if not (0 <= self.weight <= 1 and 0 <= self.scale < np.inf):
            raise ParasphereError(f"words cannot have the weight {self.weight:g} and the scale {self.scale:g}")


def find_fusion(
    texts: list[Any],
    offsets: Callable[[list[Any]], NDArray[Any]],
    tokenizer: AnyTokenizer,
    language: str | None = None,
) -> Fusion:
    """Return the fusion for a sample of the texts or token lists of a corpus.

    Parameters
    ----------
    texts : list of str, or list of list of str
    offsets : callable
        Returns the unit offsets of token lists, (n_docs, dim).
    tokenizer : Tokenizer or callable
        Splits the texts.
    language : str, default=None
        The language of the stems by which words are compared.
    """
    lists = texts if is_tokenised(texts) else split_texts(texts, tokenizer)
    rng = np.random.default_rng(0)
    queries: list[list[str]] = []
    documents: list[list[str]] = []
    for words in lists:
        middle = len(words) // 2
        if len(words) >= MIN_WORDS:
            queries.append([words[i] for i in rng.permutation(middle)[:QUERY_WORDS]])
            documents.append(words[middle:])
    if len(documents) < MIN_TEXTS:
        return Fusion()
    bm25 = BM25.from_texts(documents, tokenizer, language)
    by_words = bm25.scores(bm25.terms(queries))
    by_offsets = offsets(queries) @ offsets(documents).T
    if not (by_words.std() > 0 and by_offsets.std() > 0):
        return Fusion()
    words_rank, offsets_rank = mean_reciprocal_rank(by_words), mean_reciprocal_rank(by_offsets)
    weight = max(LEAST, words_rank / (words_rank + offsets_rank))
    return Fusion(weight, float(by_offsets.std() / by_words.std()))


def mean_reciprocal_rank(scores: NDArray[Any]) -> float:
    """Return the mean reciprocal rank of document i for query i; a tie counts as half a rank."""
    own = scores.diagonal()[:, None]
    ranks = 0.5 + (scores > own).sum(axis=1) + 0.5 * (scores == own).sum(axis=1)
    return float((1 / ranks).mean())
