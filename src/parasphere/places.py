"""What is found without being named: the default word vectors, and the folder of this user's cache.

The command line and :mod:`parasphere.compiled.jit` need these before anything heavy is imported.
"""

import os
import warnings
from pathlib import Path

from .errors import ParasphereWarning

GLOVE = "glove-6b-50d"  # the word vectors that come with the library
_warned: set[Path] = set()


class CacheWarning(ParasphereWarning):
    """A cache cannot be used: what is parsed or compiled stays in this process's memory."""


def cache_folder() -> Path:
    """Return the folder of the cache: PARASPHERE_CACHE, or what the system has for such things."""
    import platformdirs

    given = os.environ.get("PARASPHERE_CACHE")
    if given:
        return Path(given)
    nowhere = Path(os.devnull, "parasphere")  # for a user without a home: can be neither read nor written
    try:
        folder = Path(platformdirs.user_cache_dir("parasphere", appauthor=False))
    except RuntimeError:
        return nowhere
    return folder if folder.is_absolute() else nowhere  # older releases leave a "~" as it is


def warn_of_cache(folder: Path, error: Exception) -> None:
    """Say that nothing can be kept in a folder, and how to give another: once per process for all that it was for."""
    root = cache_folder()
    root = root if folder.is_relative_to(root) else folder
    if root not in _warned:
        _warned.add(root)
        warnings.warn(
            f"the cache {root} cannot be used ({error}): what is parsed or compiled is lost with this process. Set "
            "PARASPHERE_CACHE to a folder that can be written (or NUMBA_CACHE_DIR, for compiled code alone).",
            CacheWarning,
            stacklevel=3,
        )
