"""The texts of joint learning, as ids of words and phrases."""

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import text
from ..corpus import blocks
from ..errors import VectorsError


class Texts(NamedTuple):
    """Texts as ids of the words, and phrases, that are learned."""

    words: list[str]  # and phrases
    counts: NDArray[np.int64]  # (n_words,), how often each occurs
    ids: NDArray[np.int32]  # (n,), the concatenated texts, as ids or -1
    ends: NDArray[np.int64]  # (n_texts + 1,), where each text begins and ends
    joinable: bool = True  # whether neighbouring words may be joined to phrases


def read_texts(corpus: Any, tokenizer: text.AnyTokenizer, min_count: int) -> Texts:
    """Read a corpus once, and return its frequent words as ids; other words are -1."""
    held = list(blocks(corpus))
    counter = text.WordCounter(tokenizer)
    for block in held:
        counter.add(block.texts)
    words, counts = counter.words_and_counts()
    n_words = int(np.searchsorted(-counts, -min_count, side="right"))
    if n_words < 2:
        raise VectorsError(
            f"only {n_words} words occur {min_count} times in this corpus; lower min_count or give more texts"
        )
    joinable = isinstance(tokenizer, text.Tokenizer) and not any(block.tokenised for block in held)
    lookup = text.Lookup(text.Vocabulary(words[:n_words]), tokenizer)
    ids, ends, total = [np.empty(0, np.int32)], [np.zeros(1, np.int64)], 0
    for block in held:
        block_ids, block_ends = lookup.ids(block.texts)
        ids.append(block_ids)
        ends.append(total + block_ends)
        total += len(block_ids)
    return Texts(words[:n_words], counts[:n_words], np.concatenate(ids), np.concatenate(ends), joinable)


def with_phrases(texts: Texts, longest: int, min_count: int, min_score: float) -> Texts:
    """Find phrases, and replace words by them."""
    phrases = text.find_phrases(texts.ids, texts.ends[1:], texts.words, longest, min_count, min_score)
    words = [*texts.words, *phrases]
    table = text.phrase_table(text.Vocabulary(words))
    if table is None:
        return texts
    ids, ends = texts.ids.copy(), texts.ends.copy()
    ids = ids[: text.join_phrases(ids, ends[1:], len(words), *table, np.empty(0, np.int64))]
    return texts._replace(words=words, counts=np.bincount(ids[ids >= 0], minlength=len(words)), ids=ids, ends=ends)


def known_words(texts: Texts) -> Texts:
    """Remove the words that are not learned."""
    known = texts.ids >= 0
    return texts._replace(ids=texts.ids[known], ends=np.concatenate([[0], np.cumsum(known)])[texts.ends])


def most_frequent(texts: Texts, n_words: int) -> Texts:
    """Keep the most frequent words, which come first; the ids of others become -1."""
    ids = np.where(texts.ids < n_words, texts.ids, np.int32(-1))
    return texts._replace(words=texts.words[:n_words], counts=texts.counts[:n_words], ids=ids)


def seed_of(random_state: Any) -> int:
    """Return an integer as it is, or a seed drawn from a RandomState."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
