"""Validation of the parameters of estimators.

An estimator declares which values its parameters may have, and checks them before they are used::

    class Mixture(BaseEstimator):
        _parameters: ClassVar[Constraints] = {
            "n_components": number(int, 1),
            "init": one_of("k-means++", "random") | ARRAY_LIKE,
            "tol": number(float, 0) | NONE,
            "random_state": RANDOM_STATE,
        }

        def fit(self, X, y=None):
            check_parameters(self)
            ...

A subclass extends the constraints of its base: ``_parameters = Base._parameters | {...}``. Parameters without a
constraint are not checked.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from .errors import InvalidParameterError

__all__ = [
    "ARRAY_LIKE", "BOOLEAN", "CALLABLE", "NONE", "N_JOBS", "PATH", "RANDOM_STATE", "VERBOSE", "Constraint",
    "Constraints", "check_parameters", "having", "instance_of", "number", "one_of",
]  # fmt: skip


@dataclass(frozen=True)
class Constraint:
    """The values that a parameter may have; ``a | b`` accepts the values of either.

    Parameters
    ----------
    accepts : callable
        Returns whether a value is valid.
    expected : tuple of str
        What is valid, for messages: "an int in the range [1, inf)".
    """

    accepts: Callable[[Any], bool]
    expected: tuple[str, ...]

    def __or__(self, other: Constraint) -> Constraint:
        return Constraint(lambda value: self.accepts(value) or other.accepts(value), self.expected + other.expected)

    def __str__(self) -> str:
        *others, last = self.expected
        return f"{', '.join(others)} or {last}" if others else last


Constraints: TypeAlias = dict[str, Constraint]


def number(
    kind: type[int] | type[float],
    low: float = -math.inf,
    high: float = math.inf,
    closed: Literal["left", "right", "both", "neither"] = "left",
) -> Constraint:
    """Accept numbers from ``low`` to ``high``, including numpy's, but not booleans or NaN.

    Parameters
    ----------
    kind : {int, float}
        Integers, or real numbers, which include integers.
    low, high : float
        The range.
    closed : {"left", "right", "both", "neither"}, default="left"
        Which of ``low`` and ``high`` are in the range.

    Examples
    --------
    >>> str(number(float, 0, 1, "right") | NONE)
    'a float in the range (0.0, 1.0] or None'
    """
    with_low, with_high = closed in ("left", "both"), closed in ("right", "both")
    types: tuple[Any, ...] = (Integral,) if kind is int else (Real,)

    def accepts(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, types):
            return False
        return bool(low < value < high or (with_low and value == low) or (with_high and value == high))

    first, last = (str(end if math.isinf(end) else kind(end)) for end in (low, high))
    interval = f"{'[' if with_low else '('}{first}, {last}{']' if with_high else ')'}"
    return Constraint(accepts, (f"{'an int' if kind is int else 'a float'} in the range {interval}",))


def one_of(*options: str | int) -> Constraint:
    """Accept any of the listed values.

    Examples
    --------
    >>> str(one_of("data", "paper"))
    "'data' or 'paper'"
    """
    return Constraint(lambda value: isinstance(value, str | Integral) and value in options, tuple(map(repr, options)))


def instance_of(*types: type) -> Constraint:
    """Accept instances of any of these types."""
    return Constraint(
        lambda value: isinstance(value, types), tuple(f"an instance of {kind.__name__!r}" for kind in types)
    )


def having(*methods: str) -> Constraint:
    """Accept objects that have all of these methods."""
    names = " and ".join(map(repr, methods))
    return Constraint(
        lambda value: all(callable(getattr(value, method, None)) for method in methods), (f"an object with {names}",)
    )


def _is_array_like(value: Any) -> bool:
    return (
        not isinstance(value, str | bytes | type)
        and not np.isscalar(value)
        and (hasattr(value, "__len__") or hasattr(value, "__array__"))
    )


NONE = Constraint(lambda value: value is None, ("None",))
CALLABLE = Constraint(callable, ("a callable",))
BOOLEAN = Constraint(lambda value: isinstance(value, bool | np.bool_), ("a bool",))
VERBOSE = BOOLEAN | number(int, 0)
PATH = Constraint(lambda value: isinstance(value, str | os.PathLike), ("a path",))
ARRAY_LIKE = Constraint(_is_array_like, ("an array-like",))
RANDOM_STATE = number(int, 0, 2**32 - 1, "both") | instance_of(np.random.RandomState) | NONE
N_JOBS = number(int, 1) | one_of(-1) | NONE


class Parametrised(Protocol):
    """An estimator of scikit-learn's kind with constraints."""

    _parameters: Constraints

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""


def check_parameters(estimator: Parametrised, values: Mapping[str, Any] | None = None) -> None:
    """Raise an :class:`~parasphere.errors.InvalidParameterError` unless all parameters have valid values.

    Parameters
    ----------
    estimator : estimator
        With ``get_params`` and with constraints as ``_parameters``.
    values : dict, default=None
        The values by name; None is those of the estimator.
    """
    for name, value in (estimator.get_params(deep=False) if values is None else values).items():
        constraint = estimator._parameters.get(name)
        if constraint is not None and not constraint.accepts(value):
            raise InvalidParameterError(
                f"The {name!r} parameter of {type(estimator).__name__} must be {constraint}. Got {value!r} instead."
            )
