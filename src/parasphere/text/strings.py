"""Columns of strings: many strings in one buffer, which may be memory-mapped from a file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from ..corpus import sound_values
from ..errors import ParasphereError
from ..storage import check_layouts


class Strings(Sequence[str]):
    """Strings as their concatenated UTF-8 bytes, and the offsets at which they begin.

    Parameters
    ----------
    data : (n_bytes,) uint8
    offsets : (n + 1,) int64

    Examples
    --------
    >>> names = Strings.of(["a", "bé", ""])
    >>> names[1], names[1:].tolist(), names.take([2, 0]).tolist()
    ('bé', ['bé', ''], ['', 'a'])
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        self.data, self.offsets = data, offsets

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Make a column from strings; lone surrogates become U+FFFD."""
        texts = sound_values(list(texts))
        joined = "".join(texts)
        encoded = joined.encode()
        sizes = map(len, texts) if len(encoded) == len(joined) else (len(text.encode()) for text in texts)
        ends = np.fromiter(sizes, np.int64, len(texts)).cumsum()
        return cls(np.frombuffer(encoded, np.uint8), np.concatenate([np.zeros(1, np.int64), ends]))

    @classmethod
    def concatenate(cls, parts: "Sequence[Strings]") -> Self:
        """Join columns."""
        starts = np.cumsum([0, *(len(part._bytes()) for part in parts)], dtype=np.int64)
        offsets = [part.offsets[1:] - part.offsets[0] + start for part, start in zip(parts, starts, strict=False)]
        data = [np.empty(0, np.uint8), *(part._bytes() for part in parts)]
        return cls(np.concatenate(data), np.concatenate([np.zeros(1, np.int64), *offsets]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> "Strings": ...

    def __getitem__(self, at: Any) -> "str | Strings":
        if isinstance(at, slice):
            begin, end, step = at.indices(len(self))
            if step == 1:
                return Strings(self.data, self.offsets[begin : max(begin, end) + 1])
            return self.take(range(begin, end, step))
        at = range(len(self))[at]  # raises if out of range, and counts from the end if negative
        return bytes(self.data[self.offsets[at] : self.offsets[at + 1]]).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"Strings of {len(self):,}"

    def take(self, rows: Any) -> "Strings":
        """Return the strings at some positions, or those selected by a mask."""
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        return Strings(*gather(self.data, self.offsets[:-1][rows], self.offsets[1:][rows]))

    def tolist(self) -> list[str]:
        """Return all strings as a list."""
        data, bounds = self._bytes().tobytes(), pairwise((self.offsets - self.offsets[0]).tolist())
        if data.isascii():
            text = data.decode()
            return [text[begin:end] for begin, end in bounds]
        return [data[begin:end].decode("utf-8", "replace") for begin, end in bounds]

    def check_ranges(self) -> None:
        """Raise unless the offsets lie within the bytes; they may come from a file."""
        offsets = self.offsets
        check_layouts({"data": self.data, "offsets": offsets}, {"data": "u1[bytes]", "offsets": "i8[strings+1]"})
        if offsets[0] < 0 or offsets[-1] > len(self.data) or (offsets[1:] < offsets[:-1]).any():
            raise ParasphereError(f"a column of {len(self):,} strings reaches beyond its {len(self.data):,} bytes")

    def check(self) -> None:
        """Raise unless the offsets lie within the bytes, and every string is UTF-8."""
        self.check_ranges()
        offsets = self.offsets
        begins = offsets[:-1][offsets[:-1] < offsets[1:]]
        try:
            self._bytes().tobytes().decode()
            sound = not ((self.data[begins] & 0xC0) == 0x80).any()  # none begins within a letter
        except UnicodeDecodeError:
            sound = False
        if not sound:
            raise ParasphereError("strings are not UTF-8")

    @classmethod
    def from_saved(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> Self:
        """Make a column from the arrays of a file, and check its offsets."""
        strings = cls(arrays[f"{name}.bytes"], arrays[f"{name}.ends"])
        strings.check_ranges()
        return strings

    def to_saved(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays to save in a file."""
        return {f"{name}.bytes": self._bytes(), f"{name}.ends": self.offsets - self.offsets[0]}

    def _bytes(self) -> NDArray[np.uint8]:
        return self.data[self.offsets[0] : self.offsets[-1]]


def gather(
    data: NDArray[np.uint8], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate ranges of bytes; return them and the (n + 1,) offsets at which they begin.

    Examples
    --------
    >>> data, offsets = gather(np.frombuffer(b"seaside", np.uint8), np.array([3, 0]), np.array([7, 3]))
    >>> bytes(data), offsets
    (b'sidesea', array([0, 4, 7]))
    """
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - begins, dtype=np.int64)])
    view = np.ascontiguousarray(data).data
    apart = np.flatnonzero(begins[1:] != ends[:-1])  # adjacent ranges are copied together
    firsts, lasts = np.append(begins[:1], begins[1:][apart]), np.append(ends[:-1][apart], ends[-1:])
    pieces = [view[begin:end] for begin, end in zip(firsts.tolist(), lasts.tolist(), strict=True)]
    return np.frombuffer(b"".join(pieces), np.uint8), offsets
