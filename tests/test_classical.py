from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from parasphere import CorpusError, Tokenizer, WordVectors
from parasphere.baselines.fisher import FisherVector
from parasphere.baselines.lda import TopicsLDA
from parasphere.baselines.lsi import LatentSemanticIndex
from parasphere.baselines.nmf import NonnegativeFactors
from parasphere.baselines.plsi import ProbabilisticLatentSemanticIndex
from parasphere.baselines.sif import SmoothInverseFrequency, UnsupervisedSIF, WeightedMean
from parasphere.baselines.tfidf import TfIdf

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
ENCODERS: dict[str, Callable[[], Any]] = {
    "tfidf": lambda: TfIdf(),
    "lsi": lambda: LatentSemanticIndex(3),
    "nmf": lambda: NonnegativeFactors(3),
    "plsi": lambda: ProbabilisticLatentSemanticIndex(3),
    "lda": lambda: TopicsLDA(3),
    "wavg": lambda: WeightedMean(VECTORS),
    "sif": lambda: SmoothInverseFrequency(VECTORS),
    "usif": lambda: UnsupervisedSIF(VECTORS, n_removed=2),
    "fisher": lambda: FisherVector(VECTORS, 2),
}
every = pytest.mark.parametrize("name", ENCODERS)


@every
def test_all_that_a_corpus_can_be(name: str, tmp_path: Path) -> None:
    file = tmp_path / "texts.csv"
    file.write_text("text\n" + "\n".join(f'"{text}"' for text in TEXTS))
    expected = dense(ENCODERS[name]().fit_transform(TEXTS))
    for source in (iter(TEXTS), np.array(TEXTS), pa.array(TEXTS), file):
        np.testing.assert_array_equal(dense(ENCODERS[name]().fit_transform(source)), expected)


@every
def test_a_vector_does_not_depend_on_the_texts_beside_it(name: str) -> None:
    encoder = ENCODERS[name]().fit(TEXTS)
    together = dense(encoder.transform(ODD))
    alone = np.concatenate([dense(encoder.transform([text])) for text in ODD])
    np.testing.assert_allclose(alone, together, rtol=1e-5, atol=1e-6)
    assert np.isfinite(together).all()
    assert encoder.transform([]).shape == (0, together.shape[1])
    assert len(encoder.get_feature_names_out()) == together.shape[1]


@every
def test_a_text_without_known_words(name: str) -> None:
    encoder = ENCODERS[name]().fit(TEXTS)
    empty, unknown = dense(encoder.transform(["", "12 xyz"]))
    expected = {"plsi": getattr(encoder, "topic_shares_", None), "lda": np.full(3, 1 / 3)}.get(name, 0 * empty)
    np.testing.assert_allclose(empty, expected, atol=1e-12)
    np.testing.assert_array_equal(empty, unknown)


@every
def test_the_same_seed_gives_the_same_bits_and_labels_do_not_matter(name: str) -> None:
    encoder = ENCODERS[name]()
    expected = dense(encoder.fit(TEXTS).transform(ODD))
    np.testing.assert_array_equal(dense(clone(encoder).fit(TEXTS, LABELS).transform(ODD)), expected)


@every
def test_what_is_saved_comes_back(name: str, tmp_path: Path) -> None:
    fitted = ENCODERS[name]().fit(TEXTS)
    fitted.save(tmp_path)
    np.testing.assert_array_equal(dense(type(fitted).load(tmp_path).transform(ODD)), dense(fitted.transform(ODD)))


@every
def test_they_serve_in_pipelines(name: str) -> None:
    scale = StandardScaler(with_mean=name != "tfidf")
    pipeline = clone(make_pipeline(ENCODERS[name](), scale, LinearSVC(random_state=0)))
    texts, labels = corpus(40, seed=6)  # unseen
    assert pipeline.fit(TEXTS, LABELS).score(texts, labels) > 0.8


@pytest.mark.parametrize("sublinear", [False, True])
def test_tf_idf_is_scikit_learns(sublinear: bool) -> None:
    theirs = TfidfVectorizer(token_pattern=r"[^\W\d_]+", sublinear_tf=sublinear).fit(TEXTS)
    ours = TfIdf(sublinear_tf=sublinear, tokenizer=Tokenizer()).fit(TEXTS)
    order = [theirs.vocabulary_[word] for word in ours.get_feature_names_out()]
    found = ours.transform(ODD)
    assert found.format == "csr"
    np.testing.assert_allclose(found.toarray(), theirs.transform(ODD).toarray()[:, order], rtol=1e-13)


def test_only_the_most_frequent_words_are_looked_at() -> None:
    assert TfIdf(max_words=2).fit(["sea sea sea", "barn barn", "sun"]).get_feature_names_out().tolist() == [
        "sea",
        "barn",
    ]
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


def mixture_likelihood(fisher: FisherVector, rows: np.ndarray, weights: Any, means: Any, deviations: Any) -> float:
    densities = [norm.pdf(rows, means[k], deviations[k]).prod(axis=1) for k in range(len(weights))]
    return float(np.log(np.array(densities).T @ weights).mean())


def test_the_fisher_vector_is_the_scaled_gradient_of_the_likelihood() -> None:
    fisher = FisherVector(VECTORS, 2, weights=True, power=1, unit=False).fit(TEXTS)
    words = ["sea", "wind", "sea", "barn", "rain"]
    rows = np.array([VECTORS[word] for word in words], float)
    pi, mu, sigma = fisher.weights_, fisher.means_, fisher.deviations_
    step = 1e-6

    def slope(which: int, at: Any) -> float:
        sides = []
        for sign in (1, -1):
            parameters = [pi.copy(), mu.copy(), sigma.copy()]
            parameters[which][at] += sign * step
            # Weights are kept on the simplex by the softmax whose gradient Perronnin takes: the others give way.
            parameters[0] = parameters[0] / parameters[0].sum()
            sides.append(mixture_likelihood(fisher, rows, *parameters))
        return (sides[0] - sides[1]) / (2 * step)

    expected = []
    for k in range(2):
        expected += [slope(1, (k, j)) * sigma[k, j] / np.sqrt(pi[k]) for j in range(4)]
        expected += [slope(2, (k, j)) * sigma[k, j] / np.sqrt(2 * pi[k]) for j in range(4)]
        expected += [slope(0, k) * pi[k] / np.sqrt(pi[k])]  # d log pi = d pi / pi
    found = fisher.transform([" ".join(words) + " xyz"])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    scaled = fisher.set_params(power=0.5, unit=True).transform([" ".join(words)])[0]
    rooted = np.sign(found) * np.sqrt(np.abs(found))
    np.testing.assert_allclose(scaled, rooted / np.linalg.norm(rooted), rtol=1e-5)


def test_the_mixture_is_fitted_to_words_as_often_as_they_occur() -> None:
    fisher = FisherVector(VECTORS, 1).fit(["sea sea", "sea barn"])
    expected = 0.75 * VECTORS["sea"].astype(float) + 0.25 * VECTORS["barn"]
    np.testing.assert_allclose(fisher.means_[0], expected, rtol=1e-6)
    drawn = FisherVector(VECTORS, 1, max_tokens=100).fit(["sea sea sea barn"] * 500)
    np.testing.assert_allclose(drawn.means_[0], expected, atol=0.3)
    assert not np.allclose(drawn.means_[0], expected, rtol=1e-6)


def test_faults_are_told() -> None:
    for faulty, texts, message in [
        (LatentSemanticIndex(0), TEXTS, "n_topics must be at least 1, not 0"),
        (LatentSemanticIndex(12), TEXTS, "12 topics need more texts and more words than that; there are 60 and 12"),
        (NonnegativeFactors(3), ["a b c d", "b"], "3 topics need more texts and more words"),
        (SmoothInverseFrequency(VECTORS, 0), TEXTS, "a must be positive, not 0"),
        (UnsupervisedSIF(VECTORS, 5), TEXTS, "n_removed must be from 0 to 4, the dimension, not 5"),
        (FisherVector(VECTORS, 0), TEXTS, "n_components must be at least 1, not 0"),
        (FisherVector(VECTORS, power=0), TEXTS, "power must be positive, not 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            faulty.fit(texts)
    with pytest.raises(CorpusError, match="the texts have 1 known words; 2 Gaussians need 2"):
        FisherVector(VECTORS, 2).fit(["sea", "xyz"])
    with pytest.raises(CorpusError, match="no texts to fit to"):
        WeightedMean(VECTORS).fit([])
    with pytest.raises(CorpusError, match="has a word"):
        UnsupervisedSIF(VECTORS, 2).fit(["", "12"])


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def test_factors_do_not_depend_on_the_threads_of_blas() -> None:
    words = [a + b + c for a in "abcdefghij" for b in "abcdefghij" for c in "klmnopqrst"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 20)) for _ in range(1000)]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads), pytest.warns(ConvergenceWarning):
            found.append(NonnegativeFactors(40, max_iter=2, tokenizer=Tokenizer()).fit(texts).components_)
    assert np.array_equal(*found)
