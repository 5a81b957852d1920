"""Estimators on disk: what was fitted comes back, nested estimators too, and folders that lie are refused."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from parasphere import (
    JointVectors,
    ParasphereWarning,
    SegmentingTokenizer,
    StoreError,
    Tokenizer,
    Vocabulary,
    WordVectors,
    storage,
)
from parasphere.storage import Saved
from parasphere.text import AnyTokenizer

WORDS = ["cat", "dogs", "ran"]


class Scaler(Saved, BaseEstimator):  # type: ignore[misc]
    """An estimator that has a bit of everything, and may have another one as a part."""

    _layouts: ClassVar[dict[str, str]] = {"scale_": "f8[words]"}
    _positive: ClassVar[tuple[str, ...]] = ("scale_",)

    scale_: NDArray[np.float64]
    vocabulary_: Vocabulary
    n_seen_: int

    def __init__(
        self,
        factor: float = 1.0,
        *,
        part: Any = None,
        tokenizer: AnyTokenizer | None = None,
        vectors: Any = None,
        random_state: Any = None,
        size: int | None = None,
    ) -> None:
        self.factor = factor
        self.part = part
        self.tokenizer = tokenizer
        self.vectors = vectors
        self.random_state = random_state
        self.size = size

    def fit(self, **more: Any) -> "Scaler":
        self.vocabulary_ = Vocabulary(WORDS)
        self.scale_ = self.factor * np.arange(1.0, 4.0)
        self.n_seen_ = 3
        for name, value in more.items():
            setattr(self, name, value)
        return self


KIND = "estimator Scaler"


@pytest.fixture
def vectors() -> WordVectors:
    return WordVectors.from_arrays(WORDS, [[3, 0, 0], [0, 2, 0], [0, 1, 1]])


def saved_and_loaded(estimator: Any, folder: Path, **given: Any) -> Any:
    estimator.save(folder)
    return type(estimator).load(folder, **given)


def test_what_was_fitted_comes_back(tmp_path: Path) -> None:
    fitted = Scaler(2.5, tokenizer=Tokenizer(stop_words=["the"], digits=True)).fit()
    found = saved_and_loaded(fitted, tmp_path / "scaler")
    assert found.get_params() == fitted.get_params()
    np.testing.assert_array_equal(found.scale_, fitted.scale_)
    assert found.scale_.flags.writeable
    assert found.vocabulary_.words == WORDS
    assert found.n_seen_ == 3
    assert sorted(path.suffix for path in (tmp_path / "scaler").iterdir()) == [".json", ".safetensors"]


def test_values_of_every_kind(tmp_path: Path) -> None:
    values = {
        "tuple_": (1, (2.5, None), [True, "ä"], ()),
        "dict_": {"rows": [1, (2, 3)], "table": np.arange(6, dtype=np.int32).reshape(2, 3), "nothing": {}},
        "numbers_": [np.float32(0.5), np.int64(7), np.bool_(True), float("inf")],
        "path_": Path("/somewhere"),
        "bits_": np.array([True, False]),
        "names_in_": np.array(["a", "ä"], object),
    }
    found = saved_and_loaded(Scaler(np.float32(0.5), random_state=np.random.RandomState(0)).fit(**values), tmp_path)
    assert found.tuple_ == values["tuple_"]
    assert found.dict_["rows"] == [1, (2, 3)]
    assert found.dict_["nothing"] == {}
    assert found.dict_["table"].dtype == np.int32
    np.testing.assert_array_equal(found.dict_["table"], [[0, 1, 2], [3, 4, 5]])
    assert found.numbers_ == [0.5, 7, True, float("inf")]
    assert found.path_ == "/somewhere"
    np.testing.assert_array_equal(found.bits_, [True, False])
    assert found.names_in_.tolist() == ["a", "ä"]
    assert found.names_in_.dtype == object
    assert (found.factor, found.random_state) == (0.5, None)  # a generator is not saved


def test_nested_estimators(tmp_path: Path) -> None:
    inner = Scaler(3.0, tokenizer=Tokenizer(min_length=2))
    fitted = Scaler(part=inner).fit(steps_=[("a", Scaler(5.0).fit()), ("b", Scaler(7.0, part=Scaler(8.0)).fit())])
    found = saved_and_loaded(fitted, tmp_path)
    assert found.part.get_params() == inner.get_params()
    assert not hasattr(found.part, "scale_")  # it was not fitted
    assert [name for name, _ in found.steps_] == ["a", "b"]
    (_, first), (_, second) = found.steps_
    np.testing.assert_array_equal(first.scale_, [5, 10, 15])
    assert second.part.factor == 8
    again = saved_and_loaded(found, tmp_path)
    assert again.get_params()["part__factor"] == 3


@pytest.mark.parametrize("part", [JointVectors(7), SegmentingTokenizer()])
def test_classes_that_nothing_has_imported_are_found(part: Any) -> None:
    facts, arrays = storage.packed(part, "part")
    assert arrays == {}
    code = f"from parasphere.storage import unpacked; print(unpacked({facts!r}, {{}}, 'part'))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert printed.strip() == repr(part)


def test_an_object_that_occurs_twice_is_written_once(vectors: WordVectors, tmp_path: Path) -> None:
    fitted = Scaler(vectors=vectors, part=Scaler(vectors=vectors)).fit(vectors_=vectors, both_=[vectors, vectors])
    fitted.save(tmp_path)
    arrays, _ = storage.load(tmp_path, KIND)
    assert sorted(name.rpartition(".")[2] for name in arrays) == [
        "data", "data", "matrix", "norms", "offsets", "offsets", "scale_"
    ]  # fmt: skip
    found = Scaler.load(tmp_path)
    assert found.vectors is found.vectors_ is found.both_[0] is found.both_[1] is found.part.vectors
    assert found.vectors.fingerprint == vectors.fingerprint


def test_vectors_are_written_or_referred_to(
    vectors: WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors.with_weights([1, 2, 3]).save(tmp_path / "vectors")
    monkeypatch.chdir(tmp_path)
    named = WordVectors.load("vectors")
    Scaler(vectors="vectors").fit(vectors_=named).save("named")
    assert not any("vectors" in name for name in storage.load("named", KIND)[0])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # the path of vectors that were loaded is absolute
    again = saved_and_loaded(Scaler.load("../named"), Path("second"))
    assert again.vectors_.fingerprint == named.fingerprint
    (tmp_path / "vectors").rename(tmp_path / "moved")
    with pytest.raises(StoreError, match=r"second: the word vectors .* cannot be loaded .* Pass them: load"):
        Scaler.load("second")
    moved = Scaler.load("second", vectors=tmp_path / "moved")
    assert moved.vectors == tmp_path / "moved"
    assert moved.vectors_.source == str(tmp_path / "moved")
    assert saved_and_loaded(moved, Path("third")).vectors_.fingerprint == named.fingerprint
    for others in (vectors, vectors.subset(["cat"])):  # other weights, other words
        with pytest.raises(StoreError, match=r"second: the word vectors were .* are different"):
            Scaler.load("second", vectors=others)
    embedded = Scaler().fit(vectors_=vectors)
    assert saved_and_loaded(embedded, Path("embedded"), vectors=vectors).vectors_ is vectors


def test_functions_are_given_again(tmp_path: Path) -> None:
    fitted = Scaler(tokenizer=str.split, part=Scaler(tokenizer=str.split)).fit()
    with pytest.warns(ParasphereWarning, match=r"the tokenizer is the Python function 'str.split', which is not saved"):
        fitted.save(tmp_path)
    message = r"the tokenizer was the Python function 'str.split', which is not saved: pass it again"
    with pytest.raises(StoreError, match=message) as told:
        Scaler.load(tmp_path)
    assert str(told.value).startswith(str(tmp_path))
    found = Scaler.load(tmp_path, tokenizer=str.split)
    assert found.tokenizer is found.part.tokenizer is str.split
    other = saved_and_loaded(Scaler(tokenizer=Tokenizer()).fit(), tmp_path, tokenizer=str.split)
    assert other.tokenizer is str.split  # and may be given in place of one that was saved


def test_faults_of_saving_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        Scaler().save(tmp_path / "none")
    for wrong, message in (({1}, "part is a set"), ([{1: 2}], "part.0 is a dict"), (np.array([{1}]), "part is a nd")):
        with pytest.raises(StoreError, match=f"{message}.*, which cannot be saved"):
            Scaler(part=wrong).fit().save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_another_kind_is_refused(vectors: WordVectors, tmp_path: Path) -> None:
    vectors.save(tmp_path)
    with pytest.raises(StoreError, match="holds 'word-vectors', not 'estimator Scaler'"):
        Scaler.load(tmp_path)
    with pytest.raises(StoreError, match="holds 'word-vectors', which 'estimator Scaler' must not replace"):
        Scaler().fit().save(tmp_path)


Facts = dict[str, Any]


def nested(facts: Facts) -> Facts:
    inner: Facts = facts["parameters"]["part"]["facts"]
    return inner


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.update(parameters=[]), "has no attribute 'items'"),
        (lambda facts: facts.update(parameters=5), "has no attribute 'items'"),
        (lambda facts: facts.pop("learned"), "learned"),
        (lambda facts: facts["parameters"].update(size="many"), "size is 'many'"),
        (lambda facts: facts["parameters"].update(size=10**30), "size is '1000"),
        (lambda facts: facts["parameters"].update(size=True), "size is 'True'"),
        (lambda facts: facts["parameters"].update(factor=float("nan")), "factor is 'nan'"),
        (lambda facts: facts["parameters"].update(factory=1), "factory"),
        (lambda facts: facts["parameters"]["tokenizer"]["facts"].update(digits=7), "digits is '7'"),
        (lambda facts: facts["parameters"]["tokenizer"].update(object="tokeniser"), "tokeniser"),
        (lambda facts: facts["parameters"]["tokenizer"].pop("at"), "at"),
        (lambda facts: facts["parameters"]["part"].update(estimator="Nothing"), "Nothing"),
        (lambda facts: nested(facts)["parameters"].update(size=0.5), "size is '0.5'"),
        (lambda facts: nested(facts)["learned"].pop("n_seen_"), "n_seen_"),
        (lambda facts: facts["learned"].update(transform="x"), "'transform' is not the name of a learned attribute"),
        (lambda facts: facts["learned"].update(_x_=1), "'_x_' is not the name of a learned attribute"),
        (lambda facts: facts["learned"].update(vocabulary_=3), "vocabulary_ is '3'"),
        (lambda facts: facts["learned"].pop("vocabulary_"), "vocabulary_"),
        (lambda facts: facts["learned"].update(vocabulary_={}), "not enough values"),
        (lambda facts: facts["learned"]["vocabulary_"].update(arrays=["data"]), "offsets"),
        (lambda facts: facts["learned"]["vocabulary_"].update(arrays=["nothing"]), "nothing"),
        (lambda facts: facts["learned"].update(scale_={"array": "nothing"}), "nothing"),
        (lambda facts: facts["learned"].update(scale_={"set": []}), "set"),
        (lambda facts: facts["learned"].update(scale_=None), "scale_"),
    ],
)
def test_facts_that_lie_are_told(change: Callable[[Facts], Any], message: str, tmp_path: Path) -> None:
    Scaler(tokenizer=Tokenizer(), part=Scaler().fit()).fit().save(tmp_path / "lie")
    arrays, facts = storage.load(tmp_path / "lie", KIND)
    change(facts)
    storage.save(tmp_path / "lie", KIND, {name: np.array(a) for name, a in arrays.items()}, facts)
    with pytest.raises(StoreError, match="lie holds no valid Scaler") as told:
        Scaler.load(tmp_path / "lie")
    assert message in str(told.value)


@pytest.mark.parametrize(
    ("name", "lie", "message"),
    [
        ("scale_", lambda scale: scale[:2], "scale_ must be float64 of shape"),
        ("scale_", lambda scale: scale.astype(np.float32), "scale_ must be float64 of shape"),
        ("scale_", lambda scale: scale * np.nan, "scale_ holds numbers that are not finite"),
        ("scale_", lambda scale: -scale, "scale_ must hold numbers above 0"),
        ("vocabulary_.offsets", lambda _: np.array([0, 9999]), "offsets"),
        ("vocabulary_.data", lambda data: data[::-1] | 0x80, "not UTF-8"),
    ],
)
def test_arrays_that_lie_are_told(name: str, lie: Any, message: str, tmp_path: Path) -> None:
    Scaler().fit().save(tmp_path / "lie")
    arrays, facts = storage.load(tmp_path / "lie", KIND)
    sound = {key: np.array(array) for key, array in arrays.items()}
    storage.save(tmp_path / "lie", KIND, sound | {name: lie(sound[name])}, facts)
    with pytest.raises(StoreError, match="lie holds no valid Scaler") as told:
        Scaler.load(tmp_path / "lie")
    assert message in str(told.value)
    storage.save(tmp_path / "lie", KIND, {}, json.loads(json.dumps(facts)))
    with pytest.raises(StoreError, match="lie holds no valid Scaler"):
        Scaler.load(tmp_path / "lie")


def test_facts_nested_without_end_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = {"list": [deep]}
    monkeypatch.setattr(
        "parasphere.storage.estimators.load", lambda *_, **__: ({}, {"parameters": {"size": deep}, "learned": {}})
    )
    with pytest.raises(StoreError, match="RecursionError"):
        Scaler.load(tmp_path)
