"""What is installed with the package, and what importing it loads."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

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
    heavy = {"click", "numpy", "pyarrow", "pandas", "scipy", "sklearn"}
    code = f"import parasphere, sys; dir(parasphere); print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize("module", ["storage", "sphere.vmf", "parameters", "vectors"])
def test_low_packages_load_no_other_library_than_numpy(module: str) -> None:
    heavy = {"joblib", "pandas", "pyarrow", "scipy", "sklearn"}
    code = f"import parasphere.{module}, sys; print(sorted({heavy!r} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_a_saved_model_encodes_with_no_other_library_than_numpy(tmp_path: Path) -> None:
    parasphere.SphericalParagraphModel(tol=1e-3).fit(["north wind", "the sea", "matrix"] * 9).save(tmp_path / "model")
    heavy = {"joblib", "pandas", "pyarrow", "scipy", "sklearn"}
    code = f"""
import sys
from parasphere.model.encoder import Encoder
assert Encoder.load({str(tmp_path / "model")!r}).encode("rain over the sea").shape == (128,)
print(sorted({heavy!r} & set(sys.modules)))
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_sdist_holds_what_its_tests_read() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["scikit-build"]
    patterns = [pattern.lstrip("/") for pattern in settings["sdist"]["include"]]
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")]
    read = {name for text in tests for name in re.findall(r'ROOT / f?"([\w.-]+)', text)} - {".pytest_cache"}
    read = {name for name in read if (ROOT / name).exists()}
    assert {"docs", "results", "src"} <= read
    assert {name for name in read if not any(Path(name).match(pattern) for pattern in patterns)} == set()


def test_every_supported_python_is_named() -> None:
    lowest = int(PROJECT["requires-python"].rpartition(".")[2])
    named = [line.rpartition(".")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)]
    assert [int(minor) for minor in named] == list(range(lowest, lowest + len(named)))


def test_what_is_vendored_has_a_licence() -> None:
    for folder in (ROOT / "docs" / "vendor").iterdir():
        assert "MIT" in (folder / "LICENSE").read_text(encoding="utf-8")


def test_a_release_has_its_changes_and_its_citation(tmp_path: Path) -> None:
    for name in ("src/parasphere/__init__.py", "CHANGELOG.md", "scripts/release.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, str(tmp_path / "scripts/release.py")]
    subprocess.run([*command, "7.8.9.dev0"], check=True)
    assert "## Unreleased\n" in (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert subprocess.run([*command, "1.x"], capture_output=True, check=False).returncode
    subprocess.run([*command, "7.8.9"], check=True)
    assert '__version__ = "7.8.9"' in (tmp_path / "src/parasphere/__init__.py").read_text(encoding="utf-8")
    changes = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## 7\.8\.9 \(\d{4}-\d\d-\d\d\)$", changes, re.MULTILINE)
    assert "## Unreleased" not in changes
    subprocess.run([*command, "7.9.0.dev0"], check=True)
    assert "\n## Unreleased\n\n## 7.8.9 (" in (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "Spherical Paragraph Model" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
