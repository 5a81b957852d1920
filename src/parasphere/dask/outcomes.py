"""Results of the partitions of a corpus, added up in a tree, and the partitions that were skipped."""

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
WINDOW = 64  # tasks per worker that are submitted at a time


class SkippedPartitionsWarning(ParasphereWarning):
    """Partitions that could not be read were left out; ``skipped`` has the reason for each."""

    def __init__(self, message: str, skipped: dict[str, str]) -> None:
        super().__init__(message)
        self.skipped = skipped


@dataclass(frozen=True)
class Outcome:
    """The result of some partitions.

    Attributes
    ----------
    total : any
        The sum of their results; None if all of them were skipped.
    facts : dict of int to any
        A fact per partition that was not skipped, by its number.
    skipped : dict of str to str
        Why partitions were skipped, by their names.
    """

    total: Any
    facts: dict[int, Any] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: "Outcome") -> "Outcome":
        totals = [total for total in (self.total, other.total) if total is not None]
        return Outcome(
            sum(totals[1:], totals[0]) if totals else None,
            self.facts | other.facts,
            self.skipped | other.skipped,
        )


def attempt(number: int, name: str, errors: Errors, work: Callable[[], tuple[Any, Any]]) -> Outcome:
    """Run ``work`` on a partition, which returns a result and a fact; raise or skip it if it cannot be read."""
    try:
        total, fact = work()
    except (CorpusError, OSError) as error:
        message = str(error) if name in str(error) else f"{name}: {error}"
        if errors == "skip":
            return Outcome(None, skipped={name: message})
        raise CorpusError(message) from None
    return Outcome(total, {number: fact})


def added(outcomes: Sequence[Outcome]) -> Outcome:
    """Add up outcomes, on a worker."""
    return sum(outcomes[1:], outcomes[0])


def total_of(client: Any, tasks: Iterable[Any]) -> Outcome:
    """Return the sum of the outcomes of tasks (futures), which are added up on the workers as they come.

    Sums are exact, so that their order does not matter. Only a limited number of tasks per worker is submitted at a
    time, so that few outcomes exist at the same time.
    """
    more, waiting = iter(tasks), list[Any]()
    running = distributed().as_completed(list(islice(more, WINDOW * max(1, len(client.nthreads())))))
    while running.count() or len(waiting) > 1:
        if running.count():
            waiting.append(_sound(next(running)))
            running.update(list(islice(more, 1)))
        if len(waiting) >= FAN_IN or (not running.count() and len(waiting) > 1):
            running.update([client.submit(added, waiting, pure=False)])
            waiting = []
    outcome: Outcome = waiting[0].result()
    return outcome


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

        # Without the graph of the other partitions, which would be sent along.
        part: Any = source.material
        graph = part.dask.cull({part.key})
        layer = next(name for name, tasks in graph.layers.items() if part.key in tasks)
        material = type(part)(part.key, graph, layer=layer)
        task = delayed(function, pure=False)(material, source.number, source.name, *arguments)
        return client.compute(task)
    return client.submit(function, source.material, source.number, source.name, *arguments, pure=False)


def check_errors(errors: str) -> None:
    """Raise unless this is a valid value of ``errors``."""
    if errors not in ("raise", "skip"):
        raise ValueError(f"errors must be 'raise' or 'skip', not {errors!r}")
