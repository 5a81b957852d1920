"""FastSent: its steps against finite differences and a plain loop, its tables against gensim's, planted topics."""

import bz2
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from parasphere import Tokenizer
from parasphere.errors import CorpusError, StoreError
from parasphere.text import Vocabulary
from reproduction.baselines.fastsent import FastSent, _documents
from reproduction.baselines.negative_sampling import (
    MAX_STEP,
    Text,
    Weights,
    keep_probabilities,
    learn_sentence,
    learn_stretch,
    noise_table,
    sentence_loss,
)
from reproduction.baselines.pretrained import Pretrained, fingerprint_of
from reproduction.baselines.sentences import OrderedText, split_sentences

N_TOPICS = 8
STORY = ["The sun rose. Birds sang!", "The sun set.", "", "Birds slept. The moon rose."] * 3


def small(**given: Any) -> FastSent:
    return FastSent(**{"dim": 16, "min_count": 1, "sample": 0, "random_state": 0, **given})


@pytest.fixture
def tables(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return rng.normal(size=(9, 5)), rng.normal(size=(9, 5))


def test_a_step_goes_down_the_gradient(tables: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    words, targets = np.array([0, 2, 2, 5], np.int32), np.array([1, 3, 4], np.int32)
    labels, rate, room = np.array([1.0, 0, 0]), 1e-2, np.empty((3, 5))
    moved = [table.copy() for table in tables]
    learn_sentence(words, targets, labels, rate, *moved, room)
    for which in range(2):
        for place in np.ndindex(9, 5):
            losses = []
            for shift in (1e-5, -1e-5):
                shifted = [table.copy() for table in tables]
                shifted[which][place] += shift
                losses.append(sentence_loss(words, targets, labels, *shifted, room))
            gradient = (losses[0] - losses[1]) / 2e-5
            assert moved[which][place] - tables[which][place] == pytest.approx(-rate * gradient, abs=1e-9)


def test_words_are_predicted_one_after_another(tables: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    words = np.array([0, 2, 2, 5], np.int32)
    targets, labels = np.array([1, 3, 1, 4, 1, 7], np.int32), np.array([1.0, 0, 1, 0, 0, 0])
    for rate in (0.03, 5.0):
        found = [table.copy() for table in tables]
        learn_sentence(words, targets, labels, rate, *found, np.empty((3, 5)))
        inputs, outputs = (table.copy() for table in tables)
        capped = min(rate, MAX_STEP / 6)  # 1 + 2² + 1: the word that occurs twice moves twice, and counts twice
        for group in (slice(0, 2), slice(2, 6)):  # a word and its noise
            total, change = inputs[words].sum(0), np.zeros(5)
            for target, label in zip(targets[group], labels[group], strict=True):
                by = capped * (label - 1 / (1 + np.exp(-total @ outputs[target])))
                change += by * outputs[target]
                outputs[target] += by * total
            np.add.at(inputs, words, change)
        np.testing.assert_allclose(found[0], inputs, rtol=1e-12)
        np.testing.assert_allclose(found[1], outputs, rtol=1e-12)


def test_the_loss_is_that_of_logistic_regression(tables: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    inputs, outputs = tables
    products = outputs[[1, 3]] @ inputs[[0, 2]].sum(0)
    expected = -np.log(1 / (1 + np.exp(-products[0]))) - np.log(1 - 1 / (1 + np.exp(-products[1])))
    words, targets = np.array([0, 2], np.int32), np.array([1, 3], np.int32)
    assert sentence_loss(words, targets, np.array([1.0, 0]), inputs, outputs, np.empty((3, 5))) == pytest.approx(
        expected
    )


def test_neighbours_are_those_of_the_same_document() -> None:
    ids, ends = np.array([0, 1, 2, 3, 4], np.int32), np.array([1, 2, 3, 5])
    first, last = _documents(np.array([0, 0, 4, 7]))
    assert (first.tolist(), last.tolist()) == ([0, 0, 2, 3], [2, 2, 3, 4])
    noise = noise_table(np.array([1, 1, 1, 1, 1]))
    for autoencode in (False, True):
        inputs, outputs = np.eye(5, dtype=np.float32), np.full((5, 5), 0.1, np.float32)
        text = Text(ids, ends - np.array([1, 1, 1, 2]), ends, first, last, np.ones(5, np.float32))
        weights = Weights(inputs, outputs, *noise, np.array([7], np.uint64))
        _, n_predicted = learn_stretch(text, weights, 0, 4, (0.1, 0.1), autoencode, 2)
        changed = np.flatnonzero((inputs != np.eye(5)).any(1)).tolist()
        assert changed == ([0, 1, 2, 3, 4] if autoencode else [0, 1])
        assert n_predicted == (2 if autoencode else 1)  # of the first sentence: its neighbour, and itself


def test_noise_is_drawn_by_the_power_of_counts(rng: np.random.Generator) -> None:
    counts = np.sort(rng.zipf(1.5, 300))[::-1]
    share, other = noise_table(counts)
    found = share.astype(np.float64)
    np.add.at(found, other, 1 - share.astype(np.float64))
    np.testing.assert_allclose(found / len(counts), counts**0.75 / (counts**0.75).sum(), atol=1e-8)


def test_frequent_words_are_left_out_as_gensim_does() -> None:
    gensim = pytest.importorskip("gensim.models", reason="the peer for subsampling")
    words = ["often"] * 900 + ["seldom"] * 90 + ["once"] * 10
    model = gensim.Word2Vec(min_count=1, sample=1e-2)
    model.build_vocab([words])
    kept = keep_probabilities(np.array([900, 90, 10]), 1e-2)
    for word, share in zip(("often", "seldom", "once"), kept, strict=True):
        assert model.wv.get_vecattr(word, "sample_int") / 2**32 == pytest.approx(share, rel=1e-5)
    assert keep_probabilities(np.array([5, 1]), 0).tolist() == [1, 1]


def planted(rng: np.random.Generator, n_docs: int) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Write documents of one topic each; a sentence takes all its words from one of the topic's two halves."""
    topics, halves = np.repeat(rng.integers(N_TOPICS, size=n_docs), 6), rng.integers(2, size=6 * n_docs)
    drawn = rng.integers(10, size=(len(topics), 6))
    lines = [
        " ".join(f"{'ab'[half]}{'stuvwxyz'[topic]}{'klmnopqrst'[word]}" for word in row)
        for topic, half, row in zip(topics, halves, drawn, strict=True)
    ]
    broken = [line for i in range(0, len(lines), 6) for line in ("", *lines[i : i + 6])]
    return broken, topics, halves


@pytest.mark.parametrize("autoencode", [False, True])
def test_neighbours_reveal_topics_and_shuffled_order_does_not(autoencode: bool, rng: np.random.Generator) -> None:
    lines, topics, halves = planted(rng, 800)
    shuffled = [lines[i] for i in rng.permutation(len(lines))]
    told = []
    for text in (lines, shuffled):
        model = small(autoencode=autoencode, epochs=10, learning_rate=0.05, normalise=True).fit(text)
        vectors = model.transform([line for line in lines if line])
        centroids = np.stack([vectors[(halves == 0) & (topics == t)].mean(0) for t in range(N_TOPICS)])
        told.append(float((np.argmax(vectors[halves == 1] @ centroids.T, 1) == topics[halves == 1]).mean()))
    assert told[0] > 0.95
    assert told[1] < 0.5  # chance is 1/8
    assert model.losses_[-1] < model.losses_[0]


def test_a_text_is_the_sum_of_its_known_words() -> None:
    model = small(normalise=False).fit(STORY)
    vectors = dict(zip(model.vocabulary_.words, model.word_vectors_, strict=True))
    found = model.transform(["Birds! The birds UNHEARD", "", "unheard"])
    np.testing.assert_allclose(found[0], 2 * vectors["birds"] + vectors["the"], rtol=1e-6)
    assert not found[1:].any()
    unit = clone(model).set_params(normalise=True).fit(STORY).transform(["Birds! The birds", ""])
    np.testing.assert_allclose(unit[0], found[0] / np.linalg.norm(found[0]), rtol=1e-6)
    assert not unit[1].any()
    assert (model.n_sentences_, model.words_seen_) == (15, 5 * 3 * 13)
    assert model.get_feature_names_out()[0] == "fastsent0"


def test_it_repeats_itself_and_is_kept(tmp_path: Path) -> None:
    model = small(sample=1e-2).fit(STORY)
    again = clone(model).fit(iter(STORY))
    other = clone(model).set_params(random_state=1).fit(STORY)
    np.testing.assert_array_equal(again.word_vectors_, model.word_vectors_)
    assert (other.word_vectors_ != model.word_vectors_).any()
    model.save(tmp_path / "saved")
    loaded = FastSent.load(tmp_path / "saved")
    np.testing.assert_array_equal(loaded.transform(STORY), model.transform(STORY))
    np.testing.assert_array_equal(loaded.losses_, model.losses_)


def test_pretrained_weights_are_applied_and_identified(tmp_path: Path) -> None:
    model = small().fit(STORY)
    model.save(tmp_path / "encoder")
    encoder = Pretrained.of(tmp_path / "encoder")
    pipeline = clone(make_pipeline(encoder, LogisticRegression()))
    pipeline.fit(["the sun", "birds", "sun", "birds"], [0, 1, 0, 1])
    np.testing.assert_array_equal(pipeline[0].transform(STORY), model.transform(STORY))
    assert pipeline[0].get_feature_names_out()[-1] == "pretrained15"
    assert encoder.get_params()["fingerprint"] == fingerprint_of(tmp_path / "encoder")
    pipeline[0].save(tmp_path / "reference")
    np.testing.assert_array_equal(Pretrained.load(tmp_path / "reference").transform(STORY), model.transform(STORY))
    small(random_state=1).fit(STORY).save(tmp_path / "encoder")  # others in its place
    with pytest.raises(StoreError, match="it was replaced"):
        clone(encoder).fit()
    # What was fitted, or saved, does not depend on the folder any more.
    np.testing.assert_array_equal(pipeline[0].transform(STORY), model.transform(STORY))
    np.testing.assert_array_equal(Pretrained.load(tmp_path / "reference").transform(STORY), model.transform(STORY))
    with pytest.raises(StoreError, match="holds no encoder"):
        Pretrained(tmp_path).fit()


def test_the_fingerprint_is_that_of_the_vectors(tmp_path: Path) -> None:
    model = small(epochs=1).fit(STORY)
    model.save(tmp_path / "one")
    clone(model).fit(STORY).set_params(normalise=False, epochs=9).save(tmp_path / "same")
    clone(model).set_params(normalise=False).fit(STORY).save(tmp_path / "other")
    one, same, other = (fingerprint_of(tmp_path / name) for name in ("one", "same", "other"))
    assert one == same != other


def test_ordered_text_from_every_kind_of_file(tmp_path: Path) -> None:
    data = "\n".join(STORY).encode()
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(data))
    (tmp_path / "a.txt.xz").write_bytes(lzma.compress(data))
    (tmp_path / "a.txt.bz2").write_bytes(bz2.compress(data))
    (tmp_path / "a.gz").write_bytes(gzip.compress(data))
    expected = small().fit(STORY).word_vectors_
    for path in sorted(tmp_path.iterdir()):
        np.testing.assert_array_equal(small().fit(path).word_vectors_, expected)
    (tmp_path / "half.txt.xz").write_bytes(lzma.compress(data)[:-20])
    with pytest.raises(CorpusError, match="truncated"):
        small().fit(tmp_path / "half.txt.xz")
    (tmp_path / "latin.txt.bz2").write_bytes(bz2.compress("é".encode("latin-1")))
    with pytest.raises(CorpusError, match="line 1, byte 1"):
        small().fit(tmp_path / "latin.txt.bz2")


def test_documents_and_sentences() -> None:
    text = OrderedText.read(["One two. Three", "", " ", "12. 3", "four"])
    found = text.ids(Vocabulary(["two", "four"]), Tokenizer())
    assert found.ids.tolist() == [-1, 0, -1, 1]
    assert (found.ends.tolist(), found.documents.tolist()) == ([2, 3, 4], [0, 0, 2])
    assert [part.tolist() for part in found.known()] == [[0, 1], [1, 2], [0, 2]]
    whole = OrderedText.read(["One two. Three", ""], split=False)
    assert whole.sentences == [["One two. Three"]]
    lists = OrderedText.read([["One", "two."], [], ["Three"]])
    assert [numbers.tolist() for numbers in lists.documents] == [[0, 1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("No end", ["No end"]),
        ("A dog. a cat? A bird! 2 fish.", ["A dog. a cat?", "A bird! 2 fish."]),
        ("J. R. Smith of the U.S. Army met St. John.", ["J. R. Smith of the U.S.", "Army met St. John."]),
        ('He said "no." (She left.) Éva stayed.', ['He said "no."', "(She left.)", "Éva stayed."]),
        ("End.\nNext", ["End.", "Next"]),
    ],
)
def test_where_sentences_end(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_faults_are_told() -> None:
    with pytest.raises(CorpusError, match="no word occurs 5 times"):
        FastSent().fit(["a few", "words"])
    with pytest.raises(CorpusError, match="no word"):
        small().fit(["", "12"])
    with pytest.raises(CorpusError, match="neighbour"):
        small(split_sentences=False).fit(["one", "", "two"])


@pytest.mark.parametrize("wrong", [None, b"north", 3.5])
def test_only_a_text_is_split_into_sentences(wrong: Any) -> None:
    with pytest.raises(CorpusError, match=r"^what is split into sentences is .*; it must be one text \(str\)"):
        split_sentences(wrong)
