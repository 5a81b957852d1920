"""The hash table of words that compiled code searches: :class:`parasphere._kernels.WordTable`."""

from .._kernels import WordTable, ids_of_words

__all__ = ["HASHED", "MAX_WORD_BYTES", "UNKNOWN", "WordTable", "ids_of_words"]

MAX_WORD_BYTES = 1024  # a longer run of letters is counted as unknown and never looked up
UNKNOWN = -1  # the id of a word that the table lacks
HASHED = -3  # the highest hashed id of such a word: an id is this minus a hash of 30 bits
