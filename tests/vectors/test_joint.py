"""Word vectors learned from texts: the gradient, what it finds, and the learner as part of models."""

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors
from parasphere.errors import VectorsError
from parasphere.vectors import default_tokenizer, is_learner, resolve
from parasphere.vectors.learning import Learning, LearningSettings
from parasphere.vectors.learning_steps import KAPPA, KAPPA0, Cutting, Parameters, Stepper, TextPieces, WordPrior, cut
from parasphere.vectors.learning_texts import read_texts

TOKENS = Tokenizer(digits=True)


def planted(n_texts: int = 300, n_topics: int = 4, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Texts of eight words of one topic each, and of four that tell nothing."""
    rng = np.random.default_rng(seed)
    texts, topics = [], rng.integers(n_topics, size=n_texts)
    for topic in topics:
        words = [f"s{topic}{'abcdefghijklmnop'[i]}" for i in rng.integers(16, size=8)]
        words += [f"x{'abcdefgh'[i]}" for i in rng.integers(8, size=4)]
        texts.append(" ".join(rng.permutation(words)))
    return texts, topics


TEXTS, TOPICS = planted()
SMALL = TEXTS[:60]


def learned(texts: list[str], dim: int = 16, start: Any = None, **changed: Any) -> Learning:
    """Learn with settings that the learner does not offer: by default every word is looked at."""
    how = LearningSettings(**{"sample": 0.0, "held_out": 0.1, **changed})
    state = Learning(read_texts(texts, TOKENS, how.min_count, known=True), start, dim, how)
    state.run(False)
    return state


@pytest.fixture(scope="module")
def found() -> Learning:
    return learned(TEXTS, epochs=40)


class Piece:
    """One text of a context word (0) and a target word (1), and one word (2) that is always drawn."""

    def __init__(self, dim: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((4, dim))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        self.matrix, self.mean = rows[:3].astype(np.float32), rows[3].astype(np.float32)
        self.weights = rng.uniform(0.5, 2.0, 3).astype(np.float32)
        self.numbers = np.array([rng.uniform(1, 10), rng.uniform(1, 10), 0, 0, 0, 0])
        self.log_q = np.log(rng.dirichlet(np.ones(3))).astype(np.float32)

    def go(self, rate: float, learn: bool, weigh: bool = False, *, strength: float = 0.0, start: Any = None) -> float:
        """Predict word 1 from word 0, and learn from that; the prior is about the present rows, or about a start."""
        pieces = TextPieces(np.array([0, 1], np.int32), np.array([0, 2]), np.array([1]))
        squares, weight_squares = np.zeros((2, 3), np.float32)
        strengths = np.full(3, strength, np.float32)
        parameters = Parameters(self.matrix, squares, self.weights, weight_squares, self.mean, self.numbers)
        around = self.matrix.copy() if start is None else start
        stepper = Stepper(parameters, WordPrior(around, strengths, self.weights.copy(), 0.0), self.log_q)
        some, drawn = np.array([0]), np.array([[2]], np.int32)
        if learn:
            loss, count = stepper.learn(pieces, some, drawn, rate, 0.0, weigh=weigh)
        else:
            loss, count = stepper.judge(pieces, some, drawn)
        assert count == 1
        return loss

    def loss(self, context: int, target: int, **changed: Any) -> float:
        """The same, by the formula."""
        rows, mean = changed.get("matrix", self.matrix).astype(float), changed.get("mean", self.mean).astype(float)
        weights = changed.get("weights", self.weights).astype(float)
        kappa, kappa0 = self.numbers[[KAPPA, KAPPA0]]
        eta = kappa0 * mean / np.linalg.norm(mean) + kappa * weights[context] * rows[context] / np.linalg.norm(
            rows[context]
        )
        d = eta / np.linalg.norm(eta)
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        logits = kappa * weights * (unit @ d) - self.log_q
        return float(np.logaddexp(logits[target], logits[2]) - logits[target])


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 20), st.integers(0, 10_000), st.floats(1.0, 1e6))
def test_a_prior_draws_words_towards_the_start_and_no_further(dim: int, seed: int, strength: float) -> None:
    piece, free = Piece(dim, seed), Piece(dim, seed)
    start = piece.matrix.copy()
    piece.matrix[:] = free.matrix[:] = start + 0.3 * np.random.default_rng(seed).standard_normal(start.shape)
    for one in (piece, free):
        one.matrix /= np.linalg.norm(one.matrix, axis=1, keepdims=True)
    piece.go(1.0, learn=True, strength=strength, start=start)
    free.go(1.0, learn=True)
    nearer, without = (np.einsum("ij,ij->i", one.matrix, start)[:2] for one in (piece, free))  # 2 is only drawn
    assert (nearer >= without - 1e-5).all()
    if strength > 1e5:
        assert (nearer > 0.99).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 20), st.integers(0, 10_000))
def test_the_loss_and_its_gradient(dim: int, seed: int) -> None:
    piece = Piece(dim, seed)
    told, context, target = piece.go(0.0, learn=False), 0, 1
    assert told == pytest.approx(piece.loss(context, target), rel=2e-4, abs=2e-5)
    before = {"matrix": piece.matrix.astype(float), "weights": piece.weights.astype(float)}
    slopes = {}
    for name, array in before.items():
        slopes[name] = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            ends = []
            for sign in (1, -1):
                moved = array.copy()
                moved[place] += sign * 1e-5
                ends.append(piece.loss(context, target, **{name: moved}))
            slopes[name][place] = (ends[0] - ends[1]) / 2e-5
    rate = 1e-3
    piece.go(rate, learn=True, weigh=True)
    for word in range(3):
        slope = np.linalg.norm(slopes["matrix"][word])
        if slope > 1e-2:  # the first step of Adagrad is at most as long as the rate, whatever the slope
            step = piece.matrix[word] - before["matrix"][word]
            assert np.linalg.norm(step) <= 1.01 * rate
            if np.linalg.norm(step) > 0.1 * rate:  # not lost in rounding
                cosine = -step @ slopes["matrix"][word] / slope / np.linalg.norm(step)
                assert cosine > 0.99
        by_log = slopes["weights"][word] * before["weights"][word]
        if abs(by_log) > 0.1:
            expected = before["weights"][word] * np.exp(-0.5 * rate * np.sign(by_log))
            assert piece.weights[word] == pytest.approx(expected, rel=0.05 * rate)


def test_words_of_a_topic_come_together(found: Learning) -> None:
    vectors = found.vectors("learned")
    topical = [word for word in vectors.words if word.startswith("s")]
    near = [vectors.nearest(word, 5) for word in topical]
    assert (
        np.mean([other[:2] == word[:2] for word, others in zip(topical, near, strict=True) for other, _ in others])
        > 0.95
    )
    np.testing.assert_allclose(np.linalg.norm(vectors.matrix, axis=1), 1, atol=1e-6)
    losses, held_out_losses = np.array(found.losses).T
    assert held_out_losses[-1] < held_out_losses[0] - 0.2
    assert losses[-1] < losses[0]


def test_words_that_tell_nothing_weigh_less(found: Learning) -> None:
    vectors = found.vectors("learned")
    assert vectors.weights is not None
    weights = dict(zip(vectors.words, vectors.weights, strict=True))
    common = [weight for word, weight in weights.items() if word.startswith("x")]
    telling = [weight for word, weight in weights.items() if word.startswith("s")]
    assert np.mean(common) < 0.95 * np.mean(telling)
    assert found.texts.counts @ vectors.weights == pytest.approx(found.texts.counts.sum())
    np.testing.assert_allclose(vectors.norms, 1)
    even = learned(SMALL, epochs=2, weigh=False).vectors("even")
    np.testing.assert_allclose(even.weights, 1)  # type: ignore[arg-type]


def topics_found(vectors: WordVectors) -> float:
    """Return how many texts lie nearest to the mean of their own topic."""
    directions = SphericalParagraphModel(vectors, tokenizer=TOKENS, tol=1e-4).fit_transform(TEXTS)
    means = np.stack([directions[topic == TOPICS].mean(axis=0) for topic in range(4)])
    return float(((directions @ means.T).argmax(axis=1) == TOPICS).mean())


def test_a_model_takes_what_was_learned(found: Learning) -> None:
    assert topics_found(found.vectors("learned")) > 0.98


def test_learning_begins_with_the_vectors_that_are_given() -> None:
    known = [f"s{t}{letter}" for t in range(4) for letter in "abcdefghijklmnop"]
    rows = np.random.default_rng(1).standard_normal((len(known), 8))
    start = WordVectors.from_arrays(known, rows, name="given")
    still: dict[str, Any] = {"start": start, "epochs": 1, "rate": 1e-9, "tokenizer": TOKENS}
    same = JointVectors(**still).fit(SMALL).vectors_
    shared = [word for word in known if word in same]
    np.testing.assert_allclose([same[word] for word in shared], [start[word] for word in shared], atol=1e-5)
    wide = JointVectors(20, **still).fit(SMALL).vectors_
    cosines = [wide[word][:8] @ start[word] for word in shared]
    assert 0.7 < min(cosines) <= max(cosines) <= 1 + 1e-6
    assert set(known) <= set(same.words)  # those that the texts lack too
    new = [word for word in wide.words if word not in start]
    centre = np.append(start.matrix.mean(axis=0), np.zeros(12))
    assert np.mean([wide[word] @ centre for word in new]) > 0
    assert same.name == "learned from given"


def small(**changed: Any) -> JointVectors:
    return JointVectors(**{"dim": 8, "start": None, "tokenizer": TOKENS, "epochs": 3, **changed})


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    one, two, other = (small(random_state=seed).fit(SMALL).vectors_.matrix for seed in (5, 5, 6))
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 0.1
    state = np.random.RandomState(3)
    first, second = (small(random_state=state).fit(SMALL).vectors_.matrix for _ in range(2))
    assert np.abs(first - second).max() > 0.1  # the generator goes on
    again = small(random_state=np.random.RandomState(3)).fit(SMALL).vectors_.matrix
    np.testing.assert_array_equal(again, first)


def test_the_number_of_threads_does_not_change_the_bits() -> None:
    texts = planted(1500)[0]
    one, two, four = (small(n_jobs=n, dim=32, start=GIVEN).fit(texts) for n in (1, 2, 4))
    for other in (two, four):
        np.testing.assert_array_equal(one.vectors_.matrix, other.vectors_.matrix)
        np.testing.assert_array_equal(one.vectors_.weights, other.vectors_.weights)  # type: ignore[arg-type]
        np.testing.assert_array_equal(one.held_out_losses_, other.held_out_losses_)
        assert one.prior_concentration_ == other.prior_concentration_


# All words of the planted texts but those of one topic, with weights that tell nothing, and one word more.
_WORDS = [f"s{t}{letter}" for t in range(3) for letter in "abcdefghijklmnop"] + [f"x{letter}" for letter in "abcdefgh"]
GIVEN = WordVectors.from_arrays([*_WORDS, "zebra"], np.random.default_rng(2).normal(size=(57, 32)), name="given")
GIVEN = GIVEN.with_weights(np.append(np.full(56, 2.0), 3.0))


def test_words_of_the_start_that_are_not_learned_stay() -> None:
    found = small(dim=40, start=GIVEN, epochs=2).fit(TEXTS).vectors_
    np.testing.assert_allclose(found["zebra"], np.append(GIVEN["zebra"], np.zeros(8)), atol=1e-6)
    weights = dict(zip(found.words, found.weights, strict=True))  # type: ignore[arg-type]
    ratios = [weights[word] / 2.0 for word in _WORDS]
    assert weights["zebra"] == pytest.approx(3.0 * np.median(ratios))
    plain = small(dim=32, start=GIVEN.with_weights(None), epochs=2).fit(TEXTS).vectors_
    weights = dict(zip(plain.words, plain.weights, strict=True))  # type: ignore[arg-type]
    assert weights["zebra"] == pytest.approx(np.median([weights[word] for word in _WORDS]))


def test_a_strong_start_holds(found: Learning) -> None:
    start = found.vectors("start")
    mixed = [f"{one} {other}" for one, other in zip(TEXTS, planted(seed=1)[0], strict=True)]  # of two topics each
    how: dict[str, Any] = {"dim": 16, "start": start, "epochs": 8, "rate": 3.0}
    free, held = (small(start_strength=strength, **how).fit(mixed).vectors_ for strength in (0.0, 1000.0))
    stayed = [np.array([vectors[word] @ start[word] for word in start.words]) for vectors in (free, held)]
    assert stayed[0].mean() < stayed[1].mean() - 0.01
    assert stayed[1].min() > 0.99
    assert held.weights is not None
    assert start.weights is not None
    kept = small(start_strength=1000.0, weigh=False, **how).fit(mixed).vectors_
    assert kept.weights is not None
    ratios = [vectors.weights[vectors.vocabulary.get_many(start.words)] / start.weights for vectors in (held, kept)]
    assert np.ptp(ratios[0]) > 0.05  # weights are learned unless they are to be kept, then with a mean of 1
    np.testing.assert_allclose(ratios[1], ratios[1][0], rtol=1e-4)


def test_learning_that_gains_nothing_keeps_the_start() -> None:
    rng = np.random.default_rng(0)
    noise = [" ".join(f"s0{'abcdefghijklmnop'[i]}" for i in rng.integers(16, size=12)) for _ in range(200)]
    one = WordVectors.from_arrays([f"s0{x}" for x in "abcdefghijklmnop"], rng.normal(size=(16, 8)))
    kept = small(start=one, epochs=40, rate=5.0).fit(noise)
    assert not kept.gained_
    np.testing.assert_allclose([kept.vectors_[word] for word in one.words], one.matrix, atol=1e-5)
    assert small(epochs=10).fit(TEXTS).gained_


def test_further_texts_bring_new_words_and_move_old_ones_little() -> None:
    learner = small(epochs=None, dim=16).fit(TEXTS)
    before = learner.vectors_
    more = [text.replace("s3", "t") for text in TEXTS]
    again = learner.partial_fit(more).vectors_
    assert set(before.words) < set(again.words)
    assert "ta" in again
    old = [word for word in before.words if not word.startswith("s3")]
    assert np.mean([before[word] @ again[word] for word in old]) > 0.9
    np.testing.assert_allclose([before[f"s3{x}"] for x in "abc"], [again[f"s3{x}"] for x in "abc"], atol=1e-6)
    new = [word for word, _ in again.nearest("ta", 5)]
    assert np.mean([word.startswith("t") for word in new]) > 0.5
    first = small(epochs=1).partial_fit(SMALL).vectors_
    np.testing.assert_array_equal(first.matrix, small(epochs=1).fit(SMALL).vectors_.matrix)


def test_learning_ends_when_held_out_texts_gain_nothing() -> None:
    free = small(epochs=None, dim=16).fit(TEXTS)
    judged = free.held_out_losses_
    assert 4 <= len(judged) <= 40
    risen = [n for n in range(3, len(judged) + 1) if judged[n - 2 : n].min() > judged[: n - 2].min()]
    assert len(judged) == (min(risen[0] + 2, 40) if risen else 40)
    assert len(small(epochs=20, dim=16).fit(TEXTS).losses_) == 20


def test_rows_that_cancel_out_or_repeat_stay_finite() -> None:
    compass = WordVectors.from_arrays(["n", "e", "s", "w"], [[1, 0], [0, 1], [-1, 0], [0, -1]])
    texts = ["n e s w", "ha ha ha ha", "n n"] * 5
    assert np.isfinite(learned(texts, 2, compass, epochs=10, held_out=0.0).matrix).all()
    for seed in range(40):
        assert np.isfinite(learned(["a a a b", "b b", "c a"] * 3, 2, epochs=3, seed=seed).matrix).all()


def test_faults_are_told() -> None:
    with pytest.raises(ValueError, match="dim=2 is less than the 3 dimensions of start"):
        small(dim=2, start=WordVectors.from_arrays(["a"], [[1, 0, 0]])).fit(SMALL)
    with pytest.raises(VectorsError, match="has none of the"):
        small(start=WordVectors.from_arrays(["zebra"], [[1, 0, 0]])).fit(SMALL)
    with pytest.raises(VectorsError, match="only 0 words occur 2 times"):
        small().fit(["one text"])
    with pytest.raises(VectorsError, match="no text has two words"):
        small().fit(["one", "one", "two", "two"])
    with pytest.raises(VectorsError, match="diverged with rate=1e"):
        small(rate=1e30).fit(SMALL)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dim", 1), ("dim", 2.5), ("start", 3), ("tokenizer", 7), ("epochs", 0), ("rate", 0), ("rate", "fast"),
        ("min_count", 0), ("weigh", "no"), ("random_state", "x"),
        ("verbose", "loud"), ("start_strength", -1), ("n_jobs", 0),
    ],
)  # fmt: skip
def test_parameters_are_validated_by_fit(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"The '{name}' parameter of JointVectors must be .*{value!r}"):
        small(**{name: value}).fit(SMALL)


# -- on a device ----------------------------------------------------------------------------------------------------


def test_pieces_hold_every_word_once(rng: np.random.Generator) -> None:
    lengths = rng.integers(0, 40, size=30)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.arange(ends[-1], dtype=np.int32)
    how, keep, state = Cutting(7, 2, 0.2), np.ones(len(ids), np.float32), np.array([1], np.uint64)
    pieces = cut(ids, ends, np.arange(30), keep, how, state)
    whole = np.concatenate([np.arange(*pair) for pair in pairwise(ends) if pair[1] - pair[0] > 1])
    assert sorted(pieces.words) == sorted(whole)  # a text of one word has nothing to be predicted from
    text_of = np.searchsorted(ends, pieces.words, side="right")
    assert all(len(set(text_of[lo:hi])) == 1 for lo, hi in pairwise(pieces.begins))
    sizes, held_out = np.diff(pieces.begins), pieces.begins[1:] - pieces.middles
    assert sizes.max() <= 9
    assert ((held_out >= 1) & (held_out <= 2) & (held_out < sizes)).all()


# -- learners as parts of models ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(small(), tol=1e-3).fit(SMALL)


def test_a_model_is_spm_on_what_its_learner_learned(model: SphericalParagraphModel) -> None:
    learner = small().fit(SMALL)
    assert model.vectors_ is not None
    assert model.vectors_.fingerprint == learner.vectors_.fingerprint
    assert not hasattr(model.vectors, "vectors_")  # a clone was fitted
    plain = SphericalParagraphModel(learner.vectors_, tokenizer=TOKENS, tol=1e-3).fit(SMALL)
    np.testing.assert_array_equal(model.transform(SMALL), plain.transform(SMALL))
    once = SphericalParagraphModel(small(), tol=1e-3).fit_transform(iter(SMALL))  # a stream is held, and read twice
    np.testing.assert_array_equal(once, plain.transform(SMALL))
    unweighted = SphericalParagraphModel(small(), weighted=False, tol=1e-3).fit(SMALL)
    assert np.abs(unweighted.transform(SMALL) - plain.transform(SMALL)).max() > 1e-3
    assert learner.mean_direction_.shape == (8,)
    assert learner.concentration_ > 0 < learner.prior_concentration_
    assert learner.losses_.shape == learner.held_out_losses_.shape == (3,)


def test_a_model_and_its_learner_are_saved(model: SphericalParagraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = SphericalParagraphModel.load(tmp_path / "model")
    again = pickle.loads(pickle.dumps(model))
    for same in (loaded, again):
        np.testing.assert_array_equal(same.transform(SMALL), model.transform(SMALL))
        assert isinstance(same.vectors, JointVectors)
        assert same.vectors.get_params() == model.vectors.get_params()
        np.testing.assert_array_equal(clone(same).fit(SMALL).transform(SMALL), model.transform(SMALL))
    learner = small(start=WordVectors.from_arrays(["xa", "xb"], np.eye(2))).fit(SMALL)
    learner.save(tmp_path / "learner")
    found = JointVectors.load(tmp_path / "learner")
    assert found.vectors_.fingerprint == learner.vectors_.fingerprint
    assert found.start.fingerprint == learner.start.fingerprint
    assert found.tokenizer_ == TOKENS
    np.testing.assert_array_equal(found.losses_, learner.losses_)
    with pytest.raises(NotFittedError):
        small().save(tmp_path / "none")


def test_parameters_of_a_learner_are_searched() -> None:
    pipeline = make_pipeline(SphericalParagraphModel(small(), tol=1e-2), LogisticRegression())
    name = "sphericalparagraphmodel__vectors__epochs"
    search = GridSearchCV(pipeline, {name: [1, 15]}, cv=2).fit(SMALL, TOPICS[:60])
    assert search.best_params_ == {name: 15}
    assert search.best_estimator_[0].vectors_.dim == 8


def test_a_tokenizer_is_passed_between_model_and_learner() -> None:
    by_hand = Tokenizer(stop_words=["xa"], digits=True)
    learner, free = small(tokenizer=by_hand), small(tokenizer=None)
    vectors, tokenizer = resolve(learner, None, SMALL)  # the learner's
    assert tokenizer == by_hand
    assert "xa" not in vectors
    vectors, tokenizer = resolve(free, by_hand, SMALL)  # the model's
    assert tokenizer == by_hand
    assert "xa" not in vectors
    assert free.tokenizer is None
    vectors, tokenizer = resolve(learner, TOKENS, SMALL)  # each its own
    assert tokenizer == TOKENS
    assert "xa" not in vectors
    vectors, tokenizer = resolve(free, None, ["the xa xb"] * 5)  # the learner's default, which keeps stop words
    assert tokenizer == Tokenizer(digits=True)
    assert "the" in vectors
    assert resolve(vectors, None, None) == (vectors, Tokenizer(digits=True))  # small weights make stop words harmless
    assert resolve(vectors, None, None, weighted=False) == (vectors, default_tokenizer())
    plain = vectors.with_weights(None)
    assert resolve(plain, None, None) == (plain, default_tokenizer())
    assert resolve(vectors, by_hand, None) == (vectors, by_hand)


class Counts(BaseEstimator):  # type: ignore[misc]
    """A learner of somebody else, which knows nothing of tokenizers."""

    def fit(self, X: Any, y: Any = None) -> "Counts":  # noqa: ARG002
        words = sorted({word for block in X for text in block.texts for word in text.split()})
        self.vectors_ = WordVectors.from_arrays(words, np.random.default_rng(0).normal(size=(len(words), 4)))
        return self


def test_anything_with_fit_and_vectors_is_a_learner(tmp_path: Path) -> None:
    assert is_learner(Counts())
    assert not any(map(is_learner, ["glove-6b-50d", tmp_path, Counts, None, WordVectors.from_arrays("a", [[1]])]))
    model = SphericalParagraphModel(Counts(), tol=1e-2).fit(["north sea", "the sea", "north"])
    assert model.encoder_.reader is not None
    assert model.encoder_.reader.tokenizer == default_tokenizer()
    assert model.transform(["sea"]).shape == (1, 4)


def test_a_weight_counts_a_word_that_often() -> None:
    words, rows = ["north", "east", "up"], np.eye(3)
    vectors = WordVectors.from_arrays(words, rows).with_weights([3, 1, 2])
    texts = ["north east", "up east east", "north up"]
    often = ["north north north east", "up up east east", "north north north up up"]
    # Without the pooled cosine: the pairs that it is of are those of places, and a place that counts thrice is one.
    options = {"tokenizer": Tokenizer(), "prior_strength": 0.0, "max_iter": 2000}
    weighted = SphericalParagraphModel(vectors, **options).fit(texts)
    counted = SphericalParagraphModel(vectors, weighted=False, **options).fit(often)
    assert weighted.word_cosine_ < counted.word_cosine_
    np.testing.assert_allclose(weighted.transform(texts), counted.transform(often), atol=1e-6)
    assert weighted.log_likelihood(texts) == pytest.approx(counted.log_likelihood(often))
    told = weighted.explain("north east")
    shares = dict(counted.explain("north north north east").words)
    assert dict(told.words)["north"] == pytest.approx(3 * shares["north"])
    assert sum(share for _, share in told.words) + told.prior == pytest.approx(1)


def test_the_concentrations_are_those_that_predict_held_out_texts_best() -> None:
    """By brute force: the probabilities are those among all words, of pieces of the texts that were held out."""

    def loss(state: Learning, kappa: float = 1.0, kappa0: float = 1.0) -> float:
        scaled = kappa * state.numbers[KAPPA] * state.weights[:, None] * state.matrix
        losses: list[float] = []
        for seed in range(1, 9):
            random = np.array([seed], np.uint64)
            pieces = cut(state.texts.ids, state.texts.ends, state.held_out, state.keep, state.cutting, random)
            for (lo, hi), middle in zip(pairwise(pieces.begins), pieces.middles, strict=True):
                eta = kappa0 * state.numbers[KAPPA0] * state.mean + scaled[pieces.words[lo:middle]].sum(0)
                logits = scaled @ (eta / np.linalg.norm(eta))
                losses += (np.log(np.exp(logits).sum()) - logits[pieces.words[middle:hi]]).tolist()
        return float(np.mean(losses))

    settled, too_sure = (learned(TEXTS, epochs=150, held_out=0.5) for _ in range(2))
    settled.settle()
    assert np.array_equal(settled.matrix, too_sure.matrix)
    assert loss(settled) < loss(too_sure)
    for kappa, kappa0 in ((1.2, 1.0), (1 / 1.2, 1.0), (1.0, 1.5), (1.0, 1 / 1.5)):
        assert loss(settled) < loss(settled, kappa, kappa0)
