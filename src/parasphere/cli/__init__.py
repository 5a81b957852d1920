"""The commands: ``parasphere --help`` lists them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..errors import MissingExtraError
from ..printable import visible
from ..progress import silence
from .common import complain, out, shown_warnings
from .experiments import add_experiment_commands
from .model import add_model_commands
from .training import add_training_commands
from .vectors import vectors_app


class _Commands(TyperGroup):
    """The commands; what typer complains of (an argument too many, an unknown option) is made visible first."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _visible_complaints():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _visible_complaints():
            return super().invoke(ctx)


@contextmanager
def _visible_complaints() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):  # typer's own; ours have none
            setattr(error, "message", visible(message))  # noqa: B010
        raise


app = typer.Typer(
    cls=_Commands,
    help="Texts as vectors on the unit sphere. Start with [bold]parasphere demo[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; an input at fault ends it with one sentence and exit code 1."""
    arguments = sys.argv[1:]
    if "--quiet" in arguments:  # taken before and after the command
        arguments.remove("--quiet")
        arguments.insert(0, "--quiet")
    try:
        with shown_warnings():
            app(arguments, prog_name="parasphere")
        sys.exit(0)
    except (ValueError, MissingExtraError, OSError) as error:
        complain("error", error)
        sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"parasphere {__version__}")
        raise typer.Exit


@app.callback()
def options(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Draw no progress bars.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Take the options that come before a command."""
    silence(quiet)


@app.command()
def demo(
    picture: Annotated[Path, typer.Option("--out", "-o", help="Where to write the map.")] = Path("map.png"),
) -> None:
    """Fit the model to embedded texts with embedded vectors, in seconds, and tell what it learned."""
    from ..demo import show

    show(out, picture)


add_model_commands(app)
add_experiment_commands(app)
add_training_commands(app)
app.add_typer(vectors_app, name="vectors")
