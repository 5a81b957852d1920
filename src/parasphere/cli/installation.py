"""``parasphere info``: what is installed and cached, and whether it works."""

import os
import platform
import re
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from .. import __version__
from ..places import cache_folder
from .common import BOLD, general_encoder, show

NAME = "parasphere"
_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[([\w,-]+)\])?([^;]*)(?:;.*extra == ['\"]([\w-]+)['\"])?")
_TEXTS = ["The sea was calm.", "A quiet lake.", "Interest rates rose.", "Banks lend money.", "The hill was steep."]


class Requirement(NamedTuple):
    """A line of the package's metadata."""

    name: str
    extras: tuple[str, ...]  # of the named package
    least: str  # the lowest version; "" if there is no limit
    extra: str | None  # of this package


def examine(lines: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the facts about this installation; nothing is changed.

    ``lines`` are the requirements of the package; None is those of its metadata.
    """
    requirements = _requirements(_lines() if lines is None else lines)
    problems: list[str] = []
    facts: dict[str, Any] = {
        "parasphere": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "installed_in": str(Path(__file__).parents[1]),
        "dependencies": _dependencies(requirements, problems),
        "extras": _extras(requirements),
        "cache": cache_facts(),
    }
    facts["trial_seconds"] = _trial(problems)
    facts["problems"] = problems
    return facts


def print_facts(facts: dict[str, Any]) -> None:
    """Print the facts for people."""
    names = ("parasphere", "python", "system", "cores", "installed_in")
    rows = [(name.replace("_", " "), str(facts[name])) for name in names]
    versions = (f"{name} {version or 'MISSING'}" for name, version in facts["dependencies"].items())
    rows.append(("dependencies", ", ".join(versions)))
    present = [extra for extra, missing in facts["extras"].items() if not missing]
    rows.append(("extras", ", ".join(present) or "none"))
    absent = [extra for extra in facts["extras"] if extra not in present]
    if absent:
        rows.append(("", f"not installed: {', '.join(absent)} (pip install '{NAME}[{absent[0]}]')"))
    cache = facts["cache"]
    kept = "can be written" if cache["writable"] else "cannot be written: nothing is kept for later runs"
    rows.append(("cache", f"{cache['folder']}, {cache['bytes'] / 1e6:.1f} MB, {kept}"))
    if facts["trial_seconds"] is not None:
        rows.append(("a small index", f"made and searched in {facts['trial_seconds']:.1f} s"))
    for name, value in rows:
        show((f"{name:15}", BOLD), value)
    show("")
    for problem in facts["problems"]:
        show(("problem: ", {"fg": "red", "bold": True}), problem)
    if not facts["problems"]:
        show("All is well.")


def _dependencies(requirements: list[Requirement], problems: list[str]) -> dict[str, str | None]:
    """Return the versions of the required packages."""
    found: dict[str, str | None] = {}
    for needed in requirements:
        if needed.extra is None:
            found[needed.name] = version = _version(needed.name)
            if version is None:
                problems.append(f"{needed.name} is not installed: pip install --upgrade {NAME}")
            elif _numbers(version) < _numbers(needed.least):
                problems.append(f"{needed.name} {version} is older than {needed.least}: pip install --upgrade {NAME}")
    if not found:
        problems.append(f"{NAME} was not installed by pip or uv, so its dependencies are not known")
    return found


def _extras(requirements: list[Requirement]) -> dict[str, list[str]]:
    """Return the missing packages of each extra."""
    of: dict[str, list[Requirement]] = {}
    for needed in requirements:
        if needed.extra is not None:
            of.setdefault(needed.extra, []).append(needed)

    def missing(extra: str) -> Iterator[str]:
        for needed in of.get(extra, []):
            if needed.name == NAME:
                for other in needed.extras:
                    yield from missing(other)
            elif _version(needed.name) is None:
                yield needed.name

    return {extra: sorted(set(missing(extra))) for extra in sorted(of)}


def _lines() -> list[str]:
    try:
        return metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        return []


def _requirements(lines: Sequence[str]) -> list[Requirement]:
    found = []
    for line in lines:
        parsed = _REQUIREMENT.match(line)
        assert parsed is not None
        least = re.search(r">=\s*([\w.]+)", parsed[3])
        extras = tuple((parsed[2] or "").split(","))
        found.append(Requirement(parsed[1], extras, least[1] if least else "", parsed[4]))
    return found


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3]]


def cache_facts() -> dict[str, Any]:
    """Return the folder of the cache, its size, and whether it (or the folder to make it in) can be written."""
    folder = cache_folder()
    parent = next((path for path in (folder, *folder.parents) if path.is_dir()), None)
    writable = parent is not None and (os.access(parent, os.W_OK) and not _is_device(folder))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else 0
    return {"folder": str(folder), "writable": writable, "bytes": size}


def _is_device(folder: Path) -> bool:
    """Return whether a folder is the null device or below it, as for a user without a home."""
    return folder.is_relative_to(os.devnull)


def _trial(problems: list[str]) -> float | None:
    """Search a small index and compare a text with itself; return the seconds, None if it fails."""
    from ..search import Index

    start = time.perf_counter()
    try:
        encoder = general_encoder()
        index = Index(encoder)
        index.add(_TEXTS)
        index.search(_TEXTS[0], 2)
        similarity = encoder.compare(_TEXTS[0], _TEXTS[0])
    except Exception as error:  # every failure is reported, whatever its type
        problems.append(f"a small index cannot be searched: {type(error).__name__}: {error}")
        return None
    if abs(similarity - 1) > 1e-6:
        problems.append(f"the similarity of a text to itself is {similarity:.6f} instead of 1")
    return round(time.perf_counter() - start, 3)
