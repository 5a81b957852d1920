"""Words that are not known: what share of a corpus they are, told to the user if it is large."""

import re
import sys
import warnings

import pyarrow as pa

from ..errors import CoverageWarning
from ..text import Lookup, WordCounter

ENOUGH = 0.6  # share of known words below which vectors hardly fit the texts
FEW = 50  # words from which on a share says something
_SAMPLE = 1000  # texts in which unknown words are looked for
_LONGEST = 30  # characters of an unknown word that are quoted
# Letters of the scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Chinese characters.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Known:
    """Counts known and unknown words while a corpus is read."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.known = 0.0
        self.unknown = 0
        self._sample: pa.Array | None = None

    def add(self, texts: pa.Array, known: float, unknown: int) -> None:
        """Count the words of some texts; a few are kept, to be looked at if it comes to a warning."""
        self.known += known
        self.unknown += unknown
        if unknown and self._sample is None:
            self._sample = texts[:_SAMPLE]

    def warn(self) -> None:
        """Warn if many words were unknown, and say what would help."""
        words = self.known + self.unknown
        if self._sample is None or words < FEW or self.known >= ENOUGH * words:
            return
        commonest, unspaced = self._unknown_words(self._sample)
        remedy = (
            "These are scripts without spaces between words, of which each run of letters was taken for one word: "
            "put spaces between the words, or give a tokenizer that finds them, such as tokenizer=jieba.lcut."
            if unspaced
            else "Other vectors may know them, JointSphericalModel learns them from the texts, and a tokenizer of your "
            "own decides what a word is."
        )
        # (The share is that of weights where words are weighted, which are 1 in the mean.)
        warnings.warn(
            f"only {self.known / words:.0%} of {words:,.0f} words are known; unknown are {', '.join(commonest)}, ... "
            + remedy,
            CoverageWarning,
            stacklevel=_level_of_caller(),
        )

    def _unknown_words(self, texts: pa.Array) -> tuple[list[str], bool]:
        """Return the commonest unknown words of some texts, and whether most are of scripts without spaces."""
        counter = WordCounter(self.lookup.tokenizer)
        counter.add(texts)
        words, counts = counter.words_and_counts()
        rows = self.lookup.vocabulary.get_many(words)
        unknown = [(word, int(count)) for word, count, row in zip(words, counts, rows, strict=True) if row < 0]
        unspaced = sum(count for word, count in unknown if _UNSPACED.search(word))
        shown = [word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…" for word, _ in unknown[:5]]
        return shown, 2 * unspaced > sum(count for _, count in unknown)


def _level_of_caller() -> int:
    """Return how far up the stack the user's own code is, as seen by the caller of this function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level
