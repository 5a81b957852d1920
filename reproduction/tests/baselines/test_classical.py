"""Classical baselines against short references: SVD, factors, SIF, Fisher gradients."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from parasphere import Tokenizer, WordVectors
from parasphere.errors import CoverageWarning
from reproduction.baselines.cbow import MeanOfVectors
from reproduction.baselines.fisher import FisherVector
from reproduction.baselines.lsi import LatentSemanticIndex
from reproduction.baselines.nmf import NonnegativeFactors
from reproduction.baselines.sif import SmoothInverseFrequency, UnsupervisedSIF, WeightedMean
from reproduction.baselines.tfidf import TfIdf

WATER = ["sea", "ship", "sail", "wave", "harbour"]
LAND = ["field", "plough", "barn", "horse", "meadow"]
WORDS = [*WATER, *LAND, "wind", "sun"]


def corpus(n: int = 60, seed: int = 5) -> tuple[list[str], list[int]]:
    """Texts about water or land, with words of the weather in both."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 2).tolist()
    texts = [" ".join(rng.choice([*(LAND if label else WATER), "wind", "sun"], 12)) for label in labels]
    return texts, labels


TEXTS, LABELS = corpus()
ODD = ["", "unheard of", *TEXTS[:5], "sea field Sea; wind"]


def word_vectors() -> WordVectors:
    rng = np.random.default_rng(1)
    centres = np.repeat(rng.normal(size=(3, 4)), [5, 5, 2], axis=0)
    unheard = ["of", "rain"]
    return WordVectors.from_arrays([*WORDS, *unheard], np.vstack([centres, np.ones((2, 4))]) + rng.normal(size=(14, 4)))


VECTORS = word_vectors()


def test_only_the_most_frequent_words_are_looked_at() -> None:
    assert LatentSemanticIndex(2, max_words=4).fit(TEXTS).components_.shape == (2, 4)


def test_lsi_is_the_dense_singular_value_decomposition() -> None:
    ours = LatentSemanticIndex(3).fit(TEXTS)
    weights = TfIdf().fit(TEXTS)
    _, values, rows = np.linalg.svd(weights.transform(TEXTS).toarray(), full_matrices=False)
    np.testing.assert_allclose(ours.singular_values_, values[:3], rtol=1e-10)
    signs = np.sign((rows[:3] * ours.components_).sum(axis=1))
    np.testing.assert_allclose(ours.components_, rows[:3] * signs[:, None], atol=1e-10)
    np.testing.assert_allclose(ours.transform(ODD), weights.transform(ODD) @ ours.components_.T, atol=1e-14)
    largest = np.abs(ours.components_).argmax(axis=1)
    assert (ours.components_[[0, 1, 2], largest] > 0).all()
    others = clone(ours).set_params(random_state=7).fit(TEXTS)
    np.testing.assert_allclose(others.components_, ours.components_, atol=1e-10)


def test_the_factors_rebuild_the_texts() -> None:
    # Six kinds of text with a word of their own each: six topics can tell them all.
    texts = [f"{word} {word} {WORDS[-1]}" for word in WORDS[:6] for _ in range(4)]
    factors = NonnegativeFactors(6, tol=1e-6, max_iter=2000).fit(texts)
    weights = TfIdf().fit(texts).transform(texts).toarray()
    rebuilt = factors.transform(texts) @ factors.components_
    assert (factors.components_ >= 0).all()
    assert (factors.transform(texts) >= 0).all()
    np.testing.assert_allclose(rebuilt, weights, atol=1e-3)
    coarse = NonnegativeFactors(3).fit(TEXTS)
    weights = TfIdf().fit(TEXTS).transform(TEXTS).toarray()
    left = np.linalg.norm(weights - coarse.transform(TEXTS) @ coarse.components_)
    assert left == pytest.approx(coarse.reconstruction_error_, rel=1e-3)
    best = np.sqrt((np.linalg.svd(weights, compute_uv=False)[3:] ** 2).sum())  # of any three factors
    assert best <= left < 1.1 * best


def test_the_idf_weighted_mean() -> None:
    mean = WeightedMean(VECTORS).fit(["sea ship", "sea", "wind sea sea"])
    idf = {"sea": 1 + np.log(4 / 4), "wind": 1 + np.log(4 / 2), "rain": 1 + np.log(4 / 1)}
    known = sum(idf[word] * VECTORS[word].astype(float) for word in ("sea", "wind", "rain", "rain"))
    total = idf["sea"] + idf["wind"] + 2 * idf["rain"]
    np.testing.assert_allclose(mean.transform(["sea wind rain xyz rain"]), [known / total], rtol=1e-6)


def sif_reference(texts: list[str], new: list[str], a: float) -> np.ndarray:
    words = " ".join(texts).split()
    probability = {word: words.count(word) / len(words) for word in set(words)}

    def mean(text: str) -> np.ndarray:
        known = [word for word in text.split() if word in VECTORS]
        rows = [a / (a + probability.get(word, 0)) * VECTORS[word].astype(float) for word in known]
        return np.mean(rows, axis=0)

    first = np.linalg.svd(np.array([mean(text) for text in texts]))[2][0]
    return np.array([mean(text) - first * (first @ mean(text)) for text in new])


def test_sif_is_a_short_reference() -> None:
    new = ["sea wind rain xyz", "barn barn sun", TEXTS[0]]
    texts = [*TEXTS, "xyz sea"]  # a word without a vector still counts as a word
    for a in (1e-3, 0.1):
        ours = SmoothInverseFrequency(VECTORS, a).fit(texts)
        np.testing.assert_allclose(ours.transform(new), sif_reference(texts, new, a), rtol=1e-9, atol=1e-12)


def usif_reference(texts: list[str], new: list[str], m: int) -> np.ndarray:
    words = " ".join(texts).split()
    probability = {word: words.count(word) / len(words) for word in set(words)}
    threshold = 1 - (1 - 1 / len(probability)) ** (len(words) / len(texts))
    alpha = sum(p > threshold for p in probability.values()) / len(probability)
    a = (1 - alpha) / (alpha * 0.5 * len(probability))

    def mean(text: str) -> np.ndarray:
        known = [word for word in text.split() if word in VECTORS]
        rows = [a / (0.5 * a + probability.get(word, 0)) * VECTORS[word].astype(float) for word in known]
        return np.mean(rows, axis=0)

    _, values, directions = np.linalg.svd(np.array([mean(text) for text in texts]))
    found = np.array([mean(text) for text in new])
    for value, direction in zip(values[:m], directions[:m], strict=True):  # one after the other, as the author does
        found = found - value**2 / (values[:m] ** 2).sum() * np.outer(found @ direction, direction)
    return found


def test_usif_is_a_short_reference() -> None:
    texts = ["sea wind", "sea", "sea ship sun", "wind field sea", "barn xyz", "sea horse"]
    new = ["sea wind rain xyz", "barn barn sun"]
    for m in (1, 3):
        ours = UnsupervisedSIF(VECTORS, m).fit(texts)
        assert 0 < ours.a_ < np.inf
        np.testing.assert_allclose(ours.transform(new), usif_reference(texts, new, m), rtol=1e-9, atol=1e-12)


def test_words_weigh_the_same_where_none_is_common() -> None:
    ours = UnsupervisedSIF(VECTORS, 0).fit(["sea ship", "field barn"])  # each has 1/4, the threshold is 7/16
    assert ours.a_ == np.inf
    expected = VECTORS["sea"].astype(float) + VECTORS["rain"]
    np.testing.assert_allclose(ours.transform(["sea rain"]), [expected], rtol=1e-6)


def mixture_likelihood(rows: np.ndarray, weights: Any, means: Any, deviations: Any) -> float:
    densities = [norm.pdf(rows, means[k], deviations[k]).prod(axis=1) for k in range(len(weights))]
    return float(np.log(np.array(densities).T @ weights).mean())


def test_the_fisher_vector_is_the_scaled_gradient_of_the_likelihood() -> None:
    fisher = FisherVector(VECTORS, 2, power=1, unit=False).fit(TEXTS)
    words = ["sea", "wind", "sea", "barn", "rain"]
    rows = np.array([VECTORS[word] for word in words], float)
    pi, mu, sigma = fisher.weights_, fisher.means_, fisher.deviations_
    step = 1e-6

    def slope(which: int, at: Any) -> float:
        sides = []
        for sign in (1, -1):
            parameters = [mu.copy(), sigma.copy()]
            parameters[which][at] += sign * step
            sides.append(mixture_likelihood(rows, pi, *parameters))
        return (sides[0] - sides[1]) / (2 * step)

    expected = []
    for k in range(2):
        expected += [slope(0, (k, j)) * sigma[k, j] / np.sqrt(pi[k]) for j in range(4)]
        expected += [slope(1, (k, j)) * sigma[k, j] / np.sqrt(2 * pi[k]) for j in range(4)]
    found = fisher.transform([" ".join(words) + " xyz"])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    scaled = clone(fisher).set_params(power=0.5, unit=True).fit(TEXTS).transform([" ".join(words)])[0]
    rooted = np.sign(found) * np.sqrt(np.abs(found))
    np.testing.assert_allclose(scaled, rooted / np.linalg.norm(rooted), rtol=1e-5)


def test_the_mixture_is_fitted_to_words_as_often_as_they_occur() -> None:
    fisher = FisherVector(VECTORS, 1).fit(["sea sea", "sea barn"])
    expected = 0.75 * VECTORS["sea"].astype(float) + 0.25 * VECTORS["barn"]
    np.testing.assert_allclose(fisher.means_[0], expected, rtol=1e-6)
    drawn = FisherVector(VECTORS, 1, max_tokens=100).fit(["sea sea sea barn"] * 500)
    np.testing.assert_allclose(drawn.means_[0], expected, atol=0.3)
    assert not np.allclose(drawn.means_[0], expected, rtol=1e-6)


def test_factors_do_not_depend_on_the_threads_of_blas() -> None:
    words = [a + b + c for a in "abcdefghij" for b in "abcdefghij" for c in "klmnopqrst"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 20)) for _ in range(1000)]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads), pytest.warns(ConvergenceWarning):
            found.append(NonnegativeFactors(40, max_iter=2, tokenizer=Tokenizer()).fit(texts).components_)
    assert np.array_equal(*found)


def test_texts_with_few_known_words_are_told() -> None:
    vectors = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0]])
    with pytest.warns(CoverageWarning, match="words are known"):
        MeanOfVectors(vectors).fit_transform(["north by unknown words alone"] * 30)
