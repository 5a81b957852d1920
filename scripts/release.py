"""Set the version, or check the files of a release.

python scripts/release.py 0.1.0     set the version, and replace the heading "Unreleased" of the changelog by version
and date python scripts/release.py --check   compare the version, changelog, citation, wheels and sdist in dist/
"""

import datetime
import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, CHANGES = ROOT / "src/parasphere/__init__.py", ROOT / "CHANGELOG.md"
VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
# Parts of other projects, and the files with their licences.
VENDORED = {
    "docs/vendor/katex": "LICENSE",
    "docs/vendor/iframe-worker": "LICENSE",
    "src/parasphere/vectors/english-128": "LICENCE.txt",
    "src/parasphere/datasets": "docstrings-licence.txt",
}
# Files that the tests of the sdist read, and files that the wheel needs.
IN_SDIST = [
    "docs/tutorial.md",
    "results/README.md",
    "benchmarks/figures.py",
    "results/results.json",
    "tests/conftest.py",
    "src/kernels/module.cpp",
    "CMakeLists.txt",
    "mkdocs.yml",
    "Makefile",
]
IN_WHEEL = [
    "parasphere/py.typed",
    "parasphere/_kernels.pyi",
    "parasphere/page/index.html",
    "parasphere/datasets/docstrings.jsonl.xz",
    "parasphere/vectors/english-128/parasphere.json",
]
COMPILED = re.compile(r"\.(so|pyd|dylib|dll|a)$")


def current_version() -> str:
    """Return the version of the package."""
    found = VERSION.search(SOURCE.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def set_version(version: str) -> None:
    """Write the version, and the heading of its changes."""
    if not re.fullmatch(r"\d+\.\d+\.\d+(?:\.dev\d+|rc\d+)?", version):
        sys.exit(f"{version!r} is not a version; give one such as 0.1.0, 0.1.0rc1 or 0.2.0.dev0")
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


def wheel_problems(path: Path, version: str) -> list[str]:
    """Return the problems of a wheel, of one version of Python or of the stable ABI."""
    if not re.match(rf"parasphere-{re.escape(version)}-(cp311-cp311|cp312-abi3)-", path.name):
        return [f"dist/{path.name} is not of parasphere {version}, Python 3.11 or the stable ABI of 3.12"]
    with zipfile.ZipFile(path) as archive:
        inside = archive.namelist()
        contents: dict[bytes, list[str]] = {}
        for name in inside:
            if "licen" not in name.lower():
                contents.setdefault(archive.read(name), []).append(name)
        (readme,) = (archive.read(name).decode() for name in inside if name.endswith(".dist-info/METADATA"))
    found = [f"the same file twice: {same}" for text, same in contents.items() if text and same[1:]]
    found += [f"no {name}" for name in IN_WHEEL if name not in inside]
    links = re.findall(r'(?:\]\(|src(?:set)?=")(?!https?://|#)([^)"]+)', readme)
    found += [f"a link that works in the repository alone: {link}" for link in links]
    kernels = [name for name in inside if COMPILED.search(name)]
    if len(kernels) != 1 or not kernels[0].startswith("parasphere/_kernels."):
        found.append(f"compiled files {kernels}, not the kernels alone")
    unwanted = re.compile(r"\.(cpp|hpp|nbc|nbi|pyc)$|CMake|(^|/)test")
    found += [f"an unneeded file: {name}" for name in inside if unwanted.search(name)]
    return [f"{path.name} has {problem}" for problem in found]


def problems() -> list[str]:
    """Return the problems of the files in ``dist/`` and of their sources."""
    version, found = current_version(), []
    sdist = ROOT / "dist" / f"parasphere-{version}.tar.gz"
    wheels = sorted((ROOT / "dist").glob("*.whl"))
    if not sdist.is_file():
        return [f"dist/{sdist.name} is missing"]
    if not wheels:
        return ["dist/ has no wheel"]
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    found += [f"the sdist lacks {name}" for name in IN_SDIST if name not in names]
    found += [f"the sdist has {name}" for name in names if COMPILED.search(name)]
    for wheel in wheels:
        found += wheel_problems(wheel, version)
    for folder, licence in VENDORED.items():
        if not (ROOT / folder / licence).is_file():
            found.append(f"{folder} has no {licence}")
    heading = "## Unreleased" if "dev" in version else f"## {version} ("
    if heading not in CHANGES.read_text(encoding="utf-8"):
        found.append(f"CHANGELOG.md has no section '{heading}'")
    return found


def main() -> None:
    """Set the version or check the files, by the argument."""
    if sys.argv[1:] == ["--check"]:
        found = problems()
        print("\n".join(found) or f"parasphere {current_version()} can be released")
        sys.exit(bool(found))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    set_version(sys.argv[1])


if __name__ == "__main__":
    main()
