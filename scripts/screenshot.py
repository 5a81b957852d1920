"""Write docs/explore.png: the explorer of the embedded docstrings, with a query, in a real browser.

Run with ``python scripts/screenshot.py``; it needs the extras ``explore``, ``plots`` and ``test`` and a Chromium.
"""

import io
import shutil
import threading
import time
from pathlib import Path

import uvicorn
from PIL import Image
from playwright.sync_api import sync_playwright

from parasphere import SphericalParagraphModel, datasets
from parasphere.explorer import Explorer, landscape_of, make_app, open_socket, read_documents

PAGE = Path(__file__).parent.parent / "docs" / "explore.png"
SIZE = {"width": 1440, "height": 900}
QUERY = "least squares with bounds on the variables"


def main() -> None:
    """Serve the explorer, type a query, and save a screenshot."""
    corpus = datasets.load("docstrings")
    labels = [corpus.label_names[label] for label in corpus.labels]
    documents = read_documents(corpus.texts, id=corpus.ids, columns={"area": labels})
    model = SphericalParagraphModel().fit(corpus.texts)
    explorer = Explorer(documents, landscape_of(model, documents), "Docstrings of numpy, scipy and scikit-learn")
    listening = open_socket(0)
    server = uvicorn.Server(uvicorn.Config(make_app(explorer), log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        _take(f"http://localhost:{listening.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def _take(address: str) -> None:
    with sync_playwright() as driver:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--enable-unsafe-swiftshader"])
        page = browser.new_page(viewport=SIZE, reduced_motion="reduce", color_scheme="light")
        page.goto(address)
        page.wait_for_selector("body.ready")
        page.fill("#query", QUERY)
        page.press("#query", "Enter")
        page.wait_for_selector("#panel .texts")
        page.wait_for_selector("body:not(.busy)")
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(1000)
        picture = Image.open(io.BytesIO(page.screenshot()))
        picture.quantize(256, dither=Image.Dither.NONE).save(PAGE, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
