"""What the commands share: how arguments are spelled, how corpora are read, how facts are shown."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..progress import progress
from ..vectors import GLOVE

out = Console()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]
VectorsOption = Annotated[str, typer.Option("--vectors", "-v", help=f"'{GLOVE}', a file or a folder of word vectors.")]
Corpus = Annotated[
    Path,
    typer.Argument(
        metavar="CORPUS",
        help="Texts: .txt (a line each), .jsonl, .csv, .tsv, .parquet, any of these in .gz, .bz2, .xz or .zip, a "
        "folder of files, or - for standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that 'parasphere fit' wrote.")]
TextColumn = Annotated[str, typer.Option("--text-column", help="The column that holds the texts.")]
LabelColumn = Annotated[str | None, typer.Option("--label-column", help="The column that holds labels.")]
IdColumn = Annotated[str | None, typer.Option("--id-column", help="The column that holds names of documents.")]
Format = Annotated[
    str | None,
    typer.Option(
        help="txt, jsonl, csv, tsv or parquet, where the file's name does not say it (standard input is txt)."
    ),
]
LoadVectors = Annotated[
    str | None, typer.Option("--vectors", "-v", help="Where the model's word vectors are now, if they were moved.")
]
Encoding = Annotated[str, typer.Option(help="How the file's text is encoded.")]
Threads = Annotated[
    int, typer.Option(min=-1, help="Threads that read text; -1 for one a core. Results do not depend on it.")
]


@contextmanager
def reading(label: str, corpus: Path) -> Iterator[Callable[[int], None]]:
    """Show a bar while a corpus is read; yields what ``corpus.blocks`` takes for ``progress``."""
    total = corpus.stat().st_size if corpus.is_file() else None
    with progress(label, total) as advance:
        before = 0

        def at(position: int) -> None:
            nonlocal before
            advance(position - before)
            before = position

        yield at


def say(facts: dict[str, Any], sentence: str, as_json: bool) -> None:
    """Print facts for programs, or a sentence for people."""
    if as_json:
        print(json.dumps(facts, ensure_ascii=False, allow_nan=False))
    else:
        out.print(sentence, highlight=False, soft_wrap=True)


def facts_table(facts: dict[str, Any]) -> None:
    """Print facts, one a line."""
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(f"[bold]{name.replace('_', ' ')}[/]", escape(_shown(value)))
    out.print(table)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_shown, value))
    if isinstance(value, dict) and {"known", "tokens", "share"} <= set(value):
        return f"{value['known']:,} of {value['tokens']:,} words known ({value['share']:.1%})"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
