"""Writing word vectors to files that other programs read: word2vec text and word2vec binary."""

from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from ..errors import VectorsError
from ..progress import progress
from ..storage import replacing
from ..text import Vocabulary

_NUMBERS = 1 << 20  # numbers formatted at a time
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
    step, words = max(1, _NUMBERS // dim), vocabulary.words
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
            for word, row in zip(words[rows], values, strict=True):
                file.write(b"%b %b\n" % (word.encode(), formatted(row)))  # in binary files too, as in word2vec
            advance(len(values))


def _check_words(vocabulary: Vocabulary, path: Path) -> None:
    codes = vocabulary.data
    blank = np.flatnonzero((codes == ord(" ")) | ((codes >= ord("\t")) & (codes <= ord("\r"))))
    if len(blank):
        row = int(np.searchsorted(vocabulary.offsets, blank[0], "right")) - 1
        raise VectorsError(
            f"{path}: the word {vocabulary.word(row)!r} (row {row:,}) contains white space, which ends a word in "
            "these formats. Leave it out, or use save to write a folder."
        )


def _text(row: NDArray[np.float32]) -> bytes:
    """Format numbers, (dim,), with the fewest digits that give the same float32 when read."""
    numbers = orjson.dumps(row, option=orjson.OPT_SERIALIZE_NUMPY)
    # Most programs read a double and round it to float32; rounding twice can, very rarely, give another number.
    if (np.array(orjson.loads(numbers), np.float64).astype(np.float32) != row).any():
        numbers = orjson.dumps(row.astype(np.float64), option=orjson.OPT_SERIALIZE_NUMPY)
    return numbers[1:-1].replace(b",", b" ").replace(b".0 ", b" ").removesuffix(b".0")


def _binary(row: NDArray[np.float32]) -> bytes:
    return row.astype("<f4").tobytes()


_FORMATS = {".txt": _text, ".vec": _text, ".bin": _binary}
EXTENSIONS = tuple(_FORMATS)
