"""The command of the explorer."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParasphereError, import_extra
from . import options
from .common import documents, load_encoder, reading, say, telling

if TYPE_CHECKING:
    from ..explorer import Documents, Landscape
    from ..model import Encoder
    from ..search import Index

PORT = 8765


@click.command()
@click.argument(
    "model", type=options.PATH, help="The folder of a model ('parasphere fit') or of an index ('parasphere index')."
)
@click.argument(
    "corpus",
    type=options.PATH,
    required=False,
    help="Texts: .txt, .jsonl, .csv, .tsv or .parquet, also compressed, or a folder; none with an index.",
)
@click.option(
    "--column",
    "names",
    metavar="NAME",
    multiple=True,
    help="Column to filter and colour by: words, numbers or dates; may be repeated.",
    show_default="all that an index has",
)
@options.text
@options.id
@options.encoding
@options.format
@options.topics
@click.option(
    "--work",
    metavar="FOLDER",
    type=options.PATH,
    help="Folder for the map and the topics.",
    show_default="beside the texts, ending in .explore",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, help="Port of the page on this machine; 0 is any free port."
)
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
@options.as_json
def explore(
    model: Path, corpus: Path | None, names: tuple[str, ...], n_topics: int | None, work: Path | None, port: int,
    browser: bool, as_json: bool, **columns: Any,
) -> None:  # fmt: skip
    """Explore texts on a map in the browser.

    Search, read, select and export them. Only this machine can open the page, and nothing is fetched from elsewhere.

    \b
    Examples:
        parasphere explore model news.csv --text-column body --column section --column day
        parasphere explore index
    """
    import_extra("fastapi", "explore", "the explorer")
    import_extra("uvicorn", "explore", "the explorer")
    from ..explorer import Explorer, make_app, open_socket, serve

    about = model if corpus is None else corpus
    folder = work if work is not None else about.with_name(about.name + ".explore")
    with open_socket(port) as listening:  # fail before the work, not after it
        encoder, held = _opened(model, corpus, names, columns)
        landscape = _landscape(model, encoder, held, folder, [columns, _stamps(about)], n_topics)
        app = make_app(Explorer(held, landscape, about.name))
        address = f"http://localhost:{listening.getsockname()[1]}"
        sentence = f"{len(held):,} texts are on {address} (stop with Ctrl-C); map and topics are kept in {folder}"
        say({"address": address, "texts": len(held), "work": str(folder)}, as_json, sentence)
        sys.stdout.flush()  # a program that reads this through a pipe waits for the address
        if browser:
            _open_soon(address)
        serve(app, listening)


def _open_soon(address: str) -> None:
    """Open a page in a browser when the server has begun to answer."""
    import threading
    import webbrowser

    threading.Timer(0.5, webbrowser.open, [address]).start()


def _opened(
    model: Path, corpus: Path | None, names: tuple[str, ...], columns: dict[str, Any]
) -> "tuple[Encoder | Index, Documents]":
    """Return a model or index, and the texts to explore with it."""
    from ..explorer import read_documents, read_index
    from ..storage import is_saved

    if is_saved(model, "index"):
        if corpus is not None:
            raise ParasphereError(f"{model} is an index, which has texts of its own; give a model to explore {corpus}.")
        if columns["id"] is not None:
            raise ParasphereError(f"--id-column needs a corpus; {model} is an index, which has ids of its own.")
        return read_index(model, columns=names or None)
    if corpus is None:
        raise ParasphereError(f"{model} is a model: name the texts as well, as in 'parasphere explore MODEL CORPUS'.")
    if str(corpus) == "-":
        raise ParasphereError("the explorer cannot read texts from standard input: give a file or a folder.")
    loaded = load_encoder(model)
    with reading("reading", corpus) as at:
        return loaded, read_documents(documents(corpus), columns=names, progress=at, **columns)


def _landscape(
    path: Path, fitted: Any, held: "Documents", folder: Path, facts: Any, n_topics: int | None
) -> "Landscape":
    """Return the map and the topics of the texts; each model has a subfolder of its own."""
    from ..explorer import landscape_of
    from ..storage import key_of, read_manifest

    subfolder = folder / f"{path.resolve().name}-{key_of(str(path.resolve()))[:8]}"
    known = [*facts, read_manifest(path)["data"]]
    with telling(path.name) as tell:
        return landscape_of(fitted, held, folder=subfolder, facts=known, n_topics=n_topics, tell=tell)


def _stamps(corpus: Path) -> list[list[Any]]:
    """Return names, sizes and times of the files of a corpus, which show whether it has changed."""
    files = [corpus] if corpus.is_file() else sorted(path for path in corpus.rglob("*") if path.is_file())
    return [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in files]
