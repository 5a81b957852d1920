"""Compiled loops: compilation, the cache of compiled code, and checks of the arrays that the loops take.

The modules ``rows`` (sums over the rows of a matrix) and ``memory`` (access by address) are imported by name: they
load numba, which what is listed here does not.
"""

from .jit import compiled
from .layout import LayoutError, check_layouts, fitting, guarded

__all__ = ["LayoutError", "check_layouts", "compiled", "fitting", "guarded"]
