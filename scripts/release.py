"""Set the version, or check what is about to be released.

python scripts/release.py 0.1.0     set the version, and give the changes under "Unreleased" their version and date
python scripts/release.py --check   compare the version, changelog, citation, wheel and sdist in dist/
"""

import datetime
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, CHANGES = ROOT / "src/parasphere/__init__.py", ROOT / "CHANGELOG.md"
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
# Of other projects, and what says under which licence.
VENDORED = {
    "docs/vendor/katex": "LICENSE",
    "docs/vendor/iframe-worker": "LICENSE",
    "src/parasphere/vectors/english-128": "LICENCE.txt",
    "src/parasphere/datasets": "docstrings-licence.txt",
}
# What tests of the sdist read, and what the wheel cannot do without.
IN_SDIST = [
    "docs/tutorial.md",
    "results/README.md",
    "benchmarks/readme.py",
    "tests/conftest.py",
    "mkdocs.yml",
    "Makefile",
]
IN_WHEEL = ["parasphere/py.typed", "parasphere/plots/map.html", "parasphere/datasets/docstrings.jsonl.xz"]


def current_version() -> str:
    """Return the version, from its one place."""
    found = VERSION.search(SOURCE.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def set_version(version: str) -> None:
    """Write the version, and the heading of its changes."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(?:\.dev\d+|rc\d+)?", version):
        sys.exit(f"{version!r} is no version; give one such as 0.1.0, 0.1.0rc1 or 0.2.0.dev0")
    SOURCE.write_text(VERSION.sub(f'__version__ = "{version}"', SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    changes = CHANGES.read_text(encoding="utf-8")
    if "dev" in version:
        if "## Unreleased\n" not in changes:
            CHANGES.write_text(changes.replace("\n## ", "\n## Unreleased\n\n## ", 1), encoding="utf-8")
        return
    if "## Unreleased\n" not in changes:
        sys.exit("CHANGELOG.md has no section 'Unreleased'")
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    CHANGES.write_text(changes.replace("## Unreleased\n", f"## {version} ({today})\n", 1), encoding="utf-8")


def problems() -> list[str]:
    """Return what is wrong with the files in ``dist/`` and what they were made from."""
    version, found = current_version(), []
    dist = ROOT / "dist"
    wheel, sdist = dist / f"parasphere-{version}-py3-none-any.whl", dist / f"parasphere-{version}.tar.gz"
    for path in (wheel, sdist):
        if not path.is_file():
            return [f"dist/{path.name} is missing"]
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    found += [f"the sdist lacks {name}" for name in IN_SDIST if name not in names]
    with zipfile.ZipFile(wheel) as archive:
        inside, contents = archive.namelist(), {}
        for name in inside:
            if "licen" not in name.lower():
                contents.setdefault(archive.read(name), []).append(name)
    found += [f"the wheel has the same file twice: {same}" for text, same in contents.items() if text and same[1:]]
    found += [f"the wheel lacks {name}" for name in IN_WHEEL if name not in inside]
    found += [f"the wheel has {name}" for name in inside if name.endswith((".nbc", ".nbi", ".pyc"))]
    for folder, licence in VENDORED.items():
        if not (ROOT / folder / licence).is_file():
            found.append(f"{folder} has no {licence}")
    heading = "## Unreleased" if "dev" in version else f"## {version} ("
    if heading not in CHANGES.read_text(encoding="utf-8"):
        found.append(f"CHANGELOG.md has no section '{heading}'")
    if set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dynamic"]) != {"version"}:
        found.append("pyproject.toml must take the version from the package")
    return found


def main() -> None:
    """Do what the argument says."""
    if sys.argv[1:] == ["--check"]:
        found = problems()
        print("\n".join(found) or f"parasphere {current_version()} can be released")
        sys.exit(bool(found))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    set_version(sys.argv[1])


if __name__ == "__main__":
    main()
