"""A tokenizer that divides words missing from a vocabulary into pieces."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..errors import ParasphereError, import_extra
from ..storage import storable
from .tokens import Tokenizer

PIECE = "\ue001"  # begins the name of a piece in a vocabulary: a private-use character, which no word has


@storable()
@dataclass(frozen=True)
class DividingTokenizer:
    """Splits texts into words by a :class:`Tokenizer`; a :class:`Lookup` divides its unknown words into pieces.

    The names of the pieces in the vocabulary begin with ``PIECE``. Texts whose words are all known are read by the
    compiled loops alone.

    Parameters
    ----------
    words : Tokenizer
        Splits texts into words.
    pieces : str
        The tokenizer.json of the Hugging Face tokenizer that divides words (extra ``static``).
    """

    words: Tokenizer
    pieces: str = field(repr=False)

    def __call__(self, text: str) -> list[str]:
        """Return the words of one text, not divided into pieces."""
        return self.words(text)

    def split_column(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text, not divided into pieces, as :meth:`Tokenizer.split` does."""
        return self.words.split(texts)

    def divided(self, words: list[str]) -> list[list[str]]:
        """Return the names of the pieces of each word."""
        found = _divider(self.pieces).encode_batch(words, add_special_tokens=False)
        return [[PIECE + piece for piece in one.tokens] for one in found]


@lru_cache(maxsize=4)
def _divider(pieces: str) -> Any:
    tokenizers = import_extra("tokenizers", "static", "Dividing words into pieces")
    try:
        return tokenizers.Tokenizer.from_str(pieces)
    except Exception as error:  # the library raises Exception itself
        raise ParasphereError(f"the pieces are not a Hugging Face tokenizer ({error}).") from None
