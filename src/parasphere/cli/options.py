"""The arguments and options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from ..places import ENGLISH, GLOVE

if TYPE_CHECKING:
    from ..text import AnyTokenizer

AsJson = Annotated[bool, Option("--json", help="Print JSON for other programs.")]
Vectors = Annotated[str, Option("--vectors", "-v", help=f"Word vectors: '{ENGLISH}', '{GLOVE}', a file or a folder.")]
Corpus = Annotated[
    Path,
    Argument(
        metavar="CORPUS",
        help="Texts: .txt (one per line), .jsonl, .json, .csv, .tsv or .parquet, also in .gz, .bz2, .xz, .zst or .zip; "
        "a folder, one text per file; or - for standard input.",
    ),
]
Model = Annotated[Path, Argument(metavar="MODEL", help="The folder of a model, written by 'parasphere fit'.")]
TextColumn = Annotated[str, Option("--text-column", help="Name of the column with the texts.")]
LabelColumn = Annotated[str | None, Option("--label-column", help="Name of the column with the labels.")]
IdColumn = Annotated[str | None, Option("--id-column", help="Name of the column with the ids of documents.")]
_FORMAT = "txt, jsonl, json, csv, tsv or parquet, if the name of the file does not tell (standard input is txt)."
Format = Annotated[str | None, Option(help=_FORMAT)]
_NULL = (
    "What becomes of a row whose text is null: an error, no document, or an empty text. CSV has no nulls: an empty "
    "field is an empty text."
)
Null = Annotated[Literal["error", "skip", "empty"], Option("--null", help=_NULL)]
_MOVED = "Where the word vectors of the model are now, if they were moved."
LoadVectors = Annotated[str | None, Option("--vectors", "-v", help=_MOVED)]
Encoding = Annotated[str, Option(help="Character encoding of the file.")]
_THREADS = "Number of threads that read text; -1 is one per core. Results do not depend on it."
Threads = Annotated[int, Option(min=-1, help=_THREADS)]
Picture = Annotated[Path, Option("--out", "-o", help="The map to write: .png, .svg, .pdf or .html (interactive).")]
Member = Annotated[str | None, Option(help="Name of the file in a .zip with several.")]
_CLUSTER = "Address of a Dask scheduler, or local:N for N workers here. CORPUS may be a pattern, as in 'texts/*.csv'."
Cluster = Annotated[str | None, Option(metavar="ADDRESS", help=_CLUSTER)]
Tokens = Annotated[
    Literal["letters", "words", "segmenting"] | None,
    Option(
        "--tokenizer",
        help="What is a word: runs of 'letters'; 'words' of letters and digits; or 'segmenting', for Chinese, Japanese "
        "and Thai (extra 'segmenting'). (default: by the vectors and the script)",
    ),
]
OfVectors = Annotated[
    Literal["offset", "direction"],
    Option("--space", help="'offset': what each text adds to the corpus, for comparing; 'direction': as in the paper."),
]


def tokenizer_named(name: str | None, stop_words: bool | None = None) -> "AnyTokenizer | None":
    """Return the tokenizer of an option; None leaves the choice to the model."""
    from ..text import SegmentingTokenizer, Tokenizer

    if name is None and stop_words is None:
        return None
    words = Tokenizer(digits=name in ("words", "segmenting"), stop_words="english" if stop_words else None)
    return SegmentingTokenizer(words) if name == "segmenting" else words
