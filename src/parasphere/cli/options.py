"""The arguments and options that several commands share, as decorators of click.

Those that say how a corpus is read have the names of the parameters of :func:`parasphere.corpus.blocks`, so that a
command can take them together, as ``**columns``.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from ..text import AnyTokenizer

Function = TypeVar("Function", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
SEGMENTING = "segmenting"


def flag(name: str, *names: str, help: str) -> Callable[[Function], Function]:  # noqa: A002
    """Return an option that takes no value."""
    return click.option(name, *names, is_flag=True, help=help)


def out(metavar: str, help: str, *, required: bool = True, **options: Any) -> Callable[[Function], Function]:  # noqa: A002
    """Return the option --out."""
    return click.option("--out", "-o", metavar=metavar, type=PATH, required=required, help=help, **options)


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")
TEXTS = (
    "Texts: .txt (one per line), .jsonl, .json, .csv, .tsv or .parquet, also in .gz, .bz2, .xz or .zst; a folder, one "
    "text per file; or - for standard input."
)
corpus = click.argument("corpus", type=PATH, help=TEXTS)
model = click.argument("model", type=PATH, help="The folder of a model, written by 'parasphere fit'.")
moved_vectors = click.option(
    "--vectors", "-v", metavar="VECTORS", help="Where the word vectors of the model are now, if they were moved."
)
threads = click.option(
    "--threads",
    type=click.IntRange(-1),
    default=1,
    help="Number of threads that read text; -1 is one per core. Results do not depend on it.",
)
text = click.option(
    "--text-column",
    "text",
    metavar="NAME",
    multiple=True,
    default=["text"],
    help="Column with the texts; columns given by several such options are joined to one text.",
)
id = click.option("--id-column", "id", metavar="NAME", help="Column with the ids of documents.")
label = click.option("--label-column", "label", metavar="NAME", help="Column with labels.")
encoding = click.option("--encoding", default="utf-8", help="Character encoding of the file.")
format = click.option(
    "--format",
    type=click.Choice(["txt", "jsonl", "json", "csv", "tsv", "parquet"]),
    help="Format of the file, if its name does not show it. Standard input is txt.",
)
tokenizer = click.option(
    "--tokenizer",
    type=click.Choice(["letters", "words", SEGMENTING]),
    help="What counts as a word: runs of letters; runs of letters and digits; or, for Chinese, Japanese and Thai, what "
    "the extra 'segmenting' finds.",
    show_default="chosen by the vectors and the script",
)
space = click.option(
    "--space",
    type=click.Choice(["offset", "direction"]),
    default="offset",
    help="'offset' is what each text adds to the corpus, for comparing texts; 'direction' is that of the paper.",
)
topics = click.option(
    "--topics", "-n", "n_topics", type=click.IntRange(1), help="Number of topics.", show_default="chosen from the texts"
)


def reading(*more: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Return the options that say how a corpus is read; ``more`` are further columns."""

    def add(command: Function) -> Function:
        for option in reversed((text, *more, encoding, format)):
            command = option(command)
        return command

    return add


def tokenizer_named(name: str | None) -> "AnyTokenizer | None":
    """Return the tokenizer of an option; None leaves the choice to the model."""
    from ..text import SegmentingTokenizer, Tokenizer

    if name is None:
        return None
    words = Tokenizer(digits=name != "letters")
    return SegmentingTokenizer(words) if name == SEGMENTING else words
