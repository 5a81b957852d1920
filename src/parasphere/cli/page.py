"""The command that writes a page."""

from pathlib import Path
from typing import Any

import click

from ..errors import ParasphereError
from . import options
from .common import keep_corpus, load_encoder, read_blocks, say, telling


@click.command()
@click.argument("corpus", type=options.PATH, help=f"{options.TEXTS[:-1]}; or an index.")
@options.out("FILE", "The page to write: an .html file.")
@click.option(
    "--model",
    type=options.PATH,
    help="A model, written by 'parasphere fit'.",
    show_default="fitted to the texts",
)
@click.option("--title", metavar="TITLE", help="Title of the page.", show_default="the name of the corpus")
@click.option(
    "--column",
    "names",
    metavar="NAME",
    multiple=True,
    help="Column to filter and colour by: words, numbers or dates; may be repeated.",
    show_default="all that an index has",
)
@options.flag("--no-texts", help="Leave the texts out; matches show their ids instead.")
@options.text
@options.id
@options.encoding
@options.format
@options.topics
@options.as_json
def page(
    corpus: Path, out: Path, model: Path | None, title: str | None, names: tuple[str, ...], no_texts: bool,
    n_topics: int | None, as_json: bool, **columns: Any,
) -> None:  # fmt: skip
    """Write a corpus as a page: one HTML file to share.

    It shows a map with topics, searches by meaning and words, filters, selects and exports, in any browser and without
    a server or a network. It holds at most 50,000 texts.

    \b
    Examples:
        parasphere page texts.jsonl -o page.html
        parasphere page news.csv --text-column body --id-column id --column section --column day -o news.html
        parasphere page index.safetensors --no-texts -o page.html
    """
    from ..page import write_page
    from ..search import Index
    from ..storage import is_saved

    keep_corpus(out, corpus)
    if out.suffix.lower() not in (".html", ".htm") or out.is_dir():  # fail before the work, not after it
        raise ParasphereError(f"{out} is not the name of an .html file; use --out {out.with_suffix('.html')}")
    source: Any
    if is_saved(corpus, "Index"):
        if model is not None:
            raise ParasphereError(f"{corpus} is an index, which has a model of its own; leave --model out.")
        if columns["id"] is not None:
            raise ParasphereError(f"--id-column needs a corpus; {corpus} is an index, which has ids of its own.")
        source, shown = Index.load(corpus), names or None
    else:
        source, shown = read_blocks(corpus, carry=names, **columns), names
    fitted = None if model is None else load_encoder(model)
    with telling(corpus.name) as tell:
        size = write_page(
            out, source, fitted, columns=shown, title=title or corpus.name, n_topics=n_topics,
            show_texts=not no_texts, report=tell,
        )  # fmt: skip
    n = len(source) if isinstance(source, Index) else sum(map(len, source))
    smaller = "" if no_texts else "; --no-texts leaves the texts out"
    sentence = f"{out}: {n:,} texts, {size / 1e6:,.1f} MB{smaller}"
    say({"texts": n, "bytes": size, "page": str(out)}, as_json, sentence)
