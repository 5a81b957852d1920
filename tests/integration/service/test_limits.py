"""What a request may cost: size, number, length, time, and how many may wait."""

import json
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
from serving import Saved, answer_on, begin_request, serving

from parasphere.model import Encoder
from parasphere.service import routes, server

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
    assert "the limit is 1,000 bytes" in declared.json()["error"]["message"]
    assert declared.headers["connection"] == "close"
    streamed = small.post(
        "/embed", content=iter([b"x" * 600, b"x" * 600]), headers={"Content-Type": "application/json"}
    )
    assert streamed.status_code == 413
    assert small.post("/embed", json={"texts": "a"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/embed", {"texts": ["a"] * 4}, "'texts' has 4 texts; the limit is 3."),
        ("/v1/embeddings", {"input": ["a"] * 4}, "'input' has 4 texts; the limit is 3."),
        ("/similar", {"queries": "a", "among": ["a"] * 4}, "'among' has 4 texts; the limit is 3."),
        ("/embed", {"texts": ["a", "b" * 51]}, "a text of 'texts' has 51 characters; the limit is 50."),
        ("/explain", {"text": "a", "other": "b" * 51}, "a text of 'text' has 51 characters; the limit is 50."),
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
    assert "2 requests are waiting already" in refused.json()["error"]["message"]
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

    def long_explanation(encoder: Encoder, text: str) -> None:
        ended.wait(60)

    with monkeypatch.context() as patched:
        patched.setattr(Encoder, "explain", long_explanation)
        late = hasty.post("/explain", json={"text": "a boat"})
        assert (late.status_code, late.headers["retry-after"]) == (503, "1")
        assert "took longer than 1 s" in late.json()["error"]["message"]
    ended.set()
    deadline = time.monotonic() + 30
    while hasty.post("/embed", json={"texts": "a boat"}).status_code != 200:  # the thread ends what it began
        assert time.monotonic() < deadline


def sent(client: httpx.Client, request: bytes) -> tuple[int, bytes]:
    """Send bytes, as many as are taken; return the status and the answer, 0 if the connection was reset before it."""
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=30) as connection:
        try:
            connection.sendall(request)
            return answer_on(connection)
        except ConnectionError:
            return 0, b""


@pytest.mark.parametrize(
    "headers",
    [
        b"X-Long: " + b"x" * (33 << 10),
        b"\r\n".join(b"X-%d: y" % i for i in range(101)),
        b"Cookie: " + b"x" * (1 << 20),  # more than is read at a time
        b"x" * (1 << 20),
    ],
)
def test_headers_are_bounded(small: httpx.Client, headers: bytes) -> None:
    status, answer = sent(small, b"GET /health HTTP/1.1\r\nHost: here\r\n" + headers + b"\r\n\r\n")
    assert status in ((431,) if len(headers) < 1 << 20 else (431, 0))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert not answer or (b"connection: close" in head and b"at most 100, of 32,768 bytes" in body)


def test_trailers_and_the_first_line_are_bounded_as_headers_are(small: httpx.Client) -> None:
    assert sent(small, b"GET /" + b"x" * (33 << 10) + b" HTTP/1.1\r\nHost: here\r\n\r\n")[0] == 431
    head = b"POST /embed HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    with socket.create_connection((small.base_url.host, small.base_url.port), timeout=30) as connection:
        connection.sendall(head)
        with pytest.raises(ConnectionError):  # closed, long before the deadline of the request
            connection.sendall((b"X-Trailer: " + b"x" * 10_000 + b"\r\n") * 2000)


@pytest.mark.parametrize(
    ("length", "status"), [(b"0" * 5000, 400), (b"0" * 5000 + b"2", 422), (b"9" * 5000, 400), (b"1" + b"0" * 18, 413)]
)
def test_an_absurd_length_is_no_fault_of_the_server(small: httpx.Client, length: bytes, status: int) -> None:
    head = b"POST /embed HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: " + length
    assert sent(small, head + b"\r\n\r\n{}")[0] == status


def test_answers_are_bounded_in_bytes(served: Saved, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "MAX_ANSWER", 100_000)
    with serving(served.settings()) as client:
        few = client.post("/similar", json={"queries": ["array"] * 2, "k": 2, "among": ["an array " * 1000, "b"]})
        assert few.status_code == 200
        for body in (
            {"queries": ["array"] * 100, "k": 2, "among": ["an array " * 1000, "b"]},
            {"queries": ["array"] * 1000, "k": 20},
        ):
            many = client.post("/similar", json=body)
            assert many.status_code == 413
            assert "send fewer queries, or a smaller k" in many.json()["error"]["message"]


def test_a_body_of_a_million_faults_is_refused_at_the_first(client: httpx.Client) -> None:
    fields = b"{" + b",".join(b'"x%d":1' % i for i in range(500_000)) + b"}"
    for body in (b'{"texts": [' + b"1," * 2_000_000 + b"1]}", b'{"input": [' + b"null," * 1_000_000 + b"1]}", fields):
        path = "/v1/embeddings" if b"input" in body[:20] else "/embed"
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422
        assert len(answer.content) < 1000
