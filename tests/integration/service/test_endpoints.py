"""What the endpoints answer is what the library computes."""

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families
from serving import TEXTS, Saved, serving

from parasphere import MovMF
from parasphere.errors import StoreError
from parasphere.model import Match
from parasphere.service import Engine, Settings
from parasphere.service.server import JsonLines

ASKED = ["Fit a line to data.", "the eigenvalues of a matrix", "", "zzyzx qqqqw", "Café <script>\u202e 日本 😀"]


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_vectors_are_those_of_the_model_to_the_bit(client: httpx.Client, served: Saved) -> None:
    answer = post(client, "/embed", texts=ASKED)
    assert (answer["model"], answer["dim"]) == ("model", 128)
    vectors = np.array(answer["vectors"]).astype(np.float32)
    np.testing.assert_array_equal(vectors, served.model.transform(ASKED))
    assert [vector.any() for vector in vectors[2:4]] == [False, True]  # no word; words without a vector
    one = post(client, "/embed", texts=ASKED[0], space="direction")["vectors"]
    np.testing.assert_array_equal(
        np.array(one).astype(np.float32), served.model.transform(ASKED[:1], space="direction")
    )


def test_certainty_is_that_of_the_posterior(client: httpx.Client, served: Saved) -> None:
    rows = post(client, "/embed", texts=ASKED, certainty=True)["certainty"]
    posterior = served.model.posterior(ASKED)
    assert [row["information"] for row in rows] == posterior.information.tolist()
    assert [row["concentration"] for row in rows] == posterior.concentration.tolist()
    assert rows[2] == {"information": 0.0, "concentration": posterior.concentration[2], "known_words": 0.0}


def test_texts_have_the_same_bits_among_many_requests(client: httpx.Client, served: Saved) -> None:
    texts = TEXTS[:200]
    expected = served.model.transform(texts)

    def vector(text: str) -> Any:
        return np.array(post(client, "/embed", texts=text)["vectors"][0]).astype(np.float32)

    with ThreadPoolExecutor(16) as pool:
        np.testing.assert_array_equal(list(pool.map(vector, texts)), expected)


def told(match: Match) -> dict[str, Any]:
    """Return a match as JSON has it."""
    return match._asdict() | {"words": list(match.words)}


def test_similar_searches_the_index(client: httpx.Client, served: Saved) -> None:
    queries = ["array of zeros", "inverse hyperbolic sine"]
    found = post(client, "/similar", queries=queries, k=3)["matches"]
    assert found == [[told(match) for match in row] for row in served.index.search(queries, 3)]
    by_words = post(client, "/similar", queries=queries[0], k=3, weight=1)["matches"]
    assert by_words == [[told(match) for match in served.index.search(queries[0], 3, weight=1.0)]]


def test_similar_filters_by_columns(client: httpx.Client, served: Saved) -> None:
    where = {"library": served.index.columns["library"][0], "row": [[">=", 10], ["<", 200]]}
    found = post(client, "/similar", queries="an array", k=5, where=where)["matches"]
    inside = {"library": where["library"], "row": [(">=", 10), ("<", 200)]}
    assert found == [[told(match) for match in served.index.search("an array", 5, where=inside)]]
    assert all(10 <= match["columns"]["row"] < 200 for match in found[0])
    listed = post(client, "/similar", queries="an array", where={"row": [3, 4]}, k=5)["matches"][0]
    assert {match["columns"]["row"] for match in listed} == {3, 4}
    for body, sentence in (
        ({"where": {"colour": "red"}}, 'no column \\"colour\\"; its columns: library, row'),
        ({"where": {"row": "many"}}, "compared with numbers, and 'many' is not a number"),
        ({"where": {"row": 1}, "among": ["a"]}, "have no columns: omit 'where'"),
    ):
        answer = client.post("/similar", json={"queries": "an array"} | body)
        assert 400 <= answer.status_code < 500
        assert sentence in answer.text


def test_similar_ranks_given_texts(client: httpx.Client, served: Saved) -> None:
    texts = ["a boat", "sorted rows of a table"]
    found = post(client, "/similar", queries="sort the rows", among=texts, k=2)["matches"]
    assert found == [[told(match) for match in served.model.similar("sort the rows", texts, 2)]]
    assert found[0][0]["position"] == 1


def test_a_query_that_nothing_is_known_of_finds_nothing(client: httpx.Client) -> None:
    for among in ({}, {"among": ["a boat", "an array of numbers"]}):
        found = post(client, "/similar", queries=["array", ""], k=2, **among)["matches"]
        assert [len(matches) for matches in found] == [2, 0]
    assert post(client, "/similar", queries="zzyzxqq", k=2)["matches"] == [[]]


def test_explanations_are_those_of_the_model(client: httpx.Client, served: Saved) -> None:
    text, other = "Fit a line to zzyzx data.", "Least squares regression."
    one, expected = post(client, "/explain", text=text), served.model.explain(text)
    assert [(row["word"], row["share"]) for row in one["words"]] == expected.words
    assert (one["prior"], one["unknown"]) == (expected.prior, ["zzyzx"])
    both, match = post(client, "/explain", text=text, other=other), served.model.explain_match(text, other)
    assert both["similarity"] == match.similarity
    assert [(row["word"], row["share"]) for row in both["other_words"]] == match.words_b


def test_topics_are_those_of_the_corpus(client: httpx.Client, served: Saved) -> None:
    topics = client.get("/topics").json()["topics"]
    assert [topic["words"] for topic in topics] == served.topics.topic_words()
    assert [topic["name"] for topic in topics] == served.topics.names_
    assert sum(topic["size"] for topic in topics) == (served.topics.labels_ >= 0).sum()
    (found,) = post(client, "/topics", texts=TEXTS[0], k=2)["texts"]
    shares = served.topics.transform(TEXTS[:1])[0]
    assert [one["topic"] for one in found["likely"]] == np.argsort(-shares)[:2].tolist()
    assert found["likely"][0]["probability"] == pytest.approx(shares.max(), rel=1e-12)


def test_probes_say_what_is_there(client: httpx.Client) -> None:
    assert client.get("/health").json()["status"] == "alive"
    ready = client.get("/ready").json()
    assert (ready["status"], ready["dim"], ready["documents"], ready["topics"]) == ("ready", 128, 400, 5)


def test_metrics_count_what_was_asked(client: httpx.Client) -> None:
    def counted() -> dict[str, float]:
        families = text_string_to_metric_families(client.get("/metrics").text)
        return {
            sample.name: sample.value
            for family in families
            for sample in family.samples
            if sample.labels.get("path") == "/v1/embeddings" and sample.labels.get("status", "200") == "200"
        }

    before = counted()
    client.post("/v1/embeddings", json={"input": ["a", "b", "c"]})
    names = {"parasphere_requests_total": 1, "parasphere_texts_total": 3, "parasphere_request_seconds_count": 1}
    while (after := counted()) == before:  # an answer comes before it is counted
        time.sleep(0.01)
    assert {name: after[name] - before.get(name, 0.0) for name in names} == names


def test_ids_of_requests_come_back_and_are_logged(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "parasphere.service")
    assert client.get("/health", headers={"X-Request-ID": "trace-7"}).headers["x-request-id"] == "trace-7"
    forged = client.get("/nowhere", headers={"X-Request-ID": 'x" forged\t{'})
    assert re.fullmatch("[0-9a-f]{16}", forged.headers["x-request-id"])
    client.post("/embed", json={"texts": "a secret text"}, headers={"X-Request-ID": "trace-8"})
    while len(caplog.records) < 3:  # an answer comes before its line
        time.sleep(0.01)
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    by_id = {line["request_id"]: line for line in lines}
    assert by_id["trace-8"]["path"] == "/embed"
    assert (by_id["trace-8"]["status"], by_id["trace-8"]["texts"]) == (200, 1)
    assert by_id[forged.headers["x-request-id"]]["status"] == 404
    assert "secret" not in json.dumps(lines)


def test_the_description_lists_every_endpoint(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    named = {"/embed", "/similar", "/explain", "/topics", "/health", "/ready", "/metrics", "/v1/embeddings"}
    assert named <= set(paths)
    assert "texts" in json.dumps(paths["/embed"]["post"]["requestBody"])


def test_the_pages_load_nothing_from_elsewhere(client: httpx.Client) -> None:
    pytest.importorskip("fastapi_offline", reason="the pages are part of the extra serve")
    for page in ("/docs", "/redoc"):
        answer = client.get(page)
        assert answer.status_code == 200
        linked = re.findall(r"(?:src|href)=\"([^\"]+)\"", answer.text)
        assert linked
        assert not [link for link in linked if "//" in link]
        assert all(client.get(link).status_code == 200 for link in linked)


def test_what_a_server_lacks_is_named(served: Saved) -> None:
    with serving(served.settings(index=None, topics=None)) as client:
        for answer, option in (
            (client.post("/similar", json={"queries": "array"}), "--index"),
            (client.get("/topics"), "--topics"),
            (client.post("/topics", json={"texts": "array"}), "--topics"),
        ):
            assert answer.status_code == 404
            assert option in answer.json()["error"]["message"]


def test_other_estimators_are_refused(tmp_path: Path) -> None:
    MovMF(2).fit(np.eye(5)).save(tmp_path / "mixture")
    with pytest.raises(StoreError, match="'estimator MovMF'"):
        Engine.load(Settings(tmp_path / "mixture"))
