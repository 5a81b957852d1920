"""Servers as they are run: several workers, signals, and what is wrong before they start."""

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import pytest
from commands import typed
from serving import TEXTS, Process, Saved, answer_on, begin_request, process

BODY = json.dumps({"input": TEXTS[:20]}).encode()


@pytest.fixture(scope="module")
def two(served: Saved) -> Iterator[Process]:
    with process(served.folder / "model", "--index", served.folder / "index", workers=2) as running:
        yield running


@pytest.mark.skipif(sys.platform != "linux", reason="the maps of a process are read from /proc")
def test_workers_share_the_mapped_model(two: Process, served: Saved) -> None:
    assert len(two.workers()) == 2
    data = served.folder / "index"
    for pid in two.workers():
        pages = Path(f"/proc/{pid}/smaps").read_text().split(f"{data}\n", 1)[1].split("VmFlags", 1)[0]
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in pages.splitlines() if line.endswith("kB")}
        assert sizes["Rss"] > 0
        assert sizes["Private_Dirty"] == sizes["Private_Clean"] == 0  # all of it is shared


def test_a_killed_worker_takes_nothing_else_with_it(two: Process, served: Saved) -> None:
    """Requests on other connections all succeed, and so do new ones; the worker is replaced; counters go on."""
    expected = served.model.transform(TEXTS[:20])
    asked = 0

    def counted() -> float:
        page = two.get("/metrics").text
        name = 'parasphere_request_seconds_count{path="/v1/embeddings",status="200"} '
        return sum(float(line.removeprefix(name)) for line in page.splitlines() if line.startswith(name))

    statuses: list[object] = []
    stop = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=two.url, headers={"Content-Type": "application/json"}, timeout=30) as client:
            while not stop.is_set():
                try:
                    answer = client.post("/v1/embeddings", content=BODY)
                    vectors = [row["embedding"] for row in answer.json()["data"]]
                    np.testing.assert_array_equal(np.array(vectors).astype(np.float32), expected)
                    statuses.append(answer.status_code)
                except Exception as error:  # a TransportError if its worker was killed while it was served
                    statuses.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    try:
        while len(statuses) < 40:
            time.sleep(0.01)
        os.kill(two.workers()[0], signal.SIGKILL)
        asked = len(statuses)
        while len(statuses) < asked + 40:
            time.sleep(0.01)
        two.wait(3)
    finally:
        stop.set()
        for asker in askers:
            asker.join()
    lost = [status for status in statuses if status != 200]
    assert all(isinstance(status, httpx.TransportError) for status in lost), lost
    assert len(lost) <= len(askers), lost  # those that the worker was serving, at most one per connection
    assert len(set(two.workers())) == 3
    answered = sum(status == 200 for status in statuses)
    # Those of the killed worker too, but for what it had answered and not counted yet, at most one per connection.
    assert counted() >= answered - len(askers)


@pytest.mark.parametrize("workers", [1, 2])
def test_requests_that_have_begun_are_answered_before_the_end(served: Saved, workers: int) -> None:
    with process(served.folder / "model", workers=workers) as running, ExitStack() as stack:
        stack.enter_context(connection := begin_request(running.url, BODY, 10))
        running.process.send_signal(signal.SIGTERM)
        while running.said().count("Shutting down") < workers:
            time.sleep(0.01)
        connection.sendall(BODY[10:])
        status, answer = answer_on(connection)
        assert (status, answer.count(b'"index"')) == (200, 20)
        assert running.process.wait(60) == 0
        assert "traceback" not in running.said().lower()


def test_a_key_of_the_environment_is_asked_for(served: Saved) -> None:
    with process(served.folder / "model", env={**os.environ, "PARASPHERE_API_KEY": "secret"}) as running:
        assert running.get("/v1/models").status_code == 401
        assert running.get("/v1/models", Authorization="Bearer secret").status_code == 200
        assert "secret" not in running.said()


def test_what_is_wrong_is_said_before_anything_is_served(served: Saved, tmp_path: Path) -> None:
    told = typed("serve", tmp_path / "nothing")
    assert told.code == 1
    assert "does not exist" in told.err
    told = typed("serve", served.folder / "index")
    assert (told.code, "index" in told.err) == (1, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = typed("serve", served.folder / "model", "--port", port)
    assert told.code == 1
    assert f"cannot listen on port {port} of 127.0.0.1" in told.err
    told = typed("serve", served.folder / "model", "--host", "nowhere.invalid")
    assert "of nowhere.invalid (" in told.err
    told = typed("serve", served.folder / "model", "--host", "ü" * 70)
    assert (told.code, "cannot listen on port 8000 of üü" in told.err) == (1, True)
    empty = tmp_path / "key"
    empty.write_text("two words\n")
    told = typed("serve", served.folder / "model", "--api-key-file", empty)
    assert "must hold one API key" in told.err
