"""The documents of a corpus, in memory or on disk, as a stream of Arrow blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np
import pyarrow as pa

from ..errors import CorpusError
from . import files
from .block import Block, numbered, of_one_kind, resized, text_bytes
from .columns import Null, Part, bundled, choose_column, foldings, from_arrow, from_python, plain
from .plain import describe

_BATCH = 1024  # Python objects that are converted at a time

Column: TypeAlias = str | Sequence[Any] | None  # the name of a column, or its values


class _StandardInput:
    def __repr__(self) -> str:
        return "STANDARD_INPUT"


STANDARD_INPUT = _StandardInput()
"""The source that stands for standard input."""


def blocks(
    source: Any,
    *,
    text: str = "text",
    label: Column = None,
    id: Column = None,
    encoding: str = "utf-8",
    format: str | None = None,
    null: Null = "error",
    carry: Sequence[str] = (),
    block_bytes: int = 16 << 20,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Block]:
    r"""Stream the documents of a corpus in blocks of about ``block_bytes``.

    A document is never split, and neither the documents nor their order depend on the size of the blocks.

    Parameters
    ----------
    source : iterable, table, Path or STANDARD_INPUT
        - An iterable of `str`, or of lists of tokens: lists, generators, numpy arrays, Series of pandas and polars,
          Arrow arrays (strings, dictionaries of strings, lists of strings).
        - A table: a DataFrame of pandas or polars, an Arrow Table, RecordBatch or RecordBatchReader, or anything with
          ``__arrow_c_stream__`` or ``__arrow_c_array__``.
        - A `pathlib.Path` of a file: ``.txt`` (one document per line), ``.jsonl`` or ``.ndjson``, ``.json`` (an array
          of objects or of texts, which is held in memory), ``.csv`` or ``.tsv`` (the first row names the columns),
          ``.parquet``, or any of these followed by ``.gz``, ``.bz2``, ``.xz`` or ``.zip`` (of one file). Named pipes,
          such as a shell makes of ``<(command)``, are read like standard input.
        - A `pathlib.Path` of a folder: one document per file, in the order of their names, without hidden files. What
          is not a file (pipes, devices, links to folders) is skipped with a warning. Ids are the paths within the
          folder, and labels the names of the folders that the files are in (null for files at the top).
        - ``corpus.STANDARD_INPUT``.
        - Blocks, which are passed on unchanged.
    text : str, default="text"
        The column that holds the documents. If "text" is absent and there is only one column, that one is used; in CSV
        only if its name is one word, since the first row may be a text.
    label, id : str or sequence, default=None
        The name of a column; or, for any source, the values themselves, one per document. Columns of CSV and JSON are
        read as strings, others keep their type.
    encoding : str, default="utf-8"
        The encoding of text files. A UTF-8 byte order mark is ignored.
    format : {"txt", "jsonl", "json", "csv", "tsv", "parquet"}, default=None
        The format of a file; None goes by its extension. Standard input and pipes are "txt" by default.
    null : {"error", "skip", "empty"}, default="error"
        What becomes of a row of a file whose text is null: it is refused, left out, or an empty text. Only Parquet and
        JSON have nulls.
    carry : sequence of str, default=()
        Names of further columns that blocks keep in ``carried``.
    block_bytes : int, default=16777216
        Approximate bytes of text per block, and of a file in memory at a time, however well it is compressed. One
        document may be longer, up to 1 GiB; longer documents are refused.
    progress : callable, default=None
        Called before each block with the bytes consumed so far: of the file on disk, or of text if the source is in
        memory.

    Returns
    -------
    iterator of Block

    Raises
    ------
    CorpusError
        The message names the file and line, or the position of the document; what is wrong; and what is expected.

    Notes
    -----
    Surrogates in Python strings, which UTF-8 cannot encode, become U+FFFD; everything else in a text is kept. In
    ``.txt`` only ``\n`` and ``\r\n`` end a line, and a blank line is an empty document. In CSV an empty cell is an
    empty text, "NA" is a text like any other, and blank lines between rows are skipped.

    Examples
    --------
    >>> [block] = blocks(["a text", "another"], label=["x", "y"])
    >>> block.texts.to_pylist(), block.labels.to_pylist(), block.start
    (['a text', 'another'], ['x', 'y'], 0)

    >>> table = pa.table({"title": ["i", "ii"], "body": ["a text", "another"]})
    >>> [block.ids.to_pylist() for block in blocks(table, text="body", id="title", block_bytes=1)]
    [['i'], ['ii']]

    >>> blocks("a text")
    Traceback (most recent call last):
        ...
    parasphere.errors.CorpusError: one str is not a corpus: wrap one text in a list, as in ["..."], or pass
    Path("...") to read a file
    """
    if block_bytes < 1:
        raise CorpusError(f"block_bytes is {block_bytes}; it must be at least 1")
    if isinstance(source, str):
        raise CorpusError(
            'one str is not a corpus: wrap one text in a list, as in ["..."], or pass Path("...") to read a file'
        )
    on_disk = source is STANDARD_INPUT or isinstance(source, os.PathLike)
    if not on_disk:
        source = _imported(source)
        if isinstance(source, _Peeked) and any(isinstance(item, Block) for item in source.first):
            if label is not None or id is not None:
                raise CorpusError("blocks have labels and ids already; name the columns where the blocks are made")
            return _only_blocks(source)

    label_name, id_name = (column if isinstance(column, str) else None for column in (label, id))
    carry = tuple(carry)
    if null not in get_args(Null):
        raise CorpusError(f"null must be 'error', 'skip' or 'empty', not {null!r}")
    if on_disk:
        path = None if source is STANDARD_INPUT else Path(source).expanduser()
        request = files.Request(path, text, label_name, id_name, encoding, block_bytes, null=null, carry=carry)
        parts = files.read(request, format)
    elif null != "error":
        raise CorpusError(f"null={null!r} is for files; drop or fill the nulls of documents in memory")
    else:
        parts = _in_memory(source, text, label_name, id_name, carry)
    for values, what in ((label, "labels"), (id, "ids")):
        if values is not None and not isinstance(values, str):
            parts = _attached(parts, _column_of_values(values, what), what)
    return numbered(resized(of_one_kind(parts), block_bytes), progress)


# ------------------------------------------------------------------------------------- in memory


class _Peeked:
    """An iterable whose first item has been read."""

    def __init__(self, items: Iterator[Any]) -> None:
        self.first = list(islice(items, 1))
        self.rest = items

    def __iter__(self) -> Iterator[Any]:
        return chain(self.first, self.rest)


def _imported(source: Any) -> Any:
    """Return Arrow data as Arrow, columns and tables unchanged, and everything else as `_Peeked`."""
    if isinstance(source, (pa.Array, pa.ChunkedArray, pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return source
    if (isinstance(source, np.ndarray) and source.ndim) or _is_a(source, "DataFrame") or _is_a(source, "Series"):
        return source
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(source)
        except pa.ArrowInvalid:  # a stream of one column, not of a table
            return pa.chunked_array(source)
    if hasattr(source, "__arrow_c_array__"):
        column = pa.array(source)
        return pa.RecordBatch.from_struct_array(column) if pa.types.is_struct(column.type) else column
    if isinstance(source, Block):
        return _Peeked(iter([source]))
    if not isinstance(source, Iterable) or isinstance(source, (bytes, bytearray, Mapping, Set, np.ndarray)):
        raise CorpusError(
            f"the corpus is {describe(source)}; it must be an ordered iterable of str or of lists of tokens, a "
            "table, or a pathlib.Path"
        )
    return _Peeked(iter(source))


def _only_blocks(source: Iterable[Any]) -> Iterator[Block]:
    for item in source:
        if not isinstance(item, Block):
            raise CorpusError(f"after blocks of documents comes an item {describe(item)}; pass blocks only")
        yield item


def _is_a(source: Any, name: str) -> bool:
    """Tell whether the source is a `name` of pandas, polars or a similar library, without importing it."""
    return any(kind.__name__ == name for kind in type(source).__mro__)


def _in_memory(source: Any, text: str, label: str | None, id: str | None, carry: tuple[str, ...]) -> Iterator[Part]:
    """Yield the documents of a table or column as parts."""
    if isinstance(source, (pa.Table, pa.RecordBatch)) or _is_a(source, "DataFrame"):
        names = source.column_names if isinstance(source, (pa.Table, pa.RecordBatch)) else list(source.columns)
        parts = _documents(source[choose_column(names, text, "the table")])
        for name, what in ((label, "labels"), (id, "ids")):
            if name is not None:
                column = source[choose_column(names, name, "the table")]
                parts = _attached(parts, _column_of_values(column, what), what)
        if carry:
            columns = [_column_of_values(source[choose_column(names, name, "the table")], name) for name in carry]
            parts = _attached(parts, pa.StructArray.from_arrays(columns, list(carry)), "carried")
        return parts
    if isinstance(source, pa.RecordBatchReader):
        return _batches(source, text, label, id, carry)
    for name in (label, id, *carry):
        if name is not None:
            raise CorpusError(
                f'"{name}" would name a column, but the documents come without columns; '
                "pass the labels or ids themselves, one per document"
            )
    return _documents(source)


def _batches(reader: Any, text: str, label: str | None, id: str | None, carry: tuple[str, ...]) -> Iterator[Part]:
    names = reader.schema.names
    text = choose_column(names, text, "the table")
    for name in filter(None, (label, id, *carry)):
        choose_column(names, name, "the table")
    start, consumed = 0, 0
    for batch in reader:
        for at, count in foldings([batch[name] for name in (text, label, id) if name is not None], start=start):
            piece = batch.slice(at, count)
            texts = from_arrow(piece[text], start)
            labels, ids = (None if name is None else plain(piece[name]) for name in (label, id))
            start += len(texts)
            consumed += text_bytes(texts)
            yield Part(texts, labels, ids, consumed, bundled({name: plain(piece[name]) for name in carry}))


def _documents(column: Any) -> Iterator[Part]:
    consumed = 0
    for texts in _arrays(column):
        consumed += text_bytes(texts)
        yield Part(texts, None, None, consumed)


def _arrays(column: Any) -> Iterator[pa.Array]:
    """Yield the documents of one column of any library."""
    # A Series of objects may hold anything; it is read as Python objects, so that faults can be located.
    if _is_a(column, "Series") and not str(column.dtype).lower().startswith("object"):
        column = pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    start = 0
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        for chunk in getattr(column, "chunks", [column]):
            for at, count in foldings([chunk], start=start):
                yield from_arrow(chunk.slice(at, count), start)
                start += count
        return
    for batch in _lists(column):
        yield from_python(batch, start)
        start += len(batch)


def _lists(column: Any) -> Iterator[list[Any]]:
    """Yield the items of any iterable in batches."""
    if isinstance(column, np.ndarray):
        for at in range(0, len(column), _BATCH):
            yield column[at : at + _BATCH].tolist()
        return
    items = iter(column)
    while batch := list(islice(items, _BATCH)):
        yield batch


# ---------------------------------------------------------------------- labels, ids, and block sizes


def _column_of_values(values: Any, what: str) -> pa.Array:
    try:
        if hasattr(values, "__arrow_c_stream__") and not _is_a(values, "Series"):
            values = pa.chunked_array(values)
        elif not hasattr(values, "__len__"):
            values = list(values)
        column = values if isinstance(values, (pa.Array, pa.ChunkedArray)) else pa.array(values)
    except (pa.ArrowException, TypeError) as error:
        raise CorpusError(f"the {what} are not a column of one type ({error})") from None
    return plain(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _attached(parts: Iterable[Part], values: pa.Array, what: str) -> Iterator[Part]:
    """Yield the parts with `values` as their labels or ids; there must be one per document."""
    start = 0
    for part in parts:
        mine = values.slice(start, len(part.texts))
        start += len(part.texts)
        if start > len(values):
            raise CorpusError(f"there are {len(values)} {what}, but more documents; give one per document")
        yield part._replace(**{what: mine})
    if start < len(values):
        raise CorpusError(f"there are {len(values)} {what}, but {start} documents; give one per document")
