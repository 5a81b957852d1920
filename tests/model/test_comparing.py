from typing import Any

import numpy as np
import pytest
from blocksize import small_blocks
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from parasphere import (
    CorpusError,
    ParasphereError,
    ScoreWarning,
    SphericalParagraphModel,
    Tokenizer,
    WordVectors,
    storage,
)
from parasphere.model import Bags, Scatter
from parasphere.model.comparing import cosines
from parasphere.model.posterior import mapped
from parasphere.sphere import vmf
from parasphere.sphere.rows import unit_rows

WORDS = ["north", "east", "up", "west", "south"]
TEXTS = ["north north east", "east up", "west west up", "north", "", "up up up north", "south east", "south"]


def make(rng: np.random.Generator, **options: Any) -> SphericalParagraphModel:
    vectors = WordVectors.from_arrays(WORDS, rng.normal(size=(5, 6)) + 1.0)
    return SphericalParagraphModel(vectors, tokenizer=Tokenizer(), tol=1e-3, **options).fit(TEXTS)


@pytest.fixture
def model(rng: np.random.Generator) -> SphericalParagraphModel:
    return make(rng)


def whitening_by_hand(model: SphericalParagraphModel) -> np.ndarray:
    """The metric of the offsets, from the words of the texts one by one."""
    rest = []
    for text in filter(None, TEXTS):
        rows = np.array([model.vectors_[word] for word in text.split()], np.float64)
        rest.append(rows - rows.mean(axis=0))
    rows = np.concatenate(rest)
    covariance = rows.T @ rows / len(rows)
    variance = np.trace(covariance) / len(covariance)
    values, axes = np.linalg.eigh(0.9 * covariance + 0.1 * variance * np.eye(len(covariance)))
    return (axes * (values / variance) ** -0.5) @ axes.T


# -- scatter ----------------------------------------------------------------------------------------------------------


def test_the_scatter_is_that_of_words_within_texts(model: SphericalParagraphModel) -> None:
    np.testing.assert_allclose(model.encoder_.scatter.whitening, whitening_by_hand(model), rtol=1e-4, atol=1e-5)


def test_weighted_words_count_by_their_weight(rng: np.random.Generator) -> None:
    vectors = WordVectors.from_arrays(WORDS, rng.normal(size=(5, 6)) + 1.0)
    weighted = vectors.with_weights([2.0, 1.0, 1.0, 3.0, 1.0])
    twice = [text.replace("north", "north north").replace("west", "west west west") for text in TEXTS]
    one = SphericalParagraphModel(weighted, tokenizer=Tokenizer(), tol=1e-3).read(TEXTS)
    other = SphericalParagraphModel(vectors, tokenizer=Tokenizer(), tol=1e-3).read(twice)
    np.testing.assert_allclose(one.scatter.within, other.scatter.within, rtol=1e-5, atol=1e-6)


def test_whitened_words_lie_alike_in_all_directions(rng: np.random.Generator) -> None:
    """Words scatter along few axes, texts differ along another: the first are shortened, the other is not."""
    noise = rng.normal(size=(300, 40, 8)) * np.array([3, 2, 1, 1, 0.3, 0.3, 0.3, 0.3])
    noise -= noise.mean(axis=1, keepdims=True)
    words = (noise + rng.normal(size=(300, 1, 1)) * np.eye(8)[7] * 5).reshape(-1, 8)
    sums = words.reshape(300, 40, 8).sum(axis=1)
    whitening = Scatter.of(words, np.ones(len(words)), sums, np.full(300, 40.0)).whitening
    before = np.linalg.eigvalsh(np.cov(noise.reshape(-1, 8).T))
    after = np.linalg.eigvalsh(np.cov((noise.reshape(-1, 8) @ whitening).T))
    expected = 1 / (0.9 + 0.1 * before.mean() / before)  # in units of the mean variance
    np.testing.assert_allclose(after / before.mean(), expected, rtol=1e-3)
    assert whitening[7, 7] > 1 > whitening[0, 0]


def test_words_that_scatter_alike_need_no_whitening() -> None:
    axes = np.concatenate([np.eye(4), -np.eye(4)])
    none, all_words = np.zeros((1, 4)), np.array([8.0])
    np.testing.assert_allclose(Scatter.of(axes, np.ones(8), none, all_words).whitening, np.eye(4), atol=1e-12)
    single = Scatter.of(axes, np.eye(8)[0], axes[:1], np.ones(1))  # a single word has no scatter
    assert np.array_equal(single.whitening, np.eye(4))
    assert np.array_equal(Scatter.of(axes, np.zeros(8), none, np.zeros(1)).whitening, np.eye(4))


def test_scatters_of_parts_add_up(model: SphericalParagraphModel) -> None:
    whole = model.read(TEXTS).scatter
    parts = Bags.concatenate([model.read(TEXTS[:3]), model.read(TEXTS[3:])]).scatter
    assert whole is not None
    assert parts is not None
    np.testing.assert_allclose(parts.within, whole.within, rtol=1e-6, atol=1e-7)
    of_texts = make(np.random.default_rng(0))
    metric = of_texts.encoder_.scatter
    assert of_texts.partial_fit(np.ones((9, 6))).encoder_.scatter is metric  # numbers have no words that could scatter
    streamed = make(np.random.default_rng(0)).partial_fit(TEXTS)  # fitted to the texts already: all count twice
    once = make(np.random.default_rng(0))
    np.testing.assert_allclose(streamed.encoder_.scatter.within, 2 * once.encoder_.scatter.within, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_the_scatter_does_not_depend_on_threads(rng: np.random.Generator, n_jobs: int) -> None:
    vectors = WordVectors.from_arrays(WORDS, rng.normal(size=(5, 6)))
    texts = [" ".join(rng.choice(WORDS, 50)) for _ in range(4000)]
    one, many = (SphericalParagraphModel(vectors, n_jobs=jobs, tol=1e-2).fit(texts) for jobs in (1, n_jobs))
    assert np.array_equal(one.encoder_.scatter.within, many.encoder_.scatter.within)


def test_bags_keep_their_scatter(model: SphericalParagraphModel, tmp_path: Any) -> None:
    bags = model.read(TEXTS)
    storage.save(tmp_path / "bags", "bags", bags.to_saved()[1], {})
    again = Bags.from_saved({}, storage.load(tmp_path / "bags", "bags")[0], {})
    assert again.scatter is not None
    assert bags.scatter is not None
    assert np.array_equal(again.scatter.within, bags.scatter.within)
    assert bags[:2].scatter is bags.scatter
    bare = Bags(bags.sums, bags.lengths, bags.squared_norms, bags.unknown)
    plain = SphericalParagraphModel(None, tol=1e-3).fit(bare)  # without words there is no metric but the ordinary one
    assert plain.encoder_.scatter is None
    means = plain.posterior(bare).mean - vmf.mean_length(plain.concentration_, 6) * plain.mean_direction_
    np.testing.assert_allclose(plain.posterior(bare).offset[:3], means[:3], atol=1e-5)


def test_the_ordinary_metric(model: SphericalParagraphModel, tmp_path: Any) -> None:
    plain = make(np.random.default_rng(0), whiten=False)
    assert plain.concentration_ == make(np.random.default_rng(0)).concentration_  # nothing else changes
    means = plain.posterior(TEXTS).mean - vmf.mean_length(plain.concentration_, 6) * plain.mean_direction_
    np.testing.assert_allclose(plain.posterior(TEXTS).offset[:4], means[:4], atol=1e-5)
    rows = means / np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(plain.compare(TEXTS[0], TEXTS[1]), rows[0] @ rows[1], atol=1e-5)
    plain.save(tmp_path / "plain")
    again = SphericalParagraphModel.load(tmp_path / "plain")
    assert again.encoder_.scatter is None
    assert np.array_equal(again.transform(TEXTS), plain.transform(TEXTS))
    assert again.partial_fit(TEXTS).encoder_.scatter is None
    steps = SphericalParagraphModel(model.vectors_, tokenizer=Tokenizer(), whiten=False)
    while not steps.update(steps.accumulate(TEXTS)):
        pass
    assert steps.encoder_.scatter is None


# -- offsets ----------------------------------------------------------------------------------------------------------


def test_the_offset_is_what_a_text_adds(model: SphericalParagraphModel) -> None:
    posterior = model.posterior(TEXTS)
    common = vmf.mean_length(model.concentration_, 6) * model.mean_direction_
    expected = (posterior.mean - common) @ whitening_by_hand(model)
    np.testing.assert_allclose(posterior.offset[:4], expected[:4], rtol=1e-3, atol=1e-5)
    assert not posterior.offset[4].any()  # the empty text
    lengths = np.linalg.norm(model.posterior(["up", "up " * 5, "up " * 50]).offset, axis=1)
    assert lengths[0] < lengths[1] < lengths[2]
    assert np.array_equal(model.transform(TEXTS), unit_rows(posterior.offset).astype(np.float32))
    assert np.array_equal(model.transform(TEXTS, space="direction"), posterior.direction)
    with pytest.raises(ValueError, match="space must be 'offset' or 'direction', not 'sphere'"):
        model.transform(TEXTS, space="sphere")  # type: ignore[arg-type]


def test_an_offset_has_the_same_bits_alone_and_in_company(model: SphericalParagraphModel) -> None:
    together = model.posterior(TEXTS * 500).offset
    for i, text in enumerate(TEXTS):
        assert np.array_equal(model.posterior([text]).offset[0], together[i])


@pytest.mark.parametrize("strength", [0.0, 10.0, float("inf")])
@pytest.mark.parametrize("others", [{}, {"kappa_method": "banerjee"}])
def test_transform_has_the_bits_of_the_posterior(
    rng: np.random.Generator, strength: float, others: dict[str, Any]
) -> None:
    model = make(rng, prior_strength=strength, **others)
    expected = model.posterior(TEXTS).vectors("offset")
    assert np.array_equal(model.transform(TEXTS), expected)
    assert np.array_equal(np.concatenate([model.transform([text]) for text in TEXTS]), expected)


def test_information_is_the_divergence_from_the_prior(rng: np.random.Generator) -> None:
    """The Kullback-Leibler divergence on the circle, by integration."""
    vectors = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0.2]])
    model = SphericalParagraphModel(vectors, tokenizer=Tokenizer(), tol=1e-3).fit(["north", "north east", "north west"])
    posterior = model.posterior(["east east", ""])

    def density(angle: float, direction: np.ndarray, concentration: float) -> float:
        point = np.array([np.cos(angle), np.sin(angle)])
        return float(concentration * (point @ direction) - vmf.log_partition(concentration, 2))

    def integrand(angle: float) -> float:
        after = density(angle, posterior.direction[0].astype(np.float64), posterior.concentration[0])
        return float(np.exp(after) * (after - density(angle, model.mean_direction_, model.concentration_)))

    whole, _ = integrate.quad(integrand, 0, 2 * np.pi, limit=200)
    total, _ = integrate.quad(
        lambda angle: np.exp(density(angle, model.mean_direction_, model.concentration_)), 0, 2 * np.pi
    )
    assert total == pytest.approx(1.0, rel=1e-6)
    assert posterior.information[0] == pytest.approx(whole, rel=1e-4)
    assert posterior.information[1] == 0.0
    growing = model.posterior([" ".join(["east"] * n) for n in (1, 2, 5, 20)]).information
    assert (np.diff(growing) > 0).all()


# -- comparing --------------------------------------------------------------------------------------------------------


def test_compare_is_the_cosine_of_offsets(model: SphericalParagraphModel) -> None:
    offsets = model.posterior(["north", "east up"]).offset.astype(np.float64)
    cosine = offsets[0] @ offsets[1] / np.linalg.norm(offsets[0]) / np.linalg.norm(offsets[1])
    assert model.compare("north", "east up") == pytest.approx(cosine)
    assert model.compare("north", "north") == pytest.approx(1.0)
    assert model.compare("", "") == model.compare("nowhere", "north") == 0.0
    pairs = model.compare(["north", "", "up"], ["east up", "up", "up"])
    assert pairs == pytest.approx([cosine, 0.0, 1.0])
    assert model.compare(["a cat"], ["a dog"]).shape == (1,)


def test_the_doubt_of_a_similarity_by_monte_carlo(model: SphericalParagraphModel, rng: np.random.Generator) -> None:
    common = vmf.mean_length(model.concentration_, 6) * model.mean_direction_
    for one, other in (("north " * 30, "east up " * 30), ("north " * 200, "west " * 80)):
        posterior = model.posterior([one, other])
        drawn = [
            vmf.sample(unit_rows(posterior.direction)[i], posterior.concentration[i], 20_000, rng) - common
            for i in (0, 1)
        ]
        spread = cosines(*(mapped(points, model.encoder_.scatter.whitening) for points in drawn)).std()
        assert model.compare(one, other, return_std=True)[1] == pytest.approx(spread, rel=0.25)
    doubts = [model.compare("north " * n, "east " * n, return_std=True)[1] for n in (1, 10, 100, 1000)]
    assert (np.diff(doubts) < 0).all()


def test_the_doubt_of_a_similarity_by_its_formula_with_whole_covariances(model: SphericalParagraphModel) -> None:
    """Each covariance as a matrix: that of a vMF is A / kappa across its direction and A' along it."""
    assert model.encoder_.scatter is not None
    metric = model.encoder_.scatter.whitening
    for one, other in (("north up", "east"), ("", ""), ("north", "north"), ("", "east east")):
        posterior = model.posterior([one, other])
        covariances = []
        for direction, kappa, mean in zip(
            posterior.direction.astype(float), posterior.concentration, posterior.mean_length, strict=True
        ):
            along, across = 1 - mean**2 - 5 * mean / kappa, mean / kappa
            inner = across * np.eye(6) + (along - across) * np.outer(direction, direction)
            covariances.append(metric @ inner @ metric)
        x, y = posterior.offset.astype(float)
        u, v = (row / max(np.linalg.norm(row), 1e-300) for row in (x, y))
        g, h = v - (u @ v) * u, u - (u @ v) * v
        s, t = covariances
        variance = (y @ y * (g @ s @ g) + x @ x * (h @ t @ h) + np.trace(s @ t)) / (
            (x @ x + np.trace(s)) * (y @ y + np.trace(t))
        )
        assert model.compare(one, other, return_std=True)[1] == pytest.approx(np.sqrt(variance), rel=1e-4)


def test_a_similarity_is_in_no_more_doubt_than_a_cosine_can_be() -> None:
    vectors = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
    flat = SphericalParagraphModel(vectors, tol=1e-3).fit(["north", "north east", "north west", "north north east"])
    for pair in (("north", "east"), ("", ""), ("north", "")):
        assert 0 < flat.compare(*pair, return_std=True)[1] <= 1


def test_the_bayes_factor_by_brute_force(model: SphericalParagraphModel) -> None:
    """The evidence of both texts as one document with their own word concentrations, less that of each."""
    posterior, prior = model.posterior(["north up", "east"]), model.encoder_.prior
    common = prior.concentration * prior.mean_direction
    etas = posterior.direction.astype(np.float64) * posterior.concentration[:, None]
    phi = lambda eta: float(vmf.log_partition(float(np.linalg.norm(eta)), 6))  # noqa: E731
    expected = phi(etas.sum(axis=0) - common) + phi(common) - phi(etas[0]) - phi(etas[1])
    assert model.log_bayes_factor("north up", "east") == pytest.approx(expected, abs=1e-6)
    factors = model.log_bayes_factor(["north up", ""], ["east", "north"])
    assert factors[0] == pytest.approx(expected, abs=1e-6)
    assert factors[1] == 0.0  # an empty text says nothing for or against
    assert model.log_bayes_factor("north north", "north north") > 0


@given(st.lists(st.sampled_from([*WORDS, "nowhere"]), max_size=8), st.lists(st.sampled_from(WORDS), max_size=8))
def test_the_parts_of_words_add_up_to_the_similarity(one: list[str], other: list[str]) -> None:
    model = make(np.random.default_rng(3))
    match = model.explain_match(" ".join(one), " ".join(other))
    assert match.similarity == pytest.approx(model.compare(" ".join(one), " ".join(other)), abs=1e-9)
    assert [word for word, _ in match.words_a] == [word for word in one if word != "nowhere"]
    for words, common in ((match.words_a, match.common_a), (match.words_b, match.common_b)):
        assert sum(part for _, part in words) + common == pytest.approx(match.similarity, abs=1e-9)


def test_the_common_part_is_that_of_the_corpus(model: SphericalParagraphModel) -> None:
    """What is left of a similarity after its words is what is subtracted from every text, by its definition."""
    match, posterior = model.explain_match("north up", "east"), model.posterior(["north up", "east"])
    ratio = posterior.mean_length[0] / posterior.concentration[0] - vmf.mean_length(model.concentration_, 6) / (
        model.concentration_
    )
    subtracted = ratio * model.concentration_ * model.mean_direction_ @ model.encoder_.scatter.whitening
    length = np.linalg.norm(posterior.offset[0].astype(np.float64))
    assert match.common_a == pytest.approx(subtracted @ unit_rows(posterior.offset)[1] / length, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ("north", ["north"], "two lists of the same length"),
        (["north"], ["north", "up"], "not 1 and 2 texts"),
        (["north", None], ["north", "up"], "the first text at position 1"),
        ("north", [], "not empty"),
        (3, "north", "the first texts must be a string or a list"),
    ],
)
def test_what_cannot_be_compared_is_named(model: SphericalParagraphModel, a: Any, b: Any, told: str) -> None:
    for method in (model.compare, model.log_bayes_factor):
        with pytest.raises((ValueError, CorpusError), match=told):
            method(a, b)


# -- search -----------------------------------------------------------------------------------------------------------


def test_similar_equals_brute_force(model: SphericalParagraphModel) -> None:
    posterior = model.posterior(TEXTS)
    scores = model.compare(["north up"] * len(TEXTS), TEXTS)
    expected = np.argsort(-scores, kind="stable")[:4].tolist()
    for among in (TEXTS, posterior, iter(TEXTS), model.read(TEXTS)):
        found = model.similar("north up", among, 4)
        assert [match.position for match in found] == expected
        assert [match.similarity for match in found] == pytest.approx(scores[expected].tolist(), abs=1e-6)
    assert model.similar("north up", TEXTS, 4)[0].text == TEXTS[expected[0]]
    assert len(model.similar("north", TEXTS, 99)) == len(TEXTS)
    with small_blocks(8):
        small = model.similar("north up", TEXTS, 4)
    assert [match.position for match in small] == expected
    with pytest.raises(ValueError, match="k must be at least 1"):
        model.similar("north", TEXTS, 0)
    with pytest.raises(ParasphereError, match="no word of the query 'unheard of'"):
        model.similar("unheard of", TEXTS)
    found = model.similar(["north", "unheard of"], TEXTS)
    assert found == [model.similar("north", TEXTS), []]


def test_a_list_of_queries_is_not_one_text(model: SphericalParagraphModel) -> None:
    found = model.similar(["north up", "east"], TEXTS, 3)
    assert found == [model.similar("north up", TEXTS, 3), model.similar("east", TEXTS, 3)]


# -- likelihood -------------------------------------------------------------------------------------------------------


def test_with_a_shared_concentration_the_likelihood_is_a_density(rng: np.random.Generator) -> None:
    """On the circle, the density of one word integrates to 1; a fitted concentration makes it a profile likelihood."""
    vectors = WordVectors.from_arrays(["north", "east"], [[0, 1], [1, 0.3]])
    angles = np.linspace(0, 2 * np.pi, 2001)[:-1]
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    n = len(angles)
    bags = Bags(circle, np.ones(n), np.ones(n), np.zeros(n, np.int64))
    masses = {}
    for strength in (np.inf, 10.0):
        model = SphericalParagraphModel(vectors, prior_strength=strength, tol=1e-3).fit(["north", "north east", "east"])
        masses[strength] = 2 * np.pi * np.exp(model.log_likelihood(bags)).mean()
    assert masses[np.inf] == pytest.approx(1.0, rel=1e-6)
    assert masses[10.0] > 1.0


def test_scores_that_cannot_be_compared_say_so(model: SphericalParagraphModel, rng: np.random.Generator) -> None:
    assert np.isfinite(model.score(TEXTS))  # without a warning
    vectors = WordVectors.from_arrays(WORDS, rng.normal(size=(5, 6)) + 1.0).with_weights([2.0, 1.0, 1.0, 3.0, 1.0])
    weighted = SphericalParagraphModel(vectors, tol=1e-3).fit(TEXTS)
    with pytest.warns(ScoreWarning, match="same word vectors and weights"):
        weighted.score(TEXTS)
