"""What arrays must look like before compiled code may touch them: one door in front of every loop.

A compiled loop does not ask whether an index lies within an array: with a matrix that is too narrow, not contiguous or
of another type it would read what is not its own. So each loop that Python calls says what it takes, and
:func:`guarded` looks at every array before the loop does, at a cost that does not depend on their size. What a fitted
estimator keeps is declared in the same way and looked at when it is loaded.

A layout is written like ``"f4[words,dim]"``: a type of numpy's (``f`` for f4 or f8, ``i`` for i4 or i8), and for each
axis a name, a number, or ``*`` for any size. A name stands for the same size wherever it occurs; ``n+1`` is one more.
A question mark at the end allows None.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import ParasphereError

Loop = TypeVar("Loop", bound=Callable[..., Any])

_WRITTEN = re.compile(r"([a-z]+[0-9]?)\[(.*)\](\??)")
_AXIS = re.compile(r"([a-z_]+)(?:\+([0-9]+))?|([0-9]+)|\*")
_ANY = {"f": ("f4", "f8"), "i": ("i4", "i8")}


class LayoutError(ParasphereError):
    """An array of the wrong type, shape or order in memory."""


class Layout(NamedTuple):
    """A layout, read.

    Attributes
    ----------
    written : str
    dtypes : tuple of dtype
        Any of these.
    axes : tuple of (str or None, int)
        The name of a size and what is added to it; None and the size itself, or -1 for any.
    optional : bool
        Whether None will do.
    """

    written: str
    dtypes: tuple[Any, ...]
    axes: tuple[tuple[str | None, int], ...]
    optional: bool

    def check(self, name: str, array: Any, sizes: dict[str, int]) -> None:
        """Raise unless an array fits; ``sizes`` are those that names stand for so far, and grows."""
        if array is None and self.optional:
            return
        if not isinstance(array, np.ndarray) or array.dtype not in self.dtypes or array.ndim != len(self.axes):
            raise self._error(name, array, sizes)
        if not array.flags.c_contiguous:
            raise LayoutError(f"{name} must lie row after row (C order), as np.ascontiguousarray makes it")
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
        if isinstance(array, np.ndarray):
            found = f"{array.dtype} of shape ({', '.join(map(str, array.shape))})"
        else:
            found = f"a {type(array).__name__}"
        return LayoutError(f"{name} must be {due} of shape ({shape}), not {found}")

    @staticmethod
    def _shown(axis: tuple[str | None, int], sizes: Mapping[str, int]) -> str:
        name, more = axis
        if name is None:
            return "any" if more < 0 else str(more)
        return str(sizes[name] + more) if name in sizes else f"{name} + {more}" if more else name


@cache
def layout(written: str) -> Layout:
    """Read a layout.

    Examples
    --------
    >>> sizes = {}
    >>> layout("f4[words,dim]").check("matrix", np.zeros((3, 2), np.float32), sizes)
    >>> layout("i8[words+1]").check("offsets", np.zeros(3, np.int64), sizes)
    Traceback (most recent call last):
    parasphere.compiled.layout.LayoutError: offsets must be int64 of shape (4), not int64 of shape (3)
    """
    parts = _WRITTEN.fullmatch(written)
    if parts is None:
        raise ValueError(f"{written!r} is no layout")
    kind, shape, optional = parts.groups()
    axes: list[tuple[str | None, int]] = []
    for word in shape.split(","):
        axis = _AXIS.fullmatch(word)
        if axis is None:
            raise ValueError(f"{written!r} has an axis that is neither a name, a number nor *")
        name, more, size = axis.groups()
        axes.append((name, int(more or 0)) if name else (None, int(size) if size else -1))
    return Layout(written, tuple(map(np.dtype, _ANY.get(kind, (kind,)))), tuple(axes), bool(optional))


def check_layouts(arrays: Mapping[str, Any], layouts: Mapping[str, str], sizes: dict[str, int] | None = None) -> None:
    """Raise unless each named array is there and fits its layout, and all fit each other."""
    sizes = {} if sizes is None else sizes
    for name, written in layouts.items():
        if name not in arrays:
            raise LayoutError(f"{name} is missing")
        layout(written).check(name, arrays[name], sizes)


def guarded(**layouts: str) -> Callable[[Loop], Loop]:
    """Put a door before a compiled loop: its array arguments must have these layouts, or a LayoutError is raised.

    Only Python goes through it; a compiled loop that is called by another is not guarded.

    Examples
    --------
    >>> @guarded(x="f8[n]", y="f8[n]")
    ... def dot(x, y):
    ...     return float(sum(x * y))
    >>> dot(np.ones(2), np.ones(2))
    2.0
    >>> dot(np.ones(2), np.ones(3))
    Traceback (most recent call last):
    parasphere.compiled.layout.LayoutError: y must be float64 of shape (2), not float64 of shape (3)
    """

    def decorate(loop: Any) -> Any:
        names = list(inspect.signature(loop).parameters)
        plan = [(names.index(name), name, layout(written)) for name, written in layouts.items()]

        @wraps(loop)
        def door(*arguments: Any) -> Any:
            sizes: dict[str, int] = {}
            for place, name, due in plan:
                due.check(name, arguments[place], sizes)
            return loop(*arguments)

        vars(door)["layouts"] = layouts
        return door

    return decorate
