"""Commands as they are typed, run in this process."""

import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import NamedTuple
from unittest.mock import patch

import pytest

from reproduction.cli import main


class Told(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


def typed(*arguments: object) -> Told:
    """Run a command."""
    out, err = StringIO(), StringIO()
    with (
        patch.object(sys, "argv", ["reproduce", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as left,
    ):
        main()
    return Told(int(left.value.code or 0), out.getvalue(), err.getvalue())
