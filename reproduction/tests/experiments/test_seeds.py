"""Intervals and tests of several seeds: coverage in a simulation, and agreement with those of one seed."""

from typing import Any

import numpy as np
import pytest

from reproduction.experiments import seeds, significance
from reproduction.experiments.seeds import compare, holm, interval, merged


def run(correct: Any, seed: int = 0, encoder: str = "a", folds: bool = False) -> dict[str, Any]:
    shares = [float(part.mean()) for part in np.array_split(np.asarray(correct), 10)] if folds else None
    return {
        "encoder": encoder, "dataset": "d", "dim": 50, "vectors": None, "classifier": "c", "transductive": False,
        "encoder_seed": seed, "accuracy": float(np.mean(correct)), "correct": list(map(int, correct)), "folds": shares,
    }  # fmt: skip


def drawn(rng: np.random.Generator, n: int, n_seeds: int, spread: float) -> list[dict[str, Any]]:
    """Draw runs whose documents differ in difficulty, and whose seeds differ in skill."""
    hardness = rng.normal(0, 1, n)
    return [run(hardness + rng.normal(0, 0.5, n) < 0.5 + rng.normal(0, spread), seed) for seed in range(n_seeds)]


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_the_interval_covers_a_new_seed_on_new_documents(spread: float) -> None:
    rng = np.random.default_rng(0)
    everyone = rng.normal(0, 1, 200_000)
    noise = rng.normal(0, 0.5, 200_000)
    truth = float(np.mean([np.mean(everyone + noise < 0.5 + rng.normal(0, spread)) for _ in range(400)]))
    hits = 0
    for _ in range(300):
        (one,) = merged(drawn(rng, 400, 5, spread))
        low, high = interval(one) or (1.0, 0.0)
        hits += low <= truth <= high
    assert 0.92 <= hits / 300 <= 1.0


def test_one_seed_alone_would_not_cover_it() -> None:
    rng = np.random.default_rng(1)
    misses = 0
    for _ in range(200):
        runs = drawn(rng, 4000, 2, 0.2)
        low, high = significance.of_run(runs[0]) or (1.0, 0.0)
        misses += not low <= 0.674 <= high  # what all seeds have on average
    assert misses > 60


def test_a_difference_between_seeds_is_no_difference_between_encoders() -> None:
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(200):
        n = 600
        hardness = rng.normal(0, 1, n)

        def of(encoder: str) -> Any:
            skills = rng.normal(0.5, 0.2, 5)
            return merged([run(hardness < skill, s, encoder) for s, skill in enumerate(skills)])[0]  # noqa: B023

        test = compare(of("a"), of("b"))
        assert test is not None
        found += test.p < 0.05
    assert found <= 20


def test_an_encoder_without_seeds_is_compared_too() -> None:
    rng = np.random.default_rng(3)
    runs = drawn(rng, 500, 5, 0.05)
    (many,) = merged(runs)
    better = run(np.ones(500), encoder="b")
    test = compare(better, many)
    assert test is not None
    assert test.p < 1e-6
    assert test.statistic > 0
    assert compare(run([1, 0] * 30, encoder="b"), many) is None  # other documents


@pytest.mark.parametrize("folds", [False, True])
def test_one_seed_is_what_it_was(folds: bool) -> None:
    rng = np.random.default_rng(4)
    first, second = (
        run(rng.random(300) < level, encoder=name, folds=folds) for name, level in (("a", 0.8), ("b", 0.7))
    )
    assert merged([first, second]) == [first, second]
    assert interval(first) == significance.of_run(first)
    assert compare(first, second) == significance.of_runs(first, second)


def test_seeds_that_agree_leave_the_interval_of_the_folds() -> None:
    one = run(np.random.default_rng(5).random(300) < 0.8, folds=True)
    (same,) = merged([one, {**one, "encoder_seed": 1}])
    assert interval(same) == pytest.approx(significance.folds_interval(one["folds"]))


def test_means_are_of_all_seeds() -> None:
    one = merged([run([1, 0, 1, 1], 0), run([1, 0, 0, 0], 1)])
    assert [found["accuracy"] for found in one] == [0.5]
    assert len(one[0]["by_seed"]) == 2


def test_holm_rejects_as_by_hand() -> None:
    assert holm([]) == []
    assert holm([0.02]) == [0.02]
    assert holm([0.03, 0.01, 0.04]) == pytest.approx([0.06, 0.03, 0.06])
    assert max(holm([0.5, 0.9, 0.9])) == 1.0


def test_the_interval_of_one_seed_is_kept() -> None:
    assert seeds.over_seeds([0.5], [significance.Interval(0.4, 0.6)]) == (0.4, 0.6)
