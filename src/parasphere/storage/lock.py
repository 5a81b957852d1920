"""Locks that are released when their process ends, even if it is killed."""

import contextlib
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import StoreError

LOCK = "parasphere.lock"
_POLL = 0.005  # seconds between two attempts


@contextmanager
def only_one(folder: Path, busy: str, seconds: float = 0.0) -> Iterator[None]:
    """Create a folder and hold its lock, a file that is removed afterwards.

    Parameters
    ----------
    folder : Path
        Created if necessary.
    busy : str
        The message of the StoreError that is raised if the lock is held elsewhere.
    seconds : float, default=0.0
        How long to wait for it.
    """
    from filelock import FileLock, Timeout  # imported only when something is written

    path, deadline = folder / LOCK, time.monotonic() + seconds
    lock = FileLock(path, poll_interval=_POLL)
    while not lock.is_locked:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            if _is_link(path):
                raise StoreError(f"{path} is a link or not a file: remove it, or choose another folder.")
            lock.acquire(timeout=max(deadline - time.monotonic(), 0.0))
        except FileNotFoundError:
            continue  # the folder was removed after it was created
        except Timeout:
            raise StoreError(busy) from None
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # Windows removes no open file; filelock does it there
            path.unlink()
        lock.release()


def _is_link(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    return not stat.S_ISREG(status.st_mode) or status.st_nlink > 1
