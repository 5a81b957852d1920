"""``parasphere info`` without a model, and the completion of commands by a shell."""

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from commands import typed

from parasphere.cli.installation import cache_facts, examine


def test_info_finds_a_healthy_installation() -> None:
    told = typed("info", "--json")
    facts = json.loads(told.out)
    assert (told.code, facts["problems"]) == (0, [])
    assert facts["dependencies"]["numpy"] == metadata.version("numpy")
    assert facts["extras"]["test"] == [] or "pytest" not in facts["extras"]["test"]  # it runs this
    assert facts["trial_seconds"] > 0


def test_info_is_readable() -> None:
    told = typed("info")
    assert told.code == 0
    assert "All is well." in told.out
    assert "a small index" in told.out


def test_info_names_what_is_old_or_missing() -> None:
    always = ["numpy>=99.1", "nosuchpackage>=1", "scipy>=1.0"]
    facts = examine(
        [*always, "alsomissing; extra == 'nice'", "scipy; extra == 'nice'", "parasphere[nice]; extra == 'all'"]
    )
    old, missing = facts["problems"]
    assert "is older than 99.1" in old
    assert "nosuchpackage is not installed" in missing
    assert facts["extras"] == {"all": ["alsomissing"], "nice": ["alsomissing"]}


def test_info_says_if_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARASPHERE_CACHE", os.devnull + "/parasphere")
    assert not cache_facts()["writable"]
    monkeypatch.setenv("PARASPHERE_CACHE", str(tmp_path / "new"))
    assert cache_facts() == {"folder": str(tmp_path / "new"), "writable": True, "bytes": 0}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["tra"], ["transform"]),
        (["inf"], ["info"]),
        (["vectors", "--n"], ["--nearest"]),
        (["transform", "--sp"], ["--space"]),
        (["transform", "--space", ""], ["direction", "offset"]),
    ],
)
def test_a_shell_completes_commands_options_and_choices(words: list[str], found: list[str]) -> None:
    line = {"COMP_WORDS": " ".join(["parasphere", *words]), "COMP_CWORD": str(len(words))}
    environment = {**os.environ, **line, "_PARASPHERE_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "parasphere"], env=environment, capture_output=True, text=True, check=True
    )
    assert sorted(line.partition(",")[2] for line in done.stdout.splitlines()) == found
