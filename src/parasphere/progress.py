"""A progress bar for work that lasts: on a terminal only, on standard error, and only after a second."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .printable import visible

PATIENCE = 1.0  # seconds of silence before a bar appears


@contextmanager
def progress(
    label: str, total: int | None = None, *, unit: str = "bytes", shown: bool = True
) -> Iterator[Callable[[int], None]]:
    """Yield a function ``advance(n)`` that moves a bar on by ``n`` bytes (or items, for another ``unit``).

    Nothing is drawn where standard error is no terminal, after :func:`silence`, or in the first second.

    Examples
    --------
    >>> with progress("reading", total=3, unit="files") as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not shown or not console.is_terminal:
        yield lambda _: None
        return
    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        amount,
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task(visible(label), total=total)
    began = time.monotonic()
    drawn = False

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
