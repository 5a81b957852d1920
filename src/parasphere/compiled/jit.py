"""Compilation of inner loops by numba, with a cache on disk where possible."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, overload

Loop = TypeVar("Loop", bound=Callable[..., Any])


@overload
def compiled(function: Loop) -> Loop: ...
@overload
def compiled(**options: Any) -> Callable[[Loop], Loop]: ...
def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a function to machine code that does not hold Python's global lock.

    Parameters
    ----------
    function : callable, optional
        The function to compile; left out if there are options, as in ``@compiled(fastmath=True)``.
    **options
        Options of ``numba.njit``; ``nogil`` is true by default.

    Examples
    --------
    >>> @compiled
    ... def double(x):
    ...     return 2 * x
    >>> double(21)
    42
    """
    from numba import njit

    from .codecache import CodeCache

    options.setdefault("nogil", True)

    def decorate(loop: Callable[..., Any]) -> Any:
        dispatcher = njit(**options)(loop)
        with suppress(OSError, TypeError):  # no source file, as in an interactive session
            dispatcher._cache = CodeCache(loop)
        return dispatcher

    return decorate if function is None else decorate(function)
