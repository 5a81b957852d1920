"""The distinct words of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .scanning import STOP
from .tokens import AnyTokenizer, Tokenizer, WordCounter, WordIds, holds_lists, split_texts
from .word_table import MAX_WORD_BYTES

if TYPE_CHECKING:
    import pyarrow as pa


def distinct_words(texts: pa.Array, tokenizer: AnyTokenizer) -> tuple[pa.LargeStringArray, WordIds]:
    """Return the distinct words of some texts, perhaps with stop words, and the texts as rows of these."""
    if holds_lists(texts):
        return _tokens(texts, tokenizer)
    if not isinstance(tokenizer, Tokenizer):
        return _tokens(split_texts(texts, tokenizer), tokenizer)
    counter = WordCounter(tokenizer)
    words = _without_stop_words(counter.add(texts))
    return counter.vocabulary().arrow, words


def _without_stop_words(words: WordIds) -> WordIds:
    kept = words.ids != STOP
    return words if kept.all() else WordIds(words.ids[kept], np.concatenate([[0], np.cumsum(kept)])[words.ends])


def _tokens(lists: pa.LargeListArray, tokenizer: AnyTokenizer) -> tuple[pa.LargeStringArray, WordIds]:
    """Return the distinct tokens of lists, and the lists as rows of these; -1 for a token that cannot be a word."""
    import pyarrow as pa
    import pyarrow.compute as pc

    met = lists.flatten().dictionary_encode()
    sizes = np.asarray(pc.binary_length(met.dictionary))
    usable = (sizes > 0) & (sizes <= MAX_WORD_BYTES)
    if isinstance(tokenizer, Tokenizer) and tokenizer.stop_words:
        stop = pc.is_in(met.dictionary, pa.array(tokenizer.stop_words, pa.large_string()))
        usable &= ~stop.to_numpy(zero_copy_only=False)
    rows = np.where(usable, np.cumsum(usable, dtype=np.int32) - np.int32(1), np.int32(-1))
    begins = np.asarray(lists.offsets)
    return met.dictionary.filter(pa.array(usable)), WordIds(rows[np.asarray(met.indices)], begins[1:] - begins[0])
