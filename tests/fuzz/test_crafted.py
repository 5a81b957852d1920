"""A few of the folders that crafted.py makes; ``make fuzz`` goes on for hours."""

import crafted
import pytest


@pytest.mark.parametrize("begin", range(0, 120, 20))
def test_crafted_folders_raise_our_errors_alone(begin: int) -> None:
    for seed in range(begin, begin + 20):
        crafted.case(seed)


def test_honest_folders_are_read() -> None:
    for name, target in crafted.TARGETS.items():
        assert crafted._saved(name).kind, name
        assert target.load
