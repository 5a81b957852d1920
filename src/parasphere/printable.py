"""Text that may be shown: on a terminal, in a picture, in a page."""

import re

# What commands a terminal (all controls but tab and newline), what makes text run backwards, and what has no place in
# UTF-8 or XML at all.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""Spell what acts on a screen instead of being seen on it, as Python does it in a string.

    Examples
    --------
    >>> print(visible("red: \x1b[31m, backwards: \u202e, an odd byte of a path: \udcff"))
    red: \x1b[31m, backwards: \u202e, an odd byte of a path: \udcff
    """
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def visible_json(text: str) -> str:
    r"""Do the same to JSON, whose escapes these are: what is read from it is what was written.

    Examples
    --------
    >>> print(visible_json('"\x9b"'))
    "\u009b"
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
