"""Texts for learning are read once, and their ids are the same in memory and in a file."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import JointVectors, Tokenizer
from parasphere.vectors import learning_texts
from parasphere.vectors.learning_texts import Texts, read_texts

WORDS = ["sea", "lake", "fire", "the", "wood", "hill"]
MANY = [" ".join(np.random.default_rng(seed).choice(WORDS, seed % 9)) for seed in range(300)]


def spelled(texts: Texts) -> list[list[str]]:
    words = np.array([*texts.words, "?"], object)
    return [words[texts.ids[lo:hi]].tolist() for lo, hi in zip(texts.ends, texts.ends[1:], strict=False)]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), min_size=1, max_size=8), st.booleans(), st.booleans())
def test_frequent_words_are_found_in_their_order(corpus: list[list[str]], stop: bool, listed: bool) -> None:
    # Token lists are taken as they are: a stop word among them stays, but it is not counted as one that is learned.
    tokenizer = Tokenizer(stop_words=["the"] if stop else [])
    source = [*corpus, ["sea", "sea", "lake", "lake"]]
    counts = Counter(word for words in source for word in words if not (stop and word == "the"))
    frequent = {word for word, count in counts.items() if count >= 2}
    given_as = source if listed else [" ".join(words) for words in source]
    expected = [[word if word in frequent else "?" for word in words] for words in source]
    if stop and not listed:
        expected = [
            [found for found, word in zip(line, words, strict=True) if word != "the"]
            for line, words in zip(expected, source, strict=True)
        ]
    texts = read_texts(given_as, tokenizer, 2)
    assert spelled(texts) == expected
    assert dict(zip(texts.words, texts.counts.tolist(), strict=True)) == {word: counts[word] for word in frequent}
    known = read_texts(given_as, tokenizer, 2, known=True)
    assert spelled(known) == [[word for word in words if word != "?"] for words in spelled(texts)]


def test_any_tokenizer_will_do() -> None:
    by_hand, ours = read_texts(MANY, str.split, 2), read_texts(MANY, Tokenizer(), 2)
    assert spelled(by_hand) == spelled(ours)


def test_a_corpus_is_read_once() -> None:
    def stream() -> Iterator[str]:
        yield from MANY

    assert spelled(read_texts(stream(), Tokenizer(), 2)) == spelled(read_texts(MANY, Tokenizer(), 2))


def test_many_ids_are_in_a_file_and_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = JointVectors(dim=6, start=None, epochs=2, min_count=2, tokenizer=Tokenizer())
    held = learner.fit(MANY).vectors_.fingerprint
    monkeypatch.setattr(learning_texts, "MOST_HELD", 400)
    for known in (False, True):
        texts = read_texts(MANY, Tokenizer(), 2, known=known)
        assert isinstance(texts.ids, np.memmap)
        assert spelled(texts) == [line.split() for line in MANY]
    assert learner.fit(MANY).vectors_.fingerprint == held
