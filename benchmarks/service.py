"""The service under load, beside MiniLM behind the same server.

``python -m benchmarks service`` starts ``parasphere serve`` with two workers, and asks it for vectors over as many
connections as it takes to keep it busy, first as fast as it answers, then at half that rate. The load is made by this
process, on the same machine: what it takes is missing to the server. MiniLM is measured if it is installed.
"""

from benchmarks.measure import table

import asyncio
import contextlib
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from parasphere import SphericalParagraphModel, datasets
from parasphere.baselines import MiniLM
from parasphere.errors import MissingExtraError, ParasphereError

WORKERS = 2
SIZES = {1: 32, 64: 8}  # texts per request, and connections that keep the server busy with them
SECONDS = 10.0  # per measurement
REQUESTS = 100_000  # of one text, none of which may fail
RATIO_BAR, P99_BAR = 50, 10.0  # times MiniLM's texts per second; milliseconds at half load
_BODIES = 64  # different requests, sent in turn


class Connection(asyncio.Protocol):
    """A connection that sends one request at a time, and reads what comes back as far as it must."""

    def __init__(self, load: "Load") -> None:
        self.load = load
        self.missing = -1  # bytes of the body that is being read; -1: its headers are
        self.head = b""

    def connection_made(self, transport: Any) -> None:
        """Be ready for requests."""
        self.transport = transport
        self.load.idle.append(self)
        self.load.give()

    def send(self, request: bytes, due: float) -> None:
        """Send a request that was due at some time."""
        self.due = due
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Read an answer as far as it has come."""
        if self.missing < 0:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            at = self.head.lower().index(b"content-length:") + 15
            self.missing = int(self.head[at : self.head.index(b"\r\n", at)]) - (len(self.head) - end - 4)
            self.status = int(self.head[9:12])
        else:
            self.missing -= len(data)
        if self.missing == 0:
            self.missing, self.head = -1, b""
            self.load.answered(self)

    def connection_lost(self, _reason: Exception | None) -> None:
        """Tell that the server closed the connection."""
        self.load.lost()


class Load:
    """Requests over several connections, as fast as they are answered or at a given rate.

    Latencies at a rate count from when a request was due, not from when a connection was free for it.
    """

    def __init__(
        self, port: int, requests: list[bytes], connections: int, *, seconds: float, most: int = 0, rate: float = 0.0
    ) -> None:
        self.port, self.requests, self.connections = port, requests, connections
        self.seconds, self.most, self.rate = seconds, most, rate
        self.idle: deque[Connection] = deque()
        self.queue: deque[float] = deque()
        self.latencies: list[float] = []
        self.errors = self.sent = 0
        self.ending = False

    async def run(self) -> dict[str, float]:
        """Make the load, and return what was measured."""
        loop = asyncio.get_running_loop()
        self.done = loop.create_future()
        opened = []
        self.began = float("inf")
        for _ in range(self.connections):
            opened.append((await loop.create_connection(lambda: Connection(self), "127.0.0.1", self.port))[0])
            await asyncio.sleep(0.002)  # so that workers take turns in accepting
        self.began = self.last = time.perf_counter()
        if self.rate:
            arrivals = asyncio.ensure_future(self._arrive())
        else:
            while self.idle:
                self._next(self.idle.popleft(), time.perf_counter())
        await self.done
        taken = self.last - self.began
        if self.rate:
            await arrivals
        for transport in opened:
            transport.close()
        milliseconds = [1000 * seconds for seconds in self.latencies]
        cuts = statistics.quantiles(milliseconds, n=100)
        return {
            "requests": len(milliseconds), "errors": self.errors, "per_second": len(milliseconds) / taken,
            "p50": statistics.median(milliseconds), "p99": cuts[98], "most": max(milliseconds),
        }  # fmt: skip

    async def _arrive(self) -> None:
        """Let requests become due at random times of the given rate."""
        draw, due = random.Random(0), self.began
        while due < self.began + self.seconds:
            due += draw.expovariate(self.rate)
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            self.queue.append(due)
            self.give()
        self.ending = True
        self._end()

    def give(self) -> None:
        """Give requests that are due to connections that are free."""
        while self.queue and self.idle:
            self._next(self.idle.popleft(), self.queue.popleft())

    def answered(self, connection: Connection) -> None:
        """Take the answer of a connection, and give it its next request."""
        now = self.last = time.perf_counter()
        self.latencies.append(now - connection.due)
        self.errors += connection.status != 200
        if self.rate:
            self.idle.append(connection)
            self.give()
            self._end()
        elif now - self.began < self.seconds and not (self.most and self.sent >= self.most):
            self._next(connection, now)
        else:
            self.ending = True
            self.idle.append(connection)
            self._end()

    def lost(self) -> None:
        """Count a connection that the server closed."""
        if not self.done.done():
            self.errors += 1
            self.done.set_result(None)

    def _next(self, connection: Connection, due: float) -> None:
        connection.send(self.requests[self.sent % len(self.requests)], due)
        self.sent += 1

    def _end(self) -> None:
        if self.ending and not self.queue and len(self.idle) == self.connections and not self.done.done():
            self.done.set_result(None)


@contextlib.contextmanager
def server(model: Path, *options: str) -> Iterator[int]:
    """Serve a model on a free port, with its log in a file; yield the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "parasphere", "serve", str(model), "--port", str(port), *options],
            env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            _wait(process, Path(log.name))
            yield port
        finally:
            process.terminate()
            process.wait(60)


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until all workers are ready."""
    deadline = time.monotonic() + 120
    while log.read_text().count("Application startup complete") < WORKERS:
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"the server did not start: {log.read_text()}")
        time.sleep(0.2)


def requests(texts: list[str], size: int, port: int) -> list[bytes]:
    """Return requests for the vectors of so many texts each, as OpenAI's client sends them."""
    made = []
    for i in range(_BODIES):
        some = [texts[(i * size + j) % len(texts)] for j in range(size)]
        body = orjson.dumps({"input": some, "model": "any", "encoding_format": "base64"})
        head = f"POST /v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        made.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return made


def measure(port: int, texts: list[str], size: int) -> dict[str, Any]:
    """Measure the fastest rate, then half of it."""
    sent = requests(texts, size, port)
    n = SIZES[size]
    _run(Load(port, sent, n, seconds=2.0))
    full = _run(Load(port, sent, n, seconds=SECONDS))
    half = _run(Load(port, sent, n, seconds=SECONDS, rate=full["per_second"] / 2))
    return {"full": full, "half": half, "texts_per_second": size * full["per_second"]}


def run() -> dict[str, Any]:
    texts, corpus = _texts()
    result: dict[str, Any] = {"corpus": corpus, "workers": WORKERS, "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        models = {"SPM": Path(folder, "spm")}
        SphericalParagraphModel().fit(texts).save(models["SPM"])
        with contextlib.suppress(MissingExtraError):
            MiniLM().fit().save(Path(folder, "minilm"))
            models["MiniLM-L6"] = Path(folder, "minilm")
        for name, model in models.items():
            with server(model, "--workers", str(WORKERS), "--timeout", "300") as port:
                result[name] = {str(size): measure(port, texts, size) for size in SIZES}
                if name == "SPM":
                    load = Load(port, requests(texts, 1, port), SIZES[1], seconds=280.0, most=REQUESTS)
                    result["many"] = _run(load)
    return result


def _run(load: Load) -> dict[str, float]:
    with contextlib.suppress(ImportError):
        import uvloop

        return uvloop.run(load.run())
    return asyncio.run(load.run())


def _texts() -> tuple[list[str], str]:
    try:
        return datasets.load("mr").texts, "mr"
    except ParasphereError:
        return [text.strip().splitlines()[0] for text in datasets.load("docstrings").texts], "docstrings"


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    names = [name for name in ("SPM", "MiniLM-L6") if name in result]
    rows = []
    for size in map(str, SIZES):
        for name in names:
            full, half = result[name][size]["full"], result[name][size]["half"]
            rows.append([
                f"{name}, {size} text{'s' if size != '1' else ''}", f"{result[name][size]['texts_per_second']:,.0f}",
                f"{full['per_second']:,.0f}", f"{full['p50']:.1f}", f"{full['p99']:.1f}",
                f"{half['p50']:.1f}", f"{half['p99']:.1f}", f"{full['errors'] + half['errors']}",
            ])  # fmt: skip
    many = result["many"]
    said = [
        f"Sentences of {result['corpus']}, sent to {result['workers']} workers on {result['cores']} cores, which the "
        f"load is made on too, over {SIZES[1]} connections (one text) or {SIZES[64]} (64 texts); OpenAI's request, "
        "with vectors in base64. Half load is half the requests per second of full load, at random times; latencies "
        "count from when a request was due.",
        f"{many['requests']:,} requests of one text: {many['errors']:,} errors (bar: 0).",
    ]
    p99 = {size: result["SPM"][str(size)]["half"]["p99"] for size in SIZES}
    said.append(
        f"p99 at half load: {p99[1]:.1f} ms with one text, {p99[64]:.1f} ms with 64 (bar: below {P99_BAR:.0f})."
    )
    if "MiniLM-L6" in names:
        ratios = {
            size: result["SPM"][str(size)]["texts_per_second"] / result["MiniLM-L6"][str(size)]["texts_per_second"]
            for size in SIZES
        }
        said.append(
            f"Times MiniLM's texts per second: {ratios[1]:.0f} with one text per request, {ratios[64]:.0f} with 64 "
            f"(bar: at least {RATIO_BAR})."
        )
    columns = ["", "texts/s", "requests/s", "p50, ms", "p99, ms", "p50 at half load", "p99 at half load", "errors"]
    return "\n\n".join([*said, table(columns, rows)])


if __name__ == "__main__":
    print(report(run()))
