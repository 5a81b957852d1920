"""Escaping text for display on a terminal."""

import re

# Control characters (all but tab and newline), bidirectional controls, and what UTF-8 cannot hold.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Escape characters that would act on a terminal instead of being shown, as Python escapes them."""
    return _HIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def visible_json(text: str) -> str:
    """Escape the same characters in JSON, by JSON's own escapes: its meaning does not change."""
    return _HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
