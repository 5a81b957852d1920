"""Every example in the help of a command runs as it is printed; those that take hours are parsed."""

import gzip
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import typed

from parasphere import WordVectors, datasets
from parasphere.cli import app

TESTS = Path(__file__).parent.parent
# Commands whose examples take minutes, corpora or the network, or never end, and the tests that run them on less.
ELSEWHERE = {
    "demo": "cli/test_cli.py",
    "explore": "integration/explorer/test_answers.py",
    "page": "integration/explorer/test_file.py",
    "serve": "integration/service/test_processes.py",
}
FIRST = ("fit", "index")  # others read what these write
NEEDS = {"topics": "matplotlib"}


COMMANDS = app.commands


def examples(name: str) -> list[str]:
    text = inspect.cleandoc(COMMANDS[name].help)
    return re.findall(r"^ {4}((?:.+ \| )?parasphere .+)$", text or "", re.MULTILINE)


def called(line: str) -> str:
    """Return the name of the command that an example calls."""
    return shlex.split(line.rpartition("parasphere ")[2])[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_of_itself(name: str) -> None:
    assert name in map(called, examples(name)), f"the help of {name!r} has no example"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_can_be_parsed(name: str) -> None:
    for line in examples(name):
        name, *words = shlex.split(line.split("| head")[0].rpartition("parasphere ")[2])
        COMMANDS[name].make_context("example", words)  # raises for an option that does not exist


def test_long_commands_are_run_by_other_tests() -> None:
    for name, path in ELSEWHERE.items():
        assert f'"{name}"' in (TESTS / path).read_text("utf-8"), f"{path} does not run {name}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples name."""
    root = tmp_path_factory.mktemp("examples")
    texts = [" ".join(text.split())[:300].replace('"', "'") for text in datasets.load("docstrings").texts[:40]]
    texts += ["a lake is not a river, and a river is no lake"] * 5
    for name in ("texts.txt", "more.txt", "books.txt"):
        (root / name).write_text("\n".join(texts))
    (root / "texts.txt.gz").write_bytes(gzip.compress("\n".join(texts).encode()))
    (root / "queries.txt").write_text("a short query\nsort an array\n")
    rows = [f'{i},"{text}","{text}",{"ab"[i % 2]},net,{2000 + i}' for i, text in enumerate(texts)]
    (root / "news.csv").write_text("\n".join(["id,body,text,topic,section,year", *rows]))
    for name in ("news.jsonl", "train.jsonl", "test.jsonl"):
        (root / name).write_text("\n".join(json.dumps({"text": text}) for text in texts))
    (root / "glove.6B.300d.txt").write_text("lake 1 2 3\nriver 2 2 3\narray 0 1 0\n")
    WordVectors.load(root / "glove.6B.300d.txt").save(root / "vectors")
    return root


@pytest.mark.filterwarnings("ignore::parasphere.ParasphereWarning")  # the files are small, and the vectors few
def test_every_short_example_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    ran = set()
    for name in [*FIRST, *(name for name in COMMANDS if name not in FIRST)]:
        if name in NEEDS:
            pytest.importorskip(NEEDS[name])
        for line in examples(name):
            if called(line) in ELSEWHERE:
                continue
            if "|" in line:
                here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
                subprocess.run(["bash", "-c", line], check=True, env={**os.environ, "PATH": here}, capture_output=True)
            else:
                told = typed(*shlex.split(line)[1:])
                assert told.code == 0, f"{line}: {told.err}"
            ran.add(called(line))
    assert ran == set(COMMANDS) - set(ELSEWHERE)
