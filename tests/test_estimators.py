"""The contract of scikit-learn, for every estimator of the library.

The tables at the top are the only places to change when an estimator or a parameter comes or goes: the tests find
both by introspection, and fail if one is in no table.
"""

import inspect
import pickle
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import parasphere
from parasphere import (
    JointVectors,
    MovMF,
    ScoreWarning,
    SphericalParagraphModel,
    SphericalTopics,
    Tokenizer,
    WordVectors,
)

WORDS = [a + b + "x" for a in "bcdfgh" for b in "aeiou"]  # 30 words, none of them a stop word
ROWS = np.random.default_rng(0).normal(size=(60, 4)) + 1.0


def some_vectors(seed: int) -> WordVectors:
    rows = np.random.default_rng(seed).normal(size=(len(WORDS), 6))
    rows[:15, 0] += 2.0
    rows[15:, 1] += 2.0
    return WordVectors.from_arrays(WORDS, rows)


def some_texts(n: int) -> tuple[list[str], np.ndarray]:
    """Texts of two kinds, each with words of its own."""
    rng = np.random.default_rng(n)
    labels = np.arange(n) % 2
    return [" ".join(rng.choice(WORDS[:15] if label else WORDS[15:], rng.integers(3, 15))) for label in labels], labels


VECTORS = some_vectors(1)
TEXTS, LABELS = some_texts(40)
QUERIES = [*TEXTS[:5], "", "unheard of"]

# -- tables -----------------------------------------------------------------------------------------------------------

# Every estimator, small enough to be fitted in a moment.
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "SphericalParagraphModel": lambda: SphericalParagraphModel(VECTORS, tol=1e-3, random_state=0),
    "SphericalParagraphModel of rows": lambda: SphericalParagraphModel(None, tol=1e-3),
    "JointVectors": lambda: JointVectors(4, start=None, epochs=2),
    "MovMF": lambda: MovMF(2, random_state=0),
    "SphericalTopics": lambda: SphericalTopics(SphericalParagraphModel(VECTORS, tol=1e-3), 2, n_neighbours=3),
}
OF_ROWS = {"SphericalParagraphModel of rows", "MovMF"}
LEARNERS = {"JointVectors"}

# For each parameter: a value that is right and differs from those above, and one that is wrong.
VALUES: dict[str, tuple[Any, Any]] = {
    "adapt": (False, "no"),
    "assignment": ("hard", "firm"),
    "checkpoint": ("nowhere", 1.5),
    "dim": (7, 0),
    "epochs": (3, 0),
    "init": ("paper", "guess"),
    "kappa": ("free", "tied"),
    "kappa_method": ("banerjee", "guess"),
    "lexical_weight": (0.2, 2.0),
    "max_iter": (7, 0),
    "max_kappa": (3.0, 0.0),
    "min_count": (3, 0),
    "model": (SphericalParagraphModel(VECTORS, tol=1e-2), 1.5),
    "n_components": (5, 0),
    "n_init": (2, 0),
    "n_jobs": (2, 0),
    "n_neighbours": (5, -1),
    "n_topics": (5, 0),
    "naming": (lambda phrases, _: [f"topic {number}" for number in range(len(phrases))], "short"),
    "outliers": (False, "no"),
    "prior_strength": (0.0, -1.0),
    "space": ("direction", "sphere"),
    "random_state": (12345, "seed"),
    "rate": (0.01, 0.0),
    "start": (VECTORS, 1.5),
    "start_strength": (3.0, -1.0),
    "tokenizer": (Tokenizer(stop_words=WORDS[:10]), "letters"),
    "tol": (0.5, -1.0),
    "vectors": (some_vectors(2), 1.5),
    "verbose": (True, "no"),
    "weigh": (False, "no"),
    "weighted": (False, "no"),
    "whiten": (False, "no"),
}
ELSEWHERE = {("MovMF", "init"): ("random", "guess")}  # where a name has other values than in other estimators

# -- what they have in common -----------------------------------------------------------------------------------------


def documents_for(name: str) -> Any:
    return ROWS if name in OF_ROWS else TEXTS


def results(name: str, estimator: Any) -> bytes:
    """What a fitted estimator says, in bits."""
    if name in LEARNERS:
        return bytes(estimator.vectors_.matrix.tobytes())
    x = estimator.transform(ROWS if name in OF_ROWS else QUERIES)
    told = (x.toarray() if sparse.issparse(x) else x).tobytes()
    if isinstance(estimator, SphericalParagraphModel):
        posterior = estimator.posterior(ROWS if name in OF_ROWS else QUERIES)
        told += posterior.concentration.tobytes() + posterior.log_likelihood.tobytes()
    return bytes(told)


def unfitted(name: str) -> Any:
    return ESTIMATORS[name]()


@cache
def _fitted(name: str) -> bytes:
    return pickle.dumps(ESTIMATORS[name]().fit(documents_for(name)))


def fitted(name: str) -> Any:
    """A fitted estimator, which a test may change."""
    return pickle.loads(_fitted(name))


def parameters() -> Iterator[tuple[str, str]]:
    for name, make in ESTIMATORS.items():
        yield from ((name, parameter) for parameter in make().get_params(deep=False))


def values(name: str, parameter: str) -> tuple[Any, Any]:
    return ELSEWHERE.get((name, parameter)) or VALUES[parameter]


TEXT_ESTIMATORS = [name for name in ESTIMATORS if name not in OF_ROWS]
TEXT_TRANSFORMERS = [name for name in TEXT_ESTIMATORS if name not in LEARNERS]


def test_no_estimator_is_forgotten() -> None:
    public = [getattr(parasphere, name) for name in parasphere.__all__]
    names = {kind.__name__ for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)}
    assert names == {type(make()).__name__ for make in ESTIMATORS.values()}


def test_every_default_is_the_vectors_that_come_with_the_library() -> None:
    kinds = {type(make()) for make in ESTIMATORS.values()}
    defaults = {
        (kind.__name__, name): parameter.default
        for kind in kinds
        for name, parameter in inspect.signature(kind).parameters.items()
        if name in ("vectors", "start")
    }
    assert len(defaults) >= 2
    assert set(defaults.values()) == {"english-128"}
    assert inspect.signature(WordVectors.load).parameters["source"].default == "english-128"
    assert inspect.signature(SphericalParagraphModel.paper).parameters["vectors"].default == "glove-6b-50d"


# -- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "parameter"), list(parameters()))
def test_parameters_set_after_fit_wait_for_the_next_fit(name: str, parameter: str) -> None:
    estimator = fitted(name)
    right, _ = values(name, parameter)
    before = results(name, estimator)
    estimator.set_params(**{parameter: right})
    assert results(name, estimator) == before


@pytest.mark.parametrize(("name", "parameter"), list(parameters()))
def test_wrong_values_are_refused_in_fit_and_named(name: str, parameter: str) -> None:
    _, wrong = values(name, parameter)
    estimator = unfitted(name).set_params(**{parameter: wrong})  # nothing is checked before fit
    with pytest.raises(ValueError, match=rf"The '{parameter}' parameter of {type(estimator).__name__} must be") as told:
        estimator.fit(documents_for(name))
    assert f"Got {wrong!r} instead" in str(told.value)


@pytest.mark.parametrize("wrong", [np.nan, "10", None])
def test_numbers_are_numbers(wrong: Any) -> None:
    for parameter in ("prior_strength", "tol"):
        with pytest.raises(ValueError, match=rf"'{parameter}' .* Got {wrong!r} instead"):
            SphericalParagraphModel(VECTORS, **{parameter: wrong}).fit(TEXTS)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "random_state" in ESTIMATORS[name]().get_params()])
def test_a_random_state_is_honoured(name: str) -> None:
    def told(seed: int) -> bytes:
        estimator = unfitted(name).set_params(random_state=np.random.RandomState(seed))
        if "init" in estimator.get_params() and isinstance(estimator, SphericalParagraphModel):
            estimator.set_params(init="paper", max_iter=1, tol=1e9)
        return results(name, estimator.fit(documents_for(name)))

    assert told(3) == told(3)


# -- fitted state -----------------------------------------------------------------------------------------------------

USES: dict[str, Callable[[Any], Any]] = {
    "read": lambda model: model.read(["baxx", *TEXTS]),
    "transform": lambda model: model.transform(QUERIES),
    "posterior": lambda model: model.posterior(QUERIES),
    "stream": lambda model: list(model.stream(TEXTS)),
    "log_likelihood": lambda model: model.log_likelihood(TEXTS),
    "explain_match": lambda model: model.explain_match(*TEXTS[:2]),
    "explain": lambda model: model.explain(TEXTS[0]),
    "similar": lambda model: model.similar(TEXTS[0], TEXTS),
    "compare": lambda model: model.compare(*TEXTS[:2]),
    "get_feature_names_out": lambda model: model.get_feature_names_out(),
    "clone": clone,
    "pickle": pickle.dumps,
}


@pytest.mark.parametrize("use", USES)
def test_only_fit_changes_a_model(use: str) -> None:
    model = _fitted_once()
    before, attributes = pickle.dumps(model), {name: id(value) for name, value in vars(model).items()}
    USES[use](model)
    assert pickle.dumps(model) == before
    assert {name: id(value) for name, value in vars(model).items()} == attributes


@cache
def _fitted_once() -> SphericalParagraphModel:
    return SphericalParagraphModel(VECTORS, tol=1e-2, random_state=0).fit(TEXTS)


def test_partial_fit_goes_on_with_what_was_fitted() -> None:
    whole = SphericalParagraphModel(VECTORS, prior_strength=0.0, tol=1e-3).fit(TEXTS)
    parts = SphericalParagraphModel(VECTORS, prior_strength=0.0, tol=1e-3).fit(TEXTS[:20])
    parts.set_params(prior_strength=99.0, kappa_method="banerjee", vectors=some_vectors(2), weighted=False)
    parts.partial_fit(TEXTS[20:])
    assert np.array_equal(parts.transform(QUERIES), whole.transform(QUERIES))


def test_the_number_of_features_is_that_of_rows() -> None:
    model = SphericalParagraphModel(VECTORS, tol=1e-2)
    assert model.fit(pd.DataFrame(ROWS, columns=list("abcd"))).n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list("abcd")
    for texts in (TEXTS, model.set_params().fit(TEXTS).read(TEXTS)):
        model.fit(texts)
        assert not hasattr(model, "n_features_in_")
        assert not hasattr(model, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 4 features, but SphericalParagraphModel is expecting 6 features"):
        model.transform(ROWS)


# -- scikit-learn's checks --------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([SphericalParagraphModel(None, tol=1e-3)])
def test_scikit_learns_own_checks(estimator, check) -> None:
    check(estimator)


# The other checks fit rows of numbers, which an estimator of texts refuses. What they are about is tested on texts
# below: parameters, refits, order and company of documents, fitted attributes, names of features, tables.
WITHOUT_DATA = (
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_mixin_order,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
)


@pytest.mark.parametrize("name", TEXT_ESTIMATORS)
def test_scikit_learns_checks_that_need_no_rows(name: str) -> None:
    for check in WITHOUT_DATA:
        check(name, unfitted(name))


@pytest.mark.parametrize("name", TEXT_ESTIMATORS)
def test_fit_sets_no_parameter_and_can_be_repeated(name: str) -> None:
    estimator = unfitted(name)
    before = estimator.get_params()
    assert estimator.fit(TEXTS, LABELS) is estimator
    assert all(value is estimator.get_params()[parameter] for parameter, value in before.items())
    learned = set(vars(estimator)) - set(before)
    assert all(attribute.endswith("_") or attribute.startswith("_") for attribute in learned)
    assert results(name, estimator) == results(name, fitted(name))
    assert results(name, estimator.fit(TEXTS)) == results(name, fitted(name))


@pytest.mark.parametrize("name", TEXT_TRANSFORMERS)
def test_texts_in_any_order_and_company(name: str) -> None:
    estimator = fitted(name)
    with pytest.raises(NotFittedError):
        clone(estimator).transform(TEXTS)
    attributes = {key: id(value) for key, value in vars(estimator).items() if key.endswith("_")}
    whole = _dense(estimator.transform(TEXTS))
    assert {key: id(value) for key, value in vars(estimator).items() if key.endswith("_")} == attributes
    np.testing.assert_allclose(_dense(estimator.transform(TEXTS[::-1]))[::-1], whole, atol=1e-5)
    parts = [_dense(estimator.transform(TEXTS[i : i + 7])) for i in range(0, len(TEXTS), 7)]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-5)
    names = estimator.get_feature_names_out()
    assert names.shape == (whole.shape[1],)
    assert not hasattr(estimator, "n_features_in_")


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)


@pytest.mark.parametrize("name", TEXT_TRANSFORMERS)
def test_tables_come_out_unless_they_would_be_sparse(name: str) -> None:
    estimator, texts = fitted(name), pd.Series(TEXTS, index=range(100, 140))
    plain = estimator.transform(texts)
    estimator.set_output(transform="pandas")
    if sparse.issparse(plain):
        with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
            estimator.transform(texts)
        return
    table = estimator.transform(texts)
    assert isinstance(table, pd.DataFrame)
    assert table.columns.tolist() == estimator.get_feature_names_out().tolist()
    assert np.array_equal(table.to_numpy(), plain)


# -- parts that compose -----------------------------------------------------------------------------------------------


def test_a_grid_over_a_learner() -> None:
    model = SphericalParagraphModel(JointVectors(4, start=None), tol=1e-2)
    pipeline = make_pipeline(model, LinearSVC())
    grid = GridSearchCV(pipeline, {"sphericalparagraphmodel__vectors__epochs": [1, 40]}, cv=3).fit(TEXTS, LABELS)
    assert grid.best_score_ > 0.9
    assert grid.best_estimator_[0].vectors.epochs == 40
    with pytest.warns(ScoreWarning, match="same word vectors and weights"):
        alone = GridSearchCV(model, {"vectors__epochs": [1, 2]}, cv=2).fit(TEXTS)
    assert np.isfinite(alone.cv_results_["mean_test_score"]).all()
    learner = alone.best_estimator_.vectors
    assert learner.epochs in (1, 2)
    assert not hasattr(learner, "vectors_")  # it was cloned


def test_a_union_with_tf_idf() -> None:
    union = make_union(
        SphericalParagraphModel(JointVectors(4, start=None, epochs=3), tol=1e-2),
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
    )
    x = union.fit_transform(TEXTS)
    assert sparse.issparse(x)
    assert x.shape == (len(TEXTS), len(union.get_feature_names_out()))
    np.testing.assert_allclose(sparse.linalg.norm(x, axis=1), np.sqrt(2), rtol=1e-5)  # two unit vectors
    test, labels = some_texts(30)
    assert make_pipeline(union, LinearSVC()).fit(TEXTS, LABELS).score(test, labels) > 0.9
    assert (clone(union).fit(TEXTS).transform(test) != union.transform(test)).nnz == 0
