"""The names of known word vectors, and the user's cache folder; importing this module is cheap."""

import os
import warnings
from pathlib import Path

from .errors import ParasphereWarning

ENGLISH = "english-128"  # the word vectors that come with the library, the default of every model
GLOVE = "glove-6b-50d"  # installed by the extra `glove`; used in place of the vectors of the paper
WORDLLAMA = "wordllama"  # the table of word pieces in the package of that name
_warned: set[Path] = set()


class CacheWarning(ParasphereWarning):
    """A cache cannot be used: parsed vectors are only kept in memory."""


def cache_folder() -> Path:
    """Return the cache folder: the environment variable PARASPHERE_CACHE, or the system's folder for caches."""
    import platformdirs

    chosen = os.environ.get("PARASPHERE_CACHE")
    if chosen:
        return Path(chosen)
    nowhere = Path(os.devnull, "parasphere")  # for a user without a home; it can be neither read nor written
    try:
        folder = Path(platformdirs.user_cache_dir("parasphere", appauthor=False))
    except RuntimeError:
        return nowhere
    return folder if folder.is_absolute() else nowhere  # older releases do not expand "~"


def warn_of_cache(folder: Path, error: Exception) -> None:
    """Warn, once per process and cache folder, that it cannot be used, and say how to choose another."""
    root = cache_folder()
    root = root if folder.is_relative_to(root) else folder
    if root not in _warned:
        _warned.add(root)
        warnings.warn(
            f"the cache {root} cannot be used ({error}): parsed vectors are not kept for later runs. Set "
            "PARASPHERE_CACHE to a writable folder.",
            CacheWarning,
            stacklevel=3,
        )
