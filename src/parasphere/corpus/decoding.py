"""Files as text: decompressed by Python's own modules, decoded, and divided into lines and rows of CSV."""

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from ..errors import CorpusError
from . import block
from .block import too_long
from .texts import without_surrogates

PIECE = 1 << 18  # bytes that are read and decoded at a time: they stay in the cache
PACKINGS = (".gz", ".bz2", ".xz", ".zst")
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
# UTF-16: with a byte order mark, or letters each followed or preceded by a zero byte, which are valid UTF-8 too. At the
# beginning of a file a few are enough.
_UTF16 = re.compile(rb"\A(\xff\xfe|\xfe\xff)|\A\0?(?:[ -~]\0){4}|(?:[\t\n\r -~]\0){16}")
_NOT_TEXT = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")


class ByteReader:
    """The decompressed bytes of a file; None is standard input.

    Parameters
    ----------
    path : Path or None
    where : str
        The name of the file in messages.
    """

    def __init__(self, path: Path | None, where: str) -> None:
        self.path, self.where = path, where
        self._packing = "" if path is None else packing_of(path)
        self._size = 0
        if path is None and sys.stdin is None:
            raise CorpusError(f"{where}: cannot be read (it is closed)")
        try:
            self._raw: Any = sys.stdin.buffer if path is None else path.open("rb")
        except OSError as error:
            raise CorpusError(f"{where}: cannot be opened ({error.strerror})") from None
        try:
            self._file = _unpacked(self._raw, self._packing, where)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> "ByteReader":
        return self

    def __exit__(self, *_: object) -> None:
        if self.path is not None:
            self._raw.close()

    @property
    def consumed(self) -> int:
        """Bytes of the file itself, before decompression, read so far; of a pipe those after it."""
        return int(self._raw.tell()) if self._raw.seekable() else self._size

    def read(self, size: int = PIECE) -> bytes:
        """Return ``size`` bytes, or fewer at the end."""
        try:
            data: bytes = self._file.read(size)
        except EOFError:
            problem = f"ends in the middle of its compressed data, at byte {self.consumed:,}: it is truncated"
        except Exception as error:  # each decompressor has errors of its own
            if isinstance(error, OSError) and error.errno is not None:
                raise CorpusError(f"{self.where}: cannot be read ({error.strerror})") from None
            problem = f"invalid {self._packing[1:]} data, near byte {self.consumed:,} ({error or type(error).__name__})"
        else:
            self._size += len(data)
            return data
        raise CorpusError(f"{self.where}: {problem}; copy or download it again")


def packing_of(path: Path) -> str:
    """Return the extension of a compressed file, and "" for others."""
    return path.suffix.lower() if path.suffix.lower() in PACKINGS else ""


def _unpacked(raw: Any, packing: str, where: str) -> Any:
    if packing == ".zst":
        try:
            return import_module(ZSTD).ZstdFile(raw)
        except ImportError:
            raise CorpusError(
                f"{where}: before Python 3.14, .zst needs backports.zstd: pip install backports.zstd; or decompress "
                "the file first"
            ) from None
    if packing == ".gz":
        return gzip.GzipFile(fileobj=raw)
    return {".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}[packing](raw) if packing else raw


def check_encoding(encoding: str, where: str) -> None:
    """Raise unless Python knows this text encoding, and it is not UTF-16 or UTF-32."""
    try:
        b"x".decode(encoding, "ignore")
        codecs.getincrementaldecoder(encoding)
    except (LookupError, ValueError):
        raise CorpusError(f'"{encoding}" is not a text encoding; try "utf-8" or "latin-1"') from None
    if codecs.lookup(encoding).name.startswith(("utf-16", "utf-32")):
        raise CorpusError(f"{where}: {_converted(encoding)}")


def _converted(encoding: str) -> str:
    return f"{encoding} is not read; convert the file to UTF-8, as in iconv -f {encoding} -t utf-8 FILE"


def whole_lines(reader: ByteReader, encoding: str) -> Iterator[str]:
    r"""Yield the text of a file in pieces that end with ``\n``; the last one may not."""
    held: list[bytes] = []  # of an unfinished line, joined once: a long line must not take quadratic time
    line, size = 1, 0
    while data := reader.read(PIECE):
        end = data.rfind(b"\n") + 1
        held.append(data[:end] if end else data)
        size += len(data)
        if end:
            whole = b"".join(held)
            yield _decoded(whole, encoding, reader.where, line)
            line += whole.count(b"\n")
            held, size = [data[end:]], len(data) - end
        if size > block.LONGEST:
            raise too_long(f"{reader.where}, line {line}")
    if last := b"".join(held):
        yield _decoded(last, encoding, reader.where, line)


def whole_text(reader: ByteReader, encoding: str) -> str:
    """Return a whole file as one text."""
    return _decoded(b"".join(iter(reader.read, b"")), encoding, reader.where, 1)


def _decoded(data: bytes, encoding: str, where: str, line: int) -> str:
    """Decode some lines of a file, the first of which has the number ``line``."""
    utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
    if utf8 and line == 1:
        if _UTF16.search(data, 0, 4096):
            raise CorpusError(f"{where}: these bytes are UTF-16, not {encoding}; {_converted('utf-16')}")
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode() if utf8 else without_surrogates(data.decode(encoding))
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = f"{where}, line {line + before.count(10)}, byte {error.start - before.rfind(10)}"
        problem = f"0x{data[error.start]:02x} is not {encoding} ({error.reason})"
        if _NOT_TEXT.search(data, max(0, error.start - 2048), error.start + 4096):
            hint = ", and there are control characters near it; is this a file of text?"
        elif any(0x80 <= byte < 0xA0 for byte in data[error.start : error.start + 4096]):
            hint = "; name its encoding, perhaps cp1252"  # which has quotation marks where latin-1 has nothing
        else:
            hint = "; name its encoding, perhaps latin-1"
        raise CorpusError(f"{place}: {problem}{hint}") from None


def numbered_lines(reader: ByteReader, encoding: str) -> Iterator[tuple[int, list[str]]]:
    r"""Yield lines, some at a time, with the number of the first, from 1; they end with ``\n`` or ``\r\n``."""
    number = 1
    for text in whole_lines(reader, encoding):
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        if "\r" in text:
            lines = [line.removesuffix("\r") for line in lines]
        for at in range(0, len(lines), block.ROWS):
            yield number + at, lines[at : at + block.ROWS]
        number += len(lines)


def csv_rows(reader: ByteReader, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the number of its first line, from 1."""
    # The field limit of Python's csv, 128 KiB, is global to the process.
    csv.field_size_limit(max(csv.field_size_limit(), block.LONGEST))
    lines = (line for text in whole_lines(reader, encoding) for line in io.StringIO(text, newline=""))
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            what = "text follows where it is closed" if "expected after" in str(error) else "it is never closed"
            raise CorpusError(
                f"{reader.where}, line {line}: a text begins with a quotation mark, but {what}; marks within a text "
                f"that is in quotation marks must be doubled ({error})"
            ) from None
        if row is None:
            return
        if row:
            yield line, row
