"""Corpora: documents from memory, files, folders and pipes, as a stream of Arrow blocks."""

from .block import Block
from .columns import one_text, strings
from .files import SkippedFilesWarning
from .source import STANDARD_INPUT, blocks

__all__ = ["STANDARD_INPUT", "Block", "SkippedFilesWarning", "blocks", "one_text", "strings"]
