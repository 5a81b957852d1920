"""Write word vectors in the format of ``english-128``: rows of bytes and of half bytes.

scripts/english/embed_english.py uses it; ``parasphere.vectors.english`` reads the format.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from parasphere import VectorsError, Vocabulary, WordVectors, storage
from parasphere.vectors.english import KIND, decode_rows

FIRST = 30_000  # words with one byte per number; the others have half a byte
_SCALES = np.arange(7.0, 11.0, 0.5)  # candidates for the largest number of a row, before clipping at 7


def save_quantised(
    folder: Path, words: list[str], matrix: NDArray[np.float32], weights: ArrayLike, unknown_weight: float
) -> None:
    """Write words, rounded rows (n_words, dim) and weights (n_words,) to a folder.

    The first 30,000 words should be the most frequent: their rows are rounded less. The weights are rounded to half
    precision. A word may have at most 255 bytes.
    """
    spelled = [word.encode() for word in words]
    longest = max(spelled, key=len)
    if len(longest) > 255:
        raise VectorsError(f"the word {longest.decode()!r} has {len(longest)} bytes; the limit is 255.")
    rows, halves, rounded = in_bytes(matrix[:FIRST]), in_half_bytes(matrix[FIRST:]), np.asarray(weights, np.float16)
    exact = WordVectors(Vocabulary(words), decode_rows(rows, halves), weights=rounded, unknown_weight=unknown_weight)
    arrays: dict[str, NDArray[Any]] = {
        "rows": rows,
        "halves": halves,
        "weights": rounded,
        "lengths": np.array([len(word) for word in spelled], np.uint8),
        "data": np.frombuffer(b"".join(spelled), np.uint8),
    }
    data = b"".join(storage.Tensors(arrays).pieces())
    checksum = hashlib.sha256(data).hexdigest()
    facts = {
        "kind": KIND,
        "data": f"data-{checksum[:16]}.safetensors",
        "size": len(data),
        "sha256": checksum,
        "meta": {"fingerprint": exact.fingerprint, "unknown_weight": exact.unknown_weight},
    }
    storage.write_file(folder / facts["data"], data)
    storage.write_file(folder / storage.MANIFEST, json.dumps(facts, indent=1).encode())


def in_bytes(matrix: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return rows (n, dim) as the nearest integers from -127 to 127, with the largest number of each row at 127."""
    return np.asarray(np.rint(_scaled(matrix) * 127), np.int8)


def in_half_bytes(matrix: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return rows (n, dim) as integers of half a byte, (n, dim / 2), each in the scale that keeps its direction best.

    The lower bits of a byte have the integer of a column of the first half, plus 8, the upper bits that of the same
    column of the second half.
    """
    if matrix.shape[1] % 2:
        raise VectorsError(f"the rows have {matrix.shape[1]} numbers; it must be even, because two share a byte.")
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
        raise VectorsError(
            f"row {bad[0]:,} has {largest[bad[0], 0]} as its largest number; it must be finite and not 0."
        )
    return np.asarray(matrix / largest.astype(np.float64))
