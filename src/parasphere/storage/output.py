"""Atomic writes: a file is written completely or not at all, with the permissions of the umask."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from ..errors import StoreError
from .claim import claimed


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; if the block succeeds, the written file replaces ``path`` in one step.

    Its folder is made if necessary. If anything fails, the file is unchanged; if it cannot be written, a StoreError is
    raised.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "greeting.txt")
    >>> with replacing(path) as part:
    ...     _ = part.write_text("hello")
    ...     path.exists()
    False
    >>> path.read_text()
    'hello'
    """
    path = Path(path).expanduser()
    if path.is_dir():
        raise StoreError(f"{path} is a folder; a file is written here. Choose another name.")
    with writing(path, "What was there before is unchanged." if path.exists() else "Nothing was written."):
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            part = _part(path, stack)
            try:
                yield part
                flush(part)
                stack.close()  # Windows renames no open file
                part.replace(path)
            except BaseException:
                part.unlink(missing_ok=True)
                raise


def write_file(path: str | Path, content: bytes) -> None:
    """Write a whole file in one step; see :func:`replacing`."""
    with replacing(path) as part:
        part.write_bytes(content)


@contextmanager
def writing(path: Path, kept: str) -> Iterator[None]:
    """Raise errors of the system as a StoreError with the path, the reason, and the state of what was there."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror or error}). {kept}") from error


def _part(path: Path, stack: ExitStack) -> Path:
    """Return an empty file next to ``path`` that is locked while the stack is open.

    A killed process leaves its part behind. The next one that writes the same file finds it unlocked and reuses it, so
    that leftovers do not accumulate.
    """
    for number in count():
        part = path.with_name(f".{path.name}.part{number}")
        descriptor = stack.enter_context(claimed(part))
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            return part
    raise AssertionError("unreachable")


def flush(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
