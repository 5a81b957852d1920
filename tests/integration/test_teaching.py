"""The training of scripts/english/teaching.py: the loss, what is learned, and its batches."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from parasphere import Tokenizer, WordVectors
from parasphere.vectors.learning_texts import read_texts

torch = pytest.importorskip("torch", reason="teaching needs torch")
from teaching import SAME, Course, Teaching, first_guess, known_words, most_frequent  # noqa: E402

torch.set_num_threads(1)  # the tensors are tiny: threads would only wait for each other

TOPICS, FEATURES = 4, 12
LETTERS = "abcdefghijklmnop"


def planted(n_texts: int = 240, seed: int = 0) -> list[str]:
    """Texts of six words of one topic each, and of six that tell nothing."""
    rng = np.random.default_rng(seed)
    texts = []
    for topic in rng.integers(TOPICS, size=n_texts):
        words = [f"s{LETTERS[topic]}{LETTERS[i]}" for i in rng.integers(16, size=6)]
        words += [f"x{LETTERS[i]}" for i in rng.integers(4, size=6)]
        texts.append(" ".join(rng.permutation(words)))
    return texts


MEANINGS = np.random.default_rng(7).normal(size=(TOPICS * 16 + 1, FEATURES))


def meaning(word: str) -> np.ndarray:
    """What a word means to the teacher; that of a topic is most of it."""
    if word[0] != "s":
        return np.zeros(FEATURES)
    topic, place = LETTERS.index(word[1]), LETTERS.index(word[2])
    return np.asarray(4 * MEANINGS[topic * 16] + MEANINGS[topic * 16 + place])


def teacher(texts: list[str]) -> np.ndarray:
    """The sum of the meanings of words, beside what all texts have in common; it ignores words that tell nothing."""
    return np.array([sum(map(meaning, text.split()), 5 * MEANINGS[-1]) for text in texts])


TEXTS = planted()
SMALL = TEXTS[:80]


def prepared(texts: list[str], given: np.ndarray, dim: int = 6, **changed: Any) -> Teaching:
    read = known_words(read_texts(texts, Tokenizer(), 1))
    return Teaching(read, given, teacher(read.words), dim, Course(**changed))


def nothing(*_: Any) -> None:
    pass


@pytest.fixture(scope="module")
def taught() -> Teaching:
    state = prepared(TEXTS, teacher(TEXTS), steps=150, batch=60, block=1)
    state.run(nothing)
    return state


# -- what is learned ------------------------------------------------------------------------------------------------


def unit(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_the_loss_is_that_of_the_formula() -> None:
    texts, given = TEXTS[:9], teacher(TEXTS[:9])
    texts, given = [*texts, texts[3]], np.concatenate([given, given[3:4]])  # the same text twice is no contrast
    state = prepared(texts, given, temperature=0.1, pairs=3.0, held_out=0.0)
    rows, mapping, offset = (state.state[name].numpy().astype(float) for name in state.CHANGING)
    ends = state.texts.ends
    u = unit(np.array([rows[state.texts.ids[a:b]].sum(0) for a, b in pairwise(ends)]))
    t, y = unit(given), unit(u @ mapping + offset)
    logits = y @ t.T / 0.1
    among = []
    for i in range(len(t)):
        others = [j for j in range(len(t)) if j == i or t[i] @ t[j] < SAME]
        among.append(np.log(np.exp(logits[i, others]).sum()) - logits[i, i])
    assert len(others) == 9
    apart = ((u @ u.T - t @ t.T) ** 2).mean()
    expected = np.mean(among) + 1 - (y * t).sum(1).mean() + 3 * apart
    assert float(state._loss(torch.arange(len(t)))) == pytest.approx(expected, rel=1e-5)


def test_the_first_guess_is_the_teachers_word_on_the_main_axes() -> None:
    texts = known_words(read_texts(TEXTS, Tokenizer(), 1))
    given, words = unit(teacher(TEXTS)), teacher(texts.words)
    rows, axes, mean = first_guess(texts, given, words, 5, Course(), np.arange(len(TEXTS)))
    np.testing.assert_allclose(mean, given.mean(0), atol=1e-6)
    _, _, main = np.linalg.svd(given - given.mean(0))
    np.testing.assert_allclose(np.abs((axes * main[:5]).sum(1)), 1, atol=1e-4)
    centred = (unit(words) - unit(words).mean(0)) @ axes.T
    np.testing.assert_allclose(unit(rows), unit(centred), atol=1e-4)
    share = texts.counts / texts.counts.sum()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1e-4 / (1e-4 + share), rtol=1e-4)


def test_texts_lie_as_the_teacher_says(taught: Teaching) -> None:
    fresh, rows = planted(100, seed=1), taught.rows
    vectors = WordVectors.from_arrays(taught.texts.words, rows)
    found = unit(np.array([rows[vectors.vocabulary.get_many(text.split())].sum(0) for text in fresh]))
    pairs = np.triu_indices(len(fresh), 1)
    student, wanted = (found @ found.T)[pairs], (unit(teacher(fresh)) @ unit(teacher(fresh)).T)[pairs]
    assert np.corrcoef(student, wanted)[0, 1] > 0.97
    topical = [word for word in vectors.words if word[0] == "s"]
    near = [other[:2] == word[:2] for word in topical for other, _ in vectors.nearest(word, 5)]
    assert np.mean(near) > 0.95


def test_words_that_tell_nothing_count_little(taught: Teaching) -> None:
    weights = np.linalg.norm(taught.rows.astype(float), axis=1)
    idle, telling = ([w for word, w in zip(taught.texts.words, weights, strict=True) if word[0] == c] for c in "xs")
    assert max(idle) < 0.2 * min(telling)
    assert taught.texts.counts @ weights / taught.texts.counts.sum() == pytest.approx(1)
    assert taught.rows.dtype == np.float32


def test_losses_fall(taught: Teaching) -> None:
    losses = np.array(taught.losses)
    assert losses.shape == (20, 2)
    assert (losses[-1] < losses[0]).all()


def test_each_pass_has_a_text_at_most_once_and_neighbours_together() -> None:
    state = prepared(TEXTS, teacher(TEXTS), batch=64, block=8)
    assert len(state.held_out) == 8  # one block, the nearest to 5 % of 240 that is not more
    assert not set(state.held_out) & set(state.learned_from)
    assert sorted([*state.held_out, *state.learned_from]) == list(range(240))
    n_texts = len(state.learned_from)
    batches = [state._batch(step) for step in range(n_texts // 64)]
    seen = np.concatenate(batches)
    assert len(seen) == len(set(seen)) == 64 * (n_texts // 64)
    places = np.searchsorted(state.learned_from, seen).reshape(-1, 8)
    assert (np.diff(places, axis=1) % n_texts == 1).all()
    assert not np.array_equal(state._batch(0), state._batch(n_texts // 64))  # the next pass is another


def test_words_that_are_rarer_are_left_out() -> None:
    everything = read_texts(TEXTS, Tokenizer(), 2)
    fewer = most_frequent(everything, 10)
    assert fewer.words == everything.words[:10]
    assert fewer.ids.max() == 9
    assert (fewer.ids[everything.ids < 10] == everything.ids[everything.ids < 10]).all()
    kept = known_words(fewer)
    assert kept.ids.min() == 0
    assert np.diff(kept.ends).sum() == len(kept.ids) == (fewer.ids >= 0).sum()


def test_the_same_seed_gives_the_same_bits() -> None:
    states = [prepared(SMALL, teacher(SMALL), steps=12, batch=20, block=1, seed=seed) for seed in (3, 3, 4)]
    for state in states:
        state.run(nothing)
    one, two, other = (state.rows.tobytes() for state in states)
    assert one == two != other


def test_empty_texts_and_texts_the_teacher_knows_nothing_of_are_left_out() -> None:
    texts = ["", *SMALL, "unknown", "!"]
    given = teacher(texts)
    given[5] = 0
    state = prepared(texts, given, steps=3)
    used = {*state.learned_from, *state.held_out}
    assert used == set(range(1, 82)) - {5}  # "unknown" is a word; the empty text and "!" have none
    state.run(nothing)
    assert np.isfinite(state.rows).all()
    with pytest.raises(SystemExit, match="fewer than two texts"):
        prepared(SMALL, teacher(SMALL) * 0)
