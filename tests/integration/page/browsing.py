"""Pages of small corpora, opened in a real browser without a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from parasphere import Index, SphericalParagraphModel, SphericalTopics, datasets
from parasphere.page import write_page

LAPTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
HOSTILE = [
    "<script>window.hacked = 1</script> the script of a play",
    "<img src=x onerror='window.hacked = 2'> an image of the sea",
    "</bdi></button><svg onload=window.hacked=3> the sea and the sky",
    "\u202ethe sea backwards\u202c and \u2066isolated\u2069 words",
    "the sea 🌊🏄\u200d♀\ufe0f and a flag 🇫🇷 with family 👨\u200d👩\u200d👧",
    "a very long word: " + "sea" * 500,
    "",
    "controls \x00 \x1b[31m \x07 and the sea",
    "البحر the sea עברית in two directions",
    "{{7*7}} ${7*7} javascript:window.hacked=4 the sea",
    '\' OR 1=1; -- the sea, "quoted"',
    "=1+1 is what a sheet would compute of the sea",
]


@cache
def make_index() -> Index:
    """334 docstrings with three columns."""
    corpus = datasets.load("docstrings")
    chosen = range(0, len(corpus), 6)
    table = pa.table({
        "text": [corpus.texts[i][:500] for i in chosen],
        "area": [corpus.label_names[corpus.labels[i]] for i in chosen],
        "day": [f"{1990 + i % 30}-0{1 + i % 9}-11" for i in chosen],
        "words": [None if i % 30 == 0 else len(corpus.texts[i][:500].split()) for i in chosen],
    })  # fmt: skip
    model = SphericalParagraphModel(tol=1e-3).fit(table["text"])
    return model.index(table, [corpus.ids[i] for i in chosen], columns=["area", "day", "words"])


@cache
def make_texts() -> list[str]:
    return list(make_index().texts or ())


@cache
def make_topics() -> SphericalTopics:
    return SphericalTopics(make_index().encoder, 16).fit(make_texts())


def write_hostile(path: Path) -> None:
    """Write a page of texts, labels, ids and a title that try to be more than text."""
    texts = HOSTILE * 4
    labels = [["<b>bold</b>", "\u202elabel", "plain"][i % 3] for i in range(len(texts))]
    ids = [f"{i} <i>{text[:9]}</i>" for i, text in enumerate(texts)]
    title = "<script>window.hacked = 5</script>"
    write_page(path, texts, make_index().encoder, columns={"<u>label</u>": labels}, ids=ids, title=title, n_topics=2)


@contextmanager
def opened(browser: Any, path: Path, size: dict[str, int] = LAPTOP, **settings: Any) -> Iterator[Any]:
    """Open a page without a network; whatever it complains of or asks for, other than itself, fails the test."""
    context = browser.new_context(viewport=size, reduced_motion="reduce", offline=True, **settings)
    page, faults = context.new_page(), list[str]()
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if _is_fault(line) else None)
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on(
        "request", lambda asked: asked.url.startswith((path.as_uri(), "blob:", "data:")) or faults.append(asked.url)
    )
    page.goto(path.as_uri())
    page.wait_for_selector("body.ready")
    yield page
    context.close()
    assert faults == []


def _is_fault(line: Any) -> bool:
    """Return whether a line of the console is a complaint; that of pixels being read is of the tests' own making."""
    return line.type in ("error", "warning") and "ReadPixels" not in line.text


def spot(page: Any, row: int) -> tuple[float, float]:
    """Return where a text is on the screen."""
    x, y = page.evaluate(
        "row => { const { map } = page, box = map.pad.getBoundingClientRect(), at = map.spotOf(row); "
        "return [box.x + at[0], box.y + at[1]]; }",
        row,
    )
    return x, y


def find(page: Any, text: str) -> None:
    page.fill("#query", text)
    page.press("#query", "Enter")
    page.wait_for_selector("#panel .certainty")
    page.wait_for_selector("body:not(.busy)")


def until(page: Any, condition: str) -> None:
    """Wait until something is true; the page's own policy keeps playwright from polling it."""
    while not page.evaluate(condition):
        page.wait_for_timeout(20)


def drawn(page: Any) -> int:
    """Return how many pixels of the map's points are not empty."""
    count: int = page.evaluate(
        "() => { const { map } = page; map.paint(); const gl = map.scatter.gl, { width, height } = map.gl, "
        "seen = new Uint8Array(4 * width * height); "
        "gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, seen); "
        "let count = 0; for (let i = 3; i < seen.length; i += 4) count += seen[i] > 0; return count; }"
    )
    return count
