"""Near-duplicates: all pairs against brute force, and planted ones in real text."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import ParasphereError, SphericalParagraphModel, Tokenizer, WordVectors, datasets
from parasphere.search import Duplicate, duplicates, near_duplicates

WORDS = st.lists(st.sampled_from("kiwi plum pear lime fig date".split()), max_size=8).map(" ".join)


def brute_force(texts: list[str], threshold: float) -> dict[tuple[int, int], float]:
    bags = [Counter(text.split()) for text in texts]
    frequencies = Counter(word for bag in bags for word in bag)
    idf = {word: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for word, n in frequencies.items()}
    vectors = [{word: (1 + math.log(n)) * idf[word] for word, n in bag.items()} for bag in bags]
    found = {}
    for j, b in enumerate(vectors):
        for i, a in enumerate(vectors[:j]):
            norms = math.hypot(*a.values()) * math.hypot(*b.values())
            cosine = sum(a[word] * b.get(word, 0.0) for word in a) / (norms or 1.0)
            if cosine >= threshold:
                found[i, j] = cosine
    return found


@given(st.lists(WORDS, max_size=12), st.sampled_from([0.11, 0.45, 0.83]))
def test_all_pairs_are_found(texts: list[str], threshold: float) -> None:
    found, expected = duplicates(texts, threshold), brute_force(texts, threshold)
    assert {(pair.first, pair.second) for pair in found} == set(expected)
    for pair in found:
        assert pair.similarity == pytest.approx(expected[pair.first, pair.second], abs=1e-5)
    assert [pair.similarity for pair in found] == sorted((pair.similarity for pair in found), reverse=True)


def test_many_pairs_are_found_in_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "PAIRS_PER_CALL", 1)
    found = duplicates(["kiwi plum"] * 30, 1.0)
    assert [(pair.first, pair.second) for pair in found] == [(i, j) for i in range(30) for j in range(i + 1, 30)]


def test_changed_copies_are_found_among_real_texts() -> None:
    texts = [text for text in datasets.load("docstrings").texts if len(text.split()) > 100][:300]
    alone = {(pair.first, pair.second) for pair in duplicates(texts)}
    rng = np.random.default_rng(0)
    copies = [" ".join(word for word in text.split() if rng.random() > 0.2) for text in texts]
    found = {(pair.first, pair.second) for pair in duplicates([*texts, *copies])}
    assert all((i, i + len(texts)) in found for i in range(len(texts)))
    assert len(alone) < 0.005 * len(texts) ** 2 / 2


def test_models_and_indexes_have_duplicates() -> None:
    vectors = WordVectors.from_arrays(["North", "East"], [[0, 1], [1, 0]])
    texts = ["North East", "East", "North, East!"]
    model = SphericalParagraphModel(vectors, tokenizer=Tokenizer(lowercase=False), tol=1e-2).fit(texts)
    expected = [Duplicate(0, 2, pytest.approx(1.0))]
    assert model.duplicates(texts) == expected
    assert model.index(texts).duplicates() == expected
    assert model.duplicates(["North", "north"]) == []  # words are those of the model
    with pytest.raises(ParasphereError, match="words=False"):
        model.index(texts, words=False).duplicates()


def test_a_threshold_is_a_cosine() -> None:
    for threshold in (0, -1.0, 1.5):
        with pytest.raises(ValueError, match=f"threshold must be above 0 and at most 1, not {threshold:g}"):
            duplicates(["a text"], threshold)
    assert duplicates([]) == []
    assert duplicates(["", ""]) == []  # texts without words share none
