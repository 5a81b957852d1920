"""The examples in the help of the commands: short ones run, long ones are parsed and run on less by other tests."""

import inspect
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from commands import typed

from reproduction.cli import app

TESTS = Path(__file__).parent.parent
ELSEWHERE = {
    "run": "experiments/test_run.py",
    "all": "experiments/test_everything.py",
    "join": "experiments/test_run.py",
    "sensitivity": "experiments/test_sensitivity.py",
    "train-encoder skip-thought": "cli/test_train_encoder.py",
}


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        whole = f"{before} {name}".strip()
        if hasattr(command, "commands"):
            yield from commands(command, whole)
        else:
            yield whole, command


COMMANDS = dict(commands(typer.main.get_command(app)))


def examples(name: str) -> list[list[str]]:
    """The words after ``reproduce`` of each example of a command."""
    text = inspect.getdoc(COMMANDS[name].callback) or ""
    return [shlex.split(line) for line in re.findall(r"^ {4}reproduce (.+)$", text, re.MULTILINE)]


def called(words: list[str]) -> str:
    return " ".join(words[:2]) if " ".join(words[:2]) in COMMANDS else words[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_examples_that_can_be_parsed(name: str) -> None:
    assert name in map(called, examples(name)), f"the help of {name!r} has no example"
    for words in examples(name):
        group: Any = typer.main.get_command(app)
        while hasattr(group, "commands"):
            group = group.commands[words.pop(0)]
        group.make_context("example", words)  # raises for an option that does not exist


def test_long_commands_are_run_by_other_tests() -> None:
    for name, path in ELSEWHERE.items():
        assert f'"{name.split()[-1]}"' in (TESTS / path).read_text("utf-8"), f"{path} does not run {name}"


@pytest.mark.filterwarnings("ignore::parasphere.errors.ParasphereWarning")  # the file is small
def test_every_short_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARASPHERE_DATA", str(tmp_path / "data"))  # of trained encoders
    (tmp_path / "books.txt").write_text("\n".join(["a lake is not a river, and a river is no lake"] * 40))
    ran = set()
    for name in COMMANDS:
        for words in examples(name):
            if called(words) not in ELSEWHERE:
                told = typed(*words)
                assert told.code == 0, f"{words}: {told.err}"
                ran.add(called(words))
    assert ran == set(COMMANDS) - set(ELSEWHERE)
