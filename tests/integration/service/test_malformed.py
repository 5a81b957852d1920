"""Requests that are no requests: none is answered by 500, and none disturbs another."""

import json
import random
import socket
import warnings
from collections import Counter
from typing import Any

import httpx
import numpy as np
import pytest
from serving import Saved, answer_on

N = 10_000
PATHS = [
    "/v1/embeddings",
    "/search",
    "/explain",
    "/topics",
    "/health",
    "/metrics",
    "/",
    "/../etc",
    "/%ff%00",
]
GOOD = {
    "texts": ["a boat"], "queries": "array", "k": 2, "text": "a", "other": "b", "input": "a", "weight": 0.5,
    "where": {"row": [[">=", 2], ["<", 9]]},
}  # fmt: skip
VALUES: list[Any] = [
    None, True, -1, 0, 1e308, 10**400, "", "\x00", "\u202e", "x" * 5000, [], [[]], {}, [None], [1, 2], [[1], [2]],
    ["a", 1], {"a": {"b": []}}, "NaN", -0.5, {"row": ["<", 10**400]}, {"library": [None, "\ud800"]}, "\ud800",
]  # fmt: skip
RAW = [
    b"", b"{", b"[" * 100_000, b'{"texts":' * 20_000, b"\xff\xfe\x00", b'{"text": "\\ud800"}', b'{"texts": NaN}',
    b'{"input": "\\udfff\\ud800"}', b'{"queries": "a", "where": {"row": ' + b"[" * 900 + b"]" * 900 + b"}}",
    b'{"queries": "a", "where": {"row": Infinity}}', b'{"queries": "a", "weight": NaN}', b'{"text": ' + b"1" * 5000,
    b"null", b'"texts"', b"1e999", b'{"texts": ["a",]}', b"\xef\xbb\xbf{}",
    b'{"texts": "a", "texts": 1}', b'{"texts": "\xed\xa0\x80"}', b"--\r\n\r\n", b"\x1f\x8b\x08\x00",
]  # fmt: skip
METHODS = ["POST"] * 8 + ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "BREW", "post"]


def body(rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return rng.choice(RAW)
    fields = {name: rng.choice([*VALUES, GOOD[name]]) for name in rng.sample(sorted(GOOD), rng.randint(0, 4))}
    data = json.dumps(fields).encode()
    if rng.random() < 0.5:
        cut = rng.randrange(len(data))
        return data[:cut] + rng.randbytes(rng.randint(0, 4)) + data[cut + rng.randint(0, 3) :]
    return data


def request(rng: random.Random) -> bytes:
    """Return a request that is probably wrong, in its first line, its headers or its body."""
    sent = body(rng)
    lines = [f"{rng.choice(METHODS)} {rng.choice(PATHS)} HTTP/1.1", "Host: here", "Connection: close"]
    kind = rng.choice(["application/json"] * 4 + ["text/plain", "", "application/json; charset=latin-1"])
    lines.append(f"Content-Type: {kind}")
    length = rng.choice([len(sent)] * 8 + [len(sent) // 2, -1, "x", 10**9, 10**30, "1, 1"])
    lines.append(rng.choice([f"Content-Length: {length}"] * 6 + ["Transfer-Encoding: chunked", "X-Request-ID: \x7f;"]))
    whole = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + sent
    if rng.random() < 0.1:
        at = rng.randrange(min(len(whole), 200))
        whole = whole[:at] + rng.randbytes(rng.randint(1, 8)) + whole[at:]
    return whole


def status_of(address: tuple[str, int], sent: bytes) -> int:
    with socket.create_connection(address, timeout=30) as connection:
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            return answer_on(connection)[0]
        except TimeoutError:
            raise  # nobody may be left without an answer
        except OSError:
            return 0  # closed before all was sent


def test_malformed_requests_are_refused_and_disturb_nobody(
    client: httpx.Client, served: Saved, caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(20)
    address = (str(client.base_url.host), int(client.base_url.port or 0))
    expected = served.model.transform(["a boat on the lake"])
    statuses: Counter[int] = Counter()
    for i in range(N):
        statuses[status_of(address, request(rng))] += 1
        if i % 500 == 0:
            answer = client.post("/v1/embeddings", json={"input": "a boat on the lake"})
            vector = np.array([answer.json()["data"][0]["embedding"]]).astype(np.float32)
            np.testing.assert_array_equal(vector, expected)
    assert {status for status in statuses if status >= 500} == set(), statuses
    assert {400, 404, 405, 422} <= set(statuses)
    assert sum(count for status, count in statuses.items() if status >= 400) > N / 2
    assert [record for record in caplog.records if record.exc_info] == []


def test_whatever_the_description_allows_gets_no_500(client: httpx.Client) -> None:
    schemathesis = pytest.importorskip("schemathesis", reason="requests are made up by schemathesis")
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis.checks import load_all_checks, not_a_server_error
    from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

    load_all_checks()
    checks = [not_a_server_error, status_code_conformance, response_schema_conformance]
    described = schemathesis.openapi.from_url(f"{client.base_url}/openapi.json")
    tried = Counter[str]()
    for result in described.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=160, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            case.call_and_validate(checks=checks)
            tried[f"{case.method} {case.path}"] += 1

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what it makes up
            check()
    assert len(tried) >= 9
    assert tried["POST /v1/embeddings"] >= 10, tried
    assert sum(tried.values()) >= 600, tried
