"""Workers as their parent sees them: slow to start, silent, and dead."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn

from parasphere.service import workers
from parasphere.service.workers import Worker


def sleeping(*_: Any) -> None:
    time.sleep(60)


def answering(worker: Worker) -> None:
    worker.child_conn.recv()
    worker.child_conn.send(False)
    time.sleep(60)


def started(target: Callable[..., None]) -> Worker:
    worker = Worker(uvicorn.Config("none"), [])
    worker.process = multiprocessing.get_context("spawn").Process(target=target, args=(worker,))
    worker.start()
    return worker


def test_a_worker_that_starts_slowly_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = started(sleeping)
    try:
        begun = time.monotonic()
        assert all(worker.is_alive(timeout=30) for _ in range(3))
        assert time.monotonic() - begun < 25  # it is not waited for
        monkeypatch.setattr(workers, "START_SECONDS", 0)
        assert not worker.is_alive(timeout=30)
    finally:
        worker.kill()


def test_a_worker_that_has_answered_must_go_on_answering() -> None:
    worker = started(answering)
    try:
        while not worker._answered:
            assert worker.is_alive(timeout=30)
            time.sleep(0.01)
        assert not worker.is_alive(timeout=0.1)
    finally:
        worker.kill()


def test_a_worker_that_dies_while_it_is_asked_is_dead_at_once() -> None:
    worker = started(answering)
    try:
        while not worker._answered:
            assert worker.is_alive(timeout=30)
            time.sleep(0.01)
        assert worker.pid is not None
        threading.Timer(0.3, os.kill, (worker.pid, signal.SIGKILL)).start()
        begun = time.monotonic()
        assert not worker.is_alive(timeout=60)
        assert time.monotonic() - begun < 50  # not when its time to answer is over
    finally:
        worker.kill()
