"""The per-user cache: entries that hold what was parsed once, and notes that say which entry a file's content has.

An *entry* is a folder named by a key, a hash of the content; it is written whole or not at all. A *note* remembers
a file's size and times and the key of its content; while they stay as they are, the file need be neither parsed nor
hashed. Everything here may be deleted at any time: it is only made anew.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from . import formats, store
from .errors import ParasphereError, ParasphereWarning

# A file changed this recently could change again within one tick of the file system's clock, unnoticed.
SETTLED_NS = 50_000_000
ABANDONED_S = 24 * 3600  # after this long an unfinished folder belongs to a process that was killed

T = TypeVar("T")


class CacheWarning(ParasphereWarning):
    """The cache could not be written; what was parsed is in this process's memory instead."""


def cache_folder() -> Path:
    """Return the folder of the cache: PARASPHERE_CACHE, or what the system has for such things."""
    return Path(os.environ.get("PARASPHERE_CACHE") or platformdirs.user_cache_dir("parasphere", appauthor=False))


def key_of(*facts: Any) -> str:
    """Hash facts that JSON can hold, together with the versions of the reader and of the folders it fills."""
    return hashlib.blake2b(json.dumps([formats.VERSION, store.VERSION, *facts]).encode(), digest_size=16).hexdigest()


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
        with contextlib.suppress(OSError):  # without a note the file is only parsed again
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(dir=self.path.parent)
            with os.fdopen(handle, "w") as file:
                json.dump({"stamp": self.stamp, "key": key}, file)
            Path(part).replace(self.path)


def recall(key: str | None, load: Callable[[Path], T]) -> T | None:
    """Load an entry, if there is a sound one."""
    try:
        return load(_entry(key)) if key else None
    except (ParasphereError, OSError):
        return None  # absent, or damaged: it is made anew


def keep(key: str, save: Callable[[Path], None], load: Callable[[Path], T]) -> T:
    """Save an entry, if there is no sound one, and load it; an OSError or StoreError says why that cannot be."""
    kept = recall(key, load)
    if kept is None:
        _write_entry(_entry(key), save)
        kept = load(_entry(key))
    return kept


def _entry(key: str) -> Path:
    return cache_folder() / "entries" / key


def _write_entry(entry: Path, save: Callable[[Path], None]) -> None:
    """Save beside the entry, then rename: other processes see all of it or nothing, and may do the same."""
    entry.parent.mkdir(parents=True, exist_ok=True)
    for part in entry.parent.glob("part-*"):
        if time.time() - part.stat().st_mtime > ABANDONED_S:
            shutil.rmtree(part, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix="part-", dir=entry.parent))
    try:
        save(part)
        shutil.rmtree(entry, ignore_errors=True)  # only a damaged entry is ever written again
        with contextlib.suppress(OSError):  # another process was quicker; what it wrote is the same
            part.rename(entry)
    finally:
        shutil.rmtree(part, ignore_errors=True)
