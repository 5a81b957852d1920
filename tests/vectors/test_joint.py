import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parasphere.vectors.joint_torch import cut
from parasphere.vectors.predictive import KAPPA, KAPPA0, predict_pass
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from parasphere import (
    Bags,
    JointSphericalModel,
    SphericalParagraphModel,
    StoreError,
    Tokenizer,
    VectorsError,
    WordVectors,
)
from parasphere.vectors import joint
from parasphere.vectors.joint import Settings, learn_vectors

FEW = Settings(epochs=10, sample=0, held_out=0)


def planted(n_texts: int = 300, n_topics: int = 4, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Texts of eight words of one topic each, and of four that tell nothing."""
    rng = np.random.default_rng(seed)
    texts, topics = [], rng.integers(n_topics, size=n_texts)
    for topic in topics:
        words = [f"s{topic}{'abcdefghijklmnop'[i]}" for i in rng.integers(16, size=8)]
        words += [f"x{'abcdefgh'[i]}" for i in rng.integers(8, size=4)]
        texts.append(" ".join(rng.permutation(words)))
    return texts, topics


TOKENS = Tokenizer(digits=True)


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

    def go(self, context: int, rate: float, learn: bool, weigh: bool = False) -> float:
        ids = np.array([0, 1] if context == 0 else [1, 0], np.int32)
        loss, count = predict_pass(
            ids, np.array([0, 2]), np.array([0]), np.ones(3, np.float32), np.array([2], np.int32), self.log_q,
            self.matrix, np.zeros(3, np.float32), self.weights, np.zeros(3, np.float32), self.mean, self.numbers,
            np.array([1], np.uint64), rate, 0.0, 24, 6, 0.2, 1, weigh, learn,
        )  # fmt: skip
        assert count == 1
        return float(loss)

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
@given(st.integers(2, 20), st.integers(0, 10_000))
def test_the_loss_and_its_gradient(dim: int, seed: int) -> None:
    piece = Piece(dim, seed)
    told = piece.go(0, 0.0, learn=False)
    # The shuffle decides which of the two is held out.
    context, target = min(((0, 1), (1, 0)), key=lambda pair: abs(piece.loss(*pair) - told))
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
    piece.go(0, rate, learn=True, weigh=True)
    for word in range(3):
        slope = np.linalg.norm(slopes["matrix"][word])
        if slope > 1e-2:  # the first step of Adagrad is as long as the rate, whatever the slope
            expected = before["matrix"][word] - rate * slopes["matrix"][word] / slope
            np.testing.assert_allclose(piece.matrix[word], expected, atol=0.03 * rate)
        by_log = slopes["weights"][word] * before["weights"][word]
        if abs(by_log) > 0.1:
            expected = before["weights"][word] * np.exp(-0.5 * rate * np.sign(by_log))
            assert piece.weights[word] == pytest.approx(expected, rel=0.05 * rate)


def test_words_of_a_topic_come_together() -> None:
    texts, _ = planted()
    found = learn_vectors(texts, dim=16, tokenizer=TOKENS, settings=Settings(epochs=30, sample=0, held_out=0.1))
    vectors = found.vectors
    topical = [word for word in vectors.words if word.startswith("s")]
    near = [vectors.nearest(word, 5) for word in topical]
    assert (
        np.mean([other[:2] == word[:2] for word, others in zip(topical, near, strict=True) for other, _ in others])
        > 0.95
    )
    np.testing.assert_allclose(np.linalg.norm(vectors.matrix, axis=1), 1, atol=1e-6)
    assert found.held_out_losses[-1] < found.held_out_losses[0] - 0.2
    assert found.losses[-1] < found.losses[0]


def test_words_that_tell_nothing_count_for_less() -> None:
    found = learn_vectors(planted()[0], dim=16, tokenizer=TOKENS, settings=Settings(epochs=30, sample=0, held_out=0))
    weights = dict(zip(found.vectors.words, found.vectors.norms, strict=True))
    common = [weight for word, weight in weights.items() if word.startswith("x")]
    telling = [weight for word, weight in weights.items() if word.startswith("s")]
    assert np.mean(common) < 0.95 * np.mean(telling)
    even = learn_vectors(planted()[0], dim=16, tokenizer=TOKENS, settings=Settings(epochs=2, weigh=False))
    np.testing.assert_allclose(even.vectors.norms, 1)


def test_the_model_takes_what_was_learned() -> None:
    texts, topics = planted()
    vectors = learn_vectors(texts, dim=16, tokenizer=TOKENS, settings=Settings(epochs=30, sample=0)).vectors
    directions = SphericalParagraphModel(vectors, tokenizer=TOKENS).fit_transform(texts)
    means = np.stack([directions[topics == t].mean(axis=0) for t in range(4)])
    assert ((directions @ means.T).argmax(axis=1) == topics).mean() > 0.98


def test_a_start_is_gone_out_from() -> None:
    texts, _ = planted(60)
    known = [f"s{t}{letter}" for t in range(4) for letter in "abcdefghijklmnop"]
    rows = np.random.default_rng(1).standard_normal((len(known), 8))
    start = WordVectors.from_arrays(known, rows, name="given")
    still = Settings(epochs=1, rate=1e-9, sample=0)
    same = learn_vectors(texts, start, tokenizer=TOKENS, settings=still).vectors
    shared = [word for word in known if word in same]
    np.testing.assert_allclose([same[word] for word in shared], [start[word] for word in shared], atol=1e-5)
    wide = learn_vectors(texts, start, 20, tokenizer=TOKENS, settings=still).vectors
    cosines = [wide[word][:8] @ start[word] for word in shared]
    assert 0.7 < min(cosines) <= max(cosines) < 1
    new = [word for word in wide.words if word not in start]
    centre = np.append(start.matrix.mean(axis=0), np.zeros(12))
    assert np.mean([wide[word] @ centre for word in new]) > 0
    assert same.name == "learned from given"


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    texts, _ = planted(60)
    one, two, other = (
        learn_vectors(texts, dim=8, tokenizer=TOKENS, settings=Settings(epochs=3, seed=seed)).vectors.matrix
        for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).max() > 0.1


def test_learning_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, _ = planted(60)
    how: dict[str, Any] = {
        "dim": 8,
        "tokenizer": TOKENS,
        "settings": Settings(epochs=6, patience=2, held_out=0.2, ngrams=1),
    }
    whole = learn_vectors(texts, **how)
    passes, real = [], predict_pass

    def killed(*arguments: Any) -> Any:
        passes.append(1)
        if len(passes) == 6:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(joint, "predict_pass", killed)
    with pytest.raises(KeyboardInterrupt):
        learn_vectors(texts, checkpoint=tmp_path / "kept", **how)
    monkeypatch.setattr(joint, "predict_pass", real)
    changed = Settings(epochs=6, patience=2, held_out=0.2, ngrams=1, rate=0.1)
    with pytest.raises(StoreError, match="other are: rate"):
        learn_vectors(texts, checkpoint=tmp_path / "kept", **{**how, "settings": changed})
    resumed = learn_vectors(texts, checkpoint=tmp_path / "kept", **how)
    np.testing.assert_array_equal(resumed.vectors.matrix, whole.vectors.matrix)
    np.testing.assert_array_equal(resumed.held_out_losses, whole.held_out_losses)
    assert not (tmp_path / "kept").exists()


def test_patience_returns_to_the_best_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, _ = planted(40)
    after: list[np.ndarray] = []
    noted = joint._Learning._note_best

    def spy(learning: Any) -> None:
        after.append(learning.matrix.copy())
        noted(learning)

    monkeypatch.setattr(joint._Learning, "_note_best", spy)
    how = Settings(epochs=60, rate=1.0, sample=0, held_out=0.3, patience=3)
    found = learn_vectors(texts, dim=16, tokenizer=TOKENS, settings=how)
    best = int(np.argmin(found.held_out_losses))
    assert len(found.held_out_losses) == best + 4 < 60
    np.testing.assert_allclose(found.vectors.matrix, after[best], atol=1e-6)
    assert np.abs(found.vectors.matrix - after[-1]).max() > 1e-3


def test_rows_that_cancel_out_or_repeat_stay_finite() -> None:
    compass = WordVectors.from_arrays(["n", "e", "s", "w"], [[1, 0], [0, 1], [-1, 0], [0, -1]])
    found = learn_vectors(["n e s w", "ha ha ha ha", "n n"] * 5, compass, settings=FEW)
    assert np.isfinite(found.vectors.matrix).all()
    for seed in range(40):
        found = learn_vectors(["a a a b", "b b", "c a"] * 3, dim=2, settings=Settings(epochs=3, sample=0, seed=seed))
        assert np.isfinite(found.vectors.matrix).all()


def test_faults_are_told() -> None:
    texts, _ = planted(20)
    with pytest.raises(ValueError, match="epochs must be at least 1, not 0"):
        Settings(epochs=0)
    for wrong, said in (
        ({"patience": 0}, "patience must be at least 1 or None"),
        ({"sample": -1.0}, "sample must be 0 or more"),
        ({"seed": None}, "the seed must be a whole number"),
    ):
        with pytest.raises(ValueError, match=said):
            Settings(**wrong)
    with pytest.raises(ValueError, match="patience needs held-out texts to judge by: of 8 texts"):
        learn_vectors(texts[:8], settings=Settings(patience=2))
    with pytest.raises(ValueError, match="dim must be at least 2, not 0"):
        learn_vectors(texts, dim=0)
    with pytest.raises(ValueError, match="parts of a whole"):
        Settings(share=1.0)
    with pytest.raises(ValueError, match="fewer \\(2\\) cannot be begun with"):
        learn_vectors(texts, WordVectors.from_arrays(["a"], [[1, 0, 0]]), 2)
    with pytest.raises(VectorsError, match="has none of the"):
        learn_vectors(texts, WordVectors.from_arrays(["zebra"], [[1, 0, 0]]), settings=FEW)
    with pytest.raises(VectorsError, match="only 0 words occur 2 times"):
        learn_vectors(["one text"], settings=FEW)


# -- on a device ----------------------------------------------------------------------------------------------------


def test_pieces_hold_every_word_once(rng: np.random.Generator) -> None:
    lengths = rng.integers(0, 40, size=30)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    ids = np.arange(ends[-1], dtype=np.int32)
    found = cut(ids, ends, np.ones(len(ids), np.float32), rng, context=7, targets=2, share=0.2)
    words = found.ids[found.ids >= 0]
    whole = np.concatenate([np.arange(*pair) for pair in pairwise(ends) if pair[1] - pair[0] > 1])
    assert sorted(words) == sorted(whole)  # a text of one word has nothing to be predicted from
    text_of = np.searchsorted(ends, found.ids, side="right")
    assert all(len(set(row[ids_ >= 0])) == 1 for row, ids_ in zip(text_of, found.ids, strict=True))
    assert ((found.ids >= 0).sum(1) == found.sizes).all()
    assert found.sizes.max() <= 9
    assert ((found.held_out >= 1) & (found.held_out <= 2) & (found.held_out < found.sizes)).all()


def test_a_device_learns_the_same() -> None:
    pytest.importorskip("torch", reason="learning on a device needs torch")
    texts, topics = planted()
    how: dict[str, Any] = {"dim": 16, "tokenizer": TOKENS}
    found = learn_vectors(texts, settings=Settings(epochs=60, sample=0, held_out=0.1), device="cpu", **how)
    plain = learn_vectors(texts, settings=Settings(epochs=30, sample=0, held_out=0.1), **how)
    assert found.held_out_losses[-1] < plain.held_out_losses[-1] + 0.2  # judged alike, by the compiled loop
    directions = SphericalParagraphModel(found.vectors, tokenizer=TOKENS).fit_transform(texts)
    means = np.stack([directions[topics == t].mean(axis=0) for t in range(4)])
    assert ((directions @ means.T).argmax(axis=1) == topics).mean() > 0.98
    again = learn_vectors(texts, settings=Settings(epochs=60, sample=0, held_out=0.1), device="cpu", **how)
    np.testing.assert_array_equal(found.vectors.matrix, again.vectors.matrix)
    with pytest.raises(ValueError, match="device='nowhere' cannot be used here"):
        learn_vectors(texts, device="nowhere", **how)


# -- the model ------------------------------------------------------------------------------------------------------


def small(**changed: Any) -> JointSphericalModel:
    return JointSphericalModel(None, **{"dim": 8, "tokenizer": TOKENS, "epochs": 5, **changed})


def test_the_model_is_spm_on_what_was_learned(tmp_path: Path) -> None:
    texts, _ = planted(80)
    model = small().fit(texts)
    found = learn_vectors(texts, dim=8, tokenizer=TOKENS, settings=Settings(epochs=5))
    np.testing.assert_array_equal(model.vectors_.matrix, found.vectors.matrix)
    plain = SphericalParagraphModel(found.vectors, tokenizer=TOKENS, weighted=True).fit(texts)
    np.testing.assert_array_equal(model.transform(texts), plain.transform(texts))
    np.testing.assert_array_equal(small().fit_transform(iter(texts)), plain.transform(texts))
    model.save(tmp_path / "model")
    loaded = JointSphericalModel.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(texts), plain.transform(texts))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(texts), plain.transform(texts))
    assert clone(model).get_params() == model.get_params()
    model.partial_fit(texts[:10])
    assert model.n_iter_ == plain.n_iter_ + 1


def test_a_weight_counts_a_word_that_often() -> None:
    words, rows = ["north", "east", "up"], np.eye(3)
    vectors = WordVectors.from_arrays(words, rows * [[3.0], [1.0], [2.0]])
    texts = ["north east", "up east east", "north up"]
    often = ["north north north east", "up up east east", "north north north up up"]
    # Without the pooled cosine: the pairs that it is of are those of places, and a place that counts thrice is one.
    options = {"prior_strength": 0.0, "max_iter": 2000}
    weighted = SphericalParagraphModel(vectors, weighted=True, **options).fit(texts)
    counted = SphericalParagraphModel(vectors, **options).fit(often)
    assert weighted.word_cosine_ < counted.word_cosine_
    np.testing.assert_allclose(weighted.transform(texts), counted.transform(often), atol=1e-6)
    assert weighted.log_evidence(texts) == pytest.approx(counted.log_evidence(often))
    told = weighted.explain("north east")
    shares = dict(counted.explain("north north north east").words)
    assert dict(told.words)["north"] == pytest.approx(3 * shares["north"])
    assert sum(share for _, share in told.words) + told.prior == pytest.approx(1)


def test_only_texts_can_be_learned_from(tmp_path: Path) -> None:
    texts, _ = planted(20)
    vectors = WordVectors.from_arrays(["a"], [[1, 0]])
    bags = Bags.from_texts(["a"] * 20, vectors)
    for wrong in (bags, np.eye(3)):
        with pytest.raises(ValueError, match="learned from texts"):
            small().fit(wrong)
    with pytest.raises(NotFittedError):
        small().transform(texts)
    with pytest.raises(NotFittedError):
        small().partial_fit(bags)
    with pytest.raises(TypeError, match="the paper learns no word vectors"):
        JointSphericalModel.paper()
    with pytest.raises(ValueError, match="no other place"):
        small().fit(texts).save(tmp_path, embed_vectors=False)
