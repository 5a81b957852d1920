"""What a request may cost: bytes, texts, matches and conditions."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from serving import Saved, answer_on, begin_request, serving

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def small(served: Saved) -> Iterator[httpx.Client]:
    with serving(served.settings(max_body=1000, max_texts=3)) as client:
        yield client


def test_bodies(small: httpx.Client) -> None:
    declared = small.post("/v1/embeddings", json={"input": "x" * 1001})
    assert declared.status_code == 413
    assert "the limit is 1,000 bytes" in declared.json()["error"]["message"]
    assert declared.headers["connection"] == "close"
    streamed = small.post("/v1/embeddings", content=iter([b"x" * 600, b"x" * 600]), headers=JSON)
    assert streamed.status_code == 413
    assert small.post("/v1/embeddings", json={"input": "a"}).status_code == 200


@pytest.mark.parametrize(("length", "status"), [(b"0" * 5000 + b"2", 422), (b"9" * 5000, 400), (b"1" + b"0" * 18, 413)])
def test_an_absurd_length_is_no_fault_of_the_server(small: httpx.Client, length: bytes, status: int) -> None:
    body = b"{}" + b" " * 2000 * (status == 413)
    with begin_request(small.base_url, body, len(body), length=length) as connection:
        assert answer_on(connection)[0] == status


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/v1/embeddings", {"input": ["a"] * 4}, "'input' has 4 texts; the limit is 3."),
        ("/search", {"queries": ["a"] * 4}, "'queries' has 4 texts; the limit is 3."),
        ("/topics", {"texts": ["a"] * 4}, "'texts' has 4 texts; the limit is 3."),
    ],
)
def test_texts(small: httpx.Client, path: str, body: dict[str, object], sentence: str) -> None:
    answer = small.post(path, json=body)
    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == sentence


def test_explained_texts(client: httpx.Client) -> None:
    for body in ({"text": "a" * 100_001}, {"text": "a", "other": "b" * 100_001}):
        answer = client.post("/explain", json=body)
        assert answer.status_code == 422
        assert "at most 100000 characters" in answer.json()["error"]["message"]


def test_matches(client: httpx.Client) -> None:
    many = client.post("/search", json={"queries": ["array"] * 21, "k": 1000})
    assert many.status_code == 413
    assert "21 queries with k = 1,000 have more than 20,000 matches" in many.text


def nested(depth: int) -> Any:
    made: Any = 1
    for _ in range(depth):
        made = [made]
    return made


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"row": list(range(1001))}, "has 1,001 conditions; the limit is 1,000"),
        ({f"column {i}": i for i in range(1001)}, "has 1,001 conditions; the limit is 1,000"),
        ({"row": nested(2)}, "must map columns to a value, a pair"),
        ({"row": nested(900)}, "must map columns to a value, a pair"),
        ({"row": {"a": 1}}, "must map columns to a value, a pair"),
        ({"row": [">=", [1]]}, "must map columns to a value, a pair"),
        ({"row": [1, ["<", {}]]}, "must map columns to a value, a pair"),
        ({"row": ["<", None]}, "cannot be compared with None by <"),
        ({"row": int("1" * 401)}, "up to 308 digits"),
        ({"row": ["1", int("1" * 401)]}, "up to 308 digits"),
        ({"row": ["!=", "x" * 100_000]}, "is not a number"),
        ({"library": True}, "holds text and cannot be compared with True"),
        ({"\ud800": 1}, "no column"),
        ([], "input should be a valid dictionary"),
    ],
)
def test_conditions(client: httpx.Client, where: Any, sentence: str) -> None:
    body = json.dumps({"queries": "array", "where": where})
    answer = client.post("/search", content=body, headers=JSON)
    assert answer.status_code == 422
    message = answer.json()["error"]["message"]
    assert sentence in message
    assert len(message) < 1100


def test_what_conditions_admit_is_searched(client: httpx.Client) -> None:
    for where in (
        {"row": list(range(1000))}, {"row": [[">=", 0], ["<", 500]]}, {"row": 2**70}, {"row": [1, 2**70, "2"]},
        {"library": ["\ud800", "numpy"]}, {"row": 1e308}, {"row": []}, {},
    ):  # fmt: skip
        answer = client.post("/search", content=json.dumps({"queries": "array", "where": where}), headers=JSON)
        assert answer.status_code == 200, (where, answer.text)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/search"])
def test_a_body_of_a_million_faults_is_refused_at_the_first(client: httpx.Client, path: str) -> None:
    name = {"/v1/embeddings": "input", "/search": "queries"}[path].encode()
    fields = b"{" + b",".join(b'"x%d":1' % i for i in range(500_000)) + b"}"
    lists = [b'{"' + name + b'": [' + one * 1_000_000 + b"1]}" for one in (b"1,", b"null,", b"[],")]
    for body in (*lists, fields):
        answer = client.post(path, content=body, headers=JSON)
        assert answer.status_code == 422
        assert len(answer.content) < 1000
