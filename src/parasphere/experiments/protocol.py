"""How an encoder is judged: the same folds, features' scaling and classifier for each, and nothing tuned on tests.

1. The corpus's own split, or ten stratified folds that depend on the seed alone.
2. The encoder is fitted to the training texts without their labels (``transductive``: to all texts, as many papers do).
3. Dense vectors are standardised, each feature to mean 0 and variance 1 over the training part; more than 300 features
   are centred and scaled alike, so that they keep their proportions; sparse ones stay.
4. A support vector machine, whose C is chosen by three-fold cross-validation within the training part.

The scaling was chosen by cross-validation on training parts alone: standardised vectors did as well as raw or centred
ones, and their best C varies less from corpus to corpus, so that one short grid serves all. Of many features most are
small, and standardising makes noise as loud as the rest: held-out sentences of the training part lost a point or two.
"""

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ..corpus import blocks
from ..datasets import names as known_datasets
from ..datasets.dataset import Dataset
from ..errors import CorpusError
from .linear import choose_cost

Classifier = Literal["liblinear", "libsvm-rbf"]
Scaling = Literal["standard", "none"]
FOLDS = 10
INNER_FOLDS = 3
MANY_C = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
LINEAR_C = MANY_C[1:]
RBF_C = (1.0, 10.0)
RBF_GAMMA = (0.2, 1.0)  # of 1 / (features x variance)
MAX_ITER = 5000
MANY = 300  # dense features; beyond it they are scaled alike, and liblinear takes minutes to hours
EXAMPLES = 5  # most and least certain documents that are told
EXCERPT = 400  # characters of each

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Options:
    """What can be chosen about the protocol."""

    classifier: Classifier = "liblinear"
    transductive: bool = False
    seed: int = 0
    scaling: Scaling = "standard"

    def __post_init__(self) -> None:
        if self.scaling not in get_args(Scaling):
            raise ValueError(f"scaling must be one of {', '.join(get_args(Scaling))}, not {self.scaling!r}")
        if self.classifier not in get_args(Classifier):
            known = " and ".join(get_args(Classifier))
            raise ValueError(f"no classifier is called {self.classifier!r}; there are: {known}")


@dataclass(frozen=True)
class Fold:
    """Positions of the documents to train on and of those to test with."""

    train: Ints
    test: Ints


@dataclass(frozen=True)
class Outcome:
    """What one fold gave.

    Attributes
    ----------
    test, predicted : (n_test,) int arrays
        Positions of the test documents, and the label found for each.
    concentration : (n_test,) array or None
        How sure the encoder is of each test document.
    fit_seconds, transform_seconds : float
        To fit the encoder, and to turn every text of the corpus into its vector.
    dimensions : int
    chosen : dict
        The classifier's parameters.
    unconverged : (int, int)
        How often the classifier and the encoder stopped before they had converged.
    """

    test: Ints
    predicted: Ints
    concentration: NDArray[np.float64] | None
    fit_seconds: float
    transform_seconds: float
    dimensions: int
    chosen: dict[str, float]
    unconverged: tuple[int, int]


def folds(dataset: Dataset, seed: int = 0) -> list[Fold]:
    """Return the corpus's own split, or stratified folds; the same for every encoder.

    There are ten folds, or as many as the rarest label has documents.
    """
    counts = np.bincount(dataset.labels, minlength=len(dataset.label_names))
    if len(counts) < 2:
        raise CorpusError(f"{dataset.name}: a classifier needs at least two labels, and there are {len(counts)}")
    if dataset.train is not None:
        known = np.bincount(dataset.labels[dataset.train], minlength=len(counts))
        _check_enough(dataset, known, INNER_FOLDS, "for training")
        return [Fold(np.flatnonzero(dataset.train), np.flatnonzero(~dataset.train))]
    _check_enough(dataset, counts, INNER_FOLDS + 1, "in all")
    splitter = StratifiedKFold(min(FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    return [Fold(train, test) for train, test in splitter.split(np.zeros(len(dataset)), dataset.labels)]


def _check_enough(dataset: Dataset, counts: Ints, least: int, where: str) -> None:
    rarest = int(counts.argmin())
    if counts[rarest] < least:
        raise CorpusError(
            f"{dataset.name}: the label {dataset.label_names[rarest]!r} has {counts[rarest]} documents {where}; "
            f"at least {least} are needed to choose C by cross-validation"
        )


@dataclass(frozen=True)
class Encoded:
    """The vectors of every text of a corpus, (n_docs, n_features), and what they took."""

    vectors: Any
    fit_seconds: float
    transform_seconds: float


def encode_all(build: Callable[[], Any], dataset: Dataset) -> Encoded:
    """Encode a corpus by an encoder that learns nothing from it; good for all folds."""
    with threadpool_limits(1):
        began = time.perf_counter()
        encoder = build().fit(dataset.texts)
        fitted = time.perf_counter()
        vectors = encoder.transform(dataset.texts)
        return Encoded(vectors, fitted - began, time.perf_counter() - fitted)


def evaluate(
    build: Callable[[], Any],
    dataset: Dataset,
    fold: Fold,
    options: Options,
    *,
    tells_certainty: bool = False,
    encoded: Encoded | None = None,
) -> Outcome:
    """Judge an encoder on one fold.

    Parameters
    ----------
    build : callable
        Returns a transformer, unfitted.
    dataset : Dataset
    fold : Fold
    options : Options
    tells_certainty : bool
        Ask the transformer's ``posterior`` for concentrations too.
    encoded : Encoded, optional
        The vectors, if they do not depend on the fold.
    """
    train = [dataset.texts[i] for i in fold.train]
    test = [dataset.texts[i] for i in fold.test]
    # One thread: results and times then depend on no one's number of cores.
    with threadpool_limits(1), counted() as encoder_warnings:
        if encoded is not None:
            encoder, parts = None, [encoded.vectors[fold.train], encoded.vectors[fold.test]]
            fit_seconds, transform_seconds = encoded.fit_seconds, encoded.transform_seconds
        else:
            encoder = build()
            began = time.perf_counter()
            encoder.fit(dataset.texts if options.transductive else train)
            fitted = time.perf_counter()
            parts = [encoder.transform(train), encoder.transform(test)]
            fit_seconds, transform_seconds = fitted - began, time.perf_counter() - fitted
    with threadpool_limits(1):
        known, unknown = _scaled(*parts) if options.scaling == "standard" else parts
        with counted() as classifier_warnings:
            machine, chosen = choose(known, dataset.labels[fold.train], options)
        concentration = encoder.posterior(test).concentration if tells_certainty and encoder else None
        return Outcome(
            test=fold.test,
            predicted=np.asarray(machine.predict(unknown), np.int64),
            concentration=concentration,
            fit_seconds=fit_seconds,
            transform_seconds=transform_seconds,
            dimensions=int(known.shape[1]),
            chosen=chosen,
            unconverged=(len(classifier_warnings), len(encoder_warnings)),
        )


def choose(features: Any, labels: Ints, options: Options) -> tuple[Any, dict[str, float]]:
    """Fit the classifier to the training part, its parameters chosen there by cross-validation.

    Returns
    -------
    machine : LinearSVC, SVC or LinearMachines
        Many dense features get the same machine as liblinear's from a solver that is made for them.
    chosen : dict
        Its parameters; of equally good ones the first, which have the smallest C.
    """
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=options.seed)
    places = list(inner.split(np.zeros(len(labels)), labels))
    if options.classifier == "liblinear" and not sparse.issparse(features) and features.shape[1] > MANY:
        machines, cost = choose_cost(features, labels, MANY_C, places)
        return machines, {"C": cost}
    if options.classifier == "liblinear":
        machine: Any = LinearSVC(dual="auto", max_iter=MAX_ITER, random_state=options.seed)
        grid: dict[str, tuple[float, ...]] = {"C": LINEAR_C}
    else:
        gamma = 1 / (features.shape[1] * max(_variance(features), 1e-12))
        machine, grid = SVC(cache_size=500), {"C": RBF_C, "gamma": tuple(part * gamma for part in RBF_GAMMA)}
    parts = [(features[train], labels[train], features[test], labels[test]) for train, test in places]

    def correct(chosen: dict[str, float]) -> int:
        machine.set_params(**chosen)
        return sum(int((machine.fit(x, y).predict(unseen) == truth).sum()) for x, y, unseen, truth in parts)

    best: dict[str, float] = max(ParameterGrid(grid), key=correct)
    return machine.set_params(**best).fit(features, labels), best


def summarise(dataset: Dataset, outcomes: list[Outcome]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Put the folds together, test documents in the corpus's order.

    Returns
    -------
    facts : dict
        Accuracy, macro-F1, times and so on; JSON-able. With folds, ``n_train`` and the times are means over them,
        ``n_test`` counts the documents of all. ``transform_seconds`` is for all documents, trained on or not.
    arrays : dict
        "test", the documents' positions, and "predicted", their labels as found.
    """
    test = np.concatenate([outcome.test for outcome in outcomes])
    order = np.argsort(test, kind="stable")
    predicted = np.concatenate([outcome.predicted for outcome in outcomes])[order]
    test = test[order]
    truth = dataset.labels[test]
    correct = predicted == truth
    everyone = np.arange(len(dataset.label_names))
    transform_seconds = float(np.mean([outcome.transform_seconds for outcome in outcomes]))
    shares = [float(np.mean(outcome.predicted == dataset.labels[outcome.test])) for outcome in outcomes]
    facts = {
        "accuracy": float(correct.mean()),
        "macro_f1": float(f1_score(truth, predicted, labels=everyone, average="macro", zero_division=0.0)),
        "folds": None if dataset.train is not None else shares,
        "n_train": round(len(dataset) - float(np.mean([len(outcome.test) for outcome in outcomes]))),
        "n_test": len(test),
        "correct": correct.astype(int).tolist(),
        "label_names": list(dataset.label_names),
        "confusion": confusion_matrix(truth, predicted, labels=everyone).tolist(),
        "fit_seconds": float(np.mean([outcome.fit_seconds for outcome in outcomes])),
        "transform_seconds": transform_seconds,
        "texts_per_second": len(dataset) / max(transform_seconds, 1e-9),
        "dimensions": outcomes[0].dimensions,
        **{name: [outcome.chosen[name] for outcome in outcomes] for name in outcomes[0].chosen},
        "unconverged": {
            "classifier": sum(outcome.unconverged[0] for outcome in outcomes),
            "encoder": sum(outcome.unconverged[1] for outcome in outcomes),
        },
        "certain": _certain(dataset, test, outcomes, order),
    }
    return facts, {"test": test, "predicted": predicted}


def dataset_from(path: str | Path, label: str | None = None, *, text: str = "text", encoding: str = "utf-8") -> Dataset:
    """Read a labelled corpus of one's own; it is judged by folds.

    Parameters
    ----------
    path : path
        A file or a folder, as :func:`parasphere.corpus.blocks` takes it.
    label, text : str
        The columns. A folder needs no label: the folder that a file is in is its label.
    encoding : str
    """
    path = Path(path)
    texts: list[str] = []
    labels: list[Any] = []
    ids: list[str] = []
    for block in blocks(path, text=text, label=label, encoding=encoding):
        if block.labels is None:
            raise CorpusError(f"{path} has no labels; name the column that holds them, as in --label-column topic")
        texts += block.texts.to_pylist()
        labels += block.labels.to_pylist()
        numbers = range(block.start + 1, block.start + len(block) + 1)
        ids += [f"{path.name}:{number}" for number in numbers] if block.ids is None else block.ids.to_pylist()
    unlabelled = [number for number, value in enumerate(labels) if value is None]
    if unlabelled or not labels:
        fault = f"document {unlabelled[0]} (from 0) has no label" if unlabelled else "it has no documents"
        raise CorpusError(f"{path}: {fault}; every document needs one")
    names = sorted({str(value) for value in labels})
    name = path.name.split(".")[0]
    places = {name: place for place, name in enumerate(names)}
    return Dataset(
        name=f"{name} (yours)" if name in known_datasets() else name,  # which the paper's figures say nothing about
        texts=texts,
        labels=np.array([places[str(value)] for value in labels]),
        label_names=names,
        ids=[str(name) for name in ids],
        licence="the user's own",
        citation="",
    )


def _certain(dataset: Dataset, test: Ints, outcomes: list[Outcome], order: Ints) -> dict[str, Any] | None:
    """Return the test documents of which the encoder is most and least sure."""
    found = [outcome.concentration for outcome in outcomes if outcome.concentration is not None]
    if not found:
        return None
    concentration = np.concatenate(found)[order]
    ranked = np.argsort(concentration, kind="stable")

    def excerpt(place: Any) -> str:
        # Some corpora are people's messages, free for research only: a report that is passed on must not quote them.
        return "" if "research" in dataset.licence else " ".join(dataset.texts[place].split())[:EXCERPT]

    def told(places: Ints) -> list[dict[str, Any]]:
        return [
            {
                "id": dataset.ids[test[place]],
                "label": dataset.label_names[dataset.labels[test[place]]],
                "text": excerpt(test[place]),
                "concentration": float(concentration[place]),
            }
            for place in places
        ]

    return {"most": told(ranked[::-1][:EXAMPLES]), "least": told(ranked[:EXAMPLES])}


def _scaled(train: Any, test: Any) -> tuple[Any, Any]:
    if sparse.issparse(train):
        return train, test
    scaler = StandardScaler().fit(np.asarray(train, np.float64))
    if train.shape[1] > MANY:
        scaler.scale_[:] = np.sqrt(scaler.var_.sum() / MANY) or 1.0  # in all as loud as so many standardised ones
    return scaler.transform(np.asarray(train, np.float64)), scaler.transform(np.asarray(test, np.float64))


def _variance(features: Any) -> float:
    if sparse.issparse(features):
        return float(features.multiply(features).mean() - features.mean() ** 2)
    return float(features.var())


@contextlib.contextmanager
def counted() -> Iterator[list[Any]]:
    """Collect warnings that something did not converge; all others go on their way."""
    stopped: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield stopped
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            stopped.append(warning)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
