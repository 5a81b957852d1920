"""The kinds of input that stand for documents: texts, tables with one column of texts, and tables of numbers."""

import os
import warnings
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..corpus import Block, blocks
from ..errors import ScriptWarning
from ..text import SegmentingTokenizer, share_without_spaces
from .bags import Bags
from .coverage import level_of_caller

SAMPLE = 200  # texts by which a tokenizer is chosen
ENOUGH = 0.5  # the share of letters in scripts without spaces from which on texts are segmented


def is_numeric(x: Any) -> bool:
    """Tell whether x is a table of numbers, sparse ones included, rather than texts or tokens."""
    if hasattr(x, "nnz"):  # a sparse table of scipy, which need not be imported for others
        return True
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "biufc" or (x.dtype.kind == "O" and x.ndim == 2 and not _has_text(x[:1].ravel()))
    if isinstance(x, list) and x and isinstance(x[0], list | tuple | np.ndarray) and len(x[0]):
        return not isinstance(x[0][0], str)
    if hasattr(x, "__array__") and not hasattr(x, "__iter__"):  # something only numpy can look into
        return is_numeric(np.asarray(x))
    if hasattr(x, "dtypes") and hasattr(x, "to_numpy") and getattr(x, "ndim", 0) == 2:  # a pandas DataFrame
        return not _has_text(x.iloc[:1].to_numpy().ravel())
    return False


def _has_text(values: Any) -> bool:
    return any(isinstance(value, str) for value in values)


def as_texts(x: Any) -> Any:
    """Return the only column of a table of one column, as ``ColumnTransformer`` passes it, and anything else as is."""
    if getattr(x, "ndim", 0) == 2 and x.shape[1] == 1:
        return x.iloc[:, 0] if hasattr(x, "iloc") else x[:, 0]
    return x


def held_texts(x: Any) -> Any:
    """Return texts that can be read twice: a stream is held in memory, as Arrow blocks."""
    return x if isinstance(x, str | os.PathLike | Bags) else list(blocks(as_texts(x)))


def first_texts(x: Any, **columns: Any) -> tuple[Any, list[str]]:
    """Return documents that can still be read, as blocks, and the first of their texts; none if they are tokens."""
    if isinstance(x, list) and x and all(isinstance(item, Block) for item in x):
        return x, _sample(x[0])
    parts = blocks(as_texts(x), **columns)
    first = next(parts, None)
    return ([], []) if first is None else (chain([first], parts), _sample(first))


def _sample(block: Block) -> list[str]:
    return [] if block.tokenised else list(block.texts[:SAMPLE].to_pylist())


def tokenizer_for(sample: Sequence[str]) -> SegmentingTokenizer | None:
    """Return a tokenizer for texts in scripts without spaces, with a notice; None for other texts."""
    if share_without_spaces(sample) < ENOUGH:
        return None
    tokenizer = SegmentingTokenizer()
    ways = f"Chinese by {tokenizer.chinese}, Japanese by {tokenizer.japanese}, Thai by {tokenizer.thai}"
    missing = "; pip install 'parasphere[segmenting]' for libraries that find words" if "pairs" in ways else ""
    warnings.warn(
        f"these texts are in a script without spaces between words, and are divided by tokenizer=SegmentingTokenizer() "
        f"({ways}{missing}).",
        ScriptWarning,
        stacklevel=level_of_caller(),
    )
    return tokenizer
