"""What is computed for requests: short work in the event loop, the rest in one thread.

The event loop must stay free to read, to refuse and to answer probes, so only what takes less time than handing it to a
thread and back is computed in it. One thread is enough for the rest: a second one would only contend for the
interpreter. Requests that gather meanwhile, and ask for the same computation, are computed at once, which costs little
more than one of them.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

MERGED = 256  # texts that are computed together; with more, those who came first would wait for the others


class Job(NamedTuple):
    """A computation that somebody waits for."""

    key: Hashable  # jobs of one key can be merged; None: with no other
    function: Callable[[list[Any]], Any]  # from items to a sequence of as many results
    items: list[Any]
    future: "asyncio.Future[Any]"


class Work:
    """Computes in a thread, which is started by ``with`` and computes what is left before it ends, and in the loop.

    Examples
    --------
    >>> async def squares():
    ...     with Work() as work:
    ...         square = lambda numbers: [number**2 for number in numbers]
    ...         return await asyncio.gather(*(work.do(square, [n], key="square") for n in range(4)))
    >>> asyncio.run(squares())
    [[0], [1], [4], [9]]
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._held: deque[Job] = deque()
        self._short: deque[Job] = deque()  # what the loop computes next
        self._thread = threading.Thread(target=self._run, name="parasphere-work", daemon=True)

    def __enter__(self) -> "Work":
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._jobs.put(None)
        self._thread.join()

    @property
    def alive(self) -> bool:
        """Whether jobs are still computed."""
        return self._thread.is_alive()

    def do(
        self, function: Callable[[list[Any]], Any], items: list[Any], *, key: Hashable = None, short: bool = False
    ) -> "asyncio.Future[Any]":
        """Return the future result of a function of a list of items; a cancelled one is not computed.

        Parameters
        ----------
        function : callable
            From a list of items to a sequence of as many results, each of which depends on its own item alone.
        items : list
        key : hashable, default=None
            Jobs with the same key have the same function and may be computed together. None is computed alone.
        short : bool, default=False
            Whether it takes so little time that the loop may compute it.
        """
        job = Job(key, function, items, self._loop.create_future())
        if not short:
            self._jobs.put(job)
            return job.future
        if not self._short:
            self._loop.call_soon(self._compute_short)
        self._short.append(job)
        return job.future

    def _compute_short(self, before: int = 0) -> None:
        """Compute what waits, once a turn of the loop, in which requests are read, has brought no more of it."""
        if before < len(self._short) < MERGED:
            self._loop.call_soon(self._compute_short, len(self._short))
            return
        while self._short:
            self._compute(_together(self._short), _at_once)

    def _run(self) -> None:
        while True:
            if not self._held:
                job = self._jobs.get()
                if job is None:
                    return
                self._held.append(job)
            ended = self._gather()
            self._compute(_together(self._held), self._loop.call_soon_threadsafe)
            if ended:
                while self._held:
                    self._compute(_together(self._held), self._loop.call_soon_threadsafe)
                return

    def _gather(self) -> bool:
        """Take all jobs that have come; tell whether the end has."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return False
            if job is None:
                return True
            self._held.append(job)

    def _compute(self, jobs: list[Job], tell: Callable[..., object]) -> None:
        jobs = [job for job in jobs if not job.future.cancelled()]
        if not jobs:
            return
        items = jobs[0].items if len(jobs) == 1 else [item for job in jobs for item in job.items]
        try:
            results = jobs[0].function(items)
        except BaseException as error:
            if len(jobs) > 1:  # the fault of one of them, which the others must not suffer from
                for job in jobs:
                    self._compute([job], tell)
            else:
                tell(_fail, jobs[0].future, error)
            return
        tell(_deliver, jobs, results)


def _together(waiting: deque[Job]) -> list[Job]:
    """Take the first job and those to be computed with it from those that wait."""
    first = waiting.popleft()
    if first.key is None:
        return [first]
    jobs, others, room = [first], list[Job](), MERGED - len(first.items)
    while waiting:
        job = waiting.popleft()
        if job.key == first.key and len(job.items) <= room:
            jobs.append(job)
            room -= len(job.items)
        else:
            others.append(job)
    waiting.extend(others)
    return jobs


def _at_once(function: Callable[..., object], *arguments: object) -> None:
    function(*arguments)


def _deliver(jobs: list[Job], results: Any) -> None:
    begin = 0
    for job in jobs:
        end = begin + len(job.items)
        if not job.future.done():
            job.future.set_result(results[begin:end])
        begin = end


def _fail(future: "asyncio.Future[Any]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
