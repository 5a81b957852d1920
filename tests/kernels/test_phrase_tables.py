"""Phrases that replace their words, beside a trie of dictionaries in Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere import _kernels

N_WORDS = 5
Trie = dict[int, Any]


def parts_of(phrases: dict[tuple[int, ...], int]) -> list[np.ndarray]:
    """Return the arrays of a table of phrases of words below N_WORDS, with the row of each."""
    nodes: dict[tuple[int, ...], int] = {(word,): word for word in range(N_WORDS)}
    parents, words = [], []
    for phrase in phrases:
        for size in range(2, len(phrase) + 1):
            run = phrase[:size]
            if run not in nodes:
                parents.append(nodes[run[:-1]])
                words.append(run[-1])
                nodes[run] = len(nodes)
    entries = np.full(len(nodes), -1, np.int32)
    for phrase, row in phrases.items():
        entries[nodes[phrase]] = row
    return [np.array(parents, np.int64), np.array(words, np.int32), entries]


def joined_slowly(phrases: dict[tuple[int, ...], int], texts: list[list[int]]) -> tuple[list[list[int]], list[int]]:
    """Return the units of each text, and the place of the first word of each."""
    trie: Trie = {}
    for phrase, row in phrases.items():
        node = trie
        for word in phrase:
            node = node.setdefault(word, {})
        node["row"] = row  # type: ignore[index]
    found, begins, first = [], [], 0
    for text in texts:
        units, at = [], 0
        while at < len(text):
            best, length, node = text[at], 1, trie
            for size, word in enumerate(text[at:], 1):
                if word not in node:
                    break
                node = node[word]
                if size > 1 and "row" in node:
                    best, length = node["row"], size
            units.append(best)
            begins.append(first + at)
            at += length
        found.append(units)
        first += len(text)
    return found, begins


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.lists(st.integers(0, N_WORDS - 1), min_size=2, max_size=4).map(tuple),
        st.integers(0, N_WORDS - 1),
        max_size=9,
    ),
    st.lists(st.lists(st.integers(-3, N_WORDS - 1), max_size=20), max_size=5),
)
def test_the_longest_phrases_replace_their_words(phrases: dict[tuple[int, ...], int], texts: list[list[int]]) -> None:
    units, due_begins = joined_slowly(phrases, texts)
    table = _kernels.PhraseTable(*parts_of(phrases))
    for with_begins in (False, True):
        ids = np.array([word for text in texts for word in text], np.int32)
        ends = np.cumsum([len(text) for text in texts]).astype(np.int64)
        begins = np.full(len(ids), -1)
        count = table.join(ids, ends, begins if with_begins else None)
        assert ids[:count].tolist() == [unit for own in units for unit in own]
        assert ends.tolist() == np.cumsum([len(own) for own in units]).tolist()
        if with_begins:
            assert begins[:count].tolist() == due_begins


PHRASES = {(0, 1): 2, (0, 1, 2): 3, (4, 4): 0}


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, None, "parents must be an array, not None"),
        (0, np.zeros(3, np.int32), "parents must be int64 with 1 axis"),
        (0, np.zeros(2, np.int64), "words must have size 2"),
        (0, np.array([0, 7, 4]), "parents must be earlier nodes, but that of run 1 is 7"),
        (0, np.array([5, 1, 4]), "parents must be earlier nodes, but that of run 0 is 5"),
        (0, np.array([0, -1, 4]), "parents must be earlier nodes, but that of run 1 is -1"),
        (1, np.array([1, 5, 4], np.int32), "words must lie between 0 and 4, but that of run 1 is 5"),
        (1, np.array([1, 2, -1], np.int32), "words must lie between 0 and 4, but that of run 2 is -1"),
        (2, np.zeros(2, np.int32), "entries must have one number per node, at least 3, not 2"),
        (2, np.full(8, 5, np.int32), "entries must lie between -1 and 4, not be 5"),
        (2, np.full(8, -2, np.int32), "entries must lie between -1 and 4, not be -2"),
        (2, np.full(16, -1, np.int32)[::2], "entries must be contiguous"),
    ],
)
def test_a_wrong_table_is_refused(place: int, value: Any, message: str) -> None:
    parts: list[Any] = parts_of(PHRASES)
    parts[place] = value
    with pytest.raises(ValueError, match=message):
        _kernels.PhraseTable(*parts)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ids": np.array([0, 1, 5], np.int32)}, "ids must be below 5, the number of words, but one of them is 5"),
        ({"ids": np.array([0, 1, 2])}, "ids must be int32"),
        ({"ends": np.array([4])}, "ends must rise and lie within the 3 ids, but one of them is 4"),
        ({"ends": np.array([2, 1])}, "ends must rise and lie within the 3 ids, but one of them is 1"),
        ({"ends": np.array([-1])}, "ends must rise and lie within the 3 ids, but one of them is -1"),
        ({"ends": np.array([2**62])}, "ends must rise"),
        ({"begins": np.zeros(2, np.int64)}, "begins must have size 3"),
        ({"begins": np.frombuffer(bytes(24), np.int64)}, "begins is written to, and must not be read-only"),
    ],
)
def test_a_wrong_call_is_refused(changed: dict[str, Any], message: str) -> None:
    table = _kernels.PhraseTable(*parts_of(PHRASES))
    given = {"ids": np.array([0, 1, 2], np.int32), "ends": np.array([3]), "begins": np.zeros(3, np.int64)}
    with pytest.raises(ValueError, match=message):
        table.join(**(given | changed))


def test_places_that_overwrite_the_ends_of_texts() -> None:
    """What is written may be what is still to be read: nothing beyond the arrays is touched."""
    table = _kernels.PhraseTable(*parts_of(PHRASES))
    ends = np.array([3, 3, 3])
    with pytest.raises(ValueError, match=r"ends must rise from 0 to at most 3, but \d follows 3"):
        table.join(np.array([4, 3, 1], np.int32), ends, ends)
