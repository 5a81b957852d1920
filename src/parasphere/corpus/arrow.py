"""Arrow columns, tables and Parquet as Python lists; the other modules of this package read a corpus without pyarrow.

The arguments ``start`` and ``where`` are for messages: the position of the first document in the corpus, and a prefix
such as a file's name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..errors import CorpusError
from . import plain
from .block import Part
from .plain import ordinal, too_long
from .request import Request

SLICE = 1 << 14  # rows of a column that are converted at a time


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


def read(source: Any, request: Request) -> Iterator[Part]:
    """Yield the documents of a column or table that :func:`imported` returned."""
    start, consumed = 0, 0
    for whole in _columns(source, request):
        for at in range(0, len(whole[0]), SLICE):
            texts, *others = (column[at : at + SLICE] for column in whole)
            texts, size = documents(texts, start)
            start += len(texts)
            consumed += size
            yield request.part([texts, *map(values, others)], consumed)


def _columns(source: Any, request: Request) -> Iterator[list[pa.Array]]:
    """Yield the requested columns of each batch."""
    if isinstance(source, pa.Array):
        yield [source]
    elif isinstance(source, pa.ChunkedArray):
        yield from ([chunk] for chunk in source.chunks)
    else:
        request = request.choose(source.schema.names)
        batches = [source] if isinstance(source, pa.RecordBatch) else source
        for batch in source.to_batches() if isinstance(source, pa.Table) else batches:
            yield [batch[name] for name in request.columns]


def documents(column: pa.Array, start: int, where: str = "") -> tuple[list[Any], int]:
    """Return texts, or lists of tokens, and their number of characters.

    Examples
    --------
    >>> documents(pa.array(["a", "b", "a"]).dictionary_encode(), 0)
    (['a', 'b', 'a'], 3)
    """
    try:
        column.validate(full=True)  # data of other libraries and of files may be invalid
        texts = values(column)
    except (pa.ArrowInvalid, UnicodeDecodeError, IndexError) as error:
        raise CorpusError(_damage(column, start, where, error)) from None
    if None in texts:
        position = start + texts.index(None)
        raise CorpusError(f"{where}{ordinal(position)} is null; drop it, or fill it with an empty text")
    if not texts:
        return [], 0
    kind = _plain_type(column.type)
    if not is_list(kind):
        _check_type(kind, start, where)
        sizes = list(map(len, texts))
        _check_lengths(sizes, start, where)
        return texts, sum(sizes)
    for position, tokens in enumerate(texts, start):
        if None in tokens:
            raise CorpusError(f"{where}{ordinal(position)} has a token that is null; every token must be a str")
    if any(texts):
        _check_type(_plain_type(kind.value_type), start, where)
    sizes = [sum(map(len, tokens)) for tokens in texts]
    _check_lengths(sizes, start, where)
    return texts, sum(sizes)


def values(column: pa.Array) -> list[Any]:
    """Return a column as Python values; a text that a dictionary repeats is a single object."""
    if isinstance(column, pa.ExtensionArray):
        return values(column.storage)
    if pa.types.is_dictionary(column.type):
        codes = column.indices.to_pylist()
        used = sorted(set(codes) - {None})
        words = dict(zip(used, values(column.dictionary.take(pa.array(used, pa.int64()))), strict=True))
        return [words.get(code) for code in codes]
    if pa.types.is_string_view(column.type):
        column = column.cast(pa.large_string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        texts: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return texts
    if is_list(column.type) and not column.null_count:
        ends = np.cumsum(pc.list_value_length(column).to_numpy()).tolist()
        tokens = values(column.flatten())
        return [tokens[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    others: list[Any] = column.to_pylist()
    return others


def is_list(kind: pa.DataType) -> bool:
    """Return whether this is one of Arrow's list types."""
    tests = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(pa.types, test)(kind) for test in tests)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    while isinstance(kind, pa.BaseExtensionType) or pa.types.is_dictionary(kind):
        kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind.value_type
    return kind


def _check_type(kind: pa.DataType, start: int, where: str) -> None:
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return
    hint = "; decode it first, as in column.cast(pyarrow.string())" if "binary" in str(kind) else ""
    raise CorpusError(
        f"{where}{ordinal(start)} is in a column of type {kind}, which holds no text{hint}; "
        "columns of strings, or of lists of strings (tokens), can be read"
    )


def _check_lengths(sizes: Any, start: int, where: str) -> None:
    for position, size in enumerate(sizes, start):
        if size > plain.LONGEST:
            raise too_long(f"{where}{ordinal(position)}")


def _damage(column: pa.Array, start: int, where: str, error: Exception) -> str:
    """Return what is wrong with a column that Arrow cannot read."""
    if pa.types.is_dictionary(column.type) and "UTF8" not in str(error):
        return f"{where}{ordinal(start)} or one soon after it is not in its dictionary ({error})"
    for position in range(len(column)):
        try:
            column[position].as_py()
        except UnicodeDecodeError:
            return f"{where}{ordinal(start + position)} is not valid UTF-8 ({error})"
        except pa.ArrowException:
            break
    return f"{where}{ordinal(start)} or one soon after it is damaged ({error})"


def read_parquet(path: Path, request: Request) -> Iterator[Part]:
    """Read Parquet, about a block of rows at a time."""
    where = request.where
    try:
        size = (request.path or path).stat().st_size
        with pq.ParquetFile(path) as file:
            request = request.choose(file.schema_arrow.names)
            done = 0
            for batch in _batches(path, file, request):
                columns = [batch.column(name) for name in request.columns]
                if request.null != "error" and columns[0].null_count:
                    columns = _without_nulls(columns, request.null)
                texts, _ = documents(columns[0], done, f"{where}: ")
                done += len(batch)
                yield request.part([texts, *map(values, columns[1:])], size * done // file.metadata.num_rows)
    except (pa.ArrowException, OSError, UnicodeError, KeyError) as error:
        raise CorpusError(f"{where}: not a valid Parquet file, perhaps truncated ({error})") from None


def _batches(path: Path, file: Any, request: Request) -> Iterator[pa.RecordBatch]:
    """Yield batches of about the size of a block.

    A dictionary may hold one long text for a million rows. Texts are read as dictionaries, so that each is in memory
    once.
    """
    names = list(dict.fromkeys(request.columns))
    fields = [file.schema.column(i) for i in range(len(file.schema))]
    requested = [i for i, field in enumerate(fields) if any(f"{field.path}.".startswith(f"{name}.") for name in names)]
    leaves = [fields[i].path for i in requested if fields[i].physical_type == "BYTE_ARRAY"]
    if pa.types.is_struct(file.schema_arrow.field(request.text).type):
        leaves = []  # it is refused later, by a message with its type in the file
    with pq.ParquetFile(path, read_dictionary=leaves) as folded:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            chunks = [group.column(i) for i in requested]
            size = max(sum(chunk.total_uncompressed_size for chunk in chunks), 1)
            rows = min(max(request.block_bytes * group.num_rows // size, 1), SLICE)
            source = folded
            if any("DELTA" in encoding for chunk in chunks for encoding in chunk.encodings):
                # Arrow does not read these as dictionaries. In this encoding a text may repeat the one before it, so
                # that each row of a group may be as long as all of them.
                source, rows = file, min(rows, max(plain.LONGEST // size, 1))
            yield from source.iter_batches(rows, row_groups=[number], columns=names)


def _without_nulls(columns: list[pa.Array], null: str) -> list[pa.Array]:
    """Return columns, texts first, without the rows whose text is null, or with empty texts in place of nulls."""
    texts = columns[0]
    if null == "skip":
        kept = texts.is_valid()
        return [column.filter(kept) for column in columns]
    kind = _plain_type(texts.type)
    empty: Any = [] if is_list(kind) else ""
    kind = pa.large_string() if pa.types.is_null(kind) else kind
    return [pa.array([empty if text is None else text for text in values(texts)], kind), *columns[1:]]
