"""The text of files, piece by piece: decoding, and division into lines, rows of CSV and JSON objects."""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from ..errors import CorpusError
from . import plain
from .plain import Null, too_long, without_surrogates
from .unpacking import ByteReader

PIECE = 1 << 20  # most bytes that are decoded at a time
# Letters each followed or preceded by a zero byte are taken for UTF-16, although they are valid UTF-8 too. At the
# beginning of a file a few are enough.
_WIDE = re.compile(rb"\A\0?(?:[ -~]\0){4}|(?:[\t\n\r -~]\0){16}")


def decoded(reader: ByteReader, encoding: str, size: int = PIECE) -> Iterator[str]:
    """Yield the text of a file, decoded in pieces of at most `size` bytes."""
    utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    decoder = codecs.getincrementaldecoder("utf-8" if utf8 else encoding)()
    size, line, column = min(size, PIECE), 1, 0  # the bytes before this piece that belong to its first line
    data = reader.read(max(size, 64))
    if utf8:
        _check_not_wide(data, reader.where, encoding)
        data = data.removeprefix(codecs.BOM_UTF8)
    while True:
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            if "BOM" in error.reason:
                raise _without_order(error.reason, reader.where, encoding) from None
            before = error.object[: error.start]
            if not utf8:
                line += before.decode(encoding, "ignore").count("\n")
                raise _undecodable(error, f"{reader.where}, line {line}", encoding) from None
            line += before.count(b"\n")
            held = len(error.object) - len(data)  # bytes of a letter that the piece before began
            byte = error.start - before.rfind(b"\n") + (0 if b"\n" in before else column - held)
            raise _undecodable(error, f"{reader.where}, line {line}, byte {byte}", encoding) from None
        except UnicodeError as error:  # before Python 3.13, raised for a missing byte order mark
            raise _without_order(str(error), reader.where, encoding) from None
        if text:
            yield text if utf8 else without_surrogates(text)
        if not data:
            return
        column = len(data) - 1 - data.rfind(b"\n") if b"\n" in data else column + len(data)
        line += data.count(b"\n") if utf8 else text.count("\n")
        data = reader.read(size)


def _check_not_wide(data: bytes, where: str, encoding: str) -> None:
    if wide := _WIDE.search(data, 0, 4096):
        order = "be" if data[wide.start()] == 0 or wide.start() % 2 else "le"
        raise CorpusError(
            f'{where}: these bytes are UTF-16 without a byte order mark, not {encoding}; use encoding="utf-16-{order}"'
        )


def _without_order(reason: str, where: str, encoding: str) -> CorpusError:
    return CorpusError(
        f'{where}: not {encoding} ({reason}); give the byte order too, as in encoding="utf-16-le" or "utf-16-be"'
    )


def _undecodable(error: UnicodeDecodeError, place: str, encoding: str) -> CorpusError:
    data = error.object
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        likely = "utf-16"
    elif any(0x80 <= byte < 0xA0 for byte in data[error.start : error.start + 4096]):
        likely = "cp1252"  # latin-1 has only control characters here, Windows has quotation marks
    else:
        likely = "latin-1"
    return CorpusError(
        f"{place}: 0x{data[error.start]:02x} is not {encoding} ({error.reason}); name its encoding, perhaps {likely}"
    )


def check_encoding(encoding: str) -> None:
    """Raise a `CorpusError` unless Python knows this text encoding."""
    try:
        b"x".decode(encoding, "ignore")
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        raise CorpusError(f'"{encoding}" is not a text encoding; try "utf-8" or "latin-1"') from None


def whole_text(reader: ByteReader, encoding: str) -> str:
    """Return a whole file as one text."""
    pieces: list[str] = []
    waiting = 0
    for text in decoded(reader, encoding):
        pieces.append(text)
        waiting += len(text)
        if waiting > plain.LONGEST:
            raise too_long(reader.where)
    return "".join(pieces)


def whole_lines(reader: ByteReader, encoding: str, size: int) -> Iterator[tuple[int, list[str]]]:
    r"""Yield lines, some at a time, with the number of the first, from 1; they end with ``\n`` or ``\r\n``."""
    number, waiting = 1, 0
    pieces: list[str] = []  # of an unfinished line, joined once: a long line must not take quadratic time
    for text in decoded(reader, encoding, size):
        head, newline, tail = text.rpartition("\n")
        if newline:
            lines = _split("".join([*pieces, head]))
            yield number, lines
            number += len(lines)
            pieces, waiting = [], 0
        pieces.append(tail)
        waiting += len(tail)
        if waiting > plain.LONGEST:
            raise too_long(f"{reader.where}, line {number}")
    if last := "".join(pieces):
        yield number, _split(last)


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


# ------------------------------------------------------------------------------------------- CSV


def csv_rows(reader: ByteReader, encoding: str, size: int, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the number of its first line, from 1."""
    # The field limit of Python's csv, 128 KiB, is global to the process.
    csv.field_size_limit(max(csv.field_size_limit(), plain.LONGEST))
    held: list[str] = []  # the lines of a row
    begin, waiting = 1, 0

    def lines() -> Iterator[str]:
        nonlocal waiting
        for line in _lines_with_ends(reader, encoding, size):
            held.append(line)
            waiting += len(line)
            if waiting > plain.LONGEST:
                raise too_long(f"{reader.where}, the row at line {begin}", "; perhaps a quotation mark is never closed")
            yield line

    rows = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise _quotation_error(error, "".join(held), delimiter, begin, reader.where) from None
        if row is None:
            return
        if row:
            yield begin, row
        held.clear()
        begin, waiting = rows.line_num + 1, 0


def _lines_with_ends(reader: ByteReader, encoding: str, size: int) -> Iterator[str]:
    r"""Yield lines with their ends, ``\n``, ``\r\n`` or ``\r``; a line longer than a document is yielded in pieces."""
    pieces: list[str] = []
    waiting = 0
    for text in decoded(reader, encoding, size):
        pieces.append(text)
        waiting += len(text)
        if "\n" in text or "\r" in text or waiting > plain.LONGEST:
            lines = list(io.StringIO("".join(pieces), newline=""))
            # A "\n" may follow "\r".
            pieces = [] if lines[-1].endswith("\n") or waiting > plain.LONGEST else [lines.pop()]
            waiting = sum(map(len, pieces))
            yield from lines
    yield from io.StringIO("".join(pieces), newline="")


def _quotation_error(error: csv.Error, text: str, delimiter: str, line: int, where: str) -> CorpusError:
    """Return the error for a quoted field that is never closed, or is followed by more text."""
    quoted = re.compile(rf'(?:\A|(?<=[{re.escape(delimiter)}\r\n]))"(?:[^"]++|"")*+("?)')
    for field in quoted.finditer(text):
        rest = text[field.end() : field.end() + 1]
        if field[1] and rest in ("", "\r", "\n", delimiter):
            continue
        what = "text follows where it is closed" if field[1] else "it is never closed"
        return CorpusError(
            f"{where}, line {line + text.count(chr(10), 0, field.start())}: a text begins with a quotation mark, but "
            f"{what}; marks within a text that is in quotation marks must be doubled"
        )
    return CorpusError(f"{where}, line {line}: not CSV ({error})")


# ------------------------------------------------------------------------------------------ JSON


def json_objects(lines: list[str], first: int, where: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) for the lines that are not blank."""
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            record = _json_value(line, f"{where}, line {number}")
        if not isinstance(record, dict):
            raise CorpusError(
                f'{where}, line {number}: {_json_kind(record)}; every line must be an object, as in {{"text": "..."}}'
            )
        yield number, record


def _json_value(text: str, place: str) -> Any:
    """Parse JSON by Python's json, which accepts lone surrogates and NaN, and whose messages locate faults."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{place}: not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{place}: JSON that cannot be read ({error})") from None


def json_items(text: str, where: str) -> list[dict[str, Any]]:
    """Return the items of an array as objects; a text becomes an object with that text."""
    try:
        items = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            items = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CorpusError(f"{where}: not JSON ({error}); one object per line is the format jsonl") from None
    if not isinstance(items, list):
        raise CorpusError(f"{where}: {_json_kind(items)}; an array of objects or of texts is needed")
    for number, item in enumerate(items, 1):
        if isinstance(item, str):
            items[number - 1] = {"text": item}
        elif not isinstance(item, dict):
            raise CorpusError(f"{where}, item {number}: {_json_kind(item)}; it must be an object or a text")
    return items


def json_columns(
    records: Iterable[tuple[int, dict[str, Any]]],
    text: str,
    others: list[str],
    label: str | None,
    null: Null,
    where: str,
) -> list[list[Any]]:
    """Return the documents of numbered objects, and other columns: labels as strings, other values unchanged."""
    documents: list[Any] = []
    columns: list[list[Any]] = [[] for _ in others]
    for number, record in records:
        document = record.get(text)
        if document is None and null != "error":
            if null == "skip":
                continue
            document = [] if documents and isinstance(documents[0], list) else ""
        if not isinstance(document, str):
            document = _json_document(document, record, text, f"{where} {number}")
        if documents and type(document) is not type(documents[0]):
            raise CorpusError(f"{where} {number}: texts and lists of tokens are mixed; make them all one kind")
        documents.append(document)
        for name, column in zip(others, columns, strict=True):
            value = record.get(name)
            if not (type(value) is str and value.isascii()):
                value = _json_label(value, name, f"{where} {number}", spelled=name == label)
            column.append(value)
    return [documents, *columns]


def _json_document(document: Any, record: dict[str, Any], name: str, place: str) -> list[str]:
    if document is None and name not in record:
        keys = ", ".join(f'"{key}"' for key in record) or "none"
        raise CorpusError(f'{place}: there is no "{name}"; the keys are {keys}')
    if not isinstance(document, list):
        raise CorpusError(
            f'{place}: "{name}" is {_json_kind(document)}; it must be a string, or a list of tokens (strings)'
        )
    for token in document:
        if not isinstance(token, str):
            raise CorpusError(f'{place}: "{name}" has {_json_kind(token)} among its tokens; all must be strings')
    return document


def _json_label(value: Any, name: str, place: str, *, spelled: bool) -> str | float | None:
    if value is None:
        return None
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, (int, float)):
        return json.dumps(value) if spelled else value
    raise CorpusError(f'{place}: "{name}" is {_json_kind(value)}; it must be a string or a number')


def _json_kind(value: Any) -> str:
    kinds = {str: "a string", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return kinds.get(type(value)) or json.dumps(value)  # true, false or null
