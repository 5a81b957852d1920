"""Atomic writes: a file is written completely or not at all, with the permissions of the umask.

Each write creates a new file with a random name, which then replaces the old one: if that is a link, the link is
replaced, and its target is unchanged.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import StoreError
from .paths import path_of


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; if the block succeeds, the written file replaces ``path`` in one step.

    Its folder is created if necessary. If anything fails, the file is unchanged; if it cannot be written, a StoreError
    is raised.

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
    path = path_of(path)
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "not a regular file"
        raise StoreError(f"{path} is {what}, but a file is to be written. Choose another name.")
    with writing(path, "What was there before is unchanged." if path.exists() else "Nothing was written."):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".parasphere-{secrets.token_hex(8)}.part")
        try:
            part.touch(exist_ok=False)
            yield part
            flush(part)
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
    """Raise errors of the system as a StoreError with the path, the reason, and the sentence ``kept``."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror or error}). {kept}") from error


def flush(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
