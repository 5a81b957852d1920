"""The columns of an index as arrays in a file, and the checks of those that are read from one."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import ParasphereError, StoreError
from ..storage import WRONG_FACTS, Arrays, check_layouts
from ..text import AnyTokenizer, Tokenizer, Vocabulary, string_buffers
from .lexical import Lexical

KIND = "index"
DTYPES = (np.float32, np.float16)
WORDS = ("starts", "documents", "counts", "lengths")  # the arrays of Lexical
Columns = tuple[NDArray[Any], pa.LargeStringArray, pa.LargeStringArray | None, Lexical | None]


def columns(arrays: Arrays, tokenizer: AnyTokenizer) -> Columns:
    """Return the offsets, ids, texts and words of saved arrays, whose types and shapes are checked."""
    offsets, lexical = arrays["offsets"], None
    if offsets.ndim != 2 or offsets.dtype not in DTYPES:
        raise ParasphereError(f"its offsets are {offsets.dtype} of shape {offsets.shape}")
    if "words.ends" in arrays:
        words = Vocabulary.from_buffers(arrays["words.bytes"], arrays["words.ends"], trusted=True)
        columns: dict[str, Any] = {name: arrays[f"words.{name}"] for name in WORDS}
        lexical = Lexical(tokenizer, words, **columns)
    return (
        offsets,
        as_strings("ids", arrays),
        as_strings("texts", arrays) if "texts.ends" in arrays else None,
        lexical,
    )


def check_arrays(arrays: Arrays) -> None:
    """Raise unless all numbers and strings of a file are possible."""
    try:
        own = {name.removeprefix(f"{KIND}."): array for name, array in arrays.items()}
        offsets, ids, texts, lexical = columns(own, Tokenizer())
        if not (np.einsum("ij,ij->i", offsets, offsets, dtype=np.float32) < 1.1).all():
            raise ParasphereError("its offsets are no unit vectors")
        for column in (ids, texts):
            if column is not None:
                column.validate(full=True)
        check_distinct(ids)
        if lexical is not None:
            lexical.words.check_utf8()
            lexical.words.table  # noqa: B018  (raises if a word is repeated)
            lexical.check()
    except WRONG_FACTS as error:
        raise StoreError(f"this is no valid index ({error}): it is damaged.") from error


def check_distinct(ids: pa.LargeStringArray) -> None:
    """Raise if two documents have the same id."""
    if pc.count_distinct(ids).as_py() < len(ids):
        counts = pc.value_counts(ids)
        twice = counts.field(0)[pc.index(pc.greater(counts.field(1), 1), True).as_py()].as_py()
        raise ParasphereError(f"two documents have the id {twice!r}; each needs its own")


def as_arrays(name: str, column: pa.LargeStringArray) -> dict[str, NDArray[Any]]:
    """Return a column of strings as the arrays of a file."""
    data, offsets = string_buffers(column)
    return {f"{name}.bytes": data[offsets[0] : offsets[-1]], f"{name}.ends": offsets - offsets[0]}


def as_strings(name: str, arrays: dict[str, NDArray[Any]]) -> pa.LargeStringArray:
    """Return the column of strings of the arrays of a file."""
    data, offsets = arrays[f"{name}.bytes"], arrays[f"{name}.ends"]
    check_layouts({"bytes": data, "ends": offsets}, {"bytes": "u1[bytes]", "ends": "i8[docs+1]"})
    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))
