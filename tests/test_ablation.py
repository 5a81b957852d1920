import json
from pathlib import Path

import numpy as np
import pytest
from test_protocol import planted, vectors

from parasphere.datasets.dataset import Dataset
from parasphere.experiments import ablation
from parasphere.experiments.ablation import BASE, CHANGES, ablate, halved, write


def test_a_study_is_run_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = planted()
    monkeypatch.setattr(ablation, "DATASETS", ("planted",))
    monkeypatch.setattr(ablation, "load", lambda _name: corpus)
    few = [change for change in CHANGES if change.name in ("1", "none: the given vectors, all else as above")]
    monkeypatch.setattr(ablation, "CHANGES", few)
    small = {"dim": 12, "epochs": 3, "tol": 1e-2}
    whole = ablation.best_model
    monkeypatch.setattr(ablation, "best_model", lambda v, seed, **given: whole(v, seed, **(small | given)))
    study = ablate(vectors(), cache_folder=tmp_path / "cache", jobs=1)
    assert len(study["rows"]) == 3
    assert study["rows"][0]["cells"]["planted"]["p"] is None
    assert study["rows"][1]["cells"]["planted"]["dimensions"] == 5 * vectors().dim + 8192
    write(study, tmp_path)
    assert json.loads((tmp_path / "ablation.json").read_text())["rows"] == study["rows"]
    told = (tmp_path / "ablation.md").read_text()
    assert "| facets: 1 |" in told
    assert "| SPM, best: all of it |" in told
    assert (tmp_path / "figure-ablation.png").read_bytes().startswith(b"\x89PNG")


def test_every_change_changes_something() -> None:
    corpus, given = planted(split=True), vectors()
    keys = [change.run(corpus, given).key for change in (BASE, *CHANGES)]
    assert len(set(keys)) == len(keys)


def test_halves_are_of_all_labels() -> None:
    corpus = planted()
    half = halved(corpus)
    assert isinstance(half, Dataset)
    assert half.train is not None
    assert abs(int(half.train.sum()) - len(corpus) // 2) <= 1
    counts = np.bincount(corpus.labels[half.train])
    assert np.ptp(counts) <= 1
    split = planted(split=True)
    assert halved(split) is split
    np.testing.assert_array_equal(halved(corpus).train, half.train)
