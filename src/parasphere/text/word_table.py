"""Tables of words, which compiled code searches: :class:`parasphere._kernels.WordTable`."""

from .._kernels import WordTable, ids_of_words

__all__ = ["HASHED", "MAX_WORD_BYTES", "UNKNOWN", "WordTable", "ids_of_words"]

MAX_WORD_BYTES = 1024  # a longer run of letters is counted as unknown and never looked up
UNKNOWN = -1  # the id of a word that the table lacks
HASHED = -3  # the highest id of such a word that tells it from others: this less a hash of 30 bits
