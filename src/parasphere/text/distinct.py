"""The distinct words of texts."""

from itertools import chain
from typing import Any

import numpy as np

from ..corpus import is_tokenised
from .scanning import STOP
from .tokens import AnyTokenizer, Tokenizer, WordCounter, WordIds, split_texts
from .vocabulary import Vocabulary
from .word_table import MAX_WORD_BYTES


def distinct_words(texts: list[Any], tokenizer: AnyTokenizer) -> tuple[Vocabulary, WordIds]:
    """Return the distinct words of texts (stop words may be among them), and the texts as rows of these words."""
    if is_tokenised(texts):
        return _tokens(texts, tokenizer)
    if not isinstance(tokenizer, Tokenizer):
        return _tokens(split_texts(texts, tokenizer), tokenizer)
    counter = WordCounter(tokenizer)
    words = counter.add(texts)
    return counter.vocabulary(), words.where(words.ids != STOP)


def _tokens(lists: list[list[str]], tokenizer: AnyTokenizer) -> tuple[Vocabulary, WordIds]:
    """Return the distinct tokens of lists, and the lists as rows of these tokens; -1 for one that cannot be a word."""
    stop = tokenizer.stop_words if isinstance(tokenizer, Tokenizer) else frozenset()
    rows: dict[str, int] = {}
    words: list[str] = []
    for token in dict.fromkeys(chain.from_iterable(lists)):
        usable = 0 < len(token.encode()) <= MAX_WORD_BYTES and token not in stop
        rows[token] = len(words) if usable else -1
        if usable:
            words.append(token)
    ids = np.array([rows[token] for token in chain.from_iterable(lists)], np.int32)
    return Vocabulary(words), WordIds(ids, np.cumsum(list(map(len, lists)), dtype=np.int64))
