"""The time that requests may take: one timer for all of them, as all may take the same.

:func:`asyncio.timeout` makes and cancels a timer for each, which takes as long as reading the body of a short request.
"""

import asyncio
from typing import Any

Task = asyncio.Task[Any]


class Deadlines:
    """Cancels tasks that take too long.

    Parameters
    ----------
    seconds : float
        What each may take.

    Examples
    --------
    >>> async def slow(deadlines):
    ...     task = deadlines.begin()
    ...     try:
    ...         await asyncio.sleep(60)
    ...     except asyncio.CancelledError:
    ...         return deadlines.missed(task)
    >>> asyncio.run(slow(Deadlines(0.01)))
    True
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._due: dict[Task, float] = {}  # by the clock of the loop; who began first is due first
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> Task:
        """Give the current task its time; return it."""
        task = asyncio.current_task()
        assert task is not None
        loop = task.get_loop()
        self._due[task] = loop.time() + self.seconds
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._look, loop)
        return task

    def end(self, task: Task) -> None:
        """Let a task go."""
        self._due.pop(task, None)

    def missed(self, task: Task) -> bool:
        """Tell whether a task that was cancelled has been so because its time was over; it can then go on."""
        if task in self._due:  # somebody else has cancelled it
            return False
        task.uncancel()
        return True

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        for task, due in list(self._due.items()):
            if due > loop.time():
                self._timer = loop.call_at(due, self._look, loop)
                return
            del self._due[task]
            task.cancel()
