from typing import Any

from parasphere.experiments import beyond
from parasphere.experiments.published import Comparison


def run(encoder: str, right: int, dataset: str = "20news-same", dim: int = 50) -> dict[str, Any]:
    return {
        "encoder": encoder, "title": encoder.upper(), "dataset": dataset, "dim": dim, "vectors": None, "by_dim": False,
        "kind": "spherical", "classifier": "liblinear", "transductive": False, "accuracy": right / 100, "folds": None,
        "correct": [1] * right + [0] * (100 - right), "n_test": 100, "fit_seconds": 12.4, "dimensions": 1500,
    }  # fmt: skip


def comparison(*runs: dict[str, Any]) -> Comparison:
    return Comparison({"made": {"vectors": {}}, "runs": list(runs)})


def test_rivals_and_targets_are_told() -> None:
    runs = [run("spm", 70), run("spm-union", 90, dim=100), run("tfidf-best", 80), run("spm-union", 80, "mine", 100)]
    _, _, same, mine = beyond.table(comparison(*runs))
    assert same.startswith("| same | 90.0 (82.6 to 94.5) | 84.0: reached | 80.0 (+10.0, 0.002) | – | 12 |")
    assert mine.startswith("| mine | 80.0 (71.1 to 86.7) | – | – | – |")
    (*_, short) = beyond.table(comparison(run("spm-union", 83), run("minilm", 40)))
    assert "| 84.0: 1.0 short | – | 40.0 (+43.0, < 0.001) |" in short


def test_nothing_is_told_of_nothing() -> None:
    assert beyond.table(comparison(run("spm", 70), run("tfidf-best", 80))) == []
