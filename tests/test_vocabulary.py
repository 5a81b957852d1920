import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere.errors import VectorsError
from parasphere.vocabulary import DuplicateWordError, Vocabulary, first_rows

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(st.lists(words, unique=True), words)
def test_it_is_an_ordered_set(entries: list[str], other: str) -> None:
    vocabulary = Vocabulary(entries)
    assert vocabulary.words == entries
    assert vocabulary.get_many(entries).tolist() == list(range(len(entries)))
    assert (other in vocabulary) == (other in entries)
    assert vocabulary.get(other) == (entries.index(other) if other in entries else -1)
    again = Vocabulary.from_buffers(vocabulary.data, vocabulary.offsets)
    assert again.words == entries


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17, 64, 1023, 1024])
def test_words_that_differ_in_their_last_byte_are_told_apart(length: int) -> None:
    stem = "x" * (length - 1)
    vocabulary = Vocabulary([stem + "a", stem + "b"])
    assert [vocabulary.get(stem + end) for end in "abc"] == [0, 1, -1]


def test_a_nul_is_part_of_a_word() -> None:
    vocabulary = Vocabulary(["a", "a\0", "a\0\0"])
    assert vocabulary.get_many(["a\0\0", "a", "a\0"]).tolist() == [2, 0, 1]


def test_many_words_are_all_found(rng: np.random.Generator) -> None:
    entries = [f"w{number}" for number in rng.permutation(200_000)]
    vocabulary = Vocabulary(entries)
    assert np.array_equal(vocabulary.get_many(entries), np.arange(200_000))
    assert vocabulary.get_many([f"v{number}" for number in range(1000)]).max() == -1


def test_a_repeated_word_is_named_with_both_rows() -> None:
    with pytest.raises(DuplicateWordError, match=r"'b' stands in row 1 and again in row 3") as caught:
        Vocabulary(["a", "b", "c", "b"])
    assert (caught.value.word, caught.value.first, caught.value.second) == ("b", 1, 3)


def test_first_rows_marks_the_first_of_each_word() -> None:
    data = np.frombuffer(b"abab", np.uint8)
    assert first_rows(data, np.arange(5)).tolist() == [True, True, False, False]


def test_an_empty_word_is_refused() -> None:
    with pytest.raises(VectorsError, match="row 1 is empty"):
        Vocabulary(["a", ""])


def test_what_is_absent() -> None:
    vocabulary = Vocabulary(["a"])
    with pytest.raises(KeyError, match="nothing"):
        vocabulary.index("nothing")
    assert 3 not in vocabulary
    assert Vocabulary([]).words == []
    assert "a" not in Vocabulary([])
