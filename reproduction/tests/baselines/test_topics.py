"""PLSI and LDA: planted topics, and the updates against gensim and scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
from gensim.models import LdaModel
from scipy.optimize import linear_sum_assignment
from scipy.special import psi
from sklearn.decomposition import NMF

from parasphere import Tokenizer
from parasphere.errors import CorpusError
from parasphere.text import count_matrix
from reproduction.baselines import lda as lda_module
from reproduction.baselines.lda import TopicsLDA
from reproduction.baselines.plsi import ProbabilisticLatentSemanticIndex as Plsi

N_TOPICS, WORDS_EACH = 4, 6


def planted(rng: np.random.Generator, n: int = 300) -> tuple[list[str], np.ndarray]:
    """Texts of topics that share no word, and each text's true proportions."""
    words = np.array([["bcdf"[topic] + "jkqvxz"[place] for place in range(WORDS_EACH)] for topic in range(N_TOPICS)])
    mixes = rng.dirichlet(np.full(N_TOPICS, 0.2), n)
    topics = [rng.choice(N_TOPICS, 40, p=mix) for mix in mixes]
    return [" ".join(words[chosen, rng.integers(WORDS_EACH, size=40)]) for chosen in topics], mixes


def matched(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return found columns in the order that suits the truth best: topics have no names."""
    rows, columns = linear_sum_assignment(-truth.T @ found)
    return found[:, columns[np.argsort(rows)]]


@pytest.mark.parametrize("model", [Plsi(N_TOPICS), TopicsLDA(N_TOPICS, passes=20, alpha=0.2)])
def test_planted_topics_are_found(model: Plsi | TopicsLDA, rng: np.random.Generator) -> None:
    texts, _ = planted(rng)
    fresh, truth = planted(rng)
    found = model.fit(texts).transform(fresh)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    assert (found >= 0).all()
    # The texts' 40 words tell their mix to about 0.06.
    assert np.abs(matched(found, truth) - truth).mean() < 0.06


def test_the_likelihood_never_falls(rng: np.random.Generator) -> None:
    texts, _ = planted(rng, 100)
    model = Plsi(7, max_iter=60, tol=0).fit(texts)
    trace = model.log_likelihood_
    assert len(trace) == model.n_iter_ + 1 == 61
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(trace))
    assert trace[-1] > trace[0] + 100
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, rtol=1e-12)
    assert model.topic_shares_.sum() == pytest.approx(1, rel=1e-12)
    assert Plsi(7, max_iter=60, tol=1e-3).fit(texts).n_iter_ < 60


def test_perplexity_of_a_case_worked_by_hand() -> None:
    # Two topics without a common word: p(north) = 2/5, p(sea) = 3/5 in one, p(wind) = 2/5, p(east) = 3/5 in the other.
    model = Plsi(2, max_iter=500, tol=1e-12).fit(["north sea", "north sea sea", "east wind", "east wind east"])
    # "sea north" is of the first topic alone: 3/5 and 2/5. "wind wind sea" is 2/3 of the second and 1/3 of the first:
    # p(wind) = 2/3 * 2/5 = 4/15, twice, and p(sea) = 1/3 * 3/5 = 1/5. The unknown word does not count.
    told = np.log(3 / 5) + np.log(2 / 5) + 2 * np.log(4 / 15) + np.log(1 / 5)
    assert model.perplexity(["sea north unheard", "wind wind sea"]) == pytest.approx(np.exp(-told / 5), rel=1e-6)
    topics = model.transform(["wind wind sea"])[0]
    np.testing.assert_allclose(np.sort(topics), [1 / 3, 2 / 3], atol=1e-6)
    trained = model.log_likelihood_[-1]
    np.testing.assert_allclose(trained, 2 * (3 * np.log(3 / 5) + 2 * np.log(2 / 5)), rtol=1e-6)


def test_plsi_fits_as_well_as_factors_of_least_divergence(rng: np.random.Generator) -> None:
    texts, _ = planted(rng, 120)
    model = Plsi(N_TOPICS, max_iter=500, tol=0).fit(texts)
    counts = count_matrix(texts, model.vocabulary_, Tokenizer()).toarray().astype(float)
    peer = NMF(N_TOPICS, solver="mu", beta_loss="kullback-leibler", init="random", max_iter=3000, tol=1e-9)
    rebuilt = peer.set_params(random_state=0).fit_transform(counts) @ peer.components_
    rebuilt /= rebuilt.sum(axis=1, keepdims=True)  # p(w | d)
    theirs = (counts[counts > 0] * np.log(rebuilt[counts > 0])).sum()
    assert model.log_likelihood_[-1] == pytest.approx(theirs, rel=1e-4)


def test_a_text_is_folded_in_at_the_likelihoods_maximum(rng: np.random.Generator) -> None:
    texts, _ = planted(rng, 100)
    model = Plsi(3, max_iter=3000, tol=1e-10).fit(texts)
    counts = count_matrix(texts[:5], model.vocabulary_, Tokenizer()).toarray()
    mixes = model.transform(texts[:5])
    # The gradient with respect to p(z | d) is the text's length where p(z | d) > 0, and no more elsewhere.
    gradient = (counts / (mixes @ model.components_)) @ model.components_.T
    np.testing.assert_allclose(gradient[mixes > 1e-6], 40, rtol=1e-4)
    assert (gradient < 40 * (1 + 1e-3)).all()


def test_the_compiled_e_step_is_gensims(rng: np.random.Generator) -> None:
    texts, _ = planted(rng, 50)
    model = TopicsLDA(N_TOPICS, passes=3, max_iter=500, tol=1e-6).fit(texts)
    counts = count_matrix(["", *texts[:20]], model.vocabulary_, Tokenizer())
    documents = [
        list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in (counts[[i]] for i in range(21))
    ]
    theirs = LdaModel(
        num_topics=N_TOPICS, id2word=dict.fromkeys(range(len(model.vocabulary_)), ""), alpha=model.alpha_,
        iterations=500, gamma_threshold=1e-6, random_state=0, dtype=np.float64,
    )  # fmt: skip
    theirs.expElogbeta = np.exp(psi(model.lambda_.astype(float)) - psi(model.lambda_.astype(float).sum(1))[:, None])
    gamma, gains = theirs.inference(documents, collect_sstats=True)
    words = np.ascontiguousarray(theirs.expElogbeta.T)
    ours, our_gains = lda_module.e_step(counts, words, model.alpha_, 500, 1e-6)
    np.testing.assert_allclose(ours, gamma, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(our_gains.T, gains, rtol=1e-3, atol=1e-3)
    expected = gamma / gamma.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transform(["", *texts[:20]]), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("chunk_size", [25, 200])  # several chunks, the last one shorter, and fewer texts than a chunk
def test_training_is_gensims(chunk_size: int, rng: np.random.Generator) -> None:
    texts, _ = planted(rng, 90)
    texts += ["rare"]  # a word of one text, and a last chunk of another length
    model = TopicsLDA(N_TOPICS, passes=4, chunk_size=chunk_size, max_iter=3000, tol=1e-9).fit(texts)
    counts = count_matrix(texts, model.vocabulary_, Tokenizer())
    documents = [
        list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in (counts[[i]] for i in range(91))
    ]

    class Still(np.random.RandomState):
        """Starts topics as any generator, but each text's topics where ours start."""

        def gamma(self, shape, scale, size):
            return super().gamma(shape, scale, size) if size == (N_TOPICS, counts.shape[1]) else np.ones(size)

    theirs = LdaModel(
        documents, N_TOPICS, dict.fromkeys(range(counts.shape[1]), ""), passes=4, chunksize=chunk_size, eval_every=None,
        iterations=3000, gamma_threshold=1e-9, random_state=Still(0), dtype=np.float64,
    )  # fmt: skip
    np.testing.assert_allclose(model.lambda_, theirs.state.get_lambda(), rtol=1e-4, atol=1e-4)


def test_a_long_training_does_not_underflow() -> None:
    # Each of many steps shrinks the topics by a common factor; what is learned is that of a short training.
    texts = ["north sea sea", "east wind wind"] * 4
    short, long = (TopicsLDA(2, passes=passes, chunk_size=1).fit(texts) for passes in (50, 3000))
    np.testing.assert_allclose(np.sort(long.transform(texts)), np.sort(short.transform(texts)), atol=0.02)


def test_the_digamma_function_is_scipys() -> None:
    for x in (0.002, 0.02, 0.5, 1.4616, 7.99, 8.0, 1e3, 1e9):
        assert np.log(lda_module._exp_digamma(x)) == pytest.approx(psi(x), rel=1e-12, abs=1e-12)
    assert lda_module._exp_digamma(1e-8) == 0  # exp(-1e8)


def test_faults_are_told() -> None:
    model = Plsi(2).fit(["sea ship", "barn"])
    with pytest.raises(CorpusError, match="none of the texts has a known word"):
        model.perplexity(["", "xyz"])
