"""All experiments by one command: what is planned, that it resumes, and what the committed results say."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from test_protocol import planted
from typer.testing import CliRunner

from reproduction import datasets
from reproduction.cli import app
from reproduction.experiments import ENCODERS, everything
from reproduction.experiments import run as running
from reproduction.experiments.everything import TIMES, Everything, run_seconds
from reproduction.experiments.report import read_results, read_tasks, write_tasks

ROOT = Path(__file__).parents[3]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the corpora by a small one of the same names, and the encoders by fast ones."""
    corpus = planted(split=True)
    monkeypatch.setattr(running, "load", lambda name: replace(corpus, name=name))
    monkeypatch.setattr(everything, "QUICK", ("bow", "tfidf-paper", "tfidf-best"))
    monkeypatch.delenv("PARASPHERE_TASKS", raising=False)
    monkeypatch.setitem(everything.SECONDS, "bow", 1000.0)


@pytest.mark.usefixtures("small")
def test_a_quick_run_is_whole_and_continues(tmp_path: Path) -> None:
    whole = Everything(tmp_path / "out", quick=True, jobs=1)
    plan = whole.plan()
    assert {run.dataset.name for run in plan} == set(running.PAPER_DATASETS)
    before = whole.estimate(plan)
    assert before == pytest.approx(sum(map(run_seconds, plan)))
    said: list[str] = []
    whole.run("make reproduce QUICK=1", said.append)
    assert any("tasks are left out" in line for line in said)
    results = read_results(tmp_path / "out")
    assert len(results["runs"]) == len(plan)
    assert results["made"]["command"] == "make reproduce QUICK=1"
    assert "`make reproduce QUICK=1`" in (tmp_path / "out" / "README.md").read_text("utf-8")
    assert whole.estimate(plan) == 0.0  # nothing is left
    page = (tmp_path / "out" / "report.html").read_bytes()
    whole.run("make reproduce QUICK=1", said.append)
    again = read_results(tmp_path / "out")
    assert again["runs"] == results["runs"]  # times too: nothing was computed again
    assert len((tmp_path / "out" / "report.html").read_bytes()) == len(page)
    assert all(run[time] > 0 for run in results["runs"] for time in TIMES)
    replace(whole, jobs=2).run("make reproduce QUICK=1", said.append)
    beside = read_results(tmp_path / "out")["runs"]
    assert all(run[time] is None for run in beside for time in TIMES)  # side by side, they would tell nothing
    assert [run["correct"] for run in beside] == [run["correct"] for run in results["runs"]]


@pytest.mark.usefixtures("small")
def test_everything_has_seeds_folds_and_large_corpora(tmp_path: Path) -> None:
    plan = Everything(tmp_path).plan()
    by_name = {name: [run for run in plan if run.encoder.name == name] for name in ENCODERS}
    able = [name for name, entry in ENCODERS.items() if entry.missing() is None]
    assert all(by_name[name] for name in able)
    movmf = [run for run in by_name["movmf"] if run.dataset.name == "20news-same"]
    assert [run.encoder_seed for run in movmf] == [0, 1, 2, 3, 4]
    assert len({run.key for run in movmf}) == 5
    assert len([run for run in by_name["bow"] if run.dataset.name == "20news-same"]) == 1
    folded = next(run for run in plan if run.dataset.name == "20news-same-folds")
    assert folded.dataset.train is None
    assert {run.dataset.name for run in by_name["union"]} >= {"20news", "20news-headers", "mr"}


@pytest.mark.usefixtures("small")
def test_the_estimate_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["reproduce"])
    done = CliRunner().invoke(app, ["all", "--quick", "--estimate", "--out", str(tmp_path / "x"), "-v",
                                    "english-128"])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "18 runs and the tasks; about" in done.output
    assert not (tmp_path / "x").exists()


def test_a_corpus_in_folds() -> None:
    folded = running.corpus("docstrings-folds")
    assert (folded.name, folded.train) == ("docstrings-folds", None)
    assert folded.texts == datasets.load("docstrings").texts


def test_the_committed_page_is_that_of_the_committed_results(tmp_path: Path) -> None:
    tasks = read_tasks(ROOT / "results")
    assert tasks is not None
    for name in ("analysis.md", "results.json"):
        shutil.copy(ROOT / "results" / name, tmp_path)
    write_tasks(tasks, tmp_path)  # and the report of results.json, which is read and written again
    for name in ("README.md", "results.json", "tasks.json"):
        assert (tmp_path / name).read_text("utf-8") == (ROOT / "results" / name).read_text("utf-8"), name


def test_pages_have_the_committed_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    readme = pytest.importorskip("benchmarks.readme")
    for page in readme.PAGES:
        text = page.read_text("utf-8")
        assert readme.filled(text) == text, page
