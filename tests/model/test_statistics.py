"""EM in parts: any split, any order, the bits of one fit."""

import math
import pickle
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere import Bags, SphericalParagraphModel, WordVectors, datasets
from parasphere.model import Partition
from parasphere.model.exact import exact_mean_sum, exact_products, exact_sum

NUMBERS = st.floats(-(2.0**980), 2.0**980, allow_subnormal=True)
RNG = np.random.default_rng(5)
VECTORS = WordVectors.from_arrays(
    [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(80)], RNG.normal(size=(80, 6))
).with_weights(RNG.random(80))
TEXTS = [" ".join(RNG.choice(VECTORS.words, size)) for size in RNG.integers(0, 30, 60)] + ["unknown", ""]


def parts(texts: list[str], cuts: list[int]) -> list[list[str]]:
    edges = [0, *sorted(cut % (len(texts) + 1) for cut in cuts), len(texts)]
    return [texts[begin:end] for begin, end in pairwise(edges)]


def learned(model: SphericalParagraphModel, pieces: list[object], order: list[int]) -> SphericalParagraphModel:
    finished = False
    while not finished:
        found = [model.accumulate(piece) for piece in pieces]
        finished = model.update(reduce(add, [found[i] for i in order]))
    return model


def same(one: SphericalParagraphModel, other: SphericalParagraphModel) -> None:
    assert np.array_equal(one.mean_direction_, other.mean_direction_)
    assert np.array_equal(one.evidence_, other.evidence_)
    assert (one.concentration_, one.word_cosine_, one.n_iter_) == (
        other.concentration_,
        other.word_cosine_,
        other.n_iter_,
    )


# ---------------------------------------------------------------------------------------------------
# Exact sums


@given(st.lists(NUMBERS, max_size=40), st.randoms(use_true_random=False))
def test_sums_of_numbers_are_exact(numbers: list[float], random) -> None:
    total = exact_sum(np.array(numbers, float))
    true = sum(map(Fraction, numbers), Fraction(0))
    assert abs(Fraction(float(total.value)) - true) <= abs(true) * Fraction(2) ** -51
    shuffled = random.sample(numbers, len(numbers))
    cut = random.randint(0, len(numbers))
    assert exact_sum(np.array(shuffled[:cut], float)) + exact_sum(np.array(shuffled[cut:], float)) == total


@settings(max_examples=50)
@given(st.integers(1, 5000), st.integers(1, 20), st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]))
def test_sums_of_bounded_rows_depend_on_no_order(n: int, dim: int, seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    rows = (rng.normal(size=(n, dim)) * 10.0 ** rng.integers(-12, 1, (n, 1))).astype(dtype)
    factors, shares, common = rng.random(n), rng.random(n), rng.normal(size=dim) / 4
    total = exact_mean_sum(rows, factors, shares, common)
    entries = np.clip(shares[:, None] * common + factors[:, None] * rows, -1, 1)
    true = [math.fsum(column) for column in entries.T]
    np.testing.assert_allclose(total.value, true, rtol=1e-15, atol=n * 2.0**-76)
    lengths = np.linalg.norm(rows.astype(float), axis=1)  # some rows can be proved to be within the bounds, some not
    assert exact_mean_sum(rows, factors, shares, common, lengths) == total
    order = rng.permutation(n)
    groups = [group for group in np.array_split(order, rng.integers(1, 6)) if len(group)]
    again = [exact_mean_sum(rows[group], factors[group], shares[group], common) for group in groups]
    assert reduce(add, again) == total


@settings(max_examples=50)
@given(st.integers(1, 3000), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]))
def test_sums_of_products_depend_on_no_order(n: int, dim: int, seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    rows = (rng.normal(size=(n, dim)) * 10.0 ** rng.integers(-3, 4, (n, 1))).astype(dtype)
    factors = rng.random(n) * (rng.random(n) < 0.9)
    total = exact_products(rows, factors)
    wide = rows.astype(float)
    true = (wide * factors[:, None]).T @ wide
    np.testing.assert_allclose(total.value, true, rtol=0, atol=1e-11 * max(np.abs(true).max(), 1e-30))
    groups = [group for group in np.array_split(rng.permutation(n), rng.integers(1, 6)) if len(group)]
    assert reduce(add, [exact_products(rows[group], factors[group]) for group in groups]) == total


def test_sums_that_cannot_be_added_say_why() -> None:
    with pytest.raises(ValueError, match="same kind"):
        exact_sum(np.ones(3)) + exact_sum(np.ones((3, 2)))
    for number in (math.inf, math.nan, -1e306):
        with pytest.raises(ValueError, match="finite"):
            exact_sum(np.array([number]))


# ---------------------------------------------------------------------------------------------------
# EM


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 100), max_size=5),
    st.randoms(use_true_random=False),
    st.sampled_from([0.0, 10.0, math.inf]),
    st.sampled_from(["newton", "banerjee"]),
)
def test_any_split_in_any_order_gives_the_bits_of_one_fit(cuts, random, strength, method) -> None:
    make = lambda: SphericalParagraphModel(VECTORS, prior_strength=strength, kappa_method=method, tol=1e-4)  # noqa: E731
    model, whole = make(), make().fit(TEXTS)
    pieces = [model.partition(part) for part in parts(TEXTS, cuts)]
    learned(model, pieces, random.sample(range(len(pieces)), len(pieces)))
    same(model, whole)
    assert np.array_equal(model.encoder_.scatter.within, whole.encoder_.scatter.within)
    assert np.array_equal(model.transform(TEXTS), whole.transform(TEXTS))


def test_the_start_of_the_paper_is_for_fit_alone() -> None:
    model = SphericalParagraphModel(VECTORS, init="paper", random_state=3, tol=1e-4)
    with pytest.raises(ValueError, match='init="paper" is for fit alone, in memory'):
        model.accumulate(TEXTS)
    assert model.fit(TEXTS).n_iter_ > 1


def test_texts_and_bags_are_read_in_each_step() -> None:
    whole = SphericalParagraphModel(VECTORS, tol=1e-3).fit(TEXTS)
    same(learned(SphericalParagraphModel(VECTORS, tol=1e-3), [TEXTS[:9], TEXTS[9:]], [1, 0]), whole)
    bags = whole.read(TEXTS)
    model = learned(SphericalParagraphModel(VECTORS, tol=1e-3), [bags[:9], bags[9:]], [1, 0])
    same(model, whole)
    assert model.encoder_.scatter is None  # selected bags keep the scatter of all, which must not be counted twice


def test_the_prior_is_the_state() -> None:
    whole = SphericalParagraphModel(VECTORS, tol=1e-3).fit(TEXTS)
    model = SphericalParagraphModel(VECTORS, tol=1e-3)
    part, finished = model.partition(TEXTS), False
    while not finished:
        part = pickle.loads(pickle.dumps(part))
        statistics = model.accumulate(part)
        assert model.accumulate(part).sums == statistics.sums
        finished = model.update(statistics)
    same(model, whole)


def test_statistics_are_small() -> None:
    model = SphericalParagraphModel().fit(datasets.load("docstrings").texts[:50])
    part = Partition.of(model.read(datasets.load("docstrings").texts))
    assert len(pickle.dumps(part.statistics(model.encoder_.prior))) < 10_000


def test_steps_that_do_not_fit_say_why() -> None:
    model = SphericalParagraphModel(VECTORS)
    part = model.partition(TEXTS)
    look = model.accumulate(part)
    model.update(look)
    step = model.accumulate(part)
    with pytest.raises(ValueError, match="in the same step of EM"):
        look + step
    with pytest.raises(ValueError, match="each once"):
        model.update(step + step)
    with pytest.raises(ValueError, match="not those of this step"):
        model.update(look)
    with pytest.raises(ValueError, match="none of the 1 documents"):
        SphericalParagraphModel(VECTORS).update(SphericalParagraphModel(VECTORS).accumulate(["nothing"]))
    with pytest.raises(ValueError, match="new model"):
        SphericalParagraphModel(VECTORS).update(step)


def test_the_last_iteration_that_is_allowed_warns() -> None:
    model = SphericalParagraphModel(VECTORS, max_iter=1, tol=0.0)
    part = model.partition(Bags.concatenate([model.read(TEXTS)]))
    model.update(model.accumulate(part))
    model.update(model.accumulate(part))
    with pytest.warns(UserWarning, match="max_iter=1"):
        assert model.update(model.accumulate(part))
