"""Paths passed by users."""

import os
from pathlib import Path

from ..errors import StoreError


def path_of(path: str | os.PathLike[str]) -> Path:
    """Return a path with the home folder in place of ``~``; raise a StoreError if it is not a possible path.

    Examples
    --------
    >>> path_of("folder/file.npy").name
    'file.npy'
    >>> path_of("a" * 5000)
    Traceback (most recent call last):
    parasphere.errors.StoreError: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'... cannot be the path of a file or folder
    (File name too long).
    """
    try:
        expanded = Path(path).expanduser()
        expanded.lstat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a user without a home folder
        shown = repr(str(path)[:40]) + "..." * (len(str(path)) > 40)
        reason = str(getattr(error, "strerror", None) or error).rstrip(".")
        raise StoreError(f"{shown} cannot be the path of a file or folder ({reason}).") from None
    return expanded
