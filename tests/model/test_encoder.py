"""The encoder: what was learned, frozen, saved, and light."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import parasphere
from parasphere import Encoder, SphericalParagraphModel, SphericalTopics, WordVectors
from parasphere.errors import ParasphereError, StoreError
from parasphere.model import Prior, Reader

COMPASS = WordVectors.from_arrays(["north", "east", "west", "up"], np.eye(4) + 0.1)
TEXTS = ["north", "north east", "north west", "north north east", "up up east"]


@pytest.fixture(scope="module")
def model() -> SphericalParagraphModel:
    return SphericalParagraphModel(COMPASS, tol=1e-3).fit(TEXTS)


def test_a_model_says_what_its_encoder_says(model: SphericalParagraphModel) -> None:
    encoder = model.encoder_
    for space in ("offset", "direction"):
        assert np.array_equal(model.transform(TEXTS, space=space), encoder.transform(TEXTS, space=space))
    assert np.array_equal(model.encode(TEXTS), encoder.encode(TEXTS))
    assert np.array_equal(model.information(TEXTS), encoder.posterior(TEXTS).information)
    assert np.array_equal(model.log_likelihood(TEXTS), encoder.posterior(TEXTS).log_likelihood)
    assert model.compare("north", "east") == encoder.compare("north", "east")
    assert model.log_bayes_factor("north", "east") == encoder.log_bayes_factor("north", "east")
    assert model.explain("north east") == encoder.explain("north east")
    assert model.explain_match("north east", "up") == encoder.explain_match("north east", "up")
    assert model.similar("north", TEXTS) == encoder.similar("north", TEXTS)


def test_an_encoder_does_not_change(model: SphericalParagraphModel) -> None:
    encoder, before = model.encoder_, model.encoder_.transform(TEXTS)
    with pytest.raises(FrozenInstanceError):
        encoder.space = "direction"  # type: ignore[misc]
    later = clone(model).fit(TEXTS)
    index = later.index(TEXTS)
    later.fit(TEXTS[:2])
    assert np.array_equal(encoder.transform(TEXTS), before)
    assert np.array_equal(index.encoder.transform(TEXTS), before)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(rows, before) for rows in pool.map(encoder.transform, [TEXTS] * 40))


def test_one_text_has_the_bits_that_it_has_among_others(model: SphericalParagraphModel) -> None:
    many = TEXTS * 1000  # more than are made at a time
    together = model.encoder_.transform(many)
    assert np.array_equal(together, np.tile(model.encoder_.transform(TEXTS), (1000, 1)))
    assert np.array_equal(together[1], model.encoder_.encode(TEXTS[1]))


def test_numbers_are_encoded_after_a_fit_to_numbers() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 5))
    model = SphericalParagraphModel(None).fit(rows)
    assert np.array_equal(model.transform(rows), model.encoder_.transform(rows))
    with pytest.raises(ParasphereError, match="fitted to numbers and cannot read texts"):
        model.encoder_.transform(["north"])
    with pytest.raises(ValueError, match="rows of 5 numbers"):
        model.encoder_.transform(rows[:, :4])
    with pytest.raises(ValueError, match="finite"):
        model.encoder_.transform(np.full((2, 5), np.nan))


def test_folders_of_encoders_and_of_models(model: SphericalParagraphModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    model.encoder_.save(tmp_path / "encoder")
    model.index(TEXTS).save(tmp_path / "index")
    for folder in ("model", "encoder"):
        loaded = Encoder.load(tmp_path / folder)
        assert np.array_equal(loaded.transform(TEXTS), model.transform(TEXTS))
    kinds = {"model": SphericalParagraphModel, "encoder": Encoder, "index": parasphere.Index}
    for folder, kind in kinds.items():
        assert type(parasphere.load(tmp_path / folder)) is kind
    SphericalTopics(model.encoder_, 2).fit(TEXTS * 3).save(tmp_path / "topics")
    topics = parasphere.load(tmp_path / "topics")
    assert np.array_equal(topics.encoder_.transform(TEXTS), model.transform(TEXTS))
    with pytest.raises(StoreError, match="index"):
        Encoder.load(tmp_path / "index")
    with pytest.raises(StoreError, match="nowhere"):
        parasphere.load(tmp_path / "nowhere")


def test_parts_that_do_not_fit_are_refused(model: SphericalParagraphModel, tmp_path: Path) -> None:
    wrong = replace(model.encoder_, prior=Prior(np.eye(3)[0], 1.0, 0.5, 10.0))
    wrong.save(tmp_path / "wrong")
    with pytest.raises(StoreError, match="different dimensions"):
        Encoder.load(tmp_path / "wrong")
    with pytest.raises(ParasphereError, match="fit the model first"):
        Encoder.of(SphericalParagraphModel())
    with pytest.raises(ParasphereError, match="not Reader"):
        Encoder.of(Reader(COMPASS))


def test_a_process_that_encodes_imports_little(tmp_path: Path) -> None:
    SphericalParagraphModel(tol=0.1).fit(TEXTS).save(tmp_path / "model")
    program = """
import json, re, sys
from pathlib import Path
from parasphere import Encoder
encoder = Encoder.load(sys.argv[1])
assert encoder.encode("a short text about signals").shape == (128,)
heavy = sorted({"pyarrow", "scipy", "sklearn", "pandas", "numba"} & set(sys.modules))
status = Path("/proc/self/status")  # getrusage has the peak of the parent, which the child was forked from
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) / 1024 if status.exists() else None
print(json.dumps({"heavy": heavy, "megabytes": peak}))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "model")]
    facts = json.loads(subprocess.check_output(command, text=True))
    assert facts["heavy"] == []
    if facts["megabytes"] is not None:
        assert facts["megabytes"] < 170
