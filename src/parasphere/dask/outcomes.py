"""What comes of the partitions of a corpus: sums that are added up in a tree, and the partitions that were skipped."""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, TypeAlias

from ..errors import CorpusError, ParasphereWarning
from .connecting import distributed
from .partitions import Source

Errors: TypeAlias = Literal["raise", "skip"]
FAN_IN = 8  # outcomes that are added up by one task
WINDOW = 64  # tasks per worker that the scheduler is given at a time
POLL, LOOK, LOOKS = 0.005, 2.0, 3  # seconds until it is asked again what is done and who works, and how often


class SkippedPartitionsWarning(ParasphereWarning):
    """Partitions that could not be read were left out; ``skipped`` has the reason for each."""

    def __init__(self, message: str, skipped: dict[str, str]) -> None:
        super().__init__(message)
        self.skipped = skipped


@dataclass(frozen=True)
class Outcome:
    """What came of some partitions.

    Attributes
    ----------
    total : any
        What they add up to by ``+``; None if all of them were skipped.
    facts : dict of int to any
        A fact per partition that was not skipped, by its number.
    places : dict of int to str
        The worker of each.
    skipped : dict of str to str
        Why partitions were skipped, by their names.
    """

    total: Any
    facts: dict[int, Any] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: "Outcome") -> "Outcome":
        totals = [total for total in (self.total, other.total) if total is not None]
        return Outcome(
            sum(totals[1:], totals[0]) if totals else None,
            self.facts | other.facts,
            self.places | other.places,
            self.skipped | other.skipped,
        )


def attempt(number: int, name: str, errors: Errors, work: Callable[[], tuple[Any, Any]]) -> Outcome:
    """Do the work of a partition, which returns what adds up and a fact; raise if it cannot be read, or skip it."""
    try:
        total, fact = work()
    except (CorpusError, OSError) as error:
        message = str(error) if name in str(error) else f"{name}: {error}"
        if errors == "skip":
            return Outcome(None, skipped={name: message})
        raise CorpusError(message) from None
    return Outcome(total, {number: fact}, {number: distributed().get_worker().address})


def added(outcomes: Sequence[Outcome]) -> Outcome:
    """Add up outcomes, on a worker."""
    return sum(outcomes[1:], outcomes[0])


def total_of(client: Any, tasks: Iterable[Any], again: Callable[[], Iterable[Any]] | None = None) -> Outcome:
    """Return the sum of the outcomes of tasks (futures), which are added up on the workers as they come.

    Sums are exact, so that which are added first does not matter. Only a few tasks per worker are given to the
    scheduler at a time, and only a few outcomes exist at a time.

    Parameters
    ----------
    client : distributed.Client
    tasks : iterable of futures
    again : callable, default=None
        Needed if tasks prefer a worker: starts them anew, on any. If all workers die at once, tasks that preferred one
        of them wait for it forever, whichever workers come (``allow_other_workers`` does not help them then).
    """
    if again is None:
        return _Total(client).of(tasks, next)
    while True:
        total = _Total(client)
        try:
            return total.of(tasks, total.next_unless_idle)
        except _NobodyWorksError:
            total.cancel()
            tasks = again()


class _NobodyWorksError(Exception):
    """There are workers, but none of them computes what is waited for."""


class _Total:
    """Adds up the outcomes of tasks."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.coming: Any = distributed().as_completed()
        self.running: dict[Any, Any] = {}  # futures by their keys
        self.keys: set[Any] = set()  # of all tasks: what a dead worker held is computed again

    def of(self, tasks: Iterable[Any], next_of: Callable[[Any], Any]) -> Outcome:
        more, waiting = iter(tasks), list[Any]()
        self.start(islice(more, WINDOW * max(1, len(self.client.nthreads()))))
        while self.running or len(waiting) > 1:
            if self.running:
                done = next_of(self.coming)
                del self.running[done.key]
                waiting.append(_sound(done))
                self.start(islice(more, 1))
            if len(waiting) >= FAN_IN or (not self.running and len(waiting) > 1):
                self.start([self.client.submit(added, waiting, pure=False)])
                waiting = []
        outcome: Outcome = waiting[0].result()
        return outcome

    def start(self, futures: Iterable[Any]) -> None:
        for future in futures:
            self.running[future.key] = future
            self.keys.add(future.key)
            self.coming.add(future)

    def next_unless_idle(self, coming: Any) -> Any:
        """Return the next task that is done; raise if workers have had none of them to compute for some time."""
        idle, looked = 0, time.monotonic()
        while not coming.has_ready():
            time.sleep(POLL)
            if time.monotonic() > looked + LOOK:
                computing = {key for each in self.client.processing().values() for key in each}
                idle = idle + 1 if self.client.nthreads() and not computing & self.keys else 0
                looked = time.monotonic()
            if idle >= LOOKS:
                raise _NobodyWorksError
        return next(coming)

    def cancel(self) -> None:
        self.client.cancel(list(self.running.values()))


def _sound(future: Any) -> Any:
    if future.status == "error":
        future.result()  # raises
    return future


def warn_of_skipped(outcome: Outcome, sources: Sequence[Source]) -> None:
    """Warn of partitions that were skipped; raise if none is left."""
    if not outcome.skipped:
        return
    count, first = len(outcome.skipped), next(iter(sorted(outcome.skipped.values())))
    if count == len(sources):
        raise CorpusError(f"none of the {count} partitions can be read; the first: {first}")
    warnings.warn(
        SkippedPartitionsWarning(
            f"{count} of {len(sources)} partitions were skipped; the first: {first}",
            dict(sorted(outcome.skipped.items())),
        ),
        stacklevel=3,
    )


def submitted(client: Any, function: Any, source: Source, *arguments: Any) -> Any:
    """Start a task on the material of a partition; return its future."""
    if hasattr(source.material, "dask"):  # a delayed part of a collection
        from dask.delayed import delayed

        # Without the graph of the other partitions, which would be sent with each.
        part: Any = source.material
        graph = part.dask.cull({part.key})
        layer = next(name for name, tasks in graph.layers.items() if part.key in tasks)
        material = type(part)(part.key, graph, layer=layer)
        task = delayed(function, pure=False)(material, source.number, source.name, *arguments)
        return client.compute(task)
    return client.submit(function, source.material, source.number, source.name, *arguments, pure=False)


def check_errors(errors: str) -> None:
    """Raise unless this is what can be done about partitions that cannot be read."""
    if errors not in ("raise", "skip"):
        raise ValueError(f"errors must be 'raise' or 'skip', not {errors!r}")
