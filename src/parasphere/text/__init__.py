"""From texts to word ids: tokenizers, vocabularies, phrases, n-grams, counts, and the compiled loops behind them."""

from .counts import count_matrix, count_rows, count_words
from .dividing import PIECE, DividingTokenizer
from .lookup import Lookup
from .ngrams import Ngrams, distinct_words, hashed_counts, learn_ngrams
from .phrases import find_phrases, join_phrases, phrase_rows, phrase_table
from .scanning import STOP
from .segmenting import SegmentingTokenizer, share_without_spaces
from .tokens import AnyTokenizer, Tokenizer, WordCounter, WordIds, split_texts, string_buffers
from .vocabulary import DuplicateWordError, Vocabulary, first_rows

__all__ = [
    "PIECE",
    "STOP",
    "AnyTokenizer",
    "DividingTokenizer",
    "DuplicateWordError",
    "Lookup",
    "Ngrams",
    "SegmentingTokenizer",
    "Tokenizer",
    "Vocabulary",
    "WordCounter",
    "WordIds",
    "count_matrix",
    "count_rows",
    "count_words",
    "distinct_words",
    "find_phrases",
    "first_rows",
    "hashed_counts",
    "join_phrases",
    "learn_ngrams",
    "phrase_rows",
    "phrase_table",
    "share_without_spaces",
    "split_texts",
    "string_buffers",
]
