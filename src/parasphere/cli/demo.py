"""The command that shows what the library does, on texts that come with it."""

import time
from pathlib import Path

import click

from . import options
from .common import BOLD, show, show_table

QUERY = "Design a low-pass filter for a digital signal"


@click.command()
@options.out("FILE", "The map to write: .png, .svg or .pdf.", required=False, default="map.png")
def demo(out: Path) -> None:
    """Search, explain and map texts that come with the library.

    \b
    Examples:
        parasphere demo
        parasphere demo --out docstrings.svg
    """
    from .. import SphericalParagraphModel, SphericalTopics, datasets
    from ..errors import MissingExtraError

    start, corpus = time.perf_counter(), datasets.load("docstrings")
    show(("Fitting", BOLD), f" a model to {len(corpus):,} docstrings of numpy, scipy and scikit-learn ...")
    model = SphericalParagraphModel().fit(corpus.texts)
    index = model.index(corpus.texts, corpus.ids)
    show(f"in {time.perf_counter() - start:.1f} s. ", ("Searching", BOLD), f" for '{QUERY}':\n")
    matches = index.search(QUERY, 5)
    show_table(["similarity", "docstring", "shared words"], [
        (f"{match.similarity:.2f}", str(match.id), ", ".join(match.words)) for match in matches
    ])  # fmt: skip
    explained = model.explain_match(QUERY, corpus.texts[matches[0].position])
    words = ", ".join(f"{word} {part:+.2f}" for word, part in explained.words_b[:6])
    show("\nWords of the first that make it similar: ", (words, BOLD))
    show(("\nFinding topics", BOLD), ", which nobody has named ...")
    topics = SphericalTopics(model, random_state=0).fit(corpus.texts)
    for name in topics.names_:
        show(f"  {name}")
    try:
        from ..plots import draw_map

        show(("\nDrawing", BOLD), " a map of all docstrings ...")
        large = topics.at(topics.levels_[0]).names()
        draw_map(out, topics.vectors(corpus.texts), topics.names(), large=large, title="docstrings")
        show(f"It is in {out}. All took {time.perf_counter() - start:.1f} s.")
    except MissingExtraError as error:
        show(f"No map: {error}")
