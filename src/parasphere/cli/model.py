"""The commands of a fitted model: transform, compare, explain, info."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..places import ENGLISH
from . import options
from .common import (
    BOLD,
    DIM,
    documents,
    encoder_facts,
    general_encoder,
    keep_corpus,
    load_encoder,
    print_json,
    reading,
    say,
    show,
    show_table,
)

if TYPE_CHECKING:
    from ..model import Explanation, Space

WORDS = 15  # in a table: those with the largest parts
BAR = 30  # characters of the longest bar


@click.command()
@options.model
@options.corpus
@options.out("FILE", "File to write: .parquet, .npy or .csv, one row per text; or - for CSV to standard output.")
@options.reading(options.id)
@click.option("--carry", metavar="NAMES", help="Further columns to copy to the file, separated by commas.")
@options.space
@options.threads
@options.as_json
def transform(
    model: Path, corpus: Path, out: Path, carry: str | None, space: "Space", threads: int, as_json: bool,
    **columns: Any,
) -> None:  # fmt: skip
    """Write the vectors of texts to a file, in constant memory.

    \b
    Examples:
        parasphere transform model.safetensors texts.txt --out vectors.npy
        parasphere transform model.safetensors news.csv --id-column id --carry topic --out vectors.parquet
        parasphere transform model.safetensors texts.txt --out - | head
    """
    from ..model.exports import writer

    keep_corpus(out, corpus)
    encoder = load_encoder(model, threads)
    columns["carry"] = [] if carry is None else [name.strip() for name in carry.split(",")]
    count = 0
    with reading("transforming", corpus) as at, writer(out, encoder.dim, space) as write:
        for block, posterior in encoder.stream(documents(corpus), progress=at, **columns):
            write(block, posterior)
            count += len(block)
    if str(out) == "-":
        return
    facts = {"documents": count, "dim": encoder.dim, "file": str(out)}
    say(facts, as_json, f"{count:,} vectors of {encoder.dim} dimensions written to {out}")


@click.command()
@click.argument("a", help="A text.")
@click.argument("b", help="Another text.")
@click.option(
    "--model",
    type=options.PATH,
    help="A model.",
    show_default="word vectors, without a corpus",
)
@click.option("--vectors", "-v", metavar="VECTORS", help="Word vectors, in place of a model.", show_default=ENGLISH)
@options.as_json
def compare(a: str, b: str, model: Path | None, vectors: str | None, as_json: bool) -> None:
    """Show how similar two texts are, and which words make them so.

    1 means the same, about 0 nothing in common. A model fitted to texts like these compares better.

    \b
    Examples:
        parasphere compare "a calm lake" "still water"
        parasphere compare --model model.safetensors "a calm lake" "still water"
    """
    encoder = general_encoder(vectors) if model is None else load_encoder(model)
    match = encoder.explain_match(a, b)
    unknown = list(dict.fromkeys(encoder.explain(a).unknown + encoder.explain(b).unknown))
    if as_json:
        print_json({**match._asdict(), "unknown": unknown})
        return
    show("similarity: ", (f"{match.similarity:.3f}", BOLD))
    for words in (match.words_a, match.words_b):
        if words:
            show("")
            _print_parts(words, "part", lambda part: f"{part:+.3f}")
    _print_unknown(unknown)


@click.command()
@options.model
@click.argument("text", help="The text to explain.")
@options.as_json
def explain(model: Path, text: str, as_json: bool) -> None:
    """Show what each word contributes to the direction of a text.

    \b
    Examples:
        parasphere explain model.safetensors "a short text"
    """
    explanation = load_encoder(model).explain(text)
    if as_json:
        print_json(vars(explanation))
        return
    if explanation.words:
        _print_shares(explanation)
    else:
        show("No word of this text has a vector: its direction is that of the corpus.")
    _print_unknown(explanation.unknown)


def _print_shares(explanation: "Explanation") -> None:
    """Print the words of a text, the shares of words and corpus, and the words with the largest shares."""
    show(
        f"Share of the corpus: {explanation.prior:.0%}; of the words: {1 - explanation.prior:.0%}. Certainty of the "
        f"direction: kappa' = {explanation.concentration:,.0f}; agreement of the words: kappa_n = "
        f"{explanation.word_concentration:,.1f}.\n"
    )
    _print_parts(explanation.words, "share", lambda share: f"{share:+.1%}")


@click.command()
@click.argument("file", type=options.PATH, required=False, help="A saved model, index, ...")
@options.as_json
def info(file: Path | None, as_json: bool) -> None:
    """Describe a saved file and compare it with its checksum; without one, describe the installation.

    \b
    Examples:
        parasphere info
        parasphere info model.safetensors
        parasphere info model.safetensors --json
    """
    if file is None:
        from .installation import installation

        say(installation(), as_json)
        return
    from ..storage import VERSION, file_of, read

    saved = read(file, verify=True)[1]
    facts = {"kind": saved.kind, "format_version": VERSION, "megabytes": file_of(file).stat().st_size / 1e6}
    if saved.kind in ("Encoder", "SphericalParagraphModel"):
        learned = saved.facts["objects"][0].get("learned", {})
        facts |= encoder_facts(load_encoder(file))
        facts |= {"iterations": learned.get("n_iter_"), "converged": learned.get("converged_")}
    say({**facts, "checksum": "is right"}, as_json)


def _print_parts(words: Sequence[tuple[str, float]], header: str, spelled: Any) -> None:
    """Print the words with the largest parts, summed over repetitions of a word."""
    parts: dict[str, float] = {}
    for word, part in words:
        parts[word] = parts.get(word, 0.0) + part
    largest = max(map(abs, parts.values()), default=1.0) or 1.0
    show_table(["word", header, ""], [
        (word, spelled(part), ("█" * round(BAR * abs(part) / largest), {"fg": "green" if part >= 0 else "red"}))
        for word, part in sorted(parts.items(), key=lambda item: -item[1])[:WORDS]
    ])  # fmt: skip


def _print_unknown(unknown: Sequence[str]) -> None:
    if unknown:
        show((f"No vector for: {', '.join(dict.fromkeys(unknown))}", DIM))
