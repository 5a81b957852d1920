"""Learning word vectors from texts: accuracies on the paper's six corpora, over three seeds.

Run with ``python -m benchmarks joint_corpora``; it takes 40 minutes. Learners and evaluation are those of
:mod:`benchmarks.joint`; of corpora that are not divided, a random fifth of the texts are test texts.
"""

from benchmarks.joint import Task, learned, others, ours
from benchmarks.measure import table

from typing import Any

import numpy as np

SEEDS = range(3)
CORPORA = ["20news-different", "20news-similar", "20news-same", "reuters-10", "subj", "mr"]


def run() -> dict[str, Any]:
    """Return the accuracies of each learner on each corpus, by seed."""
    return {corpus: _on(Task(corpus)) for corpus in CORPORA}


def _on(task: Task) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for seed in SEEDS:
        mine = learned(ours(random_state=seed), task)
        rows = {"JointVectors": mine, "JointVectors, start=None": learned(ours(start=None, random_state=seed), task)}
        rows |= others(mine["seconds"], task, seed)
        for name, row in rows.items():
            found.setdefault(name, []).append(row["accuracy"])
        percents = {name: round(100 * row["accuracy"], 1) for name, row in rows.items()}
        print(task.name, seed, percents, flush=True)
    return found


def report(corpora: dict[str, Any]) -> str:
    rows = [
        [name, *(f"{100 * np.mean(found[name]):.1f} ± {100 * np.std(found[name]):.1f}" for found in corpora.values())]
        for name in next(iter(corpora.values()))
    ]
    return (
        "Accuracies in per cent; each peer learns for about the time of JointVectors (mean and standard deviation of "
        f"{len(SEEDS)} seeds):\n\n" + table(["", *corpora], rows)
    )
