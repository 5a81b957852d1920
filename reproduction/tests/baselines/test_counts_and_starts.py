"""LSI of plain counts beside gensim's, and SAM with several starts."""

import numpy as np
import pytest

from reproduction import datasets
from reproduction.baselines import LatentSemanticIndex, SphericalAdmixtureTopics


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return datasets.load("docstrings").texts[:300]


def test_counts_span_the_space_of_gensims_lsi(texts: list[str]) -> None:
    models = pytest.importorskip("gensim.models")
    ours = LatentSemanticIndex(5, weighting="counts").fit(texts)
    counts = ours._counts(texts)
    corpus = [list(zip(counts[[i]].indices, counts[[i]].data.astype(float), strict=True)) for i in range(len(texts))]
    words = dict(enumerate(ours.vocabulary_.words))
    theirs = models.LsiModel(corpus, 5, words, power_iters=20, random_seed=0)
    np.testing.assert_allclose(theirs.projection.s, ours.singular_values_, rtol=1e-3)
    cosines = np.abs((theirs.projection.u * ours.components_.T).sum(axis=0))
    np.testing.assert_allclose(cosines, 1, atol=1e-2)
    np.testing.assert_allclose(ours.transform(texts[:3]), counts[:3] @ ours.components_.T)
    np.testing.assert_array_equal(ours.idf_, 1)


def test_the_weighting_is_that_of_the_fit(texts: list[str]) -> None:
    encoder = LatentSemanticIndex(3, weighting="counts").fit(texts)
    before = encoder.transform(texts[:5])
    np.testing.assert_array_equal(encoder.set_params(weighting="tfidf").transform(texts[:5]), before)
    with pytest.raises(ValueError, match="weighting"):
        LatentSemanticIndex(3, weighting="raw").fit(texts)  # type: ignore[arg-type]


def test_the_best_of_several_starts_is_kept(texts: list[str]) -> None:
    bounds = []
    for n_init in (1, 4):
        model = SphericalAdmixtureTopics(4, n_init=n_init, random_state=3, tol=5.0).fit(texts).model_
        bounds.append(float(model.bound_[-1]))
    seeds = np.random.RandomState(3).randint(2**31, size=4)
    single = [SphericalAdmixtureTopics(4, random_state=int(seed), tol=5.0).fit(texts).model_ for seed in seeds]
    assert bounds[1] == max(float(model.bound_[-1]) for model in single)
