from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from parasphere import Bags, CorpusError, Tokenizer, WordVectors
from parasphere.baselines import BagOfWords, FastSent, MeanOfVectors, MovMFTopics, SphericalAdmixtureTopics

TEXTS = ["The cat sat; the cat ran", "dogs ran, dogs ran", "a cat and a dog", "", "ÄPFEL"]


@pytest.fixture
def vectors() -> WordVectors:
    return WordVectors.from_arrays(["cat", "dogs", "ran"], [[3, 0, 0], [0, 2, 0], [0, 1, 1]])


def test_counts_are_scikit_learns_scaled() -> None:
    theirs = CountVectorizer(token_pattern=r"[^\W\d_]+").fit(TEXTS)
    ours = BagOfWords(tokenizer=Tokenizer()).fit(TEXTS)
    assert sorted(ours.get_feature_names_out()) == sorted(theirs.get_feature_names_out())
    order = [theirs.vocabulary_[word] for word in ours.get_feature_names_out()]
    expected = normalize(theirs.transform(TEXTS).astype(float))[:, order]
    np.testing.assert_allclose(ours.transform(TEXTS).toarray(), expected.toarray(), rtol=1e-15)


def test_the_most_frequent_words_of_the_training_texts_have_columns() -> None:
    bow = BagOfWords(2, Tokenizer.paper()).fit(TEXTS)
    assert bow.get_feature_names_out().tolist() == ["cat", "ran"]  # 3 each; "sat" and "dogs" are rarer
    found = bow.transform(["sat sat", "cat cat ran unseen"])
    assert found.format == "csr"
    np.testing.assert_allclose(found.toarray(), [[0, 0], [2 / 5**0.5, 1 / 5**0.5]])


def test_the_mean_of_unit_vectors(vectors: WordVectors) -> None:
    found = MeanOfVectors(vectors).fit(TEXTS).transform(TEXTS)
    half = 0.5**0.5
    expected = [[2 / 3, half / 3, half / 3], [0, (1 + half) / 2, half / 2], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_all_that_a_corpus_can_be(vectors: WordVectors, tmp_path: Path) -> None:
    file = tmp_path / "texts.csv"
    file.write_text("text\n" + "\n".join(f'"{text}"' for text in TEXTS))
    for encoder in (BagOfWords(), MeanOfVectors(vectors)):
        expected = _dense(encoder.fit_transform(TEXTS))
        for source in (iter(TEXTS), np.array(TEXTS), pa.array(TEXTS), file):
            found = clone(encoder).fit_transform(source)
            np.testing.assert_array_equal(_dense(found), expected)
    bags = Bags.from_texts(TEXTS, vectors)
    np.testing.assert_array_equal(MeanOfVectors(vectors).fit().transform(bags), expected)


def test_they_clone_and_serve_in_pipelines(vectors: WordVectors) -> None:
    texts, labels = ["cat", "dogs ran", "cat cat", "dogs"] * 5, [0, 1, 0, 1] * 5
    for encoder in (BagOfWords(3), MeanOfVectors(vectors)):
        pipeline = clone(make_pipeline(encoder, LinearSVC(random_state=0)))
        assert pipeline.fit(texts, labels).score(texts, labels) == 1
    names = MeanOfVectors(vectors).fit(texts).get_feature_names_out()
    assert names.tolist() == ["meanofvectors0", "meanofvectors1", "meanofvectors2"]


def test_no_texts_have_no_vectors(vectors: WordVectors) -> None:
    encoders = [BagOfWords(), MeanOfVectors(vectors), MovMFTopics(2), SphericalAdmixtureTopics(2)]
    for encoder in encoders:
        found = encoder.fit(TEXTS).transform([])
        assert found.shape == (0, encoder.transform(TEXTS).shape[1])
    fast = FastSent(4, min_count=1, epochs=1, random_state=0).fit(TEXTS[:3])
    assert fast.transform([]).shape == (0, 4)


def test_faults_are_told() -> None:
    with pytest.raises(CorpusError, match="has a word"):
        BagOfWords().fit(["", "12"])
    with pytest.raises(ValueError, match="max_words must be at least 1 or None, not 0"):
        BagOfWords(0).fit(TEXTS)


def _dense(matrix: object) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
