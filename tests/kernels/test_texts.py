"""Texts as arguments of the compiled loops: lists and tuples of strings are read, and nothing else is."""

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import _kernels
from parasphere.text import Lookup, Tokenizer, Vocabulary, WordCounter, WordIds, split_texts

WORDS = ["a", "é", "\ufffd", "north", "news", "北", "x" * 13]
anything = st.lists(st.text(st.characters(), max_size=30) | st.sampled_from([*WORDS, "a north x", "e\u0301 \ud800a"]))


def sound(texts: list[str]) -> list[str]:
    return ["".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text) for text in texts]


def ids_of_words(words: Any, many: int) -> list[int]:
    vocabulary, ids = Vocabulary(WORDS), np.empty(many, np.int32)
    _kernels.ids_of_words(words, vocabulary.table, True, ids)
    return ids.tolist()


def ids_of_texts(texts: Any, many: int) -> tuple[list[int], list[int]]:
    ids, ends = np.empty(1000, np.int32), np.empty(many, np.int64)
    n = _kernels.ids_of_texts(texts, Tokenizer().folding, Vocabulary(WORDS).table, True, ids, ends)
    return ids[:n].tolist(), ends.tolist()


def lists_of(words: WordIds) -> tuple[list[int], list[int]]:
    return words.ids.tolist(), words.ends.tolist()


@pytest.mark.parametrize("tokenizer", [Tokenizer(), Tokenizer(stop_words=["a"]), str.split])
@given(texts=anything)
def test_all_that_reads_texts_replaces_lone_surrogates(tokenizer: Any, texts: list[str]) -> None:
    lookup = Lookup(Vocabulary([*WORDS, "a north"]), tokenizer)
    assert lists_of(lookup.ids(texts)) == lists_of(lookup.ids(sound(texts)))
    assert split_texts(texts, tokenizer) == split_texts(sound(texts), tokenizer)
    counters = WordCounter(tokenizer), WordCounter(tokenizer)
    assert lists_of(counters[0].add(texts)) == lists_of(counters[1].add(sound(texts)))
    (words, counts), (others, numbers) = (counter.words_and_counts() for counter in counters)
    assert words == others
    assert counts.tolist() == numbers.tolist()


def test_what_is_no_text_is_refused_by_its_position() -> None:
    for bad, told in ((3, "of type int"), (None, "None"), (b"a", "of type bytes")):
        with pytest.raises(ValueError, match=rf"text 1 \(counting from 0\) is {told}"):
            ids_of_words(["a", bad], 2)
    for wrong in ("a text", b"a", 3, {"a"}, iter(["a"]), np.array(["a"])):
        with pytest.raises(ValueError, match="texts must be a list of str, but are"):
            ids_of_words(wrong, 1)


def test_texts_are_held_while_they_are_read_and_no_longer() -> None:
    texts = [f"é{number}" for number in range(9)]
    counts = [sys.getrefcount(text) for text in texts]
    ids_of_texts(texts, 9)
    assert [sys.getrefcount(text) for text in texts] == counts


def test_a_list_may_change_while_it_is_read() -> None:
    """As other threads may do; here the list changes before the ids are written."""

    class Changing(list):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            raise AssertionError("the items are read as they are")

    assert ids_of_words(Changing(["a", "north"]), 2) == [0, 3]
