"""The bytes of a file, unpacked whatever it is packed in, and drawn a block ahead of whoever parses them."""

import bz2
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

from .errors import VectorsError

_DECODERS: tuple[tuple[re.Pattern[bytes], Callable[[], Any]], ...] = (
    (re.compile(rb"\x1f\x8b\x08"), lambda: zlib.decompressobj(31)),
    (re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"), bz2.BZ2Decompressor),  # "BZh" alone could be a word
    (re.compile(rb"\xfd7zXZ\0"), lzma.LZMADecompressor),
)


def unpacked(path: Path, member: str | None, size: int, advance: Callable[[int], None]) -> Iterator[bytes]:
    """Read a file in blocks, decompressed if it is compressed."""
    with path.open("rb") as file:
        head = file.read(16)
        file.seek(0)
        zipped = head.startswith((b"PK\x03\x04", b"PK\x05\x06"))
        if member is not None and not zipped:
            raise VectorsError(f"{path} is no zip file, so it has no member {member!r}; leave `member` out.")
        decoder = next((make for magic, make in _DECODERS if magic.match(head)), None)
        try:
            if zipped:
                yield from _unzipped(file, path, member, size, advance)
            elif decoder is not None:
                yield from _decoded(_raw(file, size, advance), decoder, path)
            else:
                yield from _raw(file, size, advance)
        except (zlib.error, lzma.LZMAError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
            raise VectorsError(f"{path} cannot be read to its end ({error}). Is it whole?") from error


def _raw(file: BinaryIO, size: int, advance: Callable[[int], None]) -> Iterator[bytes]:
    while piece := file.read(size):
        advance(len(piece))
        yield piece


def _decoded(raw: Iterable[bytes], make: Callable[[], Any], path: Path) -> Iterator[bytes]:
    """Decompress a stream, or several one after another, as ``cat a.gz b.gz`` writes them."""
    decoder = make()
    for piece in raw:
        rest = piece
        while rest := rest.lstrip(b"\0") if decoder.eof else rest:  # zeros may pad the end of a stream
            if decoder.eof:
                decoder = make()
            yield decoder.decompress(rest)
            rest = decoder.unused_data
    if not decoder.eof:
        raise VectorsError(f"{path} ends in the middle of its compressed data. Is it whole?")


def _unzipped(
    file: BinaryIO, path: Path, member: str | None, size: int, advance: Callable[[int], None]
) -> Iterator[bytes]:
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX")]
        if member is None and len(names) != 1:
            raise VectorsError(f"{path} holds {len(names)} files; pass member= one of {names}.")
        if member is not None and member not in names:
            raise VectorsError(f"{path} has no member {member!r}; it holds {names}.")
        info = archive.getinfo(member or names[0])
        with archive.open(info) as inside:
            for piece in _raw(inside, size, lambda _: None):  # type: ignore[arg-type]
                advance(len(piece) * info.compress_size // info.file_size)
                yield piece


def ahead(blocks: Iterator[bytes], hashed: Callable[[bytes], None]) -> Generator[bytes, None, None]:
    """Draw and hash the next block in a second thread while this one is parsed."""

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
    """Draw blocks until there are ``size`` bytes of them, or no more."""
    sample = bytearray()
    for block in blocks:
        sample += block
        if len(sample) >= size:
            break
    return bytes(sample)
