"""Write docs/page.png: the page of the embedded docstrings, with a query, in a real browser.

Run with ``python scripts/screenshot.py``; it needs the extras ``plots`` and ``test-all`` and a Chromium.
"""

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from parasphere import datasets
from parasphere.page import write_page

PICTURE = Path(__file__).parent.parent / "docs" / "page.png"
TITLE = "Docstrings of numpy, scipy and scikit-learn"
SIZE = {"width": 1440, "height": 900}
QUERY = "least squares with bounds on the variables"


def main() -> None:
    """Write the page, type a query, and save a screenshot."""
    corpus = datasets.load("docstrings")
    areas = [corpus.label_names[label] for label in corpus.labels]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "page.html"
        write_page(path, corpus.texts, columns={"area": areas}, ids=corpus.ids, title=TITLE)
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--enable-unsafe-swiftshader"])
        page = browser.new_page(viewport=SIZE, reduced_motion="reduce", color_scheme="light")
        page.goto(path.as_uri())
        page.wait_for_selector("body.ready")
        page.fill("#query", QUERY)
        page.press("#query", "Enter")
        page.wait_for_selector("#panel .texts")
        page.wait_for_selector("body:not(.busy)")
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(1000)
        picture = Image.open(io.BytesIO(page.screenshot()))
        picture.quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
