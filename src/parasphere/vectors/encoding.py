"""The vectors of texts by a sentence encoder, computed in chunks that can be kept in a folder."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import Block
from ..errors import VectorsError
from ..progress import progress
from ..sphere.rows import unit_rows
from ..storage import Checkpoint, path_of

CHECKPOINT = "encoding-checkpoint"
CHUNK = 8192  # texts that are encoded, and kept, at a time


class Encoding:
    """The unit vectors of a teacher as float16.

    Parameters
    ----------
    teacher : object with ``encode``, or callable
        Takes a list of strings and returns one row of numbers per text.
    folder : Path or None
        Keeps each chunk of vectors; chunks that it holds already are not computed again.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    name : str
        The name of the teacher, for messages.
    """

    def __init__(self, teacher: Any, folder: Path | None, verbose: bool) -> None:
        self.encode = getattr(teacher, "encode", teacher)
        named = getattr(teacher, "__self__", teacher)  # the object of a method
        self.name = str(getattr(named, "__name__", type(named).__name__))
        self.folder, self.verbose = folder, verbose
        self.kept: list[Checkpoint] = []
        self.dim = 0  # of the vectors so far

    def of(self, texts: Sequence[str], what: str) -> NDArray[np.float16]:
        """Return the vectors of texts, (n_texts, n_features); rows of zeros stay zero."""
        chunks: list[NDArray[np.float16]] = []
        with progress(f"encoding {what}", len(texts), unit=what, shown=self.verbose) as advance:
            for begin in range(0, len(texts), CHUNK):
                some = list(texts[begin : begin + CHUNK])
                chunks.append(self._chunk(some, begin, what))
                self.dim = self.dim or chunks[-1].shape[1]
                if chunks[-1].shape[1] != self.dim:
                    raise VectorsError(
                        f"the teacher's vectors of {what} have {chunks[-1].shape[1]} numbers, those before {self.dim}; "
                        "all must have the same number."
                    )
                advance(len(some))
        return np.concatenate(chunks)

    def _chunk(self, texts: list[str], begin: int, what: str) -> NDArray[np.float16]:
        if self.folder is None:
            return unit_halves(self.encode(texts), len(texts), begin, what)
        digest = hashlib.blake2b(digest_size=16)
        for text in texts:
            digest.update(f"{len(text)} {text}".encode("utf-8", "surrogatepass"))
        key = {"teacher": self.name, "texts": digest.hexdigest()}
        checkpoint = Checkpoint(self.folder / f"{what}-{begin // CHUNK}", CHECKPOINT, key)
        self.kept.append(checkpoint)
        if (kept := checkpoint.resume()) is not None:
            return np.array(kept[0]["vectors"], np.float16)
        vectors = unit_halves(self.encode(texts), len(texts), begin, what)
        checkpoint.write({"vectors": vectors})
        return vectors

    def remove(self) -> None:
        """Remove the folder's chunks."""
        for checkpoint in self.kept:
            checkpoint.remove()


def unit_halves(rows: Any, n_rows: int, begin: int = 0, what: str = "texts") -> NDArray[np.float16]:
    """Return the teacher's vectors as unit rows of float16; raise a VectorsError if they are invalid."""
    try:
        numbers = np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        raise VectorsError(f"the teacher must return an array of numbers, not a {type(rows).__name__}.") from None
    if numbers.ndim != 2 or len(numbers) != n_rows or not numbers.shape[1]:
        raise VectorsError(
            f"the teacher's vectors of {n_rows:,} {what} must have the shape ({n_rows}, n_features), not "
            f"{numbers.shape}."
        )
    finite = np.isfinite(numbers).all(axis=1)
    if not finite.all():
        row = begin + int(finite.argmin())
        raise VectorsError(f"the teacher's vector {row} of the {what} holds a number that is not finite.")
    largest = np.abs(numbers).max(axis=1, keepdims=True)
    numbers = numbers / np.where(largest > 0, largest, 1.0)  # so that squares neither overflow nor underflow
    halves: NDArray[np.float16] = unit_rows(numbers).astype(np.float16)
    return halves


def given_vectors(teacher: NDArray[Any] | str | Path, n_texts: int) -> tuple[NDArray[np.float16], str]:
    """Return the vectors of an array or of a ``.npy`` file as unit rows of float16, and a name for them."""
    name = "array" if isinstance(teacher, np.ndarray) else Path(teacher).name
    if not isinstance(teacher, np.ndarray):
        try:
            teacher = np.load(path_of(teacher), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise VectorsError(
                f"the teacher {name} cannot be read ({error}); a .npy file of numbers is expected."
            ) from None
    if not isinstance(teacher, np.ndarray) or teacher.ndim != 2 or teacher.dtype.kind not in "fiu":
        actual = f"{teacher.dtype} {teacher.shape}" if isinstance(teacher, np.ndarray) else type(teacher).__name__
        raise VectorsError(f"the teacher {name} must be a matrix of numbers, one row per text, not {actual}.")
    if len(teacher) != n_texts:
        raise VectorsError(f"the teacher {name} has {len(teacher):,} rows; the {n_texts:,} texts need one each.")
    chunks = [(begin, teacher[begin : begin + CHUNK]) for begin in range(0, n_texts, CHUNK)]
    return np.concatenate([unit_halves(rows, len(rows), begin) for begin, rows in chunks]), name


def plain_texts(held: list[Block]) -> list[str]:
    """Return the texts of blocks; tokens are joined by spaces."""
    texts: list[str] = []
    for block in held:
        texts += map(" ".join, block.texts) if block.tokenised else block.texts
    return texts
