"""Checkpoints: the state of long computations, so that an interrupted one can be resumed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..errors import StoreError
from .folder import check_target, is_saved, load, remove, save
from .paths import path_of
from .tensors import Arrays


class Checkpoint:
    """A folder with the state of a computation; it is removed when the computation is done.

    Parameters
    ----------
    folder : path
        The folder, made if necessary.
    kind : str
        The kind of computation; a folder of another kind is refused.
    key : dict
        What the result depends on, JSON-able. A checkpoint with another key is refused.
    """

    def __init__(self, folder: str | Path, kind: str, key: Mapping[str, Any]) -> None:
        self.folder, self.kind, self.key = path_of(folder), kind, dict(key)
        check_target(self.folder, kind)

    def resume(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the arrays and facts of the last :meth:`write`, or None if there is no checkpoint."""
        if not is_saved(self.folder):
            return None
        arrays, meta = load(self.folder, self.kind)
        key, facts = meta.get("key"), meta.get("facts")
        if not (isinstance(key, dict) and isinstance(facts, dict)):
            raise StoreError(f"{self.folder} holds no valid checkpoint: it is damaged.")
        other = [name for name, value in self.key.items() if key.get(name) != value]
        if other:
            raise StoreError(
                f"{self.folder} is the checkpoint of another computation (different: {', '.join(other)}). Use the "
                "parameters and data of that computation, or choose another folder."
            )
        return arrays, facts

    def write(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any] | None = None) -> None:
        """Write the state, replacing the last one in one step."""
        save(self.folder, self.kind, arrays, {"key": self.key, "facts": dict(facts or {})})

    def remove(self) -> None:
        """Remove the folder: the computation is done."""
        if is_saved(self.folder):
            remove(self.folder)
