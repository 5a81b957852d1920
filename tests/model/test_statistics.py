"""EM in parts: any split, in any order, learns what one fit learns, to about 1e-9."""

import math
import pickle
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere import SphericalParagraphModel, WordVectors, datasets
from parasphere.model import Bags, Partition

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


def close(one: SphericalParagraphModel, other: SphericalParagraphModel) -> None:
    np.testing.assert_allclose(one.mean_direction_, other.mean_direction_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.evidence_, other.evidence_, rtol=1e-9)
    np.testing.assert_allclose(one.concentration_, other.concentration_, rtol=1e-9)
    np.testing.assert_allclose(one.word_cosine_, other.word_cosine_, rtol=1e-9)
    assert one.n_iter_ == other.n_iter_


def same(one: SphericalParagraphModel, other: SphericalParagraphModel) -> None:
    assert np.array_equal(one.mean_direction_, other.mean_direction_)
    assert np.array_equal(one.evidence_, other.evidence_)
    assert (one.concentration_, one.word_cosine_, one.n_iter_) == (
        other.concentration_,
        other.word_cosine_,
        other.n_iter_,
    )


@settings(max_examples=25)
@given(
    st.lists(st.integers(0, 100), max_size=5),
    st.randoms(use_true_random=False),
    st.sampled_from([0.0, 10.0, math.inf]),
    st.sampled_from(["newton", "banerjee"]),
)
def test_any_split_in_any_order_learns_what_one_fit_learns(cuts, random, strength, method) -> None:
    make = lambda: SphericalParagraphModel(VECTORS, prior_strength=strength, kappa_method=method, tol=1e-4)  # noqa: E731
    model, whole = make(), make().fit(TEXTS)
    pieces = [model.partition(part) for part in parts(TEXTS, cuts)]
    learned(model, pieces, random.sample(range(len(pieces)), len(pieces)))
    close(model, whole)
    np.testing.assert_allclose(model.encoder_.scatter.within, whole.encoder_.scatter.within, atol=1e-9)
    np.testing.assert_allclose(model.transform(TEXTS), whole.transform(TEXTS), atol=1e-6)  # of float32


def test_the_same_fit_has_the_same_bits_with_any_number_of_threads() -> None:
    texts = TEXTS * 200  # more than a block of documents, and than a thread reads at once
    models = [SphericalParagraphModel(VECTORS, tol=1e-4, n_jobs=n).fit(texts) for n in (1, 1, 2, 5)]
    for model in models[1:]:
        same(model, models[0])
        assert np.array_equal(model.encoder_.scatter.within, models[0].encoder_.scatter.within)
        assert np.array_equal(model.transform(TEXTS), models[0].transform(TEXTS))


def test_the_start_of_the_paper_is_for_fit_alone() -> None:
    model = SphericalParagraphModel(VECTORS, init="paper", random_state=3, tol=1e-4)
    with pytest.raises(ValueError, match='init="paper" is for fit alone, in memory'):
        model.accumulate(TEXTS)
    assert model.fit(TEXTS).n_iter_ > 1


def test_texts_and_bags_are_read_in_each_step() -> None:
    whole = SphericalParagraphModel(VECTORS, tol=1e-3).fit(TEXTS)
    close(learned(SphericalParagraphModel(VECTORS, tol=1e-3), [TEXTS[:9], TEXTS[9:]], [1, 0]), whole)
    bags = whole.read(TEXTS)
    model = learned(SphericalParagraphModel(VECTORS, tol=1e-3), [bags[:9], bags[9:]], [1, 0])
    close(model, whole)
    assert model.encoder_.scatter is None  # selected bags keep the scatter of all, which must not be counted twice


def test_the_prior_is_the_state() -> None:
    whole = SphericalParagraphModel(VECTORS, tol=1e-3).fit(TEXTS)
    model = SphericalParagraphModel(VECTORS, tol=1e-3)
    part, finished = model.partition(TEXTS), False
    while not finished:
        part = pickle.loads(pickle.dumps(part))
        statistics = model.accumulate(part)
        np.testing.assert_equal(model.accumulate(part).sums, statistics.sums)
        finished = model.update(statistics)
    same(model, whole)


def test_statistics_are_small() -> None:
    model = SphericalParagraphModel().fit(datasets.load("docstrings").texts[:50])
    part = Partition.of(model.read(datasets.load("docstrings").texts))
    assert len(pickle.dumps(part.statistics(model.encoder_.prior))) < 10_000


def test_a_partition_is_pickled_and_sized_without_the_vectors() -> None:
    part = SphericalParagraphModel().partition(["a short text", "and another"])
    assert part.word_counts is not None
    assert part.__sizeof__() - part.word_counts.nbytes < 2000
    assert len(pickle.dumps(part)) - part.word_counts.nbytes < 10_000


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
