"""The command of the explorer."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..errors import ParasphereError, import_extra
from . import options
from .common import documents, load_encoder, quiet, reading, say, telling

if TYPE_CHECKING:
    from ..explorer import Documents, Landscape
    from ..model import Encoder
    from ..search import Index

PORT = 8765


def add_explore_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    app.command()(explore)


def explore(
    model: Annotated[
        Path,
        Argument(metavar="MODEL", help="The folder of a model ('parasphere fit') or of an index ('parasphere index')."),
    ],
    corpus: Annotated[
        Path | None,
        Argument(
            metavar="[CORPUS]",
            help="Texts: .txt, .jsonl, .csv, .tsv or .parquet, also compressed, or a folder. An index has its own.",
            show_default=False,
        ),
    ] = None,
    other: Annotated[
        Path | None, Option("--compare", metavar="MODEL", help="A second model, shown side by side on the same texts.")
    ] = None,
    label_column: options.LabelColumn = None,
    date_column: Annotated[str | None, Option(help="Name of the column with dates: 1999, 1999-12, 1999-12-31.")] = None,
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    n_topics: Annotated[
        int | None, Option("--topics", "-n", min=1, help="Number of topics. (default: found from the texts)")
    ] = None,
    work: Annotated[
        Path | None,
        Option(help="Folder in which the map and topics are kept. (default: beside the texts, ending in .explore)"),
    ] = None,
    title: Annotated[str | None, Option(help="Title of the page. (default: the name of the corpus)")] = None,
    port: Annotated[int, Option(min=0, max=65535, help="Port of the page on this machine; 0 is any.")] = PORT,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    vectors: options.LoadVectors = None,
    seed: Annotated[int, Option(min=0, help="Seed of topics and map.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Explore texts on a map in the browser: search, read, select and export them.

    Only this machine can open the page, and nothing is fetched from elsewhere.

    \b
    Examples:
        parasphere explore model news.csv --text-column body --label-column section --date-column day
        parasphere explore index
        parasphere explore model texts.jsonl --compare other-model
    """
    import_extra("fastapi", "explore", "the explorer")
    import_extra("uvicorn", "explore", "the explorer")
    from ..explorer import Explorer, make_app, open_socket, serve

    columns: dict[str, Any] = {"text": text_column, "encoding": encoding, "format": format, "id": id_column}
    columns |= {"label": label_column, "date": date_column}
    about = model if corpus is None else corpus
    folder = work if work is not None else about.with_name(about.name + ".explore")
    with open_socket(port) as listening:  # before the work rather than after it
        models = [] if other is None else [(other, load_encoder(other, vectors))]
        first, held = _first(model, corpus, columns, vectors)
        facts = [columns, _stamps(about)]
        landscapes = [
            _landscape(path, given, held, folder, facts, n_topics, seed) for path, given in [(model, first), *models]
        ]
        app = make_app(Explorer(held, landscapes, about.name if title is None else title))
        address = f"http://localhost:{listening.getsockname()[1]}"
        sentence = f"{len(held):,} texts are on {address} (stop with Ctrl-C); map and topics are kept in {folder}"
        say({"address": address, "texts": len(held), "work": str(folder)}, as_json, sentence)
        sys.stdout.flush()  # whoever reads it by a pipe waits for the address
        if browser:
            _open_soon(address)
        serve(app, listening)


def _open_soon(address: str) -> None:
    """Open a page in a browser when the server has begun to answer."""
    import threading
    import webbrowser

    threading.Timer(0.5, webbrowser.open, [address]).start()


def _first(
    model: Path, corpus: Path | None, columns: dict[str, Any], vectors: str | None
) -> "tuple[Encoder | Index, Documents]":
    """Return a model or index, and the texts to explore with it."""
    from ..explorer import read_documents, read_index
    from ..storage import is_saved

    if is_saved(model, "index"):
        if corpus is not None:
            raise ParasphereError(f"{model} is an index, which has texts of its own; give a model to explore {corpus}.")
        for name in ("id", "label", "date"):
            if columns[name] is not None:
                raise ParasphereError(f"--{name}-column needs a corpus; {model} is an index, which has no columns.")
        return read_index(model, vectors=vectors)
    if corpus is None:
        raise ParasphereError(f"{model} is a model; give the texts to explore too: 'parasphere explore MODEL CORPUS'.")
    if str(corpus) == "-":
        raise ParasphereError("the explorer reads texts from a file or folder, so that it can find them again.")
    loaded = load_encoder(model, vectors)
    with reading("reading", corpus) as at:
        return loaded, read_documents(documents(corpus), progress=at, **columns)


def _landscape(
    path: Path, given: Any, held: "Documents", folder: Path, facts: Any, n_topics: int | None, seed: int
) -> "Landscape":
    """Return what a model makes of the texts; those of different models are kept in folders of their own."""
    from ..explorer import landscape_of
    from ..storage import key_of, read_manifest

    place = folder / f"{path.resolve().name}-{key_of(str(path.resolve()))[:8]}"
    known = [*facts, read_manifest(path)["data"]]
    with telling(path.name, shown=not quiet.get()) as tell:
        return landscape_of(
            given, held, path.resolve().name, folder=place, facts=known, n_topics=n_topics, seed=seed, tell=tell
        )


def _stamps(corpus: Path) -> list[list[Any]]:
    """Return names, sizes and times of the files of a corpus, by which a change is noticed."""
    files = [corpus] if corpus.is_file() else sorted(path for path in corpus.rglob("*") if path.is_file())
    return [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in files]
