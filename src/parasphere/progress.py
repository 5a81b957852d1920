"""A progress bar on standard error, if that is a terminal, for work that takes longer than a second."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .printable import visible

PATIENCE = 1.0  # seconds before a bar appears
PAUSE = 0.1  # seconds between two drawings of it
WIDTH = 30  # characters of the whole bar


@contextmanager
def progress(
    label: str, total: int | None = None, *, unit: str = "bytes", shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Yield a function ``advance(n)`` that advances a progress bar by ``n``.

    Nothing is drawn in the first second, or if standard error is not a terminal.

    Parameters
    ----------
    label : str
        What is being done.
    total : int, default=None
        The amount of work, if it is known.
    unit : str, default="bytes"
        What is counted; anything but "bytes" is shown as plain numbers.
    shown : bool, default=True
        Whether to show the bar at all: the ``verbose`` of estimators.

    Examples
    --------
    >>> with progress("reading", total=3, unit="files") as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    screen = sys.stderr
    if not (shown and screen.isatty()):
        yield lambda _: None
        return
    began, drawn, done = time.monotonic(), 0.0, 0

    def advance(n: int) -> None:
        nonlocal done, drawn
        done += n
        now = time.monotonic()
        if now - began > PATIENCE and now - drawn > PAUSE:
            drawn = now
            print(end=f"\r{_line(label, done, total, unit, now - began)}\x1b[K", file=screen, flush=True)

    try:
        yield advance
    finally:
        if drawn:
            print(end="\r\x1b[K", file=screen, flush=True)


def _line(label: str, done: int, total: int | None, unit: str, seconds: float) -> str:
    """Return the line to show: the label, a bar, the amount, and the time left."""
    scale, name = (1e6, "MB") if unit == "bytes" else (1, unit)
    amount = f"{done / scale:,.0f}" if not total else f"{done / scale:,.0f} of {total / scale:,.0f}"
    line, bar = f"{amount} {name}", ""
    if total and done:
        bar = "━" * round(WIDTH * min(1.0, done / total))
        left = round(seconds * max(0, total - done) / done)
        line += f", {left // 60}:{left % 60:02} left"
        bar = f"{bar:{WIDTH}}  "
    line = f"{visible(label)}  {bar}{line}"
    return line[: shutil.get_terminal_size().columns - 1]
