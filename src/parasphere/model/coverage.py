"""A warning for corpora most of whose words have no vector."""

import re
from typing import Any

from ..errors import CoverageWarning, warn_user
from ..text import Lookup, WordCounter

ENOUGH = 0.7  # smaller shares of known words are warned of: GloVe knows 61 % of the words of German texts
FEW = 50  # with fewer words a share says little
_SAMPLE = 1000  # number of texts in which unknown words are counted
_LONGEST = 30  # longer unknown words are cut to so many characters
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
        self._sample: Any = None

    def add(self, texts: Any, known: float, unknown: int) -> None:
        """Count the words of some texts; the first texts are kept as the examples of a warning."""
        self.known += known
        self.unknown += unknown
        if unknown and self._sample is None:
            self._sample = texts[:_SAMPLE]

    def warn(self) -> None:
        """Warn if too few words are known, and say what would help."""
        words = self.known + self.unknown
        if self._sample is None or words < FEW or self.known >= ENOUGH * words:
            return
        commonest, unspaced = self._unknown_words(self._sample)
        remedy = (
            "They are in scripts without spaces between words, and each run of letters was taken for one word: "
            "put spaces between the words, or pass a tokenizer that finds them, tokenizer=SegmentingTokenizer()."
            if unspaced
            else "Other vectors may have them, JointVectors learns them from the texts, and a tokenizer of your own "
            "decides what a word is."
        )
        # If words are weighted, this is a share of weights, whose mean is 1.
        warn_user(
            f"only {self.known / words:.0%} of {words:,.0f} words are known; unknown are {', '.join(commonest)}, ... "
            + remedy,
            CoverageWarning,
        )

    def _unknown_words(self, texts: Any) -> tuple[list[str], bool]:
        """Return the commonest unknown words of some texts, and whether most are of scripts without spaces."""
        counter = WordCounter(self.lookup.tokenizer)
        counter.add(texts)
        words, counts = counter.words_and_counts()
        rows = self.lookup.vocabulary.get_many(words)
        unknown = [(word, int(count)) for word, count, row in zip(words, counts, rows, strict=True) if row < 0]
        unspaced = sum(count for word, count in unknown if _UNSPACED.search(word))
        shown = [word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…" for word, _ in unknown[:5]]
        return shown, 2 * unspaced > sum(count for _, count in unknown)
