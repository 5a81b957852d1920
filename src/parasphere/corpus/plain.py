"""Python strings as documents: what is said of values that are none, and strings that have no UTF-8 form."""

import re

import numpy as np

from ..errors import CorpusError

TOKEN_LIST = (list, tuple, np.ndarray)  # the Python types that hold a document's tokens
_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates, which have no UTF-8 form."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def describe(value: object) -> str:
    """Describe a value that is not a text, for a message."""
    if value is None:
        return "None"
    if isinstance(value, float) and value != value:
        return "NaN (a missing value)"
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
