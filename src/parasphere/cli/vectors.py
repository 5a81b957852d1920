"""``parasphere vectors``: describe, convert and distil word vectors."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from typer import Argument, Option

from ..errors import ParasphereError
from ..places import ENGLISH, GLOVE, WORDLLAMA
from . import options
from .common import Commands, documents, out, print_json, quiet, say, styled

if TYPE_CHECKING:
    from ..vectors import WordVectors

vectors_app = typer.Typer(cls=Commands, help="Describe, convert and distil word vectors.", no_args_is_help=True)

Source = Annotated[
    str,
    Argument(
        help=f"'{ENGLISH}', '{GLOVE}', '{WORDLLAMA}', a file (GloVe, word2vec or fastText, also in .gz, .bz2, .xz, "
        ".zst or .zip), or a folder: saved, of model2vec, or of sentence-transformers' StaticEmbedding."
    ),
]
Skip = Annotated[bool, Option("--skip-bad-rows", help="Skip invalid rows, and report how many.")]


@vectors_app.command()
def info(
    source: Source = ENGLISH,
    corpus: Annotated[Path | None, Option(help="Texts whose known words are counted.")] = None,
    member: options.Member = None,
    text_column: options.TextColumn = "text",
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,
    null: options.Null = "error",
    tokenizer: options.Tokens = None,
    skip_bad_rows: Skip = False,
    as_json: options.AsJson = False,
) -> None:
    """Describe word vectors, and count how many words of a corpus they have.

    \b
    Examples:
        parasphere vectors info
        parasphere vectors info glove.6B.300d.txt --corpus texts.txt
    """
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
        words = options.tokenizer_named(tokenizer)
        coverage = vectors.coverage(
            documents(corpus), words, text=text_column, encoding=encoding, format=format, null=null
        )
        facts["coverage"] = {"tokens": coverage.tokens, "known": coverage.known, "share": round(coverage.share, 4)}
        facts["commonest_unknown"] = [word for word, _ in coverage.unknown]
    say(facts, as_json)
    if facts["with_capitals"] > 0.2 and not as_json:
        out.print("Many of these words have capitals: use Tokenizer(lowercase=False) with them, in Python.")


@vectors_app.command()
def convert(
    source: Source,
    target: Annotated[
        Path,
        Argument(
            metavar="OUT",
            help="File or folder to write: .txt or .vec for word2vec text, .bin for word2vec binary, else a folder.",
        ),
    ],
    keep: Annotated[Path | None, Option(help="Keep only the words in this file, one per line.")] = None,
    member: options.Member = None,
    skip_bad_rows: Skip = False,
    as_json: options.AsJson = False,
) -> None:
    """Convert word vectors of any format to a folder that loads instantly, or to a file for other programs.

    \b
    Examples:
        parasphere vectors convert glove.6B.300d.txt glove-300d
        parasphere vectors convert glove-300d glove-300d.bin
    """
    from ..vectors import EXTENSIONS

    vectors = _load(source, skip_bad_rows, member)
    if keep is not None:
        wanted = dict.fromkeys(keep.read_text(encoding="utf-8").split("\n"))
        vectors = vectors.subset([word for word in wanted if word in vectors])
    if target.suffix.lower() in EXTENSIONS:
        vectors.write(target, verbose=not quiet.get())
    else:
        vectors.save(target)
    _written(vectors, target, "written", as_json)


@vectors_app.command()
def distil(
    encoder: Annotated[str, Argument(help="A model of sentence-transformers: a folder, or a name that it knows.")],
    folder: Annotated[Path, Option("--out", "-o", help="Folder to write.")],
    dim: Annotated[int, Option(min=2, help="Dimension of the vectors.")] = 256,
    words: Annotated[
        Path | None, Option(help=f"File of words, the most frequent first, one per line. (default: '{ENGLISH}')")
    ] = None,
    device: Annotated[str | None, Option(help="A torch device, such as cuda.")] = None,
    as_json: options.AsJson = False,
) -> None:
    """Make word vectors of a sentence encoder, which reads each word once (extra 'transformer').

    \b
    Examples:
        parasphere vectors distil all-MiniLM-L6-v2 --out vectors
        parasphere vectors distil my-encoder --dim 128 --words words.txt --out vectors
    """
    from ..errors import import_extra
    from ..storage import check_target
    from ..vectors import KIND
    from ..vectors import distil as make

    check_target(folder, KIND)  # before the work rather than after it
    library = import_extra("sentence_transformers", "transformer", "Distilling")
    spelled = None if words is None else [word for word in words.read_text(encoding="utf-8").split("\n") if word]
    here = Path(encoder).exists()  # then nothing is asked of the network
    model = library.SentenceTransformer(encoder, device=device, local_files_only=here)
    made = make(model, dim, words=spelled, verbose=not quiet.get())
    made.save(folder)
    _written(made, folder, "distilled and written", as_json)


@vectors_app.command()
def nearest(
    words: Annotated[list[str], Argument(help="One or more words.")],
    vectors: options.Vectors = ENGLISH,
    k: Annotated[int, Option("-k", min=1, help="Number of neighbours.")] = 10,
    as_json: options.AsJson = False,
) -> None:
    """List the nearest neighbours of words, with their cosines.

    \b
    Examples:
        parasphere vectors nearest lake river
        parasphere vectors nearest lake --vectors glove-300d -k 5
    """
    loaded = _load(vectors)
    unknown = [word for word in words if word not in loaded]
    if unknown:
        raise ParasphereError(f"{loaded.name} has no vector for {', '.join(map(repr, unknown))}")
    neighbours = {word: loaded.nearest(word, k) for word in words}
    if as_json:
        print_json(neighbours)
        return
    table = Table(*words)
    for row in zip(*neighbours.values(), strict=True):
        table.add_row(*(styled(f"{word} ", (f"{cosine:.2f}", "dim")) for word, cosine in row))
    out.print(table)


def _load(source: str, skip_bad_rows: bool = False, member: str | None = None) -> "WordVectors":
    from ..vectors import WordVectors

    errors: Any = "skip" if skip_bad_rows else "raise"
    return WordVectors.load(source, errors=errors, member=member, verbose=not quiet.get())


def _written(vectors: "WordVectors", where: Path, done: str, as_json: bool) -> None:
    facts = {"words": len(vectors), "dim": vectors.dim, "out": str(where)}
    say(facts, as_json, f"{len(vectors):,} words of {vectors.dim} dimensions {done} to {where}")
