"""The reader of a fitted model: texts to bags, by fixed word vectors, tokenizer and weights."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import chain, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .. import corpus
from .._kernels import add_hashed, count_ids, sum_rows
from ..errors import CoverageWarning, ParasphereError, ScriptWarning, warn_user
from ..storage import check_layouts, storable
from ..text import (
    HASHED,
    AnyTokenizer,
    Lookup,
    SegmentingTokenizer,
    Tokenizer,
    WordCounter,
    share_without_spaces,
)
from ..vectors import WordVectors
from ..vectors.wordvectors import checked_weight
from .bags import Bags, Scatter

if TYPE_CHECKING:
    from ..corpus import Block

# Text is read in steps of about this size, so that word ids are still in the CPU cache when their rows are added up.
STEP_BYTES = 1 << 18
SAMPLE = 200  # texts by which a tokenizer is chosen
UNSPACED = 0.5  # the least share of letters in scripts without spaces for texts to be segmented
ENOUGH_KNOWN = 0.7  # a smaller share of known words issues a warning: GloVe knows 61 % of the words of German texts
FEW = 50  # no warning with fewer words
_SAMPLE = 1000  # number of texts in which unknown words are counted
_LONGEST = 30  # longer unknown words are cut to this many characters
# Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, kana, Chinese characters.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
MOST_SUMS = 1 << 25  # numbers of sums that a stream holds at a time


@storable("reader")
class Reader:
    """Turns texts into bags by fixed word vectors, tokenizer and weights.

    Parameters
    ----------
    vectors : WordVectors
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None finds runs of Unicode letters and lower-cases them.
    weights : (n_words,) array, default=None
        Weight of each word, not negative; None weights all words equally.
    unknown_weight : float, default=0.0
        Weight of words without a vector. If it is not 0, such a word gets a random direction that is always the same
        for the same word, so that texts which share it are more similar.
    dtype : {float32, float64}, default=float32
        Type of the sums. They are computed in float64, in the order of the words, by one thread per document, so that
        the bits depend on neither ``n_jobs`` nor the way the corpus is split.

    Examples
    --------
    >>> vectors = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> Reader(vectors).bags(["north", "east"]).lengths
    array([1., 1.])
    >>> for block, bags in Reader(vectors).stream(["north", "east"], label=["n", "e"]):
    ...     print(block.labels, bags.lengths)
    ['n', 'e'] [1. 1.]
    """

    def __init__(
        self,
        vectors: WordVectors,
        tokenizer: AnyTokenizer | None = None,
        *,
        weights: ArrayLike | None = None,
        unknown_weight: float = 0.0,
        dtype: DTypeLike = np.float32,
    ) -> None:
        self.vectors = vectors
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise ValueError(f"dtype must be float32 or float64, not {self.dtype}")
        self.weights = None if weights is None else _weights(weights, len(vectors))
        self.unknown_weight = checked_weight(unknown_weight)

    @cached_property
    def lookup(self) -> Lookup:
        """The index of the words, built when a text is first read."""
        return Lookup(self.vectors.vocabulary, self.tokenizer, hashing=self.unknown_weight > 0)

    @property
    def dim(self) -> int:
        """The dimension of the sums."""
        return self.vectors.dim

    def read(self, texts: Any, n_jobs: int | None = None, **columns: Any) -> Bags:
        """Read a corpus into bags, one entry per document, without the scatter of its words.

        Parameters
        ----------
        texts : texts, token lists, columns or path
            Anything that :func:`parasphere.corpus.blocks` accepts.
        n_jobs : int, default=None
            Number of threads; None is 1, -1 is one per core.
        **columns
            Passed to :func:`parasphere.corpus.blocks`, as in ``text="column"`` or ``encoding="latin-1"``.
        """
        return self._read(texts, n_jobs, None, **columns)

    def read_to_fit(self, texts: Any, n_jobs: int | None = None, **columns: Any) -> Bags:
        """Read a corpus into bags like :meth:`read`, and compute the scatter of its words."""
        counts = np.zeros(len(self.vectors))
        bags = self._read(texts, n_jobs, counts, **columns)
        weights = counts if self.weights is None else counts * self.weights
        unknown = int(bags.unknown.sum()) * self.unknown_weight
        scatter = Scatter.of(self.vectors.matrix, weights, bags.sums, bags.lengths, unknown)
        return replace(bags, scatter=scatter)

    def _read(self, texts: Any, n_jobs: int | None, counts: NDArray[np.float64] | None, **columns: Any) -> Bags:
        if not columns and _is_list_of_texts(texts):
            bags = self.bags(texts, n_jobs, counts)
            if bags.unknown.any():
                known = Known(self.lookup)
                self._add_known(known, texts, bags)
                known.warn()
            return bags
        parts = self.stream(texts, n_jobs, counts, **columns)
        return Bags.concatenate([self.empty(), *(bags for _, bags in parts)])

    def stream(
        self, source: Any, n_jobs: int | None = None, counts: NDArray[np.float64] | None = None, **columns: Any
    ) -> Iterator[tuple[Block, Bags]]:
        """Read a corpus block by block; yield each block (with its labels and ids) and its bags.

        The occurrences of each word are added to ``counts``, (n_words,), unless it is None. A :class:`CoverageWarning`
        is issued after the last block if few of the words are known.
        """
        known = Known(self.lookup)
        step = max(1, MOST_SUMS // self.dim)  # blocks are cut by bytes of text, and short texts have large sums
        for block in corpus.blocks(source, **columns):
            for begin in range(0, max(1, len(block)), step):
                part = block if len(block) <= step else block.part(begin, begin + step)
                bags = self.bags(part.texts, n_jobs, counts)
                self._add_known(known, part.texts, bags)
                yield part, bags
        known.warn()

    def bags(self, texts: Any, n_jobs: int | None = None, counts: NDArray[np.float64] | None = None) -> Bags:
        """Return the bags of texts in memory.

        Parameters
        ----------
        texts : list of str, or list of list of str
            Texts, or token lists.
        n_jobs : int, default=None
            Number of threads; None is 1, -1 is one per core.
        counts : (n_words,) float64 array, default=None
            The occurrences of each word are added to it.
        """
        threads = n_threads(n_jobs)
        bags, counting = self.empty(len(texts)), Lock()
        columns: tuple[Any, ...] = (bags.sums, bags.lengths, bags.squared_norms, bags.unknown, bags.squared_weights)
        steps = _steps(texts)

        def fill(texts: Any, columns: tuple[Any, ...]) -> None:
            ids, ends = self.lookup.ids(texts)
            sum_rows(ids, ends, self.vectors.matrix, self.weights, self.unknown_weight, *columns)
            if counts is not None:
                with counting:
                    count_ids(ids, counts)

        def fill_step(step: tuple[int, int]) -> None:
            begin, end = step
            fill(texts[begin:end], tuple(column[begin:end] for column in columns))

        if len(steps) == 2:
            fill(texts, columns)
        elif threads == 1:
            for step in pairwise(steps):
                fill_step(step)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(fill_step, pairwise(steps)))
        return bags

    def parts(self, text: str) -> Iterator[tuple[str, float, NDArray[np.float64]]]:
        """Yield each word of a text that is not ignored, its weight, and its vector, (dim,): the terms of the sum."""
        for unit, word in self.lookup.units(text):
            if word >= 0:
                row = self.vectors.matrix[word].astype(np.float64)
                yield unit, 1.0 if self.weights is None else float(self.weights[word]), row
            elif word <= HASHED:
                row = np.zeros(self.dim)
                add_hashed(word, 1.0, row)
                yield unit, self.unknown_weight, row

    def _add_known(self, known: Known, texts: Any, bags: Bags) -> None:
        """Count the unknown words of bags, and the known ones by their weights."""
        unknown = int(bags.unknown.sum())
        known.add(texts, float(bags.lengths.sum()) - unknown * self.unknown_weight, unknown)

    def empty(self, n_docs: int = 0) -> Bags:
        """Return bags of this reader with uninitialised numbers."""
        lengths, squared_norms, squared_weights = np.empty((3, n_docs))
        sums, unknown = np.empty((n_docs, self.dim), self.dtype), np.empty(n_docs, np.int64)
        return Bags(sums, lengths, squared_norms, unknown, squared_weights, reader=self)

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model; weights of the vectors are saved with the vectors."""
        shared = self.weights is not None and self.weights is self.vectors.weights
        facts = {
            "vectors": self.vectors, "tokenizer": self.tokenizer, "dtype": self.dtype.name,
            "weights": "those of the vectors" if shared else self.weights, "unknown_weight": self.unknown_weight,
        }  # fmt: skip
        return facts, {}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], _arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make a reader from saved facts."""
        vectors, tokenizer = facts["vectors"], facts["tokenizer"]
        if not (isinstance(vectors, WordVectors) and callable(tokenizer)):
            raise ParasphereError("a reader needs word vectors and a tokenizer")
        weights = vectors.weights if isinstance(facts["weights"], str) else facts["weights"]
        options = {name: facts[name] for name in ("unknown_weight", "dtype")}
        return cls(vectors, tokenizer, weights=weights, **options)

    def __getstate__(self) -> dict[str, Any]:
        """Leave the index out of pickles; it is built again when needed."""
        return {name: value for name, value in vars(self).items() if name != "lookup"}


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: None is 1, -1 one per core."""
    if n_jobs is None:
        return 1
    if n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be a positive number of threads, or -1 for one per core, not {n_jobs}")
    return n_jobs if n_jobs > 0 else os.cpu_count() or 1


def _steps(texts: Any) -> list[int]:
    """Return the boundaries of runs of documents of about ``STEP_BYTES``, including 0 and the number of documents."""
    letters = 8 if corpus.is_tokenised(texts) else 1  # about the bytes of a token
    sizes = [letters * len(text) for text in texts]
    if sum(sizes) <= STEP_BYTES:
        return [0, len(texts)]
    offsets = np.cumsum([0, *sizes])
    goals = np.arange(offsets[0], offsets[-1], STEP_BYTES)
    cuts = np.unique(np.searchsorted(offsets, goals))
    return [0, *cuts[(cuts > 0) & (cuts < len(texts))].tolist(), len(texts)]


def _weights(weights: ArrayLike, n_words: int) -> NDArray[np.float64]:
    array = np.ascontiguousarray(weights, np.float64)
    check_layouts({"weights": array}, {"weights": "f8[words]"}, {"words": n_words})
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise ValueError(f"weights must be finite and not negative; weight {bad[0]} is {array[bad[0]]}")
    return array


class Known:
    """Counts known and unknown words while a corpus is read."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.known = 0.0
        self.unknown = 0
        self._sample: Any = None

    def add(self, texts: Any, known: float, unknown: int) -> None:
        """Count the words of some texts; the first texts are kept for the examples of the warning."""
        self.known += known
        self.unknown += unknown
        if unknown and self._sample is None:
            self._sample = texts[:_SAMPLE]

    def warn(self) -> None:
        """Warn if too few words are known, and suggest a remedy."""
        words = self.known + self.unknown
        if self._sample is None or words < FEW or self.known >= ENOUGH_KNOWN * words:
            return
        commonest, unspaced = self._unknown_words(self._sample)
        remedy = (
            "They are in scripts without spaces between words, and each run of letters was taken for one word: "
            "put spaces between the words, or pass a tokenizer that finds them, tokenizer=SegmentingTokenizer()."
            if unspaced
            else "Use vectors that have these words, learn vectors from the texts with JointVectors, or pass another "
            "tokenizer."
        )
        # If words are weighted, this is a share of weights, whose mean is 1.
        warn_user(
            f"only {self.known / words:.0%} of {words:,.0f} words are known; frequent unknown words: "
            f"{', '.join(commonest)}, ... {remedy}",
            CoverageWarning,
        )

    def _unknown_words(self, texts: Any) -> tuple[list[str], bool]:
        """Return the most frequent unknown words of texts, and whether most are in scripts without spaces."""
        counter = WordCounter(self.lookup.tokenizer)
        counter.add(texts)
        words, counts = counter.words_and_counts()
        rows = self.lookup.vocabulary.get_many(words)
        unknown = [(word, int(count)) for word, count, row in zip(words, counts, rows, strict=True) if row < 0]
        unspaced = sum(count for word, count in unknown if _UNSPACED.search(word))
        shown = [word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…" for word, _ in unknown[:5]]
        return shown, 2 * unspaced > sum(count for _, count in unknown)


# ---------------------------------------------------------------------------------------------------
# Recognising the kinds of input


def is_numeric(x: Any) -> bool:
    """Return whether x is a dense or sparse table of numbers, rather than texts or tokens."""
    if hasattr(x, "tocsr"):  # a sparse matrix, recognised without importing scipy
        return True
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "biufc" or (x.dtype.kind == "O" and x.ndim == 2 and not _has_text(x[:1].ravel()))
    if isinstance(x, list) and x and isinstance(x[0], list | tuple | np.ndarray) and len(x[0]):
        return not isinstance(x[0][0], str)
    if hasattr(x, "__array__") and not hasattr(x, "__iter__"):  # only numpy can read its items
        return is_numeric(np.asarray(x))
    if hasattr(x, "dtypes") and hasattr(x, "to_numpy") and getattr(x, "ndim", 0) == 2:  # a pandas DataFrame
        return not _has_text(x.iloc[:1].to_numpy().ravel())
    return False


def _has_text(values: Any) -> bool:
    return any(isinstance(value, str) for value in values)


def first_texts(x: Any, **columns: Any) -> tuple[Any, list[str]]:
    """Return the documents, still unread, and the first of their texts; none if they are token lists."""
    if not columns and _is_list_of_texts(x):
        return x, x[:SAMPLE]
    parts = corpus.blocks(x, **columns)
    first = next(parts, None)
    if first is None:
        return [], []
    return chain([first], parts), [] if first.tokenised else first.texts[:SAMPLE]


def _is_list_of_texts(x: Any) -> bool:
    return isinstance(x, list) and set(map(type, x)) <= {str}


def tokenizer_for(sample: Sequence[str]) -> SegmentingTokenizer | None:
    """Return a tokenizer for texts in scripts without spaces, with a warning; None for other texts."""
    if share_without_spaces(sample) < UNSPACED:
        return None
    tokenizer = SegmentingTokenizer()
    ways = f"Chinese by {tokenizer.chinese}, Japanese by {tokenizer.japanese}, Thai by {tokenizer.thai}"
    missing = "; pip install 'parasphere[segmenting]' for libraries that find words" if "pairs" in ways else ""
    warn_user(
        f"these texts are in a script without spaces between words, and are divided by tokenizer=SegmentingTokenizer() "
        f"({ways}{missing}).",
        ScriptWarning,
    )
    return tokenizer
