"""Phrases that are learned together with words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer
from parasphere.vectors.learning import first_vectors

LETTERS = "abcdefghijklmnop"


def told_by_order(rng: np.random.Generator, n_texts: int = 600) -> list[str]:
    """Texts of two topics that have the same words: what tells them apart is which of these stand side by side."""
    texts = []
    for topic in rng.integers(2, size=n_texts):
        units = []
        for pair in rng.integers(8, size=5):
            first, second = f"l{LETTERS[pair]}", f"r{LETTERS[pair]}"
            apart = [first, f"x{LETTERS[rng.integers(8)]}", second]
            units += [first, second] if topic else apart
        units += [f"s{topic}{LETTERS[i]}" for i in rng.integers(4, size=3)]
        texts.append(" ".join(units))
    return texts


def small(**changed: Any) -> JointVectors:
    return JointVectors(**{"dim": 8, "start": None, "epochs": 4, "ngrams": 2, **changed})


def test_phrases_tell_what_words_do_not(rng: np.random.Generator) -> None:
    learner = small(dim=16, epochs=15, tokenizer=Tokenizer(digits=True))
    model = SphericalParagraphModel(learner).fit(told_by_order(rng))
    assert model.vectors_ is not None
    assert "la ra" in model.vectors_
    pairs = model.transform(["la ra", "lb rb", "lc rc"])
    apart = model.transform(["ra la", "rb lb", "rc lc"])
    topic = model.transform(["s1a s1b s1c", "s0a s0b s0c"])
    assert ((pairs @ topic[0]) > (pairs @ topic[1])).all()
    assert ((apart @ topic[0]) < (pairs @ topic[0])).all()


def test_longer_phrases_and_saving(tmp_path: Path) -> None:
    texts = ["the united states of america", "a state of mind", "united we stand in america"] * 40
    model = SphericalParagraphModel(small(ngrams=3, epochs=5), tol=1e-2).fit(texts)
    assert model.vectors_ is not None
    assert any(len(word.split()) == 3 for word in model.vectors_.words)
    model.save(tmp_path)
    again = SphericalParagraphModel.load(tmp_path)
    np.testing.assert_array_equal(again.transform(texts[:3]), model.transform(texts[:3]))


def test_it_is_deterministic_and_words_alone_are_the_default() -> None:
    texts = ["new york is a city", "york is older", "a new idea for a city"] * 30
    one, other = (small().fit(texts).vectors_ for _ in range(2))
    assert one.fingerprint == other.fingerprint
    assert not any(" " in word for word in JointVectors(8, start=None, epochs=1).fit(texts).vectors_.words)


def test_a_phrase_begins_at_the_sum_of_its_words() -> None:
    rows = first_vectors(["new", "york", "new york"], None, 12, 0)
    expected = rows[0] + rows[1]
    np.testing.assert_allclose(rows[2], expected / np.linalg.norm(expected), atol=1e-6)


def test_a_word_that_is_never_alone_is_where_its_phrases_are() -> None:
    rng = np.random.default_rng(0)
    texts = [f"hong kong {' '.join(rng.permutation(['wind', 'coast', 'ships', 'trade', 'tea']))}" for _ in range(100)]
    learned = small(epochs=3).fit(texts).vectors_
    assert learned.weights is not None
    kong = learned.vocabulary.index("kong")
    phrases = [row for row, word in enumerate(learned.words) if " " in word and "kong" in word.split()]
    expected = learned.matrix[phrases].sum(axis=0)
    np.testing.assert_allclose(learned.matrix[kong], expected / np.linalg.norm(expected), atol=1e-6)
    assert learned.weights[kong] == pytest.approx(learned.weights[phrases].mean())


def test_given_tokens_stay_as_they_are() -> None:
    lists = [["new york", "is", "a", "city"], ["a", "city"], ["new york"]] * 30
    assert "new york" in small(ngrams=1).fit(lists).vectors_
    for texts, tokenizer in ((lists, None), ([" ".join(words) for words in lists], str.split)):
        with pytest.raises(ValueError, match="taken as they are"):
            small(tokenizer=tokenizer).fit(texts)
