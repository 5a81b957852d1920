"""Corpora: documents from memory, files, folders and pipes, as a stream of blocks."""

from .block import Block
from .files import copy_documents
from .reading import STANDARD_INPUT, Corpus, blocks, reread
from .texts import is_tokenised, one_text, sound_values, without_surrogates

__all__ = [
    "STANDARD_INPUT",
    "Block",
    "Corpus",
    "blocks",
    "copy_documents",
    "is_tokenised",
    "one_text",
    "reread",
    "sound_values",
    "without_surrogates",
]
