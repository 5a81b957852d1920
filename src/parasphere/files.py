"""Documents on disk: text, JSON lines, CSV, Parquet, gzip of these, folders, and standard input.

Every reader is a generator of parts that holds about one block in memory. A new format is one more
function and one more row in `FORMATS`.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from parasphere.columns import SLICE, Part, choose_column, from_arrow, plain, strings
from parasphere.errors import CorpusError
from parasphere.lines import (
    JsonLines,
    Reader,
    check_encoding,
    is_utf8,
    json_objects,
    split_lines,
    whole_lines,
    whole_text,
)

_LARGEST_CSV_ROW = 1 << 30  # Arrow counts a block's bytes in 32 bits


@dataclass(frozen=True)
class Request:
    """What to read, and how: the same for every format."""

    path: Path | None  # None is standard input
    where: str  # how messages name it
    text: str
    label: str | None
    id: str | None
    encoding: str
    block_bytes: int
    zipped: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns asked for, in the order text, label, id."""
        return [name for name in (self.text, self.label, self.id) if name is not None]

    def open(self) -> Reader:
        """Open the file; None as its path is standard input."""
        return Reader(self.path, self.where, self.zipped)

    def choose(self, names: list[str]) -> Request:
        """Return the request with its columns checked against those there are."""
        for name in filter(None, (self.label, self.id)):
            choose_column(names, name, self.where)
        return replace(self, text=choose_column(names, self.text, self.where))

    def part(self, columns: list[pa.Array], consumed: int) -> Part:
        """Name the columns, which stand in the order of `self.columns`; the first is ready as texts."""
        texts, *others = columns
        rest = iter(others)
        labels = plain(next(rest)) if self.label is not None else None
        ids = plain(next(rest)) if self.id is not None else None
        return Part(texts, labels, ids, consumed)


def read(
    path: Path,
    *,
    text: str = "text",
    label: str | None = None,
    id: str | None = None,
    encoding: str = "utf-8",
    block_bytes: int = 16 << 20,
    format: str | None = None,
) -> Iterator[Part]:
    r"""Read the documents of a file or folder, part by part.

    Parameters
    ----------
    path : Path
        A file, a folder, or ``Path("-")`` for standard input.
    text, label, id : str
        Columns to read; see `parasphere.corpus.blocks`.
    encoding : str
        How the bytes spell text; Parquet has its own.
    block_bytes : int
        About how much to read at a time.
    format : str, optional
        One of "txt", "jsonl", "csv", "tsv", "parquet" where the name does not tell; standard input is
        "txt" unless this says otherwise.

    Returns
    -------
    iterator of Part

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.txt"
    ...     _ = path.write_text("a text\nanother\n")
    ...     [part.texts.to_pylist() for part in read(path)]
    [['a text', 'another']]
    """
    check_encoding(encoding)
    request = Request(path, str(path), text, label, id, encoding, block_bytes)
    if str(path) == "-":
        request = replace(request, path=None, where="standard input")
        return _format(format or "txt")(request)
    if path.is_dir():
        return _folder(request)
    if not path.exists():
        raise CorpusError(f"{path}: there is no such file or folder")
    suffix = path.suffix.lower()
    if suffix == ".gz":
        request = replace(request, zipped=True)
        suffix = path.with_suffix("").suffix.lower()
    if format is None and suffix[1:] not in FORMATS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise CorpusError(
            f'{path}: the extension "{suffix}" is not known; known are {known}, each also with .gz after it, '
            "and folders of text files; or say which it is, as in format='txt'"
        )
    return _format(format or suffix[1:])(request)


@contextmanager
def _in_utf8(request: Request) -> Iterator[Request]:
    """Copy what Arrow cannot open by its name, or cannot decode, to a temporary file in UTF-8."""
    if request.path is not None and is_utf8(request.encoding):
        yield request
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "documents"
        with request.open() as reader, copy.open("wb") as out:
            for lines in whole_lines(reader, request.encoding, request.block_bytes):
                out.write(lines.data)
        yield replace(request, path=copy, zipped=False, encoding="utf-8")


@contextmanager
def _unzipped(request: Request) -> Iterator[Path]:
    """Copy what cannot be sought in to a temporary file."""
    if request.path is not None and not request.zipped:
        yield request.path
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "documents"
        with request.open() as reader, copy.open("wb") as out:
            while data := reader.read(1 << 20):
                out.write(data)
        yield copy


def _no_columns(request: Request) -> None:
    if request.label is not None or request.id is not None:
        raise CorpusError(
            f"{request.where}: lines of text have no columns, so label and id cannot name one; "
            "pass the labels or ids themselves"
        )


def _text(request: Request) -> Iterator[Part]:
    r"""Read a line a document; lines end with ``\n`` or ``\r\n``."""
    _no_columns(request)
    with request.open() as reader:
        for lines in whole_lines(reader, request.encoding, request.block_bytes):
            yield Part(split_lines(lines), None, None, reader.consumed)


def _json(request: Request) -> Iterator[Part]:
    """Read a JSON object a line; blank lines are passed over."""
    with request.open() as reader:
        parse: JsonLines | None = None
        for lines in whole_lines(reader, request.encoding, request.block_bytes):
            if parse is None and (first := next(json_objects(lines, request.where), None)):
                request = request.choose(list(first[1]))
                parse = JsonLines(request.columns, request.where)
            if parse is not None:
                yield request.part(parse(lines), reader.consumed)


def _csv(request: Request, delimiter: str = ",") -> Iterator[Part]:
    """Read a table whose first row names its columns; every cell is text, and an empty one is empty text.

    Arrow cannot read a row that is longer than two of its blocks. Then the file is read again with
    larger ones, and the rows that were handed on already are passed over.
    """
    with _in_utf8(request) as request:
        names = _csv_header(request, delimiter)
        if names is None:
            return
        request = request.choose(names)
        done, size = 0, min(max(request.block_bytes, 1 << 16), _LARGEST_CSV_ROW)
        while True:
            try:
                for part in _csv_rows(request, delimiter, size, skip=done):
                    yield part
                    done += len(part.texts)
                return
            except (pa.ArrowException, OSError) as error:
                if "straddling" not in str(error):
                    raise _csv_error(request, str(error)) from None
                if size == _LARGEST_CSV_ROW:
                    raise CorpusError(
                        f"{request.where}: the row after row {done + 1} is longer than 1 GB; "
                        "perhaps a quotation mark is never closed"
                    ) from None
                size = min(4 * size, _LARGEST_CSV_ROW)


def _csv_header(request: Request, delimiter: str) -> list[str] | None:
    with request.open() as reader:
        data = (lines.data.decode("utf-8") for lines in whole_lines(reader, request.encoding, 1 << 16))
        rows = (row for text in data for row in io.StringIO(text, newline=""))
        try:
            return next((row for row in csv.reader(rows, delimiter=delimiter) if row), None)
        except csv.Error as error:
            raise CorpusError(f"{request.where}: the first row names no columns ({error})") from None


def _csv_rows(request: Request, delimiter: str, size: int, skip: int) -> Iterator[Part]:
    # Arrow reads ahead in a thread of its own. It gets no Python file: the thread would call into Python,
    # and crash it if the program ends while rows are left.
    raw = pa.OSFile(str(request.path))
    table = pa.csv.open_csv(
        pa.CompressedInputStream(raw, "gzip") if request.zipped else raw,
        # Arrow tells the number of a bad row only without threads.
        read_options=pa.csv.ReadOptions(block_size=size, use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pa.csv.ConvertOptions(
            include_columns=list(dict.fromkeys(request.columns)),
            column_types=dict.fromkeys(request.columns, pa.large_string()),
            strings_can_be_null=False,
        ),
    )
    for batch in table:
        fresh = batch.slice(min(skip, len(batch)))
        skip -= len(batch) - len(fresh)
        yield request.part([fresh.column(name) for name in request.columns], raw.tell())


def _csv_error(request: Request, message: str) -> CorpusError:
    """Return what is wrong: bytes that are not UTF-8 or gzip, which our own reader names, or a row."""
    try:
        with request.open() as reader:
            for _ in whole_lines(reader, request.encoding, request.block_bytes):
                pass
    except CorpusError as error:
        return error
    found = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
    if found is None:
        return CorpusError(f"{request.where}: {message}")
    row, expected, got = found.groups()
    return CorpusError(
        f"{request.where}: row {row} (the names are row 1) has {got} fields, where the names are {expected}; "
        "a text with a comma, tab or newline in it must stand in quotation marks"
    )


def _parquet(request: Request) -> Iterator[Part]:
    """Read Parquet, in as many rows at a time as make about a block."""
    with _unzipped(request) as path:
        size = (request.path or path).stat().st_size
        try:
            with pa.parquet.ParquetFile(path, memory_map=True) as file:
                request = request.choose(file.schema_arrow.names)
                groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
                widest = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=1)
                rows = min(max(request.block_bytes // max(widest, 1), 1), SLICE)
                done = 0
                for batch in file.iter_batches(rows, columns=list(dict.fromkeys(request.columns))):
                    columns = [batch.column(name) for name in request.columns]
                    columns[0] = from_arrow(columns[0], done, f"{request.where}: ")
                    done += len(batch)
                    yield request.part(columns, size * done // file.metadata.num_rows)
        except (pa.ArrowException, OSError) as error:
            raise CorpusError(f"{request.where}: not a sound Parquet file, perhaps truncated ({error})") from None


def _folder(request: Request) -> Iterator[Part]:
    """Read a file a document, in the order of their names; hidden files and folders are passed over.

    The id is the path inside the folder. The label is the name of the folder that the file is in, as in
    scikit-learn's `load_files`, and null for files at the top.
    """
    root = request.path
    assert root is not None
    request.choose(["text", "label", "id"])
    consumed, size = 0, 0
    texts: list[bytes] = []
    names: list[str] = []
    for name in _files_below(root):
        with Reader(root / name, str(root / name), zipped=name.lower().endswith(".gz")) as reader:
            texts.append(whole_text(reader, request.encoding))
            consumed += reader.consumed
        names.append(name)
        size += len(texts[-1])
        if size >= request.block_bytes:
            yield _folder_part(texts, names, consumed)
            texts, names, size = [], [], 0
    yield _folder_part(texts, names, consumed)


def _folder_part(texts: list[bytes], names: list[str], consumed: int) -> Part:
    labels = [PurePosixPath(name).parent.name or None for name in names]
    return Part(pa.array(texts, pa.large_string()), strings(labels), strings(names), consumed)


def _files_below(root: Path) -> list[str]:
    def refuse(error: OSError) -> None:  # rather than pass over a folder in silence
        raise CorpusError(f"{error.filename}: cannot be read ({error.strerror})")

    found: list[str] = []
    for folder, folders, files in os.walk(root, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        inside = Path(folder).relative_to(root)
        found.extend((inside / name).as_posix() for name in files if not name.startswith("."))
    return sorted(found)


FORMATS: dict[str, Callable[[Request], Iterator[Part]]] = {
    "txt": _text,
    "jsonl": _json,
    "ndjson": _json,
    "csv": _csv,
    "tsv": partial(_csv, delimiter="\t"),
    "parquet": _parquet,
}


def _format(name: str) -> Callable[[Request], Iterator[Part]]:
    if name not in FORMATS:
        raise CorpusError(f'the format "{name}" is not known; known are {", ".join(FORMATS)}')
    return FORMATS[name]
