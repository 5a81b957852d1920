"""A progress bar on standard error, if that is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress


@contextmanager
def progress(label: str, total: int | None = None, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Yield a function ``advance(n)`` that advances a progress bar by ``n``.

    Parameters
    ----------
    label : str
        What is being done.
    total : int, default=None
        The amount of work, if it is known.
    shown : bool, default=True
        Whether to show the bar at all: the ``verbose`` of estimators.
    """
    screen = Console(stderr=True)
    with Progress(console=screen, transient=True, disable=not (shown and screen.is_terminal)) as bar:
        task = bar.add_task(escape(label), total=total)
        yield lambda n: bar.advance(task, n)
