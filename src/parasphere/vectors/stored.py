"""Words with unit rows: their checked arrays, and the folder that keeps them."""

import hashlib
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _kernels, storage
from ..errors import ParasphereError, StoreError, VectorsError
from ..storage import check_types
from ..text import Vocabulary
from .table import Skipped, VectorTable

KIND = "word-vectors"
FACTS = {"name": str, "fingerprint": str, "unknown_weight": float}


class StoredVectors:
    """The arrays of :class:`parasphere.vectors.WordVectors`, which describes the parameters, and their folder."""

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
        skipped: dict[str, Skipped] | None = None,
        fingerprint: str | None = None,
        check_now: bool = True,
    ) -> None:
        n_words = len(vocabulary)
        self.vocabulary, self.name, self.source, self.skipped = vocabulary, name, source, skipped or {}
        self._rows, self._checked = _shaped_rows(matrix, n_words), False
        self.norms = _checked_numbers(np.ones(n_words) if norms is None else norms, n_words, "norm")
        self.weights = None if weights is None else _checked_numbers(weights, n_words, "weight")
        self.unknown_weight = checked_weight(unknown_weight)
        if check_now:
            self.matrix  # noqa: B018
        if fingerprint is not None:
            self.fingerprint = fingerprint

    @classmethod
    def from_table(cls, table: VectorTable, name: str) -> Self:
        """Make word vectors from a table, whose rows are normalised in place."""
        norms = np.empty(len(table.matrix))
        _kernels.normalise(table.matrix, norms)
        return cls(table.vocabulary, table.matrix, norms, name=name, skipped=table.skipped)

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

    def save(self, folder: str | Path) -> None:
        """Write the vectors to a folder, which ``WordVectors.load(folder)`` maps into memory."""
        skipped = {reason: asdict(entry) for reason, entry in self.skipped.items()}
        facts = {**self._facts(), "skipped": skipped}
        storage.save(folder, KIND, self._arrays(), facts)

    @classmethod
    def open(cls, folder: str | Path, *, name: str | None = None, verify: bool = True) -> Self:
        """Map a folder written by :meth:`save` into memory; unlike with ``load``, ``source`` is None."""
        try:
            arrays, facts = storage.load(folder, KIND, verify=verify)
            skipped = {reason: Skipped(**entry) for reason, entry in facts["skipped"].items()}
            vectors = cls._of_arrays(arrays, facts | ({"name": name} if name else {}), skipped)
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
    def _of_arrays(
        cls, arrays: dict[str, NDArray[Any]], saved: dict[str, Any], skipped: dict[str, Skipped] | None = None
    ) -> Self:
        """Make vectors from arrays that were read from a folder, and check them."""
        data, offsets, matrix, norms = (arrays[key] for key in ("data", "offsets", "matrix", "norms"))
        if matrix.dtype != np.float32 or norms.dtype != np.float64:
            raise VectorsError("the rows or norms have the wrong types")
        facts = {name: saved[name] for name in FACTS}
        check_types(FACTS, facts)
        vocabulary = Vocabulary.from_buffers(data, offsets, trusted=True)
        vocabulary.check_utf8()
        weights = arrays.get("weights")
        return cls(vocabulary, matrix, norms, weights=weights, skipped=skipped, check_now=False, **facts)


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
