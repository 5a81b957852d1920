"""Compilation of inner loops by numba."""

from collections.abc import Callable
from typing import Any, TypeVar, overload

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., Any])


@overload
def compiled(function: Loop) -> Loop: ...
@overload
def compiled(**options: Any) -> Callable[[Loop], Loop]: ...
def compiled(function: Any = None, **options: Any) -> Any:
    """Compile a function to machine code, kept on disk, that does not hold Python's global lock.

    Parameters
    ----------
    function : callable, optional
        The function to compile; left out if there are options, as in ``@compiled(fastmath=True)``.
    **options
        Options of ``numba.njit``.

    Notes
    -----
    A loop calls only loops of its own file: numba compiles the code on disk again when that file changes.
    """
    decorate = njit(nogil=True, cache=True, **options)
    return decorate if function is None else decorate(function)
