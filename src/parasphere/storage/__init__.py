"""What is kept on disk: saved folders, files written whole, and the place of the cache. It knows nothing of text."""

from .folder import MANIFEST, VERSION, check_target, is_saved, load, map_arrays, read_manifest, remove, save
from .output import replacing, write_file
from .tensors import Arrays
from .verified import SETTLED_NS

__all__ = [
    "MANIFEST",
    "SETTLED_NS",
    "VERSION",
    "Arrays",
    "check_target",
    "is_saved",
    "load",
    "map_arrays",
    "read_manifest",
    "remove",
    "replacing",
    "save",
    "write_file",
]
