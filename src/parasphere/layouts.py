"""Checking values against annotations, and arrays against layouts: arguments, and what is read from files.

A layout is written like ``"f4[words,dim]"``: a numpy type (``f`` for f4 or f8, ``i`` for i4 or i8), and for each axis
a name, a number, or ``*`` for any size. A name stands for the same size wherever it occurs; ``n+1`` is one more. A
question mark at the end allows None.
"""

import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

import numpy as np

from .errors import ParasphereError

_WRITTEN = re.compile(r"([a-z]+[0-9]?)\[(.*)\](\??)")
_AXIS = re.compile(r"([a-z_]+)(?:\+([0-9]+))?|([0-9]+)|\*")
_ANY = {"f": ("f4", "f8"), "i": ("i4", "i8")}


class LayoutError(ParasphereError):
    """An array of the wrong type, shape or order in memory."""


class Layout(NamedTuple):
    """A parsed layout."""

    dtypes: tuple[Any, ...]  # those that are allowed
    axes: tuple[tuple[str | None, int], ...]  # the name of a size and what is added to it; or None and the size, or -1
    optional: bool  # whether None is allowed

    def check(self, name: str, array: Any, sizes: dict[str, int]) -> None:
        """Raise unless an array fits; ``sizes`` holds the sizes of names met so far, and new ones are added."""
        if array is None and self.optional:
            return
        if not isinstance(array, np.ndarray) or array.dtype not in self.dtypes or array.ndim != len(self.axes):
            raise self._error(name, array, sizes)
        if not array.flags.c_contiguous:
            raise LayoutError(f"{name} must be contiguous in C order; np.ascontiguousarray makes it so")
        for size, (axis, more) in zip(array.shape, self.axes, strict=True):
            if axis is None:
                fits = size == more or more < 0
            else:
                fits = size >= more and sizes.setdefault(axis, size - more) == size - more
            if not fits:
                raise self._error(name, array, sizes)

    def _error(self, name: str, array: Any, sizes: Mapping[str, int]) -> LayoutError:
        due = " or ".join(str(dtype) for dtype in self.dtypes)
        shape = ", ".join(self._shown(axis, sizes) for axis in self.axes)
        actual = f"a {type(array).__name__}"
        if isinstance(array, np.ndarray):
            actual = f"{array.dtype} of shape ({', '.join(map(str, array.shape))})"
        return LayoutError(f"{name} must be {due} of shape ({shape}), not {actual}")

    @staticmethod
    def _shown(axis: tuple[str | None, int], sizes: Mapping[str, int]) -> str:
        name, more = axis
        if name is None:
            return "any" if more < 0 else str(more)
        return str(sizes[name] + more) if name in sizes else f"{name} + {more}" if more else name


@cache
def layout(written: str) -> Layout:
    """Parse a layout.

    Examples
    --------
    >>> sizes = {}
    >>> layout("f4[words,dim]").check("matrix", np.zeros((3, 2), np.float32), sizes)
    >>> layout("i8[words+1]").check("offsets", np.zeros(3, np.int64), sizes)
    Traceback (most recent call last):
    parasphere.layouts.LayoutError: offsets must be int64 of shape (4), not int64 of shape (3)
    """
    parts = _WRITTEN.fullmatch(written)
    if parts is None:
        raise ValueError(f"{written!r} is not a layout")
    kind, shape, optional = parts.groups()
    axes: list[tuple[str | None, int]] = []
    for word in shape.split(","):
        axis = _AXIS.fullmatch(word)
        if axis is None:
            raise ValueError(f"{written!r} has an axis that is neither a name, a number nor *")
        name, more, size = axis.groups()
        axes.append((name, int(more or 0)) if name else (None, int(size) if size else -1))
    return Layout(tuple(map(np.dtype, _ANY.get(kind, (kind,)))), tuple(axes), bool(optional))


def check_layouts(arrays: Mapping[str, Any], layouts: Mapping[str, str], sizes: dict[str, int] | None = None) -> None:
    """Raise unless each named array is present and fits its layout, and equally named sizes are equal."""
    sizes = {} if sizes is None else sizes
    for name, written in layouts.items():
        if name not in arrays:
            raise LayoutError(f"{name} is missing")
        layout(written).check(name, arrays[name], sizes)


def check_types(hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raise unless values agree with annotations, as far as these are plain types; NaN is not a number."""
    for name, value in values.items():
        if not _is_a(value, hints.get(name, Any)):
            raise ParasphereError(f"{name} is {str(value)[:60]!r}, which is not a valid value")


def _is_a(value: Any, hint: Any) -> bool:
    kind: Any = get_origin(hint) or hint
    items = get_args(hint)
    if kind in (Union, UnionType):
        return any(_is_a(value, each) for each in items)
    if kind is Literal:
        return value in items
    if kind is float and isinstance(value, float):
        return not math.isnan(value)
    if kind in (int, float):
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if kind is Callable:
        return callable(value)
    if kind is Any or not isinstance(kind, type):
        return True
    return isinstance(value, kind) and all(_is_a(item, due) for item, due in _items(value, kind, items))


def _items(value: Any, kind: Any, hints: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Return the items of a container, and what each must be."""
    if kind is dict and hints:
        return [pair for key, item in value.items() for pair in ((key, hints[0]), (item, hints[1]))]
    return [(item, hints[0]) for item in value] if kind in (list, tuple) and hints and hints[1:] in ((), (...,)) else []
