"""Run the tests on every supported Python that is installed, from wheel and sdist, with old and new dependencies.

Run with ``make matrix``, after ``python -m build``. Tests are those of the sdist, so that what it lacks is noticed, and
run against the installed package. The wheel and what the sdist builds must be the same files, so each is installed with
one of the two resolutions: the wheel with the highest versions, the sdist with the lowest.

    python scripts/matrix.py                                    all of it
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
QUICK = ["tests/test_packaging.py", "tests/test_house.py", "tests/sphere", "tests/text", "tests/cli/test_doctor.py"]
QUICK_NEEDS = ("hypothesis", "mpmath", "pandas", "pytest", "pytest-xdist")  # of the extra `test`


def main() -> None:
    """Run each combination in an environment of its own, and print a table."""
    options = _options()
    wheel, sdist = _one("*.whl"), _one("*.tar.gz")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        (tests,) = Path(folder).iterdir()
        packages = {"wheel": wheel, "sdist": _built(sdist, Path(folder, "built"))}
        _check_same(**packages)
        for python in options.python or _supported():
            for resolution in options.resolution or RESOLUTIONS:
                case = (python, resolution, RESOLUTIONS[resolution])
                where = Path(folder, "-".join(case))
                found.append((case, *_run(case, packages[case[2]], tests, where, options.quick)))
                print(*_line(found[-1]), sep="\n", flush=True)
    print("\npython  resolution     from   result")
    for outcome in found:
        print(_line(outcome)[-1])
    sys.exit(any(not fine and fine is not None for _, fine, _, _ in found))


Case = tuple[str, str, str]


def _built(sdist: Path, folder: Path) -> Path:
    """Build a wheel from the sdist, as installing the sdist does."""
    subprocess.run(["uv", "build", "--quiet", "--wheel", str(sdist), "--out-dir", str(folder)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _check_same(wheel: Path, sdist: Path) -> None:
    """Stop if the wheel and the one that the sdist builds differ in a file."""
    one, other = ({(info.filename, info.CRC) for info in zipfile.ZipFile(path).infolist()} for path in (wheel, sdist))
    if one != other:
        sys.exit(f"the sdist builds another wheel than {wheel.name}: {sorted(name for name, _ in one ^ other)}")


def _run(case: Case, package: Path, tests: Path, folder: Path, quick: bool) -> tuple[bool | None, str, list[str]]:
    """Install and test; return whether it went well (None without such a Python), a summary, and the last lines."""
    python, resolution, _ = case
    environment = {**os.environ, "VIRTUAL_ENV": str(folder), "PARASPHERE_CACHE": str(folder / "cache")}
    environment.pop("PYTHONPATH", None)
    start = time.monotonic()
    steps = [
        ["uv", "venv", "--quiet", "--python", python, str(folder)],
        # Old versions without a wheel for this Python are passed over, rather than built. What the package needs is
        # named by the project's file too: to uv, direct requirements are those it is given, not those of a wheel.
        ["uv", "pip", "install", "--quiet", "--resolution", resolution, "--only-binary", ":all:",
         *(word for name in NEVER_WHEELS for word in ("--no-binary", name)),
         f"parasphere @ {package.as_uri()}", "--requirements", str(tests / "pyproject.toml"),
         "--extra", "plots" if quick else "test", *(_quick_needs() if quick else [])],
        [str(folder / _bin() / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto",
         *(QUICK if quick else ["tests"])],
    ]  # fmt: skip
    done = None
    for step in steps:
        done = subprocess.run(step, cwd=tests, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            break
    assert done is not None
    last = _last((done.stdout + done.stderr).strip().splitlines())
    unavailable = step is steps[0] and done.returncode
    summary = f"{_summary(last)} ({time.monotonic() - start:.0f} s)"
    shutil.rmtree(folder, ignore_errors=True)
    if unavailable:
        return None, "not installed, and cannot be downloaded here", []
    return done.returncode == 0, summary, [] if done.returncode == 0 else last


def _last(lines: list[str]) -> list[str]:
    """Return what pytest says of the tests that failed, or the last lines if it does not come to that."""
    starts = [i for i, line in enumerate(lines) if re.fullmatch(r"=+ (FAILURES|ERRORS) =+", line)]
    return lines[min([*starts, max(0, len(lines) - 25)]) :]


def _summary(lines: list[str]) -> str:
    """Return pytest's last line, or without one (the installation failed) simply the last."""
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
    """Return the Pythons of the classifiers, and the next, which joins them once its tests have passed."""
    lines = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in _project()["classifiers"])
    named = [line[1] for line in lines if line]
    return [*named, f"3.{int(named[-1].partition('.')[2]) + 1}"]


def _one(pattern: str) -> Path:
    found = sorted((ROOT / "dist").glob(pattern))
    if len(found) != 1:
        sys.exit(f"dist/ must hold one {pattern}, not {len(found)}: run python -m build into an empty dist/ first")
    return found[0]


def _bin() -> str:
    return "Scripts" if os.name == "nt" else "bin"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", help="only this Python; may be given several times")
    parser.add_argument("--resolution", action="append", choices=RESOLUTIONS)
    parser.add_argument("--quick", action="store_true", help="a part of the tests, with fewer dependencies")
    return parser.parse_args()


if __name__ == "__main__":
    main()
