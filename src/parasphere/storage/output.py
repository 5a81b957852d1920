"""Files out: each is written whole or not at all, with the permissions that the umask gives."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

from ..errors import StoreError
from .claim import claimed


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a path to write to; when the block ends well, what was written becomes ``path`` in one step.

    Parameters
    ----------
    path : path
        The file to write. Its folder is made if need be. If anything fails, it stays as it was.

    Raises
    ------
    StoreError
        If the file cannot be written: no room, no permission, a folder of that name.

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
    """Turn the system's errors into ours: the path, the reason, and what was kept."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror or error}). {kept}") from error


def _part(path: Path, stack: ExitStack) -> Path:
    """Return an empty file beside ``path`` that is ours while the stack is open.

    A process that was killed leaves its part behind. The next one that writes the same file finds it unclaimed and
    takes it over, so that leftovers never gather.
    """
    for number in count():
        part = path.with_name(f".{path.name}.part{number}")
        descriptor = stack.enter_context(claimed(part))
        if descriptor is not None:
            os.ftruncate(descriptor, 0)
            return part
    raise AssertionError("unreachable")


def flush(path: Path) -> None:
    """Wait until a file or a folder's entries are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
