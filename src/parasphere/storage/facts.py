"""Checking values read from a folder against type annotations."""

import math
from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..errors import ParasphereError

# The exceptions that Python raises if facts from a folder are not as expected.
WRONG_FACTS = (
    KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError, RecursionError, AssertionError,
)  # fmt: skip


def check_types(hints: Mapping[str, Any] | Callable[..., Any], values: Mapping[str, Any]) -> None:
    """Raise unless values agree with annotations, as far as these are plain types; NaN is not a number."""
    known = hints if isinstance(hints, Mapping) else get_type_hints(hints)
    for name, value in values.items():
        if not _is_a(value, known.get(name, Any)):
            raise ParasphereError(f"{name} is {str(value)[:60]!r}, which is not a valid value")


def _is_a(value: Any, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind in (Union, UnionType):
        return any(_is_a(value, each) for each in get_args(hint))
    if kind is Literal:
        return value in get_args(hint)
    if kind is float and isinstance(value, float):
        return not math.isnan(value)
    if kind in (int, float):
        return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    if kind is Callable:
        return callable(value)
    if kind is list and get_args(hint):
        return isinstance(value, list) and all(_is_a(item, get_args(hint)[0]) for item in value)
    return kind is Any or not isinstance(kind, type) or isinstance(value, kind)
