"""From texts to word ids: tokenizers, vocabularies, counts, and the compiled loops behind them."""

from .counts import count_matrix, count_rows, count_words
from .distinct import distinct_words
from .lookup import Lookup
from .scanning import STOP
from .segmenting import SegmentingTokenizer, share_without_spaces
from .stemming import check_language, stems
from .strings import Strings, gather
from .tokens import AnyTokenizer, Tokenizer, WordCounter, WordIds, split_texts
from .vocabulary import DuplicateWordError, Vocabulary, table_of
from .word_table import HASHED

__all__ = [
    "HASHED",
    "STOP",
    "AnyTokenizer",
    "DuplicateWordError",
    "Lookup",
    "SegmentingTokenizer",
    "Strings",
    "Tokenizer",
    "Vocabulary",
    "WordCounter",
    "WordIds",
    "check_language",
    "count_matrix",
    "count_rows",
    "count_words",
    "distinct_words",
    "gather",
    "share_without_spaces",
    "split_texts",
    "stems",
    "table_of",
]
