"""Arrays in one file, in the safetensors format: an eight-byte length, a JSON header, raw bytes.

The safetensors library copies what it reads, and writes files that only their owner can read. The format requires
neither, so files are written here in one pass and mapped into memory.
"""

import hashlib
import json
import math
import mmap
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
_LONGEST_HEADER = 100 << 20  # the limit of the safetensors library


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

    def checksum(self) -> str:
        """Return the SHA-256 of the file's bytes."""
        digest = hashlib.sha256()
        for piece in self.pieces():
            digest.update(piece)
        return digest.hexdigest()

    def write(self, path: Path) -> None:
        """Write the file."""
        with path.open("wb") as file:
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


def map_tensors(file: BufferedReader, path: Path) -> Arrays:
    """Map every array of an open safetensors file, read-only; ``path`` is its name in messages.

    The map remains valid if the file is removed or replaced.
    """
    size = file.seek(0, 2)
    file.seek(0)
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, _LONGEST_HEADER):
        raise StoreError(f"{path} has no safetensors header in its {size:,} bytes: it is damaged.")
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        header = json.loads(mapped[8 : 8 + length])
        return {name: _array(mapped, 8 + length, entry) for name, entry in header.items() if name != "__metadata__"}
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(f"{path} has a header that does not fit its data ({error!r}): it is damaged.") from error


def _array(mapped: mmap.mmap, begin: int, entry: dict[str, Any]) -> NDArray[Any]:
    """Return the array of a header entry, if its type, shape and offsets agree with each other and the file."""
    dtype, shape, (first, last) = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
    if not all(type(number) is int and number >= 0 for number in (*shape, first, last)):
        raise ValueError(f"shape {shape} from {first} to {last}")
    count, offset = math.prod(shape), begin + first
    if count * dtype.itemsize != last - first or begin + last > len(mapped) or offset % dtype.itemsize:
        raise ValueError(f"shape {shape} of {dtype} from {first} to {last}, in {len(mapped) - begin} bytes")
    flat = np.frombuffer(mapped, dtype, count, offset) if count else np.empty(0, dtype)
    return flat.reshape(shape)
