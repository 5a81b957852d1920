"""Gains by adapting vectors to the texts: ``SphericalParagraphModel()`` beside ``adapt=False``.

Run with ``python -m benchmarks adapting``; it takes half an hour and needs the corpora and tasks
(``SCIKIT_LEARN_DATA``, ``NLTK_DATA``, ``PARASPHERE_TASKS``) and files of word vectors (``PARASPHERE_TEST_VECTORS``).
Settings were chosen by the first table, on development data only: collections other than SciFact, the training and
development parts of the STS benchmark, docstrings, and cross-validation within training texts. Accuracies, STS and
clusters on test data are those of ``results/``, where both models are rows.
"""

from benchmarks.measure import table

import os
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from parasphere import JointVectors, SphericalParagraphModel, Tokenizer, WordVectors
from parasphere import datasets as own
from parasphere.places import ENGLISH
from parasphere.vectors import adapted
from parasphere.vectors.adapting import SETTINGS
from reproduction import datasets
from reproduction.datasets import Dataset
from reproduction.experiments.protocol import Fold, Options, evaluate
from reproduction.experiments.tasks import retrieval
from reproduction.experiments.tasks.rivals import Indexed

WORDS = Tokenizer(digits=True)
Build = Callable[[], Any]
Row = dict[str, float]
COLLECTIONS = ("cranfield", "cisi", "npl", "lisa")  # for development
TESTED = (*COLLECTIONS, "scifact")
CHOSEN_ON = ("20news-same", "20news-similar", "reuters-10", "subj", "mr")
GIVEN = {"GloVe, 100-d": "glove.6B.100d.subset.txt.gz", "word2vec, 100-d": "word2vec-wikipedia-100d.bin.gz"}
BEFORE, CHOSEN, NEW = "not adapted", "7 passes", "vectors of words without one"


class Adapted(BaseEstimator):
    """A learner that adapts the default vectors with other settings, or keeps only a part of the learned vectors.

    Parameters
    ----------
    settings : dict of str to object
        Settings that differ from those of the library.
    part : {"all", "new", "known"}, default="all"
        Keep all learned vectors, only those of new words, or only those of words that had a vector.
    """

    def __init__(self, settings: dict[str, Any], part: str = "all") -> None:
        self.settings = settings
        self.part = part

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Adapt the vectors to texts."""
        start = WordVectors.load(ENGLISH)
        found = adapted(start, X, WORDS, settings=replace(SETTINGS, **self.settings))
        if self.part == "known" and found is not start:
            found = found.subset(start.words).with_weights(start.weights, start.unknown_weight)
        elif self.part == "new" and found is not start:
            rows = np.concatenate([start.matrix, found.matrix[len(start) :]])
            found = WordVectors(
                found.vocabulary, rows, weights=found.weights, unknown_weight=start.unknown_weight, name="new words"
            )
        self.vectors_, self.tokenizer_ = found, WORDS
        return self


def _with(part: str = "all", **settings: Any) -> Build:
    return lambda: SphericalParagraphModel(Adapted(settings, part))


TRIED: dict[str, Build] = {
    BEFORE: lambda: SphericalParagraphModel(adapt=False),
    "5 passes, no prior": _with(epochs=5, start_strength=0.0),
    "8 passes, no prior": _with(epochs=8, start_strength=0.0),
    "5 passes": _with(epochs=5),
    CHOSEN: SphericalParagraphModel,
}
PARTS: dict[str, Build] = {
    NEW: _with("new"),
    "vectors of words with one": _with("known"),
    "both, and weights; no prior": lambda: SphericalParagraphModel(JointVectors(epochs=7)),
}


def run() -> dict[str, Any]:
    """Return the scores of all settings, of parts of the learned vectors, on test data, and the times."""
    warnings.simplefilter("ignore")  # of convergence, which the tables would not show
    found: dict[str, Any] = {"tried": {name: _printed(name, _developed(build)) for name, build in TRIED.items()}}
    found["parts"] = {name: _printed(name, _parts(build)) for name, build in PARTS.items()}
    found["tested"] = {name: _printed(name, searched(TRIED[name], ["scifact"])) for name in (BEFORE, CHOSEN)}
    return found | {"given": given(), "times": times()}


def _printed(name: str, row: Row) -> Row:
    print(name, {key: round(100 * value, 2) for key, value in row.items()}, flush=True)
    return row


def _developed(build: Build) -> Row:
    row = searched(build, COLLECTIONS) | sentences(build) | {"docstrings": _first_sentences(build)}
    return row | {f"{name}, training": _within_training(build, datasets.load(name)) for name in CHOSEN_ON}


def _parts(build: Build) -> Row:
    row = searched(build, COLLECTIONS) | sentences(build)
    return row | {"20news-same, training": _within_training(build, datasets.load("20news-same"))}


def searched(build: Build, names: Iterable[str]) -> Row:
    """Return nDCG@10 on collections, by meaning alone and together with words."""
    row: Row = {}
    for name in names:
        data = datasets.collection(name)
        model = build().fit(data.texts)
        meaning = model.transform(data.queries) @ model.transform(data.texts).T
        words = Indexed(model).index(data.texts).scores(data.queries)
        for key, scores in ((name, meaning), (f"{name} with words", words)):
            ranked = retrieval.ranking(np.asarray(scores, np.float64))
            row[key] = retrieval.measured(data, ranked)["ndcg"]
    return row


def given() -> dict[str, Row]:
    """Return the scores of searches with vectors from files, which have no weights, as given and adapted."""
    rows: dict[str, Row] = {}
    for name, file in GIVEN.items():
        vectors = WordVectors.load(Path(os.environ["PARASPHERE_TEST_VECTORS"], file))
        for adapt in (False, True):
            row = searched(partial(SphericalParagraphModel, vectors, adapt=adapt), TESTED)
            rows[f"{name}, adapt={adapt}"] = _printed(f"{name}, adapt={adapt}", row)
    return rows


def sentences(build: Build) -> Row:
    """Return the rank correlation on the training and development parts of the STS benchmark."""
    train, dev = datasets.sentence_pairs("train"), datasets.sentence_pairs("dev")
    model, row = build().fit(train.first + train.second), {}
    for part in (train, dev):
        first, second = model.transform(part.first), model.transform(part.second)
        row[part.name] = float(spearmanr((first * second).sum(axis=1), part.scores).statistic)
    return row


def _first_sentences(build: Build) -> float:
    """Return how often the first sentence of a docstring ranks the rest of it first."""
    parts = [text.split("\n\n", 1) for text in own.load("docstrings").texts if "\n\n" in text]
    parts = [part for part in parts if part[0].endswith(".") and len(part[1].split()) >= 20]
    queries, texts = ([part[i] for part in parts] for i in (0, 1))
    model = build().fit(texts)
    best = (model.transform(queries) @ model.transform(texts).T).argmax(axis=1)
    return float((best == np.arange(len(best))).mean())


def _within_training(build: Build, data: Dataset) -> float:
    """Return the accuracy within the training part, two folds of five, or in all folds of a half drawn at random."""
    rng = np.random.default_rng(0)
    known = np.sort(rng.permutation(len(data))[: len(data) // 2]) if data.train is None else np.flatnonzero(data.train)
    right = []
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(known, data.labels[known])
    for train, test in islice(folds, 5 if data.train is None else 2):
        outcome = evaluate(build, data, Fold(known[train], known[test]), Options())
        right.append(float((outcome.predicted == data.labels[outcome.test]).mean()))
    return float(np.mean(right))


def times() -> dict[str, list[float]]:
    """Return the seconds of a fit with two threads, and its processor seconds."""
    news, found = datasets.load("20news"), {}
    assert news.train is not None
    corpora = {
        "11,314 messages of 20 Newsgroups": [news.texts[i] for i in np.flatnonzero(news.train)],
        "10,662 sentences of MR": datasets.load("mr").texts,
        "2,004 docstrings": own.load("docstrings").texts,
    }
    for name, texts in corpora.items():
        for adapt in (False, True):
            began, before = time.perf_counter(), time.process_time()
            SphericalParagraphModel(adapt=adapt, n_jobs=2).fit(texts)
            found[f"{name}, adapt={adapt}"] = [time.perf_counter() - began, time.process_time() - before]
    return found


def gains(result: dict[str, Any]) -> str:
    """Return the tables of gains in searches and of their sources."""
    tried = result["tried"]
    named = {"adapt=False": {**tried[BEFORE], **result["tested"][BEFORE]}}
    named["adapt=True"] = {**tried[CHOSEN], **result["tested"][CHOSEN]}
    search = [[name, *_pairs(row, TESTED)] for name, row in (named | result.get("given", {})).items()]
    parts = {BEFORE: tried[BEFORE], **result["parts"], "both: the default": tried[CHOSEN]}
    return (
        "nDCG@10, per cent, by meaning alone / together with BM25 of stems:\n\n"
        f"{table(['', *TESTED, 'mean'], search)}\n\n"
        "Where the gain comes from, on development data: searches (means of the first four), Spearman's correlation, "
        f"and accuracy within training texts:\n\n{_development(parts, tuple(result['parts'][NEW]))}"
    )


def report(result: dict[str, Any]) -> str:
    """Return a table per question."""
    tried = result["tried"]
    times = [[name, f"{wall:.1f}", f"{cpu:.1f}"] for name, (wall, cpu) in result["times"].items()]
    return (
        f"{gains(result)}\n\n"
        "How settings were chosen, on the same data. The prior of a word has a concentration of 1,000 for texts of ten "
        "words, and falls with the square of their mean length:\n\n"
        f"{_development(tried, tuple(tried[BEFORE]))}\n\n"
        "Seconds of a fit with two threads, and processor seconds:\n\n"
        f"{table(['', 'seconds', 'processor seconds'], times)}"
    )


def _pairs(row: Row, names: Iterable[str]) -> list[str]:
    pairs = [(100 * row[name], 100 * row[f"{name} with words"]) for name in names]
    return [f"{alone:.1f} / {words:.1f}" for alone, words in [*pairs, tuple(np.mean(pairs, axis=0))]]


def _development(rows: dict[str, Row], names: Iterable[str]) -> str:
    names = [name for name in names if not name.startswith(COLLECTIONS)]
    cells = [
        [title, _pairs(row, COLLECTIONS)[-1], *(f"{100 * row[name]:.1f}" for name in names)]
        for title, row in rows.items()
    ]
    return table(["", "searches / with words", *names], cells)
