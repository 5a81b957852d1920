"""What is found without being named: the default word vectors, and the folder of this user's cache.

The command line and :mod:`parasphere.compiled` need these before anything heavy is imported.
"""

import os
from pathlib import Path

GLOVE = "glove-6b-50d"  # the word vectors that come with the library


class CacheWarning(UserWarning):
    """A cache cannot be used: what was parsed or compiled stays in this process's memory instead."""


def cache_folder() -> Path:
    """Return the folder of the cache: PARASPHERE_CACHE, or what the system has for such things."""
    import platformdirs

    return Path(os.environ.get("PARASPHERE_CACHE") or platformdirs.user_cache_dir("parasphere", appauthor=False))
