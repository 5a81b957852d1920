"""The word vectors that come with the library: ``english-128``.

They lie in a saved folder beside this file, which ``scripts/embed_english.py`` writes. A row is kept as integers from
-127 to 127, whose direction is the vector of the word: dividing them by their length needs no scale. The weights are
kept apart, with mean 1 over the text that the vectors were learned from. ``provenance.json`` and ``LICENCE.txt`` in
the folder tell where the vectors come from.
"""

from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import storage
from ..compiled import check_layouts
from ..errors import StoreError, VectorsError
from ..places import ENGLISH
from ..text import Vocabulary
from .stored import StoredVectors

KIND = "quantised-word-vectors"
_LAYOUTS = {"rows": "i1[words,dim]", "weights": "f2[words]", "lengths": "u1[words]", "data": "u1[bytes]"}
_FACTS = {"fingerprint": str, "unknown_weight": float}
_BLOCK = 1024  # rows that are scaled at a time, so that they stay in the processor's cache
V = TypeVar("V", bound=StoredVectors)


def english_folder() -> Path:
    """Return the folder of the vectors that come with the library."""
    return Path(str(resources.files(__package__))) / ENGLISH


def load_english(cls: type[V], folder: Path | None = None) -> V:
    """Load the word vectors that come with the library, or others that :func:`save_quantised` wrote to a folder.

    The file is not compared with its checksum, which would take longer than reading it: like the code beside it, it is
    as the installer left it.
    """
    folder = english_folder() if folder is None else folder
    arrays, facts = storage.load(folder, KIND, verify=False)
    try:
        check_layouts(arrays, _LAYOUTS)
        vocabulary = Vocabulary.from_buffers(arrays["data"], _offsets(arrays["lengths"]), trusted=True)
        vocabulary.check_utf8()
        known = {"name": ENGLISH, "source": ENGLISH, **{name: facts[name] for name in _FACTS}}
        storage.check_types(_FACTS, known)
        vectors = cls(vocabulary, unit_rows(arrays["rows"]), weights=arrays["weights"], check_now=False, **known)
    except storage.WRONG_FACTS as error:
        raise StoreError(f"{folder} does not hold quantised word vectors ({error}): install it again.") from error
    vectors._checked = True  # the rows were just divided by their lengths
    return vectors


def save_quantised(
    folder: Path, words: list[str], rows: NDArray[np.int8], weights: ArrayLike, unknown_weight: float
) -> None:
    """Write words, integer rows (n_words, dim) and weights (n_words,) to a folder for :func:`load_english`.

    The weights are rounded to half precision. A word may have at most 255 bytes.
    """
    spelled = [word.encode() for word in words]
    longest = max(spelled, key=len)
    if len(longest) > 255:
        raise VectorsError(f"the word {longest.decode()!r} has {len(longest)} bytes; at most 255 can be kept.")
    half = np.asarray(weights, np.float16)
    exact = StoredVectors(Vocabulary(words), unit_rows(rows), weights=half, unknown_weight=unknown_weight)
    arrays: dict[str, NDArray[Any]] = {
        "rows": rows,
        "weights": half,
        "lengths": np.array([len(word) for word in spelled], np.uint8),
        "data": np.frombuffer(b"".join(spelled), np.uint8),
    }
    storage.save(folder, KIND, arrays, {"fingerprint": exact.fingerprint, "unknown_weight": exact.unknown_weight})


def quantised(matrix: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return rows (n, dim) as the nearest integers from -127 to 127, with the largest number of each row at 127."""
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    bad = np.flatnonzero(~(np.isfinite(largest[:, 0]) & (largest[:, 0] > 0)))
    if len(bad):
        raise VectorsError(f"row {bad[0]:,} has {largest[bad[0], 0]} as its largest number; a direction is needed.")
    return np.asarray(np.rint(matrix * (127 / largest.astype(np.float64))), np.int8)


def unit_rows(rows: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return rows of integers, (n, dim), as unit rows; the same bits on every machine.

    A sum of squares is a whole number, which float32 holds exactly in any order of the terms for up to 1,040 columns.
    """
    unit = np.empty(rows.shape, np.float32)
    for begin in range(0, len(rows), _BLOCK):
        block = rows[begin : begin + _BLOCK].astype(np.float32)
        squares = np.vecdot(block, block).astype(np.float64)
        if not squares.all():
            raise VectorsError(f"row {begin + int(squares.argmin()):,} is zero; a direction is needed.")
        np.multiply(block, (1 / np.sqrt(squares)).astype(np.float32)[:, None], out=unit[begin : begin + _BLOCK])
    return unit


def _offsets(lengths: NDArray[np.uint8]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
