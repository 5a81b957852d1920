"""Word vectors: words with a unit vector and, optionally, a weight each."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import MissingExtraError, ParasphereError, ParasphereWarning, StoreError, VectorsError
from ..places import ENGLISH
from ..storage import check_types, storable
from ..text import AnyTokenizer, Vocabulary
from .loading import load
from .stored import FACTS, KIND, StoredVectors
from .table import Errors, table_of


class SkippedRowsWarning(ParasphereWarning):
    """Faulty rows were left out, because of ``errors="skip"``."""


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
class WordVectors(StoredVectors):
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
    skipped : dict of str to Skipped, default=None
        Rows left out by ``errors="skip"``: a count and the first few examples per reason.
    fingerprint : str, default=None
        The value of :attr:`fingerprint`, if it is known.
    check_now : bool, default=True
        Check that all rows have unit length now, rather than when the matrix is first used.

    Attributes
    ----------
    vocabulary, unknown_weight, name, source, skipped
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

    @classmethod
    def load(
        cls,
        source: Any = ENGLISH,
        *,
        errors: Errors = "raise",
        cache: bool = True,
        member: str | None = None,
        verify: bool = True,
        verbose: bool = False,
    ) -> "WordVectors":
        """Load word vectors.

        Parameters
        ----------
        source : str, Path or object, default="english-128"
            - "english-128": 131,000 English words in 128 dimensions, with weights, which come with the library;
            - "glove-6b-50d": 400,000 words of GloVe in 50 dimensions (extra ``glove``);
            - a file: GloVe text, word2vec text or binary, or fastText ``.vec``, plain or in gzip, bzip2, xz or zip,
              recognised by its content;
            - a folder written by :meth:`save`;
            - a folder of model2vec, or of sentence-transformers with a ``StaticEmbedding``, or "wordllama" for the
              table of that package (extra ``static``): words are the sums of their pieces (docs/ecosystem.md);
            - a gensim ``KeyedVectors``, or a gensim model that has one as ``wv``.
        errors : {"raise", "skip"}, default="raise"
            Raise an error for a faulty row, or leave it out with a warning and count it in ``skipped``.
        cache : bool, default=True
            Keep the parsed vectors in the user's cache folder for "parasphere" (or in the folder that the environment
            variable PARASPHERE_CACHE names) and memory-map them next time.
        member : str, default=None
            The file of a zip to read, if there are several.
        verify : bool, default=True
            Compare the data of a saved folder with its checksum. Numbers are always checked.
        verbose : bool, default=False
            Show a progress bar while a file is parsed.
        """
        return load(cls, source, errors, cache, member, verify, verbose)._warned()

    @classmethod
    def from_arrays(
        cls, words: Iterable[str], matrix: ArrayLike, *, name: str = "vectors", errors: Errors = "raise"
    ) -> "WordVectors":
        """Make word vectors from words and a matrix.

        Parameters
        ----------
        words : iterable of str
            The words, each once.
        matrix : (n_words, dim) array
            One row per word, of any length but 0; it is copied and normalised.
        name : str, default="vectors"
            A name for messages.
        errors : {"raise", "skip"}, default="raise"
            Raise an error for a faulty row, or leave it out with a warning and count it in ``skipped``.
        """
        return cls.from_table(table_of(list(words), matrix, errors=errors, name=name), name)._warned()

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

    def _warned(self) -> Self:
        """Warn of rows that were left out; the warning points at the caller of a method of this class."""
        if self.skipped:
            counts = ", ".join(f"{reason}: {entry.count:,}" for reason, entry in self.skipped.items())
            first = next(iter(self.skipped.values())).examples[0]
            sentence = f"rows of {self.name} were left out ({counts}), the first one: {first} See `.skipped`."
            warnings.warn(sentence, SkippedRowsWarning, stacklevel=3)
        return self
