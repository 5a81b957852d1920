"""The commands of topics and maps."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from typer import Option

from ..errors import ParasphereError
from . import options
from .common import documents, load_encoder, out, print_json, reading, say, styled

SHOWN = 100  # characters of a typical text
Title = Annotated[str | None, Option(help="Title of the map.")]
Seed = Annotated[int, Option(min=0, help="Seed of everything that is drawn.")]


def add_topic_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    app.command()(topics)
    app.command()(plot)


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
    title: Title = None,
    seed: Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Find the topics of a corpus, and print them in their own words.

    \b
    Examples:
        parasphere topics texts.txt
        parasphere topics news.csv --text-column body --topics 20 --map map.html
    """
    from ..plots import EXTENSIONS, draw_map
    from ..storage import check_target
    from ..topics import SphericalTopics

    if folder is not None:
        check_target(folder, SphericalTopics.kind())  # before the work rather than after it
    if picture is not None and picture.suffix.lower() not in EXTENSIONS:
        raise ParasphereError(f"{picture}: a map's name must end in one of {', '.join(EXTENSIONS)}")
    held = _read(corpus, text_column, encoding, format, null=null, id=id_column, label=label_column)
    encoder = None if model is None else load_encoder(model)
    found = SphericalTopics(encoder, "auto" if n_topics is None else n_topics, random_state=seed).fit(held)
    if folder is not None:
        found.save(folder)
    if picture is not None:
        draw_map(
            picture, found.vectors(held), found.transform(held).max(axis=1), topics=found.names(), title=title,
            seed=seed, **_columns(held),
        )  # fmt: skip
    rows = _rows(found)
    if as_json:
        print_json({"texts": len(found.labels_), "apart": int((found.labels_ < 0).sum()), "topics": rows})
    else:
        _print(rows, len(found.labels_), int((found.labels_ < 0).sum()))


def plot(
    model: options.Model,
    corpus: options.Corpus,
    picture: options.Picture,
    label_column: options.LabelColumn = None,
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    title: Title = None,
    seed: Seed = 0,
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Draw a map of documents, similar ones side by side, coloured by label, or by topics that it finds and names.

    \b
    Examples:
        parasphere plot model news.csv --label-column topic --out map.png
        parasphere plot model texts.txt --out map.html
    """
    from ..plots import draw_map
    from ..topics import SphericalTopics

    encoder = load_encoder(model, vectors)
    held = _read(corpus, text_column, encoding, format, null=null, id=id_column, label=label_column)
    columns = _columns(held)
    topics = SphericalTopics(encoder, random_state=seed).fit(held).names() if columns["labels"] is None else None
    certainty = encoder.posterior(held).mean_length
    draw_map(
        picture, encoder.transform(held, space="offset"), certainty, topics=topics, title=title, seed=seed, **columns
    )  # fmt: skip
    n = len(certainty)
    say({"documents": n, "file": str(picture)}, as_json, f"{n:,} documents drawn to {picture}")


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


def _read(corpus: Any, text: str, encoding: str, format: str | None, **more: Any) -> list[Any]:
    """Return the blocks of a corpus."""
    from ..corpus import blocks

    with reading("reading", corpus) as at:
        return list(blocks(documents(corpus), progress=at, text=text, encoding=encoding, format=format, **more))


def _columns(held: list[Any]) -> dict[str, list[str] | None]:
    """Return labels, ids and beginnings of texts, as a map shows them."""
    labels: list[str] = []
    texts: list[str] = []
    ids: list[str] = []
    for block in held:
        labels += [] if block.labels is None else ["" if one is None else str(one) for one in block.labels]
        texts += [str(text)[:300] for text in block.texts]
        ids += [] if block.ids is None else map(str, block.ids)
    return {"labels": labels if any(labels) else None, "ids": ids or None, "texts": texts}
