"""The commands of search: index, search, duplicates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from typer import Argument, Option

from ..errors import ParasphereError
from . import options
from .common import documents, out, print_json, reading, say, styled

if TYPE_CHECKING:
    from ..model import Match

SHOWN = 160  # characters of a text in a table
PAIRS = 100  # pairs of duplicates in a table


def add_search_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    for command in (index, search, duplicates):
        app.command()(command)


def index(
    model: options.Model,
    corpus: options.Corpus,
    folder: Annotated[Path, Option("--out", "-o", metavar="INDEX", help="Folder to write.")],
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    no_texts: Annotated[bool, Option("--no-texts", help="Do not keep the texts: results have ids alone.")] = False,
    no_words: Annotated[bool, Option("--no-words", help="Do not keep the words: search by vectors alone.")] = False,
    half: Annotated[bool, Option("--half", help="Keep vectors in half precision: less room, three digits.")] = False,
    threads: options.Threads = 1,
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """Read a corpus once, so that 'parasphere search' finds its texts at once.

    \b
    Examples:
        parasphere index model texts.txt --out index
        parasphere index model news.csv --text-column body --id-column id --out index
    """
    from ..estimator import SphericalParagraphModel
    from ..storage import check_target

    check_target(folder, "index")  # before the work rather than after it
    estimator = SphericalParagraphModel.load(model, vectors=vectors)
    estimator.n_jobs = threads
    with reading("reading", corpus) as at:
        made = estimator.index(
            documents(corpus), id_column, dtype="float16" if half else "float32", texts=not no_texts,
            words=not no_words, text=text_column, encoding=encoding, format=format, null=null, progress=at,
        )  # fmt: skip
    made.save(folder)
    facts = {"documents": len(made), "dim": made.offsets.shape[1], "index": str(folder)}
    say(facts, as_json, f"{len(made):,} documents written to {folder}")


def search(
    folder: Annotated[Path, Argument(metavar="INDEX", help="The folder of an index, written by 'parasphere index'.")],
    query: Annotated[str | None, Argument(help="The text to search for.")] = None,
    queries: Annotated[
        Path | None, Option("--queries", metavar="FILE", help="A file of queries instead: .txt (one per line), ...")
    ] = None,
    k: Annotated[int, Option("-k", min=1, help="Number of documents.")] = 10,
    weight: Annotated[
        float | None,
        Option(min=0.0, max=1.0, help="Weight of words: 0 for vectors alone, 1 for words alone. (default: found)"),
    ] = None,
    text_column: options.TextColumn = "text",
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    threads: options.Threads = 1,
    vectors: options.LoadVectors = None,
    as_json: options.AsJson = False,
) -> None:
    """List the documents of an index that answer a query best, by meaning and by words.

    \b
    Examples:
        parasphere search index "a short query"
        parasphere search index "a short query" -k 3 --json
        parasphere search index --queries queries.txt --json
    """
    from ..search import Index

    if (query is None) == (queries is None):
        raise ParasphereError("give one query, as in 'parasphere search INDEX \"a query\"', or a file by --queries.")
    loaded = Index.load(folder, vectors=vectors)
    if query is not None:
        matches = loaded.search(query, k, weight=weight, n_jobs=threads)
        if as_json:
            print_json([match._asdict() for match in matches])
        elif not matches:
            out.print("nothing: no word of the query is known")
        else:
            out.print(_table(matches))
            out.print(
                "similarity: cosine of meanings, 1 for the same; score: similarity and words together", style="dim"
            )
    elif queries is not None:
        texts = _read_queries(queries, text=text_column, encoding=encoding, format=format, null=null)
        results = zip(texts, loaded.search(texts, k, weight=weight, n_jobs=threads), strict=True)
        if as_json:
            print_json([
                {"query": text, "matches": [match._asdict() for match in matches]} for text, matches in results
            ])  # fmt: skip
            return
        for text, matches in results:
            out.print(styled((text[:SHOWN], "bold")))
            out.print(_table(matches) if matches else "nothing: no word of it is known")


def _read_queries(path: Path, **columns: Any) -> list[str]:
    from ..corpus import blocks

    texts = [text for block in blocks(documents(path), **columns) for text in block.texts.to_pylist()]
    if not texts:
        raise ParasphereError(f"{path} holds no queries; one per line is needed.")
    return texts


def duplicates(
    corpus: options.Corpus,
    threshold: Annotated[
        float, Option(help="Smallest similarity, above 0 and at most 1: the cosine of tf-idf vectors.")
    ] = 0.6,
    text_column: options.TextColumn = "text",
    id_column: options.IdColumn = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    tokenizer: options.Tokens = None,
    as_json: options.AsJson = False,
) -> None:
    """List all pairs of texts that share most of their words, the most similar first.

    \b
    Examples:
        parasphere duplicates texts.txt
        parasphere duplicates news.csv --id-column id --threshold 0.9 --json
    """
    from ..corpus import blocks
    from ..search import duplicates as find

    with reading("reading", corpus) as at:
        held = list(
            blocks(
                documents(corpus),
                text=text_column,
                id=id_column,
                encoding=encoding,
                format=format,
                null=null,
                progress=at,
            )
        )
    texts = [text for block in held for text in block.texts.to_pylist()]
    ids = [name for block in held if block.ids is not None for name in map(str, block.ids.to_pylist())]
    pairs = find(held, threshold, tokenizer=options.tokenizer_named(tokenizer))
    if as_json:
        named = [{"first_id": ids[pair.first], "second_id": ids[pair.second]} if ids else {} for pair in pairs]
        print_json([pair._asdict() | names for pair, names in zip(pairs, named, strict=True)])
        return
    table = Table("similarity", "documents", "texts", box=None)
    for pair in pairs[:PAIRS]:
        one, other = (ids[i] if ids else f"{i + 1:,}" for i in (pair.first, pair.second))
        shown = [_start(str(texts[i])) for i in (pair.first, pair.second)]
        table.add_row(f"{pair.similarity:.3f}", f"{one}\n{other}", "\n".join(shown))
    if pairs:
        out.print(table)
    more = f", of which the first {PAIRS:,} are shown; --json writes all" if len(pairs) > PAIRS else ""
    out.print(f"{len(pairs):,} pairs among {len(texts):,} documents{more}", style="dim")


def _table(matches: "list[Match]") -> Table:
    table = Table("score", "similarity", "document", "text", box=None)
    for match in matches:
        table.add_row(f"{match.score:.3f}", f"{match.similarity:.3f}", match.id or "", _start(match.text or ""))
    return table


def _start(text: str) -> str:
    return " ".join(text.split())[:SHOWN]
