"""What the commands print on, and the options that several of them share.

Everything is printed by :class:`Screen` or ``print_json``, so that nothing in a text, a path or the name of a column
can control the terminal or be taken for markup.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from rich.console import Console
from rich.text import Text
from typer import Option
from typer.core import TyperGroup

from parasphere.errors import ParasphereWarning

from ..printable import visible, visible_json

AsJson = Annotated[bool, Option("--json", help="Print JSON for other programs.")]
TextColumn = Annotated[
    list[str], Option("--text-column", help="Column with the texts; several such options join columns to one text.")
]
LabelColumn = Annotated[str | None, Option("--label-column", help="Name of the column with the labels.")]
IdColumn = Annotated[str | None, Option("--id-column", help="Name of the column with the ids of documents.")]
Encoding = Annotated[str, Option(help="Character encoding of the file.")]
Format = Annotated[
    str | None, Option(help="txt, jsonl, json, csv, tsv or parquet, if the name of the file does not tell.")
]


class Screen(Console):
    """A console that prints a ``str`` as plain text; :func:`styled` makes text with a style."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Render all text that is printed, in tables too."""
        return super().render_str(visible(text), **options)


def styled(*parts: str | tuple[str, str]) -> Text:
    """Join pieces of text, some of them with a style: ``styled("see ", ("here", "bold"))``."""
    return Text.assemble(*(visible(part) if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts))


out, err = Screen(), Screen(stderr=True)


def print_json(facts: Any) -> None:
    """Print a value as JSON."""
    print(visible_json(json.dumps(facts, ensure_ascii=False, allow_nan=False)))


def complain(kind: str, message: object) -> None:
    """Print an error or a warning."""
    err.print(styled((f"{kind}:", "bold red" if kind == "error" else "yellow"), f" {message}"), soft_wrap=True)


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print each warning as a sentence, once."""
    printed: set[str] = set()

    def print_once(message: Warning | str, *_where: Any) -> None:
        if (sentence := str(message)) not in printed:
            printed.add(sentence)
            complain("warning", sentence)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ParasphereWarning)
        warnings.filterwarnings("always", category=UserWarning, module="parasphere")  # also of scikit-learn's classes
        warnings.showwarning = print_once  # type: ignore[assignment]
        yield


class Commands(TyperGroup):
    """A group of commands whose complaints (unexpected arguments, unknown options) show control characters."""

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
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):  # errors of typer have one
            setattr(error, "message", visible(message))  # noqa: B010
        raise
