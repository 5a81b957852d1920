"""Writing word vectors to files that other programs read: word2vec text and word2vec binary."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import VectorsError
from ..progress import progress
from ..storage import replacing
from ..text import Vocabulary

_NUMBERS = 1 << 20  # formatted at a time
_LARGEST = np.finfo(np.float32).max


def write(
    path: Path, vocabulary: Vocabulary, matrix: NDArray[np.float32], norms: NDArray[np.float64], verbose: bool = False
) -> None:
    r"""Write words and their rows (n_words, dim) times their norms (n_words,), in the format of the extension.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "tiny.vec")
    >>> write(path, Vocabulary(["sea", "lake"]), np.array([[0.6, 0.8], [0, 1]], np.float32), np.array([5.0, 0.1]))
    >>> path.read_text()
    '2 2\nsea 3 4\nlake 0 0.1\n'
    """
    formatted = _FORMATS.get(path.suffix.lower())
    if formatted is None:
        raise VectorsError(f"{path}: the name must end in .txt or .vec (word2vec text) or .bin (word2vec binary).")
    _check_words(vocabulary, path)
    n, dim = matrix.shape
    step = max(1, _NUMBERS // dim)
    with (
        replacing(path) as part,
        part.open("wb") as file,
        progress(f"writing {path.name}", n, unit="rows", shown=verbose) as advance,
    ):
        file.write(f"{n} {dim}\n".encode())
        for begin in range(0, n, step):
            rows = slice(begin, begin + step)
            # Rounding must not make the largest float32 infinite.
            values = np.clip(matrix[rows] * norms[rows, None], -_LARGEST, _LARGEST).astype(np.float32)
            file.write(_lines(vocabulary.arrow[rows], formatted(values)))
            file.write(b"\n")  # after binary rows too, as the first word2vec did
            advance(len(values))


def _check_words(vocabulary: Vocabulary, path: Path) -> None:
    codes = vocabulary.data
    blank = np.flatnonzero((codes == ord(" ")) | ((codes >= ord("\t")) & (codes <= ord("\r"))))
    if len(blank):
        row = int(np.searchsorted(vocabulary.offsets, blank[0], "right")) - 1
        raise VectorsError(
            f"{path}: the word {vocabulary.word(row)!r} (row {row:,}) contains white space, which ends a word in "
            "these formats. Leave it out, or save a folder."
        )


def _text(values: NDArray[np.float32]) -> pa.LargeBinaryArray:
    """Format the numbers of each row (n, dim) with the fewest digits that give the same float32 again."""
    flat = values.ravel()
    numbers = pa.array(flat).cast(pa.large_string())
    # Most programs read a double and round it to float32; rounding twice can, very rarely, give another number.
    same = numbers.cast(pa.float64()).to_numpy().astype(np.float32) == flat
    if not same.all():
        numbers = pc.if_else(same, numbers, pa.array(flat.astype(np.float64)).cast(pa.large_string()))
    return _join(numbers, np.arange(0, len(flat) + 1, values.shape[1]), " ").cast(pa.large_binary())


def _binary(values: NDArray[np.float32]) -> pa.LargeBinaryArray:
    """Return the bytes of each row (n, dim)."""
    raw = pa.py_buffer(np.ascontiguousarray(values, "<f4"))
    rows = pa.FixedSizeBinaryArray.from_buffers(pa.binary(4 * values.shape[1]), len(values), [None, raw])
    return rows.cast(pa.large_binary())


def _lines(words: pa.LargeStringArray, numbers: pa.LargeBinaryArray) -> pa.Buffer:
    """Put each word before its numbers, and newlines between the rows."""
    space = pa.scalar(b" ", pa.large_binary())
    lines = pc.binary_join_element_wise(words.cast(pa.large_binary()), numbers, space)
    return _join(lines, np.array([0, len(lines)]), b"\n")[0].as_buffer()


def _join(pieces: pa.Array, offsets: NDArray[np.int64], between: str | bytes) -> pa.Array:
    """Join the pieces from each offset to the next."""
    lists = pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), pieces)
    return pc.binary_join(lists, pa.scalar(between, pieces.type))


_FORMATS = {".txt": _text, ".vec": _text, ".bin": _binary}
EXTENSIONS = tuple(_FORMATS)
