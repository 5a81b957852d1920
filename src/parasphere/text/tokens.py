"""Text to word ids: compiled, over the bytes of Arrow string columns.

A word is a run of letters (Unicode's, with the combining marks that go on with them), lower-cased one code point
at a time exactly as Arrow's ``utf8_lower`` does it. Everything else separates words. The loop itself is
:func:`parasphere.text.kernels.ids_of_texts`; this module prepares its tables.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from ..corpus.columns import one_text, strings
from ..corpus.source import blocks
from ..errors import CorpusError
from ..storage import check_types, storable
from .kernels import (
    CODE_POINTS,
    MARK,
    MAX_WORD_BYTES,
    STOP,
    empty_slots,
    fill_slots,
    ids_of_texts,
    ids_of_words,
    learn_texts,
    new_key,
    unpack_words,
)
from .phrases import join_phrases, phrase_table
from .stopwords import ENGLISH
from .vocabulary import Vocabulary


@storable("tokenizer")
@dataclass(frozen=True)
class Tokenizer:
    """What counts as a word.

    Parameters
    ----------
    lowercase : bool
        Lower-case the text first.
    digits : bool
        Let decimal digits be part of words ("b2b", "1984"). Otherwise they separate words.
    min_length : int
        Drop words of fewer characters.
    stop_words : "english", iterable of str or None
        Words to drop: the bundled English list, or your own. Each goes through this tokenizer itself, so
        "Don't" drops "don" and "t".
    english : bool
        Let only the letters a to z (and A to Z) make words; all others separate.

    Examples
    --------
    >>> Tokenizer()("Οὐκ ἔστιν: the Café's 2 cats")
    ['οὐκ', 'ἔστιν', 'the', 'café', 's', 'cats']
    >>> Tokenizer(stop_words="english", min_length=2, digits=True)("the Café's 22 cats")
    ['café', '22', 'cats']
    """

    lowercase: bool = True
    digits: bool = False
    min_length: int = 1
    stop_words: Any = None
    english: bool = False

    def __post_init__(self) -> None:
        if self.min_length < 1:
            raise ValueError(f"min_length must be at least 1, not {self.min_length}")
        object.__setattr__(self, "stop_words", self._stop_words())

    @classmethod
    def paper(cls) -> "Tokenizer":
        """Return the preprocessing of the paper: lower case, English letters only, no stop words."""
        return cls(english=True, stop_words="english")

    def __call__(self, text: str) -> list[str]:
        """Return the words of one text."""
        words: list[str] = self.split(strings([one_text(text, "what a Tokenizer splits")]))[0].as_py()
        return words

    def split(self, texts: pa.LargeStringArray) -> pa.LargeListArray:
        """Return the words of each text as a column of lists."""
        counter = WordCounter(self)
        ids, ends = counter.add(texts)
        kept = ids >= 0  # neither stop words nor runs too long to be words
        words = counter.vocabulary().arrow.take(pa.array(ids[kept]))
        offsets = np.concatenate([[0], np.cumsum(kept)])[np.concatenate([[0], ends])]
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), words)

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a saved estimator keeps."""
        return asdict(self) | {"stop_words": sorted(self.stop_words) or None}, {}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], _arrays: dict[str, NDArray[Any]], given: Any) -> Any:
        """Make a tokenizer of what was saved, unless another was given."""
        if given.get("tokenizer") is not None:
            return given["tokenizer"]
        check_types(cls, facts)
        return cls(**facts)

    @property
    def tables(self) -> tuple[NDArray[np.uint32], np.uint64, np.uint64]:
        """What the compiled scanner reads: folded code points, and its ASCII part as two masks of eight bytes."""
        case = np.uint64(0x2020202020202020 if self.lowercase else 0)
        digits = np.uint64(0x8080808080808080 if self.digits else 0)
        return _fold_table(self.lowercase, self.digits, self.english), case, digits

    def _stop_words(self) -> frozenset[str]:
        given = self.stop_words
        if given is None:
            return frozenset()
        if isinstance(given, str):
            if given != "english":
                raise ValueError(f"stop_words must be 'english', a collection of words or None, not {given!r}")
            given = ENGLISH
        words = frozenset(map(str, given))
        simple = frozenset(word for word in words if word.isascii() and word.isalpha() and word.islower())
        if simple == words:  # each is one word to every tokenizer: nothing need be compiled to find that out
            return words
        plain = Tokenizer(self.lowercase, self.digits, 1, None, self.english)
        return frozenset(plain(" ".join(sorted(words))))


AnyTokenizer = Tokenizer | Callable[[str], Sequence[str]]


class WordIds(NamedTuple):
    """The word ids of some texts, end to end.

    Attributes
    ----------
    ids : (n_words,) int32
        A row of the vocabulary, or -1 for a word it lacks.
    ends : (n_texts,) int64
        Where each text's ids end; the first text's begin at 0.
    """

    ids: NDArray[np.int32]
    ends: NDArray[np.int64]


class Lookup:
    """Turns texts into word ids: a tokenizer bound to a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary
    tokenizer : Tokenizer, callable or Hugging Face tokenizer
        A :class:`Tokenizer` runs compiled. Any other callable is asked for the words of each text, in Python.
    phrases : bool
        Let entries of several words, "new york", take the place of those words (see :mod:`parasphere.text.phrases`). What
        comes as tokens, or from a tokenizer of one's own, is never joined: that has decided what a unit is.

    Examples
    --------
    >>> lookup = Lookup(Vocabulary(["cat", "mat"]), Tokenizer(stop_words=["the", "on"]))
    >>> lookup.ids(pa.array(["The cat sat", "on the mat"], pa.large_string()))
    WordIds(ids=array([ 0, -1,  1], dtype=int32), ends=array([2, 3]))
    """

    def __init__(self, vocabulary: Vocabulary, tokenizer: AnyTokenizer | None = None, *, phrases: bool = True) -> None:
        self.vocabulary = vocabulary
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self._words = vocabulary
        self._names = vocabulary.rows
        if isinstance(self.tokenizer, Tokenizer) and self.tokenizer.stop_words:
            self._words, self._names = _with_stop_words(vocabulary, self.tokenizer.stop_words)
        self._phrases = phrase_table(vocabulary) if phrases and isinstance(self.tokenizer, Tokenizer) else None

    def ids(self, texts: pa.Array) -> WordIds:
        """Return the word ids of a column of texts, or of a column of token lists, which are looked up as they are."""
        if pa.types.is_large_list(texts.type):
            return self._ids_of_lists(texts)
        if not isinstance(self.tokenizer, Tokenizer):
            return self._ids_of_lists(split_texts(texts, self.tokenizer))
        return self._joined(self._ids(texts, self.tokenizer))[0]

    def units(self, text: str) -> list[tuple[str, int]]:
        """Return the words and phrases of a text in their order, each with its row or -1."""
        lists = split_texts(strings([text]), self.tokenizer)
        words = lists[0].as_py()
        found, begins = self._joined(self._ids_of_lists(lists))
        ids = found.ids.tolist()
        if begins is None:
            return list(zip(words, ids, strict=True))
        return [
            (self.vocabulary.word(row) if row >= 0 else words[at], row) for row, at in zip(ids, begins, strict=True)
        ]

    def _joined(self, words: WordIds) -> tuple[WordIds, NDArray[np.int64] | None]:
        """Put phrases in the place of their words, if the vocabulary has any; and tell where each unit began."""
        if self._phrases is None:
            return words, None
        begins = np.empty(len(words.ids), np.int64)
        count = join_phrases(words.ids, words.ends, len(self.vocabulary), *self._phrases, begins)
        return WordIds(words.ids[:count], words.ends), begins[:count]

    def _ids(self, texts: pa.Array, tokenizer: Tokenizer) -> WordIds:
        data, offsets = string_buffers(texts)
        ids = np.empty((int(offsets[-1] - offsets[0]) + len(texts)) // 2 + 1, np.int32)
        ends = np.empty(len(texts), np.int64)
        count = ids_of_texts(
            data, offsets, *tokenizer.tables, tokenizer.min_length, *self._words.table, self._names, ids, ends,
        )  # fmt: skip
        return WordIds(ids[:count], ends)

    def _ids_of_lists(self, lists: pa.LargeListArray) -> WordIds:
        data, offsets = string_buffers(lists.flatten())
        ids = np.empty(len(offsets) - 1, np.int32)
        # Tokens are taken as they are: a stop word among them stays.
        ids_of_words(data, offsets, *self.vocabulary.table, self.vocabulary.rows, ids)
        begins = np.asarray(lists.offsets)
        return WordIds(ids, begins[1:] - begins[0])


class WordCounter:
    """Counts words, text after text, in a table that grows.

    Examples
    --------
    >>> counter = WordCounter(Tokenizer(stop_words=["the"]))
    >>> _ = counter.add(pa.array(["the cat and the cat"], pa.large_string()))
    >>> counter.words_and_counts()
    (['cat', 'and'], array([2, 1]))
    """

    def __init__(self, tokenizer: AnyTokenizer | None = None) -> None:
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self._listed: Counter[str] = Counter()
        self._n_words = 0
        self._slots, self._key = empty_slots(1 << 12), new_key()
        self._chunks = np.zeros((1 << 13) + MAX_WORD_BYTES // 8, np.uint64)
        self._starts = np.zeros((1 << 12) + 1, np.int64)
        self._lengths = np.zeros(1 << 12, np.int64)
        self._counts = np.zeros(1 << 12, np.int64)

    def add(self, texts: pa.Array) -> WordIds:
        """Count the words of a column of texts or token lists; return their ids in this counter's own vocabulary.

        A stop word's id is ``kernels.STOP``, that of a run of over 1,024 bytes -1. The ids of token lists are not
        kept: there the result is empty.
        """
        if not isinstance(self.tokenizer, Tokenizer) and not pa.types.is_large_list(texts.type):
            texts = split_texts(texts, self.tokenizer)
        if pa.types.is_large_list(texts.type):
            found = pc.value_counts(texts.flatten())
            self._listed.update(dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True)))
            return WordIds(np.empty(0, np.int32), np.zeros(len(texts), np.int64))
        assert isinstance(self.tokenizer, Tokenizer)
        data, offsets = string_buffers(texts)
        ids = np.empty((int(offsets[-1] - offsets[0]) + len(texts)) // 2 + 1, np.int32)
        ends = np.empty(len(texts), np.int64)
        doc, pos, count = 0, int(offsets[0]), 0
        while doc < len(texts):
            doc, pos, self._n_words, count = learn_texts(
                data, offsets, doc, pos, *self.tokenizer.tables, self.tokenizer.min_length,
                self._slots, self._chunks, self._starts, self._key, self._lengths, self._counts, self._n_words, ids,
                ends, count,
            )  # fmt: skip
            if doc < len(texts):
                self._grow()
        ids = ids[:count]
        if self.tokenizer.stop_words:
            stop = self.vocabulary().get_many(sorted(self.tokenizer.stop_words))
            ids[np.isin(ids, stop[stop >= 0])] = STOP
        return WordIds(ids, ends)

    def vocabulary(self) -> Vocabulary:
        """Return the words met so far, stop words among them, in the order in which they were met."""
        n = self._n_words
        data = np.empty(int(self._lengths[:n].sum()), np.uint8)
        offsets = np.empty(n + 1, np.int64)
        unpack_words(self._chunks, self._starts, self._lengths[:n], data, offsets)
        return Vocabulary.from_buffers(data, offsets, trusted=True)

    def words_and_counts(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return the words without stop words, most frequent first (ties in alphabetical order), and their counts."""
        words = pa.chunked_array([self.vocabulary().arrow, pa.array(self._listed.keys(), pa.large_string())])
        counts = np.concatenate([self._counts[: self._n_words], np.fromiter(self._listed.values(), np.int64)])
        table = pa.table({"word": words, "count": counts}).group_by("word").aggregate([("count", "sum")])
        if isinstance(self.tokenizer, Tokenizer) and self.tokenizer.stop_words:
            stop = pa.array(self.tokenizer.stop_words, pa.large_string())
            table = table.filter(pc.invert(pc.is_in(table["word"], stop)))
        table = table.sort_by([("count_sum", "descending"), ("word", "ascending")])
        return table["word"].to_pylist(), table["count_sum"].to_numpy()

    def _grow(self) -> None:
        capacity = 2 * len(self._lengths)
        self._lengths = np.resize(self._lengths, capacity)
        self._counts = np.concatenate([self._counts, np.zeros(len(self._counts), np.int64)])
        self._starts = np.concatenate([self._starts, np.zeros(capacity + 1 - len(self._starts), np.int64)])
        self._chunks = np.concatenate([self._chunks, np.zeros(len(self._chunks), np.uint64)])
        self._slots = empty_slots(capacity)
        n = self._n_words
        table = self._slots, self._chunks, self._starts[: n + 1], self._key
        fill_slots(*table, self._lengths[:n], np.empty(n, np.int64))


def count_words(
    source: Any, tokenizer: AnyTokenizer | None = None, **columns: Any
) -> tuple[list[str], NDArray[np.int64]]:
    """Count the words of a corpus.

    Parameters
    ----------
    source
        Anything :func:`parasphere.corpus.blocks` takes; ``columns`` are passed to it.
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, optional

    Returns
    -------
    words : list of str
        Most frequent first, ties in alphabetical order.
    counts : (n_words,) int64

    Examples
    --------
    >>> count_words(["to be", "or not to be"])
    (['be', 'to', 'not', 'or'], array([2, 2, 1, 1]))
    """
    counter = WordCounter(tokenizer)
    for block in blocks(source, **columns):
        counter.add(block.texts)
    return counter.words_and_counts()


def count_matrix(
    source: Any, vocabulary: Vocabulary, tokenizer: AnyTokenizer | None = None, **columns: Any
) -> sparse.csr_array:
    """Count the words of a vocabulary in each document of a corpus.

    Parameters
    ----------
    source
        Anything :func:`parasphere.corpus.blocks` takes; ``columns`` are passed to it.
    vocabulary : Vocabulary
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, optional

    Returns
    -------
    (n_docs, n_words) sparse array of int32, with sorted indices

    Examples
    --------
    >>> count_matrix(["to be", "or not to be be"], Vocabulary(["be", "or"])).toarray()
    array([[1, 0],
           [2, 1]], dtype=int32)
    """
    lookup = Lookup(vocabulary, tokenizer)
    parts = [_counts(lookup.ids(block.texts), len(vocabulary)) for block in blocks(source, **columns)]
    if not parts:
        return sparse.csr_array((0, len(vocabulary)), dtype=np.int32)
    return sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]


def _counts(words: WordIds, n_words: int) -> sparse.csr_array:
    known = words.ids >= 0
    ends = np.concatenate([[0], np.cumsum(known)])[np.concatenate([[0], words.ends])]
    ids = words.ids[known]
    if len(ids) < 2**31:  # liblinear and others take no wider indices
        ends = ends.astype(np.int32)
    counts = sparse.csr_array((np.ones(len(ids), np.int32), ids, ends), shape=(len(words.ends), n_words))
    counts.sum_duplicates()
    return counts


def split_texts(texts: pa.LargeStringArray, tokenizer: Any) -> pa.LargeListArray:
    """Split texts by any tokenizer: ours, a Hugging Face one, or a function from a text to its words."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.split(texts)
    plain = texts.to_pylist()
    if hasattr(tokenizer, "encode_batch"):  # Hugging Face tokenizers
        lists = [encoding.tokens for encoding in tokenizer.encode_batch(plain, add_special_tokens=False)]
    elif hasattr(tokenizer, "tokenize"):  # Hugging Face transformers
        lists = [tokenizer.tokenize(text) for text in plain]
    elif callable(tokenizer):
        lists = [list(tokenizer(text)) for text in plain]
    else:
        raise TypeError(
            f"a tokenizer must be a Tokenizer or a callable from str to words, not {type(tokenizer).__name__}"
        )
    try:
        words = strings([word for words in lists for word in words])
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise TypeError(f"the tokenizer must return strings: {error}") from None
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return pa.LargeListArray.from_arrays(pa.array(offsets), words)


def string_buffers(column: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return a string column's bytes and its (n + 1,) offsets into them, without a copy where Arrow allows it."""
    if not pa.types.is_large_string(column.type):
        column = column.cast(pa.large_string())
    _, offsets, data = column.buffers()
    if len(column) == 0 or offsets is None:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    begins = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    text = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    # Arrow does not look at columns that other libraries hand over, and compiled code is about to trust them.
    if begins[0] < 0 or begins[-1] > len(text) or (begins[1:] < begins[:-1]).any():
        raise CorpusError(f"a column of {len(column):,} texts reaches beyond its {len(text):,} bytes: it is damaged")
    return text, begins


def _with_stop_words(vocabulary: Vocabulary, stop_words: Iterable[str]) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Return a table that also knows the stop words, and the id of each of its rows: STOP for those."""
    stop = sorted(stop_words)
    rows = vocabulary.get_many(stop)
    new = [word for word, row in zip(stop, rows, strict=True) if row < 0]
    table = vocabulary
    if new:
        data, offsets = string_buffers(pa.array(new, pa.large_string()))
        table = Vocabulary.from_buffers(
            np.concatenate([vocabulary.data, data[: offsets[-1]]]),
            np.concatenate([vocabulary.offsets, vocabulary.offsets[-1] + offsets[1:]]),
        )
    names = np.concatenate([vocabulary.rows, np.full(len(new), STOP, np.int32)])
    names[rows[rows >= 0]] = STOP
    return table, names


@lru_cache
def _fold_table(lowercase: bool, digits: bool, english: bool) -> NDArray[np.uint32]:
    """Return, for each code point, what it is folded to: 0 for a separator (see :mod:`parasphere.text.kernels`)."""
    codes, lowered, major, minor = _code_points()
    folded = lowered if lowercase else codes
    table = np.where(major == ord("L"), folded, np.uint32(0))
    if english:
        letter = ((table >= ord("a")) & (table <= ord("z"))) | ((table >= ord("A")) & (table <= ord("Z")))
        table = np.where(letter, table, np.uint32(0))
    else:
        table = np.where(major == ord("M"), folded | MARK, table)
    if digits:
        digit = (major == ord("N")) & (minor == ord("d"))
        table = np.where(digit & (codes < 128) if english else digit, codes, table)
    return np.ascontiguousarray(table, np.uint32)


@lru_cache
def _code_points() -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint8], NDArray[np.uint8]]:
    """Return every code point, its lower case by Arrow, and the two letters of its general category."""
    codes = np.arange(CODE_POINTS, dtype=np.uint32)
    # Surrogates have no UTF-8 form; a NUL stands in for them, which is no letter either.
    assigned = np.where((codes >= 0xD800) & (codes <= 0xDFFF), np.uint32(0), codes)
    text = assigned.astype("<u4").tobytes().decode("utf-32-le")
    lowered = pc.utf8_lower(pa.scalar(text, pa.large_string())).as_py().encode("utf-32-le")
    categories = np.frombuffer("".join(map(unicodedata.category, text)).encode(), np.uint8).reshape(-1, 2)
    return codes, np.frombuffer(lowered, "<u4").astype(np.uint32), categories[:, 0], categories[:, 1]
