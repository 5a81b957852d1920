"""Files that are replaced while they are served: every answer is that of one of the models, and none is missing."""

import re
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from serving import TEXTS, process, serving

from parasphere import SphericalParagraphModel, service
from parasphere.service import Settings

ASKED = TEXTS[0]


def two_models() -> list[Any]:
    return [SphericalParagraphModel(space=space).fit(TEXTS[:100]) for space in ("offset", "direction")]


def answered(client: httpx.Client) -> Any:
    answer = client.post("/v1/embeddings", json={"input": ASKED})
    assert answer.status_code == 200, answer.text
    return np.array(answer.json()["data"][0]["embedding"], np.float32)


def wait_for(client: httpx.Client, vector: Any) -> None:
    deadline = time.monotonic() + 120
    while not np.array_equal(answered(client), vector):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_request_is_lost_or_wrong_while_a_model_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "INTERVAL", 0.02)
    models = two_models()
    vectors = [model.transform([ASKED])[0] for model in models]
    assert not np.array_equal(*vectors)
    models[0].save(tmp_path / "model")
    seen, faults, stop = Counter[int](), list[object](), threading.Event()

    with serving(Settings(model=tmp_path / "model")) as client:

        def ask() -> None:
            with httpx.Client(base_url=client.base_url, timeout=60) as own:
                while not stop.is_set():
                    try:
                        found = answered(own)
                        seen[[np.array_equal(found, vector) for vector in vectors].index(True)] += 1
                    except Exception as error:
                        faults.append(error)

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        try:
            for i in range(1, 1001):
                models[i % 2].save(tmp_path / "model")
                if i % 100 < 2:
                    wait_for(client, vectors[i % 2])
        finally:
            stop.set()
            for asker in askers:
                asker.join()
    assert faults == []
    assert min(seen[0], seen[1]) > 0
    assert sum(seen.values()) > 1000


def test_what_cannot_be_loaded_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(service, "INTERVAL", 0.02)
    models = two_models()
    models[0].save(tmp_path / "model")
    with serving(Settings(model=tmp_path / "model")) as client:

        def failed() -> float:
            line = re.search(r'parasphere_reloads_total{result="failed"} ([0-9.]+)', client.get("/metrics").text)
            return float(line[1]) if line else 0.0

        before = failed()
        (tmp_path / "model").rename(tmp_path / "old")
        (tmp_path / "model").write_text("{")
        deadline = time.monotonic() + 120
        while failed() < before + 3:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        np.testing.assert_array_equal(answered(client), models[0].transform([ASKED])[0])
        said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
        assert 1 <= sum("a replaced file cannot be loaded" in message for message in said) <= 2  # not at each attempt
        (tmp_path / "model").unlink()
        np.testing.assert_array_equal(answered(client), models[0].transform([ASKED])[0])
        models[1].save(tmp_path / "model")
        wait_for(client, models[1].transform([ASKED])[0])


def test_each_worker_loads_what_is_replaced(tmp_path: Path) -> None:
    models = two_models()
    models[0].save(tmp_path / "model")
    with process(tmp_path / "model", workers=2) as running:
        models[1].save(tmp_path / "model")
        deadline = time.monotonic() + 240
        while running.said().count("loaded the replaced files") < 2:
            assert running.get("/ready").status_code == 200
            assert time.monotonic() < deadline, running.said()
            time.sleep(0.1)
        for _ in range(20):  # over new connections, to either worker
            with httpx.Client(base_url=running.url, timeout=60) as client:
                np.testing.assert_array_equal(answered(client), models[1].transform([ASKED])[0])
        assert len(running.workers()) == 2
