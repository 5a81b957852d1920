"""``parasphere info`` without a model, and the completion of commands by a shell."""

import json
import os
import subprocess
import sys
from importlib import metadata

import pytest
from commands import typed

from parasphere import __version__
from parasphere.cli.installation import installation


def test_info_names_the_versions_and_the_extras() -> None:
    facts = json.loads(typed("info", "--json").out)
    assert facts["dependencies"]["numpy"] == metadata.version("numpy")
    assert facts["parasphere"] == __version__
    told = typed("info")
    assert told.code == 0
    assert f"numpy {metadata.version('numpy')}" in told.out


def test_a_missing_package_is_named_and_its_extra_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["numpy>=99.1", "nosuchpackage>=1", 'scipy; extra == "nice"', 'alsomissing; extra == "broken"',
             'elsewhere>=1; sys_platform == "win32"']  # fmt: skip
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    facts = installation()
    assert facts["dependencies"] == {"numpy": metadata.version("numpy"), "nosuchpackage": "MISSING"}
    assert facts["extras"] == ["nice"]


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
