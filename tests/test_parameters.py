"""Constraints of parameters, compared with what scikit-learn accepts."""

from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from parasphere.errors import InvalidParameterError, ParasphereError
from parasphere.parameters import (
    ARRAY_LIKE,
    BOOLEAN,
    CALLABLE,
    N_JOBS,
    NONE,
    PATH,
    RANDOM_STATE,
    VERBOSE,
    Constraint,
    Constraints,
    check_parameters,
    having,
    instance_of,
    number,
    one_of,
)

NAN, INF = float("nan"), float("inf")
CASES: dict[str, tuple[Constraint, list[Any], list[Any]]] = {
    "integers": (number(int, 1), [1, 10**30, np.int8(1), np.uint64(3)], [0, -1, 1.0, True, np.True_, "1", None, NAN]),
    "real numbers": (number(float, 0), [0, 0.0, np.float32(0.5), Fraction(1, 3)], [-1e-9, INF, NAN, False, "0", 1j]),
    "open below": (number(float, 0, 1, "right"), [1, 5e-324], [0, 1.0000001, np.float64(0)]),
    "open": (number(float, 0, 1, "neither"), [0.5], [0, 1]),
    "closed": (number(float, 0, closed="both"), [0, INF, np.float64(INF)], [NAN, -INF, np.array([1.0])]),
    "names": (one_of("data", "paper"), ["data", np.str_("paper")], ["dat", None, 0, ["data"], np.array(["data"])]),
    "threads": (N_JOBS, [1, -1, np.int64(-1), None], [0, -2, True, 2.0, -1.0]),
    "types": (instance_of(int, list) | NONE, [1, [], None], ["", 1.0]),
    "methods": (having("fit", "predict"), [type("Both", (), {"fit": len, "predict": len})], [np.linalg, 1, None]),
    "callables": (CALLABLE, [len, int], [None, "len"]),
    "booleans": (BOOLEAN, [True, np.False_], [0, 1, None, "no"]),
    "verbosity": (VERBOSE, [True, 0, 3], [-1, 0.5, "no", None]),
    "paths": (PATH, ["x", Path("x")], [b"x", 1, None]),
    "arrays": (ARRAY_LIKE, [[1], (1,), np.ones(2)], ["x", 1, None, np.float64(1), list]),
    "seeds": (RANDOM_STATE, [0, 2**32 - 1, np.random.RandomState(0), None], [-1, 2**32, 0.5, np.random.default_rng(0)]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_are_accepted_or_refused(name: str) -> None:
    constraint, right, wrong = CASES[name]
    assert [value for value in right if not constraint.accepts(value)] == []
    assert [value for value in wrong if constraint.accepts(value)] == []


class Estimator(BaseEstimator):
    _parameters: ClassVar[Constraints] = {
        "size": number(int, 2, 9, "both") | one_of("auto") | NONE,
        "seed": RANDOM_STATE,
    }

    def __init__(self, size: Any = None, seed: Any = 0, free: Any = None) -> None:
        self.size, self.seed, self.free = size, seed, free


def test_errors_name_estimator_parameter_and_value() -> None:
    check_parameters(Estimator("auto", 3, free=object()))
    with pytest.raises(InvalidParameterError) as raised:
        check_parameters(Estimator(size=1))
    expected = "The 'size' parameter of Estimator must be an int in the range [2, 9], 'auto' or None. Got 1 instead."
    assert str(raised.value) == expected
    assert isinstance(raised.value, ParasphereError)
    assert isinstance(raised.value, ValueError)
    assert isinstance(raised.value, TypeError)


def test_other_values_than_those_of_the_estimator() -> None:
    check_parameters(Estimator(size=1), {"size": 2})
    with pytest.raises(InvalidParameterError, match=r"'seed' .* Got 'x' instead"):
        check_parameters(Estimator(), {"seed": "x"})
