"""Packing of facts and arrays into text that an HTML page can hold."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import without_surrogates

PLAIN = 0x80  # added to codes that a script element cannot contain; readers drop it

Arrays = dict[str, NDArray[Any]]


def packed(facts: dict[str, Any], arrays: Arrays, *, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> str:
    """Return facts and arrays as text that a ``script`` element can contain: deflated, seven bits per character.

    ``strategy`` is one of zlib's: for numbers, Z_RLE is smaller and much faster than the default.
    """
    places, parts, at = {}, [], 0
    for name, array in arrays.items():
        little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        places[name] = [little.dtype.str[1:], at, little.size]
        parts.append(little.tobytes() + bytes(-little.nbytes % 8))  # arrays of 8 bytes begin at multiples of 8
        at += len(parts[-1])
    head = json.dumps({"facts": facts, "arrays": places}, allow_nan=False).encode()
    head += b" " * (-len(head) % 8)
    deflate = zlib.compressobj(8, zlib.DEFLATED, zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, strategy)
    whole = b"".join([len(head).to_bytes(8, "little"), head, *parts])
    return seven_bits(deflate.compress(whole) + deflate.flush())


def seven_bits(data: bytes) -> str:
    r"""Return bytes as text of seven bits per character; NUL, carriage return and "<" are moved up by 128.

    Base64 would be a seventh longer.

    Examples
    --------
    >>> seven_bits(b"\x00\x01") == "\x80\x80 "
    True
    """
    padded = np.frombuffer(data + bytes(-len(data) % 7), np.uint8).reshape(-1, 7)
    wide = np.zeros((len(padded), 8), np.uint8)
    wide[:, 1:] = padded
    numbers = wide.view(">u8").astype(np.uint64)  # (n, 1), of 56 bits
    codes = ((numbers >> np.arange(49, -1, -7, dtype=np.uint64)) & np.uint64(127)).astype("<u2").ravel()
    codes = codes[: -(-8 * len(data) // 7)]
    codes[np.isin(codes, [0, ord("\r"), ord("<")])] += PLAIN
    return codes.tobytes().decode("utf-16-le")


def string_arrays(name: str, strings: Sequence[str]) -> Arrays:
    """Return strings as two arrays: their bytes, and how many each has."""
    encoded = [without_surrogates(string).encode() for string in strings]
    sizes = np.fromiter(map(len, encoded), np.uint32, len(encoded))
    return {name: np.frombuffer(b"".join(encoded), np.uint8), f"{name}_sizes": sizes}


def varints(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    """Return numbers of 0 or more in seven bits per byte, the lowest first; the last byte of a number is below 128.

    Examples
    --------
    >>> varints(np.array([5, 300])).tolist()
    [5, 172, 2]
    """
    wide = np.asarray(numbers, np.uint64)
    sizes = np.ones(len(wide), np.int64)
    for k in range(1, 5):
        sizes += wide >> np.uint64(7 * k) > 0
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    for k in range(5):
        has = sizes > k
        low = (wide[has] >> np.uint64(7 * k)) & np.uint64(127)
        out[ends[has] - sizes[has] + k] = low + np.where(sizes[has] > k + 1, 128, 0).astype(np.uint64)
    return out
