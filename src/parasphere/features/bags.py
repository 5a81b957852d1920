"""Word ids and vectors to bags: what a document is once its words have been read.

A bag is the sum of a document's unit word vectors and how many there were. It is a sufficient statistic of the
model: no word is looked at again.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .. import storage
from ..compiled.layout import LayoutError, check_layouts
from ..compiled.rows import sum_lifted_rows, sum_rows
from ..corpus.source import Block, blocks
from ..errors import ParasphereError, StoreError, VectorsError
from ..text.tokens import AnyTokenizer, Lookup, string_buffers
from ..text.vocabulary import Vocabulary
from .coverage import Known
from .facets import Facets
from .own import Own, gain, own_axis, pair_key, word_key

KIND = "bags"
# Text is taken in steps of about this size: its word ids are still in the cache when their rows are added up.
STEP_BYTES = 1 << 18
AT_ONCE = 1 << 25  # numbers of sums that are held at a time, at the most


class Vectors(Protocol):
    """What bags need of word vectors: the words, and a unit row for each, (n_words, dim)."""

    @property
    def vocabulary(self) -> Vocabulary: ...  # noqa: D102

    @property
    def matrix(self) -> NDArray[np.float32]: ...  # noqa: D102


@dataclass(frozen=True)
class Bags:
    """Documents as sums of their words' unit vectors.

    Attributes
    ----------
    sums : (n_docs, dim) float32 or float64
        The sum of each document's word vectors (weighted, if weights were given).
    lengths : (n_docs,) float64
        How many known words each document has; their total weight (and that of pairs), if they are weighted or damped
        or pairs count.
    squared_norms : (n_docs,) float64
        The squared length of each sum.
    unknown : (n_docs,) int64
        How many words of each document have no vector.
    squared_weights : (n_docs,) float64, optional
        The sum of the squared weights of each document's words; by default the lengths, as of words that weigh 1.

    Arrays that do not lie in C order are copied.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> vectors = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> bags = Bags.from_texts(["North, north and east", ""], vectors)
    >>> bags.sums
    array([[1., 2.],
           [0., 0.]], dtype=float32)
    >>> bags.lengths, bags.unknown
    (array([3., 0.]), array([1, 0]))
    """

    sums: NDArray[Any]
    lengths: NDArray[np.float64]
    squared_norms: NDArray[np.float64]
    unknown: NDArray[np.int64]
    squared_weights: NDArray[np.float64] = None  # type: ignore[assignment]  # an array once it is made

    def __post_init__(self) -> None:
        for field in fields(self):
            given: Any = getattr(self, field.name)
            array = np.array(self.lengths) if given is None else np.asanyarray(given)
            if not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            object.__setattr__(self, field.name, array)
        if self.sums.ndim != 2 or any(len(column) != len(self.sums) for column in self._columns()):
            shapes = ", ".join(f"{field.name} {getattr(self, field.name).shape}" for field in fields(self))
            raise ValueError(f"bags need sums (n_docs, dim) and one number a document in the others, not {shapes}")
        if self.sums.dtype not in (np.float32, np.float64) or not self.sums.dtype.isnative:
            raise ValueError(f"the sums of bags must be float32 or float64, not {self.sums.dtype}")
        columns = dict.fromkeys(("lengths", "squared_norms", "squared_weights"), "f8[docs]")
        check_layouts(vars(self), {"sums": "f[docs,dim]", **columns, "unknown": "i8[docs]"})

    def check_numbers(self) -> None:
        """Raise unless the numbers can be those of documents; bags that come from elsewhere need not be.

        Sums must be finite and have the squared norms that they are said to have, and nothing may be negative.
        """
        for name in ("lengths", "squared_norms", "squared_weights", "unknown"):
            column = getattr(self, name)
            bad = np.flatnonzero(~(np.isfinite(column) & (column >= 0)))
            if len(bad):
                raise ParasphereError(f"{name} must be finite and not negative; document {bad[0]} has {column[bad[0]]}")
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", self.sums, self.sums)
            bad = np.flatnonzero(~(abs(squares - self.squared_norms) <= 1e-3 * (1 + self.squared_norms)))
        if len(bad):
            raise ParasphereError(
                f"the sum of document {bad[0]} has the squared length {squares[bad[0]]:g}, "
                f"and not {self.squared_norms[bad[0]]:g} as its squared norm says"
            )

    def _columns(self) -> list[NDArray[Any]]:
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def from_texts(
        cls,
        source: Any,
        vectors: Vectors,
        *,
        tokenizer: AnyTokenizer | None = None,
        weights: ArrayLike | None = None,
        dtype: DTypeLike = np.float32,
        n_jobs: int | None = None,
        **columns: Any,
    ) -> "Bags":
        """Read a corpus into bags.

        Parameters
        ----------
        source
            Anything :func:`parasphere.corpus.blocks` takes: texts, token lists, columns, a ``Path``.
        vectors : WordVectors
        tokenizer : Tokenizer, callable or Hugging Face tokenizer, optional
            What counts as a word; by default runs of Unicode letters, lower-cased.
        weights : (n_words,) array, optional
            A weight for each word of ``vectors``, not negative.
        dtype : float32 or float64
            How sums are kept. They are always added up in float64, in the order of the words, by one thread a
            document: the bits depend on neither ``n_jobs`` nor how the corpus is split.
        n_jobs : int, optional
            Threads; -1 for one a core. Default 1.
        **columns
            Passed to :func:`parasphere.corpus.blocks` (``text="column"``, ``encoding=...``).

        Returns
        -------
        Bags
            One entry a document, in their order.
        """
        bagger = Bagger(vectors, tokenizer=tokenizer, weights=weights, dtype=dtype, n_jobs=n_jobs)
        return cls.concatenate([bagger.empty(), *(bags for _, bags in bagger.stream(source, **columns))])

    @classmethod
    def from_rows(cls, rows: ArrayLike) -> "Bags":
        """Take vectors that are no texts: each (n, dim) row is a document of one word, its direction.

        A row of zeros has no direction: it is a document without words.

        Examples
        --------
        >>> Bags.from_rows([[3.0, 4.0], [0.0, 0.0]]).sums
        array([[0.6, 0.8],
               [0. , 0. ]])
        """
        array = np.asarray(rows, np.float64)
        largest = np.abs(array).max(axis=1, initial=0.0)
        array = array / np.where(largest > 0, largest, 1)[:, None]  # the squares of tiny numbers would vanish
        norms = np.linalg.norm(array, axis=1)
        sums = array / np.where(norms > 0, norms, 1)[:, None]
        lengths = (norms > 0).astype(np.float64)
        return cls(sums, lengths, lengths.copy(), np.zeros(len(array), np.int64), lengths.copy())

    @classmethod
    def concatenate(cls, parts: Sequence["Bags"]) -> "Bags":
        """Put bags end to end."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if not parts:
            raise ValueError("at least one part is needed: the dimension of no bags is not known")
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))

    @property
    def dim(self) -> int:
        """The dimension of the word vectors."""
        return int(self.sums.shape[1])

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and dimensions; scikit-learn asks for it when it splits data into folds."""
        return len(self), self.dim

    def __getitem__(self, documents: Any) -> "Bags":
        """Select documents by a slice (a view), a mask or positions."""
        if isinstance(documents, tuple) and documents[1:] == (...,):  # as scikit-learn spells it
            documents = documents[0]
        return Bags(*(column[documents] for column in self._columns()))

    def save(self, folder: str | Path) -> None:
        """Write the bags to a folder, replacing what it held in one step."""
        storage.save(folder, KIND, {field.name: getattr(self, field.name) for field in fields(self)}, {})

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = True) -> "Bags":
        """Map saved bags into memory, read-only; ``verify`` compares them with their checksum, once per file."""
        arrays, _ = storage.load(folder, KIND, verify=verify)
        arrays = dict(arrays)
        if "squared_weights" not in arrays and (np.asarray(arrays.get("lengths", 0.5)) % 1).any():
            raise StoreError(f"{folder} holds weighted bags without the sums of squared weights: make them anew.")
        try:
            bags = cls(**arrays)
            bags.check_numbers()
        except (TypeError, ValueError) as error:
            raise StoreError(f"{folder} holds bags that are damaged: {error}.") from error
        return bags


class Bagger:
    """Turns blocks of documents into bags; what :meth:`Bags.from_texts` does, one block at a time.

    Parameters are those of :meth:`Bags.from_texts`, and:

    facets : Facets, optional
        The facets of the words; sums are then those of lifted vectors, (n_docs, n_facets * dim).
    own : Own, optional
        What words have of their own; sums then have ``own.dim`` more columns.
    damped : bool
        Count a word that a document has n times as 1 + log n.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> vectors = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> corpus = pa.table({"text": ["north", "east"], "label": ["n", "e"]})
    >>> for block, bags in Bagger(vectors).stream(corpus, label="label"):
    ...     print(block.labels.to_pylist(), bags.lengths)
    ['n', 'e'] [1. 1.]
    """

    def __init__(
        self,
        vectors: Vectors,
        *,
        tokenizer: AnyTokenizer | None = None,
        weights: ArrayLike | None = None,
        facets: Facets | None = None,
        own: Own | None = None,
        damped: bool = False,
        dtype: DTypeLike = np.float32,
        n_jobs: int | None = None,
    ) -> None:
        self.vectors, self.facets, self.own, self.damped = vectors, facets, own, damped
        self.lookup = Lookup(vectors.vocabulary, tokenizer)
        self.matrix = vectors.matrix
        arrays: dict[str, Any] = {"matrix": self.matrix}
        layouts = {"matrix": "f4[words,dim]"}
        if facets is not None:
            arrays |= {"centres": facets.centres, "starts": facets.starts}
            layouts |= {"centres": "f4[facets,dim]", "starts": "i8[words+1]"}
        try:
            check_layouts(arrays, layouts, {"words": len(vectors.vocabulary)})
        except LayoutError as error:
            raise VectorsError(f"these word vectors cannot be added up: {error}") from None
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, not {self.dtype}")
        self.weights = None if weights is None else _weights(weights, len(vectors.vocabulary))
        self.n_jobs = _threads(n_jobs)
        self.lift = self._lift()

    def stream(self, source: Any, **columns: Any) -> Iterator[tuple[Block, Bags]]:
        """Read a corpus block by block; yield each block (with its labels and ids) and its bags.

        After the last one there is a :class:`CoverageWarning` if few of the words are known.
        """
        known = Known(self.lookup)
        step = max(1, AT_ONCE // self.dim)  # blocks are cut by their text, of which a little can give large sums
        for block in blocks(source, **columns):
            for begin in range(0, max(1, len(block)), step):
                part = block if len(block) <= step else block.part(begin, begin + step)
                bags = self.bags(part.texts)
                self._count(known, part.texts, bags)
                yield part, bags
        known.warn()

    def all_at_once(self, texts: pa.Array) -> Bags:
        """Return the bags of a few texts, as :meth:`stream` would, warning included."""
        known, bags = Known(self.lookup), self.bags(texts)
        self._count(known, texts, bags)
        known.warn()
        return bags

    def _count(self, known: Known, texts: pa.Array, bags: Bags) -> None:
        if self.own is None and not self.damped:  # otherwise lengths are no counts of words
            known.add(texts, float(bags.lengths.sum()), int(bags.unknown.sum()))

    def bags(self, texts: pa.Array) -> Bags:
        """Return the bags of a column of texts or token lists."""
        bags = self.empty(len(texts))
        steps = list(pairwise(_steps(texts)))

        def fill(step: tuple[int, int]) -> None:
            begin, end = step
            whole = end - begin == len(texts)
            ids, ends = self.lookup.ids(texts if whole else texts[begin:end])
            part = bags if whole else bags[begin:end]
            into: tuple[Any, ...] = (part.sums, part.lengths, part.squared_norms, part.unknown, part.squared_weights)
            if self.lift is None:
                sum_rows(ids, ends, self.matrix, self.weights, *into)
            else:
                sum_lifted_rows(ids, ends, self.matrix, self.weights, *self.lift, *into)

        if self.n_jobs == 1 or len(steps) == 1:
            for step in steps:
                fill(step)
        else:
            with ThreadPoolExecutor(self.n_jobs) as threads:
                list(threads.map(fill, steps))
        return bags

    def _lift(self) -> tuple[Any, ...] | None:
        """Return how rows are lifted, as the compiled loop takes it; None if they are added up as they are."""
        if self.facets is None and self.own is None and not self.damped:
            return None
        facets = Facets.one(*self.matrix.shape) if self.facets is None else self.facets
        own = (0.0, 0, 0.0) if self.own is None else astuple(self.own)
        return *facets.tables(), own, self.damped

    @property
    def dim(self) -> int:
        """The dimension of the sums."""
        return self.own_start + (0 if self.own is None else self.own.dim)

    @property
    def own_start(self) -> int:
        """Where what is words' own begins."""
        return int(self.matrix.shape[1]) * (1 if self.facets is None else self.facets.n_facets)

    def row(self, word: int) -> NDArray[np.float64]:
        """Return what a word adds to a sum, (dim,), if it is not weighted."""
        row = self.matrix[word].astype(np.float64)
        row = row if self.facets is None else self.facets.lifted(word, row)
        if self.own is None:
            return row
        share = self.own.share
        row = np.sqrt(1 - share) * np.pad(row, (0, self.own.dim)) + np.sqrt(share) * self._axis(word_key(word))
        return np.asarray(row)

    def parts(self, text: str) -> Iterator[tuple[str, bool, float, NDArray[np.float64]]]:
        """Take a text's sum apart: each known word or phrase and, after it, the pair that it closes, if pairs count.

        Yields
        ------
        unit : str
        pair : bool
            Whether it is a pair.
        weight : float
            How much it counts.
        row : (dim,) array
            Its unit vector.
        """
        times: dict[Any, int] = {}
        before, before_unit = -1, ""

        def damped(key: Any) -> float:
            times[key] = times.get(key, 0) + 1
            return float(gain(times[key])) if self.damped else 1.0

        for unit, word in self.lookup.units(text):
            if word >= 0:
                yield unit, False, self._weight(word) * damped(word), self.row(word)
                if self.own is not None and self.own.pairs > 0 and before >= 0:
                    weight = self.own.pairs * np.sqrt(self._weight(before) * self._weight(word))
                    row = self._axis(pair_key(before, word))
                    yield f"{before_unit} {unit}", True, float(weight * damped((before, word))), row
            before, before_unit = word, unit

    def _weight(self, word: int) -> float:
        return 1.0 if self.weights is None else float(self.weights[word])

    def _axis(self, key: Any) -> NDArray[np.float64]:
        assert self.own is not None
        axis, sign = own_axis(np.uint64(key), self.own.dim)
        row = np.zeros(self.dim)
        row[self.own_start + axis] = sign
        return row

    def empty(self, n_docs: int = 0) -> Bags:
        """Return bags yet to be filled."""
        return Bags(
            np.empty((n_docs, self.dim), self.dtype),
            np.empty(n_docs, np.float64),
            np.empty(n_docs, np.float64),
            np.empty(n_docs, np.int64),
            np.empty(n_docs, np.float64),
        )


def _steps(texts: pa.Array) -> list[int]:
    """Cut a column into runs of documents of about a step's bytes: where they begin, and the end."""
    if pa.types.is_large_list(texts.type):
        offsets = np.asarray(texts.offsets) * 8  # about what a token takes
    else:
        _, offsets = string_buffers(texts)
    if offsets[-1] - offsets[0] <= STEP_BYTES:
        return [0, len(texts)]
    goals = np.arange(offsets[0], offsets[-1], STEP_BYTES)
    cuts = np.unique(np.searchsorted(offsets, goals))
    return [0, *cuts[(cuts > 0) & (cuts < len(texts))].tolist(), len(texts)]


def _weights(weights: ArrayLike, n_words: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(weights, np.float64)
    if array.shape != (n_words,):
        raise ValueError(f"weights must have shape ({n_words},), one for each word vector, not {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise ValueError(f"weights must be finite and not negative; weight {bad[0]} is {array[bad[0]]}")
    return array


def _threads(n_jobs: int | None) -> int:
    if n_jobs is None:
        return 1
    if n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be a positive number of threads, or -1 for one a core, not {n_jobs}")
    return n_jobs if n_jobs > 0 else os.cpu_count() or 1
