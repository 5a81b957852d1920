"""The documents of a corpus, in memory or on disk, as a stream of blocks."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias, get_args

import numpy as np

from ..errors import CorpusError, import_extra
from . import files
from .block import Block, Part, numbered, of_one_kind, resized
from .plain import TOKEN_LIST, Null, describe, mixture, ordinal, sound_strings
from .request import Request

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
          ``__arrow_c_stream__`` or ``__arrow_c_array__``. Arrow needs the extra ``arrow``; pandas and polars do not.
        - A `pathlib.Path` of a file: ``.txt`` (one document per line), ``.jsonl`` or ``.ndjson``, ``.json`` (an array
          of objects or of texts, which is held in memory), ``.csv`` or ``.tsv`` (the first row names the columns),
          ``.parquet`` (extra ``arrow``), or any of these followed by ``.gz``, ``.bz2``, ``.xz``, ``.zst`` or ``.zip``
          (of one file). Named pipes, such as a shell makes of ``<(command)``, are read like standard input.
        - A `pathlib.Path` of a folder: one document per file, in the order of their names, without hidden files.
          Anything else (pipes, devices, links to folders) is skipped with a warning. Ids are the paths within the
          folder, and labels the names of the folders that the files are in (null for files at the top).
        - ``corpus.STANDARD_INPUT``.
        - Blocks, which are passed on unchanged.
    text : str, default="text"
        The column that holds the documents. If "text" is absent and there is only one column, that one is used; in CSV
        only if its name is one word, since the first row may be a text.
    label, id : str or sequence, default=None
        The name of a column; or, for any source, the values themselves, one per document. Columns of CSV and JSON are
        read as strings, except for ids in JSON that are integers; others keep their type.
    encoding : str, default="utf-8"
        The encoding of text files. A UTF-8 byte order mark is ignored.
    format : {"txt", "jsonl", "json", "csv", "tsv", "parquet"}, default=None
        The format of a file; None infers it from the extension. Standard input and pipes are "txt" by default.
    null : {"error", "skip", "empty"}, default="error"
        What to do with a row of a file whose text is null: raise an error, leave it out, or read an empty text. Only
        Parquet and JSON have nulls.
    carry : sequence of str, default=()
        Names of further columns that blocks keep in ``carried``.
    block_bytes : int, default=16777216
        Approximate size of the text of a block, and of the part of a file in memory at a time, however well it is
        compressed. A document may be longer, up to 1 GiB; longer documents are refused. A block has at most 131,072
        documents.
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
    >>> block.texts, block.labels, block.start
    (['a text', 'another'], ['x', 'y'], 0)

    >>> import pandas as pd
    >>> table = pd.DataFrame({"title": ["i", "ii"], "body": ["a text", "another"]})
    >>> [block.ids for block in blocks(table, text="body", id="title", block_bytes=1)]
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

    if null not in get_args(Null):
        raise CorpusError(f"null must be 'error', 'skip' or 'empty', not {null!r}")
    path = Path(source).expanduser() if on_disk and source is not STANDARD_INPUT else None
    label_name, id_name = (column if isinstance(column, str) else None for column in (label, id))
    request = Request(path, text, label_name, id_name, encoding, block_bytes, null=null, carry=tuple(carry))
    if on_disk:
        parts = files.read(request, format)
    elif null != "error":
        raise CorpusError(f"null={null!r} is for files; drop or fill the nulls of documents in memory")
    else:
        parts = _in_memory(source, replace(request, name="the table"))
    for values, what in ((label, "labels"), (id, "ids")):
        if values is not None and not isinstance(values, str):
            parts = _attached(parts, _values(values), what)
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
    if (isinstance(source, np.ndarray) and source.ndim) or _is_a(source, "DataFrame") or _is_a(source, "Series"):
        return source
    if _is_arrow(source):
        return _arrow().imported(source)
    if isinstance(source, Block):
        return _Peeked(iter([source]))
    if not isinstance(source, Iterable) or isinstance(source, (bytes, bytearray, Mapping, Set, np.ndarray)):
        raise CorpusError(
            f"the corpus is {describe(source)}; it must be an ordered iterable of str or of lists of tokens, a "
            "table, or a pathlib.Path"
        )
    return _Peeked(iter(source))


def _is_arrow(source: Any) -> bool:
    """Return whether an object exports Arrow data."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _arrow() -> Any:
    import_extra("pyarrow", "arrow", "Reading Arrow columns and tables")
    from . import arrow

    return arrow


def _only_blocks(source: Iterable[Any]) -> Iterator[Block]:
    for item in source:
        if not isinstance(item, Block):
            raise CorpusError(f"after blocks of documents comes an item {describe(item)}; pass blocks only")
        yield item


def _is_a(source: Any, name: str) -> bool:
    """Return whether the source is a `name` of pandas, polars or a similar library, without importing it."""
    return any(kind.__name__ == name for kind in type(source).__mro__)


def _in_memory(source: Any, request: Request) -> Iterator[Part]:
    """Return the documents of a table or column as parts."""
    if _is_a(source, "DataFrame"):
        request = request.choose(list(source.columns))
        parts = _documents(source[request.text])
        for name, what in ((request.label, "labels"), (request.id, "ids")):
            if name is not None:
                parts = _attached(parts, _values(source[name]), what)
        return _carrying(parts, {name: _values(source[name]) for name in request.carry}) if request.carry else parts
    is_arrow = _is_arrow(source) and not _is_a(source, "Series")
    for name in (request.label, request.id, *request.carry):
        if name is not None and not (is_arrow and hasattr(source, "schema")):
            raise CorpusError(
                f'"{name}" would name a column, but the documents come without columns; '
                "pass the labels or ids themselves, one per document"
            )
    return _arrow().read(source, request) if is_arrow else _documents(source)


def _documents(column: Any) -> Iterator[Part]:
    start, consumed = 0, 0
    for batch in _lists(column):
        texts, size = from_python(batch, start)
        start += len(texts)
        consumed += size
        yield Part(texts, None, None, consumed)


def _lists(column: Any) -> Iterator[list[Any]]:
    """Yield the items of any iterable in batches."""
    if isinstance(column, np.ndarray) or _is_a(column, "Series"):
        rows = getattr(column, "iloc", column)  # pandas needs it; others are sliced by position
        for at in range(0, len(column), _BATCH):
            yield rows[at : at + _BATCH].tolist() if hasattr(column, "tolist") else rows[at : at + _BATCH].to_list()
        return
    items = iter(column)
    while batch := list(islice(items, _BATCH)):
        yield batch


def from_python(documents: list[Any], start: int) -> tuple[list[Any], int]:
    """Return documents as strings or as lists of tokens, and their total number of bytes of text.

    Examples
    --------
    >>> from_python([("a", "b"), []], 0)
    ([['a', 'b'], []], 2)
    """
    kinds = set(map(type, documents))
    if all(issubclass(kind, str) for kind in kinds):
        return sound_strings(documents)
    if all(issubclass(kind, TOKEN_LIST) for kind in kinds):
        return _token_lists(documents, start)
    tokenised = isinstance(documents[0], TOKEN_LIST)
    for position, document in enumerate(documents, start):
        if not isinstance(document, (str, *TOKEN_LIST)):
            raise CorpusError(
                f"{ordinal(position)} is {describe(document)}; "
                "every document must be a str, or every one a list of tokens (str)"
            )
        if isinstance(document, TOKEN_LIST) != tokenised:
            raise mixture(position, not tokenised)
    raise AssertionError("unreachable: a document of the wrong type was not found")


def _token_lists(documents: list[Any], start: int) -> tuple[list[Any], int]:
    lists = [np.atleast_1d(d).tolist() if isinstance(d, np.ndarray) else list(d) for d in documents]
    tokens = list(chain.from_iterable(lists))
    if not all(issubclass(kind, str) for kind in set(map(type, tokens))):
        for position, document in enumerate(lists, start):
            for token in document:
                if not isinstance(token, str):
                    raise CorpusError(
                        f"{ordinal(position)} has a token that is {describe(token)}; every token must be a str"
                    )
    sound, size = sound_strings(tokens)
    if sound is not tokens:
        lists = [sound_strings(document)[0] for document in lists]
    return lists, size


# ---------------------------------------------------------------------- labels, ids, and other columns


def _values(values: Any) -> list[Any]:
    """Return a column of any library as a list; missing values of pandas become None."""
    if _is_a(values, "Series") or _is_a(values, "Index"):
        if hasattr(values, "notna"):
            values = values.astype(object)
            values = values.where(values.notna(), None)
        return list(values.to_list())
    if isinstance(values, np.ndarray):
        return list((values.astype("datetime64[us]") if values.dtype.kind == "M" else values).tolist())
    if _is_arrow(values):
        arrow = _arrow()
        column = arrow.imported(values)
        return [value for chunk in getattr(column, "chunks", [column]) for value in arrow.values(chunk)]
    return list(values)


def _attached(parts: Iterable[Part], values: list[Any], what: str) -> Iterator[Part]:
    """Yield the parts with `values` as their labels or ids; there must be one per document."""
    start = 0
    for part in parts:
        mine = values[start : start + len(part.texts)]
        start += len(part.texts)
        if start > len(values):
            raise CorpusError(f"there are {len(values)} {what}, but more documents; give one per document")
        yield part._replace(labels=mine) if what == "labels" else part._replace(ids=mine)
    if start < len(values):
        raise CorpusError(f"there are {len(values)} {what}, but {start} documents; give one per document")


def _carrying(parts: Iterable[Part], columns: dict[str, list[Any]]) -> Iterator[Part]:
    """Yield the parts with their rows of other columns."""
    start = 0
    for part in parts:
        end = start + len(part.texts)
        yield part._replace(carried={name: column[start:end] for name, column in columns.items()})
        start = end
