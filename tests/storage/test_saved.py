"""Estimators on disk: what was fitted comes back, nested estimators too, and files that lie are refused."""

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from conftest import is_mapped
from numpy.typing import NDArray
from safetensors.numpy import load_file
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from parasphere import JointVectors, SegmentingTokenizer, SphericalParagraphModel, Tokenizer, WordVectors, storage
from parasphere.errors import ParasphereWarning, StoreError
from parasphere.storage import Saved
from parasphere.text import AnyTokenizer, Vocabulary

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


@pytest.fixture
def vectors() -> WordVectors:
    return WordVectors.from_arrays(WORDS, [[3, 0, 0], [0, 2, 0], [0, 1, 1]])


def saved_and_loaded(estimator: Any, path: Path, **given: Any) -> Any:
    path = path / "saved.safetensors" if path.is_dir() else path
    estimator.save(path)
    return type(estimator).load(path, **given)


def test_what_was_fitted_comes_back(tmp_path: Path) -> None:
    fitted = Scaler(2.5, tokenizer=Tokenizer(stop_words=["the"], digits=True)).fit()
    found = saved_and_loaded(fitted, tmp_path / "scaler")
    assert found.get_params() == fitted.get_params()
    np.testing.assert_array_equal(found.scale_, fitted.scale_)
    assert is_mapped(found.scale_)
    assert found.vocabulary_.words == WORDS
    assert found.n_seen_ == 3
    assert [path.name for path in tmp_path.iterdir()] == ["scaler"]


def test_values_of_every_kind(tmp_path: Path) -> None:
    values = {
        "tuple_": (1, (2.5, None), [True, "ä"], ()),
        "dict_": {"rows": [1, (2, 3)], "table": np.arange(6, dtype=np.int32).reshape(2, 3), "nothing": {}},
        "numbers_": [np.float32(0.5), np.int64(7), np.bool_(True), float("inf")],
        "path_": Path("/somewhere"),
        "strings_": (["a\ud800b", "", "漢"], ("x",), frozenset({"the", "a"}), [], ["text", 1], "\ud800"),
        "keys_": {"a.b": np.zeros(1), "a": {"b": np.ones(1)}, "\ud800": np.full(1, 2.0)},
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
    assert found.strings_ == values["strings_"]
    assert [float(item) for item in (found.keys_["a.b"][0], found.keys_["a"]["b"][0], found.keys_["\ud800"][0])] == [
        0,
        1,
        2,
    ]
    assert load_file(tmp_path / "saved.safetensors")
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
    packing = storage._Packing()
    packing.value(part, "part")
    facts, arrays = {"objects": packing.objects}, packing.arrays
    assert arrays == {}
    code = "import json, sys; from parasphere.storage import unpacked; print(unpacked(json.loads(sys.argv[1]), {}))"
    done = subprocess.run([sys.executable, "-c", code, json.dumps(facts)], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == repr(part)


def test_what_occurs_twice_is_written_once(vectors: WordVectors, tmp_path: Path) -> None:
    numbers = np.arange(5.0)
    fitted = Scaler(vectors=vectors, part=Scaler(vectors=vectors)).fit(
        vectors_=vectors, both_=[vectors, vectors], numbers_=numbers, same_=numbers[:], half_=numbers[:3]
    )
    fitted.save(tmp_path / "saved")
    arrays = storage.read(tmp_path / "saved")[0]
    assert sorted(name.rpartition(".")[2] for name in arrays) == [
        "data", "data", "half_", "matrix", "norms", "numbers_", "offsets", "offsets", "scale_"
    ]  # fmt: skip
    found = Scaler.load(tmp_path / "saved")
    assert found.vectors is found.vectors_ is found.both_[0] is found.both_[1] is found.part.vectors
    assert found.vectors.fingerprint == vectors.fingerprint
    assert found.same_.tolist() == found.numbers_.tolist() == numbers.tolist()


def test_functions_are_given_again(tmp_path: Path) -> None:
    fitted = Scaler(tokenizer=str.split, part=Scaler(tokenizer=str.split)).fit()
    with pytest.warns(ParasphereWarning, match=r"the tokenizer is the Python function 'str.split', which is not saved"):
        fitted.save(tmp_path / "saved")
    message = r"the tokenizer was the Python function 'str.split', which is not saved: pass it again"
    with pytest.raises(StoreError, match=message) as told:
        Scaler.load(tmp_path / "saved")
    assert str(told.value).startswith(str(tmp_path / "saved"))
    found = Scaler.load(tmp_path / "saved", tokenizer=str.split)
    assert found.tokenizer is found.part.tokenizer is str.split


def test_faults_of_saving_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        Scaler().save(tmp_path / "none")
    for wrong, message in (({1}, "part is a set"), ([{1: 2}], "part.0 is a dict"), (np.array([{1}]), "part is a nd")):
        with pytest.raises(StoreError, match=f"{message}.*, which cannot be saved"):
            Scaler(part=wrong).fit().save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []


def test_another_kind_is_refused(vectors: WordVectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "saved")
    with pytest.raises(StoreError, match="holds 'WordVectors', not 'Scaler'"):
        Scaler.load(tmp_path / "saved")
    with pytest.raises(StoreError, match="holds 'WordVectors', which 'Scaler' must not replace"):
        Scaler().fit().save(tmp_path / "saved")


Facts = dict[str, Any]


def part(name: str) -> Callable[[Facts], Facts]:
    """Return a function that finds the facts of the first object of a kind that is not the saved one."""
    return lambda facts: next(one for one in facts["objects"][1:] if one["kind"] == name)


def first(facts: Facts) -> Facts:
    found: Facts = facts["objects"][0]
    return found


TOKENIZER, INNER, VOCABULARY = part("Tokenizer"), part("Scaler"), part("Vocabulary")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda facts: facts.update(objects=[]), "index"),
        (lambda facts: facts.update(objects=5), "int"),
        (lambda facts: facts.pop("objects"), "objects"),
        (lambda facts: first(facts).update(parameters=[]), "has no attribute 'items'"),
        (lambda facts: first(facts).update(parameters=5), "has no attribute 'items'"),
        (lambda facts: first(facts).pop("learned"), "learned"),
        (lambda facts: first(facts).update(kind="Nothing"), "Nothing"),
        (lambda facts: first(facts).update(kind="Tokenizer"), "fields"),
        (lambda facts: first(facts)["parameters"].update(size="many"), "size is 'many'"),
        (lambda facts: first(facts)["parameters"].update(size=10**30), "size is '1000"),
        (lambda facts: first(facts)["parameters"].update(size=True), "size is 'True'"),
        (lambda facts: first(facts)["parameters"].update(size=[1]), "size is not a valid value"),
        (lambda facts: first(facts)["parameters"].update(factor=float("nan")), "factor is 'nan'"),
        (lambda facts: first(facts)["parameters"].update(factory=1), "factory"),
        (lambda facts: first(facts)["parameters"].update(part={"object": 0}), "part holds itself"),
        (lambda facts: first(facts)["parameters"].update(part={"object": 99}), "index"),
        (lambda facts: first(facts)["parameters"].update(part={"object": -1}), "part is not among the saved"),
        (lambda facts: first(facts)["parameters"].update(part={}), "unpack"),
        (lambda facts: TOKENIZER(facts)["fields"].update(digits=7), "digits is '7'"),
        (lambda facts: TOKENIZER(facts)["fields"].pop("digits"), "a Tokenizer has the fields lowercase, digits"),
        (lambda facts: TOKENIZER(facts).update(kind="tokeniser"), "tokeniser"),
        (lambda facts: TOKENIZER(facts).pop("fields"), "fields"),
        (lambda facts: INNER(facts)["parameters"].update(size=0.5), "size is '0.5'"),
        (lambda facts: INNER(facts)["learned"].pop("n_seen_"), "n_seen_"),
        (lambda facts: first(facts)["learned"].update(transform="x"), "'transform' is not the name of a learned"),
        (lambda facts: first(facts)["learned"].update(_x_=1), "'_x_' is not the name of a learned attribute"),
        (lambda facts: first(facts)["learned"].update(vocabulary_=3), "vocabulary_ is '3'"),
        (lambda facts: first(facts)["learned"].pop("vocabulary_"), "vocabulary_"),
        (lambda facts: VOCABULARY(facts)["fields"].pop("strings"), "a Vocabulary has the fields strings"),
        (lambda facts: VOCABULARY(facts)["fields"].update(strings={"array": "nothing"}), "nothing"),
        (lambda facts: first(facts)["learned"].update(scale_={"array": "nothing"}), "nothing"),
        (lambda facts: first(facts)["learned"].update(scale_={"set": []}), "set"),
        (lambda facts: first(facts)["learned"].update(scale_=None), "scale_"),
    ],
)
def test_facts_that_lie_are_told(change: Callable[[Facts], Any], message: str, tmp_path: Path) -> None:
    Scaler(tokenizer=Tokenizer(), part=Scaler().fit()).fit().save(tmp_path / "lie")
    arrays, info = storage.read(tmp_path / "lie")
    change(info.facts)
    storage.write(tmp_path / "lie", "Scaler", arrays, info.facts)
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
        ("vocabulary_.strings.offsets", lambda _: np.array([0, 9999]), "reaches beyond its"),
        ("vocabulary_.strings.data", lambda data: data[::-1] | 0x80, "not UTF-8"),
    ],
)
def test_arrays_that_lie_are_told(name: str, lie: Any, message: str, tmp_path: Path) -> None:
    Scaler().fit().save(tmp_path / "lie")
    sound, info = storage.read(tmp_path / "lie")
    storage.write(tmp_path / "lie", "Scaler", sound | {name: lie(sound[name])}, info.facts)
    with pytest.raises(StoreError, match="lie holds no valid Scaler") as told:
        Scaler.load(tmp_path / "lie")
    assert message in str(told.value)
    storage.write(tmp_path / "lie", "Scaler", {}, info.facts)
    with pytest.raises(StoreError, match="lie holds no valid Scaler"):
        Scaler.load(tmp_path / "lie")


def test_strings_that_lie_are_told(tmp_path: Path) -> None:
    Scaler().fit(names_=["a", "bc"]).save(tmp_path / "lie")
    sound, info = storage.read(tmp_path / "lie")
    for ends, data in (([5, 1], b"abc"), ([1, 4], b"abc"), ([1, 2], b"abc"), ([1, 3], b"a\xff\xff"), ([-1, 3], b"abc")):
        lie = {"names_.ends": np.array(ends), "names_.bytes": np.frombuffer(data, np.uint8)}
        storage.write(tmp_path / "lie", "Scaler", sound | lie, info.facts)
        with pytest.raises(StoreError, match="lie holds no valid Scaler"):
            Scaler.load(tmp_path / "lie")
    info.facts["objects"][0]["learned"]["more_"] = info.facts["objects"][0]["learned"]["names_"]
    storage.write(tmp_path / "lie", "Scaler", sound, info.facts)
    with pytest.raises(StoreError, match="lie holds no valid Scaler"):  # a name used twice could fill the memory
        Scaler.load(tmp_path / "lie")


def test_facts_nested_without_end_are_told() -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = {"list": [deep]}
    with pytest.raises(RecursionError):
        storage.unpacked({"objects": [{"kind": "Scaler", "parameters": {"size": deep}, "learned": {}}]}, {})


def test_facts_of_a_file_nested_without_end_are_told(tmp_path: Path) -> None:
    Scaler().fit().save(tmp_path / "lie")
    deep: Any = 1
    for _ in range(300):
        deep = {"list": [deep]}
    arrays, info = storage.read(tmp_path / "lie")
    info.facts["objects"][0]["parameters"]["size"] = deep
    storage.write(tmp_path / "lie", "Scaler", arrays, info.facts)
    with pytest.raises(StoreError, match="lie holds no valid Scaler"):
        Scaler.load(tmp_path / "lie")


def test_a_pickle_holds_what_a_file_holds() -> None:
    texts = [f"the {word} is near the old harbour" for word in ("sea", "lake", "ship", "town", "zyx")] * 50
    model = SphericalParagraphModel(tol=1e-2).fit(texts)
    assert model.vectors_ is not None
    assert model.vectors_.base == "english-128"
    pickled = pickle.dumps(model)
    assert len(pickled) < 400_000  # the scatter of words has 131,072 bytes, the vectors themselves 68 million
    again = pickle.loads(pickled)
    assert np.array_equal(again.transform(texts), model.transform(texts))
    assert again.vectors_.fingerprint == model.vectors_.fingerprint
    assert again.encoder_.reader.weights is again.vectors_.weights


@pytest.mark.parametrize("way", ["file", "pickle"])
def test_adapted_vectors_are_saved_as_what_changed(way: str, tmp_path: Path) -> None:
    base = WordVectors.load("english-128")
    matrix, n_words = base.matrix.copy(), len(base)
    matrix[[5, 77]] = matrix[[77, 5]]
    assert base.weights is not None
    weights = np.append(base.weights, [0.5, 2.0])
    weights[9] = 3.0
    rows = np.concatenate([matrix, matrix[:2]])
    vocabulary = base.vocabulary.extended(["zyxomatic", "xqzt\ud800"])
    adapted = WordVectors(vocabulary, rows, weights=weights, unknown_weight=0.25, name="mine", base="english-128")
    plain = adapted.with_weights(None)
    for vectors in (adapted, plain, base, base.with_weights(2 * base.weights)):
        if way == "file":
            vectors.save(tmp_path / "v")
            assert (tmp_path / "v").stat().st_size < 4_000_000
            again = WordVectors.load(tmp_path / "v")
            (tmp_path / "v").unlink()
        else:
            again = pickle.loads(pickle.dumps(vectors))
        assert again.words == vectors.words
        assert again.fingerprint == vectors.fingerprint
        assert (again.name, again.source, again.base) == (vectors.name, vectors.source, vectors.base)
        assert np.array_equal(again.norms, vectors.norms)
    some = base.subset(["sea", "lake"])
    assert some.base is None
    assert pickle.loads(pickle.dumps(some)).fingerprint == some.fingerprint
    assert n_words == len(base)


def test_packaged_vectors_of_another_version_are_refused(tmp_path: Path) -> None:
    WordVectors.load("english-128").save(tmp_path / "v")
    arrays, info = storage.read(tmp_path / "v")
    assert not arrays
    for change, message in (
        ({"fingerprint": "0" * 32}, "were those of another version of english-128"),
        ({"fingerprint": None}, "were those of another version of english-128"),
        ({"base": "/etc/passwd"}, "'/etc/passwd' is not the name of word vectors of a package"),
    ):
        lie = {"objects": [{"kind": "WordVectors", "fields": info.facts["objects"][0]["fields"] | change}]}
        storage.write(tmp_path / "v", "WordVectors", {}, lie)
        with pytest.raises(StoreError, match=message):
            WordVectors.load(tmp_path / "v")
