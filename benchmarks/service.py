"""The service under load, beside MiniLM in the same number of processes without a server.

``python -m benchmarks service`` starts ``parasphere serve`` with two workers and requests vectors over enough
connections to keep it busy, first as fast as it answers, then at about half that rate. wrk (``apt install wrk``) makes
the load on the same machine, and so takes time from the server. The host of a rented machine sometimes gives its
processors to others; measurements are repeated until this took little time, and the table shows how much. MiniLM is
measured if it is installed.
"""

from benchmarks.measure import share_stolen, stolen, table

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import orjson

from parasphere import SphericalParagraphModel
from reproduction import datasets
from reproduction.baselines import MiniLM
from parasphere.errors import MissingExtraError, ParasphereError

LOAD = """
local requests, next = {}, 0
function init(args)
    math.randomseed(1)
    for body in io.lines(args[1]) do
        requests[#requests + 1] = wrk.format("POST", nil, {["Content-Type"] = "application/json"}, body)
    end
    pause = tonumber(args[2])
end
function request()
    next = next % #requests + 1
    return requests[next]
end
function done(summary, latency, _)
    local e = summary.errors
    io.write(string.format(
        '{"requests": %d, "errors": %d, "per_second": %f, "p50": %f, "p99": %f, "most": %f}\\n',
        summary.requests, e.connect + e.read + e.write + e.status + e.timeout,
        1e6 * summary.requests / summary.duration,
        latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency.max / 1000))
end
"""
PAUSE = """
function delay()
    return -pause * math.log(1 - math.random())
end
"""
WORKERS = 2
SIZES = {1: 32, 64: 8}  # texts per request, and connections that keep the server busy
WARM, SECONDS = 4, 10  # per measurement; six times as long for a slow server
STOLEN, TRIES = 0.01, 20  # accepted share of the time given to others, and most attempts
REST = 5  # seconds before the next attempt
REQUESTS = 100_000  # of one text, none of which may fail
RATIO_BARS, P99_BAR = {1: 15, 64: 150}, 10.0  # times MiniLM's texts per second; milliseconds at half load
_BODIES = 64  # different requests, sent in turn


@dataclass
class Load:
    """Requests over several connections: as fast as they are answered, or with pauses at random."""

    port: int
    texts: list[str]
    size: int  # texts per request

    def run(self, seconds: float, rate: float = 0.0) -> dict[str, float]:
        """Make the load with wrk for some seconds; ``rate`` is in requests per second, 0 for the fastest."""
        connections = SIZES[self.size]
        pause = 1000 * connections / rate if rate else 0.0
        with tempfile.TemporaryDirectory() as folder:
            script, bodies = Path(folder, "load.lua"), Path(folder, "bodies")
            script.write_text(LOAD + (PAUSE if rate else ""))
            bodies.write_bytes(b"\n".join(self._bodies()))
            command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--timeout", "300s", "-s", script]
            url = f"http://127.0.0.1:{self.port}/v1/embeddings"
            done = subprocess.run([*command, url, "--", bodies, str(pause)], capture_output=True, text=True, check=True)
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found

    def _bodies(self) -> Iterator[bytes]:
        for i in range(_BODIES):
            some = [self.texts[(i * self.size + j) % len(self.texts)] for j in range(self.size)]
            yield orjson.dumps({"input": some, "model": "any", "encoding_format": "base64"})


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


def measure(load: Load) -> dict[str, Any]:
    """Measure the fastest rate, then half of it."""
    warm = load.run(WARM)
    slow = warm["per_second"] * SECONDS < 20 * SIZES[load.size]  # too few requests per connection to measure
    seconds, tries = (6 * SECONDS, 1) if slow else (SECONDS, TRIES)  # slow servers suffer little from interruptions
    full = _undisturbed(load, seconds, tries)
    half = _undisturbed(load, seconds, tries, full["per_second"] / 2)
    return {"full": full, "half": half, "texts_per_second": load.size * full["per_second"]}


def _undisturbed(load: Load, seconds: float, tries: int, rate: float = 0.0) -> dict[str, float]:
    """Repeat until the host gave little time to others; return the measurement with the least."""
    found = []
    for i in range(tries):
        time.sleep(REST if i else 0)
        before = stolen()
        one = load.run(seconds, rate)
        found.append(one | {"stolen": share_stolen(before, seconds)})
        if found[-1]["stolen"] <= STOLEN:
            break
    return min(found, key=lambda one: one["stolen"])


def run() -> dict[str, Any]:
    texts, corpus = _texts()
    result: dict[str, Any] = {"corpus": corpus, "workers": WORKERS, "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        SphericalParagraphModel().fit(texts).save(Path(folder, "spm"))
        with server(Path(folder, "spm"), "--workers", str(WORKERS), "--timeout", "300") as port:
            result["SPM"] = {str(size): measure(Load(port, texts, size)) for size in SIZES}
            result["many"] = _many(Load(port, texts, 1))
    with contextlib.suppress(MissingExtraError):
        MiniLM().fit()
        with ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
            result["MiniLM-L6"] = {
                str(size): sum(pool.map(_minilm, [texts] * WORKERS, [size] * WORKERS)) for size in SIZES
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


def _many(load: Load) -> dict[str, float]:
    """Make at least ``REQUESTS`` requests, none of which may fail."""
    many = {"requests": 0.0, "errors": 0.0}
    while many["requests"] < REQUESTS:
        one = load.run(SECONDS)
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
    for size in map(str, SIZES):
        full, half = result["SPM"][size]["full"], result["SPM"][size]["half"]
        rows.append([
            f"SPM, {size} text{'s' if size != '1' else ''}", f"{result['SPM'][size]['texts_per_second']:,.0f}",
            f"{full['per_second']:,.0f}", f"{full['p50']:.1f}", f"{full['p99']:.1f}",
            f"{half['per_second']:,.0f}", f"{half['p50']:.1f}", f"{half['p99']:.1f}",
            f"{100 * full['stolen']:.1f}, {100 * half['stolen']:.1f}", f"{full['errors'] + half['errors']}",
        ])  # fmt: skip
    many = result["many"]
    parts = [
        f"Sentences of {result['corpus']}, sent by wrk to {result['workers']} workers on the same {result['cores']} "
        f"cores, over {SIZES[1]} connections (one text) or {SIZES[64]} (64 texts), as requests of OpenAI's clients "
        "with vectors in base64. At half load, random pauses on each connection halve the requests per second. "
        "*Stolen* is the time of the cores that the host of this machine gave to others, at full and half load; of up "
        f"to {TRIES} measurements the one with the least counts.",
        f"{many['requests']:,.0f} requests of one text: {many['errors']:,.0f} errors (bar: 0).",
    ]
    p99 = {size: result["SPM"][str(size)]["half"]["p99"] for size in SIZES}
    parts.append(
        f"p99 at half load: {p99[1]:.1f} ms with one text, {p99[64]:.1f} ms with 64 (bar: below {P99_BAR:.0f})."
    )
    if "MiniLM-L6" in result:
        rival = {size: result["MiniLM-L6"][str(size)] for size in SIZES}
        ratios = {size: result["SPM"][str(size)]["texts_per_second"] / rival[size] for size in SIZES}
        parts.append(
            f"MiniLM-L6 in {result['workers']} processes without a server: {rival[1]:,.0f} texts per second, one at a "
            f"time, and {rival[64]:,.0f}, 64 at a time. The service encodes {ratios[1]:.0f} times as many with one "
            f"text per request, and {ratios[64]:.0f} times with 64 (bars: {RATIO_BARS[1]} and {RATIO_BARS[64]})."
        )
    columns = [
        "",
        "texts/s",
        "requests/s",
        "p50, ms",
        "p99, ms",
        "half load: requests/s",
        "p50",
        "p99",
        "stolen, %",
        "errors",
    ]
    return "\n\n".join([*parts, table(columns, rows)])


if __name__ == "__main__":
    print(report(run()))
