"""The commands of a fitted model: transform, export, explain, info."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from . import options
from .common import documents, keep_corpus, load_encoder, load_model, model_facts, out, print_json, reading, say, styled

if TYPE_CHECKING:
    from ..model import Explanation


def add_model_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    for command in (transform, export, explain, info):
        app.command()(command)


def transform(
    model: options.Model,
    corpus: options.Corpus,
    vectors_file: Annotated[
        Path,
        Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write, one row per document: .npy (ids go to .ids.json beside it), .jsonl, .csv or .parquet; "
            "or - for CSV to standard output.",
        ),
    ],
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    label_column: options.LabelColumn = None,
    carry: Annotated[str | None, Option(help="Names of further columns to write along, separated by commas.")] = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    space: options.OfVectors = "offset",
    threads: options.Threads = 1,
    vectors: options.LoadVectors = None,
    cluster: options.Cluster = None,
    as_json: options.AsJson = False,
) -> None:
    """Write the vectors of texts to a file, in constant memory; on a cluster to a folder, one file per partition.

    \b
    Examples:
        parasphere transform model texts.txt --out vectors.npy
        parasphere transform model news.csv --id-column id --carry topic --out vectors.parquet
        parasphere transform model texts.txt --out - | head
        parasphere transform model 'texts/*.parquet' --cluster local:4 --out folder
    """
    from ..model.exports import writer

    keep_corpus(vectors_file, corpus)
    encoder = load_encoder(model, vectors, threads)
    columns = _columns(text_column, encoding, format, null=null, id=id_column, label=label_column)
    columns["carry"] = [] if carry is None else [name.strip() for name in carry.split(",")]
    if cluster is not None:
        from .cluster import transform_on_cluster

        say(transform_on_cluster(encoder, corpus, cluster, vectors_file, space, columns), as_json)
        return
    count = 0
    with reading("transforming", corpus) as at, writer(vectors_file, encoder.dim, space) as write:
        for block, posterior in encoder.stream(documents(corpus), progress=at, **columns):
            write(block, posterior)
            count += len(block)
    if str(vectors_file) == "-":
        return
    facts = {"documents": count, "dim": encoder.dim, "file": str(vectors_file)}
    say(facts, as_json, f"{count:,} vectors of {encoder.dim} dimensions written to {vectors_file}")


def export(
    model: options.Model,
    folder: Annotated[Path, Option("--out", "-o", metavar="FOLDER", help="Folder to write.")],
    space: options.OfVectors = "offset",
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Write a model to a folder that model2vec and sentence-transformers load too.

    There vectors are sums of words: exact for 'fit --prior-strength inf' and 'export --space direction', nearly so
    otherwise.

    \b
    Examples:
        parasphere export model --out static-model
        parasphere export model --space direction --out static-model
    """
    load_model(model, vectors).write_static(folder, space=space)
    facts = {"folder": str(folder), "space": space}
    say(facts, as_json, f"written to {folder}, for model2vec.StaticModel.from_pretrained and SentenceTransformer")


def explain(
    model: options.Model,
    text: Annotated[str, Argument(help="The text to explain.")],
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Show how much each word, and the corpus, contributes to the direction of a text.

    \b
    Examples:
        parasphere explain model "a short text"
    """
    explanation = load_encoder(model, vectors).explain(text)
    if as_json:
        print_json(vars(explanation))
        return
    if explanation.words:
        _print_shares(explanation)
    else:
        out.print("No word of this text has a vector: its direction is that of the corpus.")
    if explanation.unknown:
        out.print(f"No vector for: {', '.join(dict.fromkeys(explanation.unknown))}", soft_wrap=True)


def _print_shares(explanation: "Explanation") -> None:
    """Print the words of a text, the shares of words and corpus, and the words with the largest shares."""
    out.print(_coloured(explanation))
    out.print(
        f"\nShare of the corpus: {explanation.prior:.0%}; of the words: {1 - explanation.prior:.0%}. Certainty of the "
        f"direction: kappa' = {explanation.concentration:,.0f}; agreement of the words: kappa_n = "
        f"{explanation.word_concentration:,.1f}."
    )
    strongest: dict[str, float] = {}
    for word, share in explanation.words:
        strongest[word] = strongest.get(word, 0.0) + share
    table = Table("word", "share", "", box=None)
    largest = max(map(abs, strongest.values()), default=1.0) or 1.0
    for word, share in sorted(strongest.items(), key=lambda item: -item[1])[:15]:
        colour = "green" if share >= 0 else "red"
        table.add_row(word, f"{share:+.1%}", styled(("█" * round(30 * abs(share) / largest), colour)))
    out.print(table)


def info(model: options.Model, vectors: options.LoadVectors = None, as_json: options.AsJson = False) -> None:
    """Describe a saved model.

    \b
    Examples:
        parasphere info model
        parasphere info model --json
    """
    say(model_facts(load_model(model, vectors)), as_json)


def _columns(text: str, encoding: str, format: str | None, **more: Any) -> dict[str, Any]:
    """Return the options that say how a corpus is read."""
    return {"text": text, "encoding": encoding, "format": format, **more}


def _coloured(explanation: "Explanation") -> Text:
    """Return the words in the order of the text, greener the larger their share, red if it is negative."""
    parts: list[str | tuple[str, str]] = []
    largest = max((abs(share) for _, share in explanation.words), default=1.0) or 1.0
    for word, share in explanation.words:
        strength = round(90 + 165 * min(1.0, abs(share) / largest))
        colour = f"rgb(60,{strength},90)" if share >= 0 else f"rgb({strength},70,70)"
        parts += [(word, f"bold {colour}" if abs(share) > 0.6 * largest else colour), " "]
    return styled(*parts)
