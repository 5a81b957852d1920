"""Checksums of files, compared once: an unchanged file is not read again."""

import contextlib
import hashlib
import os
import time
from io import BufferedReader
from pathlib import Path

from ..errors import StoreError
from ..places import cache_folder

# A file that changed this recently could change again within one tick of the file system's clock.
SETTLED_NS = 50_000_000
REMEMBERED = 4 << 20  # bytes; for smaller files, comparing is as fast as reading a note

_seen: set[str] = set()


def check(file: BufferedReader, path: Path, expected: str) -> None:
    """Compare an open file with its SHA-256, unless the same file was compared before.

    Files are identified by device, inode, size and times, in this process and, by a note in the user's cache, in later
    ones.

    Raises
    ------
    StoreError
        If the checksums differ.
    """
    status = os.fstat(file.fileno())
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    facts = (expected, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:32]
    note = cache_folder() / "verified" / key
    if key in _seen or note.exists():
        return
    file.seek(0)
    checksum = hashlib.file_digest(file, "sha256").hexdigest()
    if checksum != expected:
        raise StoreError(
            f"{path} was changed after it was written: its checksum is {checksum[:12]}…, not {expected[:12]}…. "
            "Save the folder again."
        )
    if changed + SETTLED_NS < time.time_ns():
        _seen.add(key)
        if status.st_size >= REMEMBERED:
            with contextlib.suppress(OSError):  # without a note the file is compared again
                note.parent.mkdir(parents=True, exist_ok=True)
                note.touch()
