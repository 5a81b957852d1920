"""The command of topics."""

from pathlib import Path
from typing import Any

import click

from ..errors import ParasphereError
from . import options
from .common import BOLD, DIM, load_encoder, print_json, read_blocks, show, show_table

SHOWN = 100  # characters of a typical text in a table that is not cut at the width of a terminal


@click.command()
@options.corpus
@options.topics
@options.out("TOPICS", "File to save the topics in, as in topics.safetensors.", required=False)
@click.option("--map", "picture", metavar="FILE", type=options.PATH, help="A map to write: .png, .svg or .pdf.")
@click.option(
    "--model",
    type=options.PATH,
    help="A model, written by 'parasphere fit'.",
    show_default="fitted to the texts",
)
@options.reading()
@options.as_json
def topics(
    corpus: Path, n_topics: int | None, out: Path | None, picture: Path | None, model: Path | None, as_json: bool,
    **columns: Any,
) -> None:  # fmt: skip
    """Find the topics of a corpus, and name each by phrases of its texts.

    'parasphere page' shows them on a map in the browser.

    \b
    Examples:
        parasphere topics texts.txt
        parasphere topics news.csv --text-column body --topics 20 --map map.png
    """
    from ..plots import EXTENSIONS, draw_map
    from ..storage import check_target
    from ..topics import SphericalTopics

    if out is not None:
        check_target(out, SphericalTopics.__name__)  # fail before the work, not after it
    if picture is not None and picture.suffix.lower() not in EXTENSIONS:
        raise ParasphereError(f"{picture}: a map's name must end in one of {', '.join(EXTENSIONS)}")
    held = read_blocks(corpus, **columns)
    encoder = None if model is None else load_encoder(model)
    found = SphericalTopics(encoder, "auto" if n_topics is None else n_topics, random_state=0).fit(held)
    if out is not None:
        found.save(out)
    if picture is not None:
        large, sure = found.at(found.levels_[0]).text_names(), found.transform(held).max(axis=1)
        draw_map(picture, found.vectors(held), found.text_names(), large=large, certainty=sure)
    _print(found, as_json)


def _print(found: Any, as_json: bool) -> None:
    n_texts, apart = len(found.labels_), int((found.labels_ < 0).sum())
    sizes = found.texts_per_topic().astype(int).tolist()
    topics = list(zip(found.names_, sizes, found.topic_words(), found.typical_, strict=True))
    if as_json:
        rows = [
            {"topic": topic, "name": name, "size": size, "words": words, "texts": texts}
            for topic, (name, size, words, texts) in enumerate(topics)
        ]
        print_json({"texts": n_texts, "apart": apart, "topics": rows})
        return
    show_table(["topic", "texts", "name", "a typical text"], [
        (str(topic), f"{size:,}", (name, BOLD), (texts[0][:SHOWN] if texts else "", DIM))
        for topic, (name, size, _, texts) in enumerate(topics)
    ])  # fmt: skip
    show(f"{n_texts:,} texts; {apart:,} belong to no topic.")
