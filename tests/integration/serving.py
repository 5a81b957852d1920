"""Servers to test against: real sockets, in this process or in processes of their own."""

import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import uvicorn

from parasphere import SphericalParagraphModel, datasets
from parasphere.service import Settings, create_app
from parasphere.topics import SphericalTopics

CORPUS = datasets.load("docstrings")
TEXTS, IDS = CORPUS.texts[:400], CORPUS.ids[:400]


@dataclass
class Saved:
    """What a server is started with, and what the same code gives without one."""

    folder: Path
    model: Any
    index: Any
    topics: Any

    def settings(self, **changes: Any) -> Settings:
        paths = {name: self.folder / name for name in ("model", "index", "topics")}
        return Settings(**(paths | changes))


def saved(folder: Path) -> Saved:
    """Fit and save a model, an index and topics."""
    model = SphericalParagraphModel().fit(TEXTS)
    table = pd.DataFrame({"text": TEXTS, "library": [name.partition(".")[0] for name in IDS], "row": range(len(TEXTS))})
    index = model.index(table, ids=IDS, columns=["library", "row"])
    topics = SphericalTopics(model, 5).fit(TEXTS)
    for what, name in ((model, "model"), (index, "index"), (topics, "topics")):
        what.save(folder / name)
    return Saved(folder, model, index, topics)


@contextmanager
def serving(settings: Settings) -> Iterator[httpx.Client]:
    """Serve in a thread of this process; yields a client."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(settings), lifespan="on", log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        with httpx.Client(base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


@dataclass
class Process:
    """A server as ``parasphere serve`` runs it."""

    process: "subprocess.Popen[bytes]"
    log: Path
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def get(self, path: str, **headers: str) -> httpx.Response:
        """Ask for a page, with the patience of a machine that does much else."""
        return httpx.get(f"{self.url}{path}", headers=headers, timeout=60)

    def workers(self) -> list[int]:
        """Return the processes that serve."""
        return [int(pid) for pid in re.findall(r"Started server process \[(\d+)\]", self.said())]

    def wait(self, n_workers: int) -> None:
        """Wait until so many workers have ever started."""
        deadline = time.monotonic() + 240  # of a machine that does much else
        while self.said().count("Application startup complete") < n_workers:
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.05)


@contextmanager
def process(*arguments: object, workers: int = 1, env: dict[str, str] | None = None) -> Iterator[Process]:
    """Run ``parasphere serve`` on a free port, until the block ends."""
    with tempfile.NamedTemporaryFile() as log:
        command = [sys.executable, "-m", "parasphere", "serve", *map(str, arguments)]
        command += ["--port", "0", "--workers", str(workers)]
        running = Process(subprocess.Popen(command, stderr=log, stdout=log, env=env), Path(log.name))
        try:
            running.wait(workers)
            found = re.search(r"on http://[^ ]+:(\d+)", running.said())
            assert found, running.said()
            running.port = int(found[1])
            yield running
        finally:
            if running.process.poll() is None:
                running.process.send_signal(signal.SIGTERM)
                running.process.wait(120)


def begin_request(url: httpx.URL | str, body: bytes, sent: int, length: bytes | None = None) -> socket.socket:
    """Begin a request for vectors: send its headers and, once the server waits for its body, the first bytes of it."""
    address = httpx.URL(str(url))
    connection = socket.create_connection((address.host, address.port), timeout=30)
    head = b"POST /v1/embeddings HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
    if length is None:
        connection.sendall(head + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        assert connection.recv(100).startswith(b"HTTP/1.1 100")
        connection.sendall(body[:sent])
    else:
        connection.sendall(head + b"Content-Length: " + length + b"\r\n\r\n" + body[:sent])
    return connection


def answer_on(connection: socket.socket) -> tuple[int, bytes]:
    """Return the status and the whole answer on a connection; 0 if there is none before it is closed."""
    data = b""
    while not _complete(data) and (piece := connection.recv(1 << 16)):
        data += piece
    return (int(data[9:12]) if data else 0), data


def _complete(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head.lower())
    return bool(found) and length is not None and len(body) >= int(length[1])
