"""Classifiers of vectors, of tf-idf and of both side by side, with few labels per class and with many.

Run with ``python -m benchmarks classify``; it takes half an hour. It needs the corpora and tasks
(``SCIKIT_LEARN_DATA``, ``PARASPHERE_TASKS``), and descriptions of Debian's packages: PARASPHERE_BENCH_PACKAGES as in
:mod:`benchmarks.packages`, and PARASPHERE_BENCH_SECTIONS, a file of what ``apt-cache dumpavail`` prints.

Features are fitted to all training texts without labels, classifiers to those that have a label. C, and the weights of
vectors and tf-idf, are chosen by cross-validation on the texts that have a label, anew in every draw.
"""

from benchmarks.measure import table

import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from benchmarks.packages import packages
from parasphere import SphericalParagraphModel
from reproduction import datasets
from reproduction.experiments.seeds import holm
from reproduction.experiments.significance import mcnemar

WORDS, VECTORS, BOTH, EQUAL = "tf-idf", "vectors", "both", "both, equal weights, C=1"
NEAREST, MEANS = "5 nearest texts", "nearest mean of a class"
WEIGHTS = [(1, 1), (0.5, 1), (0.25, 1), (0, 1), (1, 0)]  # of vectors and of tf-idf
STRENGTHS = [0.1, 1, 10]  # C
FOLDS, DRAWS = 3, 5
TEXTS = 5_000  # at most, for training and for testing
SMALLEST = 60  # packages in a section, of all that are drawn
Texts = list[str]


def sections(titles_only: bool) -> tuple[Texts, NDArray[Any], None]:
    """Return packages and their sections, one of each source: those of one source have much of their text in common."""
    path = os.environ.get("PARASPHERE_BENCH_SECTIONS")
    if path is None:
        raise SystemExit("set PARASPHERE_BENCH_SECTIONS to a file of what `apt-cache dumpavail` prints")
    fields = [dict(re.findall(r"^([\w-]+): (.*)$", each, re.M)) for each in Path(path).read_text().split("\n\n")]
    known = {each["Package"]: each for each in fields if "Section" in each}
    everything = packages()
    found: dict[str, tuple[str, str]] = {}
    for i in np.random.default_rng(0).permutation(len(everything)):
        name, title, text = everything[i]
        if name in known:
            source = known[name].get("Source", name).split()[0]  # "NAME (VERSION)"
            found.setdefault(source, (title if titles_only else f"{title}\n{text}", known[name]["Section"]))
    chosen = list(found.values())[: 2 * TEXTS]
    names, labels, counts = np.unique([label for _, label in chosen], return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts[labels] >= SMALLEST)
    return [chosen[i][0] for i in kept], labels[kept], None


def _labelled(data: datasets.Dataset) -> tuple[Texts, NDArray[Any], NDArray[np.bool_] | None]:
    return data.texts, data.labels, data.train


CORPORA: dict[str, Callable[[], tuple[Texts, NDArray[Any], NDArray[np.bool_] | None]]] = {
    "StackOverflow titles": lambda: _labelled(datasets.texts_to_cluster("stackoverflow")),
    "SearchSnippets": lambda: _labelled(datasets.texts_to_cluster("searchsnippets")),
    "titles of packages": lambda: sections(titles_only=True),
    "descriptions of packages": lambda: sections(titles_only=False),
    "docstrings": lambda: _labelled(datasets.load("docstrings")),
    "20 Newsgroups": lambda: _labelled(datasets.load("20news")),
}


def divided(texts: Texts, labels: NDArray[Any], train: NDArray[np.bool_] | None) -> list[Any]:
    """Return training texts, test texts, training labels and test labels."""
    if train is None:
        size = min(TEXTS, len(texts) // 2)
        return train_test_split(texts, labels, train_size=size, test_size=size, stratify=labels, random_state=0)
    places = [np.flatnonzero(train), np.flatnonzero(~train)]
    a, b = (np.sort(np.random.default_rng(0).permutation(each)[:TEXTS]) for each in places)
    return [[texts[i] for i in a], [texts[i] for i in b], labels[a], labels[b]]


def recipe(dimensions: int) -> GridSearchCV:
    """Return the classifier of docs/classify.md, of vectors and tf-idf side by side."""
    parts = {"vectors": slice(dimensions), "words": slice(dimensions, None)}
    weighted = ColumnTransformer([(name, "passthrough", columns) for name, columns in parts.items()])
    weights = [dict(zip(parts, each, strict=True)) for each in WEIGHTS]
    grid = {"weighted__transformer_weights": weights, "classifier__C": STRENGTHS}
    return GridSearchCV(Pipeline([("weighted", weighted), ("classifier", LinearSVC())]), grid, cv=FOLDS)


def run() -> dict[str, Any]:
    """Return accuracies by corpus, labels per class and classifier, and the tests."""
    warnings.simplefilter("ignore")  # of convergence, and of classes with fewer texts than folds
    parts = {name: divided(*load()) for name, load in CORPORA.items()}  # all, so that what is missing is told at once
    found = {name: _measured(name, *each) for name, each in parts.items()}
    rows = [row for each in found.values() for row in each.pop("rows")]
    tests = [test for row in rows for test in row["tests"].values()]
    for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p"] = p
    return {"corpora": found, "rows": rows}


def _measured(name: str, texts: Texts, test_texts: Texts, labels: NDArray[Any], test_labels: NDArray[Any]) -> Any:
    model = SphericalParagraphModel()
    features = FeatureUnion([("vectors", model), ("words", TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True))])
    x, test = features.fit_transform(texts), features.transform(test_texts)
    dimensions = model.transform(texts[:1]).shape[1]
    rows = []
    for per_class, draws in ((10, DRAWS), (100, DRAWS), (None, 1)):
        right: dict[str, list[NDArray[np.bool_]]] = {}
        chosen = []
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            places = [rng.permutation(np.flatnonzero(labels == each))[:per_class] for each in np.unique(labels)]
            drawn = np.sort(np.concatenate(places))
            classifiers = _classifiers(dimensions)
            for title, (columns, classifier) in classifiers.items():
                classifier.fit(x[drawn, columns], labels[drawn])
                right.setdefault(title, []).append(classifier.predict(test[:, columns]) == test_labels)
            best = classifiers[BOTH][1].best_params_
            chosen.append({"C": best["classifier__C"], **best["weighted__transformer_weights"]})
        accuracies = {title: [float(each.mean()) for each in draws] for title, draws in right.items()}
        row = {"corpus": name, "labels": per_class, "accuracies": accuracies, "chosen": chosen}
        rows.append(row | {"tests": {other: _tested(right[BOTH], right[other]) for other in (WORDS, VECTORS)}})
        print(name, per_class, {title: f"{100 * np.mean(each):.1f}" for title, each in accuracies.items()}, flush=True)
    words = round(float(np.mean([len(text.split()) for text in texts])))
    sizes = {"training": len(texts), "test": len(test_texts), "labels": len(np.unique(labels)), "words": words}
    return sizes | {"rows": rows}


def _classifiers(dimensions: int) -> dict[str, tuple[slice, Any]]:
    """Return classifiers, and the columns of the features that each learns from."""
    vectors, words = slice(dimensions), slice(dimensions, None)
    return {
        WORDS: (words, GridSearchCV(LinearSVC(), {"C": STRENGTHS}, cv=FOLDS)),
        VECTORS: (vectors, GridSearchCV(LinearSVC(), {"C": STRENGTHS}, cv=FOLDS)),
        BOTH: (slice(None), recipe(dimensions)),
        EQUAL: (slice(None), LinearSVC()),
        NEAREST: (vectors, make_pipeline(FunctionTransformer(_dense), KNeighborsClassifier())),
        MEANS: (vectors, make_pipeline(FunctionTransformer(_dense), NearestCentroid())),
    }


def _dense(x: Any) -> Any:
    return x.toarray()


def _tested(first: list[NDArray[np.bool_]], second: list[NDArray[np.bool_]]) -> dict[str, float]:
    """Test two classifiers: by McNemar's test on the texts, or by a paired t-test on the draws if there are several."""
    means = [[float(each.mean()) for each in draws] for draws in (first, second)]
    several = len(first) > 1
    p = float(ttest_rel(*means).pvalue) if several else mcnemar(first[0], second[0]).p
    return {"difference": float(np.mean(means[0]) - np.mean(means[1])), "p": 1.0 if np.isnan(p) else p}
