"""The word vectors that come with the library: ``english-128``.

They are in a folder beside this file, written by ``scripts/english/embed_english.py``: ``parasphere.json`` has a few
facts, and names the file with the arrays, in the safetensors format. A row is stored as integers, whose direction is
the vector of the word: as they are divided by their length, no scale is needed. The first words, which are most of any
text, have integers from -127 to 127, one byte each. The others, more numerous but rare, have integers from -7 to 7, and
two of them share a byte. The weights are stored separately, with mean 1 over the text that words were counted in.
``provenance.json`` and ``LICENCE.txt`` in the folder describe their origin.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import storage
from ..errors import StoreError, VectorsError
from ..places import ENGLISH
from ..storage import MANIFEST, Arrays, check_layouts
from ..text import Vocabulary

KIND = "quantised-word-vectors"
_LAYOUTS = {
    "rows": "i1[first,dim]", "halves": "u1[others,half]", "weights": "f2[words]", "lengths": "u1[words]",
    "data": "u1[bytes]",
}  # fmt: skip
_FACTS = {"fingerprint": str, "unknown_weight": float}
_BLOCK = 4096  # rows that a thread scales at a time
_THREADS = 2


class English(NamedTuple):
    """Words, their unit rows, (n_words, dim), their weights, (n_words,), and the facts ``_FACTS``."""

    vocabulary: Vocabulary
    matrix: NDArray[np.float32]
    weights: NDArray[np.float16]
    facts: dict[str, Any]


def english_folder() -> Path:
    """Return the folder of the vectors that come with the library."""
    return Path(__file__).parent / ENGLISH


def read_quantised(folder: Path) -> tuple[Arrays, dict[str, Any]]:
    """Map the arrays of a folder in this format into memory, and return them with its facts; nothing is checked."""
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    return storage.map_tensors(folder / manifest["data"]), manifest["meta"]


def read_english(folder: Path | None = None) -> English:
    """Read the word vectors that come with the library, or others in their format.

    The file is not compared with its checksum, which would take longer than reading it: it is trusted like the code
    that was installed with it.
    """
    folder = english_folder() if folder is None else folder
    try:
        arrays, facts = read_quantised(folder)
        check_layouts(arrays, _LAYOUTS)
        vocabulary = Vocabulary.from_buffers(arrays["data"], _offsets(arrays["lengths"]), trusted=True)
        vocabulary.check_utf8()
        known = {name: facts[name] for name in _FACTS}
        storage.check_types(_FACTS, known)
        return English(vocabulary, decode_rows(arrays["rows"], arrays["halves"]), arrays["weights"], known)
    except (OSError, *storage.WRONG_FACTS) as error:
        raise StoreError(f"{folder} does not hold quantised word vectors ({error}): install it again.") from error


def decode_rows(rows: NDArray[np.int8], halves: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return rows of bytes, (n, dim), followed by rows of half bytes, (m, dim / 2), as unit rows (n + m, dim).

    The bits are the same on every machine: a sum of squares is a whole number, which float32 holds exactly in any order
    of the terms for up to 1,040 columns.
    """
    half = halves.shape[1]
    if rows.shape[1] != 2 * half:
        raise VectorsError(f"some rows have {rows.shape[1]} numbers and others {2 * half}; all must have the same.")
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
