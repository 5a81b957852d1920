"""Documents on disk: text, JSON lines, CSV, Parquet, compressed or not, folders, pipes, and standard input.

Every reader is a generator of parts that holds about one block in memory. To add a format, write such a function and
add a row to `FORMATS`.
"""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import CorpusError, ParasphereWarning, SkippedFilesWarning, import_extra
from . import plain
from .block import Part
from .lines import check_encoding, csv_rows, json_columns, json_items, json_objects, whole_lines, whole_text
from .plain import sound_strings
from .request import Request
from .unpacking import PACKINGS, ByteReader

MOST_ROWS = 1 << 14  # rows of a table that are converted at a time


def read(request: Request, format: str | None) -> Iterator[Part]:
    """Read the documents of a file or folder, part by part; None is the format of the extension."""
    check_encoding(request.encoding)
    path, request = request.path, replace(request, block_bytes=min(request.block_bytes, plain.LONGEST // 2))
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
    format = format or "txt"  # a pipe, as made by <(command), has no extension
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
    """Yield the parts; errors of the system are raised as a CorpusError."""
    try:
        yield from parts
    except CorpusError:
        raise
    except (OSError, MemoryError, OverflowError, RecursionError, UnicodeError) as error:
        raise CorpusError(f"{where}: cannot be read ({error or type(error).__name__})") from error


@contextmanager
def _on_disk(request: Request) -> Iterator[Path]:
    """Copy a source that is not seekable to a temporary file."""
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
        for _, lines in whole_lines(reader, request.encoding, request.block_bytes):
            yield Part(lines, None, None, reader.consumed)


def _json(request: Request) -> Iterator[Part]:
    """Read one JSON object per line; blank lines are skipped."""
    with request.open() as reader:
        chosen: Request | None = None
        for number, lines in whole_lines(reader, request.encoding, request.block_bytes):
            records = json_objects(lines, number, request.where)
            if chosen is None:
                first = next(records, None)
                if first is None:
                    continue
                chosen, records = request.choose(list(first[1])), chain([first], records)
            yield chosen.part(_json_columns(chosen, records, "line"), reader.consumed)


def _json_array(request: Request) -> Iterator[Part]:
    """Read an array of objects or of texts, which is held in memory."""
    with request.open() as reader:
        items, consumed = json_items(whole_text(reader, request.encoding), request.where), reader.consumed
    if items:
        request = request.choose(list(items[0]))
        yield request.part(_json_columns(request, enumerate(items, 1), "item"), consumed)


def _json_columns(request: Request, records: Iterable[tuple[int, dict[str, Any]]], kind: str) -> list[list[Any]]:
    text, *others = request.columns
    columns = json_columns(records, text, others, request.label, request.null, f"{request.where}, {kind}")
    documents = columns[0]
    if documents and isinstance(documents[0], list):
        columns[0] = [sound_strings(tokens)[0] for tokens in documents]
    else:
        columns[0] = sound_strings(documents)[0]
    return columns


def _csv(request: Request, delimiter: str = ",") -> Iterator[Part]:
    """Read a table whose first row names its columns; every cell is text, and an empty one is empty text."""
    with request.open() as reader:
        rows = csv_rows(reader, request.encoding, request.block_bytes, delimiter)
        _, names = next(rows, (0, None))
        if names is None:
            return
        _check_only_column(names, request)
        request = request.choose(names)
        at = [names.index(name) for name in request.columns]
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
            if size >= request.block_bytes or len(some) == MOST_ROWS:
                yield request.part([[row[i] for row in some] for i in at], reader.consumed)
                some, size = [], 0
        if some:
            yield request.part([[row[i] for row in some] for i in at], reader.consumed)


def _check_only_column(names: list[str], request: Request) -> None:
    """Raise if the name of the only column looks like a text, or like the names of several columns."""
    if len(names) == 1 and request.text != names[0] and not names[0].isidentifier():
        (name,) = names
        signs = [sign for sign in ";|\t," if sign in name]
        hint = (
            f"its columns seem to be separated by {signs[0]!r}"
            if signs
            else "if that is a name, pass it as the column of texts"
        )
        raise CorpusError(
            f'{request.where} has no column "{request.text}": the first row must name the columns, and names one, '
            f'"{name}"; {hint}'
        )


def _parquet(request: Request) -> Iterator[Part]:
    """Read Parquet, about a block of rows at a time."""
    import_extra("pyarrow", "arrow", f"Reading {request.where}")
    from .arrow import read_parquet

    with _on_disk(request) as path:
        yield from read_parquet(path, request)


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
    texts: list[str] = []
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
            f"{root}: a folder is read as one text per file, but {tables[0]} is a table; pass its own path to read "
            "its rows",
            ParasphereWarning,
            stacklevel=2,
        )


def _folder_part(texts: list[str], names: list[str], consumed: int) -> Part:
    labels = [PurePosixPath(name).parent.name or None for name in names]
    return Part(texts, labels, sound_strings(names)[0], consumed)


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
            f"{root}: skipped entries that are not files (pipes, devices, links to folders or to nothing): "
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
