"""The per-user cache: entries that hold what was parsed once, and notes that say which entry a file's content has.

An *entry* is a saved folder (:mod:`parasphere.storage`) named by a key, a hash of the content. A *note* remembers
a file's size and times and the key of its content; while they stay as they are, the file need be neither parsed nor
hashed. Everything here may be deleted at any time: it is only made anew.
"""

import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ..errors import ParasphereError, StoreError
from ..places import cache_folder
from .folder import MANIFEST, VERSION
from .output import write_file
from .verified import SETTLED_NS

T = TypeVar("T")


def key_of(*facts: Any) -> str:
    """Hash facts that JSON can hold, together with the version of the folders that hold entries."""
    return hashlib.blake2b(json.dumps([VERSION, *facts]).encode(), digest_size=16).hexdigest()


def stamp_of(path: Path) -> dict[str, int]:
    """Return what changes when a file does. ctime too: unlike mtime it cannot be set back (``cp -p``, rsync)."""
    found = path.stat()
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns, "ctime_ns": found.st_ctime_ns}


class Note:
    """What the cache remembers of a file; made before the file is read, written after.

    Parameters
    ----------
    file : Path
        The file, as it is now.
    facts
        How it is read, if that changes what is found in it.
    """

    def __init__(self, file: Path, *facts: Any) -> None:
        self.file = file
        self.path = cache_folder() / "notes" / f"{key_of(str(file.resolve()), *facts)}.json"
        self.stamp = stamp_of(file)
        self.made_ns = time.time_ns()

    def read(self) -> str | None:
        """Return the key of the file's content, if the file is as it was when the note was written."""
        try:
            found = json.loads(self.path.read_text())
            return str(found["key"]) if found["stamp"] == self.stamp else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, key: str) -> None:
        """Note the key, unless the file changed while it was read, or so shortly before that it may have."""
        settled = max(self.stamp["mtime_ns"], self.stamp["ctime_ns"]) + SETTLED_NS < self.made_ns
        if not settled or self.stamp != stamp_of(self.file):
            return
        with contextlib.suppress(StoreError):  # without a note the file is only parsed again
            write_file(self.path, json.dumps({"stamp": self.stamp, "key": key}).encode())


def recall(key: str | None, load: Callable[[Path], T]) -> T | None:
    """Load an entry, if there is a sound one."""
    try:
        return load(_entry(key)) if key else None
    except (ParasphereError, OSError):
        return None  # absent, or damaged: it is made anew


def keep(key: str, save: Callable[[Path], None], load: Callable[[Path], T]) -> T:
    """Save an entry, if there is no sound one, and load it; an OSError or StoreError says why that cannot be."""
    entry = _entry(key)
    whole = (entry / MANIFEST).exists()
    kept = recall(key, load)
    if kept is None:
        if whole:  # and damaged; without a manifest another process may be writing it
            shutil.rmtree(entry, ignore_errors=True)
        save(entry)
        kept = load(entry)
    return kept


def _entry(key: str) -> Path:
    return cache_folder() / "entries" / key
