"""Folders that are replaced while they are served: every answer is that of one of the models, and none is missing."""

import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from serving import TEXTS, process, serving

from parasphere import SphericalParagraphModel
from parasphere.service import Settings, engine

ASKED = TEXTS[0]


def two_models() -> list[Any]:
    return [SphericalParagraphModel(space=space).fit(TEXTS[:100]) for space in ("offset", "direction")]


def answered(client: httpx.Client) -> Any:
    answer = client.post("/embed", json={"texts": ASKED})
    assert answer.status_code == 200, answer.text
    return np.array(answer.json()["vectors"][0], np.float32)


def wait_for(client: httpx.Client, vector: Any) -> None:
    deadline = time.monotonic() + 120
    while not np.array_equal(answered(client), vector):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_no_request_is_lost_or_wrong_while_a_model_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "INTERVAL", 0.02)
    models = two_models()
    vectors = [model.transform([ASKED])[0] for model in models]
    assert not np.array_equal(*vectors)
    models[0].save(tmp_path / "model")
    seen, faults, stop = Counter[int](), list[object](), threading.Event()

    with serving(Settings(tmp_path / "model", port=0)) as client:

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
            for i in range(1, 21):
                models[i % 2].save(tmp_path / "model")
                wait_for(client, vectors[i % 2])
        finally:
            stop.set()
            for asker in askers:
                asker.join()
    assert faults == []
    assert min(seen[0], seen[1]) > 0


def test_a_folder_that_cannot_be_loaded_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine, "INTERVAL", 0.02)
    models = two_models()
    models[0].save(tmp_path / "model")
    with serving(Settings(tmp_path / "model", port=0)) as client:
        manifest = tmp_path / "model" / engine.MANIFEST
        manifest.write_text("{")
        while not [record for record in caplog.records if record.getMessage() == "reload"]:
            time.sleep(0.02)
        np.testing.assert_array_equal(answered(client), models[0].transform([ASKED])[0])
        manifest.unlink()
        np.testing.assert_array_equal(answered(client), models[0].transform([ASKED])[0])
        models[1].save(tmp_path / "other")
        (tmp_path / "model").rename(tmp_path / "old")
        (tmp_path / "other").rename(tmp_path / "model")
        wait_for(client, models[1].transform([ASKED])[0])


@pytest.mark.parametrize("workers", [1, 2])
def test_sighup_loads_anew_and_ends_nothing(tmp_path: Path, workers: int) -> None:
    model = SphericalParagraphModel().fit(TEXTS[:100])
    model.save(tmp_path / "model")
    with process(tmp_path / "model", workers=workers) as running:
        deadline = time.monotonic() + 240
        while running.said().count('"reloaded"') < workers:  # also if a busy worker was passed over
            running.process.send_signal(signal.SIGHUP)
            assert running.get("/ready").status_code == 200
            assert time.monotonic() < deadline, running.said()
            time.sleep(1)
        assert len(running.workers()) == workers
