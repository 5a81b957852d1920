"""Phrases as entries of a vocabulary: found in texts, and put in the place of their words."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere import SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.text import Lookup, Vocabulary, count_matrix, find_phrases, phrase_rows, phrase_table

ENTRIES = ["new", "york", "city", "hall", "new york", "new york city hall", "times", "york times"]


def looked_up(texts: list[str], entries: list[str] = ENTRIES, tokenizer: Tokenizer | None = None) -> list[list[str]]:
    vocabulary = Vocabulary(entries)
    ids, ends = Lookup(vocabulary, tokenizer).ids(texts)
    names = [vocabulary.word(row) if row >= 0 else "?" for row in ids.tolist()]
    return [names[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def greedy(words: list[str], entries: set[str]) -> list[str]:
    """The same by definition: the longest entry that begins here, then on."""
    found, i = [], 0
    while i < len(words):
        if words[i] not in entries:
            found.append("?")
            i += 1
            continue
        lengths = [n for n in range(len(words) - i, 0, -1) if " ".join(words[i : i + n]) in entries]
        found.append(" ".join(words[i : i + lengths[0]]))
        i += lengths[0]
    return found


def test_the_longest_entry_wins() -> None:
    texts = ["New York, City Hall!", "new york city", "the new york times", "york times new", "", "new", "york"]
    assert looked_up(texts) == [
        ["new york city hall"], ["new york", "city"], ["?", "new york", "times"], ["york times", "new"], [], ["new"],
        ["york"],
    ]  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map(" ".join), max_size=12, unique=True),
    st.lists(st.lists(st.sampled_from("abcde"), max_size=12), min_size=1, max_size=4),
)
def test_it_is_greedy_search(phrases: list[str], texts: list[list[str]]) -> None:
    entries = list(dict.fromkeys([*"abcd", *phrases]))
    expected = [greedy(words, set(entries)) for words in texts]
    assert looked_up([" ".join(words) for words in texts], entries) == expected
    # Tokens that are given are units already, and words of a tokenizer of one's own too.
    as_lists = Lookup(Vocabulary(entries)).ids(texts)
    by_hand = Lookup(Vocabulary(entries), str.split).ids([" ".join(words) for words in texts])
    assert as_lists.ends.tolist() == by_hand.ends.tolist() == np.cumsum([len(words) for words in texts]).tolist()


def test_a_phrase_of_unknown_words_is_never_met() -> None:
    assert looked_up(["a b a"], ["a", "a b"]) == [["a", "?", "a"]]
    assert phrase_table(Vocabulary(["a", "a b"])) is None
    assert phrase_table(Vocabulary(["a", "b"])) is None
    assert looked_up(["a b"], ["a", "b", " a", "b ", "a  b"]) == [["a", "b"]]
    assert phrase_rows(Vocabulary(["a", "a b", "é é", "b"])).tolist() == [1, 2]


def test_stop_words_are_bridged() -> None:
    stopped = Tokenizer(stop_words=["of"])
    assert looked_up(["House of Commons"], ["house", "commons", "house commons"], stopped) == [["house commons"]]


def test_counts_take_phrases_for_units() -> None:
    counts = count_matrix(["new york new", "york"], Vocabulary(["new", "york", "new york"])).toarray()
    assert counts.tolist() == [[1, 0, 1], [0, 1, 0]]


def test_an_explanation_names_phrases() -> None:
    vectors = WordVectors.from_arrays(["new", "york", "new york"], [[1, 0], [0, 1], [-1, 0.5]])
    model = SphericalParagraphModel(vectors, tokenizer=Tokenizer(), tol=1e-3).fit(
        ["new york", "york york", "new new york"]
    )
    told = model.explain("new york is new")
    assert [word for word, _ in told.words] == ["new york", "new"]
    assert told.unknown == ["is"]
    assert sum(share for _, share in told.words) + told.prior == pytest.approx(1.0)


def test_what_is_found_is_often_and_no_chance(rng: np.random.Generator) -> None:
    words = ["hong", "kong", *(f"w{i}" for i in range(50))]
    ids, ends = [], []
    for _ in range(400):
        text = rng.integers(2, 52, size=10).tolist()
        if rng.random() < 0.3:
            text[3:3] = [0, 1]
        ids += text
        ends.append(len(ids))
    found = find_phrases(np.array(ids, np.int32), np.array(ends), words, 2, 5, 0.5)
    assert found == ["hong kong"]
    by_count = find_phrases(np.array(ids, np.int32), np.array(ends), words, 2, 5, -1.0)
    assert "hong kong" in by_count
    assert len(by_count) > 1
    assert find_phrases(np.array(ids, np.int32), np.array(ends), words, 2, 10_000, -1.0) == []
    assert find_phrases(np.array(ids, np.int32), np.array(ends), words, 1, 5, 0.5) == []


def test_ngrams_that_a_tokenizer_makes_are_counted_as_they_are() -> None:
    def grams(text: str) -> list[str]:
        words = text.split()
        return words + [" ".join(pair) for pair in pairwise(words)]

    counts = count_matrix(["new york city"], Vocabulary(["new", "york", "city", "new york", "york city"]), grams)
    assert counts.toarray().tolist() == [[1, 1, 1, 1, 1]]


def test_long_phrases_are_found_through_shorter_ones() -> None:
    ids = np.tile(np.array([0, 1, 2, 3, 4], np.int32), 50)  # a b c d x, and x is on its own elsewhere
    ids[4::5] = np.arange(50) % 6 + 4
    words = [*"abcd", *"uvwxyz"]
    ends = np.arange(5, 251, 5)
    assert "a b c d" in find_phrases(ids, ends, words, 4, 10, 0.3)
    assert "a b c" in find_phrases(np.delete(ids, np.arange(3, 250, 5)), np.arange(4, 201, 4), words, 3, 10, 0.3)
    assert max(len(phrase.split()) for phrase in find_phrases(ids, ends, words, 2, 10, 0.3)) == 2
    assert find_phrases(np.array([-1, -1], np.int32), np.array([2]), words, 3, 1, -1.0) == []


def test_neither_unknown_words_nor_ends_are_bridged() -> None:
    ids = np.array([0, -1, 1, 0, 1, 0], np.int32)  # 0 ? 1 | 0 | 1 0
    assert find_phrases(ids, np.array([3, 4, 6]), ["a", "b"], 2, 1, -1.0) == ["b a"]
    np.testing.assert_array_equal(ids, [0, -1, 1, 0, 1, 0])
