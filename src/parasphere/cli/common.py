"""What the commands share: reading models and corpora, progress bars, the printing of results.

Everything is printed by :class:`Screen` or :func:`print_json`, so that nothing in a text, a path or the name of a
column can control the terminal or be taken for markup.
"""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup

from ..errors import ParasphereError, ParasphereWarning
from ..printable import visible, visible_json
from ..progress import progress

if TYPE_CHECKING:
    from ..estimator import SphericalParagraphModel
    from ..model import Encoder


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


out = Screen()


class Commands(TyperGroup):
    """A group of commands that answers ``--help`` and mistyped commands quickly and safely."""

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
    """Make control characters visible in typer's complaints (unexpected arguments, unknown options)."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):  # errors of typer have one
            setattr(error, "message", visible(message))  # noqa: B010
        raise


quiet = ContextVar("quiet", default=False)  # whether this command shows no progress bars


def keep_corpus(target: Path, corpus: Path) -> None:
    """Raise if a file that is to be written is the corpus, or one of its files."""
    if not target.is_file() or not corpus.exists():
        return
    if target.samefile(corpus) or corpus.resolve() in target.resolve().parents:
        raise ParasphereError(f"{target} belongs to the corpus, which would be lost: choose another name for it.")


@contextmanager
def reading(label: str, corpus: Path) -> Iterator[Callable[[int], None]]:
    """Show a progress bar while a corpus is read; yields the ``progress`` argument of ``corpus.blocks``."""
    total = corpus.stat().st_size if corpus.is_file() else None
    with progress(label, total, shown=not quiet.get()) as advance:
        before = 0

        def at(position: int) -> None:
            nonlocal before
            advance(position - before)
            before = position

        yield at


@contextmanager
def telling(name: str, *, shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Show what is being done, if standard error is a terminal; yields a function that says what comes next."""
    screen = Screen(stderr=True)
    if not (shown and screen.is_terminal):
        yield lambda _: None
        return
    with screen.status(styled(name)) as status:
        yield lambda doing: status.update(styled(f"{name}: {doing} …"))


def documents(corpus: Path) -> Any:
    """Return the source for ``corpus.blocks`` that an argument names; ``-`` is standard input."""
    from ..corpus import STANDARD_INPUT

    return STANDARD_INPUT if str(corpus) == "-" else corpus


def load_model(model: Path, vectors: str | None = None) -> "SphericalParagraphModel":
    """Load a model that 'parasphere fit' wrote."""
    from ..estimator import SphericalParagraphModel

    return SphericalParagraphModel.load(model, vectors=vectors)


def load_encoder(model: Path, vectors: str | None = None, threads: int | None = None) -> "Encoder":
    """Load what a model that 'parasphere fit' wrote has learned, without scikit-learn."""
    from ..model import Encoder

    return replace(Encoder.load(model, vectors=vectors), n_jobs=threads)


def model_facts(model: "SphericalParagraphModel") -> dict[str, Any]:
    """Return what there is to say about a fitted model."""
    import numpy as np

    vectors, strength = model.vectors_, model.encoder_.prior.strength
    return {
        "vectors": None if vectors is None else vectors.name,
        "dim": model.encoder_.dim,
        "concentration_of_documents": round(model.concentration_, 3),
        "mean_cosine_of_words": round(model.word_cosine_, 4),
        "prior_strength": "inf" if np.isinf(strength) else float(strength),
        "objective_per_word": round(float(model.evidence_[-1]), 6),
        "iterations": int(model.n_iter_),
        "converged": bool(model.converged_),
    }


def say(facts: dict[str, Any], as_json: bool, sentence: str | None = None) -> None:
    """Print facts for programs, or for people: as a sentence, or as a table if there is none."""
    if as_json:
        print_json(facts)
    elif sentence is not None:
        out.print(sentence, soft_wrap=True)
    else:
        table = Table(show_header=False, box=None)
        for name, value in facts.items():
            table.add_row(styled((name.replace("_", " "), "bold")), _shown(value))
        out.print(table)


def print_json(facts: Any) -> None:
    """Print facts for programs."""
    print(visible_json(json.dumps(facts, ensure_ascii=False, allow_nan=False)))


def complain(kind: str, message: object) -> None:
    """Print an error or a warning."""
    name = styled((f"{kind}:", "bold red" if kind == "error" else "yellow"))
    Screen(stderr=True).print(name, str(message), soft_wrap=True)


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Print each warning as a sentence, once."""
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


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "  ".join(map(_shown, value))
    if isinstance(value, dict) and {"known", "tokens", "share"} <= set(value):
        return f"{value['known']:,} of {value['tokens']:,} words known ({value['share']:.1%})"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
