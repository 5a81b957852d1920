"""Arrow columns, tables and Parquet as Python lists; the other modules of this package do without pyarrow."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import CorpusError
from . import block
from .block import Request, Rows

SLICE = 1 << 12  # rows of a column that are converted at a time


def imported(source: Any) -> Any:
    """Import an object that exports Arrow data: as an array, chunked array, table, batch or reader of batches."""
    if isinstance(source, (pa.Array, pa.ChunkedArray, pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return source
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return pa.RecordBatchReader.from_stream(source)
        except pa.ArrowInvalid:  # a stream of one column, not of a table
            return pa.chunked_array(source)
    column = pa.array(source)
    return pa.RecordBatch.from_struct_array(column) if pa.types.is_struct(column.type) else column


def read(source: Any, request: Request) -> Iterator[Rows]:
    """Yield the rows of a column or table that :func:`imported` returned."""
    if isinstance(source, (pa.Array, pa.ChunkedArray)):
        request.without_columns("the documents come without columns")
        parts: Any = ([chunk] for chunk in getattr(source, "chunks", [source]))
    else:
        names = request.among(source.schema.names).columns
        batches = source.to_batches() if isinstance(source, pa.Table) else source
        batches = [source] if isinstance(source, pa.RecordBatch) else batches
        parts = ([batch[name] for name in names] for batch in batches)
    start = 0
    for columns in parts:
        yield from _rows(columns, request, start)
        start += len(columns[0])


def _rows(columns: list[pa.Array], request: Request, start: int, consumed: int | None = None) -> Iterator[Rows]:
    for at in range(0, len(columns[0]), SLICE):
        yield Rows([values(column[at : at + SLICE], request.place(start + at)) for column in columns], consumed)


def values(column: pa.Array, place: str = "a column") -> list[Any]:
    """Return a column as Python values; ``place`` is the name of its first row in messages."""
    try:
        column.validate(full=True)  # data of other libraries and of files may be invalid
        return _values(column)
    except (pa.ArrowException, UnicodeDecodeError, IndexError, ValueError, OverflowError) as error:
        what = "not valid UTF-8" if "UTF8" in str(error) else "damaged, or a date that Python does not have"
        raise CorpusError(f"{place} or one soon after it is {what} ({error})") from None


def _values(column: pa.Array) -> list[Any]:
    """Return a column as Python values; a text that a dictionary repeats is a single object."""
    if isinstance(column, pa.ExtensionArray):
        return _values(column.storage)
    kind = column.type
    if pa.types.is_dictionary(kind):
        codes = column.indices.to_pylist()
        used = sorted(set(codes) - {None})
        words = dict(zip(used, _values(column.dictionary.take(pa.array(used, pa.int64()))), strict=True))
        return [words.get(code) for code in codes]
    if pa.types.is_timestamp(kind):
        microseconds = pc.CastOptions(pa.timestamp("us", kind.tz), allow_time_truncate=True)
        column = pc.cast(column, options=microseconds)  # Python's datetime has no nanoseconds
    if pa.types.is_string_view(kind):
        column = column.cast(pa.large_string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        texts: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return texts
    lists = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    if not column.null_count and any(getattr(pa.types, test)(kind) for test in lists):
        ends = np.cumsum(pc.list_value_length(column).to_numpy()).tolist()
        tokens = _values(column.flatten())
        return [tokens[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    others: list[Any] = column.to_pylist()
    return others


def read_parquet(source: Any, size: int, request: Request) -> Iterator[Rows]:
    """Read a Parquet file of ``size`` bytes, about a block of rows at a time."""
    try:
        with pq.ParquetFile(source) as file:
            request = request.among(file.schema_arrow.names)
            done = 0
            for number in range(file.num_row_groups):
                group = file.metadata.row_group(number)
                rows = max(1, block.BYTES * group.num_rows // max(group.total_byte_size, 1))
                names = list(dict.fromkeys(request.columns))
                for batch in file.iter_batches(min(rows, SLICE), row_groups=[number], columns=names):
                    columns = [batch.column(name) for name in request.columns]
                    consumed = size * (done + len(batch)) // file.metadata.num_rows
                    yield from _rows(columns, request, done, consumed)
                    done += len(batch)
    except (pa.ArrowException, OSError, UnicodeError, KeyError) as error:
        raise CorpusError(f"{request.where}: not a valid Parquet file, perhaps truncated ({error})") from None
