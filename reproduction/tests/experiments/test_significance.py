"""Intervals and tests: against published examples, closed forms, other implementations and brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from parasphere.errors import ParasphereError
from reproduction.experiments.significance import corrected_t, folds_interval, mcnemar, of_run, of_runs, wilson_interval

FOLDS = [0.871, 0.880, 0.865, 0.892, 0.878, 0.869, 0.884, 0.890, 0.861, 0.877]
OTHERS = [0.868, 0.871, 0.866, 0.880, 0.875, 0.861, 0.880, 0.879, 0.860, 0.871]

# -- Wilson's interval ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("correct", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_newcombes_examples(correct: int, n: int, low: float, high: float) -> None:
    # R. G. Newcombe (1998), Statistics in Medicine 17:857-872, Table I, method 3
    assert wilson_interval(correct, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_is_scipys(counts: tuple[int, int], confidence: float) -> None:
    other = stats.binomtest(*counts).proportion_ci(confidence, method="wilson")
    assert wilson_interval(*counts, confidence) == pytest.approx((other.low, other.high), abs=1e-12)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_symmetric_and_holds_the_share(counts: tuple[int, int]) -> None:
    correct, n = counts
    low, high = wilson_interval(correct, n)
    assert 0 <= low <= correct / n <= high <= 1
    assert wilson_interval(n - correct, n) == pytest.approx((1 - high, 1 - low))


def test_the_ends_solve_wilsons_equation() -> None:
    for end in wilson_interval(1019, 1110):
        assert abs(end - 1019 / 1110) == pytest.approx(stats.norm.ppf(0.975) * math.sqrt(end * (1 - end) / 1110))


@pytest.mark.parametrize(("correct", "n"), [(3, 2), (-1, 2), (0, 0)])
def test_what_is_no_proportion(correct: int, n: int) -> None:
    with pytest.raises(ParasphereError, match="not a proportion"):
        wilson_interval(correct, n)


# -- McNemar's test -------------------------------------------------------------------------------------------------


def pair(both: int, first: int, second: int, neither: int) -> tuple[list[int], list[int]]:
    return [1] * (both + first) + [0] * (second + neither), [1] * both + [0] * first + [1] * second + [0] * neither


def test_mcnemar_by_hand() -> None:
    # 10 against 2: 2 (1 + 12 + 66) / 4096
    assert mcnemar(*pair(30, 10, 2, 5)) == pytest.approx((158 / 4096, 8))


def test_mcnemar_on_a_published_table() -> None:
    # A. Agresti (1990), Categorical Data Analysis, p. 350, approval ratings; the exact p-value as R's exact2x2 has it.
    assert mcnemar(*pair(794, 86, 150, 570)).p == pytest.approx(3.716e-5, rel=1e-3)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (5, 5), (3, 9), (9, 3), (40, 61), (700, 300)])
def test_mcnemar_is_a_binomial_test(first: int, second: int) -> None:
    found = mcnemar(*pair(100, first, second, 20))
    p = stats.binomtest(first, first + second).pvalue if first + second else 1.0
    assert found == pytest.approx((p, first - second))


def test_mcnemar_by_brute_force() -> None:
    # Swap the two on any set of the documents: each way is as likely if neither is better.
    first, second = [1, 1, 1, 0, 1, 1, 0, 1, 1], [0, 0, 1, 1, 0, 0, 0, 0, 0]
    differences = np.subtract(first, second)
    signs = np.array(list(itertools.product([-1, 1], repeat=len(differences))))
    as_far = np.abs(signs @ differences) >= abs(differences.sum())
    assert mcnemar(first, second).p == pytest.approx(as_far.mean())


def test_mcnemar_needs_the_same_documents() -> None:
    with pytest.raises(ParasphereError, match=r"shapes \(2,\) and \(3,\)"):
        mcnemar([0, 1], [0, 1, 1])


# -- folds ----------------------------------------------------------------------------------------------------------


def test_without_overlap_it_is_the_common_t() -> None:
    other = stats.ttest_rel(FOLDS, OTHERS)
    assert corrected_t(FOLDS, OTHERS, ratio=0) == pytest.approx((other.pvalue, other.statistic))
    interval = stats.ttest_1samp(FOLDS, 0).confidence_interval()
    assert folds_interval(FOLDS, ratio=0) == pytest.approx((interval.low, interval.high))


def test_the_correction_is_nadeau_and_bengios() -> None:
    shrunk = stats.ttest_rel(FOLDS, OTHERS).statistic * math.sqrt((1 / 10) / (1 / 10 + 1 / 9))
    p = 2 * stats.t.sf(abs(shrunk), 9)
    assert corrected_t(FOLDS, OTHERS) == pytest.approx((p, shrunk))


def test_three_folds_in_closed_form() -> None:
    # Student's t with 2 degrees of freedom: p = 1 - t / sqrt(2 + t^2)
    t = 0.02 / math.sqrt((1 / 3 + 1 / 2) * 0.0001)
    assert corrected_t([0.91, 0.92, 0.93], [0.9, 0.9, 0.9]) == pytest.approx((1 - t / math.sqrt(2 + t * t), t))


def test_interval_and_test_agree() -> None:
    # p is below 1 - confidence just where the interval of the differences leaves out 0.
    differences = [0.5 + a - b for a, b in zip(FOLDS, OTHERS, strict=True)]
    p = corrected_t(FOLDS, OTHERS).p
    assert folds_interval(differences, 1 - p * 1.001).low > 0.5 > folds_interval(differences, 1 - p * 0.999).low


def test_the_interval_stays_a_proportion() -> None:
    assert folds_interval([1.0, 1.0, 0.9]).high == 1
    assert folds_interval([0.0, 0.0, 0.1]).low == 0
    assert folds_interval([0.7, 0.7]) == (0.7, 0.7)


def test_constant_differences() -> None:
    assert corrected_t(FOLDS, FOLDS) == (1, 0)
    assert corrected_t([0.5, 0.6, 0.7], [0.4, 0.5, 0.6]) == (0, math.inf)
    assert corrected_t([0.4, 0.5, 0.6], [0.5, 0.6, 0.7]) == (0, -math.inf)


def test_the_correction_keeps_the_level(rng: np.random.Generator) -> None:
    """Folds that share a part, as overlapping training sets make them: corrected, the test finds 5 %, else more."""
    shared = rng.normal(size=(4000, 1)) * math.sqrt(0.1)  # correlation n2 / (n1 + n2), as Nadeau and Bengio assume
    folds = 0.5 + 0.01 * (shared + rng.normal(size=(4000, 10)) * math.sqrt(0.9))
    zero = [0.5] * 10
    assert np.mean([corrected_t(row, zero).p < 0.05 for row in folds]) == pytest.approx(0.05, abs=0.012)
    assert np.mean([corrected_t(row, zero, ratio=0).p < 0.05 for row in folds]) > 0.1


@pytest.mark.parametrize("folds", [[], [0.5], [0.5, math.nan], [[0.5, 0.5]]])
def test_folds_that_are_none(folds: list[float]) -> None:
    with pytest.raises(ParasphereError, match="at least two folds"):
        folds_interval(folds)
    with pytest.raises(ParasphereError, match="at least two folds"):
        corrected_t(folds, folds)


def test_other_folds() -> None:
    with pytest.raises(ParasphereError, match="not 10 and 2"):
        corrected_t(FOLDS, [0.1, 0.2])


# -- runs -----------------------------------------------------------------------------------------------------------


def test_a_run_on_a_split_and_one_on_folds() -> None:
    split = {"accuracy": 0.75, "n_test": 4, "correct": [1, 1, 0, 1], "folds": None}
    assert of_run(split) == wilson_interval(3, 4)
    assert of_run(split | {"correct": None}) == wilson_interval(3, 4)
    assert of_run(split | {"correct": None, "n_test": None}) is None
    assert of_run(split | {"folds": FOLDS}) == folds_interval(FOLDS)
    assert of_run(split | {"folds": [0.75]}) is None
    assert of_runs(split, split | {"correct": [1, 1, 1, 1]}) == mcnemar([1, 1, 0, 1], [1, 1, 1, 1])
    assert of_runs({"folds": FOLDS}, {"folds": OTHERS}) == corrected_t(FOLDS, OTHERS)


def test_runs_that_cannot_be_compared() -> None:
    split, folds = {"correct": [1, 0]}, {"folds": FOLDS}
    assert of_runs(split, folds) is None
    assert of_runs(split, {"correct": [1]}) is None
    assert of_runs(folds, {"folds": [0.1, 0.2]}) is None
    assert of_runs({}, {}) is None
    assert of_runs({"folds": [0.5]}, {"folds": [0.5]}) is None
