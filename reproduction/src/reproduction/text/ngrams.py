"""N-grams: runs of neighbouring words, counted per text, with one column per n-gram or hashed to columns.

As in scikit-learn, words are neighbours if they follow each other after stop words and words that are too short were
removed. No n-gram extends across the end of a text or across an unknown word; a stop word in a list of tokens is such
a word, since tokens are taken as they are.

The n-grams of a vocabulary are a trie. A node is a run of words: the words themselves come first, in alphabetical
order, then the runs of two words, ordered by their first and then by their second word, and so on.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from parasphere.corpus import blocks
from parasphere.errors import CorpusError, StoreError
from parasphere.storage import storable
from parasphere.text import AnyTokenizer, Lookup, Strings, Vocabulary, WordIds, distinct_words

from .ngram_loops import RunTable, fill_keys, hash_runs, look_up, merge


@storable()
class Ngrams:
    """N-grams with one column each, and the trie by which they are found in texts.

    Parameters
    ----------
    words : Vocabulary
        The words of the n-grams, in alphabetical order; they are the first nodes.
    longer : (n_nodes - n_words, 2) int32
        For each longer run, the node without its last word, and that word; in order.
    columns : (n_nodes,) int32
        The column of each node; -1 for nodes that are only the beginning, or a word, of n-grams.
    ngram_range : (int, int)
        Number of words of the shortest and the longest n-grams.
    """

    def __init__(
        self, words: Vocabulary, longer: NDArray[np.int32], columns: NDArray[np.int32], ngram_range: tuple[int, int]
    ) -> None:
        self.words, self.longer, self.columns, self.ngram_range = words, longer, columns, ngram_range
        self.n_columns = int((columns >= 0).sum())
        self._check()
        self._columns = _with_none(columns)
        self._lookup = Lookup(words)

    def to_fields(self) -> dict[str, Any]:
        """Return what is saved."""
        return {
            "words": self.words, "longer": self.longer, "columns": self.columns, "ngram_range": self.ngram_range
        }  # fmt: skip

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> "Ngrams":
        """Return what was saved, after checking it."""
        return cls(**fields)

    def count(self, source: Any, tokenizer: AnyTokenizer) -> sparse.csr_array:
        """Return how often each n-gram occurs in each text, (n_docs, n_columns) int32, with sorted indices."""
        lookup = self._lookup
        if lookup.tokenizer != tokenizer:
            lookup = self._lookup = Lookup(self.words, tokenizer)

        def count(words: WordIds) -> sparse.csr_array:
            columns = self._columns[self.nodes(words)[self.ngram_range[0] - 1 :]]
            return _count_rows(columns, words.ends, self.n_columns)

        return _stacked((count(lookup.ids(block.texts)) for block in blocks(source)), self.n_columns)

    def nodes(self, words: WordIds) -> NDArray[np.int32]:
        """Return the node of the run that begins at each word, (longest, n_places), by its length; -1 for none."""
        nodes = np.empty((self.ngram_range[1], len(words.ids)), np.int32)
        nodes[0] = words.ids
        for size in range(2, len(nodes) + 1):
            look_up(nodes[size - 2], *words, size, len(self.words), *self._table, nodes[size - 1])
        return nodes

    @cached_property
    def names(self) -> Vocabulary:
        """The n-grams in the order of their columns, words joined by spaces."""
        names = list(self.words.words)
        for parent, last in self.longer.tolist():
            names.append(f"{names[parent]} {names[last]}")
        chosen = np.argsort(self.columns)[len(self.columns) - self.n_columns :]  # after those without a column
        return _vocabulary([names[node] for node in chosen.tolist()])

    @cached_property
    def _table(self) -> RunTable:
        return RunTable.of(self.longer[:, 0] * np.int64(len(self.words)) + self.longer[:, 1], len(self.words))

    def _check(self) -> None:
        """Raise unless the arrays fit each other: they may come from a file."""
        kinds = {self.longer.dtype, self.columns.dtype}
        if self.longer.shape[1:] != (2,) or self.columns.ndim != 1 or kinds != {np.dtype(np.int32)}:
            raise StoreError("the arrays of the n-grams have the wrong types or shapes: they are damaged.")
        (parents, lasts), n_words = self.longer.T, len(self.words)
        ordered = parents < n_words + np.arange(len(parents))
        ordered &= (np.diff(parents, prepend=0) >= 0) & (lasts >= 0) & (lasts < n_words)
        columns = np.bincount(np.minimum(self.columns[self.columns >= 0], self.n_columns), minlength=self.n_columns)
        sizes = range(self.ngram_range[0], self.ngram_range[1] + 1)  # a TypeError unless they are whole numbers
        fitting = len(self.columns) == n_words + len(lasts) and bool(sizes) and sizes[0] >= 1
        if not fitting or not ordered.all() or not (columns == 1).all():
            raise StoreError("the arrays of the n-grams do not fit each other: they are damaged.")


def learn_ngrams(
    source: Any, tokenizer: AnyTokenizer, ngram_range: tuple[int, int] = (1, 1), max_columns: int | None = None
) -> tuple[Ngrams, sparse.csr_array]:
    """Find and count the n-grams of texts, in one pass.

    Parameters
    ----------
    source : iterable, table or Path
        Anything :func:`parasphere.corpus.blocks` takes.
    tokenizer : Tokenizer, callable or Hugging Face tokenizer
        Splits texts into words.
    ngram_range : (int, int), default=(1, 1)
        Number of words of the shortest and the longest n-grams.
    max_columns : int, default=None
        Keep the most frequent n-grams only; None keeps all.

    Returns
    -------
    ngrams : Ngrams
        Most frequent first; of equally frequent ones those of fewer words, and then in alphabetical order.
    counts : (n_docs, n_columns) sparse array of int32, with sorted indices

    Examples
    --------
    >>> from parasphere import Tokenizer
    >>> ngrams, counts = learn_ngrams(["to be", "or not to be"], Tokenizer(), (1, 2))
    >>> ngrams.names.words
    ['be', 'to', 'to be', 'not', 'or', 'not to', 'or not']
    >>> counts.toarray()
    array([[1, 1, 1, 0, 0, 0, 0],
           [1, 1, 1, 1, 1, 1, 1]], dtype=int32)
    """
    vocabulary, words = _read(source, tokenizer)
    nodes, runs, totals, first = _runs(words, len(vocabulary), ngram_range)
    if not totals[first:].any():
        lacking = f"{ngram_range[0]} words in a row" if totals.any() else "a word"
        raise CorpusError(f"none of the texts has {lacking}; at least one must")
    order = first + np.argsort(-totals[first:], kind="stable")
    chosen = order[totals[order] > 0][:max_columns]  # stop words occur no longer
    columns = np.full(len(totals), -1, np.int32)
    columns[chosen] = np.arange(len(chosen), dtype=np.int32)
    counts = _count_rows(_with_none(columns)[nodes[ngram_range[0] - 1 :]], words.ends, len(chosen))
    return _needed(vocabulary, runs, columns, ngram_range), counts


def hashed_counts(
    source: Any, tokenizer: AnyTokenizer, ngram_range: tuple[int, int], n_columns: int
) -> sparse.csr_array:
    """Count the n-grams of texts without a vocabulary: the column of an n-gram is a hash of its name.

    The hash is FNV-1a, 64 bits, of the UTF-8 bytes of the words, joined by spaces, then mixed by the last steps of
    MurmurHash3, modulo ``n_columns``. It is the same in every process, on every machine and in every version.

    Returns
    -------
    (n_docs, n_columns) sparse array of int32, with sorted indices

    Examples
    --------
    >>> from parasphere import Tokenizer
    >>> hashed_counts(["to be", "be", ""], Tokenizer(), (1, 2), 8).toarray()
    array([[0, 1, 1, 0, 0, 0, 0, 1],
           [0, 1, 0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0, 0, 0]], dtype=int32)
    """

    def hashed(texts: list[Any]) -> sparse.csr_array:
        words, (ids, ends) = distinct_words(texts, tokenizer)
        columns = np.full((ngram_range[1] - ngram_range[0] + 1, len(ids)), -1, np.int32)
        hash_runs(words.data, words.offsets, ids, ends, ngram_range[0], np.uint64(n_columns), columns)
        return _count_rows(columns, ends, n_columns)

    return _stacked((hashed(block.texts) for block in blocks(source)), n_columns)


def _stacked(parts: Iterable[sparse.csr_array], n_columns: int) -> sparse.csr_array:
    held = list(parts)
    if not held:
        return sparse.csr_array((0, n_columns), dtype=np.int32)
    return sparse.vstack(held, format="csr") if len(held) > 1 else held[0]


def _read(source: Any, tokenizer: AnyTokenizer) -> tuple[Vocabulary, WordIds]:
    """Return the words of a corpus in alphabetical order, and its texts as rows of these."""
    met, (ids, ends) = distinct_words([text for block in blocks(source) for text in block.texts], tokenizer)
    order = sorted(range(len(met)), key=met.words.__getitem__)
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    return _vocabulary([met.words[row] for row in order]), WordIds(_with_none(places)[ids], ends)


def _runs(
    words: WordIds, n_words: int, ngram_range: tuple[int, int]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], int]:
    """Find all runs of words up to the longest n-grams.

    Returns
    -------
    nodes : (longest, n_places) int32
        As :meth:`Ngrams.nodes` returns them.
    runs : (n_nodes - n_words,) int64
        For each longer node, ``parent * n_words + last word``, in ascending order.
    totals : (n_nodes,) int64
        How often each node occurs.
    first : int
        The first node that is long enough to be an n-gram.
    """
    shortest, longest = ngram_range
    nodes = np.empty((longest, len(words.ids)), np.int32)
    nodes[0] = words.ids
    runs, first = np.empty(0, np.int64), 0
    totals = np.bincount(words.ids + 1, minlength=n_words + 1)[1:]
    if longest > 1:
        text = np.repeat(np.arange(len(words.ends), dtype=np.int32), np.diff(words.ends, prepend=0))
    for size in range(2, longest + 1):
        before, after = nodes[size - 2, : 1 - size], words.ids[size - 1 :]
        whole = (before >= 0) & (after >= 0) & (text[: 1 - size] == text[size - 1 :])
        new, counts = _distinct(before[whole].astype(np.int64) * n_words + after[whole])
        look_up(nodes[size - 2], *words, size, n_words, *RunTable.of(new, len(totals)), nodes[size - 1])
        first = len(totals) if size == shortest else first
        runs, totals = np.concatenate([runs, new]), np.concatenate([totals, counts])
    return nodes, runs, totals, first


def _needed(
    words: Vocabulary, runs: NDArray[np.int64], columns: NDArray[np.int32], ngram_range: tuple[int, int]
) -> Ngrams:
    """Return the nodes that have a column, with the words and the shorter runs that lead to them."""
    n_words = len(words)
    longer = np.column_stack(np.divmod(runs, max(n_words, 1)))
    needed = columns >= 0
    for _ in range(1, ngram_range[1]):  # parents are needed too, one level at a time
        needed[longer[needed[n_words:], 0]] = True
    longer = longer[needed[n_words:]]
    needed[longer[:, 1]] = True
    new = (np.cumsum(needed) - 1).astype(np.int32)
    known = _vocabulary([words.words[row] for row in np.flatnonzero(needed[:n_words]).tolist()])
    return Ngrams(known, new[longer], columns[needed], ngram_range)


def _distinct(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys in ascending order, and their counts; ``keys`` is overwritten."""
    keys.sort()
    counts = np.empty(len(keys), np.int64)
    size = merge(keys, counts)
    return keys[:size].copy(), counts[:size].copy()


def _with_none(names: NDArray[np.int32]) -> NDArray[np.int32]:
    """Append -1, so that indexing with -1 gives -1."""
    return np.append(names, np.int32(-1))


def _vocabulary(words: list[str]) -> Vocabulary:
    """Return a vocabulary of words that are known to be distinct."""
    column = Strings.of(words)
    return Vocabulary.from_buffers(column.data, column.offsets, trusted=True)


def _count_rows(columns: NDArray[np.int32], ends: NDArray[np.int64], n_columns: int) -> sparse.csr_array:
    """Count the columns of each text, (n_texts, n_columns); ``columns`` is (n_levels, n_places), -1 for none."""
    keys = np.empty(columns.size, np.int64)
    keys, counts = _distinct(keys[: fill_keys(columns, ends, keys)])
    starts = np.searchsorted(keys, np.arange(len(ends) + 1, dtype=np.int64) << 32)
    if len(keys) < 2**31:  # liblinear and others take no wider indices
        starts = starts.astype(np.int32)
    parts = (counts.astype(np.int32), keys.astype(np.int32), starts)
    rows = sparse.csr_array(parts, shape=(len(ends), n_columns))
    rows.has_canonical_format = True
    return rows
