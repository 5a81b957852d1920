"""The command of word vectors."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParasphereError
from ..places import ENGLISH, GLOVE, WORDLLAMA
from . import options
from .common import documents, print_json, quiet, say, show, show_table

if TYPE_CHECKING:
    from ..vectors import WordVectors


@click.command()
@click.argument(
    "source",
    default=ENGLISH,
    help=f"'{ENGLISH}' (the default), '{GLOVE}', '{WORDLLAMA}', a file (GloVe, word2vec or fastText, also in .gz, "
    ".bz2 or .xz), or a folder that parasphere, model2vec or sentence-transformers' StaticEmbedding saved.",
)
@click.option(
    "--nearest", metavar="WORD", multiple=True, help="List the nearest neighbours of a word; may be repeated."
)
@click.option("-k", type=click.IntRange(1), default=10, help="Number of neighbours.")
@options.out(
    "OUT", "Write the vectors: .txt or .vec for word2vec text, .bin for word2vec binary, else a folder.", required=False
)
@click.option("--keep", metavar="FILE", type=options.PATH, help="Write only the words in this file, one per line.")
@click.option("--corpus", type=options.PATH, help="Texts in which to count the known words.")
@options.text
@options.tokenizer
@options.as_json
def vectors(
    source: str, nearest: tuple[str, ...], k: int, out: Path | None, keep: Path | None, corpus: Path | None, text: str,
    tokenizer: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Describe word vectors, list neighbours, or convert them.

    A saved folder loads instantly; files are for other programs.

    \b
    Examples:
        parasphere vectors
        parasphere vectors --nearest lake --nearest river
        parasphere vectors glove.6B.300d.txt --corpus texts.txt
        parasphere vectors glove.6B.300d.txt --out glove-300d
        parasphere vectors glove-300d --out glove-300d.bin
    """
    from ..vectors import WordVectors

    if sum((bool(nearest), out is not None, corpus is not None)) > 1:
        raise ParasphereError("--nearest, --out and --corpus do different things: give one of them.")
    if keep is not None and out is None:
        raise ParasphereError("--keep needs --out.")
    loaded = WordVectors.load(source, verbose=not quiet.get())
    if nearest:
        _print_neighbours(loaded, nearest, k, as_json)
    elif out is not None:
        _write(loaded, out, keep, as_json)
    else:
        _describe(loaded, corpus, text, tokenizer, as_json)


def _print_neighbours(loaded: "WordVectors", words: tuple[str, ...], k: int, as_json: bool) -> None:
    unknown = [word for word in words if word not in loaded]
    if unknown:
        raise ParasphereError(f"{loaded.name} has no vector for {', '.join(map(repr, unknown))}")
    neighbours = {word: loaded.nearest(word, k) for word in words}
    if as_json:
        print_json(neighbours)
        return
    rows = zip(*neighbours.values(), strict=True)
    show_table(list(words), [[f"{word} {cosine:.2f}" for word, cosine in row] for row in rows])


def _write(loaded: "WordVectors", out: Path, keep: Path | None, as_json: bool) -> None:
    from ..vectors import EXTENSIONS

    if keep is not None:
        chosen = dict.fromkeys(keep.read_text(encoding="utf-8").split("\n"))
        loaded = loaded.subset([word for word in chosen if word in loaded])
    if out.suffix.lower() in EXTENSIONS:
        loaded.write(out, verbose=not quiet.get())
    else:
        loaded.save(out)
    facts = {"words": len(loaded), "dim": loaded.dim, "out": str(out)}
    say(facts, as_json, f"{len(loaded):,} words of {loaded.dim} dimensions written to {out}")


def _describe(loaded: "WordVectors", corpus: Path | None, text: str, tokenizer: str | None, as_json: bool) -> None:
    facts: dict[str, Any] = {
        "name": loaded.name,
        "words": len(loaded),
        "dim": loaded.dim,
        "megabytes": round(loaded.matrix.nbytes / 1e6, 1),
        "original_norms": [round(float(f(loaded.norms)), 3) for f in (min, lambda n: n.mean(), max)],
        "with_capitals": round(sum(word != word.lower() for word in loaded.words) / max(1, len(loaded)), 4),
        "first_words": loaded.words[:10],
        "fingerprint": loaded.fingerprint,
    }
    if corpus is not None:
        coverage = loaded.coverage(documents(corpus), options.tokenizer_named(tokenizer), text=text)
        facts["coverage"] = {"tokens": coverage.tokens, "known": coverage.known, "share": round(coverage.share, 4)}
        facts["commonest_unknown"] = [word for word, _ in coverage.unknown]
    say(facts, as_json)
    if facts["with_capitals"] > 0.2 and not as_json:
        show("Many of these words have capitals: use Tokenizer(lowercase=False) with them, in Python.")
