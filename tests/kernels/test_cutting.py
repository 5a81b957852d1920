"""Random choices of joint learning, beside the same in Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere import _kernels

MASK = (1 << 64) - 1


class Random:
    """The generator xorshift64, in Python's integers."""

    def __init__(self, state: int) -> None:
        self.state = state

    def bits(self) -> int:
        self.state ^= self.state << 13 & MASK
        self.state ^= self.state >> 7
        self.state ^= self.state << 17 & MASK
        return self.state >> 33


def cut_slowly(
    texts: list[list[int]], keep: np.ndarray, context: int, targets: int, share: float, random: Random
) -> tuple[list[int], list[int], list[int]]:
    words: list[int] = []
    begins, middles = [0], []
    for text in texts:
        kept = [word for word in text if random.bits() < float(keep[word]) * 2**31]
        if len(kept) < 2:
            continue
        for i in range(len(kept) - 1, 0, -1):
            j = random.bits() % (i + 1)
            kept[i], kept[j] = kept[j], kept[i]
        n = -(-len(kept) // (context + targets))
        for piece in range(n):
            begin, end = piece * len(kept) // n, (piece + 1) * len(kept) // n
            middles.append(len(words) + end - max(1, min(targets, int((end - begin) * share + 0.5))))
            begins.append(len(words) + end)
        words += kept
    return words, begins, middles


def arguments(texts: list[list[int]], **changed: Any) -> dict[str, Any]:
    lengths = [len(text) for text in texts]
    room = sum(lengths)
    given = {
        "ids": np.array([word for text in texts for word in text], np.int32),
        "ends": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "order": np.arange(len(texts)),
        "keep": np.linspace(0.3, 1, 10).astype(np.float32),
        "context": 4,
        "targets": 2,
        "share": 0.25,
        "state": np.array([7], np.uint64),
        "words": np.empty(room, np.int32),
        "begins": np.empty(room // 2 + 1, np.int64),
        "middles": np.empty(room // 2, np.int64),
    }
    return given | changed


TEXTS = [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [3], [], [9, 9, 9]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=40), max_size=8),
    st.integers(1, 8),
    st.integers(1, 5),
    st.floats(0, 1),
    st.integers(1, MASK),
)
def test_texts_are_cut_as_in_python(
    texts: list[list[int]], context: int, targets: int, share: float, seed: int
) -> None:
    if context + targets < 3:
        return
    state = np.array([seed], np.uint64)
    given = arguments(texts, context=context, targets=targets, share=share, state=state)
    n_words, n = _kernels.cut(**given)
    random = Random(seed)
    expected = cut_slowly(texts, given["keep"], context, targets, share, random)
    found = given["words"][:n_words], given["begins"][: n + 1], given["middles"][:n]
    assert tuple(array.tolist() for array in found) == expected
    assert int(state[0]) == random.state


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"ids": np.arange(14)}, "incompatible function arguments"),
        ({"ids": np.full(14, 10, np.int32)}, "ids must be from 0 to below 10, not 10"),
        ({"ids": np.full(14, -1, np.int32)}, "ids must be from 0 .* not -1"),
        ({"ids": np.zeros(28, np.int32)[::2]}, "incompatible function arguments"),
        ({"ends": np.array([0, 10, 9, 11, 14])}, "ends must rise from 0 to at most 14, but"),
        ({"ends": np.array([0, 10, 11, 11, 15])}, "ends must rise"),
        ({"ends": np.array([-1, 10, 11, 11, 14])}, "ends must rise"),
        ({"ends": np.array([], np.int64)}, "ends must hold"),
        ({"ends": None}, "incompatible function arguments"),
        ({"order": np.array([4])}, "order must be from 0 to below 4, not 4"),
        ({"order": np.array([-1])}, "order must be from 0 to below 4, not -1"),
        ({"order": np.zeros(2, np.int64)}, "words has room for 14 words, and the documents have more"),
        ({"words": np.empty(13, np.int32)}, "words has room for 13 words"),
        ({"middles": np.empty(6, np.int64)}, "middles must have size 7 at least"),
        ({"begins": np.empty(7, np.int64)}, "middles must have size 7 at least, .* and begins one more"),
        ({"state": np.array([1, 2], np.uint64)}, "an array must have size 1"),
        ({"state": np.frombuffer(bytes(8), np.uint64)}, "incompatible function arguments"),
        ({"context": 0}, "pieces need at least one word of context"),
        ({"context": 1, "targets": 1}, "three words in all"),
        ({"context": 2**62, "targets": 2**62}, "pieces need"),
        ({"share": float("nan")}, "share must be from 0 to 1, not nan"),
        ({"share": -0.1}, "share must be from 0 to 1"),
    ],
)
def test_a_wrong_call_is_refused(changed: dict[str, Any], message: str) -> None:
    given = arguments(TEXTS, **changed)
    before = given["state"].copy()
    with pytest.raises((ValueError, TypeError), match=message):
        _kernels.cut(**given)
    np.testing.assert_array_equal(given["state"], before)


def test_keep_may_be_anything() -> None:
    for value in (np.nan, np.inf, -np.inf, -1.0):
        keep = np.full(10, value, np.float32)
        assert _kernels.cut(**arguments(TEXTS, keep=keep))[0] == (13 if value == np.inf else 0)


@pytest.mark.parametrize("size", [1, 8, 1000])
def test_words_are_drawn_as_in_python(size: int) -> None:
    table, random = np.arange(size, dtype=np.int32)[::-1].copy(), Random(5)
    state, drawn = np.array([5], np.uint64), np.empty(5000, np.int32)
    _kernels.draw(table, state, drawn)
    assert drawn.tolist() == [int(table[random.bits() % size]) for _ in range(5000)]
    assert int(state[0]) == random.state


def test_drawing_is_checked() -> None:
    table, state, drawn = np.zeros(4, np.int32), np.array([5], np.uint64), np.empty(3, np.int32)
    with pytest.raises(ValueError, match="table must hold words to draw"):
        _kernels.draw(table[:0], state, drawn)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.draw(table, state, drawn.astype(np.int64))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.draw(table, state, np.empty(6, np.int32)[::2])
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _kernels.draw(table, np.array([5]), drawn)
    _kernels.draw(table, state, drawn[:0])
