"""Where things are kept that belong to no project: the user's cache."""

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """Return the folder of the cache: PARASPHERE_CACHE, or what the system has for such things."""
    return Path(os.environ.get("PARASPHERE_CACHE") or platformdirs.user_cache_dir("parasphere", appauthor=False))
