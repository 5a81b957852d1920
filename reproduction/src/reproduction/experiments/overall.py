"""All tasks in one table: classification, similarity of sentences, retrieval and clustering, and their mean."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from parasphere.places import ENGLISH

from .published import DATASETS, Comparison

CAPTION = (
    "Per cent, each column a mean over its corpora: accuracy on the paper's six (published splits), Spearman on the "
    "test part of the STS benchmark, nDCG@10 on two collections, NMI of k-means on three corpora. The last column is "
    "the mean of the four, if all were run. Each system has the same vectors in all columns; those that learn vectors "
    "learn them from the texts of each corpus."
)
COLUMNS = ("accuracy", "STS", "nDCG@10", "NMI", "mean")
# The encoder of the classification, and the system of the other tasks with its word vectors.
SYSTEMS = {
    "SPM, default (128)": ("spm-default", "spm-default", None),
    "SPM, not adapted (128)": ("spm-english", "spm", ENGLISH),
    "SPM, not adapted, directions": ("spm-english-direction", "spm-direction", ENGLISH),
    "SPM, learned (300)": ("spm-joint-300", "spm-joint", None),
    "SPM on WordLlama (256)": ("spm-wordllama", "spm-wordllama", None),  # in the committed results; no longer run,
    "SPM on MiniLM's words (256)": ("spm-distilled", "spm-distilled", None),  # nor is this
    "WordLlama (256)": ("wordllama", "wordllama", None),
    "MiniLM's words (256)": ("distilled", "distilled", None),
    "tf-idf, pairs": ("tfidf-best", "tfidf-best", None),
    "MiniLM-L6 (384)": ("minilm", "minilm", None),
}


class Line(NamedTuple):
    """A system and its means, in per cent, in the order of ``COLUMNS``; None where something was not run."""

    title: str
    values: tuple[float | None, ...]


def lines(comparison: Comparison, tasks: Mapping[str, Any] | None) -> list[Line]:
    """Return a line per system of which anything was run."""
    found = []
    for title, (encoder, system, vectors) in SYSTEMS.items():
        values = [accuracy(comparison, encoder), *measures(tasks, system, vectors)]
        if any(value is not None for value in values):
            found.append(Line(title, (*values, _mean(values))))
    return found


def markdown(table: list[Line]) -> str:
    """Return the table in Markdown, with the best of each column in bold."""
    best = [
        max((v for v in column if v is not None), default=None)
        for column in zip(*(line.values for line in table), strict=True)
    ]
    rows = [
        [line.title, *(_spelled(value, value == most) for value, most in zip(line.values, best, strict=True))]
        for line in table
    ]
    head = [["system", *COLUMNS], ["---", *["--:"] * len(COLUMNS)]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [*head, *rows])


def _spelled(value: float | None, best: bool) -> str:
    return "–" if value is None else f"**{value:.1f}**" if best else f"{value:.1f}"


def accuracy(comparison: Comparison, encoder: str) -> float | None:
    """Return the mean accuracy on the paper's corpora, in per cent; None if not all of them were run."""
    condition = comparison.conditions[0]
    runs = [comparison.get(condition, encoder, dataset, comparison.dim(condition)) for dataset in DATASETS]
    return _mean([None if run is None else 100 * run["accuracy"] for run in runs])


def measures(tasks: Mapping[str, Any] | None, system: str, vectors: str | None) -> list[float | None]:
    """Return the means of Spearman, nDCG@10 and NMI, in per cent.

    None stands for a measure that lacks a corpus which others have.
    """
    runs = [] if tasks is None else tasks["runs"]
    means: list[float | None] = []
    for task, measure in (("sts", _spearman), ("retrieval", _ndcg), ("clustering", _nmi)):
        known = {run["dataset"] for run in runs if run["task"] == task and run["dataset"] != "stsb-dev"}
        of = {
            run["dataset"]: run
            for run in runs
            if (run["task"], run["system"], run["vectors"]) == (task, system, vectors)
        }
        means.append(_mean([100 * measure(of[name]) if name in of else None for name in sorted(known)]))
    return means


def _spearman(run: Mapping[str, Any]) -> float:
    return float(run["spearman"])


def _ndcg(run: Mapping[str, Any]) -> float:
    return float(run["ndcg"])


def _nmi(run: Mapping[str, Any]) -> float:
    return float(np.mean(run["clusterings"]["k-means"]["nmi"]))


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known and len(known) == len(values) else None
