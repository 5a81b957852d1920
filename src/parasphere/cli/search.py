"""The commands of search: index, search, duplicates."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParasphereError
from . import options
from .common import BOLD, DIM, documents, load_encoder, print_json, read_blocks, reading, say, show, show_table

if TYPE_CHECKING:
    from ..model import Match

SHOWN = 200  # characters of a text in a table that is not cut at the width of a terminal
PAIRS = 100  # pairs of duplicates in a table


@click.command()
@options.model
@options.corpus
@options.out("INDEX", "Folder to write.")
@options.reading(options.id)
@options.threads
@options.moved_vectors
@options.as_json
def index(
    model: Path, corpus: Path, out: Path, id: str | None, threads: int, vectors: str | None, as_json: bool,
    **columns: Any,
) -> None:  # fmt: skip
    """Read a corpus once, for 'parasphere search'.

    \b
    Examples:
        parasphere index model texts.txt --out index
        parasphere index model news.csv --text-column body --id-column id --out index

    Smaller indexes, and graphs for --approximate, are made in Python: SphericalParagraphModel.index.
    """
    from ..search import Index
    from ..storage import check_target

    check_target(out, "index")  # before the work rather than after it
    made = Index.empty(load_encoder(model, vectors, threads))
    with reading("reading", corpus) as at:
        made.add(documents(corpus), id, progress=at, **columns)
    made.save(out)
    facts = {"documents": len(made), "dim": made.offsets.shape[1], "index": str(out)}
    say(facts, as_json, f"{len(made):,} documents written to {out}")


@click.command()
@click.argument("index", type=options.PATH, help="The folder of an index, written by 'parasphere index'.")
@click.argument("query", required=False, help="The text to search for.")
@click.option(
    "--queries", metavar="FILE", type=options.PATH, help="A file of queries instead: .txt (one per line), ..."
)
@click.option("-k", type=click.IntRange(1), default=10, help="Number of documents.")
@click.option(
    "--weight",
    type=click.FloatRange(0, 1),
    help="Weight of words: 0 for vectors alone, 1 for words alone.",
    show_default="found",
)
@options.flag("--approximate", help="Look at some candidates only: for indexes with a graph (Index.make_graph).")
@options.text
@options.threads
@options.moved_vectors
@options.as_json
def search(
    index: Path, query: str | None, queries: Path | None, k: int, weight: float | None, approximate: bool, text: str,
    threads: int, vectors: str | None, as_json: bool,
) -> None:  # fmt: skip
    """List the documents that answer a query best.

    They are found by meaning and by words. The similarity is the cosine of meanings, 1 for the same; the score puts
    similarity and words together.

    \b
    Examples:
        parasphere search index "a short query"
        parasphere search index "a short query" -k 3 --json
        parasphere search index --queries queries.txt --json
    """
    from ..search import Index

    if (query is None) == (queries is None):
        raise ParasphereError("give one query, as in 'parasphere search INDEX \"a query\"', or a file by --queries.")
    loaded = Index.load(index, vectors=vectors)
    if approximate and loaded.graph is None:
        raise ParasphereError(
            f"{index} has no graph for --approximate, and making one takes longer than an exact search: omit the "
            "option, or make one in Python (Index.make_graph) and save the index."
        )
    texts = [query] if query is not None else _read_queries(queries, text)
    found = loaded.search(texts, k, weight=weight, exact=not approximate, n_jobs=threads)
    if as_json:
        hits = [[match._asdict() for match in matches] for matches in found]
        several = [{"query": asked, "matches": matches} for asked, matches in zip(texts, hits, strict=True)]
        print_json(several if queries is not None else hits[0])
        return
    for asked, matches in zip(texts, found, strict=True):
        if queries is not None:
            show((asked[:SHOWN], BOLD))
        _print_matches(matches)


def _read_queries(path: Path | None, column: str) -> list[str]:
    assert path is not None
    texts = [text for block in read_blocks(path, text=column) for text in block.texts.to_pylist()]
    if not texts:
        raise ParasphereError(f"{path} holds no queries; one per line is needed.")
    return texts


def _print_matches(matches: "list[Match]") -> None:
    if not matches:
        show("nothing: no word of the query is known")
        return
    show_table(["score", "similarity", "document", "text"], [
        (f"{match.score:.3f}", f"{match.similarity:.3f}", match.id or "", (match.text or "")[:SHOWN])
        for match in matches
    ])  # fmt: skip


@click.command()
@options.corpus
@click.option(
    "--threshold",
    type=float,
    default=0.6,
    help="Smallest similarity, above 0 and at most 1: the cosine of tf-idf vectors.",
)
@options.reading(options.id)
@options.tokenizer
@options.as_json
def duplicates(corpus: Path, threshold: float, tokenizer: str | None, as_json: bool, **columns: Any) -> None:
    """List all pairs of texts that share most of their words.

    The most similar are first, with the beginning of one of the two texts.

    \b
    Examples:
        parasphere duplicates texts.txt
        parasphere duplicates news.csv --id-column id --threshold 0.9 --json
    """
    from ..search import duplicates as find

    held = read_blocks(corpus, **columns)
    texts = [str(text) for block in held for text in block.texts.to_pylist()]
    ids = [name for block in held if block.ids is not None for name in map(str, block.ids.to_pylist())]
    pairs = find(held, threshold, tokenizer=options.tokenizer_named(tokenizer))
    if as_json:
        named = [{"first_id": ids[pair.first], "second_id": ids[pair.second]} if ids else {} for pair in pairs]
        print_json([pair._asdict() | names for pair, names in zip(pairs, named, strict=True)])
        return
    names = ids or [f"{i + 1:,}" for i in range(len(texts))]
    if pairs:
        show_table(["similarity", "first", "second", "text"], [
            (f"{pair.similarity:.3f}", names[pair.first], names[pair.second], texts[pair.first][:SHOWN])
            for pair in pairs[:PAIRS]
        ])  # fmt: skip
    more = f", of which the first {PAIRS:,} are shown; --json writes all" if len(pairs) > PAIRS else ""
    show((f"{len(pairs):,} pairs among {len(texts):,} documents{more}", DIM))
