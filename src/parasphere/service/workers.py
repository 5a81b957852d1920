"""The processes of a server with several workers, as their parent sees them."""

import logging
import time

from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

START_SECONDS = 600  # a process that has not answered once by then has failed to start
_log = logging.getLogger("uvicorn.error")


class Worker(Process):
    """A worker that may take its time to start, and whose end is noticed at once.

    uvicorn takes a worker that does not answer for dead, and replaces it. On a busy machine one that still imports its
    modules would be replaced again and again, by others that are no faster.
    """

    _answered = False
    _asked: float | None = None  # when it was asked for its first answer

    def start(self) -> None:
        """Start the process; its end of the pipe is its own, so that asking a process that has ended fails."""
        super().start()
        self.child_conn.close()

    def is_alive(self, timeout: float = 5) -> bool:
        """Tell whether the process runs, and answers within some seconds if it ever has.

        Parameters
        ----------
        timeout : float, default=5
        """
        if self._answered:
            return super().is_alive(timeout)
        if not self.process.is_alive():
            return False
        try:
            if self._asked is None:
                self.parent_conn.send(b"ping")
                self._asked = time.monotonic()
            if self.parent_conn.poll():
                self.parent_conn.recv()
                self._answered = True
        except (OSError, EOFError):
            return False
        return self._answered or time.monotonic() < self._asked + START_SECONDS


class Workers(Multiprocess):
    """Keeps as many workers as were asked for, until one cannot start at all."""

    def init_processes(self) -> None:
        """Start all workers."""
        self.processes = [self._start() for _ in range(self.processes_num)]

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have ended or do not answer."""
        for place, worker in enumerate(self.processes):
            if self.should_exit.is_set() or worker.is_alive(self.config.timeout_worker_healthcheck):
                continue
            worker.kill()
            worker.join()
            if worker.exitcode == STARTUP_FAILURE:
                _log.error(f"Child process [{worker.pid}] failed to start, stopping the parent process.")
                self.should_exit.set()
            else:
                _log.info(f"Child process [{worker.pid}] died")
                self.processes[place] = self._start()

    def _start(self) -> Worker:
        worker = Worker(self.config, self.sockets)
        worker.start()
        return worker
