"""The compiled inner loops over n-grams: look up runs of words, hash them, and count them per text and column.

Texts are concatenated: ``words`` and ``nodes`` have one entry per place, -1 for none, and ``ends`` says where each text
ends.
"""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..loops import compiled

_FNV_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_SPACE = np.uint64(32)
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


@compiled
def _enter(runs: Any, first: Any, slots: Any, multiplier: Any, shift: Any) -> None:
    """Enter runs into an empty table."""
    for i in range(runs.shape[0]):
        slot = slot_of(runs[i], slots, multiplier, shift)
        slots[slot, 0] = runs[i]
        slots[slot, 1] = first + i


@compiled
def look_up(
    nodes: Any, words: Any, ends: Any, size: Any, n_words: Any, slots: Any, multiplier: Any, shift: Any, longer: Any
) -> None:
    """Write the node of the run of ``size`` words at each place to ``longer``, given the node of one word less."""
    begin = 0
    for text in range(ends.shape[0]):
        for i in range(begin, ends[text]):
            longer[i] = -1
            last = i + size - 1
            if last < ends[text] and nodes[i] >= 0 and words[last] >= 0:
                slot = slot_of(np.int64(nodes[i]) * n_words + words[last], slots, multiplier, shift)
                longer[i] = slots[slot, 1]
        begin = ends[text]


@compiled
def merge(keys: Any, counts: Any) -> Any:
    """Move the distinct ones of sorted keys to the front, and write their counts; return their number."""
    size = 0
    for key in keys:
        if size > 0 and keys[size - 1] == key:
            counts[size - 1] += 1
        else:
            keys[size] = key
            counts[size] = 1
            size += 1
    return size


@compiled
def fill_keys(columns: Any, ends: Any, keys: Any) -> Any:
    """Write ``text << 32 | column`` for each n-gram; return how many there are."""
    count = 0
    for level in range(columns.shape[0]):
        begin = 0
        for text in range(ends.shape[0]):
            for i in range(begin, ends[text]):
                if columns[level, i] >= 0:
                    keys[count] = (np.int64(text) << 32) | columns[level, i]
                    count += 1
            begin = ends[text]
    return count


@compiled
def hash_runs(data: Any, offsets: Any, words: Any, ends: Any, shortest: Any, n_columns: Any, columns: Any) -> None:
    """Write the column of the run of each length at each place: (n_lengths, n_places)."""
    begin = 0
    for text in range(ends.shape[0]):
        for i in range(begin, ends[text]):
            state = _FNV_START
            for size in range(1, shortest + columns.shape[0]):
                last = i + size - 1
                if last >= ends[text] or words[last] < 0:
                    break
                if size > 1:
                    state = (state ^ _SPACE) * _FNV_PRIME
                for k in range(offsets[words[last]], offsets[words[last] + 1]):
                    state = (state ^ np.uint64(data[k])) * _FNV_PRIME
                if size >= shortest:
                    columns[size - shortest, i] = np.int32(_mixed(state) % n_columns)
        begin = ends[text]


@compiled
def _mixed(bits: Any) -> Any:
    """Mix all bits (the last steps of MurmurHash3)."""
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return bits ^ (bits >> np.uint64(33))
