"""The commands of search: index, search, duplicates."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParasphereError
from . import options
from .common import (
    BOLD,
    DIM,
    documents,
    keep_corpus,
    load_encoder,
    print_json,
    read_blocks,
    reading,
    say,
    show,
    show_table,
)

if TYPE_CHECKING:
    from ..model import Match
    from ..search import Duplicate

SHOWN = 200  # characters of a text in a table that is not cut at the width of a terminal
GROUPS = 100  # groups of duplicates in a table


@click.command()
@options.model
@options.corpus
@options.out("INDEX", "Folder to write.")
@options.reading(options.id)
@click.option("--column", "columns", metavar="NAME", multiple=True, help="A column to filter by; may be repeated.")
@options.flag("--update", help="Update an existing index: only new and changed texts are encoded.")
@options.flag("--prune", help="With --update, remove documents that are not in the corpus.")
@options.threads
@options.moved_vectors
@options.as_json
def index(
    model: Path, corpus: Path, out: Path, id: str | None, columns: tuple[str, ...], update: bool, prune: bool,
    threads: int, vectors: str | None, as_json: bool, **reading_options: Any,
) -> None:  # fmt: skip
    """Make an index of a corpus, for 'parasphere search'.

    \b
    Examples:
        parasphere index model texts.txt --out index
        parasphere index model news.csv --text-column body --id-column id --column section --column year --out index
        parasphere index model news.csv --text-column body --id-column id --update --prune --out index

    --update needs --id-column, and uses the model of the index. SphericalParagraphModel.index in Python makes smaller
    indexes, and indexes for other languages.
    """
    from ..search import Index
    from ..storage import check_target

    if not update:
        check_target(out, "index")  # fail before the work, not after it
        if prune:
            raise ParasphereError("--prune needs --update: it removes documents from an existing index.")
        made = Index(load_encoder(model, vectors, threads), columns=columns)
        with reading("reading", corpus) as at:
            made.add(documents(corpus), id, progress=at, **reading_options)
        made.save(out)
        facts = {"documents": len(made), "dim": made.offsets.shape[1], "index": str(out)}
        say(facts, as_json, f"{len(made):,} documents written to {out}")
        return
    if columns:
        raise ParasphereError("the columns of an index are chosen when it is made: omit --column with --update.")
    made = Index.load(out, vectors=vectors)
    with reading("reading", corpus) as at:
        changed = made.update(documents(corpus), id, prune=prune, progress=at, **reading_options)
    made.save(out)
    counts = ", ".join(f"{count:,} {name}" for name, count in changed._asdict().items())
    say({"documents": len(made), **changed._asdict(), "index": str(out)}, as_json, f"{counts}; {len(made):,} in {out}")


@click.command()
@click.argument("index", type=options.PATH, help="The folder of an index, written by 'parasphere index'.")
@click.argument("query", required=False, help="The text to search for.")
@click.option(
    "--queries", metavar="FILE", type=options.PATH, help="A file of queries instead: .txt (one per line), .jsonl, ..."
)
@click.option("-k", type=click.IntRange(1), default=10, help="Number of documents.")
@click.option(
    "--weight",
    type=click.FloatRange(0, 1),
    help="Weight of words: 0 for vectors alone, 1 for words alone.",
    show_default="that of the index",
)
@click.option(
    "--where",
    metavar="CONDITION",
    multiple=True,
    help="A condition on a column, as in section=net, price<20 or 'date>=2024-01'; may be repeated.",
)
@options.text
@options.threads
@options.moved_vectors
@options.as_json
def search(
    index: Path, query: str | None, queries: Path | None, k: int, weight: float | None, where: tuple[str, ...],
    text: tuple[str, ...], threads: int, vectors: str | None, as_json: bool,
) -> None:  # fmt: skip
    """List the documents that match a query best.

    They are found by meaning and by words. The similarity is the cosine of the vectors, 1 for the same meaning; the
    score combines similarity and words.

    \b
    Examples:
        parasphere search index "a short query"
        parasphere search index "a short query" --where section=net --where 'year>=2020'
        parasphere search index "a short query" -k 3 --json
        parasphere search index --queries queries.txt --json
    """
    from ..search import Index

    if (query is None) == (queries is None):
        raise ParasphereError("give one query, as in 'parasphere search INDEX \"a query\"', or a file with --queries.")
    loaded = Index.load(index, vectors=vectors)
    texts = [query] if query is not None else _read_queries(queries, text)
    found = loaded.search(texts, k, weight=weight, where=_conditions(where), n_jobs=threads)
    if as_json:
        hits = [[match._asdict() for match in matches] for matches in found]
        several = [{"query": asked, "matches": matches} for asked, matches in zip(texts, hits, strict=True)]
        print_json(several if queries is not None else hits[0])
        return
    for asked, matches in zip(texts, found, strict=True):
        if queries is not None:
            show((asked[:SHOWN], BOLD))
        _print_matches(matches, filtered=bool(where))


def _conditions(given: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the conditions of options; several on one column must all be met."""
    conditions: dict[str, list[tuple[str, str]]] = {}
    for condition in given:
        parts = re.fullmatch(r"(.+?)\s*(!=|<=|>=|==|=|<|>)\s*(.*)", condition, re.DOTALL)
        if parts is None:
            raise ParasphereError(f"--where {condition}: a condition is written as section=net, price<20 or day>=2024.")
        conditions.setdefault(parts[1], []).append((parts[2], parts[3]))
    return conditions or None


def _read_queries(path: Path | None, columns: tuple[str, ...]) -> list[str]:
    assert path is not None
    texts = [text for block in read_blocks(path, text=columns) for text in block.texts]
    if not texts:
        raise ParasphereError(f"{path} holds no queries; one per line is needed.")
    return texts


def _print_matches(matches: "Sequence[Match]", *, filtered: bool) -> None:
    if not matches:
        show("no matches: no query word is known" + (", or no document meets the conditions" if filtered else ""))
        return
    show_table(["score", "similarity", "document", "words", "text"], [
        (f"{hit.score:.3f}", f"{hit.similarity:.3f}", str(hit.id), ", ".join(hit.words), (hit.text or "")[:SHOWN])
        for hit in matches
    ])  # fmt: skip


@click.command()
@options.corpus
@click.option(
    "--threshold",
    type=float,
    default=0.6,
    help="Smallest similarity, above 0 and at most 1: the cosine of tf-idf vectors.",
)
@click.option("--against", metavar="OTHERS", type=options.PATH, help="List texts that have duplicates in this file.")
@click.option("--keep", metavar="FILE", type=options.PATH, help="File to write: the corpus, one text per group.")
@options.reading(options.id)
@options.tokenizer
@options.as_json
def duplicates(
    corpus: Path, threshold: float, against: Path | None, keep: Path | None, tokenizer: str | None, as_json: bool,
    **columns: Any,
) -> None:  # fmt: skip
    """List groups of texts that share most of their words.

    The longest text of each group is shown, and kept by --keep.

    \b
    Examples:
        parasphere duplicates texts.txt
        parasphere duplicates news.csv --id-column id --threshold 0.9 --json
        parasphere duplicates news.jsonl --keep unique.jsonl
        parasphere duplicates train.jsonl --against test.jsonl
    """
    from ..search import duplicates as find

    if keep is not None:
        keep_corpus(keep, corpus)
        if against is not None:
            raise ParasphereError("--keep writes a corpus without its own duplicates: omit it with --against.")
    texts, names = _texts_and_names(held := read_blocks(corpus, **columns))
    chosen = options.tokenizer_named(tokenizer)
    if against is not None:
        others = read_blocks(against, **columns)
        _print_leaks(find(held, threshold, against=others, tokenizer=chosen), names, others, texts, as_json)
        return
    found = find(held, threshold, tokenizer=chosen)
    n_removed = len(found.removed)
    if keep is not None:
        from ..corpus import copy_documents

        kept = set(found.kept.tolist())
        copy_documents(corpus, keep, [i in kept for i in range(len(texts))], encoding=columns["encoding"])
    if as_json:
        print_json({
            "texts": len(texts), "removed": n_removed, "groups": [[names[i] for i in group] for group in found],
        })  # fmt: skip
        return
    if len(found):
        show_table(["texts", "kept", "others", "text"], [
            (f"{len(group):,}", names[group[0]], _few([names[i] for i in group[1:]]), texts[group[0]][:SHOWN])
            for group in found[:GROUPS]
        ])  # fmt: skip
    more = f"; the first {GROUPS:,} groups are shown, --json prints all" if len(found) > GROUPS else ""
    written = "" if keep is None else f"; the other {len(texts) - n_removed:,} are in {keep}"
    groups = "group" if len(found) == 1 else "groups"
    show((f"{len(found):,} {groups}; redundant: {n_removed:,} of {len(texts):,} texts{written}{more}", DIM))


def _texts_and_names(held: list[Any]) -> tuple[list[str], list[str]]:
    """Return texts, and their ids or else their numbers from 1."""
    texts = [text if isinstance(text, str) else " ".join(text) for block in held for text in block.texts]
    ids = [str(name) for block in held if block.ids is not None for name in block.ids]
    return texts, ids or [str(i + 1) for i in range(len(texts))]


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f", and {len(names) - 3:,} more" if len(names) > 3 else "")


def _print_leaks(
    leaks: "list[Duplicate]", names: list[str], others: list[Any], texts: list[str], as_json: bool
) -> None:
    _, other_names = _texts_and_names(others)
    if as_json:
        print_json([
            {"first": names[leak.first], "second": other_names[leak.second], "similarity": leak.similarity}
            for leak in leaks
        ])  # fmt: skip
        return
    if leaks:
        show_table(["similarity", "document", "duplicate of", "text"], [
            (f"{leak.similarity:.3f}", names[leak.first], other_names[leak.second], texts[leak.first][:SHOWN])
            for leak in leaks[:GROUPS]
        ])  # fmt: skip
    more = f"; the first {GROUPS:,} are shown, --json prints all" if len(leaks) > GROUPS else ""
    show((f"{len(leaks):,} of {len(texts):,} texts have duplicates in the other file{more}", DIM))
