"""N-grams: counted with one column each, or hashed to columns."""

from .ngrams import Ngrams, hashed_counts, learn_ngrams

__all__ = ["Ngrams", "hashed_counts", "learn_ngrams"]
