"""The definition of a word for the compiled scanner of texts, src/kernels/scanning.cpp."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._kernels import WordCounts, find_beginnings, ids_of_texts

__all__ = ["CODE_POINTS", "MARK", "STOP", "Folding", "WordCounts", "find_beginnings", "ids_of_texts"]

CODE_POINTS = 0x33480  # the size of a fold table; no letter is assigned above (the last is U+323AF)
STOP = -2  # the id of a stop word, which is skipped

# What a fold table holds for a code point: 0 for a separator, else the folded code point, with this bit set
# for a combining mark, which continues a word but cannot begin one.
MARK = np.uint32(1 << 31)


class Folding(NamedTuple):
    """What counts as a word; ``lowercase`` and ``digits`` repeat for ASCII what ``fold`` says."""

    fold: NDArray[np.uint32]  # (CODE_POINTS,): what each is folded to; 0 for a separator, MARK for a combining mark
    lowercase: bool
    digits: bool  # whether they are part of words
    min_length: int  # words of fewer characters are dropped
