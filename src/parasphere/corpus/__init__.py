"""Documents in, as Arrow blocks: from memory, from every kind of file, from folders and pipes."""

from .columns import one_text, strings
from .files import SkippedFilesWarning
from .source import Block, blocks

__all__ = ["Block", "SkippedFilesWarning", "blocks", "one_text", "strings"]
