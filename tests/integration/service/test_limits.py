"""What a request may cost: size, number, length, time, and how many may wait."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from serving import Saved, answer_on, begin_request, serving

from parasphere.service import server
from parasphere.service.engine import Engine

BODY = json.dumps({"texts": ["a boat on the lake"]}).encode()


@pytest.fixture(scope="module")
def small(served: Saved) -> Iterator[httpx.Client]:
    limits = {"max_body": 1000, "max_texts": 3, "max_length": 50, "max_waiting": 2}
    with serving(served.settings(**limits)) as client:
        yield client


@pytest.fixture(scope="module")
def hasty(served: Saved) -> Iterator[httpx.Client]:
    with serving(served.settings(timeout=1.0)) as client:
        yield client


def test_bodies(small: httpx.Client) -> None:
    declared = small.post("/embed", json={"texts": "x" * 1001})
    assert declared.status_code == 413
    assert "at most 1,000 are taken" in declared.json()["error"]["message"]
    assert declared.headers["connection"] == "close"
    streamed = small.post(
        "/embed", content=iter([b"x" * 600, b"x" * 600]), headers={"Content-Type": "application/json"}
    )
    assert streamed.status_code == 413
    assert small.post("/embed", json={"texts": "a"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/embed", {"texts": ["a"] * 4}, "'texts' has 4 texts; at most 3 are taken."),
        ("/v1/embeddings", {"input": ["a"] * 4}, "'input' has 4 texts; at most 3 are taken."),
        ("/similar", {"queries": "a", "among": ["a"] * 4}, "'among' has 4 texts; at most 3 are taken."),
        ("/embed", {"texts": ["a", "b" * 51]}, "a text of 'texts' has 51 characters; at most 50 are taken."),
        ("/explain", {"text": "a", "other": "b" * 51}, "a text of 'text' has 51 characters; at most 50 are taken."),
    ],
)
def test_texts(small: httpx.Client, path: str, body: dict[str, object], sentence: str) -> None:
    answer = small.post(path, json=body)
    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == sentence


def test_no_more_may_wait_than_allowed(small: httpx.Client) -> None:
    waiting = [begin_request(small.base_url, BODY, 5) for _ in range(2)]
    while "parasphere_requests_waiting 2.0" not in small.get("/metrics").text:  # probes are not refused
        time.sleep(0.01)
    refused = small.post("/embed", json={"texts": "a"})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert "2 requests wait already" in refused.json()["error"]["message"]
    for connection in waiting:
        connection.sendall(BODY[5:])
        assert answer_on(connection)[0] == 200
        connection.close()
    assert small.post("/embed", json={"texts": "a"}).status_code == 200


def test_a_body_must_arrive_in_time(hasty: httpx.Client) -> None:
    with begin_request(hasty.base_url, BODY, 5) as connection:
        began = time.monotonic()
        status, answer = answer_on(connection)
        assert status == 408
        assert time.monotonic() - began > 0.9
        assert b"did not arrive within 1 s" in answer
        assert connection.recv(10) == b""  # closed


def test_headers_must_arrive_in_time(small: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.2)
    address = (small.base_url.host, small.base_url.port)
    with socket.create_connection(address, timeout=10) as silent:
        assert silent.recv(10) == b""
    with socket.create_connection(address, timeout=10) as slow:
        request = b"GET /health HTTP/1.1\r\nHost: here\r\n"
        slow.sendall(request + b"\r\n")
        assert answer_on(slow)[0] == 200
        slow.sendall(request)  # and never the rest
        assert slow.recv(10) == b""


def test_an_answer_must_be_computed_in_time(hasty: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def long_explanation(engine: Engine, text: str) -> dict[str, object]:
        ended.wait(60)
        return {}

    with monkeypatch.context() as patched:
        patched.setattr(Engine, "explain", long_explanation)
        late = hasty.post("/explain", json={"text": "a boat"})
        assert (late.status_code, late.headers["retry-after"]) == (503, "1")
        assert "took longer than 1 s" in late.json()["error"]["message"]
    ended.set()
    deadline = time.monotonic() + 30
    while hasty.post("/embed", json={"texts": "a boat"}).status_code != 200:  # the thread ends what it began
        assert time.monotonic() < deadline


def test_what_is_written_in_one_turn_is_written_at_once() -> None:
    class Recorded(asyncio.Transport):
        def __init__(self) -> None:
            super().__init__()
            self.written: list[bytes] = []
            self.closed = False

        def write(self, data: bytes | bytearray | memoryview) -> None:
            assert not self.closed
            self.written.append(bytes(data))

        def is_closing(self) -> bool:
            return self.closed

        def close(self) -> None:
            self.closed = True

    async def write() -> list[bytes]:
        transport = Recorded()
        gathering = server.Gathering(transport, asyncio.get_running_loop())
        gathering.write(b"headers, ")
        gathering.write(b"body")
        assert transport.written == []
        await asyncio.sleep(0)
        gathering.write(b"what is streamed")
        await asyncio.sleep(0)
        gathering.write(b"the last")
        gathering.close()
        gathering.write(b"too late")
        await asyncio.sleep(0)
        assert gathering.is_closing()
        return transport.written

    assert asyncio.run(write()) == [b"headers, body", b"what is streamed", b"the last"]
