"""Checks of the type, shape and memory order of arrays before compiled code uses them.

A compiled loop does not check whether an index lies within an array: given a matrix that is too narrow, not contiguous
or of another type, it would read memory outside the array. Each loop that is called from Python therefore declares the
layouts of its arrays, and :func:`guarded` checks them at a cost that does not depend on their size. The arrays of
fitted estimators are declared in the same way and checked when they are loaded.

One short text passes forty such checks, which took a quarter of its time one by one. :func:`fitting` therefore writes
the checks of a loop out as one function; what that does not accept is checked again, one by one, to say what is wrong.

A layout is written like ``"f4[words,dim]"``: a numpy type (``f`` for f4 or f8, ``i`` for i4 or i8), and for each axis
a name, a number, or ``*`` for any size. A name stands for the same size wherever it occurs; ``n+1`` is one more. A
question mark at the end allows None.
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
        given = f"a {type(array).__name__}"
        if isinstance(array, np.ndarray):
            given = f"{array.dtype} of shape ({', '.join(map(str, array.shape))})"
        return LayoutError(f"{name} must be {due} of shape ({shape}), not {given}")

    @staticmethod
    def _shown(axis: tuple[str | None, int], sizes: Mapping[str, int]) -> str:
        name, more = axis
        if name is None:
            return "any" if more < 0 else str(more)
        return str(sizes[name] + more) if name in sizes else f"{name} + {more}" if more else name


class _Place(NamedTuple):
    """An array among the arguments of a loop."""

    argument: int
    field: str | None  # of a named tuple
    name: str  # for messages
    due: Layout


@cache
def layout(written: str) -> Layout:
    """Parse a layout.

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


def fitting(**layouts: str | Mapping[str, str]) -> Callable[..., bool]:
    """Return a function that tells quickly whether arrays fit their layouts.

    It takes the arrays by position, a named tuple where the layouts of its fields are given. True is certain; False is
    not, as a type may be equal to the due one without being the same object.

    Examples
    --------
    >>> fits = fitting(x="f8[n]", y="f8[n+1]")
    >>> fits(np.ones(2), np.ones(3)), fits(np.ones(2), np.ones(2)), fits(np.ones(2), [0, 1, 2])
    (True, False, False)
    """
    lines: list[str] = []
    sure: set[str] = set()  # sizes that are known by now, whichever arrays are None
    doubtful: set[str] = set()
    kinds: dict[str, Any] = {"ndarray": np.ndarray}
    for place, field, _, due in _plan(list(layouts), layouts):
        tests = _tests(due, kinds, sure, doubtful)
        lines.append(f"a = p{place}" if field is None else f"a = p{place}.{field}")
        lines += ["if a is not None:", *(f"    {line}" for line in tests)] if due.optional else tests
    body = [f"{size} = None" for size in sorted(doubtful)]
    body += ["try:", *(f"    {line}" for line in lines), "except (AttributeError, ValueError):", "    return False"]
    exec("\n    ".join([f"def fits({', '.join(f'p{i}' for i in range(len(layouts)))}):", *body, "return True"]), kinds)
    fits: Callable[..., bool] = kinds["fits"]
    return fits


def _tests(due: Layout, kinds: dict[str, Any], sure: set[str], doubtful: set[str]) -> list[str]:
    """Return the lines of Python that return False unless the array ``a`` fits; the types they name are added."""
    same = []
    for dtype in due.dtypes:
        kinds[f"t_{dtype.name}"] = dtype
        same.append(f"a.dtype is t_{dtype.name}")
    lines = [
        f"if not isinstance(a, ndarray) or not ({' or '.join(same)}) or not a.flags.c_contiguous: return False",
        "".join(f"s{i}, " for i in range(len(due.axes))) + "= a.shape",
    ]
    for i, (axis, more) in enumerate(due.axes):
        size = f"n_{axis}"
        if axis is None:
            lines += [f"if s{i} != {more}: return False"] if more >= 0 else []
        elif size in sure:
            lines.append(f"if s{i} != {size} + {more}: return False")
        else:
            lines.append(f"if s{i} < {more}: return False")
            if due.optional or size in doubtful:
                doubtful.add(size)
                lines += [f"if {size} is None: {size} = s{i} - {more}", f"if s{i} != {size} + {more}: return False"]
            else:
                lines.append(f"{size} = s{i} - {more}")
            if not due.optional:
                sure.add(size)
    return lines


def _plan(names: list[str], layouts: Mapping[str, str | Mapping[str, str]]) -> list[_Place]:
    """Return where each array is among the arguments of these names, and its layout."""
    plan = []
    for name, written in layouts.items():
        fields = {None: written} if isinstance(written, str) else written
        for field, text in fields.items():
            full = name if field is None else f"{name}.{field}"
            plan.append(_Place(names.index(name), field, full, layout(text)))
    return plan


def guarded(**layouts: str | Mapping[str, str]) -> Callable[[Loop], Loop]:
    """Check the array arguments of a compiled loop before each call; a LayoutError is raised if one does not fit.

    Only calls from Python are checked; a compiled loop that is called by another one is not.

    Parameters
    ----------
    **layouts : str or mapping of str to str
        The layout of each array argument; for an argument that is a named tuple, the layouts of its fields.

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
        plan, fits = _plan(names, layouts), fitting(**layouts)
        places = [names.index(name) for name in layouts]
        pick = None if places == list(range(len(names))) else places

        @wraps(loop)
        def door(*arguments: Any) -> Any:
            if not fits(*(arguments if pick is None else [arguments[place] for place in pick])):
                sizes: dict[str, int] = {}
                for place, field, name, due in plan:
                    array = arguments[place] if field is None else getattr(arguments[place], field)
                    due.check(name, array, sizes)
            return loop(*arguments)

        vars(door).update(layouts=layouts, fits=fits)
        return door

    return decorate
