"""Merging, neighbours and the words of topics, against plain formulas."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage

from parasphere.sphere import vmf
from parasphere.sphere.rows import unit_rows
from parasphere.topics.calibration import best_temperature
from parasphere.topics.merging import merge_topics
from parasphere.topics.neighbours import smoothed
from parasphere.topics.representation import best_weight
from parasphere.topics.words import (
    ALONE,
    COMPANY,
    MOST_COMPANY,
    counted_together,
    likelihood_ratio,
    together,
)


def random_rows(n: int, dim: int, seed: int = 0) -> np.ndarray:
    return np.asarray(unit_rows(np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)))


def test_smoothing_is_the_mean_with_the_nearest() -> None:
    rows = np.vstack([random_rows(20, 4), np.zeros((1, 4), np.float32)])
    landmarks = random_rows(9, 4, seed=1)
    found = smoothed(rows, landmarks, 2)
    two = np.argsort(-(rows[5] @ landmarks.T))[:2]
    mean = 0.5 * rows[5] + landmarks[two].mean(axis=0)
    assert found[5] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-6)
    assert not found[-1].any()
    assert smoothed(rows, landmarks, 0) is rows


def test_temperature_makes_up_for_log_odds_that_are_too_large() -> None:
    rng = np.random.default_rng(0)
    centres, labels = np.eye(20)[:3], rng.integers(3, size=1500)
    rows = unit_rows(np.vstack([vmf.sample(centres[label], 8.0, 1, rng=rng) for label in labels]).astype(np.float32))
    joint = 8.0 * rows @ centres.T
    assert best_temperature(rows, joint, 0) == 1  # these are right
    assert best_temperature(rows, 100 * joint, 0) == pytest.approx(10 * best_temperature(rows, 10 * joint, 0))
    assert best_temperature(rows, 10 * joint[:, :1], 0) == 1
    assert best_temperature(rows[:5], 10 * joint[:5], 0) == 1


def planted_sums(kappa: float = 60.0) -> tuple[np.ndarray, np.ndarray]:
    """Six groups of texts: two about each of three directions."""
    rng = np.random.default_rng(0)
    rows = [vmf.sample(np.eye(8)[i // 2], kappa, 50 + 10 * i, rng=rng) for i in range(6)]
    return np.array([each.sum(axis=0) for each in rows]), np.array([float(len(each)) for each in rows])


def test_groups_of_one_direction_are_merged_first() -> None:
    merges = merge_topics(*planted_sums())
    assert sorted(map(tuple, merges.pairs[:3].tolist())) == [(0, 1), (2, 3), (4, 5)]
    assert 6 - int(np.argmin(merges.criteria)) == 3
    assert merges.groups(3).tolist() == [0, 0, 1, 1, 2, 2] or len(set(merges.groups(3)[::2])) == 3
    heights = np.cumsum(np.maximum(merges.losses, 1e-9))
    assert is_valid_linkage(np.column_stack([merges.pairs, heights, np.arange(2, 7)]).astype(float))


def test_the_loss_is_that_of_the_likelihood() -> None:
    sums, sizes = planted_sums()

    def likelihood(sums: np.ndarray, sizes: np.ndarray, kappa: float) -> float:
        n = sizes.sum()
        lengths = np.linalg.norm(sums, axis=1).sum()
        return float(kappa * lengths - n * vmf.log_partition(kappa, 8) + (sizes * np.log(sizes / n)).sum())

    merges = merge_topics(sums, sizes)
    kappa = vmf.concentration(np.linalg.norm(sums, axis=1).sum() / sizes.sum(), 8)
    i, j = merges.pairs[0]
    rest = [t for t in range(6) if t not in (i, j)]
    after = likelihood(np.vstack([sums[rest], sums[i] + sums[j]]), np.append(sizes[rest], sizes[i] + sizes[j]), kappa)
    assert merges.losses[0] == pytest.approx(likelihood(sums, sizes, kappa) - after, abs=1e-8)


def test_likelihood_ratios_sum_to_the_divergence() -> None:
    counts = np.array([[30.0, 0.0, 10.0], [0.0, 40.0, 20.0]])
    p, q = np.array([0.75, 0, 0.25]), np.array([30, 40, 30]) / 100
    divergence = (p[[0, 2]] * np.log(p[[0, 2]] / q[[0, 2]])).sum()
    assert likelihood_ratio(counts)[0].sum() == pytest.approx(divergence, abs=2e-3)
    assert likelihood_ratio(counts)[0].argmax() == 0


def test_words_count_by_their_company_word_by_word() -> None:
    rng = np.random.default_rng(0)
    counts = sparse.csr_array(rng.poisson(0.3, (60, 40)).astype(float))
    labels = rng.integers(-1, 3, 60)
    sums = np.array([counts.toarray()[labels == topic].sum(axis=0) for topic in range(3)])
    weighted = counted_together(counts, labels, sums).toarray()
    first = [set(np.argsort(-row)[:COMPANY]) for row in likelihood_ratio(sums)]
    for text, row in enumerate(counts.toarray()):
        for word in np.flatnonzero(row):
            others = len((first[labels[text]] & set(np.flatnonzero(row))) - {word})
            expected = row[word] * (ALONE + min(others, MOST_COMPANY)) if labels[text] >= 0 else 0.0
            assert weighted[text, word] == pytest.approx(expected)


def test_words_that_occur_together_describe_a_topic_better_than_those_that_do_not() -> None:
    together_only, alone = [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]  # words 0 to 2 in the same texts, 3 in as many others
    counts = sparse.csr_array(np.array([together_only] * 20 + [alone] * 20 + [[0, 0, 0, 0, 1, 1]] * 40, float))
    labels = np.repeat([0, 1], 40)
    sums = np.array([counts.toarray()[labels == topic].sum(axis=0) for topic in range(2)])
    weighted = np.array(
        [counted_together(counts, labels, sums).toarray()[labels == topic].sum(axis=0) for topic in range(2)]
    )
    assert likelihood_ratio(sums)[0][:4] == pytest.approx([likelihood_ratio(sums)[0][0]] * 4)
    assert together(sums, weighted)[0][3] < together(sums, weighted)[0][:3].min()


def test_a_word_that_two_topics_share_stands_back() -> None:
    counts = np.array([[20.0, 20.0, 0.0], [0.0, 20.0, 20.0], [0.0, 0.0, 400.0]])
    scores, plain = together(counts, counts), likelihood_ratio(counts)
    assert scores[0, 1] / scores[0, 0] == pytest.approx(plain[0, 1] / plain[0, 0] * 0.5**0.25)


def test_the_weight_is_of_the_part_that_finds() -> None:
    good, noise = random_rows(200, 30), (random_rows(200, 30, 1), random_rows(200, 30, 2))
    assert best_weight(noise, (good, good)) >= 0.5
    assert best_weight((good, good), noise) == 0.0
    assert best_weight((good[:5], good[:5]), (good[:5], good[:5])) == pytest.approx(0.4)  # too few to tell
