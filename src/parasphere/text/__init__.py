"""From texts to word ids: tokenizers, vocabularies, phrases, counts, and the compiled loops behind them."""

from .phrases import find_phrases, join_phrases, phrase_rows, phrase_table
from .tokens import (
    AnyTokenizer,
    Lookup,
    Tokenizer,
    WordCounter,
    count_matrix,
    count_words,
    split_texts,
    string_buffers,
)
from .vocabulary import DuplicateWordError, Vocabulary

__all__ = [
    "AnyTokenizer",
    "DuplicateWordError",
    "Lookup",
    "Tokenizer",
    "Vocabulary",
    "WordCounter",
    "count_matrix",
    "count_words",
    "find_phrases",
    "join_phrases",
    "phrase_rows",
    "phrase_table",
    "split_texts",
    "string_buffers",
]
