"""Bytes to lines, and lines to columns, one block at a time; Python objects are made of lines only to locate faults."""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.json

from ..errors import CorpusError
from ..storage import ByteReader
from . import columns
from .columns import Null, from_arrow, from_python, strings, too_long, without_nulls

# Letters with a zero byte each: UTF-16, though it is valid UTF-8 too. At the beginning a few are enough.
_WIDE = re.compile(rb"\A\0?(?:[ -~]\0){4}|(?:[\t\n\r -~]\0){16}")
_MOST_SCHEMAS = 16  # types of columns that are tried, before Python's json reads the rest


class Lines(NamedTuple):
    r"""Whole lines of UTF-8: each ends with ``\n``, also a file's last."""

    data: bytes
    ends: npt.NDArray[np.int64]  # where the newlines are
    first: int  # number of the first line, from 1


def whole_lines(reader: ByteReader, encoding: str, size: int) -> Iterator[Lines]:
    """Yield whole lines of checked UTF-8, about `size` bytes at a time; a longer line is kept, up to `LONGEST`."""
    first = 1
    pieces: list[bytes] = []  # of an unfinished line, joined once: a long line must not take quadratic time
    waiting = 0  # the bytes of these
    for data in _utf8(reader, encoding, size):
        end = data.rfind(b"\n") + 1
        if end:
            lines = _lines(b"".join([*pieces, memoryview(data)[:end]]), first, reader.where)
            yield lines
            first += len(lines.ends)
            pieces, waiting = [], 0
        pieces.append(data[end:])
        waiting += len(data) - end
        if waiting > columns.LONGEST:
            raise too_long(f"{reader.where}, line {first}")
    if last := b"".join(pieces):
        yield _lines(last + b"\n", first, reader.where)


def _lines(data: bytes, first: int, where: str) -> Lines:
    _check_utf8(data, first, where)
    return Lines(data, np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")), first)


def whole_rows(reader: ByteReader, encoding: str, size: int, delimiter: str) -> Iterator[bytes]:
    """Yield whole rows of CSV in checked UTF-8, as :func:`whole_lines` does; newlines in quotation marks end no row."""
    pieces: list[bytes] = []
    line, waiting, tried = 1, 0, 0
    for data in _utf8(reader, encoding, size):
        pieces.append(data)
        waiting += len(data)
        if waiting < 2 * tried and waiting <= columns.LONGEST:  # searching each time would take quadratic time
            continue
        data = b"".join(pieces)
        end = _end_of_rows(data, delimiter.encode())
        if end:
            rows = data[:end]
            _check_utf8(rows, line, reader.where)
            yield rows
            line += rows.count(b"\n")
        pieces = [data[end:]]
        waiting = tried = len(data) - end
        if waiting > columns.LONGEST:
            raise too_long(f"{reader.where}, the row at line {line}", "; perhaps a quotation mark is never closed")
    if last := b"".join(pieces):
        _check_utf8(last, line, reader.where)
        yield last


def _end_of_rows(data: bytes, delimiter: bytes) -> int:
    """Return where the last whole row ends: after the last newline outside quoted fields."""
    marks = _quotation_marks(data, delimiter) if b'"' in data else np.empty(0, np.int64)
    end = len(data)
    while True:
        end = max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, min(end, len(data) - 1)))
        before = int(np.searchsorted(marks, end))
        if end < 0 or before % 2 == 0:
            return end + 1
        end = int(marks[before - 1])


def _quotation_marks(data: bytes, delimiter: bytes) -> npt.NDArray[np.int64]:
    """Return where quoted fields begin and end, alternately; at a doubled mark one ends and one begins."""
    codes = np.frombuffer(data, np.uint8)
    marks = np.flatnonzero(codes == ord('"'))
    begins = marks[::2]
    before = codes[begins - 1]
    known = np.isin(before, np.frombuffer(b'"\r\n' + delimiter, np.uint8)) | (begins == 0)
    if known.all():
        return marks
    # Some marks are ordinary characters: in a field that does not begin with one, or after it was closed.
    quoted = re.compile(rb'(?:\A|(?<=[%b\r\n]))"(?:[^"]++|"")*+(?:(")|\Z)' % re.escape(delimiter))
    spans = [place for field in quoted.finditer(data) for place in (field.start(), field.end() - bool(field[1]))]
    return np.array(spans, np.int64)


def whole_text(reader: ByteReader, encoding: str) -> bytes:
    """Return a whole file as one text in checked UTF-8."""
    pieces: list[bytes] = []
    waiting = 0
    for data in _utf8(reader, encoding, 1 << 20):
        pieces.append(data)
        waiting += len(data)
        if waiting > columns.LONGEST:
            raise too_long(reader.where)
    text = b"".join(pieces)
    _check_utf8(text, 1, reader.where)
    return text


def _utf8(reader: ByteReader, encoding: str, size: int) -> Iterator[bytes]:
    """Yield the bytes of the reader as UTF-8: unchecked, if that is their encoding already."""
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        first = reader.read(max(size, 64))
        if wide := _WIDE.search(first, 0, 4096):
            order = "be" if first[wide.start()] == 0 or wide.start() % 2 else "le"
            raise CorpusError(
                f"{reader.where}: these bytes are UTF-16 without a byte order mark, not {encoding}; use "
                f'encoding="utf-16-{order}"'
            )
        yield first.removeprefix(codecs.BOM_UTF8)
        while data := reader.read(size):
            yield data
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    while True:
        data = reader.read(size)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeError as error:
            if isinstance(error, UnicodeDecodeError) and "BOM" not in error.reason:
                line += error.object[: error.start].decode(encoding, "ignore").count("\n")
                raise _undecodable(error, f"{reader.where}, line {line}", encoding) from None
            # "utf-16" and "utf-32" need a byte order mark; only since Python 3.13 is it an error of decoding.
            raise CorpusError(
                f"{reader.where}: not {encoding} ({getattr(error, 'reason', error)}); give the byte order too, as in "
                'encoding="utf-16-le" or "utf-16-be"'
            ) from None
        line += text.count("\n")
        yield text.encode("utf-8", "replace")
        if not data:
            return


def _check_utf8(data: bytes, line: int, where: str) -> None:
    # Arrow checks the bytes several times faster than Python decodes them.
    whole = pa.py_buffer(np.array([0, len(data)], np.int64))
    try:
        pa.LargeStringArray.from_buffers(1, whole, pa.py_buffer(data)).validate(full=True)
    except pa.ArrowInvalid:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line += data.count(b"\n", 0, error.start)
            byte = error.start - data.rfind(b"\n", 0, error.start)  # counted in the line, from 1
            raise _undecodable(error, f"{where}, line {line}, byte {byte}", "utf-8") from None
        raise


def _undecodable(error: UnicodeDecodeError, place: str, encoding: str) -> CorpusError:
    data = error.object
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        likely = "utf-16"
    elif any(0x80 <= byte < 0xA0 for byte in data[error.start : error.start + 4096]):
        likely = "cp1252"  # latin-1 has only control characters here, Windows has quotation marks
    else:
        likely = "latin-1"
    return CorpusError(
        f"{place}: 0x{data[error.start]:02x} is not {encoding} ({error.reason}); "
        f'name its encoding, perhaps encoding="{likely}"'
    )


def check_encoding(encoding: str) -> None:
    """Raise a `CorpusError` unless Python knows this text encoding."""
    try:
        b"x".decode(encoding, "ignore")
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        raise CorpusError(f'"{encoding}" is not a text encoding; try "utf-8" or "latin-1"') from None


def split_lines(lines: Lines) -> pa.Array:
    """Turn lines into an array of texts."""
    data, ends, _ = lines
    if b"\r" in data:  # much faster to search for than both
        data = data.replace(b"\r\n", b"\n")
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    offsets = np.zeros(len(ends) + 1, np.int64)
    np.subtract(ends, np.arange(len(ends)), out=offsets[1:])  # less the newlines before, which are removed
    text = data.replace(b"\n", b"")
    return pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text))


class JsonLines:
    r"""Parse blocks of lines with Arrow; what it refuses is parsed by Python's json, which locates faults.

    Labels and ids become strings, as in CSV, so that their type is the same in every block. The columns are the key of
    the document, then those of the label and id, if requested.

    Examples
    --------
    >>> parse = JsonLines(["text", "label"], "x.jsonl")
    >>> line = b'{"text": "a", "label": 1}\n'
    >>> [column.to_pylist() for column in parse(Lines(line, np.array([len(line) - 1]), 1))]
    [['a'], ['1']]
    """

    def __init__(self, columns: Sequence[str], where: str, null: Null = "error") -> None:
        self.columns = columns
        self.where, self.null = where, null
        # Arrow reads numbers only where the schema has them. The schema that fitted last is tried first.
        texts = [pa.large_string(), pa.list_(pa.large_string())]
        kinds = [texts, *[[pa.large_string(), pa.int64()] for _ in columns[1:]]]
        products = itertools.islice(itertools.product(*kinds), _MOST_SCHEMAS)
        self.schemas = [pa.schema(list(zip(columns, types, strict=True))) for types in products]

    def __call__(self, lines: Lines) -> list[pa.Array]:
        """Return the columns of some whole lines."""
        for schema in self.schemas:
            columns = self._by_arrow(lines, schema)
            if columns is not None:
                self.schemas.remove(schema)
                self.schemas.insert(0, schema)
                return columns
        return self._by_python(lines)

    def _by_arrow(self, lines: Lines, schema: pa.Schema) -> list[pa.Array] | None:
        one_block = pa.json.ReadOptions(block_size=min(len(lines.data) + 1, 2**31 - 1), use_threads=False)
        options = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        try:
            table = pa.json.read_json(pa.BufferReader(lines.data), one_block, options)
            texts, *others = [table.column(name).combine_chunks() for name in self.columns]
            n_rows = len(texts)
            texts, *others = without_nulls([texts, *others], self.null)
            columns = [from_arrow(texts, 0), *[column.cast(pa.large_string()) for column in others]]
        except (pa.ArrowException, CorpusError):
            return None
        # Arrow lets an object span lines, and a line hold two; the result would then depend on the blocks.
        if n_rows != len(lines.ends) and n_rows != sum(map(bool, map(bytes.strip, lines.data.split(b"\n")))):
            return None
        return columns

    def _by_python(self, lines: Lines) -> list[pa.Array]:
        text, *others = self.columns
        documents: list[Any] = []
        values: list[list[str | None]] = [[] for _ in others]
        for number, record in json_objects(lines, self.where):
            place = f"{self.where}, line {number}"
            if self.null != "error" and record.get(text) is None:
                if self.null == "skip":
                    continue
                record = {**record, text: [] if documents and isinstance(documents[0], list) else ""}
            document = _json_document(record, text, place)
            if documents and isinstance(document, list) != isinstance(documents[0], list):
                raise CorpusError(f"{place}: texts and lists of tokens are mixed; make them all one kind")
            documents.append(document)
            for name, column in zip(others, values, strict=True):
                column.append(_json_label(record.get(name), name, place))
        return [from_python(documents, 0), *map(strings, values)]


def json_objects(lines: Lines, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) with Python's json, which is slow but locates faults exactly."""
    for number, row in enumerate(lines.data.split(b"\n"), lines.first):
        if not row.strip():
            continue
        try:
            record = json.loads(row.decode("utf-8"))
        except json.JSONDecodeError as error:
            raise CorpusError(f"{where}, line {number}: not JSON ({error.msg}, column {error.colno})") from None
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where}, line {number}: JSON that cannot be read ({error})") from None
        if not isinstance(record, dict):
            raise CorpusError(
                f'{where}, line {number}: {_json_kind(record)}; every line must be an object, as in {{"text": "..."}}'
            )
        yield number, record


def json_items(text: bytes, where: str) -> Lines:
    """Return the items of an array, one per line; a text stands for an object with that text."""
    try:
        items = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where}: not JSON ({error}); one object per line is the format jsonl") from None
    if not isinstance(items, list):
        raise CorpusError(f"{where}: {_json_kind(items)}; an array of objects or of texts is needed")
    rows = [json.dumps({"text": item} if isinstance(item, str) else item).encode() + b"\n" for item in items]
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int64)[1:] - 1
    return Lines(b"".join(rows), ends, 1)


def _json_document(record: dict[str, Any], name: str, place: str) -> str | list[str]:
    if name not in record:
        keys = ", ".join(f'"{key}"' for key in record) or "none"
        raise CorpusError(f'{place}: there is no "{name}"; the keys are {keys}')
    document = record[name]
    if isinstance(document, str):
        return document
    if not isinstance(document, list):
        raise CorpusError(
            f'{place}: "{name}" is {_json_kind(document)}; it must be a string, or a list of tokens (strings)'
        )
    for token in document:
        if not isinstance(token, str):
            raise CorpusError(f'{place}: "{name}" has {_json_kind(token)} among its tokens; all must be strings')
    return document


def _json_label(value: Any, name: str, place: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return json.dumps(value)
    raise CorpusError(f'{place}: "{name}" is {_json_kind(value)}; it must be a string or a number')


def _json_kind(value: Any) -> str:
    kinds = {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value)) or json.dumps(value)  # true, false or null
