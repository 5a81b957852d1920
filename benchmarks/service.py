"""The service under load, beside MiniLM in the same number of processes without a server.

``python -m benchmarks service`` starts ``parasphere serve`` with two workers and sends requests to 127.0.0.1 over
enough connections to keep it busy, first as fast as it answers, then at half that rate with pauses at random. The
client takes time of the same processors; the processor time of the server per request does not depend on it. The
host of a rented machine sometimes gives its processors to others; the table shows how much. MiniLM is measured if it is
installed.
"""

from benchmarks.measure import share_stolen, stolen, table

import asyncio
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parasphere import SphericalParagraphModel
from reproduction import datasets
from reproduction.baselines import MiniLM
from parasphere.errors import MissingExtraError, ParasphereError

WORKERS = 2
SECONDS = 10  # per measurement
REQUESTS = 100_000  # of one text, none of which may fail
CASES = {  # path, texts per request, connections
    "vectors of 1 text": ("/v1/embeddings", 1, 16),
    "vectors of 64 texts": ("/v1/embeddings", 64, 8),
    "search": ("/search", 1, 16),
}
_BODIES = 64  # different requests, sent in turn


class Server(NamedTuple):
    """Where a server listens, and its first process."""

    port: int
    pid: int


class Connection(asyncio.Protocol):
    """Sends requests one after the other, with pauses at random, and measures the seconds until each answer."""

    def __init__(self, requests: list[bytes], pause: float) -> None:
        self._requests, self._pause = requests, pause
        self.seconds: list[float] = []
        self.errors = 0
        self._transport: Any = None
        self._received, self._whole = b"", 0

    def connection_made(self, transport: Any) -> None:
        """Send the first request."""
        self._transport = transport
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        """Count a connection that the server ended."""
        self.errors += exc is not None

    def data_received(self, data: bytes) -> None:
        """Send the next request when an answer is complete."""
        self._received += data
        if not self._whole and (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = re.search(rb"content-length: *(\d+)", self._received[:end].lower())
            self._whole = end + 4 + int(length[1] if length else 0)
        if self._whole and len(self._received) >= self._whole:
            self.seconds.append(time.perf_counter() - self._began)
            self.errors += not self._received.startswith(b"HTTP/1.1 200")
            self._received, self._whole = b"", 0
            pause = random.expovariate(1 / self._pause) if self._pause else 0.0
            asyncio.get_running_loop().call_later(pause, self._send) if pause else self._send()

    def _send(self) -> None:
        if not self._transport.is_closing():
            self._began = time.perf_counter()
            self._transport.write(self._requests[random.randrange(len(self._requests))])


def load(server: Server, case: str, texts: list[str], seconds: float, rate: float = 0.0) -> dict[str, float]:
    """Send requests for some seconds; ``rate`` is in requests per second, 0 for the fastest."""
    path, size, n_connections = CASES[case]
    pause = n_connections / rate if rate else 0.0
    requests = list(_requests(path, size, texts))

    async def send() -> list[Connection]:
        loop, connections = asyncio.get_running_loop(), []
        for _ in range(n_connections):
            made = await loop.create_connection(lambda: Connection(requests, pause), "127.0.0.1", server.port)
            connections.append(made)
        await asyncio.sleep(seconds)
        for transport, _ in connections:
            transport.abort()
        return [protocol for _, protocol in connections]

    before, since = cpu_seconds(server.pid), stolen()
    done = asyncio.run(send())
    taken = np.concatenate([one.seconds for one in done])
    return {
        "requests": len(taken), "errors": sum(one.errors for one in done), "per_second": len(taken) / seconds,
        "p50": 1000 * float(np.percentile(taken, 50)), "p99": 1000 * float(np.percentile(taken, 99)),
        "cpu_ms": 1000 * (cpu_seconds(server.pid) - before) / len(taken), "stolen": share_stolen(since, seconds),
    }  # fmt: skip


def _requests(path: str, size: int, texts: list[str]) -> Iterator[bytes]:
    for i in range(_BODIES):
        some = [texts[(i * size + j) % len(texts)] for j in range(size)]
        content = {"queries": some} if path == "/search" else {"input": some, "encoding_format": "base64"}
        body = json.dumps(content).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        yield head.encode() + b"\r\n\r\n" + body


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a server and its workers have taken."""
    found, left = 0.0, [pid]
    while left:
        pid = left.pop()
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        left += [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found


@contextlib.contextmanager
def serving(model: Path, *options: str) -> Iterator[Server]:
    """Serve a model on a free port, with its log in a file."""
    with tempfile.NamedTemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "parasphere", "serve", str(model), "--port", "0", *options],
            stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield Server(_wait(process, Path(log.name)), process.pid)
        finally:
            process.terminate()
            process.wait(60)


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> int:
    """Wait until all workers are ready; return the port."""
    deadline = time.monotonic() + 120
    while (text := log.read_text()).count("Application startup complete") < WORKERS:
        if time.monotonic() > deadline or process.poll() is not None:
            raise RuntimeError(f"the server did not start: {text}")
        time.sleep(0.2)
    found = re.search(r"http://[^ :]+:(\d+)", log.read_text())
    assert found
    return int(found[1])


def measure(server: Server, case: str, texts: list[str]) -> dict[str, dict[str, float]]:
    """Measure the fastest rate, then half of it."""
    load(server, case, texts, 2)
    full = load(server, case, texts, SECONDS)
    return {"full": full, "half": load(server, case, texts, SECONDS, full["per_second"] / 2)}


def run() -> dict[str, Any]:
    texts, corpus = _texts()
    result: dict[str, Any] = {"corpus": corpus, "workers": WORKERS, "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        model, index = Path(folder, "model"), Path(folder, "index")
        fitted = SphericalParagraphModel().fit(texts)
        fitted.save(model)
        fitted.index(texts).save(index)
        with serving(model, "--index", str(index), "--workers", str(WORKERS)) as server:
            result["SPM"] = {case: measure(server, case, texts) for case in CASES}
            result["many"] = _many(server, texts)
    with contextlib.suppress(MissingExtraError):
        MiniLM().fit()
        with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
            result["MiniLM-L6"] = {
                str(size): sum(pool.map(_minilm, [texts] * WORKERS, [size] * WORKERS)) for size in (1, 64)
            }
    return result


def _minilm(texts: list[str], size: int) -> float:
    """Return the texts per second of MiniLM in this process, with one thread, ``size`` texts at a time."""
    import torch

    torch.set_num_threads(1)
    model = MiniLM().fit()
    model.transform(texts[:size])
    start, count = time.perf_counter(), 0
    while (spent := time.perf_counter() - start) < SECONDS:
        model.transform([texts[(count + j) % len(texts)] for j in range(size)])
        count += size
    return count / spent


def _many(server: Server, texts: list[str]) -> dict[str, float]:
    """Make at least ``REQUESTS`` requests, none of which may fail."""
    many = {"requests": 0.0, "errors": 0.0}
    while many["requests"] < REQUESTS:
        one = load(server, "vectors of 1 text", texts, SECONDS)
        many = {name: many[name] + one[name] for name in many}
    return many


def _texts() -> tuple[list[str], str]:
    try:
        return datasets.load("mr").texts, "mr"
    except ParasphereError:
        return [text.strip().splitlines()[0] for text in datasets.load("docstrings").texts], "docstrings"


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    rows = []
    for case, one in result["SPM"].items():
        full, half = one["full"], one["half"]
        rows.append([
            case, f"{full['per_second']:,.0f}", f"{full['cpu_ms']:.2f}", f"{full['p50']:.1f}", f"{full['p99']:.1f}",
            f"{half['per_second']:,.0f}", f"{half['p50']:.1f}", f"{half['p99']:.1f}",
            f"{100 * full['stolen']:.1f}, {100 * half['stolen']:.1f}", f"{full['errors'] + half['errors']}",
        ])  # fmt: skip
    many = result["many"]
    parts = [
        f"Sentences of {result['corpus']}, sent to {result['workers']} workers by a client on the same "
        f"{result['cores']} cores, over {CASES['search'][2]} connections ({CASES['vectors of 64 texts'][2]} for 64 "
        "texts), vectors as OpenAI's clients request them, in base64; *search* returns the ten best sentences for one. "
        "At half load, random pauses on each connection halve the requests per second. *CPU* is the processor time of "
        "the server per request, *stolen* the time of the cores that the host of this machine gave to others, at full "
        "and half load.",
        f"{many['requests']:,.0f} requests of one text: {many['errors']:,.0f} errors (bar: 0).",
    ]
    if "MiniLM-L6" in result:
        rival, per_second = result["MiniLM-L6"], {}
        for size in (1, 64):
            case = f"vectors of {size} text{'s' if size > 1 else ''}"
            per_second[size] = size * result["SPM"][case]["full"]["per_second"]
        parts.append(
            f"MiniLM-L6 in {result['workers']} processes without a server: {rival['1']:,.0f} texts per second, one at "
            f"a time, and {rival['64']:,.0f}, 64 at a time. The service encodes "
            f"{per_second[1] / rival['1']:.0f} times as many with one text per request, and "
            f"{per_second[64] / rival['64']:.0f} times with 64."
        )
    columns = [
        "", "requests/s", "CPU, ms", "p50, ms", "p99, ms", "half load: requests/s", "p50", "p99", "stolen, %", "errors",
    ]  # fmt: skip
    return "\n\n".join([*parts, table(columns, rows)])


if __name__ == "__main__":
    print(report(run()))
