"""Indexes: the documents of a corpus, read once, to be searched many times."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..corpus import Block, blocks, one_text
from ..errors import ParasphereError
from ..model import Encoder, Posterior, n_threads
from ..sphere.rows import unit_rows
from ..storage import Saved
from ..text import Strings, check_language
from .approximate import MIN_CANDIDATES, Graph
from .bm25 import BM25, bm25_tokenizer, default_language
from .columns import Column, Where, chosen
from .contents import DTYPES, Contents, hash_of
from .fusion import SAMPLE_SIZE, Fusion, find_fusion
from .ids import Ids
from .matches import Matches
from .near_duplicates import THRESHOLD, Duplicates, Keep, grouped
from .ranking import Hits, Queries, rank, rank_among
from .reranking import Reranker, relevances

DEPTH = 100  # documents that a reranker sees


class Update(NamedTuple):
    """How many documents an update changed.

    Attributes
    ----------
    added : int
        Documents with new ids.
    replaced : int
        Documents whose texts had changed.
    kept : int
        Documents whose texts were the same.
    removed : int
        Documents that were not in the source and are gone (``prune=True``).
    """

    added: int
    replaced: int
    kept: int
    removed: int


class Index(Saved):
    """Documents that can be searched by texts; ``model.index(texts)`` makes one and adds texts to it.

    A search ranks documents by the cosine of their offsets with that of the query, which finds what is about the same,
    and by the words that they share with it (BM25 of stems), which also finds names and numbers that have no vector::

        score = (1 - weight) cosine + weight scale BM25

    Both parts of the score are divided by their standard deviations, and ``weight`` is found without labels, by how
    well each part finds the second half of a text, given words of its first half. This is done when the first documents
    are added, and again when an index of less than 1,024 texts has grown to about twice its size.

    Parameters
    ----------
    model : SphericalParagraphModel or Encoder
        A fitted model; the index keeps its encoder.
    dtype : {float32, float16}, default=float32
        Type of the offsets; float16 takes half the space, and similarities are exact to three digits.
    texts : bool, default=True
        Keep the texts, so that results show them.
    words : bool, default=True
        Keep which words occur in which documents, so that searches use them together with the offsets.
    language : str, default="auto"
        Words are compared by their stems in this language (Snowball: "english", "german", ...); None compares them as
        they are. "auto" is English if the model's tokenizer drops English stop words or none, as the default does, and
        None otherwise.
    columns : list of str, default=()
        The names of further columns to keep, by which searches can filter (``where=``).

    Attributes
    ----------
    encoder : Encoder
        Encodes documents and queries; later fits of the model do not change it.
    offsets : (n_docs, dim) float32 or float16
        Unit vectors of the documents; 0 for documents without known words.
    ids : Ids
        The ids of the documents, a sequence; by default their numbers, in the order in which they were added.
    texts : (n_docs,) sequence of strings, or None
        The texts, if they are kept.
    bm25 : BM25 or None
        The words of the documents; None if searches use offsets alone.
    columns : dict of str to Column
        Further values of the documents, by which searches can filter them.
    fusion : Fusion
        The weight and the scale of words.
    added : int
        Number of documents added so far, including those removed since.
    graph : Graph or None
        The neighbours of the documents, if :meth:`make_graph` or an approximate search found them; it is not saved.

    Examples
    --------
    >>> from parasphere import SphericalParagraphModel, WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
    >>> texts = ["north", "north east", "north west", "east of Eden"]
    >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(texts)
    >>> index = model.index(texts, ids=["a", "b", "c", "d"])
    >>> [match.id for match in index.search("Eden", k=1)]
    ['d']
    >>> index.remove("d")
    >>> len(index)
    3
    """

    encoder: Encoder
    contents: Contents
    fusion: Fusion
    added: int
    graph: Graph | None = None
    _left_out: ClassVar[tuple[str, ...]] = ("graph",)

    def __init__(
        self,
        model: Any,
        *,
        dtype: DTypeLike = np.float32,
        texts: bool = True,
        words: bool = True,
        language: str | None = "auto",
        columns: Sequence[str] = (),
    ) -> None:
        if np.dtype(dtype) not in DTYPES:
            raise ValueError(f"the offsets of an index are float32 or float16, not {np.dtype(dtype)}")
        if isinstance(columns, str):
            raise ValueError(f"columns must be a list of names, as in [{columns!r}], not one string")
        self.encoder = Encoder.of(model)
        tokenizer = self.encoder.text_reader.tokenizer
        language = default_language(tokenizer) if language == "auto" else language
        check_language(language)
        bm25 = BM25.from_texts([], bm25_tokenizer(tokenizer), language) if words else None
        held = {name: Column.of(name, []) for name in columns}
        offsets, kept = np.empty((0, self.encoder.dim), dtype), Strings.of([]) if texts else None
        self.contents = Contents(offsets, Ids.of([]), np.empty(0, np.uint64), kept, bm25, held)
        self.fusion = Fusion()
        self.added = 0

    @property
    def offsets(self) -> NDArray[Any]:
        """Unit vectors of the documents."""
        return self.contents.offsets

    @property
    def ids(self) -> Ids:
        """The ids of the documents."""
        return self.contents.ids

    @property
    def texts(self) -> Strings | None:
        """The texts, if they are kept."""
        return self.contents.texts

    @property
    def bm25(self) -> BM25 | None:
        """The words of the documents."""
        return self.contents.bm25

    @property
    def columns(self) -> dict[str, Column]:
        """Further values of the documents, by name."""
        return self.contents.columns

    def add(self, source: Any, ids: Any = None, **columns: Any) -> None:
        """Add documents, after the existing ones.

        Parameters
        ----------
        source : texts, token lists, columns or path
            Token lists have no texts to keep. If the index has columns, the source must have them too.
        ids : str or sequence, default=None
            The name of the column with the ids, or the ids themselves: one per document, all different.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        parts = [self.contents]
        sample, added = _Sample(), self.added
        for block, posterior in self.encoder.stream(self._blocks(source, ids, columns)):
            parts.append(self._read(block, posterior, added))
            added += len(block)
            sample.add(block.texts)
        self._replace(Contents.concatenate(parts), sample, added)

    def update(self, source: Any, ids: Any, *, prune: bool = False, **columns: Any) -> Update:
        """Bring the documents up to date: add new ones, and replace those whose texts have changed.

        All texts are read; only new and changed ones are encoded. If anything fails, nothing changes.

        Parameters
        ----------
        source : texts, columns or path
        ids : str or sequence
            The name of the column with the ids, or the ids themselves.
        prune : bool, default=False
            Remove documents whose ids are not in ``source``.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.

        Returns
        -------
        Update
            How many documents were added, replaced, kept and removed.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel
        >>> texts = {"id": ["a", "b"], "text": ["the cat sat", "a dog barked"]}
        >>> index = SphericalParagraphModel(tol=1e-3).fit(texts["text"]).index(texts["text"], texts["id"])
        >>> index.update(["a dog barked", "a bird sang"], ["b", "c"], prune=True)
        Update(added=1, replaced=0, kept=1, removed=1)
        """
        if ids is None:
            raise ParasphereError("an update needs ids, to find out which documents are new and which have changed")
        before = self.contents
        there, kept = before.ids.places, np.ones(len(before), bool)
        seen = np.zeros(len(before), bool)
        same: list[int] = []  # the positions of documents whose texts are the same, and the new values of their columns
        values: dict[str, list[Any]] = {name: [] for name in before.columns}
        counts = {"added": 0, "replaced": 0}

        def changed() -> Iterator[Block]:
            for block in self._blocks(source, ids, columns):
                rows, alike = [], []
                for row, (name, text) in enumerate(zip(Ids.of(block.ids or ()).names, block.texts, strict=True)):
                    position = there.get(name)
                    if position is None:
                        counts["added"] += 1
                        rows.append(row)
                        continue
                    if seen[position]:
                        raise ParasphereError(f"two documents have the id {name!r}; each needs its own")
                    seen[position] = True
                    if int(before.hashes[position]) == hash_of(text):
                        same.append(position)
                        alike.append(row)
                    else:
                        counts["replaced"] += 1
                        kept[position] = False
                        rows.append(row)
                for column, found in values.items():
                    found += [_carried(block, column)[row] for row in alike]
                if rows:
                    yield _some_of(block, rows)

        parts, sample, added = [], _Sample(), self.added
        for block, posterior in self.encoder.stream(changed()):
            parts.append(self._read(block, posterior, added))
            added += len(block)
            sample.add(block.texts)
        removed = int((~seen).sum()) if prune else 0
        if prune:
            kept &= seen
        held = before.with_columns({
            name: _with_values(column, same, values[name]) for name, column in before.columns.items()
        })  # fmt: skip
        if not kept.all():
            held = held.take(kept)
        self._replace(Contents.concatenate([held, *parts]), sample, added)
        return Update(**counts, kept=len(same), removed=removed)

    def remove(self, ids: str | int | Iterable[str | int]) -> None:
        """Remove documents; those after them move up.

        Parameters
        ----------
        ids : str, int, or sequence of these
        """
        names = [ids] if isinstance(ids, str | int | np.integer) else ids
        kept = np.ones(len(self), bool)
        kept[self.ids.positions(names)] = False
        self._replace(self.contents.take(kept))

    @overload
    def search(
        self,
        queries: str,
        k: int = 10,
        *,
        where: Where | None = None,
        weight: float | None = None,
        rerank: Reranker | None = None,
        depth: int = DEPTH,
        exact: bool = True,
        n_jobs: int | None = None,
    ) -> Matches: ...

    @overload
    def search(
        self,
        queries: list[str] | tuple[str, ...],
        k: int = 10,
        *,
        where: Where | None = None,
        weight: float | None = None,
        rerank: Reranker | None = None,
        depth: int = DEPTH,
        exact: bool = True,
        n_jobs: int | None = None,
    ) -> list[Matches]: ...

    def search(
        self,
        queries: str | list[str] | tuple[str, ...],
        k: int = 10,
        *,
        where: Where | None = None,
        weight: float | None = None,
        rerank: Reranker | None = None,
        depth: int = DEPTH,
        exact: bool = True,
        n_jobs: int | None = None,
    ) -> Matches | list[Matches]:
        """Return the ``k`` best documents for a query, or for each of several queries, best first.

        Exact results depend on neither ``n_jobs`` nor the other queries.

        Parameters
        ----------
        queries : str or list of str
        k : int, default=10
        where : dict, callable or (n_docs,) bool array, default=None
            Which documents are searched: conditions on the columns of the index, such as
            ``{"section": "net", "year": (">=", 2020), "kind": ["a", "b"]}``; a function of a dict of the columns of a
            document; or a mask.
        weight : float, default=None
            Weight of words, 0 to 1: 0 ranks by the offsets alone, 1 by the words alone. None is that of the index.
        rerank : callable, or a model of sentence-transformers, default=None
            Reorders the first ``depth`` documents: a function of the query and a list of texts that returns a number
            per text, a CrossEncoder, or a model with ``encode``.
        depth : int, default=100
        exact : bool, default=True
            False compares the offsets of some candidates only (:meth:`make_graph`), which pays off above a million
            documents.
        n_jobs : int, default=None
            Number of threads; -1 is one per core, None is ``n_jobs`` of the model.

        Returns
        -------
        Matches, or one per query
            A sequence of :class:`parasphere.model.Match`. It is empty if no word of the query is known.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel
        >>> table = {"text": ["a ship at sea", "a train at noon", "ships in port"], "year": [1990, 2001, 2020]}
        >>> model = SphericalParagraphModel(tol=1e-3).fit(table["text"])
        >>> import pandas  # or give a file with these columns
        >>> index = model.index(pandas.DataFrame(table), columns=["year"])
        >>> [(match.text, match.columns["year"]) for match in index.search("ship", where={"year": (">", 2000)}, k=1)]
        [('ships in port', 2020)]
        """
        for name, number in (("k", k), ("depth", depth)):
            if not isinstance(number, int | np.integer) or number < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {number!r}")
        contents = self.contents
        if rerank is not None and contents.texts is None:
            raise ParasphereError("rerank reads the texts of documents, and the index was made with texts=False")
        texts = _checked_queries(queries)
        encoded, known = self._encode(texts, weight)
        threads = n_threads(self.encoder.n_jobs if n_jobs is None else n_jobs)
        admitted = None if where is None else chosen(where, contents.columns, len(contents))
        n_found = k if rerank is None else max(k, depth)
        if exact or admitted is not None or not len(contents):
            hits = rank(encoded, contents.offsets, contents.bm25, n_found, threads, admitted)
        else:
            count = min(max(4 * n_found, MIN_CANDIDATES), len(contents))
            near = self.make_graph().nearest(encoded.offsets, count, threads)
            hits = rank_among(near, encoded, contents.offsets, contents.bm25, n_found, threads)
        found = []
        for number, (text, is_known) in enumerate(zip(texts, known.tolist(), strict=True)):
            own = Hits(*(column[number] if is_known else column[number][:0] for column in hits))
            words = (
                np.empty(0, np.int32) if encoded.terms is None else encoded.terms.of(slice(number, number + 1)).words
            )
            if rerank is not None and contents.texts is not None:
                own = _reranked(own, rerank, text, contents.texts, k)
            found.append(Matches(contents, words, own))
        return found[0] if isinstance(queries, str) else found

    def make_graph(self) -> Graph:
        """Make the graph of neighbours for approximate searches (extra ``search``), unless there is one.

        It takes minutes per million documents. It is not saved, because a saved graph could not be checked, and
        dropped when documents change.
        """
        if self.graph is None:
            self.graph = Graph(self.offsets, n_threads(self.encoder.n_jobs))
        return self.graph

    def duplicates(self, threshold: float = THRESHOLD, *, keep: Keep = "longest") -> Duplicates:
        """Return groups of documents that share most of their words (stems, if it has a language), as their positions.

        Parameters
        ----------
        threshold : float, default=0.6
            The smallest similarity (:func:`parasphere.duplicates`).
        keep : {"longest", "first"}, default="longest"
            Which document represents a group.
        """
        if self.bm25 is None:
            raise ParasphereError("duplicates are found by words, and the index was made with words=False")
        return grouped(self.bm25, threshold, keep)

    def __len__(self) -> int:
        return len(self.offsets)

    def __repr__(self) -> str:
        return f"Index of {len(self):,} documents in {self.offsets.shape[1]} dimensions"

    def _check_loaded(self) -> None:
        if self.encoder.reader is None:
            raise ParasphereError("its model cannot read texts")
        if self.offsets.shape[1] != self.encoder.dim or self.added < len(self):
            raise ParasphereError("its parts are of different sizes")

    def _blocks(self, source: Any, ids: Any, columns: dict[str, Any]) -> Iterator[Block]:
        """Return the blocks of a source, with ids and the columns of the index."""
        names = {} if ids is None else {"id": ids}
        return blocks(source, carry=list(self.columns), **columns, **names)

    def _read(self, block: Block, posterior: Posterior, first: int) -> Contents:
        """Return the documents of a block; the numbers from ``first`` on are their ids if it has none."""
        contents = self.contents
        if contents.texts is not None and block.tokenised:
            raise ParasphereError("lists of tokens have no texts to keep; make the index with texts=False")
        ids = Ids.of(range(first, first + len(block)) if block.ids is None else block.ids, block.start)
        bm25 = contents.bm25
        return Contents(
            unit_rows(posterior.offset, np.float64).astype(contents.offsets.dtype),
            ids,
            np.array([hash_of(text) for text in block.texts], np.uint64),
            None if contents.texts is None else Strings.of(block.texts),
            None if bm25 is None else BM25.from_texts(block.texts, bm25.tokenizer, bm25.language),
            {name: Column.of(name, _carried(block, name)) for name in contents.columns},
        )

    def _replace(self, contents: Contents, sample: "_Sample | None" = None, added: int | None = None) -> None:
        """Replace the documents and drop the graph in one step, so that Ctrl-C leaves everything or nothing changed."""
        fusion, bm25 = self.fusion, contents.bm25
        if sample is not None and bm25 is not None and len(contents).bit_length() > len(self).bit_length():
            if contents.texts is not None:  # sample all documents, not only the new ones
                sample = _Sample()
                sample.add(contents.texts.tolist())
            if sample.seen > len(contents) // 2:
                fusion = find_fusion(sample.texts, self._offsets, bm25.tokenizer, bm25.language)
        changes = {"contents": contents, "fusion": fusion, "added": self.added if added is None else added}
        self.__dict__.update(changes, graph=None)

    def _offsets(self, texts: list[Any]) -> NDArray[np.float64]:
        """Return the unit offsets of texts or token lists, (n_docs, dim), without a warning of unknown words."""
        return unit_rows(self.encoder.posterior(self.encoder.text_reader.bags(texts)).offset, np.float64)

    def _encode(self, texts: list[str], weight: float | None) -> tuple[Queries, NDArray[np.bool_]]:
        """Return encoded queries, and which of them have a known word."""
        weight = (0.0 if self.bm25 is None else self.fusion.weight) if weight is None else float(weight)
        if not 0 <= weight <= 1:
            raise ValueError(f"weight must be between 0 (offsets alone) and 1 (words alone), not {weight:g}")
        if weight and self.bm25 is None:
            raise ParasphereError("the index was made with words=False and can be searched with weight=0 only")
        # Not by read, which would warn of words that only the index knows.
        bags = self.encoder.text_reader.bags(texts)
        offsets = unit_rows(self.encoder.posterior(bags).offset, np.float64)
        terms = None if self.bm25 is None else self.bm25.terms(texts)
        known = offsets.any(axis=1) if weight < 1 else np.zeros(len(texts), bool)
        if (
            terms is not None and weight
        ):  # words without a vector have an offset, but find nothing unless the index has them
            known &= bags.lengths > bags.unknown * self.encoder.text_reader.unknown_weight * (1 + 1e-9)
            known |= np.diff(terms.ends, prepend=0) > 0
        return Queries(offsets, terms, 1 - weight, weight * self.fusion.scale), np.asarray(known)


class _Sample:
    """A systematic sample of a corpus of unknown size: every n-th text, where n doubles as the sample fills up."""

    def __init__(self) -> None:
        self.texts: list[Any] = []
        self.step, self.seen = 1, 0

    def add(self, texts: list[Any]) -> None:
        """Add the next texts of the corpus."""
        self.texts += texts[-self.seen % self.step :: self.step]
        self.seen += len(texts)
        while len(self.texts) > SAMPLE_SIZE:
            self.texts, self.step = self.texts[::2], 2 * self.step


def _reranked(hits: Hits, reranker: Reranker, query: str, texts: Strings, k: int) -> Hits:
    scores = relevances(reranker, query, [texts[position] for position in hits.positions.tolist()])
    order = np.argsort(-scores, kind="stable")[:k]
    return Hits(hits.positions[order], hits.cosines[order], scores[order])


def _carried(block: Block, name: str) -> list[Any]:
    """Return the values of a further column of a block."""
    assert block.carried is not None
    return block.carried[name]


def _some_of(block: Block, rows: list[int]) -> Block:
    """Return some documents of a block."""
    carried = None if block.carried is None else {
        name: [column[row] for row in rows] for name, column in block.carried.items()
    }  # fmt: skip
    texts, ids = ([column[row] for row in rows] for column in (block.texts, block.ids or []))
    return replace(block, texts=texts, ids=ids, labels=None, carried=carried)


def _with_values(column: Column, positions: list[int], values: list[Any]) -> Column:
    """Return a column with other values at some positions."""
    old = column.tolist()
    if [old[position] for position in positions] == values:
        return column
    for position, value in zip(positions, values, strict=True):
        old[position] = value
    return Column.of(column.name, old)


def _checked_queries(queries: Any) -> list[str]:
    if isinstance(queries, str | bytes):
        return [one_text(queries, "the query")]
    if not isinstance(queries, Sequence | np.ndarray) or not len(queries):
        kind = type(queries).__name__
        raise ValueError(f"queries must be a string or a list of strings that is not empty, not {kind}")
    return [one_text(text, f"the query at position {i}") for i, text in enumerate(queries)]
