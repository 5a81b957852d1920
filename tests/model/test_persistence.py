import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import is_mapped

from parasphere import Encoder, JointVectors, SphericalParagraphModel, Tokenizer, WordVectors, storage
from parasphere.errors import ParasphereWarning, StoreError

KIND = "SphericalParagraphModel"
TEXTS = ["north north east", "east up", "west west up", "north", ""]


@pytest.fixture
def vectors(rng: np.random.Generator) -> WordVectors:
    words = ["north", "east", "up", "west", "the"]
    return WordVectors.from_arrays(words, rng.normal(size=(5, 6)) + 1.5)


@pytest.fixture
def model(vectors: WordVectors) -> SphericalParagraphModel:
    tokenizer = Tokenizer(stop_words=["The"], min_length=2, digits=True)
    return SphericalParagraphModel(vectors, tokenizer=tokenizer, prior_strength=3.5, random_state=7).fit(TEXTS)


def same(a: SphericalParagraphModel, b: SphericalParagraphModel) -> bool:
    one, other = a.posterior(TEXTS), b.posterior(TEXTS)
    names = ("direction", "concentration", "word_concentration", "length", "unknown", "log_likelihood", "offset")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_model_comes_back_to_the_bit(model: SphericalParagraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    again = SphericalParagraphModel.load(tmp_path / "m")
    assert same(model, again)
    assert again.tokenizer == model.tokenizer
    assert (again.prior_strength, again.random_state, again.n_iter_) == (3.5, 7, model.n_iter_)
    assert np.array_equal(again.evidence_, model.evidence_)
    assert is_mapped(again.vectors_.matrix)
    again.save(tmp_path / "m")  # over the very files that are mapped
    assert same(model, SphericalParagraphModel.load(tmp_path / "m"))


IN_ANOTHER_PROCESS = f"""
import sys
import numpy as np
from parasphere import SphericalParagraphModel

loaded = SphericalParagraphModel.load(sys.argv[1])
np.save(sys.argv[2], [loaded.transform({TEXTS}), loaded.set_params(vectors=loaded.vectors_).fit_transform({TEXTS})])
"""


def test_a_saved_model_and_a_fit_have_the_same_bits_in_another_process(
    model: SphericalParagraphModel, tmp_path: Path
) -> None:
    model.save(tmp_path / "m")
    subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS, tmp_path / "m", tmp_path / "x.npy"], check=True)
    for vectors in np.load(tmp_path / "x.npy"):
        assert np.array_equal(vectors, model.transform(TEXTS))


def test_vectors_of_a_file_are_saved_with_the_model(vectors: WordVectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "v")
    model = SphericalParagraphModel(tmp_path / "v").fit(TEXTS)
    model.save(tmp_path / "m")
    (tmp_path / "v").unlink()
    again = SphericalParagraphModel.load(tmp_path / "m")
    assert same(model, again)
    assert again.vectors == str(tmp_path / "v")  # the parameter, for another fit


def test_a_function_for_a_tokenizer_must_be_named_again(vectors: WordVectors, tmp_path: Path) -> None:
    model = SphericalParagraphModel(vectors, tokenizer=str.split).fit(TEXTS)
    with pytest.warns(
        ParasphereWarning, match=r"function 'str.split', which is not saved: pass it again to load"
    ) as told:
        model.save(tmp_path / "m")
    assert len(told) == 1
    with pytest.raises(StoreError, match="pass it again"):
        SphericalParagraphModel.load(tmp_path / "m")
    assert same(model, SphericalParagraphModel.load(tmp_path / "m", tokenizer=str.split))


def test_online_learning_goes_on_after_a_save(vectors: WordVectors, tmp_path: Path) -> None:
    model = SphericalParagraphModel(vectors).partial_fit(3 * TEXTS)
    model.save(tmp_path / "m")
    again = SphericalParagraphModel.load(tmp_path / "m").partial_fit(["up up west"])
    assert same(again, model.partial_fit(["up up west"]))
    model.partial_fit(300 * TEXTS).partial_fit(20 * TEXTS)  # beyond the first block, with some of the next one held
    assert model.online_.seen > 0
    assert model.online_.held is not None
    model.save(tmp_path / "m")
    again = SphericalParagraphModel.load(tmp_path / "m")
    for learner in (again, model):
        learner.partial_fit(["up up west"]).partial_fit(200 * TEXTS)
    assert same(again, model)


def test_a_model_does_not_need_what_its_vectors_were_learned_from(vectors: WordVectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "v")
    learner = JointVectors(start=str(tmp_path / "v"), epochs=1, min_count=1)
    model = SphericalParagraphModel(learner).fit(TEXTS)
    model.save(tmp_path / "m")
    (tmp_path / "v").unlink()
    again = SphericalParagraphModel.load(tmp_path / "m")
    assert same(model, again)
    assert again.vectors.start == str(tmp_path / "v")  # by name, for another fit


def test_names_of_features_are_saved(tmp_path: Path, rng: np.random.Generator) -> None:
    table = pd.DataFrame(rng.normal(size=(20, 3)) + 1, columns=["x", "y", "z"])
    model = SphericalParagraphModel(None, tol=1e-2).fit(table)
    model.save(tmp_path / "m")
    again = SphericalParagraphModel.load(tmp_path / "m")
    assert again.feature_names_in_.tolist() == ["x", "y", "z"]
    assert again.n_features_in_ == 3
    assert np.array_equal(again.transform(table), model.transform(table))


def test_infinite_strength_and_no_vectors(tmp_path: Path, rng: np.random.Generator) -> None:
    model = SphericalParagraphModel(None, prior_strength=np.inf, tol=1e-2).fit(rng.normal(size=(20, 4)) + 1)
    model.save(tmp_path / "m")
    again = SphericalParagraphModel.load(tmp_path / "m")
    assert again.prior_strength == np.inf
    rows = rng.normal(size=(3, 4))
    assert np.array_equal(model.transform(rows), again.transform(rows))


def test_damaged_files_are_named(model: SphericalParagraphModel, tmp_path: Path) -> None:
    path = tmp_path / "m"
    model.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"n_iter_", b"n_ites_"))
    with pytest.raises(StoreError, match="changed after it was written"):
        SphericalParagraphModel.load(path, verify=True)
    with pytest.raises(StoreError, match=r"m holds no valid SphericalParagraphModel .*n_iter_.*damaged"):
        SphericalParagraphModel.load(path)
    path.write_bytes(whole[:-8])
    with pytest.raises(StoreError, match="damaged"):
        SphericalParagraphModel.load(path)
    storage.write(tmp_path / "other", "Bags", {}, {})
    with pytest.raises(StoreError, match="holds 'Bags', not 'SphericalParagraphModel'"):
        SphericalParagraphModel.load(tmp_path / "other")


def test_a_file_without_a_key_is_damaged(tmp_path: Path) -> None:
    for facts in ({"parameters": {}}, {"objects": []}, {"objects": [{"kind": KIND, "parameters": {}}]}):
        (tmp_path / "m").unlink(missing_ok=True)
        storage.write(tmp_path / "m", KIND, {"numbers": np.zeros(3)}, facts)
        with pytest.raises(StoreError, match=r"SphericalParagraphModel .*damaged"):
            SphericalParagraphModel.load(tmp_path / "m")
        with pytest.raises(StoreError, match=r"Encoder .*damaged"):
            Encoder.load(tmp_path / "m")


def test_embedded_vectors_that_do_not_fit_are_named(model: SphericalParagraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    arrays, info = storage.read(tmp_path / "m")
    name = next(name for name in arrays if name.endswith("vocabulary.strings.offsets"))
    lie = np.array(arrays[name])
    lie[1] = 10**9  # compiled code would read far beyond the words
    storage.write(tmp_path / "m", KIND, arrays | {name: lie}, info.facts)
    with pytest.raises(StoreError, match="damaged"):
        SphericalParagraphModel.load(tmp_path / "m")


def test_a_relative_path_is_good_from_anywhere(
    vectors: WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    vectors.save("v")
    SphericalParagraphModel("v").fit(TEXTS).save("m")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert SphericalParagraphModel.load(tmp_path / "m").transform(TEXTS).shape == (5, 6)


def test_the_default_stop_words_are_saved_too(
    vectors: WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SphericalParagraphModel(vectors).fit(TEXTS)
    model.save(tmp_path / "m")
    monkeypatch.setattr("parasphere.text.tokens.ENGLISH", frozenset({"north"}))  # a later version has another list
    assert same(model, SphericalParagraphModel.load(tmp_path / "m"))


def test_numbers_of_numpy_are_parameters_too(vectors: WordVectors, tmp_path: Path) -> None:
    model = SphericalParagraphModel(vectors, max_iter=np.int64(400), tol=np.float32(1e-4), random_state=np.int64(3))
    model.fit(TEXTS).save(tmp_path / "m")
    assert SphericalParagraphModel.load(tmp_path / "m").random_state == 3


def test_parameters_that_cannot_be_are_told(model: SphericalParagraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    arrays, info = storage.read(tmp_path / "m")
    parameters = info.facts["objects"][0]["parameters"]
    for name, value in (("n_jobs", 0), ("tol", -1.0), ("max_iter", 0)):
        sound, parameters[name] = parameters[name], value
        storage.write(tmp_path / "m", KIND, arrays, info.facts)
        with pytest.raises(StoreError, match=f"'{name}' parameter .* it is damaged"):
            SphericalParagraphModel.load(tmp_path / "m")
        parameters[name] = sound
    model.encoder_.save(tmp_path / "encoder")
    arrays, info = storage.read(tmp_path / "encoder")
    info.facts["objects"][0]["fields"]["n_jobs"] = 0
    storage.write(tmp_path / "encoder", "Encoder", arrays, info.facts)
    with pytest.raises(StoreError, match="n_jobs must be a positive number"):
        Encoder.load(tmp_path / "encoder")


@pytest.mark.parametrize(
    ("name", "lie"),
    [
        ("encoder_.prior.mean_direction", lambda array: array[:3]),
        ("encoder_.prior.mean_direction", lambda array: 2 * array),
        ("encoder_.prior.mean_direction", lambda array: array * np.nan),
        ("encoder_.prior.mean_direction", lambda array: array.astype(np.float32)),
        ("encoder_.scatter.within", lambda array: array[:3]),
        ("encoder_.scatter.within", lambda array: array * np.nan),
        ("evidence_", lambda array: array[None]),
        ("online_.mean", lambda array: array[:3]),
        ("online_.held.sums", lambda array: array[:2]),
        ("online_.held.lengths", lambda array: -array),
        ("online_.held.sums", lambda array: array * np.nan),
        ("encoder_.reader.vectors.matrix", lambda array: array[:, :3].copy()),
        ("encoder_.reader.vectors.norms", lambda array: -array),
        ("encoder_.reader.vectors.vocabulary.strings.data", lambda array: array | 0x80),
    ],
)
def test_arrays_that_lie_are_told(name: str, lie, model: SphericalParagraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    arrays, info = storage.read(tmp_path / "m")
    storage.write(tmp_path / "m", KIND, arrays | {name: lie(arrays[name])}, info.facts)
    with pytest.raises(StoreError, match="damaged"):
        SphericalParagraphModel.load(tmp_path / "m")


def test_an_encoder_is_loaded_from_a_model_without_scikit_learn(model: SphericalParagraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    code = (
        "import sys; from parasphere import Encoder; found = Encoder.load(sys.argv[1]); "
        "assert 'sklearn' not in sys.modules; print(float(found.transform(['north']).sum()))"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "m"], check=True, capture_output=True, text=True)
    assert float(done.stdout) == float(model.transform(["north"]).sum())
