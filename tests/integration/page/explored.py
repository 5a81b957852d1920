"""Corpora that are explored, on a real server."""

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from parasphere import SphericalParagraphModel, datasets
from parasphere.explorer import Documents, Explorer, Landscape, landscape_of, make_app, open_socket, read_documents

uvicorn = pytest.importorskip("uvicorn", reason="the explorer is an extra")
pytest.importorskip("fastapi", reason="the explorer is an extra")

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
def make_model() -> SphericalParagraphModel:
    return SphericalParagraphModel(tol=1e-3).fit(make_documents().texts)


@cache
def make_documents() -> Documents:
    corpus = datasets.load("docstrings")
    chosen = range(0, len(corpus), 6)
    return read_documents(
        pa.table({
            "id": [corpus.ids[i] for i in chosen],
            "text": [corpus.texts[i][:500] for i in chosen],
            "area": [corpus.label_names[corpus.labels[i]] for i in chosen],
            "day": [f"{1990 + i % 30}-0{1 + i % 9}-11" for i in chosen],
            "words": [None if i % 30 == 0 else len(corpus.texts[i][:500].split()) for i in chosen],
        }),
        id="id", columns=["area", "day", "words"],
    )  # fmt: skip


@cache
def make_landscape() -> Landscape:
    return landscape_of(make_model(), make_documents(), n_topics=16)


@cache
def make_explorer() -> Explorer:
    return Explorer(make_documents(), make_landscape(), "Docstrings")


def make_hostile() -> Explorer:
    """Texts, labels, ids, a model and a title that try to be more than text."""
    texts = HOSTILE * 4
    labels = [["<b>bold</b>", "\u202elabel", "plain"][i % 3] for i in range(len(texts))]
    ids = [f"{i} <i>{text[:9]}</i>" for i, text in enumerate(texts)]
    held = read_documents(
        pa.table({"id": ids, "text": texts, "<u>label</u>": labels}), id="id", columns=["<u>label</u>"]
    )
    return Explorer(held, landscape_of(make_model(), held, n_topics=2), "<script>window.hacked = 5</script>")


def make_many() -> Explorer:
    """200,000 short texts at random places."""
    words = ["matrix", "signal", "cluster", "integral", "random", "image", "spline", "median", "root", "graph"]
    texts = [f"{words[i % 10]} {words[i // 10 % 10]} of number {i}" for i in range(200_000)]
    labels = [f"group {i % 7}" for i in range(len(texts))]
    held = read_documents(pa.table({"text": texts, "label": labels}), columns=["label"])
    rng = np.random.default_rng(0)
    points = np.clip(rng.normal(size=(len(texts), 2)) / 4, -1, 1).astype(np.float32)
    topics = make_landscape().topics
    topic = (np.arange(len(texts)) % len(topics.weights_)).astype(np.int32)
    certainty = rng.uniform(size=len(texts)).astype(np.float32)
    return Explorer(held, Landscape(make_model().index([held.block()]), topics, points, topic, certainty))


class Answer(NamedTuple):
    code: int
    body: bytes
    headers: Any

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def served(explorer: Explorer) -> Iterator[str]:
    """Serve an explorer while the block runs; yields its address."""
    listening = open_socket(0)
    config = uvicorn.Config(make_app(explorer), log_level="error", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://localhost:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def ask(address: str, question: Any = None, **headers: str) -> Answer:
    """Ask a server: by GET without a question, by POST with bytes, or with anything that is sent as JSON."""
    data = question if isinstance(question, bytes | None) else json.dumps(question).encode()
    request = urllib.request.Request(address, data, headers)
    try:
        with urllib.request.urlopen(request) as response:
            return Answer(response.status, response.read(), response.headers)
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read(), error.headers)
