"""The contract of scikit-learn, for every encoder that the experiments compare.

The tables at the top are the only places to change when an estimator or a parameter comes or goes: the tests find
both by introspection, and fail if one is in no table.
"""

import importlib.util
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
from sklearn.pipeline import make_pipeline, make_union
from sklearn.svm import LinearSVC
from sklearn.utils import estimator_checks

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors
from reproduction import baselines
from reproduction.baselines import TfIdf
from reproduction.baselines.word2vec import Word2Vec
from reproduction.sphere import SphericalAdmixture

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

# Every estimator, small enough to be fitted in a moment, and the library that it needs besides the usual ones.
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "Word2Vec": lambda: Word2Vec(4, min_count=1, epochs=1),
    "SphericalAdmixture": lambda: SphericalAdmixture(2, random_state=0),
    "BagOfWords": lambda: baselines.BagOfWords(20),
    "FastSent": lambda: baselines.FastSent(4, min_count=1, epochs=1, random_state=0),
    "FisherVector": lambda: baselines.FisherVector(VECTORS, 2),
    "LatentSemanticIndex": lambda: baselines.LatentSemanticIndex(3),
    "MeanOfVectors": lambda: baselines.MeanOfVectors(VECTORS),
    "MovMFTopics": lambda: baselines.MovMFTopics(3),
    "NonnegativeFactors": lambda: baselines.NonnegativeFactors(3),
    "ParagraphVectors": lambda: baselines.ParagraphVectors(dim=4, epochs=2, infer_epochs=2),
    "ProbabilisticLatentSemanticIndex": lambda: baselines.ProbabilisticLatentSemanticIndex(3),
    "SkipThought": lambda: baselines.SkipThought(4, 4, 50, epochs=1, random_state=0),
    "SmoothInverseFrequency": lambda: baselines.SmoothInverseFrequency(VECTORS),
    "SphericalAdmixtureTopics": lambda: baselines.SphericalAdmixtureTopics(3),
    "TfIdf": lambda: TfIdf(),
    "TopicsLDA": lambda: baselines.TopicsLDA(3, passes=1),
    "UnsupervisedSIF": lambda: baselines.UnsupervisedSIF(VECTORS, 2),
    "WeightedMean": lambda: baselines.WeightedMean(VECTORS),
}
NEEDS = {"SkipThought": "torch"}
OF_ROWS = {"SphericalAdmixture"}
LEARNERS = {"Word2Vec"}
LEFT_OUT = {
    "MiniLM": "its weights are a package of 90 MB; tested in test_minilm.py",
    "Pretrained": "only loads what another estimator saved; tested in test_train_encoder.py",
}

# For each parameter: a value that is right and differs from those above, and one that is wrong.
VALUES: dict[str, tuple[Any, Any]] = {
    "a": (0.1, 0.0),
    "alpha": (0.3, -1.0),
    "autoencode": (True, "no"),
    "batch_size": (7, 0),
    "checkpoint": ("nowhere", 1.5),
    "checkpoint_minutes": (1.0, -1.0),
    "chunk_size": (7, 0),
    "clip": (0.1, 0.0),
    "device": ("cpu", 1.5),
    "dim": (7, 0),
    "epochs": (3, 0),
    "eta": (0.3, -1.0),
    "infer_alpha": (0.3, -1.0),
    "infer_epochs": (5, 0),
    "kappa": ("free", "tied"),
    "learning_rate": (0.5, 0.0),
    "max_iter": (7, 0),
    "max_kappa": (3.0, 0.0),
    "max_length": (3, 0),
    "max_tokens": (7, 0),
    "max_words": (7, 0),
    "min_count": (3, 0),
    "minutes": (0.5, 0.0),
    "mode": ("dm", "guess"),
    "n_components": (5, 0),
    "n_features": (64, 0),
    "n_init": (2, 0),
    "n_jobs": (2, 0),
    "n_removed": (0, -1),
    "n_topics": (5, 0),
    "n_words": (7, 0),
    "negative": (2, 0),
    "ngram_range": ((1, 2), 2),
    "normalise": (False, "no"),
    "passes": (2, 0),
    "power": (1.0, -1.0),
    "precision": ("float16", "float8"),
    "prior_concentration": (3.0, -1.0),
    "random_state": (12345, "seed"),
    "rate": (0.01, 0.0),
    "sample": (0.5, -1.0),
    "skip_gram": (False, "no"),
    "split_sentences": (False, "no"),
    "sublinear_tf": (True, "no"),
    "tokenizer": (Tokenizer(stop_words=WORDS[:10]), "letters"),
    "tol": (0.5, -1.0),
    "unit": (False, "no"),
    "vectors": (some_vectors(2), 1.5),
    "verbose": (True, "no"),
    "weighting": ("counts", "guess"),
    "window": (1, 0),
    "word_dim": (7, 0),
}
# -- what they have in common -----------------------------------------------------------------------------------------


def documents_for(name: str) -> Any:
    return ROWS if name in OF_ROWS else TEXTS


def results(name: str, estimator: Any) -> bytes:
    """What a fitted estimator says, in bits."""
    if name in LEARNERS:
        return bytes(estimator.vectors_.matrix.tobytes())
    x = estimator.transform(ROWS if name in OF_ROWS else QUERIES)
    told = (x.toarray() if sparse.issparse(x) else x).tobytes()
    return bytes(told)


def unfitted(name: str) -> Any:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    return ESTIMATORS[name]()


@cache
def _fitted(name: str) -> bytes:
    return pickle.dumps(ESTIMATORS[name]().fit(documents_for(name)))


def fitted(name: str) -> Any:
    """A fitted estimator, which a test may change."""
    unfitted(name)
    return pickle.loads(_fitted(name))


def parameters() -> Iterator[tuple[str, str]]:
    for name, make in ESTIMATORS.items():
        if name not in NEEDS or importlib.util.find_spec(NEEDS[name]):
            yield from ((name, parameter) for parameter in make().get_params(deep=False))


def values(parameter: str) -> tuple[Any, Any]:
    return VALUES[parameter]


TEXT_ESTIMATORS = [name for name in ESTIMATORS if name not in OF_ROWS]
TEXT_TRANSFORMERS = [name for name in TEXT_ESTIMATORS if name not in LEARNERS]


def test_no_estimator_is_forgotten() -> None:
    public = [getattr(baselines, name) for name in baselines.__all__]
    names = {kind.__name__ for kind in public if isinstance(kind, type) and issubclass(kind, BaseEstimator)}
    assert names | {"Word2Vec", "SphericalAdmixture"} == set(ESTIMATORS) | set(LEFT_OUT)


def test_every_default_is_the_vectors_that_come_with_the_library() -> None:
    kinds = {type(make()) for make in ESTIMATORS.values()}
    defaults = {
        (kind.__name__, name): parameter.default
        for kind in kinds
        for name, parameter in inspect.signature(kind).parameters.items()
        if name in ("vectors", "start")
    }
    assert len(defaults) >= 7
    learned_alone = {("ParagraphVectors", "vectors"), ("SkipThought", "vectors")}  # other vectors only help these
    assert {name for name, default in defaults.items() if default is None} == learned_alone
    assert {default for default in defaults.values() if default is not None} == {"english-128"}


# -- parameters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "parameter"), list(parameters()))
def test_parameters_set_after_fit_wait_for_the_next_fit(name: str, parameter: str) -> None:
    estimator = fitted(name)
    right, _ = values(parameter)
    before = results(name, estimator)
    estimator.set_params(**{parameter: right})
    assert results(name, estimator) == before


@pytest.mark.parametrize(("name", "parameter"), list(parameters()))
def test_wrong_values_are_refused_in_fit_and_named(name: str, parameter: str) -> None:
    _, wrong = values(parameter)
    estimator = unfitted(name).set_params(**{parameter: wrong})  # nothing is checked before fit
    with pytest.raises(ValueError, match=rf"The '{parameter}' parameter of {type(estimator).__name__} must be") as told:
        estimator.fit(documents_for(name))
    assert f"Got {wrong!r} instead" in str(told.value)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if "random_state" in ESTIMATORS[name]().get_params()])
def test_a_random_state_is_honoured(name: str) -> None:
    def told(seed: int) -> bytes:
        estimator = unfitted(name).set_params(random_state=np.random.RandomState(seed))
        return results(name, estimator.fit(documents_for(name)))

    assert told(3) == told(3)


# -- scikit-learn's checks --------------------------------------------------------------------------------------------


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


def test_a_union_with_tf_idf() -> None:
    union = make_union(
        SphericalParagraphModel(JointVectors(4, start=None, epochs=3), tol=1e-2),
        TfIdf(ngram_range=(1, 2), sublinear_tf=True),
    )
    x = union.fit_transform(TEXTS)
    assert sparse.issparse(x)
    assert x.shape == (len(TEXTS), len(union.get_feature_names_out()))
    np.testing.assert_allclose(sparse.linalg.norm(x, axis=1), np.sqrt(2), rtol=1e-5)  # two unit vectors
    test, labels = some_texts(30)
    assert make_pipeline(union, LinearSVC()).fit(TEXTS, LABELS).score(test, labels) > 0.9
    assert (clone(union).fit(TEXTS).transform(test) != union.transform(test)).nnz == 0
