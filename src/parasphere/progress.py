"""A progress bar on standard error, if that is a terminal, for work that takes longer than a second."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .printable import visible

PATIENCE = 1.0  # seconds before a bar appears


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
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), amount, TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task(visible(label), total=total)
    began, drawn = time.monotonic(), False

    def advance(n: int) -> None:
        nonlocal drawn
        bar.advance(task, n)
        if not drawn and time.monotonic() - began > PATIENCE:
            drawn = True
            bar.start()

    try:
        yield advance
    finally:
        if drawn:
            bar.stop()
