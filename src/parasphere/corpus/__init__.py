"""Corpora: documents from memory, files, folders and pipes, as a stream of blocks."""

from .block import Block
from .copying import copy_documents
from .plain import is_tokenised, one_text, sound_strings, without_surrogates
from .source import STANDARD_INPUT, blocks

__all__ = [
    "STANDARD_INPUT",
    "Block",
    "blocks",
    "copy_documents",
    "is_tokenised",
    "one_text",
    "sound_strings",
    "without_surrogates",
]
