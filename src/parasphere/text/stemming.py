"""Stems: words without their endings, by the algorithms of Snowball (PyStemmer)."""

from collections.abc import Sequence
from functools import cache


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that have a stemmer."""
    import Stemmer

    return tuple(Stemmer.algorithms())


def check_language(language: str | None) -> None:
    """Raise unless a language has a stemmer; None, for exact words, is valid too."""
    if language is not None and language not in languages():
        raise ValueError(f"there is no stemmer for the language {language!r}; choose {', '.join(languages())} or None")


def stems(words: Sequence[str], language: str | None) -> list[str]:
    """Return the stem of each word; the word itself if ``language`` is None.

    Examples
    --------
    >>> stems(["connected", "connections", "1984"], "english")
    ['connect', 'connect', '1984']
    """
    if language is None:
        return list(words)
    import Stemmer

    # A new one per call: a stemmer must not be used by two threads at once.
    return list(Stemmer.Stemmer(language, 0).stemWords(words))
