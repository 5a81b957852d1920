"""Progress bars: on a terminal only, after a while, and only if they are asked for."""

import io
import sys

import pytest

from parasphere import progress as module
from parasphere.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("shown", "terminal", "patience", "drawn"),
    [(True, True, 0.0, True), (False, True, 0.0, False), (True, False, 0.0, False), (True, True, 60.0, False)],
)
def test_when_a_bar_is_drawn(
    monkeypatch: pytest.MonkeyPatch, shown: bool, terminal: bool, patience: float, drawn: bool
) -> None:
    screen = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(module, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    with progress("reading \x1b[31m.txt", 3, unit="files", shown=shown) as advance:
        for _ in range(3):
            advance(1)
    assert ("reading" in screen.getvalue()) == drawn
    assert "\x1b[31m" not in screen.getvalue()  # what a name holds does not act on the terminal
    assert (r"\x1b[31m.txt" in screen.getvalue()) == drawn
