from typing import Any

from reproduction.experiments import beyond
from reproduction.experiments.conclusions import conclusions
from reproduction.experiments.published import Comparison
from reproduction.experiments.seeds import holm
from reproduction.experiments.significance import mcnemar


def run(encoder: str, right: int, dataset: str = "20news-same", dim: int = 50) -> dict[str, Any]:
    return {
        "encoder": encoder, "title": encoder.upper(), "dataset": dataset, "dim": dim, "vectors": None, "by_dim": False,
        "kind": "spherical", "classifier": "liblinear", "transductive": False, "accuracy": right / 100, "folds": None,
        "correct": [1] * right + [0] * (100 - right), "n_test": 100, "fit_seconds": 12.4, "dimensions": 1500,
    }  # fmt: skip


def comparison(*runs: dict[str, Any]) -> Comparison:
    return Comparison({"made": {"vectors": {}}, "runs": list(runs)})


RUNS = [
    run("spm", 60), run("union", 90), run("tfidf-best", 80), run("tfidf-paper", 82), run("minilm", 95),
    run("union", 80, "mine"), run("tfidf-best", 78, "mine"), run("union", 60, "mr"), run("tfidf-best", 60, "mr"),
]  # fmt: skip


def test_claims_are_against_the_better_tfidf_and_corrected() -> None:
    found = {(claim.dataset, claim.rival): claim for claim in beyond.claims(comparison(*RUNS))}
    same, level = found["20news-same", beyond.TFIDF], found["mine", beyond.TFIDF]
    assert (same.ours, same.theirs, level.verdict) == (90.0, 82.0, "level")
    right = {one["encoder"]: one["correct"] for one in RUNS if one["dataset"] == "20news-same"}
    plain = [mcnemar(right["union"], right[name]).p for name in ("tfidf-paper", "minilm")] + [0.5, 1.0]
    assert [same.p, found["20news-same", "minilm"].p] == holm(plain)[:2]
    assert plain[0] < 0.05
    assert same.verdict == "ahead"
    assert found["20news-same", "minilm"].verdict == "level"  # five documents are not enough


def test_rivals_are_told() -> None:
    _, _, same, mr, mine = beyond.table(comparison(*RUNS))
    assert same.startswith("| same | 90.0 (82.6 to 94.5) | 82.0: ahead (+8.0, p = 0.031) | 95.0: level (−5.0,")
    assert mr.startswith("| MR | 60.0 (50.2 to 69.1) | 60.0: level (+0.0, p = 1) | – |")
    assert mine.startswith("| mine | 80.0 (71.1 to 86.7) | 78.0: level")


def test_conclusions_say_what_the_tests_say() -> None:
    first, second = conclusions(comparison(*RUNS), None)
    assert "compared with the better tf-idf it is ahead on same, level on MR and mine;" in first
    assert "compared with the transformer MiniLM it is level on same." in first
    assert "below its accuracy by more than the interval on same" in second  # 60 is below 70


def test_nothing_is_told_of_nothing() -> None:
    assert beyond.table(comparison(run("spm", 70), run("tfidf-best", 80))) == []
