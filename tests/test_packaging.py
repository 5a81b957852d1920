"""What is installed with the package, and what importing it loads."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import parasphere

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCES = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}


def names(requirements: list[str]) -> list[str]:
    return [re.split(r"[<>=\[ ]", requirement)[0] for requirement in requirements]


def test_no_dependency_is_named_twice() -> None:
    extras = PROJECT["optional-dependencies"]
    everything = [*names(PROJECT["dependencies"]), *(name for extra in extras.values() for name in names(extra))]
    ours = [name for name in everything if name != "parasphere"]
    assert sorted(ours) == sorted(set(ours))


def test_errors_name_extras_that_exist() -> None:
    named = {extra for text in SOURCES.values() for extra in re.findall(r'import_extra\(\s*"[^"]+", "([^"]+)"', text)}
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_there_is_one_version() -> None:
    assert "version" in PROJECT["dynamic"]
    assert [path.name for path, text in SOURCES.items() if parasphere.__version__ in text] == ["__init__.py"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = {"numpy", "numba", "pyarrow", "pandas", "rich", "scipy", "sklearn", "typer"}
    code = f"import parasphere, sys; dir(parasphere); print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
