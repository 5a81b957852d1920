"""Indexes: the documents of a corpus, read once, to be searched many times."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from .. import storage
from ..corpus import Block, one_text
from ..errors import ParasphereError, StoreError
from ..model import Match, n_threads
from ..model.posterior import unit_rows
from ..storage import WRONG_FACTS, check_types, storable
from .approximate import CANDIDATES, Graph
from .fusion import SAMPLE, Fusion, find_fusion
from .index_columns import DTYPES, KIND, WORDS, as_arrays, check_arrays, check_distinct, columns
from .lexical import Lexical, lexical_tokenizer
from .near_duplicates import THRESHOLD, Duplicate, similar_pairs
from .ranking import Question, Ranked, rank, rank_among


@dataclass(eq=False, repr=False)
@storable(KIND)
class Index:
    """Documents that can be searched by texts; made by :meth:`SphericalParagraphModel.index`.

    A search ranks documents by the cosine of their offsets with that of the query, which finds what is about the same,
    and by the words that they share with it (BM25), which also finds names and numbers that have no vector::

        score = (1 - weight) cosine + weight scale words

    Both parts of the score are divided by their standard deviations, and ``weight`` is found without labels, by how
    well each part finds the second half of a text, given words of its first half: when the first documents are added,
    and again when a small index, of less than 1,024 texts, has grown to about twice its size.

    Attributes
    ----------
    model : SphericalParagraphModel
        The model that reads documents and queries: a copy, which later fits do not change.
    offsets : (n_docs, dim) float32 or float16
        Unit vectors of the documents; 0 for documents without known words.
    ids : (n_docs,) Arrow column of strings
        The ids of the documents; without ids of your own, their numbers in the order in which they were added.
    texts : (n_docs,) Arrow column of strings, or None
        The texts, if they are kept.
    lexical : Lexical or None
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

    model: Any  # a fitted SphericalParagraphModel, whose module imports this one
    offsets: NDArray[Any]
    ids: pa.LargeStringArray
    texts: pa.LargeStringArray | None
    lexical: Lexical | None
    fusion: Fusion = field(default_factory=Fusion)
    added: int = 0
    graph: Graph | None = None

    @classmethod
    def empty(cls, model: Any, *, dtype: DTypeLike = np.float32, texts: bool = True, words: bool = True) -> Self:
        """Return an index without documents; see :meth:`SphericalParagraphModel.index` for the parameters."""
        if np.dtype(dtype) not in DTYPES:
            raise ValueError(f"the offsets of an index are float32 or float16, not {np.dtype(dtype)}")
        nothing = pa.array([], pa.large_string())
        tokenizer = lexical_tokenizer(model.text_reader.tokenizer)
        return cls(
            model,
            np.empty((0, model.dim), dtype),
            nothing,
            nothing if texts else None,
            Lexical.of(nothing, tokenizer) if words else None,
        )

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
        offsets, names, texts = [self.offsets], [self.ids], [self.texts]
        lexical = [] if self.lexical is None else [self.lexical]
        sample, added = _Sample(), self.added
        small = self.lexical is not None and len(self) < SAMPLE
        if small and self.texts is not None:
            sample.add(self.texts)
        for block, posterior in self.model.stream(source, **columns, **({} if ids is None else {"id": ids})):
            offsets.append(unit_rows(posterior.offset).astype(self.offsets.dtype))
            names.append(_names(block, added))
            added += len(block)
            if self.texts is not None:
                if block.tokenised:
                    raise ParasphereError("lists of tokens have no texts to keep; make the index with texts=False")
                texts.append(block.texts)
            if self.lexical is not None:
                lexical.append(Lexical.of(block.texts, self.lexical.tokenizer))
                sample.add(block.texts)
        together = pa.concat_arrays(names)
        check_distinct(together)
        doubled = len(together).bit_length() > len(self).bit_length()
        fusion = self.fusion
        if self.lexical is not None and small and doubled and sample.seen > len(together) // 2:
            fusion = find_fusion(pa.concat_arrays(sample.parts), self.model, self.lexical.tokenizer)
        self._hold(
            offsets=np.concatenate(offsets),
            ids=together,
            texts=None if self.texts is None else pa.concat_arrays(texts),
            lexical=None if self.lexical is None else Lexical.joined(lexical),
            fusion=fusion,
            added=added,
        )

    def _hold(self, **fields: Any) -> None:
        """Hold other documents, which have no graph yet: at once, so that Ctrl-C leaves all fields or none changed."""
        self.__dict__.update(fields, graph=None)

    def remove(self, ids: Any) -> None:
        """Remove documents; those after them move up.

        Parameters
        ----------
        ids : str or sequence of str
            Numbers are ids too, as in :meth:`add`.
        """
        asked = [str(each) for each in ([ids] if isinstance(ids, str | int | np.integer) else ids)]
        places = pc.index_in(pa.array(asked, pa.large_string()), value_set=self.ids)
        if places.null_count:
            missing = asked[pc.index(places.is_null(), True).as_py()]
            raise ParasphereError(f"no document of the index has the id {missing!r}; nothing was removed")
        kept = np.ones(len(self), bool)
        kept[np.asarray(places)] = False
        self._hold(
            offsets=self.offsets[kept],
            ids=self.ids.filter(pa.array(kept)),
            texts=None if self.texts is None else self.texts.filter(pa.array(kept)),
            lexical=None if self.lexical is None else self.lexical.kept(kept),
        )

    def search(self, queries: Any, k: int = 10, *, weight: float | None = None, exact: bool = True) -> Any:
        """Return the ``k`` best documents for a query, or for each of several queries, best first.

        The threads are those of the model's ``n_jobs``. Exact results do not depend on them, nor on the other queries.

        Parameters
        ----------
        queries : str or list of str
        k : int, default=10
        weight : float, default=None
            Weight of words, 0 to 1: 0 ranks by the offsets alone, 1 by the words alone. None is that of the index.
        exact : bool, default=True
            False compares the offsets of some candidates only (:meth:`make_graph`), which pays off above a million
            documents.

        Returns
        -------
        list of Match, or one such list per query
            Of several queries, one without a known word has an empty list.

        Raises
        ------
        ParasphereError
            If there is one query, and no word of it is known.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a whole number of at least 1, not {k!r}")
        several = not isinstance(queries, str)
        texts = _queries(queries)
        question, known = self._question(texts, weight)
        if len(self) and not several and not known[0]:
            lacking = "has a vector, or they cancel each other out" if question.asked is None else "is known"
            raise ParasphereError(f"no word of the query {texts[0]!r} {lacking}, so nothing can be found by it")
        threads = n_threads(self.model.n_jobs)
        if exact or not len(self):
            ranked = rank(question, self.offsets, self.lexical, k, threads)
        else:
            near = self.make_graph().nearest(question.offsets, min(max(4 * k, CANDIDATES), len(self)), threads)
            ranked = rank_among(near, question, self.offsets, self.lexical, k, threads)
        rows = zip(known.tolist(), *ranked, strict=True)
        found = [self._matches(Ranked(*row)) if is_known else [] for is_known, *row in rows]
        return found if several else found[0]

    def make_graph(self) -> Graph:
        """Make the graph of neighbours for approximate searches (extra ``search``), unless there is one.

        It takes minutes per million documents, is saved with the index, and is lost if documents change.
        """
        if self.graph is None:
            self.graph = Graph.of(self.offsets, n_threads(self.model.n_jobs))
        return self.graph

    def duplicates(self, threshold: float = THRESHOLD) -> list[Duplicate]:
        """Return all pairs of documents that share most of their words, the most similar first.

        Parameters
        ----------
        threshold : float, default=0.6
            The smallest similarity (:func:`parasphere.search.duplicates`).
        """
        if self.lexical is None:
            raise ParasphereError("duplicates are found by words, and the index was made with words=False")
        return similar_pairs(self.lexical, threshold)

    def save(self, folder: str | Path) -> None:
        """Write the index and its model to a folder, replacing an earlier index in one step; nothing is pickled.

        Parameters
        ----------
        folder : path
            Made if necessary. Word vectors that were loaded by name or path are saved as a reference to it; others are
            written to the folder.
        """
        facts, arrays = storage.packed(self, KIND)
        storage.save(folder, KIND, arrays, facts)

    @classmethod
    def load(cls, folder: str | Path, *, vectors: Any = None, tokenizer: Any = None, verify: bool = True) -> "Index":
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

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved index."""
        weight, scale = self.fusion
        facts = {"model": self.model, "weight": weight, "scale": scale, "added": self.added}
        arrays = {"offsets": self.offsets} | as_arrays("ids", self.ids)
        arrays |= {} if self.graph is None else {"graph": self.graph.data}
        arrays |= {} if self.texts is None else as_arrays("texts", self.texts)
        if self.lexical is not None:
            arrays |= {"words.bytes": self.lexical.words.data, "words.ends": self.lexical.words.offsets}
            arrays |= {f"words.{name}": getattr(self.lexical, name) for name in WORDS}
        return facts, arrays

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make an index of saved facts and arrays."""
        check_types({"weight": float, "scale": float, "added": int}, facts)
        model, fusion, added = facts["model"], Fusion(float(facts["weight"]), float(facts["scale"])), facts["added"]
        tokenizer = lexical_tokenizer(model.text_reader.tokenizer)
        offsets, ids, texts, lexical = columns(arrays, tokenizer)
        graph = Graph(arrays["graph"]) if "graph" in arrays else None
        index = cls(model, offsets, ids, texts, lexical, fusion, added, graph)
        counts = {len(each) for each in (offsets, ids, texts, lexical) if each is not None}
        if len(counts) > 1 or offsets.shape[1:] != (model.dim,) or added < len(index):
            raise ParasphereError("its parts are of different sizes")
        if not (0 <= fusion.weight <= 1 and 0 <= fusion.scale < np.inf):
            raise ParasphereError(f"words cannot have the weight {fusion.weight:g} and the scale {fusion.scale:g}")
        return index

    def _question(self, texts: list[str], weight: float | None) -> tuple[Question, NDArray[np.bool_]]:
        """Return what is asked, and of which queries something is known."""
        weight = (0.0 if self.lexical is None else self.fusion.weight) if weight is None else float(weight)
        if not 0 <= weight <= 1:
            raise ValueError(f"weight must be between 0 (offsets alone) and 1 (words alone), not {weight:g}")
        if weight and self.lexical is None:
            raise ParasphereError("the index was made with words=False and can be searched with weight=0 only")
        # Not by read: a query of words that only the index knows is no reason for a warning.
        reader = self.model.text_reader
        bags = reader.bags(pa.array(texts, pa.large_string()))
        offsets = unit_rows(self.model.posterior(bags).offset)
        asked = None if self.lexical is None or not weight else self.lexical.asked(texts)
        known = offsets.any(axis=1) if weight < 1 else np.zeros(len(texts), bool)
        if asked is not None:  # an unknown word finds documents that have it, which the words of the index tell
            known &= bags.lengths > bags.unknown * reader.unknown_weight * (1 + 1e-9)
            known |= np.diff(asked.ends, prepend=0) > 0
        return Question(offsets, asked, 1 - weight, weight * self.fusion.scale), np.asarray(known)

    def _matches(self, row: Ranked) -> list[Match]:
        ids, texts = (None if column is None else column.take(pa.array(row.positions)).to_pylist()
                      for column in (self.ids, self.texts))  # fmt: skip
        numbers = zip(row.positions.tolist(), row.cosines.tolist(), row.scores.tolist(), strict=True)
        return [
            Match(position, cosine, None if ids is None else ids[i], None if texts is None else texts[i], score)
            for i, (position, cosine, score) in enumerate(numbers)
        ]


class _Sample:
    """Texts at equal distances in a corpus whose size is not known, at most twice as many as are needed."""

    def __init__(self) -> None:
        self.parts: list[pa.Array] = []
        self.step, self.seen = 1, 0

    def add(self, texts: pa.Array) -> None:
        """Read the next texts of the corpus."""
        places = np.arange(-self.seen % self.step, len(texts), self.step)
        self.seen += len(texts)
        self.parts.append(texts.take(pa.array(places)))
        while sum(map(len, self.parts)) > SAMPLE:
            together = pa.concat_arrays(self.parts)
            self.parts, self.step = [together.take(pa.array(np.arange(0, len(together), 2)))], 2 * self.step


def _queries(queries: Any) -> list[str]:
    if isinstance(queries, str | bytes):
        return [one_text(queries, "the query")]
    if not isinstance(queries, Sequence | np.ndarray) or not len(queries):
        given = type(queries).__name__
        raise ValueError(f"queries must be a string or a list of strings that is not empty, not {given}")
    return [one_text(text, f"the query at position {i}") for i, text in enumerate(queries)]


def _names(block: Block, first: int) -> pa.LargeStringArray:
    """Return the ids of a block as strings; the numbers from ``first`` on if it has none."""
    if block.ids is None:
        return pa.array(np.arange(first, first + len(block))).cast(pa.large_string())
    if block.ids.null_count:
        place = block.start + pc.index(block.ids.is_null(), True).as_py()
        raise ParasphereError(f"the document at position {place} has no id; each needs one")
    return block.ids.cast(pa.large_string())
