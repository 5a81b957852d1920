"""Phrases that are learned with words: chosen by how well held-out texts are told, exactly."""

from typing import Any

import numpy as np
import pytest
from parasphere.vectors.joint_texts import first_vectors
from parasphere.vectors.leaveout import Words, leave_out_likelihood
from scipy.special import logsumexp

from parasphere import JointSphericalModel, SphericalParagraphModel, Tokenizer
from parasphere.progress import progress
from parasphere.vectors import joint
from parasphere.vectors.joint import Settings, learn_vectors

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


def test_each_bar_says_what_it_is_about(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[tuple[str, int]] = []

    def noted(label: str, total: int, **options: str) -> Any:
        bars.append((label, total))
        return progress(label, total, **options)

    monkeypatch.setattr(joint, "progress", noted)
    learn_vectors(told_by_order(rng, 60)[0], dim=4, tokenizer=TOKENS, settings=Settings(epochs=3))
    assert bars == [("trying words alone", 3), ("trying phrases too", 3), ("learning vectors", 3)]


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
    rows = first_vectors(["new", "york", "new york"], None, 12, 0)
    expected = rows[0] + rows[1]
    np.testing.assert_allclose(rows[2], expected / np.linalg.norm(expected), atol=1e-6)


def test_without_held_out_texts_words_stay_alone() -> None:
    texts = ["new york is a city", "a new idea"] * 30
    found = learn_vectors(texts, dim=4, settings=Settings(epochs=1, held_out=0))
    assert found.ngrams == 1
    for wrong in (0, 1.5, "many"):
        with pytest.raises(ValueError, match="ngrams must be"):
            Settings(ngrams=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="ngram_count must be at least 1"):
        Settings(ngram_count=0)
    with pytest.raises(ValueError, match="ngram_score must be from -1 to 1"):
        Settings(ngram_score=float("nan"))


def test_texts_of_one_phrase_decide_nothing() -> None:
    # All the texts are one phrase each: there would be nothing left to learn from.
    found = learn_vectors(["john smith", "mary jones", "ann lee"] * 100, dim=4, settings=Settings(epochs=3))
    assert found.ngrams == 1
    assert np.isfinite(found.losses).all()


def test_a_word_that_is_never_alone_is_where_its_phrases_are() -> None:
    rng = np.random.default_rng(0)
    texts = [f"hong kong {' '.join(rng.permutation(['wind', 'coast', 'ships', 'trade', 'tea']))}" for _ in range(100)]
    learned = learn_vectors(texts, dim=8, settings=Settings(epochs=3, ngrams=2, ngram_score=0.5)).vectors
    kong, phrase = (learned.vocabulary.index(word) for word in ("kong", "hong kong"))
    np.testing.assert_allclose(learned.matrix[kong], learned.matrix[phrase], atol=1e-6)
    assert learned.norms[kong] == pytest.approx(learned.norms[phrase])


def test_given_tokens_stay_as_they_are() -> None:
    lists = [["new york", "is", "a", "city"], ["a", "city"], ["new york"]] * 30
    assert learn_vectors(lists, dim=4, settings=Settings(epochs=2)).ngrams == 1
    assert learn_vectors([" ".join(words) for words in lists], dim=4, tokenizer=str.split).ngrams == 1
    with pytest.raises(ValueError, match="taken as they are"):
        learn_vectors(lists, dim=4, settings=Settings(ngrams=2))


def test_a_checkpoint_remembers_what_was_chosen(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    texts, _ = told_by_order(rng, 200)
    folder = tmp_path_factory.mktemp("kept") / "state"
    how = {"dim": 8, "tokenizer": TOKENS, "settings": Settings(epochs=4, seed=np.int64(1))}
    whole = learn_vectors(texts, **how)
    run, passes = joint._Learning._go_through, []

    def counted(self: object, *arguments: object) -> float:
        passes.append(1)
        if len(passes) == 16:  # the two trials take twelve: in the second epoch of the learning itself
            raise KeyboardInterrupt
        return run(self, *arguments)

    monkeypatch.setattr(joint._Learning, "_go_through", counted)
    with pytest.raises(KeyboardInterrupt):
        learn_vectors(texts, checkpoint=folder, **how)
    monkeypatch.setattr(joint, "leave_out_likelihood", None)  # there is no second trial
    again = learn_vectors(texts, checkpoint=folder, **how)
    assert again.ngrams == whole.ngrams
    np.testing.assert_array_equal(again.vectors.matrix, whole.vectors.matrix)


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
