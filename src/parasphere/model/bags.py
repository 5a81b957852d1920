"""Bags: the sum of the unit word vectors of each document, and the number of its words.

They are sufficient statistics of the model: once a corpus has been read, its words are not needed again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import outer_products
from ..errors import ParasphereError
from ..storage import check_layouts, storable

Floats = NDArray[np.float64]
# Weight of the isotropic covariance, so that every axis has at least this share of the mean variance: axes along which
# words hardly differ are mostly noise. Chosen on the development part of the STS benchmark and on Cranfield, where 0.05
# to 0.3 differ by about a point; results on CISI were known by then (results/README.md).
FLOOR = 0.1
_LAYOUTS = {
    "sums": "f[docs,dim]", "lengths": "f8[docs]", "squared_norms": "f8[docs]", "unknown": "i8[docs]",
    "squared_weights": "f8[docs]",
}  # fmt: skip
_COLUMNS = tuple(_LAYOUTS)
_SUMS = (np.dtype(np.float32), np.dtype(np.float64))
_COUNTS = np.dtype(np.int64)


@storable("scatter")
@dataclass(frozen=True, eq=False)
class Scatter:
    """The scatter of words within the texts of a corpus; ``+`` adds the scatters of two corpora.

    Under the vMF distribution, words scatter equally in all directions around the direction of their text. The words of
    real texts do not: a few axes, mostly of frequency and grammar, have much of their variance, and texts about the
    same subject differ along these axes by chance. Let C be the covariance of words within texts. The mean of ``l``
    words has the covariance ``C / l`` around the direction of its text. Multiplied by ``C^(-1/2)``, it has the same
    error in all directions, and differences between texts are measured relative to that error.

    The scatter is computed from two sums of outer products, over words and over texts, in float64 and in blocks of
    fixed size. Whether a corpus is read at once or in parts changes it by a relative 1e-12 or so.

    Attributes
    ----------
    within : (dim, dim) float64
        Sum over all words of ``weight * outer(x, x)``, with ``x`` the word vector minus the mean of its text.
    """

    within: Floats

    @classmethod
    def of(
        cls, matrix: NDArray[Any], weights: Floats, sums: NDArray[Any], lengths: Floats, unknown: float = 0.0
    ) -> "Scatter":
        """Return the scatter of words within texts.

        Parameters
        ----------
        matrix : (n_words, dim) array
            The word vectors.
        weights : (n_words,) array
            Number of occurrences of each word, times its weight.
        sums, lengths : (n_docs, dim) and (n_docs,) arrays
            Sum of the words of each text, and of their weights.
        unknown : float, default=0.0
            Total weight of the words without a vector, which get random ones: their outer products are replaced by
            the expectation, equal in all directions.
        """
        return cls.from_means(matrix, weights, cls.means(sums, lengths), unknown)

    @staticmethod
    def means(sums: NDArray[Any], lengths: Floats) -> Floats:
        """Return the sum over texts: the outer products of their means, times their lengths.

        The sums of several corpora can be added by ``+``; the total gives the scatter of all of them.
        """
        shares = np.divide(1.0, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
        return _outer_products(sums, shares)

    @classmethod
    def from_means(cls, matrix: NDArray[Any], weights: Floats, means: Floats, unknown: float = 0.0) -> "Scatter":
        """Return the scatter, given the sum over texts (:meth:`means`); the parameters are those of :meth:`of`."""
        used = np.flatnonzero(weights)
        words = _outer_products(matrix[used], weights[used])
        words[np.diag_indices_from(words)] += unknown / matrix.shape[1]
        return cls(words - means)

    def __add__(self, other: "Scatter") -> "Scatter":
        return Scatter(self.within + other.within)

    @cached_property
    def whitening(self) -> Floats:
        """``(C / v)^(-1/2)``, (dim, dim), with ``v`` the mean variance of an axis; the identity if words do not vary.

        C is the covariance of words within texts, mixed with a tenth of the isotropic covariance ``v I``.
        """
        dim = len(self.within)
        variance = float(np.trace(self.within)) / dim
        if not variance > 1e-9:  # no text has two different words
            return np.eye(dim)
        values, axes = np.linalg.eigh(self.within / variance)
        scales = ((1 - FLOOR) * values.clip(0) + FLOOR) ** -0.5
        return np.ascontiguousarray((axes * scales) @ axes.T)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out cached values, which are computed again when needed."""
        return {name: value for name, value in vars(self).items() if name != "whitening"}

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model."""
        return {}, {"within": self.within}

    @classmethod
    def from_saved(cls, _facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make a scatter from saved facts and arrays, and check it."""
        check_layouts(arrays, {"within": "f8[dim,dim]"})
        if not np.isfinite(arrays["within"]).all():
            raise ParasphereError("the scatter of words must be finite")
        return cls(np.array(arrays["within"]))


@storable("bags")
@dataclass(frozen=True)
class Bags:
    """Documents as sums of unit word vectors.

    Attributes
    ----------
    sums : (n_docs, dim) float32 or float64
        Sum of the word vectors of each document, times their weights if words are weighted.
    lengths : (n_docs,) float64
        Number of known words per document; their total weight if they are weighted.
    squared_norms : (n_docs,) float64
        Squared length of each sum.
    unknown : (n_docs,) int64
        Number of words per document that have no vector.
    squared_weights : (n_docs,) float64, default=lengths
        Sum of the squared weights of the words of each document; equal to the lengths if all weights are 1.
    reader : Reader, default=None
        The reader of the documents, if they were texts. It is not saved.
    scatter : Scatter, default=None
        The scatter of words within the texts of the corpus, if it is known. A selection of documents keeps the scatter
        of the whole corpus.

    Notes
    -----
    Arrays that are not in C order are copied.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> from parasphere.model import Reader
    >>> vectors = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    >>> bags = Reader(vectors).read(["North, north and east", ""])
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
    squared_weights: NDArray[np.float64] = None  # type: ignore[assignment]  # an array after __post_init__
    reader: Any = field(default=None, compare=False, repr=False)
    scatter: Scatter | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        # Written out, which is faster and matters for a single short text; check_layouts words the message.
        for name in _COLUMNS:
            value: Any = getattr(self, name)
            if type(value) is not np.ndarray or not value.flags.c_contiguous:
                array = np.array(self.lengths) if value is None else np.asanyarray(value)
                object.__setattr__(self, name, array if array.flags.c_contiguous else np.ascontiguousarray(array))
        sums, lengths, norms, weights = self.sums, self.lengths, self.squared_norms, self.squared_weights
        if (
            (sums.dtype == _SUMS[0] or sums.dtype == _SUMS[1])
            and sums.ndim == 2
            and lengths.shape == norms.shape == weights.shape == self.unknown.shape == sums.shape[:1]
            and lengths.dtype == norms.dtype == weights.dtype == _SUMS[1]
            and self.unknown.dtype == _COUNTS
        ):
            return
        if self.sums.ndim != 2 or any(len(column) != len(self.sums) for column in self._columns().values()):
            shapes = ", ".join(f"{name} {column.shape}" for name, column in self._columns().items())
            raise ValueError(f"bags need sums (n_docs, dim) and one number per document in the others, not {shapes}")
        if self.sums.dtype not in _SUMS:
            raise ValueError(f"the sums of bags must be float32 or float64, not {self.sums.dtype}")
        check_layouts(self._columns(), _LAYOUTS)

    def check_numbers(self) -> None:
        """Raise unless the numbers are valid: finite sums with the given squared norms, and nothing negative."""
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
                f"but its squared norm is given as {self.squared_norms[bad[0]]:g}"
            )

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in _COLUMNS}

    @classmethod
    def from_rows(cls, rows: ArrayLike) -> "Bags":
        """Make bags from (n, dim) numbers: each row is a document of one word, the direction of the row.

        A row of zeros has no direction and becomes a document without words.

        Examples
        --------
        >>> Bags.from_rows([[3.0, 4.0], [0.0, 0.0]]).sums
        array([[0.6, 0.8],
               [0. , 0. ]])
        """
        array = np.asarray(rows, np.float64)
        largest = np.abs(array).max(axis=1, initial=0.0)
        array = array / np.where(largest > 0, largest, 1)[:, None]  # the squares of tiny numbers would underflow
        norms = np.linalg.norm(array, axis=1)
        sums = array / np.where(norms > 0, norms, 1)[:, None]
        lengths = (norms > 0).astype(np.float64)
        return cls(sums, lengths, lengths.copy(), np.zeros(len(array), np.int64), lengths.copy())

    @classmethod
    def concatenate(cls, parts: Sequence["Bags"]) -> "Bags":
        """Concatenate bags."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if not parts:
            raise ValueError("at least one part is needed: without any the dimension is not known")
        if len(parts) == 1:
            return parts[0]
        columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
        scatters = [part.scatter for part in parts if part.scatter is not None]
        scatter = sum(scatters[1:], scatters[0]) if len(scatters) == len(parts) else None
        return cls(**columns, reader=parts[0].reader, scatter=scatter)

    @property
    def dim(self) -> int:
        """Dimension of the sums."""
        return int(self.sums.shape[1])

    @property
    def possible_norms(self) -> NDArray[np.float64]:
        """The squared lengths of the sums, limited to the largest that a sum of unit vectors can have.

        Rounding may make them larger, and then no concentration would be large enough.
        """
        return np.minimum(self.squared_norms, self.lengths * self.lengths)

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of documents and dimensions, as scikit-learn needs them to split data into folds."""
        return len(self), self.dim

    def __getitem__(self, documents: Any) -> "Bags":
        """Select documents by a slice (a view), a mask or positions."""
        if isinstance(documents, tuple) and documents[1:] == (...,):  # as scikit-learn writes it
            documents = documents[0]
        columns: dict[str, Any] = {name: column[documents] for name, column in self._columns().items()}
        return Bags(**columns, reader=self.reader, scatter=self.scatter)

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of saved bags."""
        if self.scatter is None:
            return {}, self._columns()
        return {}, {**self._columns(), **self.scatter.to_saved()[1]}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], overrides: Any) -> Self:
        """Make bags from saved arrays, and check their numbers."""
        columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
        moments = {name: array for name, array in arrays.items() if name not in _COLUMNS}
        bags = cls(**columns, scatter=Scatter.from_saved(facts, moments, overrides) if moments else None)
        bags.check_numbers()
        return bags


def _outer_products(rows: NDArray[Any], weights: Floats) -> Floats:
    """Return the sum of ``weights[i] * outer(rows[i], rows[i])``, (n, dim), (n,) -> (dim, dim)."""
    total = np.empty((rows.shape[1], rows.shape[1]))
    outer_products(np.ascontiguousarray(rows), weights, total)
    return total
