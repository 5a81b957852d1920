"""The command line: ``parasphere --help`` lists the commands."""

import os
import sys

import click

from .. import __version__
from ..errors import MissingExtraError
from .common import complain, show, shown_warnings
from .demo import demo
from .explore import explore
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
@click.version_option(__version__, message="parasphere %(version)s")
def app() -> None:
    """Texts as vectors on the unit sphere.

    Start with 'parasphere demo', and see a command's --help for examples.
    """


def main() -> None:
    """Run the command line; an invalid input ends it with one sentence and exit code 1."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # a shell closed it, as >&- does
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123
    try:
        with shown_warnings():
            code = app.main(prog_name="parasphere", standalone_mode=False)
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


for command in (
    demo, fit, transform, index, search, duplicates, topics, compare, explain, info, vectors, explore, page, serve,
):  # fmt: skip
    app.add_command(command)
