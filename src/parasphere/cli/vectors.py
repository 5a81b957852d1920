"""``parasphere vectors``: look at word vectors, convert them, train your own."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..errors import ParasphereError
from ..places import GLOVE
from .common import (
    AsJson,
    Commands,
    Corpus,
    Encoding,
    Format,
    TextColumn,
    VectorsOption,
    documents,
    facts_table,
    out,
    print_json,
    quiet,
    say,
    styled,
)

if TYPE_CHECKING:
    from ..vectors import WordVectors

vectors_app = typer.Typer(
    cls=Commands, help="Word vectors: look at them, convert them, train your own.", no_args_is_help=True
)

Source = Annotated[
    str,
    typer.Argument(
        help=f"'{GLOVE}', a file (GloVe, word2vec, fastText; plain, .gz, .bz2, .xz or .zip), or our folder."
    ),
]
Skip = Annotated[bool, typer.Option("--skip-bad-rows", help="Leave rows at fault out, and say how many.")]


@vectors_app.command()
def info(
    source: Source = GLOVE,
    corpus: Annotated[Path | None, typer.Option(help="Texts: how many of their words are known?")] = None,
    member: Annotated[str | None, typer.Option(help="Which file of a .zip that holds several.")] = None,
    text_column: TextColumn = "text",
    encoding: Encoding = "utf-8",
    format: Format = None,
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
        found = vectors.coverage(documents(corpus), text=text_column, encoding=encoding, format=format)
        facts["coverage"] = {"tokens": found.tokens, "known": found.known, "share": round(found.share, 4)}
        facts["commonest_unknown"] = [word for word, _ in found.unknown]
    if as_json:
        print_json(facts)
        return
    facts_table(facts)
    if facts["with_capitals"] > 0.2:
        out.print("Many of these words have capitals: in Python, use Tokenizer(lowercase=False) with them.")


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
    as_json: AsJson = False,
) -> None:
    """Read word vectors of any format, and write a folder that loads at once or a file for other programs."""
    from ..vectors import EXTENSIONS

    vectors = _load(source, skip_bad_rows, member)
    if keep is not None:
        wanted = dict.fromkeys(keep.read_text(encoding="utf-8").split("\n"))
        vectors = vectors.subset([word for word in wanted if word in vectors])
    if target.suffix.lower() in EXTENSIONS:
        vectors.write(target, verbose=not quiet())
    else:
        vectors.save(target)
    _written(vectors, target, "written", as_json)


@vectors_app.command()
def train(
    corpus: Corpus,
    folder: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")],
    text_column: TextColumn = "text",
    encoding: Encoding = "utf-8",
    format: Format = None,
    dim: Annotated[int, typer.Option(min=2, help="Dimensions.")] = 50,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the texts.")] = 5,
    window: Annotated[int, typer.Option(min=1, help="How many words to either side are context.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="Drop words that are rarer.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="The same seed and one worker give the same vectors.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Threads; more than one is faster and not repeatable.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Learn word vectors from your own texts (word2vec by gensim): no download needed."""
    from ..corpus import blocks
    from ..storage import check_target
    from ..vectors import KIND, Word2Vec

    check_target(folder, KIND)  # before the work rather than after it
    learner = Word2Vec(dim, epochs=epochs, window=window, min_count=min_count, random_state=seed, n_jobs=workers)
    vectors = learner.fit(blocks(documents(corpus), text=text_column, encoding=encoding, format=format)).vectors_
    vectors.save(folder)
    _written(vectors, folder, "learned and written", as_json)


@vectors_app.command()
def nearest(
    words: Annotated[list[str], typer.Argument(help="One word or more.")],
    vectors: VectorsOption = GLOVE,
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
        print_json(found)
        return
    table = Table(*words)
    for row in zip(*found.values(), strict=True):
        table.add_row(*(styled(f"{word} ", (f"{cosine:.2f}", "dim")) for word, cosine in row))
    out.print(table)


def _load(source: str, skip_bad_rows: bool = False, member: str | None = None) -> "WordVectors":
    from ..vectors import WordVectors

    errors: Any = "skip" if skip_bad_rows else "raise"
    return WordVectors.load(source, errors=errors, member=member, verbose=not quiet())


def _written(vectors: "WordVectors", where: Path, done: str, as_json: bool) -> None:
    facts = {"words": len(vectors), "dim": vectors.dim, "out": str(where)}
    say(facts, f"{len(vectors):,} words of {vectors.dim} dimensions {done} to {where}", as_json)
