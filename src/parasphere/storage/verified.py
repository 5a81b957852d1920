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


def is_known(file: BufferedReader, expected: str) -> bool:
    """Return whether an open file was compared with this SHA-256 before, and has not changed since.

    Files are identified by device, inode, size and times, in this process and, by a note in the user's cache, in later
    ones.
    """
    key = _key(file, expected)
    return key in _seen or _note(key).exists()


def compare(file: BufferedReader, path: Path, expected: str) -> None:
    """Compare an open file with its SHA-256; raise a StoreError if they differ."""
    file.seek(0)
    checksum = hashlib.file_digest(file, "sha256").hexdigest()
    if checksum != expected:
        raise StoreError(
            f"{path} was changed after it was written: its checksum is {checksum[:12]}…, not {expected[:12]}…. "
            "Save the folder again."
        )


def remember(file: BufferedReader, expected: str) -> None:
    """Let :func:`is_known` know an open file from now on, unless it changed a moment ago and may change again."""
    status = os.fstat(file.fileno())
    if max(status.st_mtime_ns, status.st_ctime_ns) + SETTLED_NS < time.time_ns():
        key = _key(file, expected)
        _seen.add(key)
        if status.st_size >= REMEMBERED:
            with contextlib.suppress(OSError):  # without a note the file is compared again
                _note(key).parent.mkdir(parents=True, exist_ok=True)
                _note(key).touch()


def _key(file: BufferedReader, expected: str) -> str:
    status = os.fstat(file.fileno())
    facts = (expected, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _note(key: str) -> Path:
    return cache_folder() / "verified" / key
