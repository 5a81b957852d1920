"""Sensitivity of SPM's accuracy to the model, the texts, the protocol and the word vectors, one change at a time."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from parasphere import SphericalParagraphModel
from parasphere.storage import write_file
from parasphere.text import Tokenizer
from parasphere.vectors import WordVectors

from ..baselines.word2vec import Word2Vec
from ..datasets import Dataset, newsgroups
from . import published, significance
from .encoders import ENCODERS, WORDS, Encoder, on_vectors_seeded
from .page import number, signed, unbroken
from .protocol import Options
from .run import Run, corpus, provenance, run_plan

DATASETS = ("20news-same", "20news-same-folds", "subj", "mr")


@dataclass(frozen=True)
class Change:
    """A change to the model or to the protocol."""

    about: str  # "the model", "the texts", "the protocol" or "the word vectors"
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # parameters of the model
    options: Mapping[str, Any] = field(default_factory=dict)  # of the protocol
    vectors: str | None = None  # the name of other word vectors
    headers: bool = False  # whether those of newsgroup messages are kept
    encoder: Encoder | None = None  # in place of the model with ``settings``

    def run(self, dataset: Dataset, vectors: WordVectors) -> Run:
        """Return the run on one corpus."""
        build = on_vectors_seeded(SphericalParagraphModel, adapt=False, space="direction", **self.settings)
        encoder = self.encoder or Encoder(self.name, self.name, build, kind="spherical")
        given = vectors if encoder.needs_vectors else None
        return Run(encoder, dataset, vectors.dim, given, Options(**self.options))


def _on_word2vec(_vectors: WordVectors | None, dim: int, seed: int) -> SphericalParagraphModel:
    learner = Word2Vec(dim, min_count=2, sample=1e-3, epochs=20, random_state=seed)
    return SphericalParagraphModel(learner, tokenizer=WORDS, space="direction")


BASE = Change("", "as in the tables")
TRAINED = Encoder("trained", "trained", _on_word2vec, needs_vectors=False, kind="spherical", libraries=("gensim",))
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
    Change(
        "texts and protocol",
        "stop words kept, RBF kernel",
        {"tokenizer": Tokenizer(english=True)},
        options={"classifier": "libsvm-rbf"},
    ),
    Change("the word vectors", "trained on the training texts", encoder=TRAINED),
)


def investigate(
    vectors: Mapping[str, WordVectors],
    datasets: Sequence[str] = DATASETS,
    *,
    cache_folder: str | Path | None = None,
    jobs: int = -1,
    command: str = "reproduction.experiments.sensitivity.investigate(...)",
) -> dict[str, Any]:
    """Run the model, and each change to it, on each corpus.

    Parameters
    ----------
    vectors : mapping of str to WordVectors
        The first are the default; each of the others is one more change.
    datasets : sequence of str, default=("20news-same", "20news-same-folds", "subj", "mr")
        Names of corpora.
    cache_folder, jobs
        As in :func:`~reproduction.experiments.run_all`.
    command : str
        Command line to record in the results.

    Returns
    -------
    dict
        "made", the provenance, "datasets", and "rows": each change with its accuracy per corpus and the p-value of a
        paired test against the default.
    """
    default, *others = vectors
    corpora = {name: corpus(name) for name in datasets}
    changes = [BASE, *CHANGES, *(Change("the word vectors", name, vectors=name) for name in others)]
    plan: dict[tuple[str, str], Run] = {}
    for change in changes:
        for name, texts in corpora.items():
            if change.headers and name.startswith("20news-"):
                subset = name.removeprefix("20news-").removesuffix(published.FOLDS)
                whole = newsgroups(subset, headers=True)
                texts = (
                    whole
                    if texts.train is not None
                    else replace(whole, name=f"{whole.name}{published.FOLDS}", train=None)
                )
            elif change.headers:
                continue  # the corpus has none
            plan[change.name, name] = change.run(texts, vectors[change.vectors or default])
    results = dict(zip(plan, run_plan(list(plan.values()), cache_folder, jobs), strict=True))
    rows = []
    for change in changes:
        cells: dict[str, Any] = {}
        for name in corpora:
            if (run := results.get((change.name, name))) is not None:
                test = None if change is BASE else significance.of_runs(run, results[BASE.name, name])
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
        "# Sensitivity of SPM's accuracy",
        "",
        "One change at a time: accuracy in per cent, and the difference from the unchanged model in points. A star "
        "marks p < 0.05 in a paired test (McNemar's exact test on a split, the corrected resampled t-test on folds), "
        "not corrected for the number of tests: a star or two may be chance. The changes were chosen before their "
        "accuracies were seen, and none was adopted because of them.",
        "",
        "| change | " + " | ".join(published.title(name) for name in names) + " |",
        "|---|" + "--:|" * len(names),
    ]
    lines.append("| the paper | " + " | ".join(number(published.in_table("spm", name)) for name in names) + " |")
    first, *rest = study["rows"]
    base = first["cells"]
    lines.append(f"| {first['name']} | " + " | ".join(f"{100 * base[name]['accuracy']:.1f}" for name in names) + " |")
    for row in rest:
        cells = [_cell(row["cells"].get(name), base[name]) for name in names]
        lines.append(f"| {row['about']}: {row['name']} | " + " | ".join(cells) + " |")
    lines += ["", f"Made by `{study['made']['command']}` on {study['made']['date'][:10]}.", ""]
    return "\n".join(lines)


def _cell(cell: Mapping[str, Any] | None, base: Mapping[str, Any]) -> str:
    if cell is None:
        return "–"
    difference = 100 * (cell["accuracy"] - base["accuracy"])
    star = "*" if cell["p"] is not None and cell["p"] < published.LEVEL else ""
    return unbroken(f"{100 * cell['accuracy']:.1f} ({signed(difference)}{star})")
