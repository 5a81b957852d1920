"""Escaping text for display on a terminal, in a figure or in a web page."""

import re

# Control characters (all but tab and newline), bidirectional controls, and what UTF-8 or XML cannot hold.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def visible(text: str) -> str:
    r"""Escape characters that would act on a terminal instead of being shown, as Python escapes them.

    Examples
    --------
    >>> print(visible("red: \x1b[31m, backwards: \u202e, an odd byte of a path: \udcff"))
    red: \x1b[31m, backwards: \u202e, an odd byte of a path: \udcff
    """
    return _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def visible_json(text: str) -> str:
    r"""Escape the same characters in JSON, by JSON's own escapes: its meaning does not change.

    Examples
    --------
    >>> print(visible_json('"\x9b"'))
    "\u009b"
    """
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
