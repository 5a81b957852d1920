"""Arrays in one file, in the safetensors format: an eight-byte length, a JSON header, raw bytes.

The safetensors library copies what it reads, and writes files that only their owner can read. The format requires
neither, so files are written here in one pass and mapped into memory.
"""

import hashlib
import json
import math
import mmap
import os
import stat
import zlib
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import StoreError

Arrays = dict[str, NDArray[Any]]

_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_NAMES = {np.dtype(code).str: name for name, code in _DTYPES.items()}
_ALIGNMENT = 64  # of the data, in bytes
_LONGEST_HEADER = 4 << 20  # bytes; parsed into Python objects it takes many times as much memory
_MOST_AXES = 32


class Tensors:
    """Arrays to be written to a file: numbers and booleans of at most 64 bits, in any shapes."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        ordered = sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0]))  # so that all are aligned
        self.arrays = [_plain(name, array) for name, array in ordered]
        header: dict[str, Any] = {}
        at = 0
        for (name, _), array in zip(ordered, self.arrays, strict=True):
            kind = _NAMES[array.dtype.str]
            header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
            at += array.nbytes
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-(8 + len(text)) % _ALIGNMENT)
        self.header = len(text).to_bytes(8, "little") + text
        self.size = len(self.header) + at

    def pieces(self) -> Iterator[bytes | memoryview]:
        """Yield the file's bytes."""
        yield self.header
        for array in self.arrays:
            if array.size:
                yield array.reshape(-1).view(np.uint8).data

    def checksum(self) -> int:
        """Return the CRC-32 of the file's bytes, which detects accidental damage."""
        crc = 0
        for piece in self.pieces():
            crc = zlib.crc32(piece, crc)
        return crc

    def digest(self) -> str:
        """Return a hash of the file's bytes, which is the same for equal content."""
        digest = hashlib.blake2b(digest_size=16)
        for piece in self.pieces():
            digest.update(piece)
        return digest.hexdigest()

    def write(self, path: Path, mode: str = "xb") -> None:
        """Write the file, which must not exist unless the mode is "wb"."""
        with path.open(mode) as file:
            for piece in self.pieces():
                file.write(piece)


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is written: little-endian, in C order."""
    little = array.dtype.newbyteorder("<")
    if little.str not in _NAMES:
        raise StoreError(
            f"the array {name!r} is of type {array.dtype}, which cannot be saved; only numbers and booleans can."
        )
    return np.ascontiguousarray(array, little).reshape(array.shape)


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file for reading; a pipe or device, which could block forever, is refused."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StoreError(f"{path} is not a regular file: it is damaged.")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def map_tensors(path: Path, size: int | None = None, checksum: int | None = None) -> Arrays:
    """Map every array of a safetensors file, read-only.

    The map remains valid if the file is removed or replaced by another, but not if the file itself is changed.

    Parameters
    ----------
    path : Path
    size : int, default=None
        The number of bytes that the file must have.
    checksum : int, default=None
        The CRC-32 that its bytes must have.
    """
    with open_plain(path) as file:
        found = os.fstat(file.fileno()).st_size
        if size is not None and found != size:
            raise StoreError(f"{path} has {found:,} bytes instead of {size:,}: it is damaged.")
        length = int.from_bytes(file.read(8), "little")
        if found < 8 or length > min(found - 8, _LONGEST_HEADER):
            raise StoreError(f"{path} has no safetensors header in its {found:,} bytes: it is damaged.")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if checksum is not None and zlib.crc32(mapped) != checksum:
        raise StoreError(f"{path} was changed after it was written: its checksum differs. Save the folder again.")
    try:
        header = json.loads(mapped[8 : 8 + length])
        header.pop("__metadata__", None)
        return _arrays(mapped, 8 + length, header)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(f"{path} has a header that does not fit its data ({error!r:.200}): it is damaged.") from error


def _arrays(mapped: mmap.mmap, begin: int, header: dict[str, Any]) -> Arrays:
    """Return the arrays of a header, if their types, shapes and offsets agree with each other and the file.

    They must follow each other without gaps, as the format requires, so that they take no more memory than the file.
    """
    arrays, end = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (first, last) = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
        if len(shape) > _MOST_AXES or not all(type(n) is int and 0 <= n < 2**63 for n in (*shape, first, last)):
            raise ValueError(f"{name!r:.40} of shape {shape!r:.60} from {first!r:.20} to {last!r:.20}")
        count, offset = math.prod(shape), begin + first
        if first != end or count * dtype.itemsize != last - first or offset % dtype.itemsize:
            raise ValueError(f"{name!r:.40} of shape {shape!r:.60} and type {dtype} from {first} to {last}")
        flat = np.frombuffer(mapped, dtype, count, offset) if count else np.empty(0, dtype)
        arrays[name], end = flat.reshape(shape), last
    if begin + end != len(mapped):
        raise ValueError(f"arrays of {end} bytes in {len(mapped) - begin}")
    return arrays
