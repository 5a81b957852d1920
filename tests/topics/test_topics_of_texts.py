"""Topics of texts with planted topics, and of the docstrings."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from parasphere import SphericalParagraphModel, SphericalTopics, WordVectors, datasets, storage
from parasphere.errors import CorpusError, StoreError

K, WORDS_EACH = 5, 30
WORDS = [f"{'abcde'[topic]}{chr(97 + i // 26)}{chr(97 + i % 26)}" for topic in range(K) for i in range(WORDS_EACH)]


@cache
def planted(n: int = 400, seed: int = 0) -> tuple[list[str], np.ndarray]:
    """Texts of ten words, eight of them from the thirty of their topic; the topics have different sizes."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(K, n, p=np.arange(K, 0, -1) / 15)
    own = labels[:, None] * WORDS_EACH + rng.integers(WORDS_EACH, size=(n, 8))
    ids = np.hstack([own, rng.integers(len(WORDS), size=(n, 2))])
    return [" ".join(WORDS[i] for i in row) for row in ids], labels


def model() -> SphericalParagraphModel:
    """Vectors that know nothing of the topics: the words of the texts have to."""
    rows = np.random.default_rng(1).normal(size=(len(WORDS), 12))
    return SphericalParagraphModel(WordVectors.from_arrays(WORDS, rows), tol=1e-3)


@cache
def fitted() -> SphericalTopics:
    return SphericalTopics(model(), K).fit(planted()[0])


def test_planted_topics_are_found_and_numbered_by_size() -> None:
    labels = planted()[1]
    found = fitted()
    said = found.labels_ >= 0
    assert said.mean() > 0.9
    assert adjusted_rand_score(labels[said], found.labels_[said]) > 0.95
    sizes = np.bincount(found.labels_[said])
    assert (np.diff(sizes) <= 0).all()
    new, truth = planted(300, seed=7)
    assert adjusted_rand_score(truth, found.transform(new).argmax(axis=1)) > 0.9


def test_the_number_of_topics_is_found() -> None:
    found = SphericalTopics(model()).fit(planted()[0])
    assert K <= len(found.weights_) <= K + 2


def test_words_of_a_topic_are_its_own() -> None:
    labels = planted()[1]
    for topic, words in enumerate(fitted().topic_words(8)):
        letter = "abcde"[np.bincount(labels[fitted().labels_ == topic]).argmax()]
        assert len(words) == 8
        assert {word[0] for word in words} == {letter}


def test_probabilities_sum_to_one_and_agree_with_labels() -> None:
    texts, _ = planted()
    probabilities = fitted().transform(texts)
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert (fitted().predict(texts) == fitted().labels_).all()
    said = fitted().labels_ >= 0
    assert (probabilities.argmax(axis=1)[said] == fitted().labels_[said]).all()


def test_texts_that_say_nothing_are_apart() -> None:
    texts, _ = planted()
    found = SphericalTopics(model(), K, outliers=False).fit(["", *texts, "1 23"])
    assert (found.labels_[[0, -1]] == -1).all()
    assert (found.labels_[1:-1] >= 0).all()
    assert np.allclose(found.transform([""]), found.weights_)


def test_texts_of_no_topic_are_outliers() -> None:
    texts, _ = planted()
    rng = np.random.default_rng(5)
    noise = [" ".join(rng.choice(WORDS, 10)) for _ in range(40)]
    found = SphericalTopics(model(), K).fit([*texts, *noise])
    assert (found.labels_[400:] < 0).mean() > 3 * (found.labels_[:400] < 0).mean()
    assert (found.labels_[400:] < 0).sum() >= 5
    everyone = SphericalTopics(model(), K, outliers=False).fit([*texts, *noise])
    assert (everyone.labels_ >= 0).all()


def test_table_of_topics() -> None:
    texts, _ = planted()
    rows = fitted().topics_.to_frame()
    assert rows.to_dict("records") == fitted().topics_
    assert list(rows.columns) == ["topic", "size", "share", "name", "words", "texts", "tightness"]
    assert rows["size"].sum() == (fitted().labels_ >= 0).sum()
    assert rows.texts.map(len).eq(3).all()
    assert rows.texts.explode().isin(texts).all()
    assert rows.tightness.between(0.1, 1).all()


def test_typical_texts_are_of_their_topic() -> None:
    texts, _ = planted()
    for topic, typical in enumerate(fitted().typical_):
        assert {int(fitted().labels_[texts.index(text)]) for text in typical} == {topic}


def test_topics_over_a_column() -> None:
    rows = fitted().over(["even", "odd"] * 200).to_frame()
    assert rows["value"].tolist() == ["even", "odd"]
    counts = rows.drop(columns="value")
    assert (counts.sum(axis=1) == 200).all()
    assert counts["0"].sum() == (fitted().labels_ == 0).sum()
    with pytest.raises(ValueError, match="3 values for 400 texts"):
        fitted().over([1, 2, 3])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([2021, np.nan, 2020, 2019]), [2019, 2020, 2021, None]),
        (pd.Series([2021, None, 2020, 2019], dtype="Int64"), [2019, 2020, 2021, None]),
        (pd.Series(["b", None, "a", "c"]), ["a", "b", "c", None]),
        (pd.to_datetime(pd.Series(["2021-01-01", None, "2020-01-01", "2019-01-01"])).dt.year, [2019, 2020, 2021, None]),
        (pa.array([2, 1, 2, None]), [1, 2, None]),
        (np.array([2, 1, 2, 3]), [1, 2, 3]),
    ],
)
def test_missing_values_are_counted_together_and_come_last(column: Any, expected: list[Any]) -> None:
    repeated = pa.array(column.to_pylist() * 100) if isinstance(column, pa.Array) else list(column) * 100
    rows = fitted().over(repeated).to_frame()
    assert [None if pd.isna(value) else value for value in rows["value"]] == expected
    assert rows.drop(columns="value").to_numpy().sum() == 400


def test_values_without_an_order_get_a_sentence() -> None:
    with pytest.raises(ValueError, match="the values of the column cannot be put in order"):
        fitted().over(["a", 1] * 200)


def test_fewer_topics_are_merged_ones() -> None:
    fewer = fitted().at(3)
    assert len(fewer.weights_) == 3
    together = pd.crosstab(fitted().labels_, fewer.labels_).gt(0).sum(axis=1)
    assert (together == 1).all()  # each topic goes to one as a whole
    assert fewer.counts_.sum() == pytest.approx(fitted().counts_.sum())
    assert len(fitted().weights_) == K
    assert fewer.topics_.to_frame()["size"].is_monotonic_decreasing  # topic 0 is again the largest
    np.testing.assert_array_equal(fitted().at(K).labels_, fitted().labels_)
    with pytest.raises(ValueError, match="from 1 to 5"):
        fitted().at(9)
    with pytest.raises(ValueError, match="there is no topic 7: the topics are 0 to 4"):
        fitted().text_names([0, 7])


def test_partial_fit_adds_texts() -> None:
    texts, labels = planted()
    found = SphericalTopics(model(), K).partial_fit(texts[:300]).partial_fit(texts[300:])
    assert len(found.labels_) == 400
    said = found.labels_ >= 0
    assert adjusted_rand_score(labels[said], found.labels_[said]) > 0.9
    assert found.sizes_.sum() == 400
    assert sum(found.topics_.column("size")) == said.sum()
    assert len(found.partial_fit([]).labels_) == 400
    assert found.temperature_ == SphericalTopics(model(), K).fit(texts[:300]).temperature_


def test_saved_and_loaded(tmp_path: Path) -> None:
    texts, _ = planted()
    fitted().save(tmp_path / "topics")
    again = SphericalTopics.load(tmp_path / "topics")
    assert (again.transform(texts) == fitted().transform(texts)).all()
    assert again.temperature_ == fitted().temperature_ == fitted().at(3).temperature_ > 1
    assert again.topic_words() == fitted().topic_words()
    assert again.topics_ == fitted().topics_


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("typical_", {"list": [3, 4]}), ("typical_", {"list": [{"list": ["a"]}]}), ("typical_scores_", {"list": []}),
        ("typical_scores_", {"list": [{"list": ["a"]}]}), ("outliers_", "x"), ("lexical_weight_", 2.0),
        ("outlier_limit_", None), ("temperature_", 0.5), ("temperature_", "x"),
    ],
)  # fmt: skip
def test_topics_with_other_facts_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    fitted().save(tmp_path / "topics")
    arrays, info = storage.read(tmp_path / "topics")
    info.facts["objects"][0]["learned"][name] = value
    storage.write(tmp_path / "topics", "SphericalTopics", arrays, info.facts)
    with pytest.raises(StoreError, match="damaged"):
        SphericalTopics.load(tmp_path / "topics")


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("labels_", lambda array: array + 100), ("sums_", lambda array: array[:, 1:].copy()),
        ("axes_", lambda array: array[1:].copy()), ("sizes_", lambda array: array * 0),
        ("words_.idf", lambda array: array[1:].copy()), ("counts_", lambda array: array[:, 1:].copy()),
    ],
)  # fmt: skip
def test_topics_with_other_arrays_are_refused(name: str, lie: Any, tmp_path: Path) -> None:
    fitted().save(tmp_path / "topics")
    arrays, info = storage.read(tmp_path / "topics")
    storage.write(tmp_path / "topics", "SphericalTopics", arrays | {name: lie(arrays[name])}, info.facts)
    with pytest.raises(StoreError, match="damaged"):
        SphericalTopics.load(tmp_path / "topics")


def test_a_fitted_model_is_kept_as_it_is() -> None:
    texts, _ = planted()
    own = model().fit(texts)
    assert SphericalTopics(own, 2).fit(texts).encoder_ is own.encoder_


def test_the_same_seed_gives_the_same_topics() -> None:
    texts, _ = planted()
    again = SphericalTopics(model(), K).fit(texts)
    assert (again.transform(texts) == fitted().transform(texts)).all()


@pytest.mark.parametrize("found", ["as many as labels", "a number that is found"])
def test_docstrings_have_readable_topics(found: str) -> None:
    corpus = datasets.load("docstrings")
    given = {"n_topics": len(corpus.label_names)} if found == "as many as labels" else {}
    topics = SphericalTopics(**given).fit(corpus.texts)
    shares = topics.transform(corpus.texts)
    inside = topics.labels_ >= 0
    sure, where = shares.max(axis=1), shares.argmax(axis=1)
    right = pd.crosstab(where, corpus.labels).to_numpy().argmax(axis=1)[where] == corpus.labels
    assert sure.mean() == pytest.approx(right.mean(), abs=0.15)  # before calibration they were sure of 98 % of texts
    assert np.median(sure[~inside]) < 0.5 < np.median(sure[inside])
    assert normalized_mutual_info_score(corpus.labels, where) > 0.6
    words = topics.topic_words(5)
    if not given:  # with few topics, signals and their transforms may be one, whose first words are of filters
        assert any({"fft", "fourier"} <= set(five) for five in words)
    assert topics.topics_.to_frame()["size"].is_monotonic_decreasing
    assert (topics.labels_ < 0).mean() <= 1 / 8
    assert not {word for five in words for word in five} & {"the", "that", "to", "but"}


@pytest.mark.filterwarnings("ignore::parasphere.errors.FewDocumentsWarning")
def test_too_few_texts_are_named() -> None:
    with pytest.raises(CorpusError, match="1 of 2 texts have a known word; n_topics=3 needs at least 3"):
        SphericalTopics(model(), 3).fit(["aaa aab", "12"])
    with pytest.raises(ValueError, match="k must be at least 1"):
        fitted().topic_words(0)


def test_levels_are_nested() -> None:
    found = fitted()
    assert found.levels_ == [K]
    some = found.groups(3)
    np.testing.assert_array_equal(found.labels_ < 0, found.at(3).labels_ < 0)
    for topic in range(K):
        assert set(found.at(3).labels_[found.labels_ == topic]) == {some[topic]}


def test_topics_of_long_texts_are_saved(tmp_path: Path) -> None:
    texts, _ = planted()
    long = [f"{text} " * (200_000 // len(text)) for text in texts[:40]]
    found = SphericalTopics(model(), 2).fit(long)
    found.save(tmp_path / "topics")
    assert SphericalTopics.load(tmp_path / "topics").typical_ == found.typical_
    assert max(len(text) for topic in found.topics_ for text in topic["texts"]) <= 5000


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_texts_that_are_all_equal_are_one_topic() -> None:
    assert len(SphericalTopics(model()).fit([planted()[0][0]] * 60).names_) == 1
