"""Word vectors taught by a sentence encoder: the loss, what is learned, checkpoints, and the learner inside models."""

import copy
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from parasphere import SphericalParagraphModel, TaughtVectors, Tokenizer
from parasphere.errors import StoreError, VectorsError
from parasphere.vectors import is_learner
from parasphere.vectors.encoding import Encoding, given_vectors, unit_halves
from parasphere.vectors.learning_texts import Texts, known_words, most_frequent, read_texts
from parasphere.vectors.teaching import SAME, Course, Teaching, course_for, first_guess

torch = pytest.importorskip("torch", reason="teaching needs torch")
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


class Encoder:
    """An encoder in the shape of sentence-transformers."""

    def encode(self, texts: list[str]) -> Any:
        return torch.from_numpy(teacher(texts))

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("a teacher may be too large to be copied")


TEXTS = planted()
SMALL = TEXTS[:80]


def small(given: Any = teacher, **changed: Any) -> TaughtVectors:
    return TaughtVectors(given, **{"dim": 6, "steps": 12, **changed})


def prepared(texts: list[str], given: np.ndarray, dim: int = 6, words: Any = None, **changed: Any) -> Teaching:
    return Teaching(known_words(read_texts(texts, Tokenizer(), 1)), given, words, dim, Course(**changed))


@pytest.fixture(scope="module")
def taught() -> TaughtVectors:
    return small(steps=150).fit(TEXTS)


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


def test_words_without_a_vector_start_from_their_texts() -> None:
    texts = Texts(["a", "b", "c"], np.array([3, 1, 1]), np.array([0, 0, 1, 2, 0], np.int32), np.array([0, 3, 5]))
    given = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    rows, axes, _ = first_guess(texts, given, None, 4, Course(), np.arange(2))
    of_words = unit(np.array([[2 / 3, 1 / 2, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]))
    expected = unit(of_words - of_words.mean(0))
    np.testing.assert_allclose(unit(rows) @ axes, expected, atol=1e-5)
    changed = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 5, 0]])
    held_out = texts._replace(ids=np.append(texts.ids, [2, 2]).astype(np.int32), ends=np.array([0, 3, 5, 7]))
    without, *_ = first_guess(held_out, changed, None, 4, Course(), np.arange(2))
    np.testing.assert_array_equal(without, rows)  # what is held out is not looked at


def test_texts_lie_as_the_teacher_says(taught: TaughtVectors) -> None:
    fresh = planted(100, seed=1)
    vectors = taught.vectors_
    rows = vectors.matrix * np.asarray(vectors.weights)[:, None]
    found = unit(np.array([rows[vectors.vocabulary.get_many(text.split())].sum(0) for text in fresh]))
    pairs = np.triu_indices(len(fresh), 1)
    student, wanted = (found @ found.T)[pairs], (unit(teacher(fresh)) @ unit(teacher(fresh)).T)[pairs]
    assert np.corrcoef(student, wanted)[0, 1] > 0.97
    topical = [word for word in vectors.words if word[0] == "s"]
    near = [other[:2] == word[:2] for word in topical for other, _ in vectors.nearest(word, 5)]
    assert np.mean(near) > 0.95


def test_words_that_tell_nothing_count_little(taught: TaughtVectors) -> None:
    weights = dict(zip(taught.vectors_.words, np.asarray(taught.vectors_.weights), strict=True))
    idle = [weight for word, weight in weights.items() if word[0] == "x"]
    telling = [weight for word, weight in weights.items() if word[0] == "s"]
    assert max(idle) < 0.2 * min(telling)
    texts = read_texts(TEXTS, Tokenizer(), 2)
    mean = texts.counts @ [weights[word] for word in texts.words] / texts.counts.sum()
    assert mean == pytest.approx(1)
    assert taught.vectors_.matrix.dtype == np.float32


def test_losses_fall(taught: TaughtVectors) -> None:
    assert taught.losses_.shape == taught.held_out_losses_.shape == (20,)
    assert taught.losses_[-1] < taught.losses_[0]
    assert taught.held_out_losses_[-1] < taught.held_out_losses_[0]


# -- batches and settings -------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("n_texts", "device", "expected"),
    [(40, "cpu", (200, 10, 1)), (1000, "cpu", (200, 250, 3)), (10**6, "cpu", (3000, 1024, 16)),
     (10**6, "cuda", (3000, 4096, 16)), (3, "cpu", (200, 2, 1))],
)  # fmt: skip
def test_settings_follow_the_number_of_texts(n_texts: int, device: str, expected: tuple[int, int, int]) -> None:
    course = course_for(n_texts, device, None, None, 0.1, 5)
    assert (course.steps, course.batch, course.block) == expected
    assert (course.rate, course.seed) == (0.1, 5)
    given = course_for(n_texts, device, 7, 512, 0.1, 5)
    assert (given.steps, given.batch, given.block) == (7, 512, 8)


def test_rare_words_are_left_out() -> None:
    texts = [*SMALL, "qa qb"]
    assert "qa" not in small().fit(texts).vectors_
    assert "qa" in small(min_count=1).fit(texts).vectors_
    few = small(max_words=10).fit(texts).vectors_
    everything = read_texts(texts, Tokenizer(), 2)
    assert few.words == everything.words[:10]
    fewer = most_frequent(everything, 10)
    assert fewer.ids.max() == 9
    assert (fewer.ids[everything.ids < 10] == everything.ids[everything.ids < 10]).all()


def test_the_same_seed_gives_the_same_bits() -> None:
    one, two, other = (small(random_state=seed).fit(SMALL).vectors_ for seed in (3, 3, 4))
    assert one.fingerprint == two.fingerprint
    assert one.fingerprint != other.fingerprint


def test_empty_texts_and_texts_the_teacher_knows_nothing_of_are_left_out() -> None:
    texts = ["", *SMALL, "unknown", "!"]
    given = teacher(texts)
    given[5] = 0
    state = prepared(texts, given, steps=3)
    used = {*state.learned_from, *state.held_out}
    assert used == set(range(1, 82)) - {5}  # "unknown" is a word; the empty text and "!" have none
    state.run()
    assert np.isfinite(state.rows).all()


def test_a_word_that_counts_nothing_has_a_direction() -> None:
    state = prepared(SMALL, teacher(SMALL))
    state.state["rows"][0] = 0
    vectors = state.vectors("x")
    assert np.asarray(vectors.weights)[0] == 0
    np.testing.assert_allclose(np.linalg.norm(vectors.matrix, axis=1), 1, atol=1e-6)


# -- teachers -------------------------------------------------------------------------------------------------------


def test_every_kind_of_teacher(tmp_path: Path) -> None:
    by_function, by_encoder = small().fit(SMALL), small(Encoder()).fit(SMALL)
    np.testing.assert_array_equal(by_function.vectors_.matrix, by_encoder.vectors_.matrix)
    assert by_function.vectors_.name == "taught by teacher"
    assert by_encoder.vectors_.name == "taught by Encoder"
    assert small(Encoder().encode).fit(SMALL).vectors_.name == "taught by Encoder"
    given = teacher(SMALL)
    np.save(tmp_path / "t.npy", given)
    found = [small(one).fit(SMALL).vectors_ for one in (given, tmp_path / "t.npy", str(tmp_path / "t.npy"), 9 * given)]
    assert len({vectors.matrix.tobytes() for vectors in found}) == 1
    assert found[1].name == "taught by t.npy"


def test_tokens_are_joined_for_the_teacher() -> None:
    tokens = [text.split() for text in SMALL]
    np.testing.assert_array_equal(small().fit(tokens).vectors_.matrix, small().fit(SMALL).vectors_.matrix)


def test_vectors_of_any_size_become_unit_rows() -> None:
    rows = np.array([[3e-200, 4e-200], [3e200, 4e200], [0, 0], [3, 4]])
    np.testing.assert_allclose(unit_halves(rows, 4), [[0.6, 0.8], [0.6, 0.8], [0, 0], [0.6, 0.8]], atol=1e-3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (lambda texts: np.ones(len(texts)), r"of (\d+) words must have the shape \(\1, n_features\), not \(\1,\)"),
        (lambda _: np.ones((3, 8)), r"of (\d+) words must have the shape \(\1, n_features\), not \(3, 8\)"),
        (lambda texts: ["a"] * len(texts), "must return an array of numbers, not a list"),
        (
            lambda texts: np.where(np.arange(len(texts)) == 7, np.nan, teacher(texts).T).T,
            "vector 7 of the words holds a number",
        ),
        (lambda texts: teacher(texts)[:, :4], "dim=6 is more than the 4 numbers of the teacher's vectors"),
        (lambda texts: teacher(texts) * 0, "fewer than two texts have a known word and a teacher's vector"),
        (lambda texts: np.ones((len(texts), 9 if texts[0] in SMALL else 7)), "of texts have 9 numbers, those before 7"),
        (np.where(np.arange(80) == 7, np.inf, np.ones((6, 80))).T, "vector 7 of the texts holds a number"),
        (np.ones((3, 8)), "the teacher array has 3 rows; the 80 texts need one each"),
        (np.ones(80), r"must be a matrix of numbers, one row per text, not float64 \(80,\)"),
        (np.full((80, 7), "a"), "must be a matrix of numbers"),
        ("nowhere.npy", r"the teacher nowhere.npy cannot be read \(.*a .npy file of numbers is expected"),
    ],
)
def test_faults_of_a_teacher_are_told(given: Any, sentence: str) -> None:
    with pytest.raises(VectorsError, match=sentence):
        small(given).fit(SMALL)


def test_files_that_hold_no_matrix_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"")
    np.savez(tmp_path / "b.npz", texts=np.ones((3, 3)))
    np.save(tmp_path / "c.npy", np.array([{}], object), allow_pickle=True)
    for name in ("a.npy", "b.npz", "c.npy"):
        with pytest.raises(VectorsError, match=f"the teacher {name} "):
            given_vectors(tmp_path / name, 3)


def test_faults_of_settings_are_told() -> None:
    with pytest.raises(ValueError, match=r"The 'rate' parameter of TaughtVectors must be .*Got 1.5 instead"):
        small(rate=1.5).fit(SMALL)
    assert np.isfinite(small(rate=1.0).fit(SMALL).vectors_.matrix).all()
    with pytest.raises(ValueError, match="device='nowhere' cannot be used here"):
        small(len, device="nowhere").fit(SMALL)  # told before the teacher, which is none, begins
    with pytest.raises(ValueError, match=r"The 'teacher' parameter of TaughtVectors must be .*Got None instead"):
        TaughtVectors().fit(SMALL)


# -- checkpoints ----------------------------------------------------------------------------------------------------


class StoppedError(Exception):
    pass


def test_teaching_resumes_from_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = small(steps=40).fit(SMALL)
    calls: list[int] = []

    def counting(texts: list[str]) -> np.ndarray:
        calls.append(len(texts))
        return teacher(texts)

    kept = small(counting, steps=40, checkpoint=tmp_path / "kept")
    step = Teaching._step

    def interrupted(self: Teaching, at: int) -> Any:
        if at == 25:
            raise StoppedError
        return step(self, at)

    monkeypatch.setattr(Teaching, "_step", interrupted)
    with pytest.raises(StoppedError):
        kept.fit(SMALL)
    monkeypatch.setattr(Teaching, "_step", step)
    assert len(calls) == 2  # texts and words
    with pytest.raises(StoreError, match=r"different: rate\)"):
        clone(kept).set_params(rate=0.1).fit(SMALL)
    with pytest.raises(StoreError, match="different: texts"):
        clone(kept).fit(SMALL[1:])
    resumed = kept.fit(SMALL)
    assert len(calls) == 2  # the vectors were kept
    np.testing.assert_array_equal(resumed.vectors_.matrix, whole.vectors_.matrix)
    np.testing.assert_array_equal(resumed.vectors_.weights, whole.vectors_.weights)  # type: ignore[arg-type]
    np.testing.assert_array_equal(resumed.losses_, whole.losses_)
    np.testing.assert_array_equal(resumed.held_out_losses_, whole.held_out_losses_)
    assert not (tmp_path / "kept").exists()


def test_an_interrupted_encoding_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parasphere.vectors.encoding.CHUNK", 30)
    calls: list[int] = []

    def failing(texts: list[str]) -> np.ndarray:
        calls.append(len(texts))
        if len(calls) == 3:
            raise StoppedError
        return teacher(texts)

    with pytest.raises(StoppedError):
        Encoding(failing, tmp_path, False).of(SMALL, "texts")
    again = Encoding(failing, tmp_path, False)
    np.testing.assert_array_equal(again.of(SMALL, "texts"), Encoding(teacher, None, False).of(SMALL, "texts"))
    assert calls == [30, 30, 20, 20]
    again.remove()
    assert not list(tmp_path.iterdir())


# -- inside models --------------------------------------------------------------------------------------------------


def test_a_model_is_spm_on_what_the_teacher_taught(tmp_path: Path) -> None:
    learner = small().fit(SMALL)
    assert is_learner(learner)
    model = SphericalParagraphModel(small(Encoder()), tol=1e-3).fit(SMALL)
    plain = SphericalParagraphModel(learner.vectors_, tokenizer=Tokenizer(), tol=1e-3).fit(SMALL)
    np.testing.assert_array_equal(model.transform(SMALL), plain.transform(SMALL))
    assert clone(model).vectors.teacher is model.vectors.teacher
    model.save(tmp_path / "model")
    loaded = SphericalParagraphModel.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(SMALL), model.transform(SMALL))
    assert loaded.vectors.get_params() == {**model.vectors.get_params(), "teacher": None}
    with pytest.raises(ValueError, match="'teacher' parameter of TaughtVectors"):
        loaded.fit(SMALL)
    loaded.set_params(vectors__teacher=teacher).fit(SMALL)
    np.testing.assert_array_equal(loaded.transform(SMALL), model.transform(SMALL))


def test_a_learner_is_saved_without_its_teacher_unless_that_is_a_path(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", teacher(SMALL))
    for given, expected in ((teacher(SMALL), None), (teacher, None), (tmp_path / "t.npy", str(tmp_path / "t.npy"))):
        learner = small(given).fit(SMALL)
        learner.save(tmp_path / "learner")
        found = TaughtVectors.load(tmp_path / "learner")
        assert found.teacher == expected
        assert found.vectors_.fingerprint == learner.vectors_.fingerprint
        np.testing.assert_array_equal(found.held_out_losses_, learner.held_out_losses_)
    again = pickle.loads(pickle.dumps(small().fit(SMALL)))
    assert again.teacher is teacher
    assert copy.copy(again).vectors_ is again.vectors_
