import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from parasphere import WordVectors
from parasphere.cli import main
from parasphere.vectors import SkippedRowsWarning


def run(*arguments: object, code: int = 0) -> str:
    """Run the command in this process; return what it printed (or the error, if it must fail)."""
    printed, complained = StringIO(), StringIO()
    with (
        patch.object(sys, "argv", ["parasphere", *map(str, arguments)]),
        redirect_stdout(printed),
        redirect_stderr(complained),
        pytest.raises(SystemExit) as left,
    ):
        main()
    assert (left.value.code or 0) == code, complained.getvalue()
    return printed.getvalue() if code == 0 else complained.getvalue()


def test_the_installed_command_answers_and_fails_in_one_sentence() -> None:
    command = [sys.executable, "-m", "parasphere", "vectors", "info", "absent.txt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: 'absent.txt'")
    assert "Traceback" not in done.stderr


@pytest.fixture
def vectors_file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.txt"
    path.write_text("north 0 2\neast 3 0\nnortheast 1 1\n")
    return path


def test_help_teaches() -> None:
    assert "parasphere demo" in run("--help")
    shown = run("vectors", "--help")
    assert all(name in shown for name in ("info", "convert", "train", "nearest"))
    assert run("--version").startswith("parasphere ")


def test_nearest(vectors_file: Path) -> None:
    found = json.loads(run("vectors", "nearest", "north", "-v", vectors_file, "-k", 1, "--json"))
    assert found["north"][0][0] == "northeast"
    assert found["north"][0][1] == pytest.approx(0.5**0.5)
    assert "northeast" in run("vectors", "nearest", "north", "-v", vectors_file, "-k", 1)


def test_info_and_convert(vectors_file: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("north by northwest\neast\n")
    facts = json.loads(run("vectors", "info", vectors_file, "--corpus", corpus, "--json"))
    assert (facts["words"], facts["dim"]) == (3, 2)
    assert facts["coverage"] == {"tokens": 4, "known": 2, "share": 0.5}
    assert set(facts["commonest_unknown"]) == {"by", "northwest"}
    assert "2 of 4 words known" in run("vectors", "info", vectors_file, "--corpus", corpus)
    keep = tmp_path / "keep.txt"
    keep.write_text("east\nunheard\n")
    assert "1 words of 2 dimensions" in run("vectors", "convert", vectors_file, tmp_path / "out", "--keep", keep)
    assert WordVectors.load(tmp_path / "out").words == ["east"]


@pytest.mark.parametrize("name", ["out.txt", "out.vec", "out.BIN", "out"])
def test_convert_writes_what_the_name_says(vectors_file: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert "3 words of 2 dimensions written" in run("vectors", "convert", vectors_file, target)
    assert target.is_dir() == (name == "out")
    found = WordVectors.load(target)
    assert found.words == ["north", "east", "northeast"]
    np.testing.assert_allclose(found.norms, [2, 3, 2**0.5], rtol=1e-7)
    if target.is_file():
        assert target.read_bytes().startswith(b"3 2\nnorth 0 2\n" if name != "out.BIN" else b"3 2\nnorth \0\0")


def test_help_says_what_convert_writes() -> None:
    shown = run("vectors", "convert", "--help")
    assert all(name in shown for name in ("OUT", ".txt", ".vec", ".bin", "folder"))


def test_train(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("the cat sat on the mat\nthe dog sat on the log\n" * 50)
    shown = run("vectors", "train", corpus, "--out", tmp_path / "own", "--dim", 8, "--min-count", 2)
    assert "8 dimensions learned" in shown
    assert "cat" in WordVectors.load(tmp_path / "own")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["vectors", "nearest", "nowherish"], 1, "no vector for 'nowherish'"),
        (["vectors", "info", "absent.txt"], 1, "absent.txt"),
        (["vectors", "info", "{broken}"], 1, "line 2"),
        (["vectors", "nearest"], 2, "Missing argument"),
    ],
)
def test_errors_are_sentences(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text("north 0 2\neast 3\n")
    assert message in run(*(argument.format(broken=broken) for argument in arguments), code=code)


def test_skip_bad_rows(tmp_path: Path) -> None:
    broken = tmp_path / "broken.txt"
    broken.write_text("north 0 2\neast 3\n")
    with pytest.warns(SkippedRowsWarning, match="1"):
        facts = json.loads(run("vectors", "info", broken, "--skip-bad-rows", "--json"))
    assert facts["words"] == 1


def test_demo() -> None:
    shown = run("demo")
    assert "texts near scipy.signal.firwin" in shown
