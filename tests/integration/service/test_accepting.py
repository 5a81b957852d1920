"""Connections are shared by the loops that listen on one socket."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the service is an extra")

from parasphere.service.accepting import FairLoop, Listener


class Answering(asyncio.Protocol):
    """Sends the name of its worker, and counts connections that ended."""

    lost: Callable[[], None]

    def __init__(self, name: bytes) -> None:
        self.name = name

    def connection_made(self, transport: Any) -> None:
        transport.write(self.name)

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost()


class Worker(threading.Thread):
    """A loop of its own that serves a socket until it is stopped."""

    def __init__(self, listening: socket.socket, name: bytes) -> None:
        super().__init__(daemon=True)
        self.loop, self.listening, self.said = FairLoop(), listening, name
        self.listener: Listener | None = None
        self.ready = threading.Event()

    def run(self) -> None:
        async def serve() -> None:
            self.listener = await self.loop.create_server(lambda: Answering(self.said), sock=self.listening)
            self.stopped = asyncio.Event()
            self.ready.set()
            await self.stopped.wait()

        self.loop.run_until_complete(serve())
        self.loop.close()

    def stop(self) -> None:
        if not self.is_alive():
            return
        assert self.listener is not None
        self.loop.call_soon_threadsafe(self.listener.close)
        self.loop.call_soon_threadsafe(self.stopped.set)
        self.join(10)


@pytest.fixture
def workers() -> Iterator[tuple[tuple[str, int], list[Worker]]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = [Worker(listening, name) for name in (b"a", b"b")]
        for worker in made:
            worker.start()
            assert worker.ready.wait(10)
        yield listening.getsockname(), made
        for worker in made:
            worker.stop()


def test_each_worker_has_its_share(workers: tuple[tuple[str, int], list[Worker]]) -> None:
    address, made = workers
    with ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(address, 10)) for _ in range(40)]
        said = [client.recv(1) for client in clients]
        assert min(said.count(b"a"), said.count(b"b")) >= 10
    wait_until(lambda: all(worker.listener is not None and worker.listener._open == 0 for worker in made))


def test_what_one_leaves_another_accepts(workers: tuple[tuple[str, int], list[Worker]]) -> None:
    address, made = workers
    made[0].stop()
    for _ in range(5):
        with socket.create_connection(address, 10) as client:
            assert client.recv(1) == b"b"


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)
