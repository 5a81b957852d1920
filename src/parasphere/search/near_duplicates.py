"""Near-duplicates: pairs of texts that share most of their words.

The similarity is the cosine of tf-idf vectors, ``(1 + log count) idf``. It keeps copies with small changes and other
neighbours well apart, which the cosine of offsets does not: texts about the same subject have similar offsets
(``benchmarks/results/duplicates.md``).

Pairs are found without comparing all. Let the words of a text be ordered from frequent to rare, and let its *common*
part be the longest beginning whose vector is shorter than the threshold. If two texts share no word outside of the
common parts of both, the rarest word that they share is in the common part of one of them, and so are all others that
they share; hence the cosine is at most the length of that part. Only texts that share one of the other words, which are
rare, need to be compared. The cosine of these is at most the product of the lengths of both vectors up to the rarest
word that they share, which settles most of them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import find_pairs, find_rare
from ..corpus import blocks
from ..text import AnyTokenizer, Tokenizer
from .bm25 import BM25, TfIdf, bm25_tokenizer

THRESHOLD = 0.6  # copies with a fifth of their words changed are above it, other neighbours below (see above)
PAIRS_PER_CALL = 1 << 16  # at least: one document may have as many pairs as there are documents


class Duplicate(NamedTuple):
    """Two documents that share most of their words.

    Attributes
    ----------
    first, second : int
        Their positions in the corpus; the first is the smaller one.
    similarity : float
        Cosine of their tf-idf vectors, 0 to 1.
    """

    first: int
    second: int
    similarity: float


def duplicates(
    source: Any, threshold: float = THRESHOLD, *, tokenizer: AnyTokenizer | None = None, **columns: Any
) -> list[Duplicate]:
    """Return all pairs of texts that share most of their words, the most similar first.

    Parameters
    ----------
    source : texts, token lists, columns or path
    threshold : float, default=0.6
        The smallest similarity, above 0 and at most 1. If a tenth of the words of a paragraph are deleted or replaced,
        it is 0.94 at the median, and 0.87 if a fifth are; of other neighbours, one in a hundred is above 0.5.
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None finds runs of letters and digits, lower-cased, without English stop words. A text
        that has no other words is in no pair.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.

    Examples
    --------
    >>> pairs = duplicates(["the cat sat on the mat", "a dog barked at the moon", "The cat sat on a mat!"])
    >>> [(pair.first, pair.second, round(pair.similarity, 3)) for pair in pairs]
    [(0, 2, 1.0)]
    """
    tokenizer = bm25_tokenizer(Tokenizer() if tokenizer is None else tokenizer)
    parts = [BM25.from_texts(block.texts, tokenizer) for block in blocks(source, **columns)]
    return similar_pairs(BM25.concatenate(parts), threshold) if parts else []


def similar_pairs(bm25: BM25, threshold: float) -> list[Duplicate]:
    """Return all pairs of documents whose tf-idf vectors have at least this cosine, the most similar first."""
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, not {threshold:g}")
    batches = list(_pairs(_frequent_first(bm25), threshold))
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(pairs for pairs, _ in batches)])
    cosines = np.concatenate([np.empty(0), *(cosines for _, cosines in batches)])
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -cosines))
    return [
        Duplicate(first, second, cosine)
        for (first, second), cosine in zip(pairs[order].tolist(), cosines[order].tolist(), strict=True)
    ]


def _frequent_first(bm25: BM25) -> TfIdf:
    """Return tf-idf vectors with the columns of frequent words first."""
    starts, words, values = bm25.tfidf()
    ranks = np.empty(len(bm25.words), np.int32)
    ranks[np.argsort(-np.diff(bm25.starts), kind="stable")] = np.arange(len(ranks), dtype=np.int32)
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.argsort(rows * len(ranks) + ranks[words])
    return TfIdf(starts, ranks[words][order], values[order])


def _pairs(rows: TfIdf, threshold: float) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Yield pairs of documents and their cosines, some at a time."""
    starts, words, values = rows
    n_docs = len(starts) - 1
    rare, reach = np.empty(n_docs, np.int64), np.empty(len(words), np.float32)
    find_rare(starts, values, threshold, rare, reach)
    kept = np.flatnonzero(np.arange(len(words)) >= np.repeat(rare, np.diff(starts)))
    kept = kept[np.lexsort((-reach[kept], words[kept]))]
    documents = np.repeat(np.arange(n_docs, dtype=np.int32), np.diff(starts))[kept]
    ends = np.cumsum(np.bincount(words[kept]))
    postings = RarePostings(np.concatenate([[0], ends]), documents, reach[kept])
    size, document = max(PAIRS_PER_CALL, n_docs), 0
    while document < n_docs:
        pairs, cosines = np.empty((size, 2), np.int64), np.empty(size)
        document, count = find_pairs(starts, words, values, rare, reach, postings, threshold, document, pairs, cosines)
        yield pairs[:count].copy(), cosines[:count].copy()


class RarePostings(NamedTuple):
    """The documents that have each word in their rare part.

    Attributes
    ----------
    starts : (n_words + 1,) int64
        Where the postings of each word begin.
    documents : (n_postings,) int32
    reach : (n_postings,) float32
        Length of the vector of the document up to this word; descending per word.
    """

    starts: NDArray[np.int64]
    documents: NDArray[np.int32]
    reach: NDArray[np.float32]
