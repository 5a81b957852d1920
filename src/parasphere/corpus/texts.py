"""Single texts: what counts as one, what is null, and strings that have no UTF-8 form."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CorpusError

TOKEN_LIST = (list, tuple, np.ndarray)  # the Python types that hold a document's tokens
_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates, which have no UTF-8 form."""
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)


def sound_values(values: list[Any]) -> list[Any]:
    r"""Return values with U+FFFD in place of lone surrogates in strings.

    Examples
    --------
    >>> sound_values(["a", "é\ud800", 3])
    ['a', 'é�', 3]
    """
    try:
        if all(map(str.isascii, values)):
            return values
    except TypeError:  # not all are strings
        pass
    return [without_surrogates(value) if isinstance(value, str) else value for value in values]


def is_tokenised(texts: Sequence[Any]) -> bool:
    """Return whether documents are lists of tokens rather than texts."""
    return bool(texts) and not isinstance(texts[0], str)


def is_null(value: object) -> bool:
    """Return whether a value is None, NaN, or a missing value of pandas."""
    if isinstance(value, float):
        return value != value
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def describe(value: object) -> str:
    """Describe a value that is not a text, for a message."""
    if is_null(value):
        return "None" if value is None else "null (a missing value)"
    if isinstance(value, (bytes, bytearray)):
        return f"{type(value).__name__} (decode it first, as in document.decode('utf-8'))"
    return f"of type {type(value).__name__}"


def one_text(value: object, name: str, kind: str = "text") -> str:
    """Return a value that must be one ``str``; raise for anything else.

    Examples
    --------
    >>> one_text(["north", "east"], "the query")
    Traceback (most recent call last):
        ...
    parasphere.errors.CorpusError: the query is of type list; it must be one text (str): call once for each of several
    """
    if isinstance(value, str):
        return value
    several = ": call once for each of several" if isinstance(value, TOKEN_LIST) else ""
    raise CorpusError(f"{name} is {describe(value)}; it must be one {kind} (str){several}")
