"""The command line: ``parasphere --help`` lists the commands."""

import os
import sys
from pathlib import Path

import click

from .. import __version__
from ..errors import MissingExtraError
from . import options
from .common import complain, quiet, show, shown_warnings
from .fitting import fit
from .model import compare, explain, info, transform
from .page import page
from .search import duplicates, index, search
from .serve import serve
from .topics import topics
from .vectors import vectors


class Commands(click.Group):
    """A group that lists its commands in the order in which they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of the commands."""
        return list(self.commands)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True},
)
@click.option("--quiet", "-q", "wanted", is_flag=True, help="Show no progress bars (before or after the command).")
@click.version_option(__version__, message="parasphere %(version)s")
def app(wanted: bool) -> None:
    """Texts as vectors on the unit sphere.

    Start with 'parasphere demo', and see a command's --help for examples.
    """
    quiet.set(wanted)


def main() -> None:
    """Run the command line; an invalid input ends it with one sentence and exit code 1."""
    arguments = sys.argv[1:]
    for name in ("--quiet", "-q"):  # accepted before and after the command
        if name in arguments:
            arguments.remove(name)
            arguments.insert(0, name)
    try:
        with shown_warnings():
            code = app.main(arguments, prog_name="parasphere", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        complain("error", error.format_message())
        if error.ctx is not None:
            show(f"Try '{error.ctx.command_path} --help'.", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)  # Ctrl-C
    except BrokenPipeError:  # the program that reads the output has ended, such as 'head'
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, MissingExtraError, OSError) as error:
        complain("error", error)
        sys.exit(1)


@click.command()
@options.out("FILE", "The map to write: .png, .svg or .pdf.", required=False, default="map.png")
def demo(out: Path) -> None:
    """Fit a model to texts that come with the library; show results.

    \b
    Examples:
        parasphere demo
        parasphere demo --out docstrings.svg
    """
    from .demo import run

    run(out)


for command in (
    demo, fit, transform, index, search, duplicates, topics, compare, explain, info, vectors, page, serve,
):  # fmt: skip
    app.add_command(command)
