"""File locks that end with their process, however it ends."""

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl


@contextmanager
def claimed(path: Path) -> Iterator[int | None]:
    """Open a file, made if necessary, exclusively; yield its descriptor, or None if another process holds it.

    The file is neither truncated nor removed. Its permissions are those of the umask.
    """
    descriptor = _claim(path)
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            _release(descriptor)


def _claim(path: Path) -> int | None:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        with ExitStack() as unless_claimed:
            unless_claimed.callback(os.close, descriptor)
            if not _locked(descriptor):
                return None
            # The previous holder may have renamed or removed the file between our opening and our locking it.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    unless_claimed.pop_all()
                    return descriptor


def _release(descriptor: int) -> None:
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough if a child process was forked
    os.close(descriptor)


def _locked(descriptor: int) -> bool:
    """Lock a file without waiting. Without support for locks, writers are not separated, but renames are atomic."""
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
