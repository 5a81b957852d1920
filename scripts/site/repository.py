"""A hook of mkdocs that adds pages of the repository outside ``docs/`` to the site and translates links.

Pages are written so that their links work in the repository. The site has another layout: ``docs/search.md`` is
``search.md``, ``benchmarks/results/text.md`` is ``benchmarks/text.md``. Links to pages are translated, and links to
files that are not part of the site, such as scripts, lead to the repository.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
JOINED = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "results/*", "benchmarks/results/*.md")
_LINK = re.compile(r"\]\(([^)\s#:]+)(#[^)\s]*)?\)")
_places: dict[str, str] = {}  # paths in the repository of pages outside docs/, by their paths in the site


def place_in_site(path: str) -> str | None:
    """Return the source of the site's page or file for a path in the repository; None if it is not in the site.

    Examples
    --------
    >>> place_in_site("docs/search.md"), place_in_site("benchmarks/results/text.md")
    ('search.md', 'benchmarks/text.md')
    >>> place_in_site("docs/gallery/search.py"), place_in_site("scripts/make_english.py")
    ('gallery/search.md', None)
    """
    if path == "README.md":
        return "index.md"
    if path == "benchmarks/results":
        return "benchmarks.md"
    if path.startswith("docs/gallery/") and path.endswith(".py"):
        return path.removeprefix("docs/").removesuffix(".py") + ".md"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if any(Path(path).match(pattern) for pattern in JOINED):
        return path.replace("benchmarks/results/", "benchmarks/")
    return None


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put a page per benchmark into the navigation."""
    names = sorted(path.stem for path in (ROOT / "benchmarks/results").glob("*.md"))
    entries: list[Any] = [{name.replace("_", " ").capitalize(): f"benchmarks/{name}.md"} for name in names]
    (section,) = [entry for entry in config.nav or [] if "Benchmarks" in entry]
    section["Benchmarks"] = ["benchmarks.md", *entries]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files outside ``docs/``."""
    for pattern in JOINED:
        for path in sorted(ROOT.glob(pattern)):
            place = place_in_site(path.relative_to(ROOT).as_posix())
            assert place is not None
            _places[place] = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Translate the links of a page."""
    own = page.file.src_uri
    folder = Path(_places.get(own, f"docs/{own}")).parent

    def translated(link: re.Match[str]) -> str:
        path = os.path.normpath(folder / link[1])
        if not (ROOT / path).exists():
            return link[0]  # mkdocs reports it
        place = place_in_site(path)
        if place is None:
            return f"]({config.extra['repository']}/blob/main/{path})"
        return f"]({os.path.relpath(place, Path(own).parent)}{link[2] or ''})"

    return _LINK.sub(translated, markdown)
