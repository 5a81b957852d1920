"""Word counts of a corpus, and per document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import corpus
from .lookup import Lookup
from .tokens import AnyTokenizer, WordCounter, WordIds
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from scipy import sparse


def count_words(
    source: Any, tokenizer: AnyTokenizer | None = None, **columns: Any
) -> tuple[list[str], NDArray[np.int64]]:
    """Count the words of a corpus.

    Parameters
    ----------
    source : iterable, table or Path
        Anything that :func:`parasphere.corpus.blocks` accepts.
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, default=None
        Splits texts into words; None is ``Tokenizer()``.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.

    Returns
    -------
    words : list of str
        Most frequent first, ties in alphabetical order.
    counts : (n_words,) int64

    Examples
    --------
    >>> count_words(["to be", "or not to be"])
    (['be', 'to', 'not', 'or'], array([2, 2, 1, 1]))
    """
    counter = WordCounter(tokenizer)
    for block in corpus.blocks(source, **columns):
        counter.add(block.texts)
    return counter.words_and_counts()


def count_matrix(
    source: Any, vocabulary: Vocabulary, tokenizer: AnyTokenizer | None = None, **columns: Any
) -> sparse.csr_array:
    """Count the words of a vocabulary in each document of a corpus.

    Parameters
    ----------
    source : iterable, table or Path
        Anything that :func:`parasphere.corpus.blocks` accepts.
    vocabulary : Vocabulary
        The words to count; one per column.
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, default=None
        Splits texts into words; None is ``Tokenizer()``.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.

    Returns
    -------
    (n_docs, n_words) sparse array of int32, with sorted indices

    Examples
    --------
    >>> count_matrix(["to be", "or not to be be"], Vocabulary(["be", "or"])).toarray()
    array([[1, 0],
           [2, 1]], dtype=int32)
    """
    from scipy import sparse

    lookup = Lookup(vocabulary, tokenizer)
    parts = [count_rows(lookup.ids(block.texts), len(vocabulary)) for block in corpus.blocks(source, **columns)]
    if not parts:
        return sparse.csr_array((0, len(vocabulary)), dtype=np.int32)
    return sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]


def count_rows(words: WordIds, n_words: int) -> sparse.csr_array:
    """Return how often each word id occurs in each text, (n_texts, n_words) int32, with sorted indices."""
    from scipy import sparse

    known = words.ids >= 0
    ends = np.concatenate([[0], np.cumsum(known)])[np.concatenate([[0], words.ends])]
    ids = words.ids[known]
    if len(ids) < 2**31:  # liblinear and others accept no wider indices
        ends = ends.astype(np.int32)
    counts = sparse.csr_array((np.ones(len(ids), np.int32), ids, ends), shape=(len(words.ends), n_words))
    counts.sum_duplicates()
    return counts
