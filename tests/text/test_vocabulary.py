import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere.errors import VectorsError
from parasphere.text import DuplicateWordError, Vocabulary, WordCounter

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
    with pytest.raises(DuplicateWordError, match=r"'b' is in row 1 and again in row 3") as caught:
        Vocabulary(["a", "b", "c", "b"])
    assert (caught.value.word, caught.value.first, caught.value.second) == ("b", 1, 3)


def test_an_empty_word_is_refused() -> None:
    with pytest.raises(VectorsError, match="row 1 is empty"):
        Vocabulary(["a", ""])
    with pytest.raises(VectorsError, match=r"the word in row 1 is \['b'\]; a str is needed"):
        Vocabulary(["a", ["b"]])


def test_what_is_absent() -> None:
    vocabulary = Vocabulary(["a"])
    with pytest.raises(KeyError, match="nothing"):
        vocabulary.index("nothing")
    assert 3 not in vocabulary
    assert Vocabulary([]).words == []
    assert "a" not in Vocabulary([])


def _unkeyed(words: list[str], capacity: int) -> set[int]:
    """Return the slots of words by a hash without a key, as it once was: all bits above a chunk's low 48 are lost."""
    slots = set()
    for word in words:
        h = len(word)
        for begin in range(0, len(word), 8):
            h = ((h ^ int.from_bytes(word[begin : begin + 8].encode(), "little")) * 0x9E3779B97F4A7C15) % 2**64
            h ^= h >> 32
        slots.add(h % capacity)
    return slots


@pytest.mark.parametrize("stem", ["zzzzzz", "zzzzzzzzzzzzzz"], ids=["one chunk", "two chunks"])
def test_words_made_to_collide_do_not(stem: str) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    entries = [f"{stem}{a}{b}" for a in letters for b in letters]
    vocabulary = Vocabulary(entries)
    assert len(_unkeyed(entries, 2048)) == 1  # every search was as long as the table is full
    assert vocabulary.get_many(entries).tolist() == list(range(len(entries)))

    def counted() -> WordCounter:
        counter = WordCounter()
        counter.add([" ".join(entries)])
        return counter

    # Keys are random, and one in a hundred suits these words badly; nobody can choose words that suit most keys badly.
    for tables in ([Vocabulary(entries).table for _ in range(9)], [counted()._counts for _ in range(9)]):
        assert np.median([table.longest_search for table in tables]) < 60


def test_the_key_differs_and_the_ids_do_not() -> None:
    words = [f"w{i}" for i in range(500)]  # the longest search depends on the key
    assert len({Vocabulary(words).table.longest_search for _ in range(20)}) > 1
    one, other = Vocabulary(["a", "b", "c"]), Vocabulary(["a", "b", "c"])
    assert one.get_many(["c", "x", "a"]).tolist() == other.get_many(["c", "x", "a"]).tolist() == [2, -1, 0]
