"""Phrases that are learned with words: chosen by how well held-out texts are told, exactly."""

import numpy as np
import pytest
from scipy.special import logsumexp

from parasphere import JointSphericalModel, SphericalParagraphModel, Tokenizer
from parasphere.joint import Settings, _first_vectors, learn_vectors
from parasphere.leaveout import Words, leave_out_likelihood

LETTERS = "abcdefghijklmnop"
TOKENS = Tokenizer(digits=True)


def told_by_order(rng: np.random.Generator, n_texts: int = 600) -> tuple[list[str], np.ndarray]:
    """Texts of two topics that have the same words: what tells them apart is which of these stand side by side."""
    texts, topics = [], rng.integers(2, size=n_texts)
    for topic in topics:
        units = []
        for pair in rng.integers(8, size=5):
            first, second = f"l{LETTERS[pair]}", f"r{LETTERS[pair]}"
            apart = [first, f"x{LETTERS[rng.integers(8)]}", second]
            units += [first, second] if topic else apart
        units += [f"s{topic}{LETTERS[i]}" for i in rng.integers(4, size=3)]
        texts.append(" ".join(units))
    return texts, topics


def test_phrases_tell_what_words_do_not(rng: np.random.Generator) -> None:
    texts, topics = told_by_order(rng)
    few = {"dim": 16, "tokenizer": TOKENS, "epochs": 15}
    model = JointSphericalModel(None, **few).fit(texts)
    assert model.ngrams_ == 2
    assert "la ra" in model.vectors_.vocabulary
    pairs = model.transform(["la ra", "lb rb", "lc rc"])
    apart = model.transform(["ra la", "rb lb", "rc lc"])
    topic = model.transform(["s1a s1b s1c", "s0a s0b s0c"])
    assert ((pairs @ topic[0]) > (pairs @ topic[1])).all()
    assert ((apart @ topic[0]) < (pairs @ topic[0])).all()
    assert JointSphericalModel(None, ngrams=1, **few).fit(texts).ngrams_ == 1
    assert topics.min() == 0


def test_words_without_an_order_stay_words(rng: np.random.Generator) -> None:
    texts = []
    for _ in range(400):
        topic = rng.integers(4)
        texts.append(" ".join(f"s{topic}{LETTERS[i]}" for i in rng.integers(6, size=10)))
    found = learn_vectors(texts, dim=8, tokenizer=TOKENS, settings=Settings(epochs=4, ngram_score=-1.0))
    assert found.ngrams == 1


def test_longer_phrases_and_saving(tmp_path_factory: pytest.TempPathFactory) -> None:
    texts = ["the united states of america", "a state of mind", "united we stand in america"] * 40
    model = JointSphericalModel(None, dim=8, ngrams=3, epochs=5, tol=1e-2).fit(texts)
    assert model.ngrams_ == 3
    assert any(len(word.split()) == 3 for word in model.vectors_.vocabulary.words)
    folder = tmp_path_factory.mktemp("saved")
    model.save(folder)
    again = SphericalParagraphModel.load(folder)
    np.testing.assert_array_equal(again.transform(texts[:3]), model.transform(texts[:3]))


def test_it_is_deterministic() -> None:
    texts = ["new york is a city", "york is older", "a new idea for a city"] * 30
    one, other = (JointSphericalModel(None, dim=8, epochs=4, tol=1e-2).fit(texts) for _ in range(2))
    np.testing.assert_array_equal(one.vectors_.matrix, other.vectors_.matrix)


def test_a_phrase_begins_at_the_sum_of_its_words() -> None:
    rows = _first_vectors(["new", "york", "new york"], None, 12, 0)
    expected = rows[0] + rows[1]
    np.testing.assert_allclose(rows[2], expected / np.linalg.norm(expected), atol=1e-6)


def test_without_held_out_texts_words_stay_alone() -> None:
    texts = ["new york is a city", "a new idea"] * 30
    found = learn_vectors(texts, dim=4, settings=Settings(epochs=1, held_out=0))
    assert found.ngrams == 1
    for wrong in (0, 1.5, "many"):
        with pytest.raises(ValueError, match="ngrams must be"):
            Settings(ngrams=wrong)  # type: ignore[arg-type]


def test_the_likelihood_is_the_formula(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(6, 3)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    mean = rows[0].copy()
    weights, kept = rng.uniform(0.5, 2, 6).astype(np.float32), rng.uniform(0.2, 1, 6).astype(np.float32)
    words = Words(rows, weights, mean, 3.0, 2.0, kept)
    ids, ends = np.array([4, 1, 5, 2, 3], np.int32), np.array([0, 2, 3, 5])
    expected = 0.0
    for pair in ([4, 1], [2, 3]):  # each is told from the other; a text of one word is told from nothing
        for target, context in (pair, pair[::-1]):
            eta = 2.0 * mean + 3.0 * weights[context] * rows[context]
            logits = 3.0 * weights * (rows @ (eta / np.linalg.norm(eta))) - np.log(kept)
            expected += logits[target] - logsumexp(logits)
    found = leave_out_likelihood(words, ids, ends, np.arange(3))
    assert found == pytest.approx(expected, rel=1e-5)
