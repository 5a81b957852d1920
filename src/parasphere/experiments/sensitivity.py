"""What an SPM accuracy hangs on: one thing at a time is changed, everything else is as in the tables."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..datasets import load
from ..datasets.corpora import newsgroups
from ..datasets.dataset import Dataset
from ..model import SphericalParagraphModel
from ..storage import write_file
from ..text import Tokenizer
from ..vectors import Word2Vec, WordVectors
from . import published, significance
from .encoders import ENCODERS, WORDS, Encoder
from .protocol import Options
from .run import Run, provenance, run_plan

DATASETS = ("20news-same", "subj", "mr")


@dataclass(frozen=True)
class Change:
    """Something that is done otherwise.

    Attributes
    ----------
    about : str
        What kind of thing it is.
    name : str
    settings : mapping
        Parameters of the model.
    options : mapping
        Options of the protocol.
    vectors : str or None
        Which of the word vectors at hand; None for the usual ones.
    headers : bool
        Keep the headers of newsgroup messages.
    encoder : Encoder or None
        Something else than the model with ``settings``.
    """

    about: str
    name: str
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    vectors: str | None = None
    headers: bool = False
    encoder: Encoder | None = None

    def build(self, vectors: WordVectors | None, _dim: int, seed: int) -> SphericalParagraphModel:
        """Return the model, unfitted."""
        return SphericalParagraphModel(vectors, **{"tokenizer": WORDS, "random_state": seed, **self.settings})

    def run(self, dataset: Dataset, vectors: WordVectors) -> Run:
        """Return the run of one corpus."""
        encoder = self.encoder or Encoder(self.name, self.name, self.build, kind="spherical")
        given = vectors if encoder.needs_vectors else None
        return Run(encoder, dataset, vectors.dim, given, Options(**self.options))


def _own(_vectors: WordVectors | None, dim: int, seed: int) -> SphericalParagraphModel:
    learner = Word2Vec(dim, min_count=2, sample=1e-3, epochs=20, random_state=seed)
    return SphericalParagraphModel(learner, tokenizer=WORDS)


BASE = Change("", "as in the tables")
OWN = Encoder("own", "own", _own, needs_vectors=False, kind="spherical", libraries=("gensim",))
CHANGES = (
    Change("the model", "the paper's kappa, start and no shrinkage", encoder=ENCODERS["spm-paper"]),
    Change("the model", "one concentration for all documents", {"prior_strength": float("inf")}),
    Change("the model", "1 EM iteration", {"max_iter": 1, "tol": 0.0}),
    Change("the model", "5 EM iterations", {"max_iter": 5, "tol": 0.0}),
    Change("the texts", "stop words kept", {"tokenizer": Tokenizer(english=True)}),
    Change("the texts", "digits and accents kept", {"tokenizer": Tokenizer(digits=True, stop_words="english")}),
    Change("the texts", "headers kept", headers=True),
    Change("the protocol", "vectors not standardised", options={"scaling": "none"}),
    Change("the protocol", "RBF kernel", options={"classifier": "libsvm-rbf"}),
    Change("the protocol", "fitted to test texts too", options={"transductive": True}),
    Change("the word vectors", "trained on the training texts", encoder=OWN),
)


def investigate(
    vectors: Mapping[str, WordVectors],
    datasets: Sequence[str] = DATASETS,
    *,
    cache_folder: str | Path | None = None,
    jobs: int = -1,
    command: str = "parasphere.experiments.sensitivity.investigate(...)",
) -> dict[str, Any]:
    """Change one thing at a time.

    Parameters
    ----------
    vectors : mapping of str to WordVectors
        The first are the usual ones; each other is a change of its own.
    datasets : names
    cache_folder, jobs
        As :func:`~parasphere.experiments.run_all` takes them.
    command : str
        What was typed, for the record.

    Returns
    -------
    dict
        "made", "datasets" and "rows": what was changed, and of each corpus the accuracy and the p-value of a paired
        test against the usual.
    """
    others = list(vectors)[1:]
    changes = [*CHANGES, *(Change("the word vectors", name, vectors=name) for name in others)]
    corpora = {name: load(name) for name in datasets}
    return compare(BASE, changes, corpora, vectors, cache_folder=cache_folder, jobs=jobs, command=command)


def compare(
    base: Change,
    changes: Sequence[Change],
    corpora: Mapping[str, Dataset],
    vectors: Mapping[str, WordVectors],
    *,
    cache_folder: str | Path | None = None,
    jobs: int = -1,
    command: str,
) -> dict[str, Any]:
    """Run what is usual and each change on each corpus; returns what :func:`investigate` does."""
    usual = next(iter(vectors))
    plan: dict[tuple[str, str], Run] = {}
    for change in (base, *changes):
        for name, corpus in corpora.items():
            if change.headers and name.startswith("20news-"):
                corpus = newsgroups(name.removeprefix("20news-"), headers=True)
            elif change.headers:
                continue  # there are none
            plan[change.name, name] = change.run(corpus, vectors[change.vectors or usual])
    found = dict(zip(plan, run_plan(list(plan.values()), cache_folder, jobs), strict=True))
    rows = []
    for change in (base, *changes):
        cells: dict[str, Any] = {}
        for name in corpora:
            if (change.name, name) in found:
                run, usual_run = found[change.name, name], found[base.name, name]
                test = None if change is base else significance.of_runs(run, usual_run)
                facts = {key: run[key] for key in ("accuracy", "fit_seconds", "dimensions")}
                cells[name] = {**facts, "p": None if test is None else test.p}
        rows.append({"about": change.about, "name": change.name, "cells": cells})
    return {"made": provenance(list(plan.values()), command), "datasets": list(corpora), "rows": rows}


def write(study: Mapping[str, Any], folder: str | Path) -> None:
    """Write ``sensitivity.json`` and ``sensitivity.md``, the study as a table."""
    folder = Path(folder)
    write_file(folder / "sensitivity.json", (json.dumps(study, indent=1) + "\n").encode())
    write_file(folder / "sensitivity.md", _markdown(study).encode())


def _markdown(study: Mapping[str, Any]) -> str:
    names = study["datasets"]
    lines = [
        "# What the accuracy of SPM hangs on",
        "",
        "One thing changed at a time; the difference to the first row, in points, and with a star where a paired test "
        "(McNemar's exact one on a split, the corrected resampled t-test on folds) has p < 0.05, not corrected for the "
        "number of tests: a star or two may be chance. The changes were chosen before their accuracies were seen, and "
        "none of them was taken over because of these.",
        "",
        "| what is changed | " + " | ".join(published.DATASETS.get(name, name) for name in names) + " |",
        "|---|" + "--:|" * len(names),
    ]
    paper = [published.in_table("spm", name) for name in names]
    lines.append("| the paper | " + " | ".join("–" if value is None else f"{value:.1f}" for value in paper) + " |")
    lines += table_rows(study)
    lines += ["", f"Made by `{study['made']['command']}` on {study['made']['date'][:10]}.", ""]
    return "\n".join(lines)


def table_rows(study: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table, in Markdown: the usual, then each change with its difference to it."""
    first, *rest = study["rows"]
    base, names = first["cells"], study["datasets"]
    lines = [f"| {first['name']} | " + " | ".join(f"{100 * base[name]['accuracy']:.1f}" for name in names) + " |"]
    for row in rest:
        cells = [_cell(row["cells"].get(name), base[name]) for name in names]
        lines.append(f"| {row['about']}: {row['name']} | " + " | ".join(cells) + " |")
    return lines


def _cell(cell: Mapping[str, Any] | None, base: Mapping[str, Any]) -> str:
    if cell is None:
        return "–"
    difference = 100 * (cell["accuracy"] - base["accuracy"])
    star = "*" if cell["p"] is not None and cell["p"] < published.LEVEL else ""
    sign = "" if f"{difference:.1f}" in ("0.0", "-0.0") else f"{difference:+.1f}".replace("-", "−")
    return f"{100 * cell['accuracy']:.1f} ({sign or '0.0'}{star})"
