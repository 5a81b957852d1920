"""The site: it is built without warnings, its links lead somewhere, and it fetches nothing from elsewhere."""

import importlib
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

import parasphere

ROOT = Path(__file__).parents[2]
ELSEWHERE = ("http:", "https:", "mailto:", "//")


class Page(NamedTuple):
    """What a page refers to, and what can be referred to in it."""

    links: list[str]
    loaded: list[str]  # scripts, styles and pictures
    ids: set[str]
    formulas: int


class Reader(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.page = Page([], [], set(), text.count('class="arithmatex"'))
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.page.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.page.loaded.append(given.get("href", ""))
        elif "src" in given:
            self.page.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocstrings", reason="the site is the extra docs")
    pytest.importorskip("nbclient", reason="the notebooks of the gallery are the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    ours = [path for path in site.rglob("*.html") if path.name not in ("report.html", "404.html")]
    return {path: Reader(path.read_text("utf-8")).page for path in ours}


def test_links_lead_to_pages_and_to_places_in_them(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            target = urlsplit(link)
            if link.startswith(ELSEWHERE) or not link or link.startswith("data:"):
                continue
            there = path if not target.path else (path.parent / unquote(target.path)).resolve()
            there = there / "index.html" if there.is_dir() else there
            if not there.is_file():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif target.fragment and there in pages and unquote(target.fragment) not in pages[there].ids:
                broken.append(f"{path.relative_to(site)}: {link}, where there is no such place")
    assert broken == []
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    fetched = {link for page in pages.values() for link in page.loaded if link.startswith(ELSEWHERE)}
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    assert fetched == set()
    assert re.findall(r"""url\(["']?(?:https?:)?//[^)]+\)|@import[^;]+;""", styles) == []


def test_every_public_name_is_in_the_reference(pages: dict[Path, Page]) -> None:
    documented = {name for page in pages.values() for name in page.ids}
    modules = {"corpus", "dask", "datasets", "errors", "plots", "text", "vmf"}
    wanted = {f"parasphere.{name}" for name in set(parasphere.__all__) - modules}
    for module in ("parasphere.dask", "parasphere.datasets", "parasphere.errors", "parasphere.sphere.vmf"):
        wanted |= {f"{module}.{name}" for name in importlib.import_module(module).__all__}
    constants = {name for name in wanted if name.rpartition(".")[2].isupper()}
    assert wanted - documented - constants == set()


def test_the_index_of_the_search_holds_all_pages(site: Path, pages: dict[Path, Page]) -> None:
    index = json.loads((site / "search/search_index.json").read_text("utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {str(path.relative_to(site)) for path in pages} <= found | {"index.html", "meaning.html"}
    assert (site / "search/search_index.js").is_file()  # for pages that are opened from a folder


def test_the_site_is_searched_by_meaning(site: Path, pages: dict[Path, Page]) -> None:
    assert "meaning.html" in pages[site / "index.html"].links
    assert "../meaning.html" in pages[site / "api/model.html"].links
    assert "packed-search" in pages[site / "meaning.html"].ids


def test_notebooks_show_what_they_print_and_draw(site: Path) -> None:
    assert "scipy.signal" in (site / "gallery/search.html").read_text("utf-8")
    assert list((site / "gallery").glob("topics-*.png"))
    for page in (site / "gallery").glob("*.html"):
        assert "Traceback" not in page.read_text("utf-8")


def test_formulas_are_marked_for_the_renderer(site: Path, pages: dict[Path, Page]) -> None:
    assert pages[site / "model.html"].formulas > 20
    assert "$" not in re.sub(
        r"<(script|code|pre|style)\b.*?</\1>", "", (site / "model.html").read_text("utf-8"), flags=re.S
    )
    assert (site / "vendor/katex/LICENSE").is_file()
