"""Tokenizers: what counts as a word. Compiled code scans the UTF-8 bytes of Python strings.

A word is a run of Unicode letters, with the combining marks that continue them, lower-cased one code point at a time.
Everything else separates words. The loop itself is :func:`parasphere.text.scanning.ids_of_texts`; this module prepares
its tables.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..corpus import is_tokenised, one_text, without_surrogates
from ..storage import storable
from .scanning import CODE_POINTS, MARK, STOP, Folding, WordCounts, find_beginnings
from .stopwords import ENGLISH
from .vocabulary import Vocabulary


@storable()
@dataclass(frozen=True)
class Tokenizer:
    """What counts as a word.

    Parameters
    ----------
    lowercase : bool, default=True
        Lower-case the text first.
    digits : bool, default=False
        Treat decimal digits as parts of words ("b2b", "1984"). Otherwise they separate words.
    min_length : int, default=1
        Drop words of fewer characters.
    stop_words : "english", iterable of str or None, default=None
        Words to drop: the bundled English list, or your own. Each is tokenized in the same way, so "Don't" drops
        "don" and "t".
    english : bool, default=False
        Only the letters a to z and A to Z are part of words; all other characters separate words.

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
    def paper(cls) -> Tokenizer:
        """Return the preprocessing of the paper: lower case, English letters only, no stop words."""
        return cls(english=True, stop_words="english")

    def __call__(self, text: str) -> list[str]:
        """Return the words of one text."""
        return self.split([one_text(text, "the text to split")])[0]

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text."""
        counter = WordCounter(self)
        ids, ends = counter.add(texts)
        kept = ids >= 0  # neither stop words nor runs that are too long
        offsets = np.concatenate([[0], np.cumsum(kept)])[np.concatenate([[0], ends])]
        spelled = counter.vocabulary().words
        words = [spelled[one] for one in ids[kept].tolist()]
        return [words[begin:end] for begin, end in pairwise(offsets.tolist())]

    @property
    def folding(self) -> Folding:
        """The tables that the compiled scanner reads."""
        fold = _fold_table(self.lowercase, self.digits, self.english)
        return Folding(fold, self.lowercase, self.digits, self.min_length)

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
        if simple == words:  # every tokenizer takes each as one word, so none is needed
            return words
        plain = Tokenizer(self.lowercase, self.digits, 1, None, self.english)
        return frozenset(plain(" ".join(sorted(words))))


AnyTokenizer = Tokenizer | Callable[[str], Sequence[str]]


class WordIds(NamedTuple):
    """The concatenated word ids of texts."""

    ids: NDArray[np.int32]  # (n_words,): a row of the vocabulary, or -1 for a word it lacks
    ends: NDArray[np.int64]  # (n_texts,): where the ids of each text end; those of the first text begin at 0

    def where(self, kept: NDArray[np.bool_]) -> WordIds:
        """Return the words of a mask, (n_words,)."""
        if kept.all():
            return self
        return WordIds(self.ids[kept], np.concatenate([[0], np.cumsum(kept)])[self.ends])


class WordCounter:
    """Counts the words of texts in a growing table.

    Parameters
    ----------
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, default=None
        Splits texts into words; None is ``Tokenizer()``.

    Examples
    --------
    >>> counter = WordCounter(Tokenizer(stop_words=["the"]))
    >>> _ = counter.add(["the cat and the cat"])
    >>> counter.words_and_counts()
    (['cat', 'and'], array([2, 1]))
    """

    def __init__(self, tokenizer: AnyTokenizer | None = None) -> None:
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self._listed: Counter[str] = Counter()
        self._counts = WordCounts()

    def add(self, texts: Any) -> WordIds:
        """Count the words of texts, or token lists; return their ids in the counter's vocabulary.

        The id of a stop word is ``STOP`` (-2), and that of a run of more than 1,024 bytes -1. For token lists the
        result is empty.
        """
        if is_tokenised(texts) or not isinstance(self.tokenizer, Tokenizer):
            lists = texts if is_tokenised(texts) else split_texts(texts, self.tokenizer)
            self._listed.update(chain.from_iterable(lists))
            return WordIds(np.empty(0, np.int32), np.zeros(len(texts), np.int64))
        texts = composed(texts)
        ids, ends = np.empty(most_words(texts), np.int32), np.empty(len(texts), np.int64)
        ids = ids[: self._counts.add(texts, self.tokenizer.folding, ids, ends)]
        if self.tokenizer.stop_words:
            stop = self.vocabulary().get_many(sorted(self.tokenizer.stop_words))
            ids[np.isin(ids, stop[stop >= 0])] = STOP
        return WordIds(ids, ends)

    def vocabulary(self) -> Vocabulary:
        """Return all words so far, including stop words, in order of first occurrence."""
        return self._vocabulary_and_counts()[0]

    def words_and_counts(self) -> tuple[list[str], NDArray[np.int64]]:
        """Return the words without stop words, most frequent first (ties in alphabetical order), and their counts."""
        vocabulary, counted = self._vocabulary_and_counts()
        all_counts = Counter(dict(zip(vocabulary.words, counted.tolist(), strict=True)))
        all_counts.update(self._listed)
        if isinstance(self.tokenizer, Tokenizer):
            for word in self.tokenizer.stop_words:
                all_counts.pop(word, None)
        words = sorted(all_counts)
        counts = np.fromiter(map(all_counts.__getitem__, words), np.int64, len(words))
        order = np.argsort(-counts, kind="stable")
        return [words[row] for row in order.tolist()], counts[order]

    def _vocabulary_and_counts(self) -> tuple[Vocabulary, NDArray[np.int64]]:
        n = len(self._counts)
        data, offsets, counts = (
            np.empty(self._counts.n_bytes, np.uint8),
            np.empty(n + 1, np.int64),
            np.empty(n, np.int64),
        )
        self._counts.read(data, offsets, counts)
        return Vocabulary.from_buffers(data, offsets, trusted=True), counts


def split_texts(texts: Sequence[str], tokenizer: Any) -> list[list[str]]:
    """Split texts by any tokenizer: one of this library, of Hugging Face, or a function from a text to its words."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer.split(texts)
    if hasattr(tokenizer, "split_column"):  # the other tokenizers of this library
        lists: list[list[str]] = tokenizer.split_column(texts)
        return lists
    plain = list(map(without_surrogates, texts))
    if hasattr(tokenizer, "encode_batch"):  # Hugging Face tokenizers
        found = [encoding.tokens for encoding in tokenizer.encode_batch(plain, add_special_tokens=False)]
    elif hasattr(tokenizer, "tokenize"):  # Hugging Face transformers
        found = [tokenizer.tokenize(text) for text in plain]
    elif callable(tokenizer):
        found = [_words_by(tokenizer, text) for text in plain]
    else:
        kind = type(tokenizer).__name__
        raise TypeError(f"a tokenizer must be a Tokenizer or a callable from str to words, not {kind}")
    for word in chain.from_iterable(found):
        if not isinstance(word, str):
            raise TypeError(f"the tokenizer must return strings, not {word!r}, which is of type {type(word).__name__}")
    return [list(map(without_surrogates, words)) for words in found]


def _words_by(tokenizer: Callable[[str], Sequence[str]], text: str) -> list[str]:
    words = tokenizer(text)
    try:
        return list(words)
    except TypeError:
        raise TypeError(f"the tokenizer must return a list of words; it returned {words!r} for {text[:40]!r}") from None


def most_words(texts: Sequence[str]) -> int:
    """Return the largest number of words that texts can have: every other character may be a word."""
    return (sum(map(len, texts)) + len(texts)) // 2 + 1


def composed(texts: Sequence[str]) -> Sequence[str]:
    r"""Return texts in Unicode's composed form (NFC), in which vocabularies are written.

    "é" may also be written as "e" and an accent, as in file names on macOS or text from PDF. Only texts with a letter
    or mark that NFC may change are rewritten.

    Examples
    --------
    >>> composed(["cafe\u0301"]) == ["caf\u00e9"]
    True
    """
    if all(map(str.isascii, texts)):
        return texts
    found = np.empty(len(texts), np.uint8)
    if not find_beginnings(texts, _may_change(), found):
        return texts
    return [unicodedata.normalize("NFC", text) if may else text for text, may in zip(texts, found, strict=True)]


@lru_cache
def _may_change() -> NDArray[np.uint8]:
    """Return a mask of the first two bytes of letters and marks that NFC may change, for the scanner."""
    table = np.zeros((256, 256), np.uint8)
    table[[0xCC, 0xCD, 0xE0]] = 1  # combining marks; the scripts of South Asia
    table[0xD9, 0x93:0x96] = 1  # marks of Arabic
    table[0xE1, [0x80, *range(0x84, 0x88), 0xAC, 0xBD, 0xBE, 0xBF]] = 1  # Burmese, Korean, Balinese, old Greek
    table[0xE2, 0x84] = 1  # the signs of kelvin, ohm and angstrom
    table[0xE3, 0x82] = 0x99  # marks of kana, U+3099 and U+309A
    table[0xEF, 0xA4:0xAE] = 1  # Chinese characters and Hebrew letters that others replaced
    table[0xF0, [0x91, 0xAF]] = 1  # further Indian scripts; Chinese characters that others replaced
    return table.ravel()


@lru_cache
def _fold_table(lowercase: bool, digits: bool, english: bool) -> NDArray[np.uint32]:
    """Return the folded form of each code point, as described in :class:`Folding`."""
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
    """Return every code point, its lower case, and the two letters of its general category."""
    codes = np.arange(CODE_POINTS, dtype=np.uint32)
    # Surrogates have no UTF-8 form; they are replaced by NUL, which is not a letter either.
    assigned = np.where((codes >= 0xD800) & (codes <= 0xDFFF), np.uint32(0), codes)
    text = assigned.astype("<u4").tobytes().decode("utf-32-le")
    lowered = codes.copy()
    categories = np.frombuffer("".join(map(unicodedata.category, text)).encode(), np.uint8).reshape(-1, 2)
    capital = (categories[:, 0] == ord("L")) & ((categories[:, 1] == ord("u")) | (categories[:, 1] == ord("t")))
    # One code point each, without the dot that Python adds to the small letter of U+0130.
    lowered[capital] = [ord(text[code].lower()[0]) for code in np.flatnonzero(capital).tolist()]
    return codes, lowered, categories[:, 0], categories[:, 1]
