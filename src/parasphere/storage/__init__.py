"""Files and folders: saved estimators, atomic writes, checkpoints, the per-user cache, and decompression.

The package does not depend on text or vectors. Classes that can be part of a saved estimator implement the protocol
:class:`~parasphere.storage.estimators.Storable`.
"""

from .cache import Note, keep, key_of, recall
from .checkpoint import Checkpoint
from .estimators import Saved, check_fitted, packed, storable, unpacked
from .facts import WRONG_FACTS, check_types
from .folder import MANIFEST, VERSION, check_target, is_saved, load, read_manifest, remove, save
from .layouts import LayoutError, check_layouts
from .lock import only_one
from .output import replacing, write_file
from .paths import path_of
from .tensors import Arrays, Tensors, map_tensors
from .unpacking import PACKINGS, ByteReader, ahead, first_bytes, packing_of

__all__ = [
    "MANIFEST",
    "PACKINGS",
    "VERSION",
    "WRONG_FACTS",
    "Arrays",
    "ByteReader",
    "Checkpoint",
    "LayoutError",
    "Note",
    "Saved",
    "Tensors",
    "ahead",
    "check_fitted",
    "check_layouts",
    "check_target",
    "check_types",
    "first_bytes",
    "is_saved",
    "keep",
    "key_of",
    "load",
    "map_tensors",
    "only_one",
    "packed",
    "packing_of",
    "path_of",
    "read_manifest",
    "recall",
    "remove",
    "replacing",
    "save",
    "storable",
    "unpacked",
    "write_file",
]
