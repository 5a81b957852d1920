"""The encoder: what a model has learned from a corpus, and the methods that apply it to texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import storage
from ..corpus import one_text
from ..errors import ParasphereError, StoreError
from ..sphere.rows import unit_rows
from ..storage import WRONG_FACTS, check_types, storable
from .bags import Bags, Scatter
from .comparing import cosines, doubts, log_bayes_factor
from .equations import Prior
from .explain import Explanation, MatchExplanation, explain, explain_match
from .posterior import Floats, Posterior, Space, check_space, posterior_of, vectors_of
from .reader import Reader, is_numeric, n_threads
from .similar import Match, similar

if TYPE_CHECKING:
    from ..corpus import Block

KIND = "encoder"
# Options of sentence-transformers that change nothing, and those that must have their defaults.
_WITHOUT_EFFECT = {"batch_size", "show_progress_bar", "device", "convert_to_numpy", "normalize_embeddings"}
_FIXED = {
    "prompt": None, "prompt_name": None, "output_value": "sentence_embedding", "precision": "float32",
    "convert_to_tensor": False, "truncate_dim": None,
}  # fmt: skip
MODEL = "estimator SphericalParagraphModel"  # a saved model holds its encoder


class TextMethods:
    """What a fitted model does with texts: the methods of :class:`Encoder` and of ``SphericalParagraphModel``."""

    def _encoder(self) -> Encoder:
        """Return what the model has learned."""
        raise TypeError(f"{type(self).__name__} has no encoder")

    def _checked(self, X: Any) -> Any:
        """Return documents that have been checked, before they are read."""
        return X

    def transform(self, X: Any, *, space: Space | None = None, **columns: Any) -> NDArray[Any]:
        """Return the vectors of documents, (n_docs, dim)."""
        encoder = self._encoder()
        space = encoder.space if space is None else space
        check_space(space)
        X = X if columns else self._checked(X)
        return vectors_of(encoder.read(X, **columns), encoder.prior, encoder.whitening, space)

    def stream(self, source: Any, **columns: Any) -> Iterator[tuple[Block, Posterior]]:
        """Read a corpus block by block, in constant memory; yield each block and its posterior.

        Parameters
        ----------
        source : texts, token lists, columns or path
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        encoder = self._encoder()
        for block, bags in encoder.text_reader.stream(source, encoder.n_jobs, **columns):
            yield block, posterior_of(bags, encoder.prior, encoder.whitening)

    def posterior(self, X: Any, **columns: Any) -> Posterior:
        """Return the posterior of each document: its direction, how certain that is, and what it adds to the corpus."""
        encoder = self._encoder()
        X = X if columns else self._checked(X)
        return posterior_of(encoder.read(X, **columns), encoder.prior, encoder.whitening)

    def encode(self, sentences: Any, **options: Any) -> NDArray[Any]:
        """Return the vectors of texts, (n_texts, dim), or of one text, (dim,); the same as :meth:`transform`.

        Parameters
        ----------
        sentences : str, or anything that ``transform`` accepts
        **options
            Options of sentence-transformers: ``batch_size``, ``show_progress_bar``, ``device``, ``convert_to_numpy``
            and ``normalize_embeddings`` change nothing, as vectors are always numpy arrays of unit length; ``prompt``,
            ``prompt_name``, ``output_value``, ``precision``, ``convert_to_tensor`` and ``truncate_dim`` must have
            their defaults there.
        """
        for name, value in options.items():
            if name not in _WITHOUT_EFFECT and (name not in _FIXED or value != _FIXED[name]):
                there = ", ".join([*sorted(_WITHOUT_EFFECT), *(f"{key}={fixed!r}" for key, fixed in _FIXED.items())])
                raise TypeError(f"encode does not take {name}={value!r}; of sentence-transformers it takes {there}")
        return self.transform([sentences])[0] if isinstance(sentences, str) else self.transform(sentences)

    def similarity(self, first: ArrayLike, second: ArrayLike) -> Floats:
        """Return the cosines of vectors, (n, dim) and (m, dim) -> (n, m); 0 for a vector of zeros.

        To compare texts, use :meth:`compare`.
        """
        a, b = (np.atleast_2d(np.asarray(rows)) for rows in (first, second))
        if a.dtype.kind not in "fiu" or b.dtype.kind not in "fiu" or a.shape[-1] != b.shape[-1]:
            raise ParasphereError(
                f"similarity compares rows of numbers of the same dimension, as encode returns them, not {a.dtype} "
                f"{a.shape} and {b.dtype} {b.shape}; compare(a, b) takes texts."
            )
        return np.asarray(unit_rows(a, np.float64) @ unit_rows(b, np.float64).T)

    def information(self, X: Any) -> Floats:
        """Return how much documents tell about their directions, (n_docs,), in nats (:attr:`Posterior.information`)."""
        return self.posterior(X).information

    def log_likelihood(self, X: Any) -> Floats:
        """Return the profile log-likelihood of the words of each document, (n_docs,).

        See :attr:`Posterior.log_likelihood`. Log-likelihoods under models with different word vectors or weights cannot
        be compared.
        """
        return self.posterior(X).log_likelihood

    def compare(self, a: Any, b: Any, *, return_std: bool = False) -> Any:
        """Return how similar texts are: the cosine of what each adds to the corpus (:attr:`Posterior.offset`).

        It is 1 for the same text, about 0 for unrelated texts, 0 for a text without known words, and negative for texts
        that differ from the corpus in opposite directions.

        Parameters
        ----------
        a, b : str, or lists of str of the same length
            Lists are compared pair by pair.
        return_std : bool, default=False
            Also return the standard deviation of each similarity under the posteriors of the two directions.

        Returns
        -------
        float or (n,) array; with ``return_std`` a pair of them
        """
        first, second, several = _pairs(a, b)
        one, other = self.posterior(first), self.posterior(second)
        similarity = cosines(one.offset, other.offset)
        if not return_std:
            return similarity if several else float(similarity[0])
        std = doubts(one, other)
        return (similarity, std) if several else (float(similarity[0]), float(std[0]))

    def log_bayes_factor(self, a: Any, b: Any) -> Any:
        """Return the log Bayes factor, in nats, of two texts sharing a direction against each having its own.

        Parameters
        ----------
        a, b : str, or lists of str of the same length
            Lists are compared pair by pair.

        Returns
        -------
        float or (n,) array
        """
        first, second, several = _pairs(a, b)
        factors = log_bayes_factor(self.posterior(first), self.posterior(second), self._encoder().prior)
        return factors if several else float(factors[0])

    def explain(self, text: str) -> Explanation:
        """Return the contribution of each word, and of the corpus, to the direction of a text.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel, WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
        >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
        >>> explanation = model.explain("north north east by sea")
        >>> [word for word, share in explanation.words], explanation.unknown
        (['north', 'north', 'east'], ['sea'])
        >>> round(sum(share for _, share in explanation.words) + explanation.prior, 6)
        1.0
        """
        text = one_text(text, "the text to explain")
        return explain(text, self.posterior([text]), self._encoder().text_reader)

    def explain_match(self, a: str, b: str) -> MatchExplanation:
        """Return the contribution of each word to the similarity of two texts.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel, WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0.1]])
        >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
        >>> match = model.explain_match("north east", "east east")
        >>> [word for word, part in match.words_a if part > 0]
        ['east']
        """
        texts = one_text(a, "the first text"), one_text(b, "the second text")
        return explain_match(texts, self.posterior(list(texts)), self._encoder().text_reader)

    def similar(self, queries: Any, among: Any, k: int = 10, **columns: Any) -> Any:
        """Return the ``k`` documents most similar to a query, or to each of several queries, best first.

        They are ranked by the cosine of offsets, as in :meth:`compare`.

        Parameters
        ----------
        queries : str or list of str
        among : texts, columns, path, Bags or Posterior
            The documents. A corpus is streamed and may be larger than memory.
        k : int, default=10
        **columns
            Passed to :func:`parasphere.corpus.blocks`.

        Returns
        -------
        list of Match, or one such list per query
            With several queries, a query without a known word gets an empty list.

        Raises
        ------
        ParasphereError
            If there is a single query, and none of its words has a vector.
        """
        texts, several = _texts(queries, "the query", "queries")
        query_offsets = self.posterior(texts).offset
        known = np.asarray(query_offsets.any(axis=1))
        if not several and not known[0]:
            raise ParasphereError(f"no word of the query {texts[0]!r} has a vector, so nothing can be compared with it")
        if isinstance(among, Bags):
            among = self.posterior(among)
        parts = [(None, among)] if isinstance(among, Posterior) else self.stream(among, **columns)
        matches: list[list[Match]] = similar(query_offsets, ((block, part.offset) for block, part in parts), k)
        return (
            [row if is_known else [] for row, is_known in zip(matches, known, strict=True)] if several else matches[0]
        )


@storable(KIND)
@dataclass(frozen=True, eq=False)
class Encoder(TextMethods):
    """Texts as directions on the unit sphere, by a fitted :class:`SphericalParagraphModel`.

    An encoder is immutable, and can be used from many threads. It needs only numpy: a process that loads one and
    encodes texts imports neither scikit-learn nor scipy.

    Parameters
    ----------
    reader : Reader or None
        Reads texts as in the fit: word vectors, tokenizer and weights. None after a fit to numbers.
    prior : Prior
        mu0, kappa0 and rho, with the ``prior_strength`` and ``kappa_method`` of the fit.
    scatter : Scatter, default=None
        How words scatter within texts: the metric of the offsets. None is the ordinary metric.
    space : {"offset", "direction"}, default="offset"
        What :meth:`transform` returns by default.
    n_jobs : int, default=None
        Number of threads that read text; None is 1, -1 is one per core. Results do not depend on it.

    Examples
    --------
    >>> from parasphere import SphericalParagraphModel, WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
    >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
    >>> encoder = model.encoder_
    >>> encoder.encode("north east").shape, encoder.encode(["north", "east"]).shape
    ((2,), (2, 2))
    >>> round(encoder.compare("north east", "east east"), 2)
    0.97
    """

    reader: Reader | None
    prior: Prior
    scatter: Scatter | None = None
    space: Space = "offset"
    n_jobs: int | None = None

    @classmethod
    def of(cls, model: Any) -> Encoder:
        """Return the encoder of a fitted model, or an encoder itself."""
        encoder = getattr(model, "encoder_", model)
        if not isinstance(encoder, Encoder):
            raise ParasphereError(
                f"an Encoder or a fitted SphericalParagraphModel is needed here, not {type(model).__name__}"
                + ("; fit the model first" if hasattr(model, "fit") else "")
            )
        return encoder

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return len(self.prior.mean_direction)

    @property
    def text_reader(self) -> Reader:
        """The reader of texts; raises an error if the model was fitted to numbers."""
        if self.reader is None:
            raise ParasphereError("this model was fitted to numbers and cannot read texts; fit it to texts")
        return self.reader

    @property
    def whitening(self) -> Floats | None:
        """The metric of the offsets, (dim, dim); None is the ordinary one."""
        return None if self.scatter is None else self.scatter.whitening

    def read(self, X: Any, **columns: Any) -> Bags:
        """Return the bags of texts, token lists, columns, a path, or (n, dim) numbers; bags are checked."""
        if isinstance(X, Bags) and not columns:
            if X.dim != self.dim:
                raise ValueError(f"these bags have {X.dim} dimensions; the model was fitted to {self.dim}")
            X.check_numbers()
            return X
        if columns or not is_numeric(X):
            return self.text_reader.read(X, self.n_jobs, **columns)
        rows = np.asarray(X, np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.dim:
            raise ValueError(f"rows of {self.dim} numbers are needed, as the model was fitted to, not {rows.shape}")
        if not np.isfinite(rows).all():
            raise ValueError("rows must hold finite numbers")
        return Bags.from_rows(rows)

    def transform(self, X: Any, *, space: Space | None = None, **columns: Any) -> NDArray[Any]:
        """Return the vectors of documents, (n_docs, dim): unit vectors, float32 for texts.

        The offset of a document without known words is 0, its posterior direction that of the corpus.

        Parameters
        ----------
        X : texts, token lists, columns, path, Bags or (n, dim) numbers
        space : {"offset", "direction"}, default=None
            "offset" is the direction of what each text adds to the corpus; the cosines of offsets measure how similar
            texts are. "direction" is the posterior direction, the vector of the paper. None is the ``space`` of the
            encoder.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        return super().transform(X, space=space, **columns)

    def _encoder(self) -> Encoder:
        return self

    def save(self, folder: str | Path, *, embed_vectors: bool = False) -> None:
        """Write the encoder to a folder, replacing an earlier save in one step; nothing is pickled.

        Parameters
        ----------
        folder : path
            Created if necessary.
        embed_vectors : bool, default=False
            Copy the word vectors into the folder even if they were loaded by name or path. Otherwise these are
            referred to by name or path and checksum. Vectors that were not loaded, such as learned ones, are always
            copied.
        """
        facts, arrays = storage.packed(self.with_own_vectors() if embed_vectors else self, KIND, warn=True)
        storage.save(folder, KIND, arrays, {KIND: facts})

    @classmethod
    def load(cls, folder: str | Path, *, vectors: Any = None, tokenizer: Any = None, verify: bool = True) -> Encoder:
        """Load an encoder, or the encoder of a saved model.

        Parameters
        ----------
        folder : path
        vectors : path or WordVectors, default=None
            The word vectors, if they were moved; their content must be the same.
        tokenizer : callable, default=None
            The tokenizer, if it was a Python function, which is not saved.
        verify : bool, default=True
            Compare the data with their checksum. Numbers are always checked.
        """
        kind = storage.read_manifest(folder)["kind"]
        arrays, facts = storage.load(folder, MODEL if kind == MODEL else KIND, verify=verify)
        try:
            packed = facts["learned"]["encoder_"] if kind == MODEL else facts[KIND]
            name = "encoder_" if kind == MODEL else KIND
            encoder = storage.unpacked(packed, arrays, name, vectors=vectors, tokenizer=tokenizer)
        except StoreError as error:
            raise StoreError(f"{folder}: {error}") from error
        except WRONG_FACTS as error:
            raise StoreError(f"{folder} holds no valid encoder ({error}): it is damaged.") from error
        if not isinstance(encoder, Encoder):
            raise StoreError(f"{folder} holds a {type(encoder).__name__} in place of an encoder: it is damaged.")
        return encoder

    def with_own_vectors(self) -> Encoder:
        """Return the encoder with word vectors that are saved as a copy, not by name or path."""
        if self.reader is None:
            return self
        reader = Reader(
            self.reader.vectors.without_source(),
            self.reader.tokenizer,
            weights=self.reader.weights,
            unknown_weight=self.reader.unknown_weight,
            dtype=self.reader.dtype,
        )
        return replace(self, reader=reader)

    def __deepcopy__(self, _memo: Any) -> Encoder:  # scikit-learn copies the parameters of estimators that it clones
        return self

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved encoder."""
        return {name: getattr(self, name) for name in ("reader", "prior", "scatter", "space", "n_jobs")}, {}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], _arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make an encoder from saved facts, and check it."""
        check_types(cls, facts)
        n_threads(facts["n_jobs"])  # raises unless it is valid
        encoder = cls(**facts)
        scatter = None if encoder.scatter is None else len(encoder.scatter.within)
        reader = None if encoder.reader is None else encoder.reader.dim
        dims = {encoder.dim, scatter, reader} - {None}
        if len(dims) > 1:
            raise ParasphereError(f"its parts have different dimensions, {dims}")
        return encoder


def _texts(value: Any, name: str, plural: str) -> tuple[list[str], bool]:
    """Return a string or a list of strings as a list of texts, and whether it was a list."""
    if isinstance(value, str):
        return [one_text(value, name)], False
    if not isinstance(value, (list, tuple, np.ndarray)) or not len(value):
        raise ValueError(
            f"{plural} must be a string or a list of strings that is not empty, not {type(value).__name__}"
        )
    return [one_text(text, f"{name} at position {i}") for i, text in enumerate(value)], True


def _pairs(a: Any, b: Any) -> tuple[list[str], list[str], bool]:
    """Return two strings or two lists of strings as lists of texts, and whether they were lists."""
    first, one_is_list = _texts(a, "the first text", "the first texts")
    second, other_is_list = _texts(b, "the second text", "the second texts")
    if one_is_list != other_is_list or len(first) != len(second):
        raise ValueError(
            f"two texts, or two lists of the same length, can be compared, not {len(first)} and {len(second)} texts"
        )
    return first, second, one_is_list
