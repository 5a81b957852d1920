"""The browser in which pages are opened."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader"]  # WebGL by the processor, where there is no GPU


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with playwright.sync_playwright() as driver:
        if program is None and not Path(driver.chromium.executable_path).exists():
            pytest.skip("there is no Chromium to open the page with")
        opened = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the docstrings."""
    from browsing import make_index, make_topics

    from parasphere.page import write_page

    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(path, make_index(), make_topics(), title="Docstrings")
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Any]:
    from browsing import opened

    with opened(browser, file) as one:
        yield one
