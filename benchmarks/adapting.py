"""What adapting the default vectors to the texts gains: SphericalParagraphModel() beside the same with adapt=False.

Run with ``python -m benchmarks adapting``; it takes half an hour and needs the corpora and tasks (``SCIKIT_LEARN_DATA``,
``NLTK_DATA``, ``PARASPHERE_TASKS``). Settings were chosen by ``choose``, on development data alone: collections that are
not tested, the training and development parts of the STS benchmark, docstrings, and cross-validation within training
texts. ``run`` compares the chosen one with no adapting on the others, and asks where the gain comes from.
"""


import warnings
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Self

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold

from parasphere import SphericalParagraphModel, Tokenizer, WordVectors
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
COLLECTIONS = ("cranfield", "cisi", "npl", "lisa")  # those to choose by
CHOSEN_ON = ("20news-same", "20news-similar", "reuters-10", "subj", "mr")


class Adapted(BaseEstimator):
    """A learner that adapts the default vectors with other settings.

    Parameters
    ----------
    settings : dict of str to object
        What differs from the settings of the library.
    """

    def __init__(self, settings: dict[str, Any], seed: int = 0) -> None:
        self.settings = settings
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        from dataclasses import replace

        self.tokenizer_ = WORDS
        self.vectors_ = adapted(
            WordVectors.load(ENGLISH), X, WORDS, settings=replace(SETTINGS, **self.settings), seed=self.seed
        )
        return self


def _model(settings: dict[str, Any] | None) -> SphericalParagraphModel:
    return SphericalParagraphModel(adapt=False) if settings is None else SphericalParagraphModel(Adapted(settings))


FREE = {"start_strength": 0.0}
TRIED: dict[str, dict[str, Any] | None] = {
    "not adapted": None,
    "5 passes, not held": {"epochs": 5, **FREE},
    "8 passes, not held": {"epochs": 8, **FREE},
    "5 passes": {"epochs": 5},
    "7 passes": {"epochs": 7},
}


def choose(tried: Iterable[str] = tuple(TRIED)) -> dict[str, dict[str, float]]:
    """Return the figures of each setting that was tried, on development data."""
    warnings.simplefilter("ignore")
    found = {}
    for name in tried:
        found[name] = _developed(partial(_model, TRIED[name]))
        print(name, {key: round(100 * value, 2) for key, value in found[name].items()}, flush=True)
    return found


def _developed(build: Build) -> dict[str, float]:
    row: dict[str, float] = {}
    for name in COLLECTIONS:
        row |= _searched(build, name)
    train, dev = datasets.sentence_pairs("train"), datasets.sentence_pairs("dev")
    model = build().fit(train.first + train.second)
    for part in (train, dev):
        pairs = model.transform(part.first), model.transform(part.second)
        row[part.name] = float(spearmanr((pairs[0] * pairs[1]).sum(axis=1), part.scores).statistic)
    row["docstrings"] = _first_sentences(build)
    for name in CHOSEN_ON:
        row[f"{name}, training"] = _within_training(build, datasets.load(name))
    return row


def _searched(build: Build, name: str) -> dict[str, float]:
    """Return nDCG@10 by meaning alone, and with words beside it."""
    data = datasets.collection(name)
    model = build().fit(data.texts)
    meaning = model.transform(data.queries) @ model.transform(data.texts).T
    words = Indexed(model).index(data.texts).scores(data.queries)
    return {
        key: retrieval.measured(data, retrieval.ranking(np.asarray(scores, np.float64)))["ndcg"]
        for key, scores in ((name, meaning), (f"{name} with words", words))
    }


def _first_sentences(build: Build) -> float:
    """Return how often the first sentence of a docstring finds the rest of it before all others."""
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
