"""What the commands share: reading models and corpora, and printing.

Everything is printed by :func:`show`, :func:`show_table` or :func:`print_json`, so that nothing in a text, a path or
the name of a column can control the terminal.
"""

import json
import math
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ParasphereError, ParasphereWarning, shortened
from ..printable import visible, visible_json
from ..progress import progress
from ..tables import aligned

if TYPE_CHECKING:
    from ..model import Encoder

Style = dict[str, Any]  # options of click.style
Cell = str | tuple[str, Style]
BOLD: Style = {"bold": True}
DIM: Style = {"dim": True}


def show(*parts: Cell, err: bool = False) -> None:
    """Print a line of text, pieces of it with a style; colours only on a terminal, and not if NO_COLOR is set."""
    _echo("".join(_styled(visible(text), style) for text, style in map(_cell, parts)), err)


def show_table(header: Sequence[str], rows: Sequence[Sequence[Cell]], *, cut: bool = True) -> None:
    """Print a table, one line per row; on a terminal, lines are cut where it ends, unless ``cut`` is false."""
    cells = [
        [_cell(cell) for cell in row] for row in ([[(name, DIM) for name in header]] if header else []) + list(rows)
    ]
    width = shutil.get_terminal_size().columns if cut and sys.stdout.isatty() else None
    texts = [[text for text, _ in row] for row in cells]
    for line in aligned(texts, width=width, style=lambda row, column, text: _styled(text, cells[row][column][1])):
        _echo(line)


def say(facts: dict[str, Any], as_json: bool, sentence: str | None = None) -> None:
    """Print facts as JSON, as a sentence or, if there is none, as a table."""
    if as_json:
        print_json(facts)
    elif sentence is not None:
        show(sentence)
    else:
        rows = [((name.replace("_", " "), BOLD), _shown(value)) for name, value in facts.items()]
        show_table([], rows, cut=False)


def print_json(facts: Any) -> None:
    """Print a value as JSON: dates as ISO 8601, and infinite numbers, which JSON does not have, as null."""
    click.echo(visible_json(json.dumps(_finite(facts), ensure_ascii=False, allow_nan=False, default=_spelled)))


def complain(kind: str, message: object) -> None:
    """Print an error or a warning."""
    show(
        (f"{kind}:", {"fg": "red", "bold": True} if kind == "error" else {"fg": "yellow"}),
        f" {shortened(str(message))}",
        err=True,
    )


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


def keep_corpus(target: Path, corpus: Path) -> None:
    """Raise if the file to write is the corpus or one of its files."""
    if not target.is_file() or not corpus.exists():
        return
    if target.samefile(corpus) or corpus.resolve() in target.resolve().parents:
        raise ParasphereError(f"{target} belongs to the corpus and would be overwritten: choose another name.")


@contextmanager
def reading(label: str, corpus: Path) -> Iterator[Callable[[int], None]]:
    """Show a progress bar while a corpus is read; yields the ``progress`` argument of ``corpus.blocks``."""
    total = corpus.stat().st_size if corpus.is_file() else None
    with progress(label, total) as advance:
        before = 0

        def at(position: int) -> None:
            nonlocal before
            advance(position - before)
            before = position

        yield at


@contextmanager
def telling(name: str) -> Iterator[Callable[[str], None]]:
    """Show the current step on standard error, if that is a terminal; yields a function that sets it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield lambda doing: print(end=f"\r\x1b[K{visible(name)}: {visible(doing)} …", file=sys.stderr, flush=True)
    finally:
        print(end="\r\x1b[K", file=sys.stderr, flush=True)


def documents(corpus: Path) -> Any:
    """Return the source for ``corpus.blocks`` that an argument names; ``-`` is standard input."""
    from ..corpus import STANDARD_INPUT

    return STANDARD_INPUT if str(corpus) == "-" else corpus


def read_blocks(corpus: Path, **columns: Any) -> list[Any]:
    """Return the blocks of a corpus."""
    from ..corpus import blocks

    with reading("reading", corpus) as at:
        return list(blocks(documents(corpus), progress=at, **columns))


def load_encoder(model: Path, threads: int | None = None) -> "Encoder":
    """Load the encoder of a model written by 'parasphere fit', without importing scikit-learn."""
    from ..model import Encoder

    return replace(Encoder.load(model), n_jobs=threads)


def general_encoder(vectors: str | None = None) -> "Encoder":
    """Return an encoder without a corpus: weighted sums of word vectors, by default those of the library."""
    import numpy as np

    from ..model import Encoder, Prior, Reader
    from ..vectors import ENGLISH, WordVectors

    loaded = WordVectors.load(vectors or ENGLISH)
    reader = Reader(loaded, weights=loaded.weights, unknown_weight=loaded.unknown_weight)
    return Encoder(reader, Prior(np.eye(loaded.dim)[0], concentration=0.0, cosine=0.5, strength=np.inf))


def encoder_facts(encoder: "Encoder") -> dict[str, Any]:
    """Return the learned parameters of a model, to be printed."""
    reader, prior = encoder.reader, encoder.prior
    return {
        "vectors": None if reader is None else reader.vectors.name,
        "dim": encoder.dim,
        "concentration_of_documents": round(prior.concentration, 3),
        "mean_cosine_of_words": round(prior.cosine, 4),
        "prior_strength": "inf" if prior.strength == float("inf") else float(prior.strength),
    }


def _finite(value: Any) -> Any:
    """Return a value of lists and dicts with None in place of numbers that are not finite."""
    if isinstance(value, dict):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _spelled(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else str(value)


def _cell(cell: Cell) -> tuple[str, Style]:
    return (cell, {}) if isinstance(cell, str) else cell


def _styled(text: str, style: Style) -> str:
    return click.style(text, **style) if style and text else text


def _echo(line: str, err: bool = False) -> None:
    click.echo(line, err=err, color=False if os.environ.get("NO_COLOR") else None)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, dict) and {"known", "tokens", "share"} <= set(value):
        return f"{value['known']:,} of {value['tokens']:,} words known ({value['share']:.1%})"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
