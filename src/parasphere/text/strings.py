"""Columns of strings: the bytes of all of them in one array."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..storage import check_layouts
from .tokens import is_column, string_buffers
from .vocabulary import utf8


class Strings(Sequence[str]):
    """Strings that take the room of their bytes, and can be mapped from a file.

    Parameters
    ----------
    data : (n_bytes,) uint8
        The strings in UTF-8, end to end.
    offsets : (n + 1,) int64
        Where each begins; the last one is where they end.

    Examples
    --------
    >>> some = Strings.of(["a", "äö", ""])
    >>> len(some), some[1], list(some.take([2, 0])), some == ["a", "äö", ""]
    (3, 'äö', ['', 'a'], True)
    """

    def __init__(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        check_layouts({"data": data, "offsets": offsets}, {"data": "u1[bytes]", "offsets": "i8[strings+1]"})
        self.data, self.offsets = data, offsets

    @classmethod
    def of(cls, strings: Iterable[str] | Any) -> Self:
        """Make a column of strings, or of an Arrow column; surrogates become U+FFFD."""
        if isinstance(strings, cls):
            return strings
        if is_column(strings):
            data, offsets = string_buffers(strings)
            return cls(data[offsets[0] : offsets[-1]], offsets - offsets[0])
        return cls(*utf8(list(strings)))

    @classmethod
    def concatenate(cls, parts: Sequence["Strings"]) -> Self:
        """Join columns, in order."""
        starts = np.cumsum([0, *(len(part.data) for part in parts)])
        offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
        return cls(np.concatenate([part.data for part in parts]), np.concatenate([[0], *offsets]))

    def take(self, rows: Any) -> Self:
        """Return some of the strings: a mask, or positions."""
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        sizes = self.offsets[rows + 1] - self.offsets[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[rows] - offsets[:-1], sizes)
        return type(self)(self.data[places], offsets)

    def tolist(self) -> list[str]:
        """Return the strings."""
        data, bounds = bytes(self.data), pairwise(self.offsets.tolist())
        if data.isascii():
            text = data.decode()
            return [text[begin:end] for begin, end in bounds]
        return [data[begin:end].decode() for begin, end in bounds]

    def check_ranges(self) -> None:
        """Raise unless the strings are within the bytes: they may come from a file."""
        offsets = self.offsets
        if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(self.data) or (offsets[1:] < offsets[:-1]).any():
            raise ParasphereError(f"its strings do not fit their {len(self.data):,} bytes")

    def check(self) -> None:
        """Raise unless the strings are within the bytes, and UTF-8."""
        self.check_ranges()
        begins = self.offsets[:-1][self.offsets[:-1] < len(self.data)]
        try:
            bytes(self.data).decode()
            within = ((self.data[begins] & 0xC0) == 0x80).any()
        except UnicodeDecodeError:
            within = True
        if within:
            raise ParasphereError("its strings are not UTF-8")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, item: int) -> str: ...

    @overload
    def __getitem__(self, item: slice) -> list[str]: ...

    def __getitem__(self, item: int | slice) -> str | list[str]:
        if isinstance(item, slice):
            return [self[i] for i in range(len(self))[item]]
        row = range(len(self))[item]
        return bytes(self.data[self.offsets[row] : self.offsets[row + 1]]).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Strings of {len(self):,} entries"
