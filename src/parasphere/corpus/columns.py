"""Columns of documents: conversion of every kind of column to an Arrow array of texts or of token lists.

Where a function takes ``start`` and ``where``, they are for messages: the position of the first document in the corpus,
and what to put before it, such as a file's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import CorpusError
from .plain import TOKEN_LIST, describe, without_surrogates

Null: TypeAlias = Literal["error", "skip", "empty"]  # what becomes of a text that is null
SLICE = 1 << 16  # rows of a column that are converted at a time
LONGEST = 1 << 30  # bytes of a document; longer ones are refused
FOLD = 1 << 24  # bytes that a dictionary is expanded to at a time


class Part(NamedTuple):
    """Some consecutive documents, as many as are read at a time."""

    texts: pa.Array  # large_string, or large_list of large_string
    labels: pa.Array | None
    ids: pa.Array | None
    consumed: int  # bytes of the source used so far, this part included
    carried: pa.Array | None = None  # a struct of other columns


def bundled(columns: dict[str, pa.Array]) -> pa.Array | None:
    """Return columns as one, which is cut and joined like any other; None if there are none."""
    return pa.StructArray.from_arrays(list(columns.values()), list(columns)) if columns else None


def without_nulls(columns: list[pa.Array], null: Null) -> list[pa.Array]:
    """Return columns, texts first, without the rows whose text is null, or with an empty text in them.

    Examples
    --------
    >>> texts, ids = pa.array(["a", None]), pa.array([1, 2])
    >>> [column.to_pylist() for column in without_nulls([texts, ids], "skip")]
    [['a'], [1]]
    >>> without_nulls([texts], "empty")[0].to_pylist()
    ['a', '']
    """
    texts = columns[0]
    if null == "error" or not texts.null_count:
        return columns
    if null == "skip":
        kept = texts.is_valid()
        return [column.filter(kept) for column in columns]
    if pa.types.is_null(texts.type):
        return [pa.array([""] * len(texts), pa.large_string()), *columns[1:]]
    empty: Any = [] if is_list(texts.type) else ""
    filled = plain(texts)
    filled = pa.array([empty if value is None else value for value in filled.to_pylist()], filled.type)
    return [filled, *columns[1:]]


def choose_column(names: Sequence[Any], asked: str, where: str) -> str:
    """Return the column to read: the requested one, or the only one if the default is absent.

    Examples
    --------
    >>> choose_column(["text", "label"], "text", "the table")
    'text'
    >>> choose_column(["sentence"], "text", "the table")
    'sentence'
    >>> choose_column(["title", "body"], "text", "the table")
    Traceback (most recent call last):
        ...
    parasphere.errors.CorpusError: the table has no column "text"; its columns are "title", "body"
    """
    count = list(names).count(asked)
    if count == 1:
        return asked
    if count > 1:
        raise CorpusError(f'{where} has {count} columns named "{asked}"; rename them so that one is left')
    if asked == "text" and len(names) == 1:
        only: str = names[0]  # unchanged: pandas names an only column by the number 0
        return only
    there = ", ".join(f'"{name}"' for name in names) or "none"
    raise CorpusError(f'{where} has no column "{asked}"; its columns are {there}')


def too_long(where: str, hint: str = "") -> CorpusError:
    """Return the error for a document that is too long."""
    return CorpusError(f"{where}: longer than {LONGEST:,} bytes, the limit for one document{hint}")


def from_python(documents: list[Any], start: int, where: str = "") -> pa.Array:
    """Turn Python strings, or lists, tuples or arrays of tokens, into an Arrow array of strings or of lists.

    Examples
    --------
    >>> from_python([["a", "b"], []], 0).to_pylist()
    [['a', 'b'], []]
    """
    kinds = set(map(type, documents))
    if all(issubclass(kind, str) for kind in kinds):
        return strings(documents)
    if all(issubclass(kind, TOKEN_LIST) for kind in kinds):
        return _token_lists(documents, start, where)
    tokenised = isinstance(documents[0], TOKEN_LIST)
    for position, document in enumerate(documents, start):
        if not isinstance(document, (str, *TOKEN_LIST)):
            raise CorpusError(
                f"{where}{_ordinal(position)} is {describe(document)}; "
                "every document must be a str, or every one a list of tokens (str)"
            )
        if isinstance(document, TOKEN_LIST) != tokenised:
            raise mixture(position, not tokenised, where)
    raise AssertionError("unreachable: a type was at fault, but no document of it")


def strings(values: Sequence[str | None]) -> pa.Array:
    """Turn Python strings, or None, into Arrow; lone surrogates become U+FFFD."""
    try:
        return pa.array(values, pa.large_string())
    except UnicodeEncodeError:
        sound = [value and without_surrogates(value) for value in values]
        return pa.array(sound, pa.large_string())


def mixture(position: int, tokenised: bool, where: str = "") -> CorpusError:
    """Return the error for a document that is not of the same kind as those before it."""
    this, others = ("a list of tokens", "texts (str)") if tokenised else ("a text (str)", "lists of tokens")
    return CorpusError(
        f"{where}{_ordinal(position)} is {this}, but those before it are {others}; make them all one kind"
    )


def from_arrow(column: pa.Array, start: int, where: str = "") -> pa.Array:
    """Convert an Arrow array of texts or of token lists to large_string, or to a large_list of these.

    Text is copied only where its layout requires it (dictionaries and views).

    Examples
    --------
    >>> from_arrow(pa.array(["a", "b", "a"]).dictionary_encode(), 0).type
    DataType(large_string)
    """
    column = plain(column)
    if len(column) == 0 and not is_list(column.type):
        return pa.array([], pa.large_string())
    if column.null_count:
        position = start + pc.index(column.is_null(), True).as_py()
        raise CorpusError(f"{where}{_ordinal(position)} is null; drop it, or fill it with an empty text")
    if not is_list(column.type):
        return _checked(_large(column, start, where), start, where)
    words = plain(column.flatten())
    if words.null_count:
        lengths = pc.list_value_length(column).to_numpy()
        token = pc.index(words.is_null(), True).as_py()
        position = start + int(np.searchsorted(np.cumsum(lengths), token, side="right"))
        raise CorpusError(f"{where}{_ordinal(position)} has a token that is null; every token must be a str")
    values = pa.array([], pa.large_string()) if len(words) == 0 else _large(words, start, where)
    # From the lengths, not by a cast: a cast of a slice would convert the tokens of the whole column.
    offsets = _offsets(pc.list_value_length(column).to_numpy())
    return _checked(pa.LargeListArray.from_arrays(pa.array(offsets), values), start, where)


def foldings(
    columns: Sequence[pa.Array], limit: int = FOLD, start: int = 0, where: str = ""
) -> Iterator[tuple[int, int]]:
    """Yield (first row, rows) of pieces whose dictionaries expand to at most `limit` bytes, or of one row.

    Columns that are not dictionaries count as 0 bytes.

    Examples
    --------
    >>> list(foldings([pa.array(["ab", "ab", "abcdef", "c"]).dictionary_encode()], 4))
    [(0, 2), (2, 1), (3, 1)]
    """
    count = len(columns[0])
    try:
        ends = np.cumsum(sum((_unfolded(column) for column in columns), np.zeros(count, np.int64)))
    except IndexError as error:
        raise CorpusError(f"{where}{_ordinal(start)} or one soon after it is not in its dictionary ({error})") from None
    first, before = 0, 0
    while first < count:
        last = int(np.searchsorted(ends, before + limit, side="right"))
        last = min(max(last, first + 1), first + SLICE, count)
        if ends[last - 1] - before > LONGEST:
            raise too_long(f"{where}{_ordinal(start + first)}")
        yield first, last - first
        first, before = last, int(ends[last - 1])


def _unfolded(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return the bytes of text that each row, (n,), has in a dictionary; 0 for other columns."""
    if isinstance(column, pa.ExtensionArray):
        return _unfolded(column.storage)
    if is_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        return np.asarray(np.diff(_offsets(_unfolded(column.flatten()))[_offsets(lengths)]))
    words = plain(column.dictionary) if pa.types.is_dictionary(column.type) else None
    if words is None or words.type not in (pa.string(), pa.large_string()):
        return np.zeros(len(column), np.int64)
    rows = column.indices.cast(pa.int64())
    low, high = (pc.min_max(rows)[name].as_py() for name in ("min", "max"))
    if low is not None and not 0 <= low <= high < len(words):
        raise IndexError(f"an index is {high if low >= 0 else low}, of {len(words)}")
    sizes = np.append(pc.binary_length(words).fill_null(0).to_numpy(), 0).astype(np.int64)
    return np.asarray(sizes[rows.fill_null(len(words)).to_numpy()])


def longest_entry(columns: Sequence[pa.Array]) -> int:
    """Return the bytes of the longest text in the dictionaries of the columns; 0 if one of these is empty."""
    longest = 1
    for column in columns:
        while is_list(column.type):
            column = column.flatten()
        if pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type):
            if not len(column.dictionary):
                return 0
            longest = max(longest, pc.max(pc.binary_length(column.dictionary)).as_py() or 0)
    return longest


def plain(column: pa.Array) -> pa.Array:
    """Return the values without a dictionary, an extension type, or views, for which Arrow lacks kernels."""
    while True:
        if isinstance(column, pa.ExtensionArray):
            column = column.storage
        elif pa.types.is_dictionary(column.type):
            words = plain(column.dictionary)
            # With 32-bit offsets the result could not be longer than 2 GiB.
            column = (words.cast(pa.large_string()) if pa.types.is_string(words.type) else words).take(column.indices)
        elif pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        else:
            return column


def byte_offsets(texts: pa.Array) -> npt.NDArray[np.int64]:
    """Return where each document begins among the bytes of the text, and where the last one ends.

    Examples
    --------
    >>> byte_offsets(from_python(["ab", "", "é"], 0))
    array([0, 2, 2, 4])
    >>> byte_offsets(from_python([["ab", "c"], []], 0))
    array([0, 3, 3])
    """
    if pa.types.is_large_list(texts.type):
        return np.asarray(byte_offsets(texts.values)[texts.offsets.to_numpy()])
    if len(texts) == 0:
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(texts.buffers()[1], np.int64)
    return offsets[texts.offset : texts.offset + len(texts) + 1]


def _token_lists(documents: list[Any], start: int, where: str) -> pa.Array:
    documents = [np.atleast_1d(d).tolist() if isinstance(d, np.ndarray) else d for d in documents]
    tokens = list(chain.from_iterable(documents))
    if not all(issubclass(kind, str) for kind in set(map(type, tokens))):
        for position, document in enumerate(documents, start):
            for token in document:
                if not isinstance(token, str):
                    raise CorpusError(
                        f"{where}{_ordinal(position)} has a token that is {describe(token)}; every token must be a str"
                    )
    return pa.LargeListArray.from_arrays(pa.array(_offsets(list(map(len, documents)))), strings(tokens))


def _offsets(lengths: npt.ArrayLike) -> npt.NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def is_list(kind: pa.DataType) -> bool:
    """Tell whether this is one of Arrow's list types."""
    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(pa.types, test)(kind) for test in tests)


def _large(strings: pa.Array, start: int, where: str) -> pa.Array:
    kind = strings.type
    if pa.types.is_large_string(kind):
        return strings
    if pa.types.is_string(kind):
        return strings.cast(pa.large_string())
    hint = "; decode it first, as in column.cast(pyarrow.string())" if "binary" in str(kind) else ""
    raise CorpusError(
        f"{where}{_ordinal(start)} is in a column of type {kind}, which holds no text{hint}; "
        "columns of strings, or of lists of strings (tokens), can be read"
    )


def _checked(texts: pa.Array, start: int, where: str) -> pa.Array:
    """Return the texts if they are valid UTF-8, which neither Arrow nor Parquet checks."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        for position in range(len(texts)):
            try:
                texts[position].as_py()
            except UnicodeDecodeError:
                break
        raise CorpusError(f"{where}{_ordinal(start + position)} is not valid UTF-8 ({error})") from None
    return texts


def _ordinal(position: int) -> str:
    return f"document {position} (counting from 0)"
