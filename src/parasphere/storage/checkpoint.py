"""Checkpoints: the state of long work in a folder, so that a process that was killed can be followed by another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import StoreError
from .folder import check_target, is_saved, load, remove, save
from .tensors import Arrays


class Checkpoint:
    """A folder that holds the state of some work while it goes on, and is removed when the work is done.

    Parameters
    ----------
    folder : path
    kind : str
        What is being done; another kind of folder is refused.
    key : dict
        What the work was begun with, JSON-able. Work begun with anything else is not taken up.
    """

    def __init__(self, folder: str | Path, kind: str, key: Mapping[str, Any]) -> None:
        self.folder, self.kind, self.key = Path(folder).expanduser(), kind, dict(key)
        check_target(self.folder, kind)

    def resume(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the arrays and facts that were written last, or None if there are none."""
        if not is_saved(self.folder):
            return None
        arrays, meta = load(self.folder, self.kind)
        other = [name for name, value in self.key.items() if meta["key"].get(name) != value]
        if other:
            raise StoreError(
                f"{self.folder} is a checkpoint of other work (different: {', '.join(other)}). Go on with what it was "
                "begun with, or choose another folder."
            )
        return arrays, meta["facts"]

    def write(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> None:
        """Replace the state in one step."""
        save(self.folder, self.kind, arrays, {"key": self.key, "facts": dict(facts or {})})

    def remove(self) -> None:
        """Remove the state: the work is done."""
        if is_saved(self.folder):
            remove(self.folder)
