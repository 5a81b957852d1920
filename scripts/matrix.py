"""Run the tests on every supported Python that is installed, from wheel and sdist, with old and new dependencies.

Run with ``make matrix``, after ``python -m build``. Tests are those of ``make test`` in the sdist, so that missing
files are noticed. They run against the installed package: with the highest versions of dependencies a wheel as
published (that of 3.11, or of the stable ABI, built by 3.12), with the lowest a wheel that this Python builds from the
sdist. Except for the kernels, all wheels must have the same files.

    python scripts/matrix.py                                    all combinations
    python scripts/matrix.py --quick                            the tests of packaging, sphere, text and command line
    python scripts/matrix.py --python 3.12 --resolution highest
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESOLUTIONS = {"highest": "wheel", "lowest-direct": "sdist"}
NEVER_WHEELS = ("jieba", "unidic-lite")
STABLE = "3.12"  # the oldest Python of the stable ABI
TESTS = ["tests", "--ignore=tests/integration"]
QUICK = [
    "tests/test_packaging.py",
    "tests/test_house.py",
    "tests/sphere",
    "tests/text",
    "tests/cli/test_installation.py",
]
QUICK_NEEDS = ("hypothesis", "mpmath", "pandas", "pytest", "pytest-xdist")  # of the extra `test`


def main() -> None:
    """Run each combination in its own environment, and print a table."""
    options = _options()
    wheel, sdist = _one("*.whl"), _one("*.tar.gz")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (tests,) = Path(folder).iterdir()
        built = _Builds(sdist, wheel, Path(folder, "built"))
        for python in options.python or _supported():
            for resolution in options.resolution or RESOLUTIONS:
                case = (python, resolution, RESOLUTIONS[resolution])
                where = Path(folder, "-".join(case))
                package = built.by(python, published=case[2] == "wheel")
                found.append((case, *(_run(case, package, tests, where, options.quick) if package else ABSENT)))
                print(*_line(found[-1]), sep="\n", flush=True)
    print("\npython  resolution     from   result")
    for outcome in found:
        print(_line(outcome)[-1])
    sys.exit(any(not fine and fine is not None for _, fine, _, _ in found))


Case = tuple[str, str, str]
ABSENT: tuple[None, str, list[str]] = (None, "not installed", [])


class _Builds:
    """Wheels built from the sdist, once per Python."""

    def __init__(self, sdist: Path, wheel: Path, folder: Path) -> None:
        self._sdist, self._wheel, self._folder = sdist, wheel, folder
        self._built: dict[str, Path] = {}

    def by(self, python: str, *, published: bool) -> Path | None:
        """Return the wheel that a Python builds, or the one published for it; None without such a Python."""
        if not _installed(python):
            return None
        if published and _number(python) > _number(STABLE) and _installed(STABLE):
            python = STABLE
        if python not in self._built:
            self._built[python] = self._build(python)
        return self._built[python]

    def _build(self, python: str) -> Path:
        folder = self._folder / python
        command = ["uv", "build", "--quiet", "--wheel", "--python", python, str(self._sdist), "--out-dir", str(folder)]
        subprocess.run(command, check=True)
        (wheel,) = folder.glob("*.whl")
        one, other = _files(wheel), _files(self._wheel)
        if one != other:
            names = sorted({name for name, _ in one ^ other})
            sys.exit(f"with Python {python}, the wheel of the sdist differs from {self._wheel.name}: {names}")
        return wheel


def _installed(python: str) -> bool:
    return not subprocess.run(["uv", "python", "find", python], capture_output=True, check=False).returncode


def _files(wheel: Path) -> set[tuple[str, int]]:
    """Return the names and check sums of a wheel's files that do not depend on the Python that built it."""
    infos = zipfile.ZipFile(wheel).infolist()
    differ = re.compile(r"parasphere/_kernels\.(?!pyi)|\.dist-info/(WHEEL|RECORD)$")
    return {(info.filename, info.CRC) for info in infos if not differ.search(info.filename)}


def _number(python: str) -> tuple[int, ...]:
    return tuple(int(part) for part in python.split("."))


def _run(case: Case, package: Path, tests: Path, folder: Path, quick: bool) -> tuple[bool, str, list[str]]:
    """Install and test; return whether the tests passed, a summary, and the last lines."""
    python, resolution, _ = case
    environment = {**os.environ, "VIRTUAL_ENV": str(folder), "PARASPHERE_CACHE": str(folder / "cache")}
    environment.pop("PYTHONPATH", None)
    start = time.monotonic()
    steps = [
        ["uv", "venv", "--quiet", "--python", python, str(folder)],
        # Old versions without a wheel for this Python are skipped, not built. The requirements of the package are
        # passed too, because to uv, those of a wheel are not direct requirements.
        ["uv", "pip", "install", "--quiet", "--resolution", resolution, "--only-binary", ":all:",
         *(word for name in NEVER_WHEELS for word in ("--no-binary", name)),
         f"parasphere @ {package.as_uri()}", "--requirements", str(tests / "pyproject.toml"),
         "--extra", "plots" if quick else "test", *(_quick_needs() if quick else [])],
        [str(folder / _bin() / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto",
         *(QUICK if quick else TESTS)],
    ]  # fmt: skip
    done = None
    for step in steps:
        done = subprocess.run(step, cwd=tests, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            break
    assert done is not None
    last = _last((done.stdout + done.stderr).strip().splitlines())
    summary = f"{_summary(last)} ({time.monotonic() - start:.0f} s)"
    shutil.rmtree(folder, ignore_errors=True)
    return done.returncode == 0, summary, [] if done.returncode == 0 else last


def _last(lines: list[str]) -> list[str]:
    """Return pytest's output about failed tests, or else the last lines."""
    starts = [i for i, line in enumerate(lines) if re.fullmatch(r"=+ (FAILURES|ERRORS) =+", line)]
    return lines[min([*starts, max(0, len(lines) - 25)]) :]


def _summary(lines: list[str]) -> str:
    """Return pytest's last line, or if there is none (the installation failed) the last line."""
    counts = [line for line in lines if re.search(r"\d+ (passed|failed|error).* in \d", line)]
    return (counts or lines or [""])[-1].strip("= ")


def _line(outcome: tuple[Case, bool | None, str, list[str]]) -> list[str]:
    (python, resolution, source), fine, summary, last = outcome
    word = {True: "passed", False: "FAILED", None: "skipped"}[fine]
    return [*last, f"{python:7} {resolution:14} {source:6} {word}: {summary}"]


def _quick_needs() -> list[str]:
    """Return the requirements of the quick tests, with their lowest versions."""
    needs = _project()["optional-dependencies"]["test"]
    return [line for line in needs if re.split(r"[<>=\[]", line)[0] in QUICK_NEEDS]


def _project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def _supported() -> list[str]:
    """Return the Pythons of the classifiers and the next one."""
    lines = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in _project()["classifiers"])
    named = [line[1] for line in lines if line]
    return [*named, f"3.{int(named[-1].partition('.')[2]) + 1}"]


def _one(pattern: str) -> Path:
    found = sorted((ROOT / "dist").glob(pattern))
    if len(found) != 1:
        sys.exit(f"dist/ must hold one {pattern}, not {len(found)}: empty dist/ and run python -m build first")
    return found[0]


def _bin() -> str:
    return "Scripts" if os.name == "nt" else "bin"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", help="only this Python; may be repeated")
    parser.add_argument("--resolution", action="append", choices=RESOLUTIONS)
    parser.add_argument("--quick", action="store_true", help="a part of the tests, with fewer dependencies")
    return parser.parse_args()


if __name__ == "__main__":
    main()
