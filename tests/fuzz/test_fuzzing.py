"""A few hundred cases of every target of the fuzz harness; ``make fuzz`` tries others for hours."""

import fuzzing
import pytest

CASES = 200
SLOW = {"crafted_files": 120}


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_nothing_but_our_own_errors(target: str) -> None:
    for number in range(SLOW.get(target, CASES)):
        try:
            fuzzing.try_case(target, f"0-{number}")
        except Exception as error:
            error.add_note(f"to try it again: make fuzz FUZZ_TARGET={target} FUZZ_CASE=0-{number}")
            raise
