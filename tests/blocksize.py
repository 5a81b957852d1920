"""Corpora in small pieces: documents must not depend on how they are cut."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from parasphere.corpus import Block, arrow, block, blocks, decoding, files, reading

ROWS = ((arrow, "SLICE"), (files, "SLICE"), (reading, "BATCH"))


@contextmanager
def small_blocks(size: int) -> Iterator[None]:
    """Read corpora in blocks of about ``size`` bytes of text, and in pieces and slices no larger than that."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block, "BYTES", size)
        patch.setattr(decoding, "PIECE", min(size, decoding.PIECE))
        for module, name in ROWS:
            patch.setattr(module, name, min(size, getattr(module, name)))
        yield


def read_in(size: int, source: Any, **columns: Any) -> list[Block]:
    """Return the blocks of a corpus that is read in small pieces."""
    with small_blocks(size):
        return list(blocks(source, **columns))
