"""Documents on disk: text, JSON lines, CSV, Parquet, compressed or not, folders, pipes, and standard input.

Every reader is a generator of parts that holds about one block in memory. A new format is one more function and one
more row in `FORMATS`.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from ..errors import CorpusError, ParasphereWarning
from ..storage import PACKINGS, ByteReader
from .columns import (
    LONGEST,
    SLICE,
    Null,
    Part,
    bundled,
    choose_column,
    foldings,
    from_arrow,
    is_list,
    longest_entry,
    plain,
    strings,
    without_nulls,
)
from .lines import JsonLines, check_encoding, json_items, json_objects, split_lines, whole_lines, whole_rows, whole_text

_BLANK = re.compile(rb"[\r\n]*")


class SkippedFilesWarning(ParasphereWarning):
    """Something in a folder of documents is not a file, and was skipped."""


@dataclass(frozen=True)
class Request:
    """What to read, and how: the same for every format."""

    path: Path | None  # None is standard input
    text: str
    label: str | None
    id: str | None
    encoding: str
    block_bytes: int
    packing: str | None = None  # how it is compressed, if it is
    null: Null = "error"
    carry: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """How messages name it."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def columns(self) -> list[str]:
        """The requested columns, in the order text, label, id, others."""
        return [name for name in (self.text, self.label, self.id, *self.carry) if name is not None]

    def open(self) -> ByteReader:
        """Open the file, or standard input."""
        return ByteReader(self.path, self.where, self.packing)

    def choose(self, names: list[str]) -> Request:
        """Return the request with its columns checked against those of the file."""
        for name in filter(None, (self.label, self.id, *self.carry)):
            choose_column(names, name, self.where)
        return replace(self, text=choose_column(names, self.text, self.where))

    def part(self, columns: list[pa.Array], consumed: int) -> Part:
        """Make a part of columns in the order of `self.columns`; the first holds texts."""
        texts, *others = columns
        labels, ids = (None if name is None else plain(others.pop(0)) for name in (self.label, self.id))
        carried = dict(zip(self.carry, map(plain, others), strict=True))
        return Part(texts, labels, ids, consumed, bundled(carried))


def read(request: Request, format: str | None) -> Iterator[Part]:
    """Read the documents of a file or folder, part by part; a format of None goes by the extension."""
    check_encoding(request.encoding)
    path, request = request.path, replace(request, block_bytes=min(request.block_bytes, LONGEST // 2))
    if path is not None:
        mode = _mode(path)
        if stat.S_ISDIR(mode):
            return _sound(_folder(request), request.where)
        suffix = path.suffix.lower()
        if suffix in PACKINGS:
            request = replace(request, packing=PACKINGS[suffix])
            suffix = path.with_suffix("").suffix.lower()
        if format is None and suffix[1:] in FORMATS:
            format = suffix[1:]
        elif format is None and stat.S_ISREG(mode):
            known = ", ".join(f".{name}" for name in FORMATS)
            raise CorpusError(
                f'{path}: the extension "{suffix}" is not known; known are {known}, each also with '
                f"{', '.join(PACKINGS)} after it, and folders of text files; or name the format, as in format='txt'"
            )
    format = format or "txt"  # a pipe, as <(command) makes one, has no extension
    if format not in FORMATS:
        raise CorpusError(f'the format "{format}" is not known; known are {", ".join(FORMATS)}')
    return _sound(FORMATS[format](request), request.where)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        raise CorpusError(f"{path}: there is no such file or folder") from None
    except (OSError, ValueError) as error:
        raise CorpusError(f"{path}: cannot be opened ({getattr(error, 'strerror', None) or error})") from None


def _sound(parts: Iterator[Part], where: str) -> Iterator[Part]:
    """Yield the parts; errors of the system or of Arrow are raised as a CorpusError."""
    try:
        yield from parts
    except CorpusError:
        raise
    except (OSError, MemoryError, OverflowError, RecursionError, UnicodeError, pa.ArrowException) as error:
        raise CorpusError(f"{where}: cannot be read ({error or type(error).__name__})") from error


@contextmanager
def _on_disk(request: Request) -> Iterator[Path]:
    """Copy a source that cannot be sought to a temporary file."""
    if request.path is not None and request.packing is None and request.path.is_file():
        yield request.path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "documents"
        with request.open() as reader, copy.open("wb") as out:
            while data := reader.read(1 << 20):
                out.write(data)
        yield copy


def _text(request: Request) -> Iterator[Part]:
    r"""Read one document per line; lines end with ``\n`` or ``\r\n``."""
    if request.label is not None or request.id is not None or request.carry:
        raise CorpusError(
            f"{request.where}: lines of text have no columns, "
            "so label, id and carry cannot name one; pass the labels or ids themselves"
        )
    with request.open() as reader:
        for lines in whole_lines(reader, request.encoding, request.block_bytes):
            yield Part(split_lines(lines), None, None, reader.consumed)


def _json(request: Request) -> Iterator[Part]:
    """Read one JSON object per line; blank lines are skipped."""
    with request.open() as reader:
        parse: JsonLines | None = None
        for lines in whole_lines(reader, request.encoding, request.block_bytes):
            if parse is None and (first := next(json_objects(lines, request.where), None)):
                request = request.choose(list(first[1]))
                parse = JsonLines(request.columns, request.where, request.null)
            if parse is not None:
                yield request.part(parse(lines), reader.consumed)


def _json_array(request: Request) -> Iterator[Part]:
    """Read an array of objects, or of texts, which is held in memory; its items are told of as lines."""
    with request.open() as reader:
        text, consumed = whole_text(reader, request.encoding), reader.consumed
    rows = json_items(text, request.where)
    if not rows.ends.size:
        return
    _, first = next(json_objects(rows, request.where))
    request = request.choose(list(first))
    yield request.part(JsonLines(request.columns, request.where, request.null)(rows), consumed)


def _csv(request: Request, delimiter: str = ",") -> Iterator[Part]:
    """Read a table whose first row names its columns; every cell is text, and an empty one is empty text."""
    names: list[str] | None = None
    done = 0
    with request.open() as reader:
        for data in whole_rows(reader, request.encoding, request.block_bytes, delimiter):
            if _BLANK.fullmatch(data):
                continue
            fresh = names is None
            if names is None:
                names = _csv_header(data, request.where, delimiter)
                _check_only_column(names, request)
                request = request.choose(names)
            table = _csv_rows(data, request, delimiter, None if fresh else names, done)
            done += len(table)
            for batch in table.to_batches():  # one: all was parsed as one block
                yield request.part([batch.column(name) for name in request.columns], reader.consumed)


def _csv_header(data: bytes, where: str, delimiter: str) -> list[str]:
    try:
        rows = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), delimiter=delimiter)
        return next(row for row in rows if row)
    except csv.Error as error:
        raise CorpusError(f"{where}: the first row names no columns ({error})") from None


def _check_only_column(names: list[str], request: Request) -> None:
    """Raise if the name of the only column looks like a text, or like the names of several columns."""
    if len(names) == 1 and request.text != names[0] and not names[0].isidentifier():
        (name,) = names
        signs = [sign for sign in ";|\t," if sign in name]
        hint = (
            f"its columns seem to be separated by {signs[0]!r}"
            if signs
            else "if that is a name, give it as the column of texts"
        )
        raise CorpusError(
            f'{request.where} has no column "{request.text}": the first row must name the columns, and names one, '
            f'"{name}"; {hint}'
        )


def _csv_rows(data: bytes, request: Request, delimiter: str, names: list[str] | None, done: int) -> pa.Table:
    """Read whole rows; if `names` is None, the first row names the columns."""
    try:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            # Arrow tells the number of a bad row only without threads.
            read_options=pa.csv.ReadOptions(block_size=len(data) + 1, use_threads=False, column_names=names),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                include_columns=list(dict.fromkeys(request.columns)),
                column_types=dict.fromkeys(request.columns, pa.large_string()),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException as error:
        match = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", str(error))
        if match is None:
            raise CorpusError(f"{request.where}: {error}") from None
        row, expected, got = map(int, match.groups())
        row += 0 if names is None else done + 1
        raise CorpusError(
            f"{request.where}: row {row} (the names are row 1) has {got} fields for {expected} names; "
            "a text that contains a comma, tab or newline must be in quotation marks"
        ) from None


def _parquet(request: Request) -> Iterator[Part]:
    """Read Parquet, about a block of rows at a time."""
    with _on_disk(request) as path:
        size = (request.path or path).stat().st_size
        try:
            with pa.parquet.ParquetFile(path, memory_map=True) as file:
                request = request.choose(file.schema_arrow.names)
                done = 0
                for batch in _batches(path, file, request):
                    columns = [batch.column(name) for name in request.columns]
                    for first, count in foldings(columns, request.block_bytes, done, f"{request.where}: "):
                        some = [column.slice(first, count) for column in columns]
                        texts, *others = without_nulls(some, request.null)
                        texts = from_arrow(texts, done, f"{request.where}: ")
                        done += count
                        yield request.part([texts, *others], size * done // file.metadata.num_rows)
        except (pa.ArrowException, OSError, UnicodeError, KeyError) as error:
            raise CorpusError(f"{request.where}: not a sound Parquet file, perhaps truncated ({error})") from None


def _batches(path: Path, file: Any, request: Request) -> Iterator[pa.RecordBatch]:
    """Yield batches of about a block.

    A dictionary may hold one long text for a million rows. Row groups in which that is possible are read as
    dictionaries; that takes Arrow twice as long, and so is not done with others.
    """
    names = list(dict.fromkeys(request.columns))
    fields = [file.schema.column(i) for i in range(len(file.schema))]
    asked = [i for i, field in enumerate(fields) if any(f"{field.path}.".startswith(f"{name}.") for name in names)]
    leaves = [fields[i].path for i in asked if fields[i].physical_type == "BYTE_ARRAY"]
    if pa.types.is_struct(file.schema_arrow.field(request.text).type):
        leaves = []  # it will be refused, with the type that it has in the file
    with pa.parquet.ParquetFile(path, memory_map=True, read_dictionary=leaves) as folded:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            chunks = [group.column(i) for i in asked]
            size = max(sum(chunk.total_uncompressed_size for chunk in chunks), 1)
            rows = min(max(request.block_bytes * group.num_rows // size, 1), SLICE)
            source = file
            if any("DELTA" in encoding for chunk in chunks for encoding in chunk.encodings):
                # Arrow makes no dictionaries of these. A text may repeat the one before it, and so be as long as all.
                rows = min(rows, max(LONGEST // size, 1))
            elif _unfolds_to(folded, number, names, rows) > 8 * request.block_bytes:
                source = folded
            yield from source.iter_batches(rows, row_groups=[number], columns=names)


def _unfolds_to(folded: Any, number: int, names: list[str], rows: int) -> float:
    """Return an upper bound of the bytes of so many rows of a group, by the longest entry of its dictionaries."""
    first = next(folded.iter_batches(1, row_groups=[number], columns=names), None)  # with the whole dictionaries
    if first is None:
        return 0
    if any(map(is_list, first.schema.types)):
        group = folded.metadata.row_group(number)
        rows = max(group.column(i).num_values for i in range(group.num_columns))
    return rows * (longest_entry(first.columns) or math.inf)  # without a dictionary nothing is known


def _folder(request: Request) -> Iterator[Part]:
    """Read one document per file, in the order of their names; hidden files and folders are skipped.

    The id is the path within the folder. The label is the name of the folder that the file is in, as in scikit-learn's
    `load_files`, and null for files at the top.
    """
    root = request.path
    assert root is not None
    request.choose(["text", "label", "id"])
    if request.carry:
        raise CorpusError(f"{request.where}: files of a folder have no columns but text, label and id to carry along")
    consumed, size = 0, 0
    texts: list[bytes] = []
    names: list[str] = []
    files = _files_below(root)
    _warn_of_tables(files, root)
    for name in files:
        with ByteReader(root / name, str(root / name), PACKINGS.get(Path(name).suffix.lower())) as reader:
            texts.append(whole_text(reader, request.encoding))
            consumed += reader.consumed
        names.append(name)
        size += len(texts[-1])
        if size >= request.block_bytes:
            yield _folder_part(texts, names, consumed)
            texts, names, size = [], [], 0
    yield _folder_part(texts, names, consumed)


def _warn_of_tables(names: list[str], root: Path) -> None:
    """Warn if a folder holds tables: each is read as one text."""
    tables = [name for name in names if {".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"} & set(Path(name).suffixes)]
    if tables:
        warnings.warn(
            f"{root}: a folder is read as one text per file, but {tables[0]} is a table; give it by its own name to "
            "read its rows",
            ParasphereWarning,
            stacklevel=2,
        )


def _folder_part(texts: list[bytes], names: list[str], consumed: int) -> Part:
    labels = [PurePosixPath(name).parent.name or None for name in names]
    return Part(pa.array(texts, pa.large_string()), strings(labels), strings(names), consumed)


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
        warnings.warn(
            f"{root}: skipped what is not a file (pipes, devices, links to folders or to nothing): "
            f"{', '.join(sorted(others)[:10])}{', ...' if len(others) > 10 else ''}",
            SkippedFilesWarning,
            stacklevel=2,
        )
    return sorted(plain_files)


FORMATS: dict[str, Callable[[Request], Iterator[Part]]] = {
    "txt": _text,
    "jsonl": _json,
    "ndjson": _json,
    "json": _json_array,
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
    "parquet": _parquet,
}
