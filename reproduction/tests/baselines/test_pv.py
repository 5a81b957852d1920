"""Paragraph vectors: learning and inference against gensim, planted topics, degenerate texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from parasphere import Tokenizer, WordVectors
from parasphere.errors import CorpusError
from reproduction.baselines.pv import DEFAULTS, END_ALPHA, ParagraphVectors, first_vectors

gensim = pytest.importorskip("gensim.models.doc2vec", reason="the extra gensim is not installed")

MODES = ["dbow", "dm"]
TEXTS = ["cat sat mat cat", "dogs ran far", "cat ran", "", "dogs sat dogs cat"] * 4


@pytest.fixture
def vectors(rng: np.random.Generator) -> WordVectors:
    return WordVectors.from_arrays(["cat", "dogs", "ran", "elephant"], rng.normal(size=(4, 6)))


def _distinct_counts(rng: np.random.Generator) -> list[list[str]]:
    """Texts in which no two words are equally frequent, so that there is one order of the words by frequency."""
    words = rng.permutation([f"w{i}" for i in range(12) for _ in range(40 - i)])
    return [part.tolist() for part in np.array_split(words, 30)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("given", [False, True])
def test_learning_is_gensims(mode: Any, given: bool, rng: np.random.Generator) -> None:
    texts = _distinct_counts(rng)
    start = WordVectors.from_arrays([f"w{i}" for i in range(8)], rng.normal(size=(8, 6))) if given else None
    ours = ParagraphVectors(mode, 6, start, epochs=4, window=3, negative=4, random_state=3).fit(texts)
    theirs = gensim.Doc2Vec(
        vector_size=6, dm=int(mode == "dm"), epochs=4, window=3, negative=4, sample=0, min_count=1,
        alpha=DEFAULTS[mode]["alpha"], min_alpha=END_ALPHA, seed=ours.seed_, workers=1,
    )  # fmt: skip
    documents = [gensim.TaggedDocument(words, [i]) for i, words in enumerate(texts)]
    theirs.build_vocab(documents)
    assert theirs.wv.index_to_key == ours.vocabulary_.words
    theirs.dv.vectors[:] = first_vectors(len(texts), 6, ours.seed_)
    if start is not None:
        theirs.wv.vectors[:8] = theirs.syn1neg[:8] = start.matrix
    before = theirs.syn1neg.copy()
    theirs.train(documents, total_examples=len(texts), epochs=4)
    assert np.abs(theirs.syn1neg - before).max() > 1e-4
    np.testing.assert_array_equal(ours.output_weights_, theirs.syn1neg)
    if mode == "dm":
        np.testing.assert_array_equal(ours.input_weights_, theirs.wv.vectors)
    else:
        assert ours.input_weights_ is None


@pytest.mark.parametrize("mode", MODES)
def test_inference_is_gensims_from_zero(mode: Any, vectors: WordVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    pv = ParagraphVectors(mode, vectors=vectors, tokenizer=Tokenizer()).fit(TEXTS)
    monkeypatch.setattr(gensim, "pseudorandom_weak_vector", lambda size, **_: np.zeros(size, np.float32))
    for text, vector in zip(TEXTS, pv.transform(TEXTS), strict=True):
        pv._model.random.seed(pv.seed_)
        theirs = pv._model.infer_vector(
            text.split(), alpha=DEFAULTS[mode]["infer_alpha"], min_alpha=END_ALPHA, epochs=pv.infer_epochs_
        )
        np.testing.assert_allclose(vector, theirs, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("mode", MODES)
def test_topics_are_found_and_not_in_shuffled_words(mode: Any, rng: np.random.Generator) -> None:
    topics = np.arange(300) % 3
    # Half of a text's words are of its topic (30 words each), half of anything.
    words = np.where(rng.random((300, 12)) < 0.5, rng.integers(0, 30, (300, 12)) + 30 * topics[:, None],
                     rng.integers(0, 90, (300, 12)))  # fmt: skip
    shuffled = rng.permutation(words.ravel()).reshape(words.shape)

    def accuracy(table: np.ndarray) -> float:
        texts = [[f"w{i}" for i in row] for row in table]
        pipeline = make_pipeline(ParagraphVectors(mode, 10, epochs=20, alpha=0.1), StandardScaler(), LinearSVC(C=0.01))
        return float(pipeline.fit(texts[:200], topics[:200]).score(texts[200:], topics[200:]))

    assert accuracy(words) > 0.8
    assert accuracy(shuffled) < 0.5


@pytest.mark.parametrize("mode", MODES)
def test_a_texts_vector_depends_on_the_text_alone(mode: Any, vectors: WordVectors, rng: np.random.Generator) -> None:
    pv = ParagraphVectors(mode, vectors=vectors).fit(TEXTS)
    expected = pv.transform(TEXTS)
    order = rng.permutation(len(TEXTS))
    np.testing.assert_array_equal(pv.transform([TEXTS[i] for i in order]), expected[order])
    np.testing.assert_array_equal(np.concatenate([pv.transform([text]) for text in TEXTS]), expected)
    np.testing.assert_array_equal(expected[:5], expected[5:10])  # the same five texts again
    np.testing.assert_array_equal(clone(pv).fit_transform(TEXTS), expected)
    assert np.abs(clone(pv).set_params(random_state=1).fit_transform(TEXTS) - expected).max() > 1e-4


def test_given_vectors_are_where_it_begins(vectors: WordVectors) -> None:
    for mode in MODES:
        pv = ParagraphVectors(mode, 50, vectors, epochs=1, alpha=END_ALPHA).fit(TEXTS)
        assert pv.transform(TEXTS).shape == (len(TEXTS), 6)
        assert pv.vocabulary_.words == ["cat", "dogs", "ran", "sat", "far", "mat"]
        expected = np.zeros((6, 6))  # "sat", "far" and "mat" have no vector
        expected[:3] = vectors.matrix[:3]
        np.testing.assert_allclose(pv.output_weights_, expected, atol=1e-2)
        if pv.input_weights_ is not None:
            np.testing.assert_allclose(pv.input_weights_[:3], vectors.matrix[:3], atol=1e-2)
    far = ParagraphVectors("dbow", 50, vectors, epochs=50, alpha=0.1).fit(TEXTS)
    assert np.abs(far.output_weights_[:3] - vectors.matrix[:3]).max() > 0.1
    assert not np.shares_memory(far.output_weights_, vectors.matrix)


@pytest.mark.parametrize("mode", MODES)
def test_unknown_words_and_empty_texts(mode: Any) -> None:
    pv = ParagraphVectors(mode, 8, epochs=30, min_count=5).fit(TEXTS)
    assert pv.vocabulary_.words == ["cat", "dogs", "ran", "sat"]
    assert pv.counts_.tolist() == [16, 12, 8, 8]
    known, also, rare, empty, unknown = pv.transform(["cat ran", "cat unheard ran", "cat mat ran", "", "unheard"])
    assert known.any()
    np.testing.assert_array_equal(also, known)
    np.testing.assert_array_equal(rare, known)
    assert not empty.any()
    assert not unknown.any()
    assert pv.transform([]).shape == (0, 8)


def test_words_beyond_the_ten_thousandth_count() -> None:
    pv = ParagraphVectors(dim=4, epochs=20, infer_epochs=1).fit(TEXTS)
    long = ["cat"] * 10_000
    shorter, longer = pv.transform([long, [*long, "dogs", "dogs"]])
    assert (shorter != longer).any()


@pytest.mark.parametrize("mode", ["dbow", "dm"])
@pytest.mark.parametrize("dim", [1, 50, 300, 3000])  # from 257 on, gensim alone writes to memory that it has freed
def test_dimensions(mode: Any, dim: int) -> None:
    pv = ParagraphVectors(mode, dim=dim).fit(TEXTS)
    found = pv.transform(TEXTS)
    assert found.shape == (len(TEXTS), dim)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert len(pv.get_feature_names_out()) == dim


@pytest.mark.parametrize("mode", MODES)
def test_what_was_fitted_comes_back_bit_for_bit(mode: Any, vectors: WordVectors, tmp_path: Path) -> None:
    for start in (None, vectors):
        fitted = ParagraphVectors(mode, 6, start, tokenizer=Tokenizer(digits=True)).fit(TEXTS)
        fitted.save(tmp_path / "pv")
        found = ParagraphVectors.load(tmp_path / "pv")
        texts = [*TEXTS, "mat mat", "unheard", ""]
        np.testing.assert_array_equal(found.transform(texts), fitted.transform(texts))
        assert found.seed_ == fitted.seed_


def test_a_fit_forgets_the_last_one(vectors: WordVectors) -> None:
    pv = ParagraphVectors(vectors=vectors).fit(["mat mat"] * 5)
    pv.transform(["cat"])
    expected = ParagraphVectors(vectors=vectors).fit(TEXTS).transform(TEXTS)
    np.testing.assert_array_equal(pv.fit(TEXTS).transform(TEXTS), expected)


def test_faults_are_told() -> None:
    with pytest.raises(CorpusError, match="no word occurs 99 times"):
        ParagraphVectors(min_count=99).fit(TEXTS)
    with pytest.raises(CorpusError, match="no word occurs 1 times"):
        ParagraphVectors().fit(["", "12"])
