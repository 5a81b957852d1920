"""Words with directions of their own: sums taken apart word by word are the oracle, and none of it is SPM."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from typer.testing import CliRunner

from parasphere import (
    JointSphericalModel,
    Own,
    ParasphereError,
    SphericalParagraphModel,
    StoreError,
    Tokenizer,
    WordVectors,
    persistence,
    store,
)
from parasphere.bags import Bagger
from parasphere.cli import app
from parasphere.own import count_again, own_axis, pair_key, word_key
from parasphere.regions import find_facets

DIM = 9
WORDS = [f"w{i}" for i in range(20)]
TOKENS = Tokenizer(digits=True)


def some_vectors(seed: int = 0) -> WordVectors:
    rng = np.random.default_rng(seed)
    return WordVectors.from_arrays(WORDS, rng.normal(size=(len(WORDS), DIM)))


def added_up(bagger: Bagger, text: str) -> tuple[np.ndarray, float]:
    """A text's sum and length, one unit after the other."""
    total, length = np.zeros(bagger.dim), 0.0
    for _, _, weight, row in bagger.parts(text):
        total += weight * row
        length += weight
    return total, length


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from([*WORDS, "unheard"]), max_size=40).map(" ".join), min_size=1, max_size=4),
    share=st.sampled_from([0.2, 0.7, 1.0]),
    pairs=st.sampled_from([0.0, 0.5, 2.0]),
    damped=st.booleans(),
    facets=st.booleans(),
    weighted=st.booleans(),
)
def test_a_sum_is_that_of_its_parts(
    texts: list[str], share: float, pairs: float, damped: bool, facets: bool, weighted: bool
) -> None:
    vectors = some_vectors()
    weights = np.linspace(0.2, 3, len(WORDS)) if weighted else None
    regions = find_facets(vectors.matrix, 3) if facets else None
    own = Own(share, 16, pairs)
    bagger = Bagger(
        vectors, tokenizer=TOKENS, weights=weights, facets=regions, own=own, damped=damped, dtype=np.float64
    )
    ((_, bags),) = bagger.stream(texts)
    assert bags.sums.shape == (len(texts), (3 if facets else 1) * DIM + 16)
    for place, text in enumerate(texts):
        total, length = added_up(bagger, text)
        np.testing.assert_allclose(bags.sums[place], total, atol=1e-12)
        np.testing.assert_allclose(bags.lengths[place], length)
        np.testing.assert_allclose(bags.squared_norms[place], total @ total, atol=1e-12)
        assert bags.unknown[place] == text.split().count("unheard")


def test_a_word_stays_a_unit_vector_and_keeps_its_share_of_the_cosine() -> None:
    vectors, own = some_vectors(), Own(0.7, 4096)
    bagger = Bagger(vectors, tokenizer=TOKENS, own=own)
    rows = np.array([bagger.row(i) for i in range(len(WORDS))])
    axes = [own_axis(np.uint64(word_key(i)), own.dim)[0] for i in range(len(WORDS))]
    assert len(set(axes)) == len(WORDS)  # in so many dimensions these words do not meet
    expected = 0.3 * vectors.matrix @ vectors.matrix.T + 0.7 * np.eye(len(WORDS))
    np.testing.assert_allclose(rows @ rows.T, expected, atol=1e-6)


def test_all_of_a_word_its_own_is_the_bag_of_words() -> None:
    texts = ["w1 w2 w2 w3", "w2 w3 w3", "w7 w8"]
    bagger = Bagger(some_vectors(), tokenizer=TOKENS, own=Own(1.0, 4096, pairs=0.0), dtype=np.float64)
    ((_, bags),) = bagger.stream(texts)
    counts = [Counter(text.split()) for text in texts]
    expected = [[sum(one[word] * other[word] for word in one) for other in counts] for one in counts]
    np.testing.assert_allclose(bags.sums @ bags.sums.T, expected)


def test_a_word_said_often_counts_less_each_time() -> None:
    bagger = Bagger(some_vectors(), tokenizer=TOKENS, damped=True, dtype=np.float64)
    ((_, bags),) = bagger.stream(["w1 " * 7, "w1 w2 w1", ""])
    np.testing.assert_allclose(bags.lengths, [1 + np.log(7), 2 + np.log(2), 0])
    np.testing.assert_allclose(bags.sums[0], (1 + np.log(7)) * bagger.row(1))


def test_a_pair_takes_two_known_neighbours() -> None:
    bagger = Bagger(some_vectors(), tokenizer=TOKENS, own=Own(0.5, 64))
    assert [unit for unit, pair, _, _ in bagger.parts("w1 w2 unheard w3 w2 w1") if pair] == ["w1 w2", "w3 w2", "w2 w1"]
    assert pair_key(1, 2) != pair_key(2, 1)


def test_axes_are_drawn_evenly() -> None:
    drawn = [own_axis(np.uint64(word_key(i)), 64) for i in range(64_000)]
    counts = np.bincount([axis for axis, _ in drawn], minlength=64)
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
    assert abs(sum(sign for _, sign in drawn)) < 5 * np.sqrt(64_000)
    pairs = [own_axis(np.uint64(pair_key(i // 250, i % 250)), 64)[0] for i in range(64_000)]
    assert np.abs(np.bincount(pairs, minlength=64) - 1000).max() < 5 * np.sqrt(1000)


def test_the_table_of_counts_holds_what_it_must() -> None:
    keys, times = np.zeros(64, np.uint64), np.zeros(64, np.int32)
    said = np.random.default_rng(0).integers(30, size=300)
    found = [count_again(keys, times, 64, np.uint64(word_key(word))) for word in said]
    assert found == [int((said[: i + 1] == word).sum()) for i, word in enumerate(said)]


def test_the_very_word_tells_what_its_meaning_does_not() -> None:
    """Two words of one meaning: by their vectors nobody can tell texts of the one from texts of the other."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(len(WORDS), DIM))
    rows[1] = rows[0]
    vectors = WordVectors.from_arrays(WORDS, rows)
    texts = [" ".join([f"w{i % 2}", *(f"w{j}" for j in rng.integers(2, len(WORDS), size=5))]) for i in range(200)]
    labels = np.arange(200) % 2
    right = {}
    for own in (None, Own(0.7, 512, pairs=0.0)):
        model = SphericalParagraphModel(vectors, tokenizer=TOKENS, tol=1e-3, own=own)
        judge = make_pipeline(model, StandardScaler(), LinearSVC(C=0.01))
        right[own] = cross_val_score(judge, texts, labels, cv=4).mean()
    plain, with_own = right.values()
    assert plain < 0.65
    assert with_own > 0.95


def test_shares_with_those_of_pairs_and_the_prior_add_up() -> None:
    texts = ["w1 w2 w3 w1", "w4 w5 w1 w1", "w2 w3 unheard w9"] * 5
    model = SphericalParagraphModel(
        some_vectors(), tokenizer=TOKENS, facets=2, own=Own(0.6, 32), damped=True, tol=1e-3, random_state=0
    ).fit(texts)
    told = model.explain("w1 w2 w1 w2 unheard w9")
    assert [unit for unit, _ in told.words] == ["w1", "w2", "w1", "w2", "w9"]
    assert [unit for unit, _ in told.pairs] == ["w1 w2", "w2 w1", "w1 w2"]
    assert told.unknown == ["unheard"]
    assert sum(share for _, share in told.words + told.pairs) + told.prior == pytest.approx(1, abs=1e-5)
    assert 0 < sum(told.facets) < 1  # the rest is words' own
    assert model.n_features_in_ == model.transform(["w1"]).shape[1] == 2 * DIM + 32
    assert model.posterior(["w1"]).by_facet(2, 32).direction.shape == (1, 2, DIM)


def test_a_saved_model_reads_the_same(tmp_path: Path) -> None:
    texts = ["w1 w2 w3 w1", "w4 w5 w1 w1", "w2 w3 unheard w9"] * 5
    model = SphericalParagraphModel(some_vectors(), tokenizer=TOKENS, own=Own(0.6, 32), damped=True, tol=1e-3)
    model.fit(texts).save(tmp_path / "model")
    again = SphericalParagraphModel.load(tmp_path / "model")
    assert (again.own, again.damped) == (Own(0.6, 32), True)
    np.testing.assert_array_equal(again.transform(texts), model.transform(texts))
    assert clone(model).own == model.own
    model.set_params(own=None, damped=False).fit(texts).save(tmp_path / "plain")
    assert SphericalParagraphModel.load(tmp_path / "plain").own is None


def test_a_model_saved_before_there_was_any_of_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["w1 w2 w3 w1", "w4 w5 w1 w1"]
    model = SphericalParagraphModel(some_vectors(), tokenizer=TOKENS, tol=1e-3).fit(texts)
    model.save(tmp_path / "model")
    arrays, meta = store.load(tmp_path / "model", persistence.KIND)
    del meta["own"], meta["parameters"]["damped"]
    monkeypatch.setattr(persistence.store, "load", lambda *_, **__: (arrays, meta))
    old = SphericalParagraphModel.load(tmp_path / "model")
    np.testing.assert_array_equal(old.transform(texts), model.transform(texts))
    meta["own"] = {"share": 7.0}
    with pytest.raises(StoreError, match="damaged"):
        SphericalParagraphModel.load(tmp_path / "model")
    meta["own"] = None
    with pytest.raises(ParasphereError) as told:  # a fault of what is given is no damage
        SphericalParagraphModel.load(tmp_path / "model", vectors=some_vectors(seed=1))
    assert "damaged" not in str(told.value)


def test_large_sums_come_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "texts.csv"
    table.write_text("text,id\n" + "".join(f"w{i % 20} w{i % 7},{i}\n" for i in range(50)))
    whole = Bagger(some_vectors(), tokenizer=TOKENS)
    ((_, expected),) = whole.stream(table, id="id")
    monkeypatch.setattr("parasphere.bags.AT_ONCE", 8 * DIM)
    parts = list(whole.stream(table, id="id"))
    assert [len(block) for block, _ in parts] == [8] * 6 + [2]
    assert [block.start for block, _ in parts] == [*range(0, 50, 8)]
    assert [name for block, _ in parts for name in block.ids.to_pylist()] == [str(i) for i in range(50)]
    np.testing.assert_array_equal(np.concatenate([bags.sums for _, bags in parts]), expected.sums)


def test_learned_vectors_take_it_too() -> None:
    texts = ["cats purr and cats meow", "dogs bark and dogs growl"] * 40
    model = JointSphericalModel(None, dim=8, epochs=5, ngrams=1, own=Own(0.5, 64), damped=True, tol=1e-2).fit(texts)
    assert model.transform(["cats meow", ""]).shape == (2, 8 + 64)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: Own(0.0), "above 0 and at most 1, not 0.0"),
        (lambda: Own(1.5), "above 0 and at most 1, not 1.5"),
        (lambda: Own(0.5, 0), "whole number of dimensions from 1 on, not 0"),
        (lambda: Own(0.5, 8, -1.0), "0 or more, not -1.0"),
        (lambda: SphericalParagraphModel(some_vectors(), own=0.7).fit(["w1"]), "None or an Own"),
        (lambda: SphericalParagraphModel(None, own=Own(0.5)).fit(np.eye(3)), "no words"),
        (lambda: SphericalParagraphModel(None, damped=True).fit(np.eye(3)), "no words"),
    ],
)
def test_what_is_wrong_is_told(made: object, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        made()  # type: ignore[operator]


def test_the_command_line_has_it(tmp_path: Path) -> None:
    corpus = tmp_path / "texts.txt"
    corpus.write_text("the sea is a lake\na king and a queen\nlake and sea\nqueen and king\n" * 5)
    run = CliRunner()
    fit = ["fit", str(corpus), "-o", str(tmp_path / "model"), "--tol", "1e-2", "--json"]
    done = run.invoke(app, [*fit, "--own", "0.5", "--own-dim", "64", "--damped"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert (facts["own_share"], facts["own_dim"], facts["dim"]) == (0.5, 64, 50 + 64)
    told = run.invoke(app, ["explain", str(tmp_path / "model"), "the sea, a lake"])
    assert told.exit_code == 0, told.output
    assert "sea + lake" in told.stdout
    for options in (["--pairs", "0.1"], ["--paper", "--damped"]):
        refused = run.invoke(app, ["fit", str(corpus), "-o", str(tmp_path / "other"), *options])
        assert refused.exit_code != 0
