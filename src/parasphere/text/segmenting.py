"""A tokenizer for scripts without spaces between words: Chinese, Japanese, Thai and others.

Runs of such scripts are divided by a library for the language, if one is installed, and into pairs of characters
otherwise. Spaces are inserted between the parts, and a :class:`Tokenizer` splits the result.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from threading import Lock
from typing import Literal

from ..corpus import one_text
from ..errors import import_extra
from ..storage import storable
from .tokens import Tokenizer

Language = Literal["chinese", "japanese", "thai"]
PAIRS = "pairs"  # of characters, without a library
LIBRARIES: dict[Language, str] = {"chinese": "jieba", "japanese": "fugashi", "thai": "pythainlp"}

_KANA = "\u3040-\u30ff\u31f0-\u31ff"
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_THAI = "\u0e01-\u0e3a\u0e40-\u0e4e"
_OTHERS = "\u0e80-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"  # Lao, Burmese, Khmer
_STRETCH = re.compile(f"[{_KANA}{_HAN}]+|[{_THAI}]+|[{_OTHERS}]+")
_IS_KANA, _IS_THAI, _IS_CJK = (re.compile(f"[{letters}]") for letters in (_KANA, _THAI, _KANA + _HAN))
_one_at_a_time = Lock()  # the libraries do not promise to be thread-safe


@storable()
@dataclass(frozen=True)
class SegmentingTokenizer:
    """Splits texts of any script into words: Chinese, Japanese and Thai by libraries for these languages.

    In a text that has kana, Chinese characters are treated as Japanese. Lao, Burmese and Khmer are divided into pairs
    of characters. Other scripts are split by ``words``.

    Parameters
    ----------
    words : Tokenizer, default=Tokenizer(digits=True)
        Splits other scripts, and defines the treatment of case and stop words.
    chinese : {"jieba", "pairs"}, default=None
        The library that finds words, or "pairs" for pairs of characters. None is the library if it is installed (extra
        ``segmenting``), and "pairs" otherwise; the resulting choice is saved with a model.
    japanese : {"fugashi", "pairs"}, default=None
    thai : {"pythainlp", "pairs"}, default=None

    Examples
    --------
    >>> SegmentingTokenizer(chinese="pairs")("我喜欢 London, 也喜欢Tokyo。")
    ['我喜', '喜欢', 'london', '也喜', '喜欢', 'tokyo']
    """

    words: Tokenizer = Tokenizer(digits=True)  # noqa: RUF009  # it is frozen
    chinese: str | None = None
    japanese: str | None = None
    thai: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.words, Tokenizer):
            raise TypeError(f"words must be a Tokenizer, not {type(self.words).__name__}")
        for language, library in LIBRARIES.items():
            given = getattr(self, language)
            if given is None:
                object.__setattr__(self, language, library if find_spec(library) else PAIRS)
            elif given not in (library, PAIRS):
                raise ValueError(f"{language} must be {library!r}, {PAIRS!r} or None, not {given!r}")

    def __call__(self, text: str) -> list[str]:
        """Return the words of one text."""
        return self.words(self.spaced(one_text(text, "the text to split")))

    def split_column(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text, as :meth:`Tokenizer.split` does."""
        return self.words.split([self.spaced(text) for text in texts])

    def spaced(self, text: str) -> str:
        """Return a text with spaces between the words of scripts that do not separate them."""
        if _STRETCH.search(text) is None:
            return text
        of_han = self.japanese if _IS_KANA.search(text) else self.chinese

        def with_spaces(stretch: re.Match[str]) -> str:
            letters = stretch[0]
            by = of_han if _IS_CJK.match(letters) else self.thai if _IS_THAI.match(letters) else PAIRS
            return f" {' '.join(_segmenter(str(by))(letters))} "

        return _STRETCH.sub(with_spaces, text)


def share_without_spaces(texts: Iterable[str]) -> float:
    """Return the share of the letters of texts that are in scripts without spaces.

    Examples
    --------
    >>> share_without_spaces(["ab 北京", "12"])
    0.5
    """
    texts = list(texts)
    stretches = (stretch for text in texts if not text.isascii() for stretch in _STRETCH.findall(text))
    unspaced = sum(sum(map(str.isalpha, stretch)) for stretch in stretches)
    return unspaced / sum(sum(map(str.isalpha, text)) for text in texts) if unspaced else 0.0


@lru_cache
def _segmenter(name: str) -> Callable[[str], list[str]]:
    """Return the function that divides a run of letters."""
    if name == PAIRS:
        return _pairs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # issued by the libraries about themselves
        divide = {"jieba": _jieba, "fugashi": _fugashi, "pythainlp": _pythainlp}[name]()

    def segment(letters: str) -> list[str]:
        with _one_at_a_time:
            return divide(letters)

    return segment


def _jieba() -> Callable[[str], list[str]]:
    jieba = import_extra("jieba", "segmenting", "Dividing Chinese into words by jieba")
    jieba.setLogLevel("ERROR")  # otherwise it logs that it reads its dictionary
    divide: Callable[[str], list[str]] = jieba.lcut
    return divide


def _fugashi() -> Callable[[str], list[str]]:
    tagger = import_extra("fugashi", "segmenting", "Dividing Japanese into words by fugashi").Tagger("-Owakati")
    return lambda letters: [word.surface for word in tagger(letters)]


def _pythainlp() -> Callable[[str], list[str]]:
    tokenize = import_extra("pythainlp.tokenize", "segmenting", "Dividing Thai into words by pythainlp")
    return lambda letters: list(tokenize.word_tokenize(letters, engine="newmm"))


def _pairs(letters: str) -> list[str]:
    """Return all pairs of neighbouring characters, each with the marks that belong to it."""
    characters: list[str] = []
    for letter in letters:
        if characters and unicodedata.category(letter).startswith("M"):
            characters[-1] += letter
        else:
            characters.append(letter)
    return [first + second for first, second in pairwise(characters)] or characters
