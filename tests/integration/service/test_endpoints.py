"""What the endpoints answer is what the library computes."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest
from prometheus_client.parser import text_string_to_metric_families
from serving import TEXTS, Saved, serving

from parasphere import MovMF, SphericalParagraphModel
from parasphere.errors import StoreError
from parasphere.model import Match
from parasphere.service import Engine, Settings

ASKED = ["Fit a line to data.", "the eigenvalues of a matrix", "", "zzyzx qqqqw", "Café <script>\u202e 日本 😀"]


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_vectors_are_those_of_the_model_to_the_bit(client: httpx.Client, served: Saved) -> None:
    answer = post(client, "/v1/embeddings", input=ASKED)
    vectors = np.array([row["embedding"] for row in answer["data"]]).astype(np.float32)
    np.testing.assert_array_equal(vectors, served.model.transform(ASKED))
    assert [vector.any() for vector in vectors[2:4]] == [False, True]  # no word; words without a vector


def test_long_texts_have_the_same_bits(client: httpx.Client, served: Saved) -> None:
    answer = post(client, "/v1/embeddings", input=TEXTS)  # computed in a thread
    vectors = np.array([row["embedding"] for row in answer["data"]]).astype(np.float32)
    np.testing.assert_array_equal(vectors, served.model.transform(TEXTS))


def test_texts_have_the_same_bits_among_many_requests(client: httpx.Client, served: Saved) -> None:
    texts = TEXTS[:200]
    expected = served.model.transform(texts)

    def vector(text: str) -> Any:
        return np.array(post(client, "/v1/embeddings", input=text)["data"][0]["embedding"]).astype(np.float32)

    with ThreadPoolExecutor(16) as pool:
        np.testing.assert_array_equal(list(pool.map(vector, texts)), expected)


def test_concurrent_searches_find_what_the_library_finds(client: httpx.Client, served: Saved) -> None:
    queries = [text[:60] for text in TEXTS[:64]]
    expected = [[told(match) for match in found] for found in served.index.search(queries, 5)]

    def search(query: str) -> Any:
        return post(client, "/search", queries=query, k=5)["matches"][0]

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(search, queries)) == expected


def told(match: Match) -> dict[str, Any]:
    """Return a match as JSON has it."""
    return match._asdict() | {"words": list(match.words)}


def test_search_searches_the_index(client: httpx.Client, served: Saved) -> None:
    queries = ["array of zeros", "inverse hyperbolic sine"]
    found = post(client, "/search", queries=queries, k=3)["matches"]
    assert found == [[told(match) for match in row] for row in served.index.search(queries, 3)]
    by_words = post(client, "/search", queries=queries[0], k=3, weight=1)["matches"]
    assert by_words == [[told(match) for match in served.index.search(queries[0], 3, weight=1.0)]]


def test_search_filters_by_columns(client: httpx.Client, served: Saved) -> None:
    where = {"library": served.index.columns["library"][0], "row": [[">=", 10], ["<", 200]]}
    found = post(client, "/search", queries="an array", k=5, where=where)["matches"]
    inside = {"library": where["library"], "row": [(">=", 10), ("<", 200)]}
    assert found == [[told(match) for match in served.index.search("an array", 5, where=inside)]]
    assert all(10 <= match["columns"]["row"] < 200 for match in found[0])
    listed = post(client, "/search", queries="an array", where={"row": [3, 4]}, k=5)["matches"][0]
    assert {match["columns"]["row"] for match in listed} == {3, 4}
    for body, sentence in (
        ({"where": {"colour": "red"}}, 'no column \\"colour\\"; its columns: library, row'),
        ({"where": {"row": "many"}}, "compared with numbers, and 'many' is not a number"),
    ):
        answer = client.post("/search", json={"queries": "an array"} | body)
        assert 400 <= answer.status_code < 500
        assert sentence in answer.text


def test_a_query_that_nothing_is_known_of_finds_nothing(client: httpx.Client) -> None:
    found = post(client, "/search", queries=["array", ""], k=2)["matches"]
    assert [len(matches) for matches in found] == [2, 0]
    for weight in (None, 0.0, 0.5, 1.0):
        found = client.post("/search", json={"queries": "zzyzxqq", "k": 2, "weight": weight})
        assert found.status_code == 200
    assert post(client, "/search", queries="zzyzxqq", k=2)["matches"] == [[]]


def test_a_word_without_a_vector_finds_the_documents_that_share_it(tmp_path: Path) -> None:
    texts = [*TEXTS[:100], "the zzyzxqq of an array"]
    model = SphericalParagraphModel().fit(TEXTS[:100])
    model.save(tmp_path / "model")
    model.index(texts).save(tmp_path / "index")
    with serving(Settings(model=tmp_path / "model", index=tmp_path / "index")) as client:
        (found,) = post(client, "/search", queries="zzyzxqq")["matches"]
    assert found[0]["text"] == texts[-1]
    assert found[0]["words"] == ["zzyzxqq"]


def test_ids_and_values_of_every_kind_are_answered(tmp_path: Path) -> None:
    texts = TEXTS[:4]
    ids = [2**63 - 1, 2**64 - 1, 10**30, -(10**30)]
    table = pd.DataFrame({
        "text": texts,
        "number": [1e308, float("inf"), float("-inf"), None],
        "day": [date(2020, 1, 1), datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999), None],
    })  # fmt: skip
    model = SphericalParagraphModel().fit(TEXTS[:100])
    model.save(tmp_path / "model")
    model.index(table, ids=ids, columns=["number", "day"]).save(tmp_path / "index")
    with serving(Settings(model=tmp_path / "model", index=tmp_path / "index")) as client:
        (found,) = post(client, "/search", queries=" ".join(texts), k=4)["matches"]
        for value in ("10000-01-01", "soon", 10, 2.5, True, "\ud800", "9" * 5000):
            body = json.dumps({"queries": "array", "where": {"day": ["<", value]}})
            refused = client.post("/search", content=body, headers={"Content-Type": "application/json"})
            assert (refused.status_code, len(refused.content) < 1200) == (422, True)
            assert "is not a date" in refused.text
    by_position = sorted(found, key=lambda match: match["position"])
    assert [match["id"] for match in by_position] == [2**63 - 1, 2**64 - 1, str(10**30), str(-(10**30))]
    assert [match["columns"]["number"] for match in by_position] == [1e308, None, None, None]
    days = [match["columns"]["day"] for match in by_position]
    assert days == ["2020-01-01", "0001-01-01", "9999-12-31T23:59:59.999999", None]


def test_explanations_are_those_of_the_model(client: httpx.Client, served: Saved) -> None:
    text, other = "Fit a line to zzyzx data.", "Least squares regression."
    one, expected = post(client, "/explain", text=text), served.model.explain(text)
    assert list(map(tuple, one["words"])) == expected.words
    assert (one["prior"], one["unknown"]) == (expected.prior, ["zzyzx"])
    both, match = post(client, "/explain", text=text, other=other), served.model.explain_match(text, other)
    assert both["similarity"] == match.similarity
    assert list(map(tuple, both["words_b"])) == match.words_b


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
    names = {"parasphere_texts_total": 3, "parasphere_request_seconds_count": 1}
    key = "parasphere_request_seconds_count"
    while (after := counted()).get(key) == before.get(key):  # an answer comes before it is counted
        time.sleep(0.01)
    assert {name: after[name] - before.get(name, 0.0) for name in names} == names


def test_the_description_lists_every_endpoint(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert set(paths) == {
        "/v1/embeddings", "/v1/models", "/search", "/explain", "/topics", "/health", "/ready", "/metrics",
    }  # fmt: skip
    assert client.get("/docs").status_code == 404


def test_what_a_server_lacks_is_named(served: Saved) -> None:
    with serving(served.settings(index=None, topics=None)) as client:
        for answer, option in (
            (client.post("/search", json={"queries": "array"}), "--index"),
            (client.get("/topics"), "--topics"),
            (client.post("/topics", json={"texts": "array"}), "--topics"),
        ):
            assert answer.status_code == 404
            assert option in answer.json()["error"]["message"]


def test_other_estimators_are_refused(tmp_path: Path) -> None:
    MovMF(2).fit(np.eye(5)).save(tmp_path / "mixture")
    with pytest.raises(StoreError, match="holds 'MovMF', not 'Encoder'"):
        Engine.load(Settings(model=tmp_path / "mixture"))
