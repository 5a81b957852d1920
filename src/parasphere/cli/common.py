"""What the commands share: how arguments are spelled, how corpora are read, how facts are shown.

Everything that is printed goes through :class:`Screen` or :func:`print_json`. Nothing in a text, a path or the name of
a column can then act on the terminal or be taken for markup.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from ..errors import ParasphereWarning
from ..places import GLOVE
from ..printable import visible, visible_json
from ..progress import progress
from .hints import as_typed


class Screen(Console):
    """A console to which a ``str`` is text and nothing else; what has a style is made by :func:`styled`."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Take all text that is printed, in tables too."""
        return super().render_str(visible(text), **options)


def styled(*parts: str | tuple[str, str]) -> Text:
    """Put pieces of text together, some of them with a style: ``styled("see ", ("here", "bold"))``."""
    return Text.assemble(*(visible(part) if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts))


out = Screen()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for other programs.")]
VectorsOption = Annotated[str, typer.Option("--vectors", "-v", help=f"'{GLOVE}', a file or a folder of word vectors.")]
Corpus = Annotated[
    Path,
    typer.Argument(
        metavar="CORPUS",
        help="Texts: .txt (a line each), .jsonl, .csv, .tsv, .parquet, any of these in .gz, .bz2, .xz or .zip, a "
        "folder of files, or - for standard input.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that 'parasphere fit' wrote.")]
TextColumn = Annotated[str, typer.Option("--text-column", help="The column that holds the texts.")]
LabelColumn = Annotated[str | None, typer.Option("--label-column", help="The column that holds labels.")]
IdColumn = Annotated[str | None, typer.Option("--id-column", help="The column that holds names of documents.")]
Format = Annotated[
    str | None,
    typer.Option(
        help="txt, jsonl, csv, tsv or parquet, where the file's name does not say it (standard input is txt)."
    ),
]
LoadVectors = Annotated[
    str | None, typer.Option("--vectors", "-v", help="Where the model's word vectors are now, if they were moved.")
]
Encoding = Annotated[str, typer.Option(help="How the file's text is encoded.")]
Threads = Annotated[
    int, typer.Option(min=-1, help="Threads that read text; -1 for one a core. Results do not depend on it.")
]


class Commands(TyperGroup):
    """A group of commands that answers ``--help``, and what is mistyped, quickly and safely."""

    def get_params(self, ctx: Any) -> Any:
        """Return the options of the group, as typer does; the flags among them are False by default.

        From None, typer would convert the flags that are not given by importing pydantic; it leaves False alone.
        """
        params = super().get_params(ctx)
        for param in params:
            if getattr(param, "is_flag", False) and param.default is None:
                param.default = False
        return params

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the command line."""
        with _visible_complaints():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _visible_complaints():
            return super().invoke(ctx)


@contextmanager
def _visible_complaints() -> Iterator[None]:
    """Make what typer complains of (an argument too many, an unknown option) visible before it is printed."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):  # typer's own; ours have none
            setattr(error, "message", visible(message))  # noqa: B010
        raise


_quiet = False


def be_quiet(wanted: bool) -> None:
    """Draw no progress bars in this command, or draw them."""
    global _quiet
    _quiet = wanted


def quiet() -> bool:
    """Tell whether no progress bars are to be drawn."""
    return _quiet


@contextmanager
def reading(label: str, corpus: Path) -> Iterator[Callable[[int], None]]:
    """Show a bar while a corpus is read; yields what ``corpus.blocks`` takes for ``progress``."""
    total = corpus.stat().st_size if corpus.is_file() else None
    with progress(label, total, shown=not quiet()) as advance:
        before = 0

        def at(position: int) -> None:
            nonlocal before
            advance(position - before)
            before = position

        yield at


def documents(corpus: Path) -> Any:
    """Return what ``corpus.blocks`` takes for a corpus that was named on the command line; ``-`` is standard input."""
    from ..corpus import STANDARD_INPUT

    return STANDARD_INPUT if str(corpus) == "-" else corpus


def say(facts: dict[str, Any], sentence: str, as_json: bool) -> None:
    """Print facts for programs, or a sentence for people."""
    if as_json:
        print_json(facts)
    else:
        out.print(sentence, soft_wrap=True)


def print_json(facts: Any) -> None:
    """Print facts for programs."""
    print(visible_json(json.dumps(facts, ensure_ascii=False, allow_nan=False)))


def complain(kind: str, message: object) -> None:
    """Print an error or a warning, with hints as they are typed here rather than in Python."""
    name = styled((f"{kind}:", "bold red" if kind == "error" else "yellow"))
    Screen(stderr=True).print(name, as_typed(str(message)), soft_wrap=True)


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Show every warning as a sentence, when it comes, and none twice."""
    told: set[str] = set()

    def show(message: Warning | str, *_where: Any) -> None:
        if (sentence := str(message)) not in told:
            told.add(sentence)
            complain("warning", sentence)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ParasphereWarning)
        warnings.filterwarnings("always", category=UserWarning, module="parasphere")  # scikit-learn's kinds too
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def facts_table(facts: dict[str, Any]) -> None:
    """Print facts, one a line."""
    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(styled((name.replace("_", " "), "bold")), _shown(value))
    out.print(table)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_shown, value))
    if isinstance(value, dict) and {"known", "tokens", "share"} <= set(value):
        return f"{value['known']:,} of {value['tokens']:,} words known ({value['share']:.1%})"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
