"""The evaluation protocol: the same folds, scaling and classifier for every encoder, and no tuning on test texts.

1. Split the corpus as published, or into ten stratified folds that depend only on the seed.
2. Fit the encoder to the training texts, without labels (``transductive``: to all texts, as many papers do).
3. Standardise dense vectors: each feature has mean 0 and variance 1 over the training texts. More than 300 features
   are centred and scaled by a common factor, so that they keep their proportions. Sparse vectors are left as they are.
4. Fit a support vector machine whose C is chosen by three-fold cross-validation within the training texts.

The scaling was chosen by cross-validation on training texts: standardised vectors did as well as raw or centred ones,
and their best C varies less between corpora, so one short grid serves all. Most of many features are small, and
standardising them amplifies noise: it cost a point or two on held-out training sentences.
"""

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from parasphere.corpus import blocks
from parasphere.errors import CorpusError, ParasphereError

from ..datasets import Dataset
from ..datasets import names as known_datasets
from .linear import DenseFeatures, choose_cost
from .linear_sparse import SparseFeatures

Classifier = Literal["liblinear", "libsvm-rbf"]
Scaling = Literal["standard", "none"]
FOLDS = 10
INNER_FOLDS = 3
LINEAR_C = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
SPARSE_C = LINEAR_C[2:]  # less than 0.1 was never best
RBF_C = (1.0, 10.0)
RBF_GAMMA = (0.2, 1.0)  # multiples of 1 / (features x variance)
MANY = 300  # dense features; more have a common scale
EXAMPLES = 5  # most and least certain documents that are reported
EXCERPT = 400  # characters of each

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Options:
    """Options of the protocol.

    Attributes
    ----------
    classifier : {"liblinear", "libsvm-rbf"}, default="liblinear"
    transductive : bool, default=False
        Fit encoders to all texts instead of the training texts.
    seed : int, default=0
    scaling : {"standard", "none"}, default="standard"
        How dense vectors are scaled.
    """

    classifier: Classifier = "liblinear"
    transductive: bool = False
    seed: int = 0
    scaling: Scaling = "standard"

    def __post_init__(self) -> None:
        if self.scaling not in get_args(Scaling):
            raise ParasphereError(f"scaling must be one of {', '.join(get_args(Scaling))}, not {self.scaling!r}")
        if self.classifier not in get_args(Classifier):
            known = " and ".join(get_args(Classifier))
            raise ParasphereError(f"no classifier is called {self.classifier!r}; there are: {known}")


class Fold(NamedTuple):
    """Positions of the documents to train on and of those to test with."""

    train: Ints
    test: Ints


class Outcome(NamedTuple):
    """The result of one fold."""

    test: Ints  # positions of the test documents
    predicted: Ints  # their predicted labels
    concentration: NDArray[np.float64] | None  # of the posterior of each test document
    fit_seconds: float
    transform_seconds: float  # to encode every text of the corpus
    choose_seconds: float  # to choose the parameters of the classifier and fit it
    dimensions: int  # number of features
    chosen: dict[str, float]  # parameters of the classifier
    unconverged: tuple[int, int]  # how often the classifier and the encoder stopped before they converged


def folds(dataset: Dataset, seed: int = 0) -> list[Fold]:
    """Return the published split of a corpus, or stratified folds; the same for every encoder.

    There are ten folds, or as many as the rarest label has documents.
    """
    counts = np.bincount(dataset.labels, minlength=len(dataset.label_names))
    if len(counts) < 2:
        raise CorpusError(f"{dataset.name}: a classifier needs at least two labels, not {len(counts)}")
    if dataset.train is not None:
        known = np.bincount(dataset.labels[dataset.train], minlength=len(counts))
        _check_enough(dataset, known, INNER_FOLDS, "for training")
        return [Fold(np.flatnonzero(dataset.train), np.flatnonzero(~dataset.train))]
    _check_enough(dataset, counts, INNER_FOLDS + 1, "in all")
    splitter = StratifiedKFold(min(FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    return [Fold(*parts) for parts in splitter.split(np.zeros(len(dataset)), dataset.labels)]


def _check_enough(dataset: Dataset, counts: Ints, least: int, where: str) -> None:
    rarest = int(counts.argmin())
    if counts[rarest] < least:
        raise CorpusError(
            f"{dataset.name}: the label {dataset.label_names[rarest]!r} has {counts[rarest]} documents {where}; "
            f"at least {least} are needed to choose C by cross-validation"
        )


class Encoded(NamedTuple):
    """The vectors of every text of a corpus, (n_docs, n_features), and the time to fit and encode."""

    vectors: Any
    fit_seconds: float
    transform_seconds: float


def encode_all(build: Callable[[], Any], dataset: Dataset) -> Encoded:
    """Encode a corpus with an encoder that learns nothing from it: once for all folds."""
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
    """Evaluate an encoder on one fold.

    Parameters
    ----------
    build : callable
        Returns an unfitted transformer.
    dataset, fold, options
    tells_certainty : bool, default=False
        Report the concentrations of the transformer's ``posterior``.
    encoded : Encoded, default=None
        The vectors, if they do not depend on the fold.
    """
    train, test = ([dataset.texts[i] for i in places] for places in fold)
    # One thread: results and times then do not depend on the number of cores.
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
        seen, unseen = scaled(*parts) if options.scaling == "standard" else parts
        began = time.perf_counter()
        with counted() as classifier_warnings:
            machine, chosen = choose(seen, dataset.labels[fold.train], options)
        choose_seconds = time.perf_counter() - began
        return Outcome(
            test=fold.test,
            predicted=np.asarray(machine.predict(unseen), np.int64),
            concentration=encoder.posterior(test).concentration if tells_certainty and encoder else None,
            fit_seconds=fit_seconds,
            transform_seconds=transform_seconds,
            choose_seconds=choose_seconds,
            dimensions=int(seen.shape[1]),
            chosen=chosen,
            unconverged=(len(classifier_warnings), len(encoder_warnings)),
        )


def choose(features: Any, labels: Ints, options: Options) -> tuple[Any, dict[str, float]]:
    """Fit the classifier to training vectors, with parameters chosen by cross-validation among them.

    Returns
    -------
    machine : LinearMachines or SVC
        The linear machines are liblinear's, fitted by :mod:`~reproduction.experiments.linear` a whole grid at a time.
    chosen : dict
        Its parameters; of equally good ones the first, which have the smallest C. And "inner", the share of training
        documents that were right in the cross-validation: what settings may be chosen by.
    """
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=options.seed)
    places = list(inner.split(np.zeros(len(labels)), labels))
    if options.classifier == "liblinear":
        if sparse.issparse(features):
            choice = choose_cost(SparseFeatures(features), labels, SPARSE_C, places, patience=1)
        else:
            choice = choose_cost(DenseFeatures(features), labels, LINEAR_C, places)
        return choice.machines, {"C": choice.cost, "inner": choice.right}
    gamma = 1 / (features.shape[1] * max(_variance(features), 1e-12))
    machine, grid = SVC(cache_size=500), {"C": RBF_C, "gamma": tuple(part * gamma for part in RBF_GAMMA)}
    parts = [(features[train], labels[train], features[test], labels[test]) for train, test in places]

    def correct(chosen: dict[str, float]) -> int:
        machine.set_params(**chosen)
        return sum(int((machine.fit(x, y).predict(unseen) == truth).sum()) for x, y, unseen, truth in parts)

    candidates = list(ParameterGrid(grid))
    right = [correct(chosen) for chosen in candidates]
    best: dict[str, float] = candidates[int(np.argmax(right))]
    return machine.set_params(**best).fit(features, labels), {**best, "inner": max(right) / len(labels)}


def summarise(dataset: Dataset, outcomes: list[Outcome]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Combine the outcomes of all folds, with the test documents in the order of the corpus.

    Returns
    -------
    facts : dict
        Accuracy, macro-F1, times and so on; JSON-able. With folds, ``n_train`` and the times are means over folds and
        ``n_test`` is the total. ``transform_seconds`` is for all documents, training and test.
    arrays : dict
        "test", positions of the documents, and "predicted", their predicted labels.
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
    unconverged = map(sum, zip(*(outcome.unconverged for outcome in outcomes), strict=True))
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
        "choose_seconds": float(np.mean([outcome.choose_seconds for outcome in outcomes])),
        "texts_per_second": len(dataset) / max(transform_seconds, 1e-9),
        "dimensions": outcomes[0].dimensions,
        **{name: [outcome.chosen[name] for outcome in outcomes] for name in outcomes[0].chosen},
        "unconverged": dict(zip(("classifier", "encoder"), unconverged, strict=True)),
        "certain": _certain(dataset, test, outcomes, order),
    }
    return facts, {"test": test, "predicted": predicted}


def dataset_from(path: str | Path, label: str | None = None, **columns: Any) -> Dataset:
    """Read a labelled corpus, to be evaluated by cross-validation.

    Parameters
    ----------
    path : path
        A file or a folder, as :func:`parasphere.corpus.blocks` takes it.
    label : str, default=None
        Column of labels. A folder needs none: the label of a file is the name of its folder.
    **columns
        Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"``.
    """
    path = Path(path)
    texts: list[str] = []
    labels: list[Any] = []
    ids: list[str] = []
    for block in blocks(path, label=label, **columns):
        if block.labels is None:
            raise CorpusError(f"{path} has no labels; name their column, as in --label-column topic")
        texts += block.texts
        labels += block.labels
        numbers = range(block.start + 1, block.start + len(block) + 1)
        ids += [f"{path.name}:{number}" for number in numbers] if block.ids is None else block.ids
    if None in labels or not labels:
        fault = f"document {labels.index(None)} (from 0) has no label" if labels else "it has no documents"
        raise CorpusError(f"{path}: {fault}; every document needs a label")
    places = {name: place for place, name in enumerate(sorted(set(map(str, labels))))}
    name = path.name.split(".")[0]
    return Dataset(
        name=f"{name} (yours)" if name in known_datasets() else name,  # not comparable with the paper's results
        texts=texts,
        labels=np.array([places[str(value)] for value in labels]),
        label_names=list(places),
        ids=[str(name) for name in ids],
        licence="the user's own",
        citation="",
    )


def _certain(dataset: Dataset, test: Ints, outcomes: list[Outcome], order: Ints) -> dict[str, Any] | None:
    """Return the test documents with the highest and lowest concentrations."""
    by_fold = [outcome.concentration for outcome in outcomes if outcome.concentration is not None]
    if not by_fold:
        return None
    concentration = np.concatenate(by_fold)[order]
    ranked = np.argsort(concentration, kind="stable")

    def described(place: Any) -> dict[str, Any]:
        doc = test[place]
        label = dataset.label_names[dataset.labels[doc]]
        # Some corpora are private messages, licensed for research only: a published report must not quote them.
        text = "" if "research" in dataset.licence else " ".join(dataset.texts[doc].split())[:EXCERPT]
        return {"id": dataset.ids[doc], "label": label, "text": text, "concentration": float(concentration[place])}

    return {"most": [*map(described, ranked[::-1][:EXAMPLES])], "least": [*map(described, ranked[:EXAMPLES])]}


def scaled(train: Any, test: Any) -> tuple[Any, Any]:
    """Return training and test vectors, standardised by the training vectors; sparse ones as they are."""
    if sparse.issparse(train):
        return train, test
    scaler = StandardScaler().fit(np.asarray(train, np.float64))
    if train.shape[1] > MANY:
        # The total variance becomes that of so many standardised features.
        scaler.scale_[:] = np.sqrt(scaler.var_.sum() / MANY) or 1.0
    return scaler.transform(np.asarray(train, np.float64)), scaler.transform(np.asarray(test, np.float64))


def _variance(features: Any) -> float:
    if sparse.issparse(features):
        return float(features.multiply(features).mean() - features.mean() ** 2)
    return float(features.var())


@contextlib.contextmanager
def counted() -> Iterator[list[Any]]:
    """Collect convergence warnings; all others are issued again."""
    stopped: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield stopped
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            stopped.append(warning)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
