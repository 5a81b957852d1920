"""What experiments keep on the disk: results that need not be computed again, and the state of long trainings."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
from numpy.typing import NDArray

from parasphere.errors import StoreError
from parasphere.storage import path_of, replacing

Arrays = dict[str, NDArray[Any]]
FACTS = "facts"  # the array with the JSON of the facts


def cache_folder() -> Path:
    """Return the folder of what may be computed again: the variable PARASPHERE_CACHE, or the system's for caches."""
    return Path(os.environ.get("PARASPHERE_CACHE") or platformdirs.user_cache_dir("parasphere", appauthor=False))


def keep(path: str | Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able facts to a file in numpy's format .npz, which is replaced in one step."""
    written = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    with replacing(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, **{FACTS: written, **arrays})


def recall(path: str | Path) -> tuple[Arrays, dict[str, Any]] | None:
    """Return the arrays and facts of a file; None if it is absent or damaged."""
    try:
        with np.load(path, allow_pickle=False) as held:
            arrays = dict(held)
        facts = json.loads(arrays.pop(FACTS).tobytes())
        return arrays, dict(facts)
    except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile):
        return None


class Checkpoint:
    """A file with the state of a computation; it is removed when the computation is done.

    Parameters
    ----------
    path : path
    key : dict
        What the result depends on, JSON-able. A checkpoint with another key is refused.
    """

    def __init__(self, path: str | Path, key: Mapping[str, Any]) -> None:
        self.path, self.key = path_of(path), json.loads(json.dumps(key))

    def resume(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the arrays and facts of the last :meth:`write`, or None if there is no checkpoint."""
        if not self.path.exists():
            return None
        kept = recall(self.path)
        if kept is None or not (isinstance(kept[1].get("key"), dict) and isinstance(kept[1].get("facts"), dict)):
            raise StoreError(f"{self.path} is not a checkpoint, or it is damaged: choose another name, or remove it.")
        arrays, held = kept
        other = [name for name, value in self.key.items() if held["key"].get(name) != value]
        if other:
            raise StoreError(
                f"{self.path} is the checkpoint of another computation (different: {', '.join(other)}). Use the "
                "parameters and data of that computation, or choose another name."
            )
        return arrays, held["facts"]

    def write(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> None:
        """Write the state, replacing the last one in one step."""
        keep(self.path, arrays, {"key": self.key, "facts": dict(facts)})

    def remove(self) -> None:
        """Remove the file: the computation is done."""
        self.path.unlink(missing_ok=True)
