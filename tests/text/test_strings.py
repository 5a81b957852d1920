import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere.errors import ParasphereError
from parasphere.search import Ids
from parasphere.text import Strings


@given(st.lists(st.text(), max_size=8), st.lists(st.text(), max_size=8), st.data())
def test_strings_are_what_was_given(one: list[str], other: list[str], data: st.DataObject) -> None:
    both = Strings.concatenate([Strings.of(one), Strings.of(other)])
    assert both.tolist() == list(both) == [both[i] for i in range(len(both))] == one + other
    begin, end = data.draw(st.integers(-9, 9)), data.draw(st.integers(-9, 9))
    part = both[begin:end]
    assert part.tolist() == (one + other)[begin:end]
    assert Strings.concatenate([part, both]).tolist() == (one + other)[begin:end] + one + other
    assert both.take(np.arange(len(both))[::-1]).tolist() == (one + other)[::-1]
    both.check()


@pytest.mark.parametrize(
    ("data", "offsets"),
    [(b"ab", [0, 3]), (b"ab", [0, 2, 1]), (b"ab", [-1, 1]), (b"a\xff", [0, 2]), ("é".encode(), [0, 1, 2])],
)
def test_damaged_strings_are_found(data: bytes, offsets: list[int]) -> None:
    with pytest.raises(ParasphereError, match=r"beyond|not UTF-8"):
        Strings(np.frombuffer(data, np.uint8), np.array(offsets)).check()


def test_ids_keep_their_type() -> None:
    ids = Ids.concatenate([Ids.of([3, "a"]), Ids.of([np.int64(-5), "7"])])
    assert ids.tolist() == list(ids) == [3, "a", -5, "7"]
    assert ids[1:3].tolist() == ids.take([1, 2]).tolist() == ["a", -5]
    assert ids.positions(["3", 7]).tolist() == [0, 3]
    with pytest.raises(ParasphereError, match="two documents have the id '3'"):
        Ids.concatenate([Ids.of([3]), Ids.of(["3"])]).places  # noqa: B018
    with pytest.raises(ParasphereError, match="the document at position 5 has no id"):
        Ids.of([None], 5)
    with pytest.raises(ParasphereError, match="marked as an integer"):
        Ids(Strings.of(["x"]), np.array([True]))._check_loaded()
