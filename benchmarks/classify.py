"""Classification by vectors, by tf-idf and by both side by side, with few labels per class and with many.

Run with ``python -m benchmarks classify``; it takes a quarter of an hour. It needs the tasks (``PARASPHERE_TASKS``),
and descriptions of Debian's packages: PARASPHERE_BENCH_PACKAGES as in :mod:`benchmarks.packages`, and
PARASPHERE_BENCH_SECTIONS, a file with the output of ``apt-cache dumpavail``.

The model is fitted to all training texts without labels, tf-idf and the classifier to those that have a label. C, and
the weights of vectors and tf-idf, are chosen by cross-validation on the texts that have a label, in every draw.
The grid of weights was chosen on other splits of the first three corpora, which have texts in common with these.
"""

from benchmarks.measure import table

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_rel
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.svm import LinearSVC

from benchmarks.packages import packages
from parasphere import SphericalParagraphModel
from reproduction import datasets
from reproduction.datasets import Dataset
from reproduction.experiments.seeds import holm

WORDS, VECTORS, BOTH, EQUAL = "tf-idf", "vectors", "both", "both, equal weights, C=1"
NEAREST, MEANS, NAMES = "5 nearest texts", "nearest mean of a class", "nearest name of a class"
COLUMNS = (WORDS, VECTORS, BOTH, EQUAL, MEANS, NEAREST, NAMES)
WEIGHTS = [(0, 1), (0.3, 1), (1, 1), (1, 0)]  # of vectors and of tf-idf
STRENGTHS = [0.1, 1, 10]  # C
FOLDS = 3
TEXTS = 3_000  # at most, for training and for testing
SMALLEST = 100  # least number of drawn packages in a section
# Labels per class, and how often they are drawn.
LABELS: dict[int | None, int] = {10: 5, 100: 2, None: 1}
# The files number their classes; the names are those of J. Xu et al. (2015) and X.-H. Phan et al. (2008).
STACKOVERFLOW = (
    "wordpress", "oracle", "svn", "apache", "excel", "matlab", "visual studio", "cocoa", "osx", "bash", "spring",
    "hibernate", "scala", "sharepoint", "ajax", "qt", "drupal", "linq", "haskell", "magento",
)  # fmt: skip
SEARCHSNIPPETS = (
    "business", "computers", "culture, arts, entertainment", "education, science", "engineering", "health",
    "politics, society", "sports",
)  # fmt: skip
Texts = list[str]
Labels = NDArray[np.int64]
Parts = tuple[Texts, Texts, Labels, Labels]


def sections() -> Dataset:
    """Return packages and their sections, one package per source: packages of one source share much of their text."""
    path = os.environ.get("PARASPHERE_BENCH_SECTIONS")
    if path is None:
        raise SystemExit("set PARASPHERE_BENCH_SECTIONS to a file with the output of `apt-cache dumpavail`")
    fields = [dict(re.findall(r"^([\w-]+): (.*)$", each, re.M)) for each in Path(path).read_text().split("\n\n")]
    known = {each["Package"]: each for each in fields if "Section" in each}
    everything = packages()
    found: dict[str, tuple[str, str, str]] = {}
    for i in np.random.default_rng(0).permutation(len(everything)):
        name, title, text = everything[i]
        if name in known:
            source = known[name].get("Source", name).split()[0]  # "NAME (VERSION)"
            found.setdefault(source, (name, f"{title}\n{text}", known[name]["Section"]))
    chosen = list(found.values())[: 2 * TEXTS]
    counts = Counter(section for _, _, section in chosen)
    ids, texts, labels = zip(*(each for each in chosen if counts[each[2]] >= SMALLEST), strict=True)
    names, numbers = np.unique(labels, return_inverse=True)
    return Dataset("Debian", list(texts), numbers, names.tolist(), list(ids), "those of the packages", "")


def _named(data: Dataset, names: Sequence[str]) -> Dataset:
    return replace(data, label_names=[names[int(number) - 1] for number in data.label_names])


CORPORA: dict[str, Callable[[], Dataset]] = {
    "StackOverflow titles": lambda: _named(datasets.texts_to_cluster("stackoverflow"), STACKOVERFLOW),
    "SearchSnippets": lambda: _named(datasets.texts_to_cluster("searchsnippets"), SEARCHSNIPPETS),
    "Debian packages": sections,
    "docstrings": lambda: datasets.load("docstrings"),
}


def divided(data: Dataset) -> Parts:
    """Return training texts, test texts, training labels and test labels."""
    size = min(TEXTS, len(data) // 2)
    sizes = {"train_size": size, "test_size": size, "stratify": data.labels, "random_state": 0}
    a, b = train_test_split(np.arange(len(data)), **sizes)
    return [data.texts[i] for i in a], [data.texts[i] for i in b], data.labels[a], data.labels[b]


def recipe(model: SphericalParagraphModel, words: TfidfVectorizer) -> GridSearchCV:
    """Return the classifier of docs/classify.md, of vectors and tf-idf side by side."""
    features = FeatureUnion([("vectors", FrozenEstimator(model)), ("words", words)])
    grid = {
        "features__transformer_weights": [{"vectors": v, "words": w} for v, w in WEIGHTS],
        "classifier__C": STRENGTHS,
    }
    return GridSearchCV(Pipeline([("features", features), ("classifier", LinearSVC())]), grid, cv=FOLDS)


def run() -> dict[str, Any]:
    """Return accuracies by corpus, labels per class and classifier, and the tests."""
    warnings.simplefilter("ignore")  # of convergence, and of classes with fewer texts than folds
    corpora = {name: load() for name, load in CORPORA.items()}  # all first, to report missing data at once
    rows = [row for name, data in corpora.items() for row in _rows(name, divided(data), data.label_names)]
    return _result(corpora, rows)


def _result(corpora: dict[str, Dataset], rows: list[dict[str, Any]]) -> dict[str, Any]:
    tests = [test for row in rows for test in row["tests"].values()]
    for test, p in zip(tests, holm([test["p"] for test in tests]), strict=True):
        test["p"] = p
    return {"corpora": {name: _sizes(data) for name, data in corpora.items()}, "rows": rows}


def _sizes(data: Dataset) -> dict[str, int]:
    training, test, _, _ = divided(data)
    words = int(np.median([len(text.split()) for text in training]))
    return {"training": len(training), "test": len(test), "classes": len(data.label_names), "words": words}


def _rows(corpus: str, parts: Parts, names: list[str]) -> Iterator[dict[str, Any]]:
    texts, test_texts, labels, test_labels = parts
    model = SphericalParagraphModel().fit(texts)
    yield {"corpus": corpus, "labels": 0, "accuracies": {NAMES: _by_names(model, parts, names)}, "tests": {}}
    # The words and pairs of a text are extracted once, not in every fold.
    analyse = cache(TfidfVectorizer(ngram_range=(1, 2)).build_analyzer())
    for per_class, draws in LABELS.items():
        right: dict[str, list[NDArray[np.bool_]]] = {}
        chosen = []
        for draw in range(draws):
            rng = np.random.default_rng(draw)
            places = [rng.permutation(np.flatnonzero(labels == each))[:per_class] for each in np.unique(labels)]
            drawn = np.sort(np.concatenate(places))
            words = TfidfVectorizer(analyzer=analyse, sublinear_tf=True)
            classifiers = _classifiers(model, words)
            for title, classifier in classifiers.items():
                classifier.fit([texts[i] for i in drawn], labels[drawn])
                right.setdefault(title, []).append(classifier.predict(test_texts) == test_labels)
            best = classifiers[BOTH].best_params_
            chosen.append({"C": best["classifier__C"], **best["features__transformer_weights"]})
        by_text = {title: np.mean(each, axis=0) for title, each in right.items()}
        row = {
            "corpus": corpus,
            "labels": per_class,
            "accuracies": {title: float(each.mean()) for title, each in by_text.items()},
            "chosen": chosen,
            "tests": {other: _tested(by_text[BOTH], by_text[other]) for other in (WORDS, VECTORS)},
        }
        print(row, flush=True)
        yield row


def _by_names(model: SphericalParagraphModel, parts: Parts, names: list[str]) -> float:
    """Return the share of test texts that are nearest to the name of their class; no labels are used."""
    _, texts, _, labels = parts
    spaced = [re.sub("[.-]", " ", name) for name in names]
    return float((np.argmax(model.transform(texts) @ model.transform(spaced).T, axis=1) == labels).mean())


def _classifiers(model: SphericalParagraphModel, words: TfidfVectorizer) -> dict[str, Any]:
    vectors = FrozenEstimator(model)
    strengths = {"linearsvc__C": STRENGTHS}
    return {
        WORDS: GridSearchCV(make_pipeline(words, LinearSVC()), strengths, cv=FOLDS),
        VECTORS: GridSearchCV(make_pipeline(vectors, LinearSVC()), strengths, cv=FOLDS),
        BOTH: recipe(model, words),
        EQUAL: make_pipeline(FeatureUnion([("vectors", vectors), ("words", clone(words))]), LinearSVC()),
        NEAREST: make_pipeline(vectors, KNeighborsClassifier()),
        MEANS: make_pipeline(vectors, NearestCentroid()),
    }


def _tested(first: NDArray[np.float64], second: NDArray[np.float64]) -> dict[str, float]:
    """Test two classifiers on the same texts by a paired t-test."""
    same = bool((first == second).all())
    return {"difference": float((first - second).mean()), "p": 1.0 if same else float(ttest_rel(first, second).pvalue)}


def report(result: dict[str, Any]) -> str:
    """Return a table of accuracies and of the tests."""
    rows = []
    for row in result["rows"]:
        sizes = result["corpora"][row["corpus"]]
        per_class = f"all {sizes['training']:,}" if row["labels"] is None else row["labels"]
        name = f"{row['corpus']}, {sizes['classes']} classes, {sizes['words']} words"
        shares = [f"{100 * row['accuracies'][title]:.1f}" if title in row["accuracies"] else "–" for title in COLUMNS]
        tests = [_difference(row["tests"][other]) if row["tests"] else "–" for other in (WORDS, VECTORS)]
        rows.append([name, per_class, *shares, *tests])
    columns = ["accuracy, %", "labels per class", *COLUMNS, f"{BOTH} less {WORDS}", f"{BOTH} less {VECTORS}"]
    draws = ", ".join(f"{count} of {per_class} per class" for per_class, count in LABELS.items() if per_class)
    return (
        f"{table(columns, rows)}\n\n"
        "Words are the median per text. Accuracies are means over draws of the texts whose labels are known "
        f"({draws}), on the same test texts, which no model has seen: models are fitted to all training texts without "
        "labels, tf-idf and classifiers to the texts with a label. Classifiers are linear support vector machines; "
        f"their C and the weights are chosen by cross-validation in {FOLDS} folds, also for tf-idf and vectors alone. "
        f'"{BOTH.capitalize()}" is the recipe. † marks differences with p < 0.05 in a paired t-test over test texts, '
        "corrected for the number of tests in the table (Holm)."
    )


def _difference(test: dict[str, float]) -> str:
    points = round(100 * test["difference"], 1) + 0.0  # no "-0.0"
    return f"{points:+.1f}{' †' if test['p'] < 0.05 else ''}"
