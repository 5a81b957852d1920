"""Encoders of one's own, named on the command line."""

import json
import sys
from pathlib import Path

import pytest
from commands import typed

from parasphere.errors import ParasphereError
from reproduction.experiments.own import own_encoder

MODULE = """
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline


class Letters(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in X], float)


class Noisy(Letters):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def transform(self, X):
        rows = super().transform(X)
        return rows + 0.01 * np.random.default_rng(self.random_state).normal(size=rows.shape)


class Needy(Letters):
    def __init__(self, dim):
        self.dim = dim


def reduced():
    return make_pipeline(CountVectorizer(), TruncatedSVD(2, random_state=0))


words = CountVectorizer()
spm = CountVectorizer()
number = 3
"""
TOPICS = {"sea": "boat wave salt fish", "sky": "cloud wind bird rain"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a module of encoders and a small corpus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_encoders.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("import no_such_library_at_all\n")
    rows = [f"{topic},{word} {words}" for topic, words in TOPICS.items() for word in words.split() * 5]
    (tmp_path / "mine.csv").write_text("\n".join(["topic,text", *rows]))
    return tmp_path


def test_they_run_beside_the_others_and_are_in_the_report_by_name(here: Path) -> None:
    own = [part for name in ("Letters", "reduced", "words") for part in ("--encoder", f"my_encoders:{name}")]
    told = typed("run", *own, "--encoders", "bow", "--corpus", "mine.csv", "--label-column", "topic", "--dims", 50,
                 "--jobs", 2, "--out", "results", "--json")  # fmt: skip
    assert told.code == 0, told.err
    runs = {run["encoder"]: run for run in json.loads(told.out)}
    assert list(runs) == ["Letters", "reduced", "words", "bow"]
    assert runs["Letters"]["dimensions"] == 26
    assert runs["Letters"]["accuracy"] == runs["words"]["accuracy"] == 1.0
    report = (here / "results" / "README.md").read_text("utf-8")
    assert all(name in report for name in ("Letters", "reduced", "words"))
    assert "--encoder my_encoders:Letters" in report


def test_alone_they_run_alone_and_with_every_seed(here: Path) -> None:
    told = typed("run", "--encoder", "my_encoders:Noisy", "--corpus", "mine.csv", "--label-column", "topic", "--seeds",
                 2, "--jobs", 1, "--out", here / "results", "--json")  # fmt: skip
    assert told.code == 0, told.err
    assert [run["encoder"] for run in json.loads(told.out)] == ["Noisy", "Noisy"]
    assert own_encoder("my_encoders:Noisy").build(None, 50, 7).random_state == 7


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("my_encoders", "give a module and a name in it"),
        (":Letters", "give a module and a name in it"),
        ("absent:Letters", "there is no module absent in this directory"),
        ("my_encoders.deeper:Letters", "there is no module my_encoders.deeper"),
        ("broken:Letters", "broken cannot be imported .*no_such_library_at_all"),
        ("my_encoders:Absent", "my_encoders has no Absent"),
        ("my_encoders:Needy", "cannot be made without arguments: .*dim"),
        ("my_encoders:number", "is a int, not a transformer"),
        ("my_encoders:spm", "spm is one of the encoders of the paper; give it another name"),
        ("json:loads", "cannot be made without arguments"),
        ("pathlib:Path", "not a transformer"),
    ],
)
def test_faults_are_told(here: Path, written: str, said: str) -> None:
    with pytest.raises(ParasphereError, match=said):
        own_encoder(written)
    told = typed("run", "--encoder", written, "--datasets", "docstrings")
    assert told.code == 1
    assert written in told.err


def test_names_are_told_apart(here: Path) -> None:
    told = typed("run", "--encoder", "my_encoders:Letters", "--encoder", "my_encoders:Letters", "--datasets", "mr")
    assert "two encoders have the same name" in told.err
