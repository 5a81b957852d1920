"""What each ingredient of the best SPM is worth: one at a time is taken away, or put in its place."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from ..datasets import load
from ..datasets.dataset import Dataset
from ..features.own import Own
from ..model.estimator import SphericalParagraphModel
from ..storage import write_file
from ..text.tokens import Tokenizer
from ..vectors.wordvectors import GLOVE, WordVectors
from . import figures, published
from .encoders import Encoder, best_model
from .sensitivity import Change, compare, table_rows

DATASETS = ("20news-same", "mr")
ALL_WORDS = Tokenizer()
KEPT: dict[str, Any] = {name: getattr(best_model(None), name) for name in ("facets", "own", "damped", "tol")}
OWN: Own = KEPT["own"]


def _change(about: str, name: str, *, start: bool | str = True, **changed: Any) -> Change:
    """Return the best model with some parameters changed.

    It begins with the given vectors; with none if ``start`` is False, or with those of that name.
    """

    def build(vectors: WordVectors | None, _dim: int, seed: int) -> Any:
        begin = start if isinstance(start, str) else vectors if start else None
        return best_model(begin, seed, **changed)

    return Change(about, name, encoder=Encoder(name, name, build, kind="spherical"))


def _given(**settings: Any) -> Encoder:
    def build(vectors: WordVectors | None, _dim: int, seed: int) -> Any:
        return SphericalParagraphModel(vectors, tokenizer=ALL_WORDS, random_state=seed, **settings)

    return Encoder("given", "given", build, kind="spherical")


BASE = _change("", "SPM, best: all of it")
PLAIN: dict[str, Any] = {"facets": 1, "own": None, "damped": False}
CHANGES = (
    Change("learning", "none: the given vectors, all else as above", encoder=_given(**KEPT)),
    Change("learning", "none: the given vectors, and nothing else (plain SPM)", encoder=_given()),
    _change("learning", "without facets, words of their own and damping", **PLAIN),
    _change("learning", "stopped by held-out likelihood (patience 3)", patience=3),
    _change("the start", "no vectors: from random ones", start=False),
    _change("the words", "nothing of their own, no pairs", own=None),
    _change("the words", "their own, no pairs", own=replace(OWN, pairs=0.0)),
    _change("the words", "repeats count in full", damped=False),
    _change("the words", "all weigh the same", weigh=False),
    _change("the words", "stop words left out", tokenizer=Tokenizer(stop_words="english")),
    _change("phrases", "none", ngrams=1),
    _change("facets", "1", facets=1),
    _change("the dimension", "100", dim=100),
    _change("the dimension", "100, from random vectors", dim=100, start=False),
    _change("the dimension", "50, from GloVe's 50", dim=50, start=GLOVE),
    _change("the dimension", "50, from random vectors", dim=50, start=False),
)


def halved(dataset: Dataset, seed: int = 0) -> Dataset:
    """Give a corpus that is judged by folds one split instead: half to learn from, half to test with."""
    if dataset.train is not None:
        return dataset
    splitter = StratifiedShuffleSplit(1, train_size=0.5, random_state=seed)
    ((train, _),) = splitter.split(np.zeros(len(dataset)), dataset.labels)
    mask = np.zeros(len(dataset), bool)
    mask[train] = True
    return replace(dataset, train=mask)


def ablate(
    vectors: WordVectors,
    *,
    cache_folder: str | Path | None = None,
    jobs: int = -1,
    command: str = "parasphere.experiments.ablation.ablate(...)",
) -> dict[str, Any]:
    """Take away one ingredient at a time; returns what :func:`~.sensitivity.investigate` does.

    Corpora without a split of their own are halved, once: ten folds of each change would take hours.
    """
    corpora = {name: halved(load(name)) for name in DATASETS}
    return compare(BASE, CHANGES, corpora, {"given": vectors}, cache_folder=cache_folder, jobs=jobs, command=command)


def write(study: Mapping[str, Any], folder: str | Path) -> None:
    """Write ``ablation.json``, ``ablation.md`` and ``figure-ablation.png``."""
    folder = Path(folder)
    write_file(folder / "ablation.json", (json.dumps(study, indent=1) + "\n").encode())
    write_file(folder / "ablation.md", _markdown(study).encode())
    write_file(folder / "figure-ablation.png", figures.draw_differences(study))


def _markdown(study: Mapping[str, Any]) -> str:
    names = study["datasets"]
    made = study["made"]
    lines = [
        "# What each ingredient of the best SPM is worth",
        "",
        "One thing changed at a time; accuracy, and the difference to the first row in points, with a star where "
        "McNemar's exact test has p < 0.05, not corrected for the number of tests. 20news-same has its own split; of "
        "MR one half is learned from and the other tested on, so its figures are below those of ten folds. "
        "These test texts chose nothing: the configuration was fixed before.",
        "",
        "| what is changed | " + " | ".join(published.DATASETS.get(name, name) for name in names) + " |",
        "|---|" + "--:|" * len(names),
        *table_rows(study),
        "",
        "![the same as a figure](figure-ablation.png)",
        "",
        "Seconds to fit, on one core: "
        + "; ".join(
            f"{row['name']} " + ", ".join(f"{cell['fit_seconds']:.0f}" for cell in row["cells"].values())
            for row in study["rows"][:1]
        )
        + ".",
        "",
        f"Made by `{made['command']}` on {made['date'][:10]}, with {', '.join(made['vectors'].values())}.",
        "",
    ]
    return "\n".join(lines)
