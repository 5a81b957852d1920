"""Files and folders: saved estimators, atomic writes, checkpoints, and the per-user cache.

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

__all__ = [
    "MANIFEST",
    "VERSION",
    "WRONG_FACTS",
    "Arrays",
    "Checkpoint",
    "LayoutError",
    "Note",
    "Saved",
    "Tensors",
    "check_fitted",
    "check_layouts",
    "check_target",
    "check_types",
    "is_saved",
    "keep",
    "key_of",
    "load",
    "map_tensors",
    "only_one",
    "packed",
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
