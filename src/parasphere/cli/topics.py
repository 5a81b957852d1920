"""The command of topics."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from typer import Option

from ..errors import ParasphereError
from . import options
from .common import documents, out, print_json, reading, styled

SHOWN = 100  # characters of a typical text


def add_topic_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    app.command()(topics)


def topics(
    corpus: options.Corpus,
    n_topics: Annotated[
        int | None, Option("--topics", "-n", min=1, help="Number of topics. (default: found from the texts)")
    ] = None,
    folder: Annotated[
        Path | None, Option("--out", "-o", metavar="TOPICS", help="Folder to save the topics in.")
    ] = None,
    picture: Annotated[
        Path | None, Option("--map", help="A map to write: .png, .svg, .pdf or .html (interactive).")
    ] = None,
    model: Annotated[
        Path | None, Option(help="The folder of a model, written by 'parasphere fit'. (default: fitted to the texts)")
    ] = None,
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    title: Annotated[str | None, Option(help="Title of the map.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of everything that is drawn.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Find the topics of a corpus, and print them in their own words.

    \b
    Examples:
        parasphere topics texts.txt
        parasphere topics news.csv --text-column body --topics 20 --map map.html
    """  # noqa: D301
    from ..corpus import blocks
    from ..model import SphericalParagraphModel
    from ..plots import EXTENSIONS
    from ..storage import check_target
    from ..topics import SphericalTopics

    if folder is not None:
        check_target(folder, SphericalTopics._kind())  # before the work rather than after it
    if picture is not None and picture.suffix.lower() not in EXTENSIONS:
        raise ParasphereError(f"{picture}: a map's name must end in one of {', '.join(EXTENSIONS)}")
    with reading("reading", corpus) as at:
        columns: dict[str, Any] = {
            "text": text_column, "id": id_column, "label": label_column, "encoding": encoding, "format": format,
            "null": null,
        }  # fmt: skip
        held = list(blocks(documents(corpus), progress=at, **columns))
    given = None if model is None else SphericalParagraphModel.load(model)
    found = SphericalTopics(given, "auto" if n_topics is None else n_topics, random_state=seed).fit(held)
    if folder is not None:
        found.save(folder)
    if picture is not None:
        _draw(picture, found, held, title)
    rows = _rows(found)
    if as_json:
        print_json({"texts": len(found.labels_), "apart": int((found.labels_ < 0).sum()), "topics": rows})
    else:
        _print(rows, len(found.labels_), int((found.labels_ < 0).sum()))


def _rows(found: Any) -> list[dict[str, Any]]:
    import numpy as np

    sizes = np.bincount(found.labels_[found.labels_ >= 0], minlength=len(found.weights_)).tolist()
    return [
        {"topic": topic, "size": size, "words": words, "texts": texts}
        for topic, (size, words, texts) in enumerate(zip(sizes, found.topic_words(), found.typical_, strict=True))
    ]


def _print(rows: list[dict[str, Any]], n_texts: int, n_apart: int) -> None:
    table = Table("topic", "texts", "words", "a typical text", box=None)
    for row in rows:
        text = " ".join(row["texts"][0].split())[:SHOWN] if row["texts"] else ""
        words = ", ".join(row["words"][:6])
        table.add_row(str(row["topic"]), f"{row['size']:,}", styled((words, "bold")), styled((text, "dim")))
    out.print(table)
    out.print(f"{n_texts:,} texts; {n_apart:,} belong to no topic.")


def _draw(picture: Path, found: Any, held: list[Any], title: str | None) -> None:
    from ..plots import draw_neighbours

    labels: list[str] = []
    texts: list[str] = []
    ids: list[str] = []
    for block in held:
        labels += [] if block.labels is None else ["" if one is None else str(one) for one in block.labels.to_pylist()]
        texts += [str(text)[:300] for text in block.texts.to_pylist()]
        ids += [] if block.ids is None else map(str, block.ids.to_pylist())
    sure = found.transform(held).max(axis=1)
    draw_neighbours(
        picture, found.vectors(held), sure, labels or None, topics=found.names(), title=title,
        ids=ids or None, texts=texts,
    )  # fmt: skip
