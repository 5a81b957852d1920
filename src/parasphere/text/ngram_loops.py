"""The compiled inner loops over n-grams: look up runs of words, hash them, and count them per text and column.

Texts are concatenated: ``words`` and ``nodes`` have one entry per place, -1 for none, and ``ends`` says where each text
ends. The table of runs is :class:`parasphere.text.runs.RunTable`.
"""

from typing import Any

import numpy as np

from ..compiled import compiled, guarded
from .runs import slot_of

_FNV_START = np.uint64(0xCBF29CE484222325)
_FNV_PRIME = np.uint64(0x100000001B3)
_SPACE = np.uint64(32)


@guarded(nodes="i4[n]", words="i4[n]", ends="i8[texts]", slots="i8[capacity,2]", longer="i4[n]")
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


@guarded(keys="i8[n]", counts="i8[n]")
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


@guarded(columns="i4[levels,n]", ends="i8[texts]", keys="i8[*]")
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


@guarded(data="u1[bytes]", offsets="i8[words+1]", words="i4[n]", ends="i8[texts]", columns="i4[levels,n]")
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
