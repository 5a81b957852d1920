"""The command line: ``parasphere --help`` lists the commands."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from .. import __version__
from ..errors import MissingExtraError
from . import options
from .common import Commands, complain, out, print_json, quiet, shown_warnings
from .explore import add_explore_commands
from .fitting import add_fit_command
from .model import add_model_commands
from .search import add_search_commands
from .serve import add_serve_command
from .topics import add_topic_commands
from .vectors import vectors_app

app = typer.Typer(
    cls=Commands,
    help="Texts as vectors on the unit sphere. Start with [bold]parasphere demo[/bold], and see a command's "
    "[bold]--help[/bold] for examples.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; an invalid input ends it with one sentence and exit code 1."""
    arguments = sys.argv[1:]
    for name in ("--quiet", "-q"):  # accepted before and after the command
        if name in arguments:
            arguments.remove(name)
            arguments.insert(0, name)
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
def prepare(
    wanted: Annotated[bool, Option("--quiet", "-q", help="Show no progress bars.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Accept the options that come before a command."""
    quiet.set(wanted)


@app.command()
def demo(picture: options.Picture = Path("map.png")) -> None:
    """Fit the model to texts that come with the library, in seconds, and show the results.

    \b
    Examples:
        parasphere demo
        parasphere demo --out docstrings.html
    """
    from .demo import show

    show(out, picture)


@app.command()
def doctor(as_json: options.AsJson = False) -> None:
    """Say what is installed and cached, and try it; the exit code is 1 if something is wrong.

    \b
    Examples:
        parasphere doctor
        parasphere doctor --json
    """
    from .diagnosis import examine, show

    facts = examine()
    if as_json:
        print_json(facts)
    else:
        show(out, facts)
    if facts["problems"]:
        raise typer.Exit(1)


add_fit_command(app)
add_model_commands(app)
add_search_commands(app)
add_topic_commands(app)
add_serve_command(app)
add_explore_commands(app)
app.add_typer(vectors_app, name="vectors")
