"""What readers and browsers find in our pages."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


def page_data(path: Path) -> Any:
    """Return what a browser would hand to the page's JSON.parse."""
    pieces: list[str] = []

    class Parser(HTMLParser):
        inside = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.inside = tag == "script" and ("type", "application/json") in attrs

        def handle_data(self, data: str) -> None:
            if self.inside:
                pieces.append(data)

        def handle_endtag(self, tag: str) -> None:
            self.inside = self.inside and tag != "script"

    Parser().feed(path.read_text("utf-8"))
    return json.loads("".join(pieces))


def spaced(path: Path) -> str:
    """Return the text of a page, with spaces for those at which a line of a table must not break."""
    return path.read_text("utf-8").replace("\N{NO-BREAK SPACE}", " ")
