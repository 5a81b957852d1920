"""What is kept on disk: saved folders and estimators, files written whole, checkpoints, the cache, and unpacking.

It knows nothing of text or vectors; what they keep, they say by the protocol of :class:`Storable`.
"""

from .cache import Note, keep, key_of, recall
from .checkpoint import Checkpoint
from .estimators import Saved, Storable, storable
from .facts import check_types
from .folder import MANIFEST, VERSION, check_target, is_saved, load, map_arrays, read_manifest, remove, save
from .output import replacing, write_file
from .tensors import Arrays
from .unpacking import Reader

__all__ = [
    "MANIFEST",
    "VERSION",
    "Arrays",
    "Checkpoint",
    "Note",
    "Reader",
    "Saved",
    "Storable",
    "check_target",
    "check_types",
    "is_saved",
    "keep",
    "key_of",
    "load",
    "map_arrays",
    "read_manifest",
    "recall",
    "remove",
    "replacing",
    "save",
    "storable",
    "write_file",
]
