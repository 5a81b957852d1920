"""Documents with several directions: lifted vectors written out are the oracle, and one facet is SPM."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, VectorsError, WordVectors
from parasphere.features import Bags, Facets, facets, find_facets

DIM = 12
TOPICS = 4
TOKENS = Tokenizer(digits=True)


def words_of_topics(rng: np.random.Generator) -> WordVectors:
    """Thirty words around each of some directions."""
    centres = np.linalg.qr(rng.normal(size=(DIM, TOPICS)))[0].T
    rows = np.concatenate([centre + 0.15 * rng.normal(size=(30, DIM)) for centre in centres])
    return WordVectors.from_arrays([f"t{t}w{i}" for t in range(TOPICS) for i in range(30)], rows)


def text(rng: np.random.Generator, *topics: int, n: int = 8) -> str:
    return " ".join(f"t{topic}w{i}" for topic in topics for i in rng.integers(30, size=n))


def lifted(vectors: WordVectors, facets: Facets) -> WordVectors:
    """The same words in T times the dimension, written out."""
    rows = np.array([facets.lifted(i, row) for i, row in enumerate(vectors.matrix)])
    return WordVectors.from_arrays(vectors.vocabulary.words, rows)


@pytest.fixture
def vectors(rng: np.random.Generator) -> WordVectors:
    return words_of_topics(rng)


@pytest.fixture
def texts(rng: np.random.Generator) -> list[str]:
    return [text(rng, *rng.choice(TOPICS, size=2, replace=False)) for _ in range(80)]


def model(vectors: WordVectors, **given: object) -> SphericalParagraphModel:
    return SphericalParagraphModel(vectors, **{"tokenizer": TOKENS, "tol": 1e-3, "facets": TOPICS, **given})


def test_it_is_spm_on_lifted_vectors(vectors: WordVectors, texts: list[str]) -> None:
    ours = model(vectors).fit(texts)
    assert ours.facets_ is not None
    oracle = model(lifted(vectors, ours.facets_), facets=1).fit(texts)
    np.testing.assert_allclose(ours.evidence_, oracle.evidence_, rtol=1e-6)
    found, expected = ours.posterior([*texts, "", "unheard"]), oracle.posterior([*texts, "", "unheard"])
    np.testing.assert_allclose(found.direction, expected.direction, atol=1e-5)
    np.testing.assert_allclose(found.concentration, expected.concentration, rtol=1e-4)
    np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-4, atol=1e-3)
    told, wanted = ours.explain(texts[0]), oracle.explain(texts[0])
    np.testing.assert_allclose([share for _, share in told.words], [share for _, share in wanted.words], atol=1e-5)
    assert told.prior + sum(share for _, share in told.words) == pytest.approx(1.0, abs=1e-5)


def test_lifted_vectors_are_unit_and_meet_as_before(vectors: WordVectors) -> None:
    regions = find_facets(vectors.matrix, TOPICS)
    rows = np.array([regions.lifted(i, row) for i, row in enumerate(vectors.matrix)])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-6)
    before, after = vectors.matrix @ vectors.matrix.T, rows @ rows.T
    topic = np.repeat(np.arange(TOPICS), 30)
    same = topic[:, None] == topic[None]
    assert (after[same] > 0.9 * before[same]).mean() > 0.95  # regions are the topics
    assert np.abs(after[~same]).mean() < np.abs(before[~same]).mean()


def test_one_facet_is_spm_and_regions_depend_on_the_vectors_alone(vectors: WordVectors, texts: list[str]) -> None:
    plain, one = SphericalParagraphModel(vectors, tokenizer=TOKENS, tol=1e-3).fit(texts), model(vectors, facets=1)
    np.testing.assert_array_equal(one.fit(texts).transform(texts), plain.transform(texts))
    several, again = model(vectors).fit(texts), model(vectors).fit(texts[::-1])
    for mine, other in zip(vars(several.facets_).values(), vars(again.facets_).values(), strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(clone(several).fit_transform(texts), several.transform(texts))


def test_a_text_of_two_things_has_two_directions(
    vectors: WordVectors, texts: list[str], rng: np.random.Generator
) -> None:
    fitted = model(vectors).fit(texts)
    found = fitted.posterior([text(rng, 0, 2, n=30), text(rng, 1, n=60)]).by_facet(TOPICS)
    np.testing.assert_allclose(found.share.sum(1), 1.0, rtol=1e-5)
    names = fitted.facet_words(30)
    facet_of = {words[0][:2]: facet for facet, words in enumerate(names)}
    assert len(facet_of) == TOPICS
    assert all({word[:2] for word in words} == {words[0][:2]} for words in names)
    both = [facet_of["t0"], facet_of["t2"]]
    assert set(np.argsort(found.share[0])[-2:]) == set(both)
    for topic, facet in zip((0, 2), both, strict=True):
        centre = vectors.matrix[30 * topic : 30 * (topic + 1)].mean(0)
        assert found.direction[0, facet] @ centre / np.linalg.norm(centre) > 0.95
    assert int(np.argmax(found.share[1])) == facet_of["t1"]
    told = fitted.explain(text(rng, 0, n=30)).facets
    assert int(np.argmax(told)) == facet_of["t0"]
    assert len(fitted.facet_words(3)[0]) == 3


def test_a_saved_model_is_the_same(
    vectors: WordVectors, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    fitted = model(vectors).fit(texts)
    folder = tmp_path_factory.mktemp("saved")
    fitted.save(folder)
    again = SphericalParagraphModel.load(folder)
    np.testing.assert_array_equal(again.transform(texts), fitted.transform(texts))
    assert again.facet_words(5) == fitted.facet_words(5)
    again.partial_fit(texts[:10])


def test_weights_and_learned_vectors(texts: list[str]) -> None:
    learned = SphericalParagraphModel(JointVectors(6, start=None, epochs=5), facets=3, tokenizer=TOKENS, tol=1e-2).fit(
        texts
    )
    assert learned.transform(texts).shape == (len(texts), 18)
    np.testing.assert_allclose(np.linalg.norm(learned.transform(texts), axis=1), 1.0, rtol=1e-5)
    assert len(learned.facet_words(4)) == 3


def test_bags_are_read_by_the_model_itself(vectors: WordVectors, texts: list[str]) -> None:
    fresh = model(vectors)
    bags = fresh.read(texts)
    assert bags.dim == TOPICS * DIM
    np.testing.assert_array_equal(fresh.fit(bags).transform(texts), model(vectors).fit(texts).transform(texts))


def test_models_of_bags_are_saved_whole(
    vectors: WordVectors, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    bags = model(vectors).read(texts)
    fitted = model(vectors).fit(bags)  # it has read no text itself
    folder = tmp_path_factory.mktemp("saved")
    fitted.save(folder)
    np.testing.assert_array_equal(SphericalParagraphModel.load(folder).transform(texts), fitted.transform(texts))
    plain = model(vectors, facets=1)
    fitted.set_params(facets=1).fit(plain.read(texts))
    assert fitted.transform(texts).shape == (len(texts), DIM)


def test_words_of_no_clear_region_have_one(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facets, "NEGLIGIBLE", 0.9)
    regions = find_facets(rng.normal(size=(60, 5)).astype(np.float32), 4)
    assert (np.diff(regions.starts) >= 1).all()
    assert np.isfinite(regions.parts).all()


def test_no_documents_have_facets_too(vectors: WordVectors, texts: list[str]) -> None:
    found = model(vectors).fit(texts).posterior([])
    assert found.by_facet(TOPICS).direction.shape == (0, TOPICS, DIM)
    with pytest.raises(ValueError, match="48 numbers cannot be split into 5 facets"):
        found.by_facet(5)


def test_faults_are_told(vectors: WordVectors, texts: list[str]) -> None:
    for wrong in (0, 1.5, "ten"):
        with pytest.raises(ValueError, match=f"The 'facets' parameter .* Got {wrong!r} instead"):
            model(vectors, facets=wrong).fit(texts)
    with pytest.raises(VectorsError, match="120 words cannot be divided into facets=500"):
        model(vectors, facets=500).fit(texts)
    with pytest.raises(ValueError, match="has only one facet"):
        model(vectors, facets=1).fit(texts).facet_words()
    with pytest.raises(NotFittedError):
        model(vectors).facet_words()
    with pytest.raises(ValueError, match="rows of numbers have no words"):
        model(vectors).fit(np.eye(5))
    with pytest.raises(ValueError, match="48"):
        model(vectors).fit(texts).transform(Bags.from_rows(np.eye(5)))


def test_words_of_facets_can_be_those_of_a_corpus() -> None:
    rows = [[0, 1], [0.1, 1], [1, 0], [1, 0.1], [0.05, 1]]
    vectors = WordVectors.from_arrays(["sky", "high", "far", "distant", "lofty"], rows)
    fitted = SphericalParagraphModel(vectors, facets=2, tol=1e-2).fit(["sky high", "far distant", "lofty far"])
    assert sorted(map(sorted, fitted.facet_words(2, ["a high tower", "far and away"]))) == [["far"], ["high"]]
    assert sorted(map(sorted, fitted.facet_words(3))) == [["distant", "far"], ["high", "lofty", "sky"]]
