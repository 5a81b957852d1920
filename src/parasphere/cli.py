"""The commands: ``parasphere --help`` lists them."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import __version__
from .demo import show
from .errors import MissingExtraError, ParasphereError
from .progress import silence
from .vectors import GLOVE, WordVectors
from .writing import EXTENSIONS

app = typer.Typer(
    help="Texts as vectors on the unit sphere. Start with [bold]parasphere demo[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
vectors_app = typer.Typer(help="Word vectors: look at them, convert them, train your own.", no_args_is_help=True)
app.add_typer(vectors_app, name="vectors")

out = Console()

Source = Annotated[
    str,
    typer.Argument(
        help=f"'{GLOVE}', a file (GloVe, word2vec, fastText; plain, .gz, .bz2, .xz or .zip), or our folder."
    ),
]
SourceOption = Annotated[str, typer.Option("--vectors", "-v", help=f"'{GLOVE}', a file or a folder of word vectors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]
Skip = Annotated[bool, typer.Option("--skip-bad-rows", help="Leave rows at fault out, and say how many.")]


def main() -> None:
    """Run the command line; an input at fault ends it with one sentence and exit code 1."""
    try:
        app(prog_name="parasphere")
        sys.exit(0)
    except (ParasphereError, MissingExtraError, OSError) as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"parasphere {__version__}")
        raise typer.Exit


@app.callback()
def options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Draw no progress bars.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
    silence(quiet)


@app.command()
def demo() -> None:
    """Show what parasphere does, on embedded texts and vectors, in seconds."""
    show(out)


@vectors_app.command()
def info(
    source: Source = GLOVE,
    corpus: Annotated[Path | None, typer.Option(help="Texts: how many of their words are known?")] = None,
    member: Annotated[str | None, typer.Option(help="Which file of a .zip that holds several.")] = None,
    skip_bad_rows: Skip = False,
    as_json: AsJson = False,
) -> None:
    """Describe word vectors: how many, how long, which words; and how well they know a corpus."""
    vectors = _load(source, skip_bad_rows, member)
    facts: dict[str, Any] = {
        "name": vectors.name,
        "words": len(vectors),
        "dim": vectors.dim,
        "megabytes": round(vectors.matrix.nbytes / 1e6, 1),
        "original_norms": [round(float(f(vectors.norms)), 3) for f in (min, lambda n: n.mean(), max)],
        "with_capitals": round(sum(word != word.lower() for word in vectors.words) / max(1, len(vectors)), 4),
        "first_words": vectors.words[:10],
        "fingerprint": vectors.fingerprint,
    }
    if corpus is not None:
        found = vectors.coverage(corpus)
        facts["coverage"] = {"tokens": found.tokens, "known": found.known, "share": round(found.share, 4)}
        facts["commonest_unknown"] = [word for word, _ in found.unknown]
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        shown = "  ".join(map(str, value)) if isinstance(value, list) else value
        if isinstance(value, dict):
            shown = f"{value['known']:,} of {value['tokens']:,} words known ({value['share']:.1%})"
        table.add_row(
            f"[bold]{name.replace('_', ' ')}[/]", escape(f"{shown:,}" if isinstance(shown, int) else str(shown))
        )
    out.print(table)
    if facts["with_capitals"] > 0.2:
        out.print("Many of these words have capitals: use Tokenizer(lowercase=False) with them.")


@vectors_app.command()
def convert(
    source: Source,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="What to write: .txt or .vec is word2vec text, .bin word2vec binary, any other name a folder.",
        ),
    ],
    keep: Annotated[Path | None, typer.Option(help="Keep only the words in this file, a word a line.")] = None,
    member: Annotated[str | None, typer.Option(help="Which file of a .zip that holds several.")] = None,
    skip_bad_rows: Skip = False,
) -> None:
    """Read word vectors of any format, and write a folder that loads at once or a file for other programs."""
    vectors = _load(source, skip_bad_rows, member)
    if keep is not None:
        wanted = dict.fromkeys(keep.read_text(encoding="utf-8").split("\n"))
        vectors = vectors.subset([word for word in wanted if word in vectors])
    if target.suffix.lower() in EXTENSIONS:
        vectors.write(target)
    else:
        vectors.save(target)
    out.print(f"{len(vectors):,} words of {vectors.dim} dimensions written to {escape(str(target))}")


@vectors_app.command()
def train(
    corpus: Annotated[
        Path, typer.Argument(help="Your texts: .txt, .jsonl, .csv, .tsv, .parquet, .gz of these, a folder.")
    ],
    folder: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    dim: Annotated[int, typer.Option(min=2, help="Dimensions.")] = 50,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the texts.")] = 5,
    window: Annotated[int, typer.Option(min=1, help="How many words to either side are context.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="Drop words that are rarer.")] = 5,
    seed: Annotated[int, typer.Option(help="The same seed and one worker give the same vectors.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Threads; more than one is faster and not repeatable.")] = 1,
) -> None:
    """Learn word vectors from your own texts (word2vec by gensim): no download needed."""
    vectors = WordVectors.train(
        corpus, dim, epochs=epochs, window=window, min_count=min_count, seed=seed, workers=workers
    )
    vectors.save(folder)
    out.print(f"{len(vectors):,} words of {vectors.dim} dimensions learned and written to {escape(str(folder))}")


@vectors_app.command()
def nearest(
    words: Annotated[list[str], typer.Argument(help="One word or more.")],
    vectors: SourceOption = GLOVE,
    k: Annotated[int, typer.Option("-k", min=1, help="How many neighbours.")] = 10,
    as_json: AsJson = False,
) -> None:
    """List the words whose vectors point the way a word's does, with their cosines."""
    loaded = _load(vectors)
    unknown = [word for word in words if word not in loaded]
    if unknown:
        raise ParasphereError(f"{loaded.name} has no vector for {', '.join(map(repr, unknown))}")
    found = {word: loaded.nearest(word, k) for word in words}
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    table = Table(*(escape(word) for word in words))
    for row in zip(*found.values(), strict=True):
        table.add_row(*(f"{escape(word)} [dim]{cosine:.2f}[/]" for word, cosine in row))
    out.print(table)


def _load(source: str, skip_bad_rows: bool = False, member: str | None = None) -> WordVectors:
    return WordVectors.load(source, errors="skip" if skip_bad_rows else "raise", member=member)
