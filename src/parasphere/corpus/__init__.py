"""Corpora: documents from memory, files, folders and pipes, as a stream of Arrow blocks."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .plain import one_text, without_surrogates

if TYPE_CHECKING:
    from .block import Block
    from .columns import strings
    from .files import SkippedFilesWarning
    from .source import STANDARD_INPUT, blocks

__all__ = ["STANDARD_INPUT", "Block", "SkippedFilesWarning", "blocks", "one_text", "strings", "without_surrogates"]

# Names of modules that import pyarrow, which takes long and which lists of strings do without.
_HOMES = {"STANDARD_INPUT": "source", "Block": "block", "SkippedFilesWarning": "files", "blocks": "source",
          "strings": "columns"}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
