"""Fixtures that more than one test file uses."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Every process that the tests start, and the tests themselves, use a cache of their own.
os.environ.setdefault("PARASPHERE_CACHE", str(Path(__file__).parent.parent / ".pytest_cache" / "vectors"))
# Encoders that somebody trained here are none of the tests' business.
os.environ["PARASPHERE_DATA"] = str(Path(__file__).parent.parent / ".pytest_cache" / "data")

# The first call of a compiled function may compile it: a deadline would measure that, not the test.
settings.register_profile("reproduction", deadline=None)
settings.load_profile("reproduction")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)
