"""A hash table of runs of words: from a shorter run and the word after it to the longer run."""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled, guarded

EMPTY = -1  # in a slot


class RunTable(NamedTuple):
    """A hash table from runs, as ``parent * n_words + last word``, to their nodes.

    The hash of a run is ``run * multiplier >> shift``. The multiplier is odd and random, so that nobody can choose
    texts whose runs collide; results do not depend on it.
    """

    slots: NDArray[np.int64]  # (capacity, 2): a run and its node; -1 where there is none
    multiplier: np.uint64
    shift: np.uint64

    @classmethod
    def of(cls, runs: NDArray[np.int64], first: int) -> "RunTable":
        """Return the table of runs whose nodes are ``first`` and so on."""
        bits = max(1, (2 * len(runs)).bit_length())  # a shift by all 64 bits is not defined
        multiplier = np.uint64(int.from_bytes(os.urandom(8)) | 1)
        table = cls(np.full((1 << bits, 2), EMPTY, np.int64), multiplier, np.uint64(64 - bits))
        _enter(runs, first, *table)
        return table


@compiled
def slot_of(key: Any, slots: Any, multiplier: Any, shift: Any) -> Any:
    """Return the slot of a key, or the empty slot where it belongs."""
    slot = np.int64((np.uint64(key) * multiplier) >> shift)
    while slots[slot, 0] != key and slots[slot, 0] != EMPTY:
        slot = (slot + 1) & (slots.shape[0] - 1)
    return slot


@guarded(runs="i8[n]", slots="i8[capacity,2]")
@compiled
def _enter(runs: Any, first: Any, slots: Any, multiplier: Any, shift: Any) -> None:
    """Enter runs into an empty table."""
    for i in range(runs.shape[0]):
        slot = slot_of(runs[i], slots, multiplier, shift)
        slots[slot, 0] = runs[i]
        slots[slot, 1] = first + i
