import json
from pathlib import Path

import numpy as np
import pytest
from pages import spaced
from test_protocol import planted, vectors
from typer.testing import CliRunner

from parasphere import WordVectors
from reproduction.cli import app
from reproduction.experiments import sensitivity
from reproduction.experiments.sensitivity import CHANGES, TRAINED, Change, investigate, write


def test_one_thing_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = planted(split=True)
    monkeypatch.setattr(sensitivity, "corpus", lambda _name: corpus)
    monkeypatch.setattr(sensitivity, "CHANGES", [change for change in CHANGES if change.name == "RBF kernel"])
    usual = vectors()
    same = WordVectors.from_arrays(usual.words, np.ones(usual.matrix.shape), name="same")
    study = investigate({"usual": usual, "same": same}, ["planted"], cache_folder=tmp_path / "cache", jobs=1)
    assert [row["name"] for row in study["rows"]] == ["as in the tables", "RBF kernel", "same"]
    found = {row["name"]: row["cells"]["planted"] for row in study["rows"]}
    assert found["as in the tables"]["p"] is None
    assert 0 <= found["RBF kernel"]["p"] <= 1
    assert found["same"]["accuracy"] < found["as in the tables"]["accuracy"] - 0.1  # all words alike
    write(study, tmp_path)
    assert json.loads((tmp_path / "sensitivity.json").read_text())["rows"] == study["rows"]
    told = spaced(tmp_path / "sensitivity.md")
    assert "| the protocol: RBF kernel |" in told
    difference = 100 * (found["same"]["accuracy"] - found["as in the tables"]["accuracy"])
    assert f"({difference:+.1f}*)".replace("-", "−") in told


def test_every_change_changes_something() -> None:
    corpus, given = planted(split=True), vectors()
    keys = [change.run(corpus, given).key for change in (sensitivity.BASE, *CHANGES) if not change.headers]
    assert len(set(keys)) == len(keys)


def test_headers_are_kept_where_there_are_any(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    corpus = planted(split=True)
    asked = []
    monkeypatch.setattr(sensitivity, "corpus", lambda _name: corpus)
    monkeypatch.setattr(sensitivity, "newsgroups", lambda name, headers: asked.append((name, headers)) or corpus)
    monkeypatch.setattr(sensitivity, "CHANGES", [Change("the texts", "headers kept", headers=True)])
    study = investigate({"usual": vectors()}, ["20news-same", "mr"], cache_folder=tmp_path, jobs=1)
    assert asked == [("same", True)]
    assert set(study["rows"][1]["cells"]) == {"20news-same"}


def test_vectors_trained_on_the_training_texts() -> None:
    pytest.importorskip("gensim")
    corpus = planted(split=True)
    first, second = (TRAINED.build(None, 8, 0).set_params(vectors__epochs=2).fit(corpus.texts) for _ in range(2))
    assert first.encoder_.reader.vectors.dim == 8
    np.testing.assert_array_equal(first.transform(corpus.texts), second.transform(corpus.texts))


def test_bad_names_are_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["sensitivity", "--datasets", "nothing", "-o", str(tmp_path)])
    assert isinstance(result.exception, ValueError)
    assert "no corpus is called 'nothing'" in str(result.exception)
