"""Indexes: the documents of a corpus, read once, to be searched many times."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .. import storage
from ..corpus import Block, one_text
from ..errors import ParasphereError, StoreError
from ..model import Encoder, Match, n_threads
from ..sphere.rows import unit_rows
from ..storage import WRONG_FACTS, Arrays, check_layouts, check_types, storable
from ..text import AnyTokenizer, Strings, Tokenizer, Vocabulary
from ..vectors import WordVectors
from .approximate import MIN_CANDIDATES, Graph
from .bm25 import BM25, bm25_tokenizer
from .fusion import SAMPLE_SIZE, Fusion, find_fusion
from .ids import Ids
from .near_duplicates import THRESHOLD, Duplicate, similar_pairs
from .ranking import Hits, Queries, rank, rank_among

KIND = "index"
DTYPES = (np.float32, np.float16)
BM25_ARRAYS = ("starts", "documents", "counts", "lengths")


@dataclass(eq=False, repr=False)
@storable(KIND)
class Index:
    """Documents that can be searched by texts; made by :meth:`SphericalParagraphModel.index`.

    A search ranks documents by the cosine of their offsets with that of the query, which finds what is about the same,
    and by the words that they share with it (BM25), which also finds names and numbers that have no vector::

        score = (1 - weight) cosine + weight scale BM25

    Both parts of the score are divided by their standard deviations, and ``weight`` is found without labels, by how
    well each part finds the second half of a text, given words of its first half: when the first documents are added,
    and again when an index of less than 1,024 texts has grown to about twice its size.

    Attributes
    ----------
    encoder : Encoder
        Encodes documents and queries; later fits of the model do not change it.
    offsets : (n_docs, dim) float32 or float16
        Unit vectors of the documents; 0 for documents without known words.
    ids : (n_docs,) Ids
        The ids of the documents, strings or integers as they were given; by default their numbers, as strings, in the
        order in which they were added.
    texts : (n_docs,) Strings, or None
        The texts, if they are kept.
    bm25 : BM25 or None
        The words of the documents; None if searches use offsets alone.
    fusion : Fusion
        The weight and the scale of words.
    added : int
        Number of documents that were ever added.
    graph : Graph or None
        The neighbours of the documents, if :meth:`make_graph` or an approximate search found them.

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
    offsets: NDArray[Any]
    ids: Ids
    texts: Strings | None
    bm25: BM25 | None
    fusion: Fusion = field(default_factory=Fusion)
    added: int = 0
    graph: Graph | None = None

    @classmethod
    def empty(cls, encoder: Encoder, *, dtype: DTypeLike = np.float32, texts: bool = True, words: bool = True) -> Self:
        """Return an index without documents; see :meth:`SphericalParagraphModel.index` for the parameters."""
        if np.dtype(dtype) not in DTYPES:
            raise ValueError(f"the offsets of an index are float32 or float16, not {np.dtype(dtype)}")
        bm25 = BM25.from_texts([], bm25_tokenizer(encoder.text_reader.tokenizer)) if words else None
        return cls(encoder, np.empty((0, encoder.dim), dtype), Ids.of([]), Strings.of([]) if texts else None, bm25)

    def add(self, source: Any, ids: Any = None, **columns: Any) -> None:
        """Add documents; they come after those that are there.

        Parameters
        ----------
        source : texts, token lists, columns or path
            Token lists have no texts to keep.
        ids : str or sequence, default=None
            The name of the column with the ids, or the ids themselves: one per document, all different.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        offsets, names, texts = [self.offsets], [self.ids], [] if self.texts is None else [self.texts]
        bm25 = [] if self.bm25 is None else [self.bm25]
        sample, added = _Sample(), self.added
        small = self.bm25 is not None and len(self) < SAMPLE_SIZE
        if small and self.texts is not None:
            sample.add(self.texts.tolist())
        for block, posterior in self.encoder.stream(source, **columns, **({} if ids is None else {"id": ids})):
            offsets.append(unit_rows(posterior.offset, np.float64).astype(self.offsets.dtype))
            names.append(_names(block, added))
            added += len(block)
            if self.texts is not None:
                if block.tokenised:
                    raise ParasphereError("lists of tokens have no texts to keep; make the index with texts=False")
                texts.append(Strings.of(block.texts))
            if self.bm25 is not None:
                bm25.append(BM25.from_texts(block.texts, self.bm25.tokenizer))
                sample.add(block.texts)
        all_names = Ids.concatenate(names)
        doubled = len(all_names).bit_length() > len(self).bit_length()
        fusion = self.fusion
        if self.bm25 is not None and small and doubled and sample.seen > len(all_names) // 2:
            fusion = find_fusion(sample.texts, self._offsets, self.bm25.tokenizer)
        self._replace(
            offsets=np.concatenate(offsets),
            ids=all_names,
            texts=None if self.texts is None else Strings.concatenate(texts),
            bm25=None if self.bm25 is None else BM25.concatenate(bm25),
            fusion=fusion,
            added=added,
        )

    def _replace(self, **fields: Any) -> None:
        """Replace the documents, and drop the graph: at once, so that Ctrl-C leaves all or none changed."""
        self.__dict__.update(fields, graph=None)

    def remove(self, ids: str | int | Iterable[str | int]) -> None:
        """Remove documents; those after them move up.

        Parameters
        ----------
        ids : str or sequence of str
            Numbers are ids too, as in :meth:`add`.
        """
        kept = np.ones(len(self), bool)
        kept[self.ids.positions([ids] if isinstance(ids, str | int | np.integer) else ids)] = False
        self._replace(
            offsets=self.offsets[kept],
            ids=self.ids.take(kept),
            texts=None if self.texts is None else self.texts.take(kept),
            bm25=None if self.bm25 is None else self.bm25.select(kept),
        )

    @overload
    def search(
        self, queries: str, k: int = 10, *, weight: float | None = None, exact: bool = True, n_jobs: int | None = None
    ) -> list[Match]: ...

    @overload
    def search(
        self,
        queries: list[str] | tuple[str, ...],
        k: int = 10,
        *,
        weight: float | None = None,
        exact: bool = True,
        n_jobs: int | None = None,
    ) -> list[list[Match]]: ...

    def search(
        self,
        queries: str | list[str] | tuple[str, ...],
        k: int = 10,
        *,
        weight: float | None = None,
        exact: bool = True,
        n_jobs: int | None = None,
    ) -> list[Match] | list[list[Match]]:
        """Return the ``k`` best documents for a query, or for each of several queries, best first.

        Exact results depend on neither ``n_jobs`` nor the other queries.

        Parameters
        ----------
        queries : str or list of str
        k : int, default=10
        weight : float, default=None
            Weight of words, 0 to 1: 0 ranks by the offsets alone, 1 by the words alone. None is that of the index.
        exact : bool, default=True
            False compares the offsets of some candidates only (:meth:`make_graph`), which pays off above a million
            documents.
        n_jobs : int, default=None
            Number of threads; -1 is one per core, None is ``n_jobs`` of the model.

        Returns
        -------
        list of Match, or one such list per query
            A query has an empty list if no word of it is known.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, not {k!r}")
        texts = _checked_queries(queries)
        encoded, known = self._encode(texts, weight)
        threads = n_threads(self.encoder.n_jobs if n_jobs is None else n_jobs)
        if exact or not len(self):
            hits = rank(encoded, self.offsets, self.bm25, k, threads)
        else:
            near = self.make_graph().nearest(encoded.offsets, min(max(4 * k, MIN_CANDIDATES), len(self)), threads)
            hits = rank_among(near, encoded, self.offsets, self.bm25, k, threads)
        rows = zip(known.tolist(), *hits, strict=True)
        matches = [self._matches(Hits(*row)) if is_known else [] for is_known, *row in rows]
        return matches[0] if isinstance(queries, str) else matches

    def make_graph(self) -> Graph:
        """Make the graph of neighbours for approximate searches (extra ``search``), unless there is one.

        It takes minutes per million documents, is saved with the index, and is lost if documents change.
        """
        if self.graph is None:
            self.graph = Graph.build(self.offsets, n_threads(self.encoder.n_jobs))
        return self.graph

    def duplicates(self, threshold: float = THRESHOLD) -> list[Duplicate]:
        """Return all pairs of documents that share most of their words, the most similar first.

        Parameters
        ----------
        threshold : float, default=0.6
            The smallest similarity (:func:`parasphere.search.duplicates`).
        """
        if self.bm25 is None:
            raise ParasphereError("duplicates are found by words, and the index was made with words=False")
        return similar_pairs(self.bm25, threshold)

    def save(self, folder: str | Path) -> None:
        """Write the index and its encoder to a folder, replacing an earlier index in one step; nothing is pickled.

        Parameters
        ----------
        folder : path
            Made if necessary. Word vectors that were loaded by name or path are saved as a reference to it; others are
            written to the folder.
        """
        facts, arrays = storage.packed(self, KIND, warn=True)
        storage.save(folder, KIND, arrays, facts)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        vectors: str | Path | WordVectors | None = None,
        tokenizer: AnyTokenizer | None = None,
        verify: bool = True,
    ) -> "Index":
        """Map a saved index into memory.

        Parameters
        ----------
        folder : path
        vectors : path or WordVectors, default=None
            The word vectors, if they were moved; their content must be the same.
        tokenizer : callable, default=None
            The tokenizer, if it was a Python function, which is not saved.
        verify : bool, default=True
            Compare the data with their checksum, and check the numbers, once per file.
        """
        arrays, facts = storage.load(folder, KIND, verify=verify, inspect=check_arrays)
        try:
            index = storage.unpacked(facts, arrays, KIND, vectors=vectors, tokenizer=tokenizer)
        except StoreError as error:
            raise StoreError(f"{folder}: {error}") from error
        except WRONG_FACTS as error:
            raise StoreError(f"{folder} holds no valid index ({error}): it is damaged.") from error
        if not isinstance(index, Index):
            raise StoreError(f"{folder} holds a {type(index).__name__} in place of an index: it is damaged.")
        return index

    def __len__(self) -> int:
        return len(self.offsets)

    def __repr__(self) -> str:
        return f"Index of {len(self):,} documents in {self.offsets.shape[1]} dimensions"

    def to_saved(self) -> tuple[dict[str, Any], Arrays]:
        """Return the facts and arrays of a saved index."""
        weight, scale = self.fusion
        facts = {"encoder": self.encoder, "weight": weight, "scale": scale, "added": self.added}
        arrays = {"offsets": self.offsets} | self.ids.to_saved()
        arrays |= {} if self.graph is None else {"graph": self.graph.data}
        arrays |= {} if self.texts is None else self.texts.to_saved("texts")
        if self.bm25 is not None:
            arrays |= {"words.bytes": self.bm25.words.data, "words.ends": self.bm25.words.offsets}
            arrays |= {f"words.{name}": getattr(self.bm25, name) for name in BM25_ARRAYS}
        return facts, arrays

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: Arrays, _given: Any) -> Self:
        """Make an index of saved facts and arrays."""
        check_types({"weight": float, "scale": float, "added": int}, facts)
        encoder, added = facts["encoder"], facts["added"]
        fusion = Fusion(float(facts["weight"]), float(facts["scale"]))
        if encoder.reader is None:
            raise ParasphereError("its model cannot read texts")
        parts = _Columns.of(arrays, bm25_tokenizer(encoder.reader.tokenizer))
        index = cls(encoder, *parts, fusion, added, Graph(arrays["graph"]) if "graph" in arrays else None)
        sizes = {len(part) for part in parts if part is not None}
        if len(sizes) > 1 or index.offsets.shape[1:] != (encoder.dim,) or added < len(index):
            raise ParasphereError("its parts are of different sizes")
        if not (0 <= fusion.weight <= 1 and 0 <= fusion.scale < np.inf):
            raise ParasphereError(f"words cannot have the weight {fusion.weight:g} and the scale {fusion.scale:g}")
        return index

    def _offsets(self, texts: list[Any]) -> NDArray[np.float64]:
        """Return the unit offsets of texts or token lists, (n_docs, dim), without a warning of unknown words."""
        return unit_rows(self.encoder.posterior(self.encoder.text_reader.bags(texts)).offset, np.float64)

    def _encode(self, texts: list[str], weight: float | None) -> tuple[Queries, NDArray[np.bool_]]:
        """Return queries to be ranked, and for which of them a word is known."""
        weight = (0.0 if self.bm25 is None else self.fusion.weight) if weight is None else float(weight)
        if not 0 <= weight <= 1:
            raise ValueError(f"weight must be between 0 (offsets alone) and 1 (words alone), not {weight:g}")
        if weight and self.bm25 is None:
            raise ParasphereError("the index was made with words=False and can be searched with weight=0 only")
        # Not by read: a query of words that only the index knows is no reason for a warning.
        bags = self.encoder.text_reader.bags(texts)
        offsets = unit_rows(self.encoder.posterior(bags).offset, np.float64)
        terms = None if self.bm25 is None or not weight else self.bm25.terms(texts)
        known = offsets.any(axis=1) if weight < 1 else np.zeros(len(texts), bool)
        if terms is not None:  # words without a vector have an offset, but find nothing unless the index has them
            known &= bags.lengths > bags.unknown * self.encoder.text_reader.unknown_weight * (1 + 1e-9)
            known |= np.diff(terms.ends, prepend=0) > 0
        return Queries(offsets, terms, 1 - weight, weight * self.fusion.scale), np.asarray(known)

    def _matches(self, hits: Hits) -> list[Match]:
        """Return the documents of one query."""
        positions, texts = hits.positions.tolist(), self.texts
        return [
            Match(i, cosine, self.ids[i], None if texts is None else texts[i], score)
            for i, cosine, score in zip(positions, hits.cosines.tolist(), hits.scores.tolist(), strict=True)
        ]


def check_arrays(arrays: Arrays) -> None:
    """Raise unless all numbers and strings of the arrays of a file are possible."""
    try:
        own = {name.removeprefix(f"{KIND}."): array for name, array in arrays.items()}
        offsets, ids, texts, bm25 = _Columns.of(own, Tokenizer())
        if not (np.einsum("ij,ij->i", offsets, offsets, dtype=np.float32) < 1.1).all():
            raise ParasphereError("its offsets are no unit vectors")
        for column in (ids.names, texts):
            if column is not None:
                column.check()
        ids.check()
        if bm25 is not None:
            bm25.words.check_utf8()
            bm25.words.table  # noqa: B018  (raises if a word is repeated)
            bm25.check()
    except WRONG_FACTS as error:
        raise StoreError(f"this is no valid index ({error}): it is damaged.") from error


class _Columns(NamedTuple):
    """The documents of an index."""

    offsets: NDArray[Any]
    ids: Ids
    texts: Strings | None
    bm25: BM25 | None

    @classmethod
    def of(cls, arrays: Arrays, tokenizer: AnyTokenizer) -> "_Columns":
        """Return the documents of saved arrays, whose types and shapes are checked."""
        offsets, bm25 = arrays["offsets"], None
        if offsets.ndim != 2 or offsets.dtype not in DTYPES:
            raise ParasphereError(f"its offsets are {offsets.dtype} of shape {offsets.shape}")
        if "words.ends" in arrays:
            words = Vocabulary.from_buffers(arrays["words.bytes"], arrays["words.ends"], trusted=True)
            postings: dict[str, Any] = {name: arrays[f"words.{name}"] for name in BM25_ARRAYS}
            bm25 = BM25(tokenizer, words, **postings)
        texts = _strings("texts", arrays) if "texts.ends" in arrays else None
        names = _strings("ids", arrays)
        whole = arrays.get("ids.whole", np.zeros(len(names), np.uint8))
        check_layouts({"whole": whole}, {"whole": "u1[docs]"}, {"docs": len(names)})
        return cls(offsets, Ids(names, whole.astype(bool)), texts, bm25)


class _Sample:
    """A systematic sample of a corpus of unknown size: every n-th text, where n doubles as the sample fills up."""

    def __init__(self) -> None:
        self.texts: list[Any] = []
        self.step, self.seen = 1, 0

    def add(self, texts: list[Any]) -> None:
        """Add the next texts of the corpus."""
        chosen = texts[-self.seen % self.step :: self.step]
        self.seen += len(texts)
        self.texts += chosen
        while len(self.texts) > SAMPLE_SIZE:
            self.texts, self.step = self.texts[::2], 2 * self.step


def _strings(name: str, arrays: Arrays) -> Strings:
    """Return the column of strings of the arrays of a file."""
    data, offsets = arrays[f"{name}.bytes"], arrays[f"{name}.ends"]
    check_layouts({"bytes": data, "ends": offsets}, {"bytes": "u1[bytes]", "ends": "i8[docs+1]"})
    return Strings(data, offsets)


def _checked_queries(queries: Any) -> list[str]:
    if isinstance(queries, str | bytes):
        return [one_text(queries, "the query")]
    if not isinstance(queries, Sequence | np.ndarray) or not len(queries):
        kind = type(queries).__name__
        raise ValueError(f"queries must be a string or a list of strings that is not empty, not {kind}")
    return [one_text(text, f"the query at position {i}") for i, text in enumerate(queries)]


def _names(block: Block, first: int) -> Ids:
    """Return the ids of a block; the numbers from ``first`` on, as strings, if it has none."""
    return Ids.of(map(str, range(first, first + len(block))) if block.ids is None else block.ids, block.start)
