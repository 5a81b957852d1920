"""Shared by all kinds of corpora: limits, messages, and the treatment of strings that have no UTF-8 form."""

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ..errors import CorpusError

Null: TypeAlias = Literal["error", "skip", "empty"]  # what to do with a text that is null
TOKEN_LIST = (list, tuple, np.ndarray)  # the Python types that hold a document's tokens
LONGEST = 1 << 30  # bytes of a document; longer ones are refused
_SURROGATE = re.compile("[\ud800-\udfff]")


def without_surrogates(text: str) -> str:
    """Return a text with U+FFFD in place of lone surrogates, which have no UTF-8 form."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def sound_strings(texts: list[str]) -> tuple[list[str], int]:
    r"""Return strings without lone surrogates, and their total number of bytes in UTF-8.

    Examples
    --------
    >>> sound_strings(["a", "é\ud800"])
    (['a', 'é�'], 6)
    """
    joined = "".join(texts)
    if joined.isascii():
        return texts, len(joined)
    try:
        return texts, len(joined.encode())
    except UnicodeEncodeError:
        return sound_strings([without_surrogates(text) for text in texts])


def is_tokenised(texts: Sequence[Any]) -> bool:
    """Return whether documents are lists of tokens rather than texts."""
    return bool(texts) and not isinstance(texts[0], str)


def describe(value: object) -> str:
    """Describe a value that is not a text, for a message."""
    if value is None:
        return "None"
    if isinstance(value, float) and value != value:
        return "NaN (a missing value)"
    if type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return "null (a missing value)"
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


def choose_column(names: Sequence[Any], requested: str, where: str) -> str:
    """Return the column to read: the requested one, or the only one if the default is absent.

    Examples
    --------
    >>> choose_column(["text", "label"], "text", "the table")
    'text'
    >>> choose_column(["sentence"], "text", "the table")
    'sentence'
    >>> choose_column(["title", "body"], "text", "the table")
    Traceback (most recent call last):
        ...
    parasphere.errors.CorpusError: the table has no column "text"; its columns are "title", "body"
    """
    count = list(names).count(requested)
    if count == 1:
        return requested
    if count > 1:
        raise CorpusError(f'{where} has {count} columns named "{requested}"; rename them so that one is left')
    if requested == "text" and len(names) == 1:
        only: str = names[0]  # unchanged: pandas names an unnamed column by the number 0
        return only
    there = ", ".join(f'"{name}"' for name in names) or "none"
    raise CorpusError(f'{where} has no column "{requested}"; its columns are {there}')


def too_long(where: str, hint: str = "") -> CorpusError:
    """Return the error for a document that is too long."""
    return CorpusError(f"{where}: longer than {LONGEST:,} bytes, the limit for one document{hint}")


def mixture(position: int, tokenised: bool, where: str = "") -> CorpusError:
    """Return the error for a document that is not of the same kind as those before it."""
    this, others = ("a list of tokens", "texts (str)") if tokenised else ("a text (str)", "lists of tokens")
    return CorpusError(
        f"{where}{ordinal(position)} is {this}, but those before it are {others}; make them all one kind"
    )


def ordinal(position: int) -> str:
    """Return the name of a document in messages."""
    return f"document {position} (counting from 0)"
