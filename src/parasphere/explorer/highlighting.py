"""Texts cut into pieces, each with its part in a match."""

import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from ..printable import visible
from ..text import AnyTokenizer, Tokenizer

EXCERPT = 280  # most characters of a text in a list
FAINT = 0.12  # parts below this share of the largest are not marked

Span = tuple[int, int]


class Marked(NamedTuple):
    """A stretch of a text, and its part in a match."""

    begin: int
    end: int
    part: float


def located(text: str, units: Iterable[str], tokenizer: AnyTokenizer) -> list[Span | None]:
    r"""Return where each word of a text is, in the order of the text; None for one that is not found.

    Parameters
    ----------
    text : str
    units : iterable of str
        Words that the tokenizer returned for this text, perhaps not all; those of a callable may contain spaces.
    tokenizer : Tokenizer or callable

    Examples
    --------
    >>> located("The CAT, the new\nYork cat", ["cat", "new york", "cat"], Tokenizer())
    [(4, 7), (13, 21), (22, 25)]
    """
    rules = tokenizer if isinstance(tokenizer, Tokenizer) else None
    # Letter by letter, as the tokenizer does, so that positions stay the same.
    lower = rules is not None and rules.lowercase
    folded = "".join(letter.lower()[0] for letter in text) if lower else text
    digits = rules is not None and rules.digits
    at, spans = 0, list[Span | None]()
    for unit in units:
        span = _span(folded, unit, at, whole=rules is not None, digits=digits)
        spans.append(span)
        at = at if span is None else span[1]
    return spans


def marked(text: str, words: Iterable[tuple[str, float]], tokenizer: AnyTokenizer) -> list[Marked]:
    """Return the stretches of a text that are marked, with parts from 0 to 1, where 1 is the largest.

    Parameters
    ----------
    text : str
    words : iterable of (str, float)
        Words of the text in order, and their parts in a match.
    tokenizer : Tokenizer or callable
    """
    pairs = list(words)
    largest = max((part for _, part in pairs), default=0.0)
    if largest <= 0:
        return []
    spans = located(text, [word for word, _ in pairs], tokenizer)
    return [
        Marked(*span, round(part / largest, 3))
        for span, (_, part) in zip(spans, pairs, strict=True)
        if span is not None and part > FAINT * largest
    ]


def pieces(text: str, marks: list[Marked], length: int | None = None) -> list[list[str | float]]:
    """Cut a text into pieces ``[text, part]``, with part 0 if not marked; control characters are escaped.

    Parameters
    ----------
    text : str
    marks : list of Marked
        In the order of the text.
    length : int, default=None
        Return about this number of characters: those with most of the marks. None returns all.

    Examples
    --------
    >>> pieces("a cat sat", [Marked(2, 5, 1.0)])
    [['a ', 0.0], ['cat', 1.0], [' sat', 0.0]]
    >>> pieces("word " * 50 + "cat", [Marked(250, 253, 1.0)], 20)
    [['… ', 0.0], ['word word word ', 0.0], ['cat', 1.0]]
    """
    begin, end = (0, len(text)) if length is None or len(text) <= length else _window(text, marks, length)
    found: list[list[str | float]] = []
    at = begin
    for mark in marks:
        if mark.begin < at or mark.end > end:
            continue
        if mark.begin > at:
            found.append([visible(text[at : mark.begin]), 0.0])
        found.append([visible(text[mark.begin : mark.end]), mark.part])
        at = mark.end
    if at < end:
        found.append([visible(text[at:end]), 0.0])
    if begin:
        found.insert(0, ["… ", 0.0])
    if end < len(text):
        found.append([" …", 0.0])
    return found


def _window(text: str, marks: list[Marked], length: int) -> Span:
    """Return the stretch of about this length with most of the marks, each word counted once, cut at blanks."""
    best, begin = -1.0, 0
    for i, first in enumerate(marks):
        seen: dict[str, float] = {}
        for mark in marks[i : i + length]:
            if mark.end > first.begin + length * 3 // 4:
                break
            seen[text[mark.begin : mark.end].lower()] = mark.part
        total = sum(seen.values())
        if total > best:
            best, begin = total, first.begin
    begin = max(0, min(begin - length // 4, len(text) - length))
    end = min(len(text), begin + length)
    if begin and (blank := text.find(" ", begin, begin + 40)) >= 0:
        begin = blank + 1
    if end < len(text) and (blank := text.rfind(" ", end - 40, end)) > begin:
        end = blank
    return begin, end


def _span(text: str, unit: str, at: int, *, whole: bool, digits: bool) -> Span | None:
    """Return the first occurrence of a unit at or after a position."""
    begin, end = -1, at
    for word in unit.split(" "):
        place = _found(text, word, end, whole=whole, digits=digits)
        if place is None:
            return None
        begin, end = (place if begin < 0 else begin), place + len(word)
    return begin, end


def _found(text: str, word: str, at: int, *, whole: bool, digits: bool) -> int | None:
    """Return the first position of a word at or after ``at``; if ``whole``, not within a longer word."""
    while (place := text.find(word, at)) >= 0:
        end = place + len(word)
        before, after = text[place - 1 : place], text[end : end + 1]
        if not whole or not (_in_word(before, digits) or _in_word(after, digits)):
            return place
        at = place + 1
    return None


def _in_word(character: str, digits: bool) -> bool:
    if not character:
        return False
    kind = unicodedata.category(character)
    return kind[0] in "LM" or (digits and kind == "Nd")
