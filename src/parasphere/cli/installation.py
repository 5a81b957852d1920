"""What ``parasphere info`` says of the installation."""

import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__

NAME = "parasphere"


def installation() -> dict[str, Any]:
    """Return the versions of this installation, and the extras whose packages are all there."""
    versions: dict[str, dict[str, str | None]] = {}
    for line in _requirements():
        needed, _, condition = line.partition("; ")
        if not condition or condition.startswith("extra == "):  # others are for some systems only
            name = re.split(r"[^\w.-]", needed, maxsplit=1)[0]
            versions.setdefault(condition.removeprefix("extra == ").strip("'\""), {})[name] = _version(name)
    dependencies = versions.pop("", {})
    return {
        "parasphere": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.machine()})",
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "installed_in": str(Path(__file__).parents[1]),
        "dependencies": {name: version or "MISSING" for name, version in dependencies.items()},
        "extras": [extra for extra, needed in versions.items() if None not in needed.values()],
    }


def _requirements() -> list[str]:
    try:
        return metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:  # the source without an installation
        return []


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
