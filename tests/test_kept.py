import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from parasphere import StoreError, Tokenizer, WordVectors, store
from parasphere.baselines import BagOfWords, MeanOfVectors
from parasphere.baselines.tfidf import TfIdf
from parasphere.kept import Kept

TEXTS = ["The cat sat", "dogs ran", "", "ÄPFEL cat"]


@pytest.fixture
def vectors() -> WordVectors:
    return WordVectors.from_arrays(["cat", "dogs", "ran"], [[3, 0, 0], [0, 2, 0], [0, 1, 1]])


def test_what_was_fitted_comes_back(tmp_path: Path) -> None:
    fitted = BagOfWords(3, Tokenizer(stop_words=["the"], digits=True)).fit(TEXTS)
    fitted.save(tmp_path / "bow")
    found = BagOfWords.load(tmp_path / "bow")
    assert found.get_params() == fitted.get_params()
    np.testing.assert_array_equal(found.transform(TEXTS).toarray(), fitted.transform(TEXTS).toarray())
    assert sorted(path.suffix for path in (tmp_path / "bow").iterdir()) == [".json", ".safetensors"]


def test_vectors_are_written_once_or_referred_to(vectors: WordVectors, tmp_path: Path) -> None:
    MeanOfVectors(vectors).fit().save(tmp_path / "embedded")
    assert len(store.load(tmp_path / "embedded", "estimator MeanOfVectors")[0]) == 4
    vectors.save(tmp_path / "vectors")
    MeanOfVectors(tmp_path / "vectors").fit().save(tmp_path / "named")
    assert not store.load(tmp_path / "named", "estimator MeanOfVectors")[0]
    expected = MeanOfVectors(vectors).fit().transform(TEXTS)
    for folder in ("embedded", "named"):
        np.testing.assert_array_equal(MeanOfVectors.load(tmp_path / folder).transform(TEXTS), expected)
    (tmp_path / "vectors").rename(tmp_path / "moved")
    with pytest.raises(StoreError, match="Name them: load"):
        MeanOfVectors.load(tmp_path / "named")
    np.testing.assert_array_equal(MeanOfVectors.load(tmp_path / "named", vectors=vectors).transform(TEXTS), expected)
    others = WordVectors.from_arrays(["cat"], [[1, 0, 0]])
    with pytest.raises(StoreError, match="are others"):
        MeanOfVectors.load(tmp_path / "named", vectors=others)


def test_what_was_loaded_can_be_saved_again(
    vectors: WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors.save(tmp_path / "vectors")
    monkeypatch.chdir(tmp_path)
    MeanOfVectors("vectors").fit().save("first")
    expected = MeanOfVectors(vectors).fit().transform(TEXTS)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    MeanOfVectors.load("../first").save("second")
    np.testing.assert_array_equal(MeanOfVectors.load("second").transform(TEXTS), expected)
    (tmp_path / "vectors").rename(tmp_path / "moved")
    moved = MeanOfVectors.load("second", vectors=tmp_path / "moved")
    moved.save("third")
    np.testing.assert_array_equal(MeanOfVectors.load("third").fit().transform(TEXTS), expected)


def test_a_tokenizer_of_python_code_is_named_again(tmp_path: Path) -> None:
    fitted = BagOfWords(tokenizer=str.split).fit(TEXTS)
    fitted.save(tmp_path)
    with pytest.raises(StoreError, match="Python code"):
        BagOfWords.load(tmp_path)
    found = BagOfWords.load(tmp_path, tokenizer=str.split)
    np.testing.assert_array_equal(found.transform(TEXTS).toarray(), fitted.transform(TEXTS).toarray())


class Odd(Kept, BaseEstimator):
    def __init__(self, given: Any = None, random_state: Any = None) -> None:
        self.given = given
        self.random_state = random_state
        self.found_ = {"rows": [1, (2.5, None)], "table": np.arange(6.0).reshape(2, 3)}

    def fit(self) -> None: ...


def test_nested_values_and_generators(tmp_path: Path) -> None:
    Odd(np.float32(0.5), np.random.RandomState(0)).save(tmp_path)
    found = Odd.load(tmp_path)
    assert (found.given, found.random_state) == (0.5, None)
    assert found.found_["rows"] == [1, [2.5, None]]
    np.testing.assert_array_equal(found.found_["table"], [[0, 1, 2], [3, 4, 5]])


def test_faults_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        BagOfWords().save(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    with pytest.raises(StoreError, match="given is a set, which cannot be saved"):
        Odd({1}).save(tmp_path / "odd")
    BagOfWords().fit(TEXTS).save(tmp_path / "bow")
    with pytest.raises(StoreError, match="holds 'estimator BagOfWords', not 'estimator MeanOfVectors'"):
        MeanOfVectors.load(tmp_path / "bow")
    arrays, facts = store.load(tmp_path / "bow", "estimator BagOfWords")
    store.save(tmp_path / "bow", "estimator BagOfWords", {**arrays, "vocabulary_.offsets": np.array([0, 9999])}, facts)
    with pytest.raises(StoreError, match="do not fit each other"):
        BagOfWords.load(tmp_path / "bow")
    store.save(tmp_path / "bow", "estimator BagOfWords", {}, json.loads(json.dumps(facts)))
    with pytest.raises(StoreError, match="lacks what a BagOfWords needs"):
        BagOfWords.load(tmp_path / "bow")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.update(parameters=[]), "has no attribute 'items'"),
        (lambda facts: facts.update(parameters=5), "has no attribute 'items'"),
        (lambda facts: facts.pop("found"), "found"),
        (lambda facts: facts["parameters"].update(max_words="many"), "max_words is 'many'"),
        (lambda facts: facts["parameters"].update(max_words=10**30), "max_words is '1000"),
        (lambda facts: facts["parameters"].update(max_words=True), "max_words is 'True'"),
        (lambda facts: facts["parameters"].update(tokenizer={"tokenizer": {"digits": 7}}), "digits is '7'"),
        (lambda facts: facts["found"].update(transform="x"), "'transform' is no name of what fit finds"),
        (lambda facts: facts["found"].update(vocabulary_=3), "vocabulary_ is '3'"),
        (lambda facts: facts["found"].pop("vocabulary_"), "vocabulary_"),
        (lambda facts: facts["found"].update(vocabulary_={}), "not enough values"),
    ],
)
def test_facts_that_lie_are_told(change: Any, message: str, tmp_path: Path) -> None:
    BagOfWords().fit(TEXTS).save(tmp_path / "bow")
    arrays, facts = store.load(tmp_path / "bow", "estimator BagOfWords")
    change(facts)
    store.save(tmp_path / "bow", "estimator BagOfWords", {name: np.array(a) for name, a in arrays.items()}, facts)
    with pytest.raises(StoreError, match="lacks what a BagOfWords needs") as told:
        BagOfWords.load(tmp_path / "bow")
    assert message in str(told.value)


def test_facts_nested_without_end_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = {"list": [deep]}
    monkeypatch.setattr(
        store, "load", lambda *_arguments, **_options: ({}, {"parameters": {"max_words": deep}, "found": {}})
    )
    with pytest.raises(StoreError, match="RecursionError"):
        BagOfWords.load(tmp_path)


def test_arrays_that_do_not_fit_each_other_are_told(tmp_path: Path) -> None:
    TfIdf().fit(TEXTS).save(tmp_path / "tfidf")
    arrays, facts = store.load(tmp_path / "tfidf", "estimator TfIdf")
    sound = {name: np.array(array) for name, array in arrays.items()}
    for lie in (sound["idf_"][:2], sound["idf_"].astype(np.float32), sound["idf_"] * np.nan):
        store.save(tmp_path / "tfidf", "estimator TfIdf", sound | {"idf_": lie}, facts)
        with pytest.raises(StoreError, match="idf_"):
            TfIdf.load(tmp_path / "tfidf")
