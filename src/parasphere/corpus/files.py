"""Documents on disk: text, JSON lines, CSV, Parquet, compressed or not, folders, pipes, and standard input.

Every reader is a generator of rows that holds about a block in memory. To add a format, write such a function and add
a row to `FORMATS`.
"""

import csv
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import Any

import orjson

from ..errors import CorpusError, ParasphereWarning, import_extra, warn_user
from ..storage import replacing
from . import block
from .block import Request, Rows
from .decoding import PACKINGS, ByteReader, check_encoding, csv_rows, numbered_lines, packing_of, whole_text
from .texts import describe, sound_values

SLICE = 1 << 13  # rows of a table that are passed on at a time


def read(request: Request, format: str | None) -> tuple[Request, Iterator[Rows]]:
    """Read the documents of a file or folder; None is the format of the extension.

    A folder always has labels and ids, and the request is returned with their columns.
    """
    check_encoding(request.encoding, request.where)
    if (path := request.path) is not None:
        mode = mode_of(path)
        if stat.S_ISDIR(mode):
            request = replace(request, label=request.label or "label", id=request.id or "id")
            return request, _sound(_folder(request), request.where)
        suffix = (path.with_suffix("") if packing_of(path) else path).suffix.lower()
        if format is None and (suffix[1:] in FORMATS or (packing_of(path) and not suffix)):
            format = suffix[1:] or "txt"
        elif format is None and stat.S_ISREG(mode):
            known = ", ".join(f".{name}" for name in FORMATS)
            raise CorpusError(
                f'{path}: the extension "{suffix}" is not known; known are {known}, each also with '
                f"{', '.join(PACKINGS)} after it, and folders of text files; or name the format, as in format='txt'"
            )
    format = format or "txt"  # a pipe, as made by <(command), has no extension
    if format not in FORMATS:
        raise CorpusError(f'the format "{format}" is not known; known are {", ".join(FORMATS)}')
    return request, _sound(FORMATS[format](request), request.where)


def mode_of(path: Path) -> int:
    """Return the mode of a file or folder; raise if there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        raise CorpusError(f"{path}: there is no such file or folder") from None
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error})") from None


def _sound(rows: Iterator[Rows], where: str) -> Iterator[Rows]:
    """Yield the rows; errors of the system are raised as a CorpusError, and a file without documents is named."""
    empty = True
    try:
        for part in rows:
            empty = empty and not part.columns[0]
            yield part
    except CorpusError:
        raise
    except (OSError, MemoryError, OverflowError, RecursionError, UnicodeError) as error:
        raise CorpusError(f"{where}: cannot be read ({error or type(error).__name__})") from error
    if empty:
        warn_user(f"{where}: there are no documents in it", ParasphereWarning)


def _text(request: Request) -> Iterator[Rows]:
    r"""Read one document per line; lines end with ``\n`` or ``\r\n``."""
    request.without_columns("lines of text have no columns")
    with ByteReader(request.path, request.where) as reader:
        for _, lines in numbered_lines(reader, request.encoding):
            yield Rows([lines], reader.consumed)


# ------------------------------------------------------------------------------------------ JSON


def _json_lines(request: Request) -> Iterator[Rows]:
    """Read one JSON object per line; blank lines are skipped."""
    with ByteReader(request.path, request.where) as reader:
        columns: list[str] = []
        for first, lines in numbered_lines(reader, request.encoding):
            numbers = [number for number, line in enumerate(lines, first) if line and not line.isspace()]
            records = [_parsed(lines[number - first], request.where, number) for number in numbers]
            if records:
                request = request if columns else request.among(_keys(records[0], request.where, "line", numbers[0]))
                columns = request.columns
                yield _rows_of(records, request, "line", numbers, reader.consumed)


def _json_array(request: Request) -> Iterator[Rows]:
    """Read an array of objects or of texts, which is held in memory."""
    with ByteReader(request.path, request.where) as reader:
        records, consumed = _parsed(whole_text(reader, request.encoding), request.where), reader.consumed
    if not isinstance(records, list):
        raise CorpusError(f"{request.where}: it is {describe(records)}; an array of objects or of texts is needed")
    records = [{"text": record} if isinstance(record, str) else record for record in records]
    if records:
        request = request.among(_keys(records[0], request.where, "item", 1))
    for at in range(0, len(records), SLICE):
        yield _rows_of(records[at : at + SLICE], request, "item", range(at + 1, len(records) + 1), consumed)


def _parsed(text: str, where: str, line: int | None = None) -> Any:
    """Parse JSON; Python's json accepts lone surrogates and NaN, and its messages locate faults."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    place = where if line is None else f"{where}, line {line}"
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if line is None:
            raise CorpusError(f"{place}: not JSON ({error}); one object per line is the format jsonl") from None
        raise CorpusError(f"{place}: not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{place}: JSON that cannot be read ({error})") from None


def _keys(record: Any, where: str, unit: str, number: int) -> list[str]:
    """Return the keys of a record, which must be an object."""
    if not isinstance(record, dict):
        raise CorpusError(
            f"{where}, {unit} {number}: it is {describe(record)}; every {unit} must be an object, as in "
            '{"text": "..."}'
        )
    return list(record)


def _rows_of(records: list[Any], request: Request, unit: str, numbers: Sequence[int], consumed: int) -> Rows:
    """Return the columns of objects: labels as strings, other values unchanged."""
    where, n_texts = request.where, len(request.text)
    try:
        columns = [[record.get(name) for record in records] for name in request.columns]
    except AttributeError:
        for record, number in zip(records, numbers, strict=False):
            _keys(record, where, unit, number)
        raise
    if None in columns[0]:
        for record, number in zip(records, numbers, strict=False):
            if not any(name in record for name in request.text):
                names = " or ".join(f'"{name}"' for name in request.text)
                keys = ", ".join(f'"{key}"' for key in record) or "none"
                raise CorpusError(f"{where}, {unit} {number}: there is no {names}; the keys are {keys}")
    for name, column in zip(request.columns[n_texts:], columns[n_texts:], strict=True):
        if others := set(map(type, column)) - {str, int, float, bool, type(None)}:
            row = next(row for row, value in enumerate(column) if type(value) in others)
            raise CorpusError(
                f'{where}, {unit} {numbers[row]}: "{name}" is {describe(column[row])}; it must be a string or a number'
            )
    if request.label is not None:
        labels = columns[n_texts]
        columns[n_texts] = [v if isinstance(v, str) or v is None else json.dumps(v) for v in labels]
    return Rows(list(map(sound_values, columns)), consumed, lambda row: f"{where}, {unit} {numbers[row]}: the text")


# ------------------------------------------------------------------------------- CSV and Parquet


def _csv(request: Request, delimiter: str = ",") -> Iterator[Rows]:
    """Read a table whose first row names its columns; every cell is text, and an empty one is empty text."""
    with ByteReader(request.path, request.where) as reader:
        rows = csv_rows(reader, request.encoding, delimiter)
        _, names = next(rows, (0, None))
        if names is None:
            return
        if len(names) == 1 and request.text == ("text",) != (names[0],) and not names[0].isidentifier():
            raise CorpusError(
                f'{request.where} has no column "text": the first row must name the columns, and names one, '
                f'"{names[0]}"; if that is a name, pass it as the column of texts; several are divided by {delimiter!r}'
            )
        at = [names.index(name) for name in request.among(names).columns]
        some: list[list[str]] = []
        size = 0
        for line, row in rows:
            if len(row) != len(names):
                raise CorpusError(
                    f"{request.where}, line {line}: the row has {len(row)} fields for {len(names)} names; "
                    "a text that contains a comma, tab or newline must be in quotation marks"
                )
            some.append(row)
            size += len(row[at[0]])
            if size >= block.BYTES or len(some) == SLICE:
                yield Rows([[row[i] for row in some] for i in at], reader.consumed)
                some, size = [], 0
        yield Rows([[row[i] for row in some] for i in at], reader.consumed)


def _parquet(request: Request) -> Iterator[Rows]:
    """Read Parquet; what is not a plain file is copied to one."""
    import_extra("pyarrow", "arrow", f"Reading {request.where}")
    from .arrow import read_parquet

    path = request.path
    if path is not None and path.is_file() and not packing_of(path):
        yield from read_parquet(path, path.stat().st_size, request)
        return
    with ByteReader(path, request.where) as reader, TemporaryFile() as copy:
        shutil.copyfileobj(reader, copy)
        yield from read_parquet(copy, reader.consumed, request)


# --------------------------------------------------------------------------------------- folders


def _folder(request: Request) -> Iterator[Rows]:
    """Read one document per file, in the order of their names; hidden files and folders are skipped.

    The id is the path within the folder. The label is the name of the folder that the file is in, as in scikit-learn's
    `load_files`, and null for files at the top.
    """
    root, consumed = request.path, 0
    assert root is not None
    request.among(["text", "label", "id"])
    names = _files_below(root)
    tables = [name for name in names if {".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"} & set(Path(name).suffixes)]
    if tables:
        warn_user(
            f"{root}: a folder is read as one text per file, but {tables[0]} is a table; pass its own path to read "
            "its rows",
            ParasphereWarning,
        )
    for name in names:
        with ByteReader(root / name, str(root / name)) as reader:
            text = whole_text(reader, request.encoding)
            consumed += reader.consumed
        row = {"text": text, "label": PurePosixPath(name).parent.name or None, "id": name}
        yield Rows([sound_values([row[column]]) for column in request.columns], consumed)


def _files_below(root: Path) -> list[str]:
    def refuse(error: OSError) -> None:  # rather than skip a folder silently
        raise CorpusError(f"{error.filename}: cannot be read ({error.strerror})")

    plain_files: list[str] = []
    others: list[str] = []
    for folder, folders, files in os.walk(root, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        linked = [name for name in folders if Path(folder, name).is_symlink()]  # os.walk does not follow them
        for name in (*files, *linked):
            if not name.startswith("."):
                path = Path(folder, name)
                (plain_files if path.is_file() else others).append(path.relative_to(root).as_posix())
    if others:
        warn_user(
            f"{root}: skipped entries that are not files (pipes, devices, links to folders or to nothing): "
            f"{', '.join(sorted(others)[:10])}{', ...' if len(others) > 10 else ''}",
            ParasphereWarning,
        )
    return sorted(plain_files)


FORMATS: dict[str, Callable[[Request], Iterator[Rows]]] = {
    "txt": _text,
    "jsonl": _json_lines,
    "ndjson": _json_lines,
    "json": _json_array,
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
    "parquet": _parquet,
}


# --------------------------------------------------------------------------------------- copying


def copy_documents(source: Path, target: Path, kept: Sequence[bool], *, encoding: str = "utf-8") -> None:
    """Write selected documents of a file to another one of the same format, each with all of its columns.

    Parameters
    ----------
    source : path
        .txt, .jsonl, .ndjson, .csv or .tsv, perhaps compressed.
    target : path
        A file of the same format, not compressed; it is created only when it is complete.
    kept : (n_docs,) sequence of bool
        Which documents are written.
    encoding : str, default="utf-8"
        Encoding of the source; the target is UTF-8.
    """
    suffix = (source.with_suffix("") if packing_of(source) else source).suffix.lower()
    delimiter = {".csv": ",", ".tsv": "\t"}.get(suffix)
    if suffix not in {".txt", ".jsonl", ".ndjson"} and delimiter is None:
        raise CorpusError(f"{source}: only documents of .txt, .jsonl, .csv and .tsv are copied; copy others in Python")
    if target.suffix.lower() != suffix:
        raise CorpusError(f"{target}: its name must end in {suffix}, as its documents are copied from {source}")
    with (
        ByteReader(source, str(source)) as reader,
        replacing(target) as part,
        part.open("w", encoding="utf-8", newline="") as out,
    ):
        if delimiter is not None:
            rows = (row for _, row in csv_rows(reader, encoding, delimiter))
            writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
            writer.writerows(islice(rows, 1))
            writer.writerows(_chosen(rows, kept, source))
        else:
            lines = chain.from_iterable(lines for _, lines in numbered_lines(reader, encoding))
            documents = lines if suffix == ".txt" else (line for line in lines if line.strip())
            out.writelines(f"{line}\n" for line in _chosen(documents, kept, source))


def _chosen(documents: Iterator[Any], kept: Sequence[bool], source: Path) -> Iterator[Any]:
    """Yield the documents to keep; there must be as many as there were."""
    count = 0
    for document, keep in zip(documents, kept, strict=False):
        count += 1
        if keep:
            yield document
    if count < len(kept) or next(documents, None) is not None:
        raise CorpusError(f"{source}: the file has changed while it was read")
