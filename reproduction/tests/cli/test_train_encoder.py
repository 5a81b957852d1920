"""The commands that train sentence encoders."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from parasphere import WordVectors
from parasphere.errors import ParasphereError
from reproduction.baselines.fastsent import FastSent
from reproduction.baselines.pretrained import Pretrained
from reproduction.cli.training import training_app

LINES = ["The sun rose. Birds sang.", "The sun set. Birds slept.", "", "The moon rose."] * 10


def run(*arguments: object) -> str:
    app = typer.Typer()
    app.callback()(lambda: None)
    app.add_typer(training_app, name="train-encoder")
    done = CliRunner().invoke(app, ["train-encoder", *map(str, arguments)], catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES))
    return path


def test_fastsent(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "encoder"
    given = ["--text", text, "--out", out, "--dim", 8, "--epochs", 3, "--sample", 0]
    facts = json.loads(run("fastsent", *given, "--json"))
    assert (facts["sentences"], facts["vocabulary"], facts["words_seen"]) == (50, 8, 3 * 130)
    assert facts["words_per_second"] > 0
    assert facts["first_loss"] >= facts["final_loss"] > 0
    direct = FastSent(8, epochs=3, sample=0, random_state=0).fit(text)
    np.testing.assert_array_equal(Pretrained(out).fit().transform(["birds"]), direct.transform(["birds"]))
    assert "words per second" in run("fastsent", *given)  # replaces what it wrote itself
    assert "100%" in run("losses", out)
    assert len(json.loads(run("losses", out, "--json"))["losses"]) == 3


def test_skip_thought(text: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="skip-thought is written in torch")
    out = tmp_path / "encoder"
    WordVectors.from_arrays(["sun", "star"], [[1, 0], [0.9, 0.1]]).save(tmp_path / "vectors")
    given = ["--dim", 8, "--word-dim", 4, "--epochs", 2, "--batch-size", 16, "--vectors", tmp_path / "vectors"]
    shown = run("skip-thought", "--text", text, "--out", out, *given, "--checkpoint", tmp_path / "checkpoint")
    assert "final loss" in shown
    assert Pretrained(out, device="cpu").fit().transform(["birds sang", ""]).shape == (2, 8)
    assert len(run("losses", out).splitlines()) == 8  # all 8 steps: two epochs of fifty sentences


def test_faults_are_told_before_the_work(text: Path, tmp_path: Path) -> None:
    with pytest.raises(ParasphereError, match="there is no such file; give ordered text"):
        run("fastsent", "--text", tmp_path / "absent.txt", "--out", tmp_path / "x")
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ParasphereError, match="did not write"):
        run("fastsent", "--text", text, "--out", tmp_path / "mine.txt")
    with pytest.raises(ParasphereError, match="holds no encoder"):
        run("losses", tmp_path)
    assert run("fastsent", "--help").count("Ordered text") == 1


def test_importing_the_commands_is_cheap() -> None:
    code = "import reproduction.cli, sys; print('torch' in sys.modules, 'reproduction.baselines' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
