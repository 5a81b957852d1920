"""Compiled loops: how they are compiled and cached, what arrays they take, and sums over rows."""

from .jit import compiled
from .layout import LayoutError, check_layouts, guarded

__all__ = ["LayoutError", "check_layouts", "compiled", "guarded"]
