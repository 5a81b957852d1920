"""The word vectors that come with the library: ``english-128``.

They lie in a saved folder beside this file, which ``scripts/embed_english.py`` writes. A row is kept as integers, whose
direction is the vector of the word: dividing them by their length needs no scale. The first words, which are most of
any text, have integers from -127 to 127, a byte each. The others, more numerous and seldom seen, have integers from -7
to 7, and two of them share a byte. The weights are kept apart, with mean 1 over the text that words were counted in.
``provenance.json`` and ``LICENCE.txt`` in the folder tell where the vectors come from.
"""

from concurrent.futures import ThreadPoolExecutor
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
_LAYOUTS = {
    "rows": "i1[first,dim]", "halves": "u1[others,half]", "weights": "f2[words]", "lengths": "u1[words]",
    "data": "u1[bytes]",
}  # fmt: skip
_FACTS = {"fingerprint": str, "unknown_weight": float}
FIRST = 30_000  # words whose numbers have a byte each
_SCALES = np.arange(7.0, 11.0, 0.5)  # what the largest number of a row may become before it is cut off at 7
_BLOCK = 4096  # rows that a thread scales at a time
_THREADS = 2
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
        vectors = cls(
            vocabulary, unit_rows(arrays["rows"], arrays["halves"]), weights=arrays["weights"], check_now=False, **known
        )
    except storage.WRONG_FACTS as error:
        raise StoreError(f"{folder} does not hold quantised word vectors ({error}): install it again.") from error
    vectors._checked = True  # the rows were just divided by their lengths
    return vectors


def save_quantised(
    folder: Path, words: list[str], matrix: NDArray[np.float32], weights: ArrayLike, unknown_weight: float
) -> None:
    """Write words, rounded rows (n_words, dim) and weights (n_words,) to a folder for :func:`load_english`.

    The first 30,000 words should be the most frequent: their rows are rounded less. The weights are rounded to half
    precision. A word may have at most 255 bytes.
    """
    spelled = [word.encode() for word in words]
    longest = max(spelled, key=len)
    if len(longest) > 255:
        raise VectorsError(f"the word {longest.decode()!r} has {len(longest)} bytes; at most 255 can be kept.")
    rows, halves, rounded = in_bytes(matrix[:FIRST]), in_half_bytes(matrix[FIRST:]), np.asarray(weights, np.float16)
    exact = StoredVectors(Vocabulary(words), unit_rows(rows, halves), weights=rounded, unknown_weight=unknown_weight)
    arrays: dict[str, NDArray[Any]] = {
        "rows": rows,
        "halves": halves,
        "weights": rounded,
        "lengths": np.array([len(word) for word in spelled], np.uint8),
        "data": np.frombuffer(b"".join(spelled), np.uint8),
    }
    storage.save(folder, KIND, arrays, {"fingerprint": exact.fingerprint, "unknown_weight": exact.unknown_weight})


def in_bytes(matrix: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return rows (n, dim) as the nearest integers from -127 to 127, with the largest number of each row at 127."""
    return np.asarray(np.rint(_scaled(matrix) * 127), np.int8)


def in_half_bytes(matrix: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return rows (n, dim) as integers of half a byte, (n, dim / 2), each in the scale that keeps its direction best.

    A byte has the integer of a column of the first half, plus 8, in its lower bits, and that of the same column of the
    second half in its upper ones.
    """
    if matrix.shape[1] % 2:
        raise VectorsError(f"the rows have {matrix.shape[1]} numbers; an even number is needed: two share a byte.")
    scaled = _scaled(matrix)
    best, integers = np.zeros(len(matrix)), np.zeros(matrix.shape)
    for most in _SCALES:
        rounded = np.rint(scaled * most).clip(-7, 7)
        cosines = np.vecdot(rounded, scaled) / np.linalg.norm(rounded, axis=1)  # times the length of a scaled row
        better = cosines > best
        best[better], integers[better] = cosines[better], rounded[better]
    lower, upper = np.split((integers + 8).astype(np.uint8), 2, axis=1)
    return np.asarray(lower | upper << 4, np.uint8)


def _scaled(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return rows divided by their largest numbers, which must be finite and not 0."""
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    bad = np.flatnonzero(~(np.isfinite(largest[:, 0]) & (largest[:, 0] > 0)))
    if len(bad):
        raise VectorsError(f"row {bad[0]:,} has {largest[bad[0], 0]} as its largest number; a direction is needed.")
    return np.asarray(matrix / largest.astype(np.float64))


def unit_rows(rows: NDArray[np.int8], halves: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return rows of bytes, (n, dim), and then those of half bytes, (m, dim / 2), as unit rows (n + m, dim).

    The bits are the same on every machine: a sum of squares is a whole number, which float32 holds exactly in any order
    of the terms for up to 1,040 columns.
    """
    half = halves.shape[1]
    if rows.shape[1] != 2 * half:
        raise VectorsError(f"rows of {rows.shape[1]} and of {2 * half} numbers cannot be of one space.")
    unit = np.empty((len(rows) + len(halves), 2 * half), np.float32)

    def fill(begin: int, end: int) -> None:
        block = unit[begin:end]
        if begin < len(rows):
            block[:] = rows[begin:end]
        else:
            packed = halves[begin - len(rows) : end - len(rows)]
            block[:, :half], block[:, half:] = (packed & 15).view(np.int8) - 8, (packed >> 4).view(np.int8) - 8
        squares = np.vecdot(block, block).astype(np.float64)
        if not squares.all():
            raise VectorsError(f"row {begin + int(squares.argmin()):,} is zero; a direction is needed.")
        block *= (1 / np.sqrt(squares)).astype(np.float32)[:, None]

    begins = [*range(0, len(rows), _BLOCK), *range(len(rows), len(unit), _BLOCK)]
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(fill, begins, [*begins[1:], len(unit)]))
    return unit


def _offsets(lengths: NDArray[np.uint8]) -> NDArray[np.int64]:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
