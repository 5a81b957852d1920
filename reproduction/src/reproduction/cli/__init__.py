"""The command line of the experiments: ``reproduce --help`` lists the commands."""

import sys

import typer

from parasphere.errors import MissingExtraError

from .console import Commands, complain, shown_warnings
from .experiments import add_experiment_commands
from .training import training_app

app = typer.Typer(
    cls=Commands,
    help="The experiments of the paper. See a command's [bold]--help[/bold] for examples.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line; an invalid input ends it with one sentence and exit code 1."""
    try:
        with shown_warnings():
            app(prog_name="reproduce")
        sys.exit(0)
    except (ValueError, MissingExtraError, OSError) as error:
        complain("error", error)
        sys.exit(1)


add_experiment_commands(app)
app.add_typer(training_app, name="train-encoder")
