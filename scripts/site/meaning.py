"""A hook of mkdocs that adds a page to search the site by meaning, made by the library itself."""

import html
import json
import re
from collections import Counter
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Link, Navigation

PAGE = "meaning.html"
FEWEST = 20  # least number of words of a section on the page


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:  # noqa: ARG001
    """Link to the page."""
    nav.items.append(Link("Search by meaning", PAGE))
    return nav


@event_priority(-100)  # after the index of the other search has been written
def on_post_build(config: MkDocsConfig) -> None:
    """Write the page, with the sections that the index of the other search lists."""
    from parasphere.page import write_page

    site = Path(config.site_dir)
    entries = json.loads((site / "search/search_index.json").read_text("utf-8"))["docs"]
    titles = {entry["location"]: _plain(entry["title"]) for entry in entries if "#" not in entry["location"]}
    sections = [(entry, _plain(f"{entry['title']}. {entry['text']}")) for entry in entries]
    sections = [(entry, text) for entry, text in sections if len(text.split()) >= FEWEST]
    pages = [titles.get(entry["location"].partition("#")[0], "") for entry, _ in sections]
    names = [_name(page, _plain(entry["title"])) for page, (entry, _) in zip(pages, sections, strict=True)]
    seen: Counter[str] = Counter()
    for i, name in enumerate(names):  # ids must differ
        seen[name] += 1
        names[i] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    texts = [text for _, text in sections]
    links = [entry["location"] or "index.html" for entry, _ in sections]
    write_page(site / PAGE, texts, columns={"page": pages}, ids=names, title=config.site_name, links=links)


def _name(page: str, title: str) -> str:
    return title if title == page or not page else f"{page} › {title}"


def _plain(text: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", text)).split())
