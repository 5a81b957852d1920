"""Near-duplicates: groups of texts that share most of their words.

The similarity is the cosine of tf-idf vectors, ``(1 + log count) idf``. It keeps copies with small changes and other
neighbours well apart, which the cosine of offsets does not: texts about the same subject have similar offsets
(``benchmarks/results/duplicates.md``).

Pairs are found without comparing all. Let the words of a text be ordered from frequent to rare, and let its *common*
part be the longest beginning whose vector is shorter than the threshold. If two texts share no word outside of the
common parts of both, the rarest word that they share is in the common part of one of them, and so are all others that
they share; hence the cosine is at most the length of that part. Only texts that share one of the other words, which are
rare, need to be compared. The cosine of these is at most the product of the lengths of both vectors up to the rarest
word that they share, which settles most of them.

Texts with the same words are compared once, as one. Of all pairs only those are kept that hold the groups together, the
most similar ones (a maximal spanning forest): the groups at any higher threshold follow from them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import NDArray

from .._kernels import find_pairs, find_rare
from ..corpus import blocks
from ..text import AnyTokenizer, Tokenizer
from .bm25 import BM25, TfIdf, bm25_tokenizer

THRESHOLD = 0.6  # copies with a fifth of their words changed are above it, other neighbours below (see above)
PAIRS_PER_CALL = 1 << 16  # at least: one document may have as many pairs as there are documents

Keep = Literal["longest", "first"]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Duplicate(NamedTuple):
    """Two texts that share most of their words.

    Attributes
    ----------
    first, second : int
        Their positions: in one corpus, the first is the smaller one; with ``against``, in the texts and in the others.
    similarity : float
        Cosine of their tf-idf vectors, 0 to 1.
    """

    first: int
    second: int
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class Duplicates(Sequence[tuple[int, ...]]):
    """Groups of texts that share most of their words.

    A sequence of groups: the positions of their texts, the representative first. Each text is similar to another one of
    its group, not necessarily to all of them.

    Attributes
    ----------
    links : list of Duplicate
        The pairs that hold the groups together, the most similar first: of each group one fewer than it has texts.
    lengths : (n_texts,) int array
        Number of words of each text.
    threshold : float
        The smallest similarity of a link.
    keep : {"longest", "first"}
        Which text represents a group: that with the most words (of several, the first), or the first.

    Examples
    --------
    >>> found = duplicates(["the cat sat on the mat", "a dog barked at the moon", "The cat sat on a mat!"])
    >>> list(found), found.kept.tolist(), found.removed.tolist()
    ([(0, 2)], [0, 1], [2])
    """

    links: list[Duplicate]
    lengths: NDArray[np.integer[Any]]
    threshold: float
    keep: Keep = "longest"

    @cached_property
    def groups(self) -> list[tuple[int, ...]]:
        """The groups, by the position of their representative."""
        if not self.links:
            return []
        from scipy.sparse import csgraph

        pairs = np.array([link[:2] for link in self.links])
        texts = np.unique(pairs)
        _, group = csgraph.connected_components(_graph(np.searchsorted(texts, pairs), len(texts)), directed=False)
        order = np.argsort(group, kind="stable")
        members = np.split(texts[order], np.flatnonzero(np.diff(group[order])) + 1)
        return sorted(self._representative_first(each) for each in members)

    @property
    def kept(self) -> Ints:
        """The positions of the texts without duplicates and of the representatives, ascending."""
        return np.delete(np.arange(len(self.lengths)), self.removed)

    @property
    def removed(self) -> Ints:
        """The positions of all texts of the groups except the representatives, ascending."""
        return np.sort(np.array([position for group in self.groups for position in group[1:]], np.int64))

    def at(self, threshold: float) -> "Duplicates":
        """Return the groups at a higher threshold, without a new search."""
        check_threshold(threshold)
        if threshold < self.threshold:
            raise ValueError(
                f"these groups were found with the threshold {self.threshold:g}; {threshold:g} is lower: search again"
            )
        links = [link for link in self.links if link.similarity >= threshold]
        return replace(self, links=links, threshold=threshold)

    def _representative_first(self, members: Ints) -> tuple[int, ...]:
        best = int(members[np.argmax(self.lengths[members])] if self.keep == "longest" else members[0])
        return (best, *(one for one in members.tolist() if one != best))

    def __len__(self) -> int:
        return len(self.groups)

    @overload
    def __getitem__(self, item: int) -> tuple[int, ...]: ...

    @overload
    def __getitem__(self, item: slice) -> list[tuple[int, ...]]: ...

    def __getitem__(self, item: int | slice) -> tuple[int, ...] | list[tuple[int, ...]]:
        return self.groups[item]

    def __repr__(self) -> str:
        n_copies = len(self.links)  # a group has one link fewer than texts
        return f"Duplicates: {len(self):,} groups; redundant: {n_copies:,} of {len(self.lengths):,} texts"


@overload
def duplicates(
    source: Any,
    threshold: float = THRESHOLD,
    *,
    against: None = None,
    keep: Keep = "longest",
    tokenizer: AnyTokenizer | None = None,
    **columns: Any,
) -> Duplicates: ...


@overload
def duplicates(
    source: Any,
    threshold: float = THRESHOLD,
    *,
    against: Any,
    keep: Keep = "longest",
    tokenizer: AnyTokenizer | None = None,
    **columns: Any,
) -> list[Duplicate]: ...


def duplicates(
    source: Any,
    threshold: float = THRESHOLD,
    *,
    against: Any = None,
    keep: Keep = "longest",
    tokenizer: AnyTokenizer | None = None,
    **columns: Any,
) -> Duplicates | list[Duplicate]:
    """Find texts that share most of their words, in one corpus or between two.

    Parameters
    ----------
    source : texts, token lists, columns or path
    threshold : float, default=0.6
        The smallest similarity, above 0 and at most 1. If a tenth of the words of a paragraph are deleted or replaced,
        it is 0.94 at the median, and 0.87 if a fifth are; of other neighbours, one in a hundred is above 0.5.
    against : texts, token lists, columns or path, default=None
        Other texts: find the texts of ``source`` that have duplicates among these.
    keep : {"longest", "first"}, default="longest"
        Which text represents a group.
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None finds runs of letters and digits, lower-cased, without English stop words. A text
        that has no other words is in no group.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.

    Returns
    -------
    Duplicates, or list of Duplicate
        The groups of one corpus; with ``against``, each text that has duplicates among the others, with the most
        similar of these, the most similar first.

    Examples
    --------
    >>> train, test = ["the cat sat on the mat", "a dog barked"], ["so it is", "The cat sat on a mat!"]
    >>> [(leak.first, leak.second, round(leak.similarity, 3)) for leak in duplicates(train, against=test)]
    [(0, 1, 1.0)]
    """
    check_threshold(threshold)
    if keep not in get_args(Keep):
        raise ValueError(f"keep must be 'longest' or 'first', not {keep!r}")
    tokenizer = bm25_tokenizer(Tokenizer() if tokenizer is None else tokenizer)
    own = _counted(source, tokenizer, columns)
    if against is None:
        return grouped(own, threshold, keep) if own else Duplicates([], np.empty(0, np.int64), threshold, keep)
    others = _counted(against, tokenizer, columns)
    return _shared(BM25.concatenate([own, others]), len(own), threshold) if own and others else []


def grouped(bm25: BM25, threshold: float, keep: Keep = "longest") -> Duplicates:
    """Return the groups of documents whose tf-idf vectors have at least this cosine."""
    check_threshold(threshold)
    rows = _Distinct.of(_frequent_first(bm25))
    pairs, cosines = np.empty((0, 2), np.int64), np.empty(0)
    for more, their_cosines in _pairs(rows.vectors, threshold):
        pairs, cosines = np.concatenate([pairs, more]), np.concatenate([cosines, their_cosines])
        if len(pairs) > 2 * len(rows.first):  # otherwise memory would grow with the number of pairs
            pairs, cosines = _forest(pairs, cosines, len(rows.first))
    pairs, cosines = _forest(pairs, cosines, len(rows.first))
    filled = np.flatnonzero(rows.row >= 0)
    copies = filled[rows.first[rows.row[filled]] != filled]
    pairs = np.concatenate([np.stack([rows.first[rows.row[copies]], copies], axis=1), np.sort(rows.first[pairs])])
    return Duplicates(_listed(pairs, np.concatenate([np.ones(len(copies)), cosines])), bm25.lengths, threshold, keep)


def check_threshold(threshold: float) -> None:
    """Raise unless a threshold is a cosine above 0."""
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, not {threshold:g}")


def _counted(source: Any, tokenizer: AnyTokenizer, columns: dict[str, Any]) -> BM25 | None:
    """Return the words of a corpus, None if it has no documents."""
    parts = [BM25.from_texts(block.texts, tokenizer) for block in blocks(source, **columns)]
    return BM25.concatenate(parts) if parts else None


def _shared(bm25: BM25, n_own: int, threshold: float) -> list[Duplicate]:
    """Return each of the first ``n_own`` documents that has duplicates among the rest, with the most similar one."""
    rows = _Distinct.of(_frequent_first(bm25))
    n_rows, nobody = len(rows.first), len(bm25)
    other = np.full(n_rows, nobody)  # the first of the other documents that has each row
    document = np.flatnonzero(rows.row >= 0)
    theirs = document[document >= n_own]
    np.minimum.at(other, rows.row[theirs], theirs)
    has_own = np.zeros(n_rows, bool)
    has_own[rows.row[document[document < n_own]]] = True
    best, partner = np.where(other < nobody, 1.0, -1.0), other.copy()
    for pairs, cosines in _pairs(rows.vectors, threshold):
        ends, values = np.concatenate([pairs, pairs[:, ::-1]]), np.concatenate([cosines, cosines])
        among = has_own[ends[:, 0]] & (other[ends[:, 1]] < nobody)
        one, partners, values = ends[among, 0], other[ends[among, 1]], values[among]
        one, partners = np.concatenate([one, np.arange(n_rows)]), np.concatenate([partners, partner])
        values = np.concatenate([values, best])
        order = np.lexsort((partners, -values, one))
        order = order[np.diff(one[order], prepend=-1) > 0]  # the best of each row
        best, partner = values[order], partners[order]
    mine = document[document < n_own]
    mine = mine[best[rows.row[mine]] > 0]
    pairs = np.stack([mine, partner[rows.row[mine]] - n_own], axis=1)
    return _listed(pairs, best[rows.row[mine]])


def _listed(pairs: Ints, cosines: Floats) -> list[Duplicate]:
    """Return pairs, the most similar first."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0], -cosines))
    return [
        Duplicate(first, second, cosine)
        for (first, second), cosine in zip(pairs[order].tolist(), cosines[order].tolist(), strict=True)
    ]


def _forest(pairs: Ints, cosines: Floats, size: int) -> tuple[Ints, Floats]:
    """Return the pairs of a maximal spanning forest."""
    if not len(pairs):
        return pairs, cosines
    from scipy.sparse import csgraph

    tree = csgraph.minimum_spanning_tree(_graph(pairs, size, 2.0 - cosines)).tocoo()
    return np.stack([tree.row, tree.col], axis=1).astype(np.int64), 2.0 - tree.data


def _graph(pairs: Ints, size: int, weights: Floats | None = None) -> Any:
    from scipy import sparse

    weights = np.ones(len(pairs)) if weights is None else weights
    rows, columns = pairs.T.astype(np.int32)  # before SciPy 1.16 the trees of csgraph take no others
    return sparse.csr_array((weights, (rows, columns)), (size, size))


class _Distinct(NamedTuple):
    """The different tf-idf vectors of documents that have words.

    Attributes
    ----------
    vectors : TfIdf
        One row per different vector.
    first : (n_rows,) int64
        The first document with each.
    row : (n_docs,) int64
        The row of each document; -1 for a document without words.
    """

    vectors: TfIdf
    first: Ints
    row: Ints

    @classmethod
    def of(cls, vectors: TfIdf) -> "_Distinct":
        starts, words, values = vectors
        sizes = np.diff(starts)
        filled = np.flatnonzero(sizes)
        row = np.full(len(sizes), -1)
        if not len(filled):
            return cls(TfIdf(np.zeros(1, np.int64), words, values), filled, row)
        hashes = np.add.reduceat(_mixed(words, values), starts[filled])
        _, first, same = np.unique(hashes, return_index=True, return_inverse=True)
        like = filled[first][same]  # the first document with the same hash
        differ = filled[~_equal_rows(vectors, filled, like)]  # hash collisions
        like[np.isin(filled, differ)] = differ
        distinct, numbers = np.unique(like, return_inverse=True)
        row[filled] = numbers
        entries = np.concatenate([[0], np.cumsum(sizes[distinct])])
        places = np.arange(entries[-1]) + np.repeat(starts[distinct] - entries[:-1], sizes[distinct])
        return cls(TfIdf(entries, words[places], values[places]), distinct, row)


def _mixed(words: NDArray[np.int32], values: Floats) -> NDArray[np.uint64]:
    """Return a hash of each entry; the sum of those of a row is its hash."""
    mixed = words.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) ^ values.view(np.uint64)
    mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.asarray(mixed ^ mixed >> np.uint64(32))


def _equal_rows(vectors: TfIdf, one: Ints, other: Ints) -> NDArray[np.bool_]:
    """Return which pairs of rows are the same."""
    starts, words, values = vectors
    sizes = np.diff(starts)
    equal = sizes[one] == sizes[other]
    again = np.flatnonzero(equal & (one != other))
    if len(again):
        begins = np.concatenate([[0], np.cumsum(sizes[one[again]])])
        steps = np.arange(begins[-1]) - np.repeat(begins[:-1], sizes[one[again]])
        a, b = (np.repeat(starts[rows[again]], sizes[one[again]]) + steps for rows in (one, other))
        differs = (words[a] != words[b]) | (values[a] != values[b])
        equal[again] = ~np.logical_or.reduceat(differs, begins[:-1])
    return np.asarray(equal)


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
