"""The estimator: what every document gets, the same bits everywhere, and scikit-learn's contract."""

import math
import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import sklearn
from blocksize import small_blocks
from drawn import draw
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.fixes import parse_version

from parasphere import Bags, CorpusError, FewDocumentsWarning, SphericalParagraphModel, WordVectors
from parasphere.model import Posterior, Prior, em
from parasphere.sphere import vmf

WORDS = [a + b + "x" for a in "bcdfghkl" for b in "aeiou"]  # 40 words, none of them a stop word
DIM = 8


def some_vectors(dim: int = DIM) -> WordVectors:
    """Words in two camps, so that texts have something to say."""
    rows = np.random.default_rng(dim).normal(size=(len(WORDS), dim))
    rows[:20, 0] += 2.0
    rows[20:, 1] += 2.0
    return WordVectors.from_arrays(WORDS, rows)


def some_texts(n: int = 60, seed: int = 0) -> tuple[list[str], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    texts = [" ".join(rng.choice(WORDS[:20] if label else WORDS[20:], rng.integers(1, 25))) for label in labels]
    return texts, labels


TEXTS, LABELS = some_texts()


def model(**options) -> SphericalParagraphModel:
    return SphericalParagraphModel(**({"vectors": some_vectors(), "tol": 1e-5, "max_iter": 1000} | options))


@pytest.fixture(scope="module")
def fitted() -> SphericalParagraphModel:
    return model().fit(TEXTS)


def topics(dim: int, n_topics: int, n_each: int, apart: float, within: float, kappa: float, seed: int = 0) -> Bags:
    """A corpus sorted by topic: each has a direction of its own."""
    rng = np.random.default_rng(seed)
    centres = vmf.sample(np.eye(dim)[0], apart, n_topics, rng)
    return Bags.concatenate(
        [draw(Prior(c, within, 0.5, 0.0), n_each, rng.integers(1, 40, n_each), kappa, rng).bags for c in centres]
    )


def same_bits(a: Posterior, b: Posterior) -> bool:
    names = ("direction", "concentration", "word_concentration", "length", "unknown", "log_likelihood")
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in names)


def assert_defined(found: Posterior) -> None:
    for name in ("direction", "concentration", "word_concentration", "log_likelihood", "mean_length"):
        assert np.isfinite(getattr(found, name)).all(), name
    precision = 1e-6 if found.direction.dtype == np.float32 else 1e-14
    np.testing.assert_allclose(np.linalg.norm(found.direction.astype(float), axis=1), 1.0, atol=precision)


# ---------------------------------------------------------------------------------------------------
# What is learned


def test_a_drawn_corpus_is_learned_again() -> None:
    truth = model(vectors=None, random_state=5).fit(topics(6, 1, 300, 50.0, 20.0, 15.0))
    drawn = draw(truth.encoder_.prior, 1500, 40, None, np.random.default_rng(5))
    found = model(vectors=None).fit(drawn.bags)
    error = 1 / math.sqrt(1500 * vmf.mean_length_slope(truth.concentration_, 6))
    assert abs(found.concentration_ - truth.concentration_) < 4 * error
    assert found.word_cosine_ == pytest.approx(truth.word_cosine_, abs=0.005)
    assert found.mean_direction_ @ truth.mean_direction_ > 1 - 5 * 5 / (1500 * truth.concentration_)
    # The posterior knows how far the true directions are: E[cos] is its mean length.
    posterior = found.posterior(drawn.bags)
    cosines = np.vecdot(posterior.direction, drawn.directions)
    assert abs((cosines - posterior.mean_length).mean()) < 4 * cosines.std() / math.sqrt(1500)


def test_the_trace_and_what_it_says(fitted: SphericalParagraphModel) -> None:
    assert fitted.converged_
    assert len(fitted.evidence_) == fitted.n_iter_ + 1
    assert (np.diff(fitted.evidence_) > -1e-12).all()
    assert abs(fitted.evidence_[-1] - fitted.evidence_[-2]) < fitted.tol
    paper = model(prior_strength=0.0, tol=1e-9).fit(TEXTS)
    assert paper.score(TEXTS) == pytest.approx(paper.evidence_[-1], abs=1e-3)  # with no prior it is the log-evidence
    found = paper.posterior(TEXTS)
    assert paper.score(TEXTS) == found.log_likelihood.sum() / found.length.sum()
    assert np.array_equal(paper.log_likelihood(TEXTS), found.log_likelihood)


def test_the_papers_mode() -> None:
    paper = SphericalParagraphModel.paper(some_vectors(), random_state=0, tol=1e-4)
    assert (paper.prior_strength, paper.kappa_method, paper.init) == (0.0, "banerjee", "paper")
    assert_defined(paper.fit(TEXTS).posterior([*TEXTS, "", WORDS[0]]))


def test_too_few_iterations_are_said() -> None:
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 .* Allow more iterations"):
        short = model(max_iter=2, tol=1e-12).fit(TEXTS)
    assert not short.converged_
    assert short.n_iter_ == 2


def test_no_words_at_all_is_an_error() -> None:
    for texts in ([], [""], ["", "nowhere to be found", " "]):
        with pytest.raises(CorpusError, match=r"documents has a word with a vector|there are no documents to fit to"):
            model().fit(texts)
    with pytest.raises(CorpusError, match="none of the 3 documents"):
        model(vectors=None).fit(np.zeros((3, 4)))


def test_documents_without_words_teach_nothing(fitted: SphericalParagraphModel) -> None:
    mixed = model().fit(["", *TEXTS, "nowhere"])
    assert np.array_equal(mixed.mean_direction_, fitted.mean_direction_)
    assert mixed.concentration_ == fitted.concentration_


# ---------------------------------------------------------------------------------------------------
# Every document has an answer

ODD = ["", "nowhere unheard", WORDS[0], " ".join([WORDS[3]] * 1000), " ".join(WORDS), f"{WORDS[0]} nowhere"]


@pytest.mark.parametrize("method", ["newton", "banerjee"])
@pytest.mark.parametrize("strength", [0.0, 10.0, 1e12, math.inf])
def test_odd_documents_are_defined(strength: float, method: str) -> None:
    fitted = model(prior_strength=strength, kappa_method=method).fit(TEXTS)
    found = fitted.posterior(ODD)
    assert_defined(found)
    assert found.length.tolist() == [0, 0, 1, 1000, 40, 1]
    assert found.unknown.tolist() == [0, 2, 0, 0, 0, 1]
    for empty in (0, 1):
        assert np.array_equal(found.direction[empty], fitted.mean_direction_.astype(np.float32))
        assert found.concentration[empty] == fitted.concentration_
        assert found.log_likelihood[empty] == 0.0
        if not math.isinf(strength):  # where all share one concentration, these do too
            assert found.word_concentration[empty] == 0.0
    word = some_vectors().matrix[WORDS.index(WORDS[3])]
    if strength <= 10:
        assert found.direction[3] @ word > 0.999


@cache
def a_million_words() -> str:
    return " ".join(np.array(WORDS)[np.random.default_rng(0).integers(20, size=1_000_000)].tolist())


@pytest.mark.parametrize("strength", [0.0, 10.0, math.inf])
def test_documents_of_one_and_of_a_million_words(strength: float) -> None:
    fitted = model(prior_strength=strength).fit(TEXTS)
    found = fitted.posterior([a_million_words(), WORDS[0], " ".join([WORDS[1]] * 1_000_000)])
    assert_defined(found)
    assert found.length.tolist() == [1e6, 1, 1e6]
    centre = some_vectors().matrix[:20].astype(float).mean(axis=0)
    assert found.direction[0] @ centre / np.linalg.norm(centre) > 0.9999


@pytest.mark.parametrize("strength", [0.0, 10.0, math.inf])
@pytest.mark.parametrize(
    "rows",
    [
        np.eye(4)[:1],
        np.tile(np.eye(4)[:1], (30, 1)),
        np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]]),
        np.concatenate([np.eye(4), -np.eye(4)]),
        np.eye(4)[:3] * 1e-150,
        np.eye(4) * 1e150,
    ],
    ids=["one", "the same", "antipodal", "all around", "tiny", "huge"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::parasphere.FewDocumentsWarning")
def test_odd_corpora_are_defined(rows: NDArray[np.float64], strength: float) -> None:
    fitted = model(vectors=None, prior_strength=strength, max_iter=50).fit(rows)
    assert np.isfinite(fitted.evidence_).all()
    assert np.linalg.norm(fitted.mean_direction_) == pytest.approx(1.0, rel=1e-14)
    assert_defined(fitted.posterior(np.concatenate([rows, -rows, np.zeros((1, 4))])))


@pytest.mark.parametrize("dim", [2, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_dimensions_and_mixed_lengths(dim: int, dtype: type) -> None:
    drawn = draw(Prior(np.eye(dim)[0], 2.0 * dim, 0.5, 0.0), 40, [1, 10, 100, 1000] * 10, 1.0 * dim,
                    np.random.default_rng(0)).bags  # fmt: skip
    sums = np.concatenate([drawn.sums, [1e6 * np.eye(dim)[1], 100.0 * np.eye(dim)[1]]]).astype(dtype)
    lengths = np.append(drawn.lengths, [1e6, 1e6])
    bags = Bags(sums, lengths, (sums.astype(float) ** 2).sum(axis=1), np.zeros(len(sums), np.int64))
    for strength in (0.0, 10.0, math.inf):
        fitted = model(vectors=None, prior_strength=strength).fit(bags)
        found = fitted.posterior(bags)
        assert found.direction.dtype == dtype
        assert_defined(found)


# ---------------------------------------------------------------------------------------------------
# The same bits everywhere


@pytest.mark.parametrize("strength", [0.0, 10.0, math.inf])
def test_alone_in_a_batch_and_in_threads(strength: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parasphere.model.reader.STEP_BYTES", 200)  # many steps for the threads to share
    fitted = model(prior_strength=strength).fit(TEXTS)
    together = fitted.posterior([*TEXTS, *ODD])
    for i, text in enumerate([*TEXTS, *ODD]):
        alone = fitted.posterior([text])
        assert alone.direction[0].tobytes() == together.direction[i].tobytes()
        for name in ("concentration", "word_concentration", "log_likelihood"):
            assert getattr(alone, name)[0] == getattr(together, name)[i]
    threads = model(prior_strength=strength, n_jobs=2).fit(TEXTS)
    assert threads.mean_direction_.tobytes() == fitted.mean_direction_.tobytes()
    assert same_bits(threads.posterior([*TEXTS, *ODD]), together)
    assert same_bits(fitted.posterior([text.split() for text in [*TEXTS, *ODD]]), together)


@pytest.mark.parametrize("strength", [0.0, 10.0, math.inf])
@pytest.mark.parametrize("max_iter", [3, 1000])
def test_fit_transform_is_fit_and_transform(strength: float, max_iter: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"prior_strength": strength, "max_iter": max_iter, "tol": 1e-8 if max_iter == 3 else 1e-5}
        at_once = model(**options).fit_transform(TEXTS)
        one, other = model(**options).fit(TEXTS), model(**options).fit(TEXTS)
    assert one.converged_ == (max_iter == 1000)
    assert at_once.tobytes() == one.transform(TEXTS).tobytes() == other.transform(TEXTS).tobytes()


def test_a_pickle_is_the_same_model(fitted: SphericalParagraphModel) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert same_bits(again.posterior([*TEXTS, *ODD]), fitted.posterior([*TEXTS, *ODD]))


def test_bags_rows_and_streams_are_the_same_documents(fitted: SphericalParagraphModel) -> None:
    whole = fitted.posterior(TEXTS)
    bags = fitted.read(TEXTS)
    assert same_bits(fitted.posterior(bags), whole)
    with small_blocks(20):
        parts = [part for _, part in fitted.stream(TEXTS)]
    assert len(parts) > 1
    assert np.concatenate([part.direction for part in parts]).tobytes() == whole.direction.tobytes()
    rows = np.random.default_rng(0).normal(size=(5, DIM))
    np.testing.assert_allclose(fitted.transform(rows), fitted.transform(3.0 * rows), rtol=1e-12)


# ---------------------------------------------------------------------------------------------------
# Online


def in_blocks(bags: Bags, order: NDArray[np.int64], sizes: list[int], **options) -> SphericalParagraphModel:
    online, begin, turn = model(vectors=None, **options), 0, 0
    while begin < len(bags):
        end = begin + sizes[turn % len(sizes)]
        online.partial_fit(bags[order[begin:end]])
        begin, turn = end, turn + 1
    return online


@pytest.mark.parametrize(("dim", "strength"), [(10, 0.0), (10, 10.0), (10, math.inf), (50, 10.0)])
@pytest.mark.parametrize("sizes", [[50], [10, 200, 37, 90]], ids=["equal", "unequal"])
@pytest.mark.parametrize("order", ["random", "by topic", "by topic, backwards"])
def test_one_pass_in_any_order_comes_close_to_em(dim: int, order: str, sizes: list[int], strength: float) -> None:
    bags = topics(dim, 4, 200, 0.5 * dim, 2.0 * dim, 1.0 * dim)
    places = {
        "random": np.random.default_rng(0).permutation(len(bags)),
        "by topic": np.arange(len(bags)),
        "by topic, backwards": np.arange(len(bags))[::-1],
    }[order]
    batch = model(vectors=None, prior_strength=strength).fit(bags)
    online = in_blocks(bags, places, sizes, prior_strength=strength)
    assert online.score(bags) == pytest.approx(batch.score(bags), rel=0.01)
    assert online.word_cosine_ == pytest.approx(batch.word_cosine_, rel=1e-12)
    assert online.mean_direction_ @ batch.mean_direction_ > 0.98
    assert online.concentration_ == pytest.approx(batch.concentration_, rel=0.15)


@pytest.mark.filterwarnings("ignore:fewer than 10 documents")
@pytest.mark.parametrize("size", [1, 7, 100])
def test_blocks_of_any_size_come_to_the_same(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents of a planted prior, more of them than are held: as good as one fit, however they are cut."""
    monkeypatch.setattr(em, "BLOCK", 128)
    direction = np.eye(10)[0]
    truth = draw(Prior(direction, 40.0, 0.6, 10.0), 400, 20, None, np.random.default_rng(0)).bags
    batch = model(vectors=None).fit(truth)
    online = in_blocks(truth, np.arange(400), [size])
    assert online.online_.seen >= 256
    assert online.score(truth) == pytest.approx(batch.score(truth), rel=1e-3)
    assert online.concentration_ == pytest.approx(batch.concentration_, rel=0.05)
    assert online.concentration_ == pytest.approx(40.0, rel=0.2)
    assert online.word_cosine_ == pytest.approx(batch.word_cosine_, rel=1e-12)


@pytest.mark.filterwarnings("ignore:fewer than 10 documents")
@pytest.mark.parametrize("size", [1, 7, 30])
def test_what_is_held_is_fitted_as_one(size: int) -> None:
    whole, parts = model().fit(TEXTS), model()
    for begin in range(0, len(TEXTS), size):
        parts.partial_fit(TEXTS[begin : begin + size])
    assert np.array_equal(parts.mean_direction_, whole.mean_direction_)
    assert (parts.concentration_, parts.word_cosine_) == (whole.concentration_, whole.word_cosine_)
    assert np.array_equal(parts.evidence_, whole.evidence_)
    more = model().fit(TEXTS[:20]).partial_fit(TEXTS[20:])  # nor does it matter how it began
    assert more.concentration_ == whole.concentration_


def test_few_documents_are_warned_of() -> None:
    with pytest.warns(FewDocumentsWarning, match="one document alone"):
        model().fit(TEXTS[:1])
    with pytest.warns(FewDocumentsWarning, match="fewer than 10 documents"):
        online = model().partial_fit(TEXTS[:1])
    with pytest.warns(FewDocumentsWarning):
        online.partial_fit(TEXTS[1:5])
    online.partial_fit(TEXTS[5:20])


def test_blocks_without_words_and_of_any_kind() -> None:
    online = model().partial_fit(TEXTS[:30])
    before = online.mean_direction_.copy()
    online.partial_fit(["", "nowhere"])
    assert np.array_equal(online.mean_direction_, before)
    online.partial_fit(iter(TEXTS[30:]))
    assert not np.array_equal(online.mean_direction_, before)
    assert_defined(online.posterior([*TEXTS, *ODD]))


@pytest.mark.parametrize("source", [iter, lambda texts: (text for text in texts)], ids=["iterator", "generator"])
def test_a_first_block_that_can_be_read_only_once(source) -> None:
    once = model().partial_fit(source(TEXTS[:30])).partial_fit(source(TEXTS[30:]))
    again = model().partial_fit(TEXTS[:30]).partial_fit(TEXTS[30:])
    assert np.array_equal(once.mean_direction_, again.mean_direction_)
    assert once.concentration_ == again.concentration_


# ---------------------------------------------------------------------------------------------------
# scikit-learn


def test_a_pipeline_and_a_grid() -> None:
    pipeline = make_pipeline(model(), LinearSVC())
    assert pipeline.fit(TEXTS, LABELS).score(*some_texts(seed=1)) > 0.9
    grid = GridSearchCV(pipeline, {"sphericalparagraphmodel__prior_strength": [0.0, 10.0, math.inf]}, cv=3)
    grid.fit(TEXTS, LABELS)
    assert grid.best_score_ > 0.9
    alone = GridSearchCV(model(), {"prior_strength": [0.0, 10.0, math.inf]}, cv=3).fit(TEXTS)  # by its own score
    assert np.isfinite(alone.cv_results_["mean_test_score"]).all()
    GridSearchCV(model(vectors=None), {"prior_strength": [1.0]}, cv=2).fit(model().read(TEXTS))


def test_clones_are_unfitted(fitted: SphericalParagraphModel) -> None:
    copy = clone(fitted)
    assert {k: v for k, v in copy.get_params().items() if k != "vectors"} == {
        k: v for k, v in fitted.get_params().items() if k != "vectors"
    }
    with pytest.raises(NotFittedError):
        copy.transform(TEXTS)
    for use in (copy.posterior, copy.score, copy.log_likelihood, lambda texts: list(copy.stream(texts))):
        with pytest.raises(NotFittedError):
            use(TEXTS)
    assert np.array_equal(copy.fit(TEXTS).transform(TEXTS), fitted.transform(TEXTS))


def test_a_column_of_a_table(fitted: SphericalParagraphModel) -> None:
    table = pd.DataFrame({"text": TEXTS, "number": np.arange(60.0)})
    columns = ColumnTransformer([("spm", model(), "text"), ("rest", "passthrough", ["number"])])
    found = columns.fit_transform(table)
    assert found.shape == (60, DIM + 1)
    assert np.array_equal(found[:, :DIM], fitted.transform(TEXTS))
    assert columns.get_feature_names_out()[0] == "spm__sphericalparagraphmodel0"


def test_tables_come_out(fitted: SphericalParagraphModel) -> None:
    names = [f"sphericalparagraphmodel{i}" for i in range(DIM)]
    assert fitted.get_feature_names_out().tolist() == names
    plain = fitted.transform(TEXTS)
    table = clone(fitted).set_output(transform="pandas").fit(TEXTS).transform(pd.Series(TEXTS, index=range(100, 160)))
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == names
    # Before 1.9, scikit-learn kept the index of data frames only.
    assert table.index[0] == (100 if parse_version(sklearn.__version__) >= parse_version("1.9") else 0)
    assert np.array_equal(table.to_numpy(), plain)


def test_a_model_may_be_fitted_again_to_other_vectors() -> None:
    again = model().fit(TEXTS).set_params(vectors=some_vectors(5)).fit(TEXTS)
    assert again.transform(TEXTS).shape == (60, 5)
    again.set_params(vectors=None).fit(np.random.default_rng(0).normal(size=(20, 3)))
    assert again.mean_direction_.shape == (3,)


# ---------------------------------------------------------------------------------------------------
# Mistakes


def test_documents_of_another_kind(fitted: SphericalParagraphModel) -> None:
    rows = np.random.default_rng(0).normal(size=(20, 5))
    with pytest.raises(ValueError, match="these bags have 5 dimensions; the model was fitted to 8"):
        fitted.transform(Bags.from_rows(rows))
    with pytest.raises(ValueError, match="X has 5 features, but SphericalParagraphModel is expecting 8"):
        fitted.transform(rows)
    with pytest.raises(ValueError, match="NaN"):
        fitted.transform(np.full((2, DIM), np.nan))
    with pytest.raises(ValueError, match="texts need word vectors, but this model has vectors=None"):
        model(vectors=None).fit(TEXTS)
    bare = model(vectors=None).fit(rows)
    for to_numbers in (bare, model().fit(rows)):
        with pytest.raises(ValueError, match="fitted to numbers and cannot read texts"):
            to_numbers.transform(TEXTS)
    with pytest.raises(CorpusError, match="one str is not a corpus"):
        fitted.transform(TEXTS[0])
    assert fitted.transform([]).shape == (0, DIM)
    assert fitted.score([]) == 0.0
