"""The command of the page in one file."""

from pathlib import Path
from typing import Any

import click

from ..errors import ParasphereError
from . import options
from .common import documents, keep_corpus, load_encoder, reading, say, telling


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
    from ..explorer import MOST_TEXTS, Explorer, landscape_of, page_of, read_documents, read_index
    from ..model.estimator import SphericalParagraphModel
    from ..storage import is_saved, write_file

    keep_corpus(out, corpus)
    if out.suffix.lower() not in (".html", ".htm") or out.is_dir():  # fail before the work, not after it
        raise ParasphereError(f"{out} is not the name of an .html file; use --out {out.with_suffix('.html')}")
    fitted: Any = None if model is None else load_encoder(model)
    if is_saved(corpus, "Index"):
        if model is not None:
            raise ParasphereError(f"{corpus} is an index, which has a model of its own; leave --model out.")
        if columns["id"] is not None:
            raise ParasphereError(f"--id-column needs a corpus; {corpus} is an index, which has ids of its own.")
        fitted, held = read_index(corpus, columns=names or None)
    else:
        with reading("reading", corpus) as at:
            held = read_documents(documents(corpus), columns=names, progress=at, **columns)
    if len(held) > MOST_TEXTS:
        raise ParasphereError(
            f"{corpus} has {len(held):,} texts, and a page holds {MOST_TEXTS:,} at most; "
            "'parasphere explore' shows more."
        )
    with telling(corpus.name) as tell:
        if fitted is None:
            tell("fitting a model")
            fitted = SphericalParagraphModel().fit(held.texts.tolist())
        found = landscape_of(fitted, held, n_topics=n_topics, tell=tell)
        tell("packing")
        content = page_of(Explorer(held, found, title or corpus.name), texts=not no_texts).encode()
        tell(f"writing {len(content) / 1e6:,.1f} MB")
        write_file(out, content)
    smaller = "" if no_texts else "; --no-texts leaves the texts out"
    sentence = f"{out}: {len(held):,} texts, {len(content) / 1e6:,.1f} MB{smaller}"
    say({"texts": len(held), "bytes": len(content), "page": str(out)}, as_json, sentence)
