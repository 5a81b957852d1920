"""The documents of a corpus, in memory or on disk, as a stream of blocks."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..errors import CorpusError, import_extra
from . import files
from .block import Block, Request, Rows, blocks_of
from .texts import describe, sound_values

BATCH = 1024  # Python objects that are converted at a time
_OPTIONS = ("text", "label", "id", "encoding", "format", "carry", "progress")

Column: TypeAlias = str | Sequence[Any] | None  # the name of a column, or its values


class _StandardInput:
    def __repr__(self) -> str:
        return "STANDARD_INPUT"


STANDARD_INPUT = _StandardInput()
"""The source that stands for standard input."""


def blocks(
    source: Any,
    *,
    text: str | Sequence[str] = "text",
    label: Column = None,
    id: Column = None,
    encoding: str = "utf-8",
    format: str | None = None,
    carry: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
    **unknown: Any,
) -> Iterator[Block]:
    r"""Stream the documents of a corpus in blocks of about 16 MB of text.

    Parameters
    ----------
    source : iterable, table, Path or STANDARD_INPUT
        - An iterable of `str`, or of lists of tokens: lists, generators, numpy arrays, Series of pandas and polars,
          Arrow arrays (strings, dictionaries of strings, lists of strings). An array of one column is a column of
          texts.
        - A table: a DataFrame of pandas or polars, an Arrow Table, RecordBatch or RecordBatchReader, or anything with
          ``__arrow_c_stream__`` or ``__arrow_c_array__``. Arrow needs the extra ``arrow``; pandas and polars do not.
        - A `pathlib.Path` of a file: ``.txt`` (one document per line), ``.jsonl`` or ``.ndjson``, ``.json`` (an array
          of objects or of texts, which is held in memory), ``.csv`` or ``.tsv`` (the first row names the columns),
          ``.parquet`` (extra ``arrow``), or any of these followed by ``.gz``, ``.bz2``, ``.xz`` or ``.zst`` (which
          needs Python 3.14 or backports.zstd). Named pipes, such as a shell makes of ``<(command)``, are read like
          standard input.
        - A `pathlib.Path` of a folder: one document per file, in the order of their names, without hidden files.
          Anything else (pipes, devices, links to folders) is skipped with a warning. Ids are the paths within the
          folder, and labels the names of the folders that the files are in (null for files at the top).
        - ``corpus.STANDARD_INPUT``.
        - Blocks, which are passed on unchanged.
    text : str or sequence of str, default="text"
        The column that holds the documents. If "text" is absent and there is only one column, that one is used; in CSV
        only if its name is one word, since the first row may be a text. Several columns are joined to one text, with a
        blank line between them; those that are null or empty are left out.
    label, id : str or sequence, default=None
        The name of a column; or, for any source, the values themselves, one per document. Columns of CSV and JSON are
        read as strings, except for ids in JSON that are integers; others keep their type.
    encoding : str, default="utf-8"
        The encoding of text files. A UTF-8 byte order mark is ignored; UTF-16 is not read.
    format : {"txt", "jsonl", "json", "csv", "tsv", "parquet"}, default=None
        The format of a file; None infers it from the extension. Standard input and pipes are "txt" by default.
    carry : sequence of str, default=()
        Names of further columns that blocks keep in ``carried``.
    progress : callable, default=None
        Called with the bytes of the file that have been read so far, or the characters if the source is in memory.

    Returns
    -------
    iterator of Block

    Raises
    ------
    CorpusError
        The message names the file and line, or the position of the document; what is wrong; and what is expected.

    Notes
    -----
    A null is an empty text; a warning at the end counts them. Surrogates in Python strings, which UTF-8 cannot encode,
    become U+FFFD; everything else in a text is kept. In ``.txt`` only ``\n`` and ``\r\n`` end a line, and a blank line
    is an empty document. In CSV an empty cell is an empty text, "NA" is a text like any other, and blank lines between
    rows are skipped. Documents of more than 1,073,741,824 characters are refused.

    Examples
    --------
    >>> [block] = blocks(["a text", "another"], label=["x", "y"])
    >>> block.texts, block.labels, block.start
    (['a text', 'another'], ['x', 'y'], 0)

    >>> import pandas as pd
    >>> table = pd.DataFrame({"id": ["i", "ii"], "title": ["One", None], "body": ["a text", "another"]})
    >>> [(block.texts, block.ids) for block in blocks(table, text=["title", "body"], id="id")]
    [(['One\n\na text', 'another'], ['i', 'ii'])]

    >>> blocks("a text")
    Traceback (most recent call last):
        ...
    parasphere.errors.CorpusError: one str is not a corpus: wrap one text in a list, as in ["..."], or pass
    Path("...") to read a file
    """
    if unknown:
        raise TypeError(f"a corpus is read without an option {min(unknown)!r}; there are {', '.join(_OPTIONS)}")
    if isinstance(source, str):
        raise CorpusError(
            'one str is not a corpus: wrap one text in a list, as in ["..."], or pass Path("...") to read a file'
        )
    names = (text,) if isinstance(text, str) else tuple(text)
    if not names:
        raise CorpusError("text names no column; give at least one")
    columns = {name: column for name, column in (("label", label), ("id", id)) if isinstance(column, str)}
    request = Request("the corpus", None, names, carry=tuple(carry), encoding=encoding, **columns)
    if source is STANDARD_INPUT:
        request, rows = files.read(replace(request, where="standard input"), format)
    elif isinstance(source, os.PathLike):
        path = Path(source).expanduser()
        request, rows = files.read(replace(request, where=str(path), path=path), format)
    elif _is_a(source, "DataFrame"):
        rows = _frame(source, replace(request, where="the table"))
    elif _is_a(source, "Series") or (isinstance(source, np.ndarray) and source.ndim):
        rows = _column(source, request)
    elif _is_arrow(source):
        rows = _arrow().read(_arrow().imported(source), replace(request, where="the table"))
    else:
        items = iter([source] if isinstance(source, Block) else _ordered(source))
        first = list(islice(items, 1))
        items = chain(first, items)
        if first and isinstance(first[0], Block):
            if columns or label is not None or id is not None:
                raise CorpusError("blocks have labels and ids already; name the columns where the blocks are made")
            return _only_blocks(items)
        rows = _column(items, request)
    given = {name: _values(column) for name, column in (("labels", label), ("ids", id))
             if column is not None and not isinstance(column, str)}  # fmt: skip
    return blocks_of(rows, request, given, progress)


class Corpus:
    """A source and how it is read: an iterable of its blocks, which may be iterated several times.

    Parameters
    ----------
    source, **columns
        The arguments of :func:`blocks`.
    """

    def __init__(self, source: Any, **columns: Any) -> None:
        self.source, self.columns = source, columns

    def __iter__(self) -> Iterator[Block]:
        return blocks(self.source, **self.columns)


def reread(source: Any, **columns: Any) -> Iterable[Block]:
    """Return blocks that can be read several times; those of a source that can be read only once are held in memory."""
    pipe = isinstance(source, os.PathLike) and stat.S_ISFIFO(files.mode_of(Path(source).expanduser()))
    stream = _is_arrow(source) and not hasattr(source, "__len__")
    once = pipe or stream or source is STANDARD_INPUT or isinstance(source, Iterator)
    return list(blocks(source, **columns)) if once else Corpus(source, **columns)


# ------------------------------------------------------------------------------------- in memory


def _ordered(source: Any) -> Iterable[Any]:
    if not isinstance(source, Iterable) or isinstance(source, (bytes, bytearray, Mapping, Set, np.ndarray)):
        raise CorpusError(
            f"the corpus is {describe(source)}; it must be an ordered iterable of str or of lists of tokens, a "
            "table, or a pathlib.Path"
        )
    return source


def _only_blocks(source: Iterable[Any]) -> Iterator[Block]:
    for item in source:
        if not isinstance(item, Block):
            raise CorpusError(f"after blocks of documents comes an item {describe(item)}; pass blocks only")
        yield item


def _is_a(source: Any, name: str) -> bool:
    """Return whether the source is a `name` of pandas, polars or a similar library, without importing it."""
    return any(kind.__name__ == name for kind in type(source).__mro__)


def _is_arrow(source: Any) -> bool:
    """Return whether an object exports Arrow data."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def _arrow() -> Any:
    import_extra("pyarrow", "arrow", "Reading Arrow columns and tables")
    from . import arrow

    return arrow


def _frame(table: Any, request: Request) -> Iterator[Rows]:
    """Yield the rows of a DataFrame."""
    request = request.among(list(table.columns))
    texts = [_batches(table[name]) for name in request.text]
    others = [_values(table[name]) for name in request.columns[len(texts) :]]
    start = 0
    for columns in zip(*texts, strict=True):
        end = start + len(columns[0])
        yield Rows([*columns, *(column[start:end] for column in others)])
        start = end


def _column(items: Any, request: Request) -> Iterator[Rows]:
    """Yield the documents of a column, or of any iterator."""
    request.without_columns("the documents come without columns")
    if isinstance(items, np.ndarray) and items.ndim == 2 and items.shape[1] == 1:
        items = items[:, 0]
    yield from (Rows([batch]) for batch in _batches(items))


def _batches(column: Any) -> Iterator[list[Any]]:
    if isinstance(column, Iterator):
        while batch := list(islice(column, BATCH)):
            yield sound_values(batch)
        return
    rows = getattr(column, "iloc", column)  # pandas needs it; others are sliced by position
    for at in range(0, len(column), BATCH):
        some = rows[at : at + BATCH]
        yield sound_values(some.tolist() if hasattr(some, "tolist") else some.to_list())


def _values(values: Any) -> list[Any]:
    """Return a column of any library as a list; missing values of pandas become None."""
    if _is_a(values, "Series") or _is_a(values, "Index"):
        if hasattr(values, "notna"):
            values = values.astype(object)
            values = values.where(values.notna(), None)
        return sound_values(list(values.to_list()))
    if isinstance(values, np.ndarray):
        return sound_values(list((_dates(values) if values.dtype.kind == "M" else values).tolist()))
    if _is_arrow(values):
        arrow = _arrow()
        column = arrow.imported(values)
        return [value for chunk in getattr(column, "chunks", [column]) for value in arrow.values(chunk)]
    return sound_values(list(values))


def _dates(values: Any) -> Any:
    """Return the dates of numpy in microseconds, if Python has them."""
    years = values.astype("M8[Y]").astype(np.int64) + 1970
    if (beyond := ~np.isnat(values) & ((years < 1) | (years > 9999))).any():
        raise CorpusError(f"a column holds a date of the year {years[beyond][0]}; Python has the years 1 to 9999")
    return values.astype("M8[us]")
