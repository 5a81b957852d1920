"""The per-user cache: entries with parsed content, and notes that map files to entries.

An *entry* is a saved folder, named by a key, which is a hash of the content. A *note* holds the size and times of a
file and the key of its content; as long as they do not change, the file is neither parsed nor hashed again. Everything
here may be deleted at any time.
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

T = TypeVar("T")
# A file that changed this recently could change again within one tick of the file system's clock.
SETTLED_NS = 50_000_000


def key_of(*facts: Any) -> str:
    """Hash JSON-able facts, together with the version of the folder format."""
    return hashlib.blake2b(json.dumps([VERSION, *facts]).encode(), digest_size=16).hexdigest()


def stamp_of(path: Path) -> dict[str, int]:
    """Return size and times of a file, including ctime: unlike mtime it cannot be set back (``cp -p``, rsync)."""
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns}


class Note:
    """The key of the content of a file; create it before the file is read, and write it afterwards.

    ``facts`` are the settings of reading that the parsed content depends on.
    """

    def __init__(self, file: Path, *facts: Any) -> None:
        self.file = file
        self.path = cache_folder() / "notes" / f"{key_of(str(file.resolve()), *facts)}.json"
        self.stamp = stamp_of(file)
        self.made_ns = time.time_ns()

    def read(self) -> str | None:
        """Return the key of the content of the file, if it has not changed since the note was written."""
        try:
            note = json.loads(self.path.read_text())
            return str(note["key"]) if note["stamp"] == self.stamp else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, key: str) -> None:
        """Write the key, unless the file changed while it was read, or so recently that it may have."""
        settled = max(self.stamp["mtime_ns"], self.stamp["ctime_ns"]) + SETTLED_NS < self.made_ns
        if not settled or self.stamp != stamp_of(self.file):
            return
        with contextlib.suppress(StoreError):  # without a note the file is parsed again
            write_file(self.path, json.dumps({"stamp": self.stamp, "key": key}).encode())


def recall(key: str | None, load: Callable[[Path], T]) -> T | None:
    """Load an entry; None if it is absent or damaged."""
    try:
        return load(_entry(key)) if key else None
    except (ParasphereError, OSError):
        return None


def keep(key: str, save: Callable[[Path], None], load: Callable[[Path], T]) -> T:
    """Save an entry, unless an undamaged one exists, and load it; raise an OSError or StoreError if that fails."""
    entry = _entry(key)
    whole = (entry / MANIFEST).exists()
    kept = recall(key, load)
    if kept is None:
        if whole:  # but damaged; if there is no manifest, another process may be writing the entry
            shutil.rmtree(entry, ignore_errors=True)
        save(entry)
        kept = load(entry)
    return kept


def _entry(key: str) -> Path:
    return cache_folder() / "entries" / key
