"""Decompression: the reader of bytes for corpora and word vectors.

A few kilobytes can decompress to gigabytes, so no step returns more bytes than requested.
"""

from __future__ import annotations

import bz2
import lzma
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import CorpusError, ParasphereError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# By extension; word vectors are recognised by their first bytes instead.
PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
_MAGIC = (
    ("gzip", re.compile(rb"\x1f\x8b\x08")),
    ("bzip2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")),  # "BZh" alone could be a word
    ("xz", re.compile(rb"\xfd7zXZ\0")),
    ("zstd", re.compile(rb"\x28\xb5\x2f\xfd")),
    ("zip", re.compile(rb"PK(\x03\x04|\x05\x06)")),
)
Draw = Callable[[int], bytes]  # returns at most this many bytes, none at the end
_PIECE = 1 << 16  # compressed bytes read at a time
_XZ_MEMORY = 1 << 29  # a header may ask for 4 GiB; the highest preset of xz needs 65 MiB
_DAMAGE = (
    zlib.error, lzma.LZMAError, zstd.ZstdError, zipfile.BadZipFile, struct.error, RuntimeError, ValueError,
    OverflowError, MemoryError,
)  # fmt: skip


class _Inflate:
    """zlib's decompressor, with the interface that those of bzip2 and xz have."""

    def __init__(self, bits: int) -> None:
        self._inner = zlib.decompressobj(bits)
        self.needs_input = True

    def decompress(self, data: bytes, most: int) -> bytes:
        output = self._inner.decompress(self._inner.unconsumed_tail + data, most)
        # If the output has the full size, zlib may hold back more of it.
        self.needs_input = len(output) < most and not self._inner.unconsumed_tail
        return output

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data


_DECODERS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: _Inflate(31),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
    "zstd": zstd.ZstdDecompressor,  # frames that ask for a window of over 128 MiB are refused
}
_ZIP_DECODERS: dict[int, Callable[[], Any] | None] = {
    zipfile.ZIP_STORED: None,
    zipfile.ZIP_DEFLATED: lambda: _Inflate(-15),
    zipfile.ZIP_BZIP2: bz2.BZ2Decompressor,
}


def packing_of(head: bytes) -> str | None:
    """Return how a file is compressed, by its first 16 bytes; None if it is not."""
    return next((name for name, magic in _MAGIC if magic.match(head)), None)


class _Streams:
    """Decompressed bytes of one stream, or of several one after another, perhaps padded with zeros."""

    def __init__(self, draw: Draw, make: Callable[[], Any]) -> None:
        self._draw, self._make = draw, make  # return compressed bytes, and a new decompressor
        self._decoder: Any = None  # of the current stream
        self._waiting = b""  # compressed bytes not passed to it yet
        self._begun = False

    def __call__(self, size: int) -> bytes:
        """Return at most `size` bytes; none at the end."""
        while self._decoder is not None or self._begin(size):
            data, self._waiting = self._waiting, b""
            if self._decoder.needs_input and not data and not (data := self._draw(min(size, _PIECE))):
                raise EOFError
            output: bytes = self._decoder.decompress(data, size)
            if self._decoder.eof:
                self._waiting, self._decoder = self._decoder.unused_data, None
            if output:
                return output
        return b""

    def _begin(self, size: int) -> bool:
        """Begin the next stream, if there is one."""
        while not (data := self._waiting.lstrip(b"\0") if self._begun else self._waiting):
            if not (data := self._draw(min(size, _PIECE))):
                return False
            self._waiting = data
        self._decoder, self._waiting, self._begun = self._make(), data, True
        return True


class _Member:
    """The bytes of a file in a zip, whose checksum is compared at the end."""

    def __init__(self, draw: Draw, info: zipfile.ZipInfo) -> None:
        make = _ZIP_DECODERS[info.compress_type]
        self._left = info.compress_size
        self._unpack = _Streams(partial(self._some, draw), make) if make else partial(self._some, draw)
        self._expected = (info.file_size, info.CRC)
        self._actual = (0, 0)

    def __call__(self, size: int) -> bytes:
        data = self._unpack(size)
        length, checksum = self._actual
        self._actual = length + len(data), zlib.crc32(data, checksum)
        if not data and self._actual != self._expected:
            raise zipfile.BadZipFile("the size or the checksum differs")
        return data

    def _some(self, draw: Draw, size: int) -> bytes:
        data = draw(min(size, self._left))
        self._left -= len(data)
        return data


class ByteReader:
    """The decompressed bytes of a file.

    Parameters
    ----------
    path : Path or None
        The file; None is standard input.
    where : str
        The name of the file in messages.
    packing : {None, "gzip", "bzip2", "xz", "zstd", "zip"}, default=None
        How it is compressed.
    member : str, default=None
        The file of a zip to read, if there are several.
    fault : type, default=CorpusError
        The error to raise if the file cannot be read.

    Attributes
    ----------
    consumed : int
        Bytes of the file itself, before decompression, read so far.
    """

    def __init__(
        self,
        path: Path | None,
        where: str,
        packing: str | None = None,
        *,
        member: str | None = None,
        fault: type[ParasphereError] = CorpusError,
    ) -> None:
        self.where, self.consumed = where, 0
        self._packing, self._fault = packing, fault
        self._owned = path is not None
        if path is None and sys.stdin is None:
            raise fault(f"{where}: cannot be read (it is closed)")
        with self._faults("opened"):
            self._raw: BinaryIO = sys.stdin.buffer if path is None else path.open("rb")
        try:
            if packing == "zip":
                self._step = self._opened_member(member)
            else:
                self._step = self._draw if packing is None else _Streams(self._draw, _DECODERS[packing])
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> ByteReader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owned:
            self._raw.close()

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes, or fewer at the end."""
        pieces: list[bytes] = []
        with self._faults("read"):
            while size and (piece := self._step(size)):
                pieces.append(piece)
                size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _draw(self, size: int) -> bytes:
        data = self._raw.read(size)
        self.consumed += len(data)
        return data

    def _opened_member(self, name: str | None) -> Draw:
        """Seek to the data of a zip's member, and return the function that reads them."""
        with self._faults("read"), zipfile.ZipFile(self._raw) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
            shown = ", ".join(map(repr, names[:10])) + ", ..." * (len(names) > 10)
            if name is None and len(names) != 1:
                hint = "unpack it first" if self._fault is CorpusError else "pass member= one of them"
                raise self._fault(f"{self.where} holds {len(names)} files ({shown}); {hint}")
            if name is not None and name not in names:
                raise self._fault(f"{self.where} has no member {name!r}; it holds {shown}")
            info = archive.getinfo(name or names[0])
            if info.compress_type not in _ZIP_DECODERS:
                raise NotImplementedError(f"method {info.compress_type} is not supported: unpack it first")
            archive.open(info).close()  # checks the header before the data
            self._raw.seek(info.header_offset + 26)
            self._raw.seek(sum(struct.unpack("<2H", self._raw.read(4))), 1)  # the name and extra fields
            return _Member(self._draw, info)

    @contextmanager
    def _faults(self, what: str) -> Iterator[None]:
        """Raise all errors of the file and its data as ``fault``."""
        try:
            yield
            return
        except ParasphereError:
            raise
        except EOFError:
            problem = f"ends in the middle of its compressed data, at byte {self.consumed:,}: it is truncated"
        except (OSError, *_DAMAGE) as error:
            if isinstance(error, OSError) and error.errno is not None:  # errors of bzip2 have no number
                raise self._fault(f"{self.where}: cannot be {what} ({error.strerror})") from None
            invalid = "" if self._packing is None else f"invalid {self._packing} data: "
            reason = error or type(error).__name__
            problem = f"{invalid}cannot be read to its end, near byte {self.consumed:,} ({reason})"
        raise self._fault(f"{self.where}: {problem}; copy or download it again")


def ahead(blocks: Iterator[bytes], hashed: Callable[[bytes], None]) -> Generator[bytes, None, None]:
    """Read and hash the next block in a second thread while the current one is used."""

    def draw() -> bytes | None:
        block = next(blocks, None)
        if block is not None:
            hashed(block)
        return block

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(draw)
        while (block := coming.result()) is not None:
            coming = pool.submit(draw)
            yield block


def first_bytes(blocks: Iterable[bytes], size: int) -> bytes:
    """Read blocks until they have ``size`` bytes, or to the end."""
    sample = bytearray()
    for block in blocks:
        sample += block
        if len(sample) >= size:
            break
    return bytes(sample)
