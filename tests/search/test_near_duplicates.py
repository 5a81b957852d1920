"""Near-duplicates: groups and leaks against brute force, and planted ones in real text."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import SphericalParagraphModel, Tokenizer, WordVectors, datasets
from parasphere.errors import ParasphereError
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


def components(n: int, pairs: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return the groups of two texts or more, by repeated merging."""
    group = list(range(n))
    for i, j in pairs:
        group = [group[i] if one == group[j] else one for one in group]
    members = [tuple(i for i in range(n) if group[i] == one) for one in dict.fromkeys(group)]
    return [each for each in members if len(each) > 1]


@given(st.lists(WORDS, max_size=12), st.sampled_from([0.11, 0.45, 0.83]), st.sampled_from([0.0, 0.1, 0.15]))
def test_groups_are_those_of_all_pairs(texts: list[str], threshold: float, more: float) -> None:
    expected = brute_force(texts, threshold)
    found = duplicates(texts, threshold, keep="first")
    assert list(found) == components(len(texts), expected)
    for link in found.links:
        assert link.similarity == pytest.approx(expected[link.first, link.second], abs=1e-5)
    assert [link.similarity for link in found.links] == sorted((one.similarity for one in found.links), reverse=True)
    assert len(found.links) == len(found.removed) == sum(len(group) - 1 for group in found)
    assert sorted([*found.kept, *found.removed]) == list(range(len(texts)))
    at = threshold + more
    assert list(found.at(at)) == components(len(texts), [pair for pair, cosine in expected.items() if cosine >= at])


@given(st.lists(WORDS, max_size=8), st.lists(WORDS, max_size=8), st.sampled_from([0.11, 0.45, 0.83]))
def test_leaks_are_the_best_of_all_pairs(texts: list[str], others: list[str], threshold: float) -> None:
    expected: dict[int, float] = {}
    pairs = {
        (i, j - len(texts)): cosine
        for (i, j), cosine in brute_force(texts + others, threshold).items()
        if i < len(texts) <= j
    }
    for (i, _), cosine in pairs.items():
        expected[i] = max(cosine, expected.get(i, 0.0))
    found = duplicates(texts, threshold, against=others)
    assert {leak.first for leak in found} == set(expected)
    for leak in found:
        assert leak.similarity == pytest.approx(expected[leak.first], abs=1e-5)
        assert pairs[leak.first, leak.second] == pytest.approx(leak.similarity, abs=1e-5)


def test_many_pairs_are_found_in_several_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "PAIRS_PER_CALL", 1)
    texts = [f"kiwi plum pear fig {letter}x" for letter in "abcdefghijklmnopqrstuvwxyz"]
    texts += [f"nut {letter}y" for letter in "abcde"]
    found = duplicates(texts, 0.01)
    assert sorted(sorted(group) for group in found) == sorted(
        map(list, components(len(texts), brute_force(texts, 0.01)))
    )
    assert len(found.links) == len(found.removed)


def test_identical_texts_are_compared_once() -> None:
    found = duplicates(["a text of some words"] * 20_000 + ["another one"])  # 200 million pairs
    assert [len(group) for group in found] == [20_000]
    assert found.kept.tolist() == [0, 20_000]


def test_changed_copies_are_found_among_real_texts() -> None:
    texts = [text for text in datasets.load("docstrings").texts if len(text.split()) > 100][:300]
    alone = duplicates(texts)
    rng = np.random.default_rng(0)
    copies = [" ".join(word for word in text.split() if rng.random() > 0.2) for text in texts]
    group = {position: number for number, group in enumerate(duplicates([*texts, *copies])) for position in group}
    assert all(group[i] == group[i + len(texts)] for i in range(len(texts)))
    assert len(alone.removed) < 0.3 * len(texts)
    leaks = duplicates(texts, against=copies)
    assert sorted(leak.first for leak in leaks) == list(range(len(texts)))
    assert np.mean([leak.first == leak.second for leak in leaks]) > 0.95


def test_a_group_is_represented_by_its_longest_text_or_the_first() -> None:
    texts = ["plum kiwi", "fig", "plum kiwi kiwi kiwi", "plum kiwi kiwi", "fig"]
    assert list(duplicates(texts, 0.5)) == [(1, 4), (2, 0, 3)]
    assert duplicates(texts, 0.5).kept.tolist() == [1, 2]
    assert list(duplicates(texts, 0.5, keep="first")) == [(0, 2, 3), (1, 4)]
    with pytest.raises(ValueError, match="keep must be 'longest' or 'first', not 'last'"):
        duplicates(texts, keep="last")  # type: ignore[call-overload]


def test_several_columns_are_compared_as_one_text(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    rows = [{"title": "plum", "body": "of the garden"}, {"title": "plum", "body": None}]
    path.write_text("\n".join(map(json.dumps, [*rows, {"title": "the", "body": "garden plum"}])))
    assert list(duplicates(path, text=["title", "body"], keep="first")) == [(0, 2)]
    assert list(duplicates(path, text="title", keep="first")) == [(0, 1)]


def test_a_lower_threshold_needs_a_new_search() -> None:
    with pytest.raises(ValueError, match=r"found with the threshold 0.6; 0.5 is lower: search again"):
        duplicates(["plum", "plum"]).at(0.5)


def test_an_index_has_duplicates() -> None:
    vectors = WordVectors.from_arrays(["North", "East"], [[0, 1], [1, 0]])
    texts = ["North East", "East", "North, East!"]
    model = SphericalParagraphModel(vectors, tokenizer=Tokenizer(lowercase=False), tol=1e-2).fit(texts)
    assert model.index(texts).duplicates().links == [Duplicate(0, 2, pytest.approx(1.0))]
    assert list(model.index(["North", "north"]).duplicates()) == []  # words are those of the model
    with pytest.raises(ParasphereError, match="words=False"):
        model.index(texts, words=False).duplicates()


def test_a_threshold_is_a_cosine() -> None:
    for threshold in (0, -1.0, 1.5):
        with pytest.raises(ValueError, match=f"threshold must be above 0 and at most 1, not {threshold:g}"):
            duplicates(["a text"], threshold)
    assert list(duplicates([])) == []
    assert list(duplicates(["", ""])) == []  # texts without words share none
