"""Memory that is not what it seems: odd bools, arrays that overlap, rows of nothing, more than there is."""

import os
import sys
from typing import Any

import numpy as np
import pytest

from parasphere import WordVectors, _kernels


def test_bools_of_any_byte() -> None:
    """Python's bools may be views of any bytes: all but 0 are True."""
    rows, ones, out = np.full((2, 3), 5.0), np.ones(2), np.ones((2, 3))
    odd = np.array([2, 255], np.uint8).view(bool)
    _kernels.map_shifted_rows(rows, ones, np.zeros(3), None, odd, out)
    assert not out.any()


@pytest.mark.parametrize("name", ["matrix", "spans", "slots", "good"])
def test_a_text_that_is_written_over_while_it_is_read_is_refused(name: str) -> None:
    memory = np.full(96, ord("1"), np.uint8)
    memory[-1] = ord("\n")
    given: dict[str, Any] = {
        "text": memory, "matrix": np.zeros((4, 3), np.float32), "spans": np.zeros((4, 3), np.int64),
        "slots": np.zeros(4, np.int64), "good": np.zeros(4, bool),
    }  # fmt: skip
    due = given[name]
    given[name] = memory[-due.nbytes :].view(due.dtype).reshape(due.shape)
    with pytest.raises(ValueError, match=f"{name} is written to, and must not share memory with text"):
        _kernels.scan_text(**given)


def test_ever_so_many_rows_of_nothing_take_no_time() -> None:
    assert _kernels.first_not_unit(np.empty((2**59, 0), np.float32)) == 0
    assert _kernels.first_not_unit(np.empty((0, 2**59), np.float32)) == -1


@pytest.mark.parametrize("wrong", [np.zeros((4, 3)), np.zeros((3, 4), np.float32).T, np.zeros(12, np.float32), None])
def test_nothing_is_converted(wrong: Any) -> None:
    """A converted copy would be written to in place of the array."""
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.normalise(wrong, np.zeros(4))


@pytest.mark.skipif(bool(os.environ.get("PARASPHERE_TEST_KERNELS")), reason="sanitizers end the process instead")
def test_a_lack_of_memory_is_told_in_a_sentence() -> None:
    wide, none = np.empty((0, 2**59), np.float32), np.zeros(0)
    with pytest.raises(MemoryError, match="there is not enough memory for the arrays that this call needs"):
        _kernels.sum_rows(
            none.astype("i4"), none.astype("i8"), wide, None, 0.0, wide, none, none, none.astype("i8"), none
        )


@pytest.mark.parametrize("given", [None, 3, "words", _kernels.WordTable])
def test_only_tables_are_reduced(given: Any) -> None:
    with pytest.raises(TypeError, match=r"a table of words is due|incompatible function arguments"):
        _kernels.WordTable.__reduce__(given)


@pytest.mark.skipif(not os.environ.get("PARASPHERE_TEST_KERNELS"), reason="the kernels are those of the package")
def test_the_kernels_are_those_that_are_asked_for() -> None:
    assert _kernels.__file__ == os.environ["PARASPHERE_TEST_KERNELS"]
    assert np.isfinite(WordVectors.from_arrays(["one"], [[3.0, 4.0]]).matrix).all()
    assert sys.modules["parasphere._kernels"] is _kernels
