"""The conclusions of a report, as sentences that are written from its tests."""

from collections.abc import Iterable, Mapping
from typing import Any

from . import beyond, published
from .beyond import TFIDF, TRANSFORMER, Claim
from .published import FOLDS, Comparison
from .tasks import tables


def conclusions(comparison: Comparison, tasks: Mapping[str, Any] | None) -> list[str]:
    """Return up to three conclusions: of the best encoder, of the paper, and of the other tasks."""
    found = [_best(beyond.claims(comparison)), _paper(comparison), _similarity(tasks)]
    return [sentence for sentence in found if sentence]


def _best(claims: list[Claim]) -> str:
    """Tell where the union of SPM and tf-idf is ahead."""
    parts = []
    for rival, name in ((TFIDF, TFIDF), (TRANSFORMER, "the transformer MiniLM")):
        mine = [claim for claim in claims if claim.rival == rival]
        if mine:
            parts.append(f"compared with {name} it is {_sorted_out(mine)}")
    return f"**SPM and tf-idf together**: {'; '.join(parts)}." if parts else ""


def _sorted_out(claims: list[Claim]) -> str:
    words = []
    for verdict in ("ahead", "level", "behind"):
        names = [published.title(claim.dataset) for claim in claims if claim.verdict == verdict]
        if names:
            words.append(f"{verdict} on {listed(names)}")
    return ", ".join(words)


def _paper(comparison: Comparison) -> str:
    """Tell where SPM on given vectors is below the paper, in the published splits and in folds."""
    condition = comparison.conditions[0]
    verdicts: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    for dataset in sorted(comparison.datasets, key=beyond._order):
        run = comparison.get(condition, "spm", dataset, comparison.dim(condition))
        verdict = None if run is None else comparison.beside(run, comparison.dim(condition)).verdict
        if verdict is not None:
            verdicts[dataset.endswith(FOLDS)].setdefault(verdict, []).append(published.title(dataset))
    if not verdicts[False]:
        return ""
    said = f"**SPM on given vectors, compared with the paper**: {_verdicts(verdicts[False])}"
    if verdicts[True]:
        said += f". With 20 Newsgroups in ten random folds instead of the split by date: {_verdicts(verdicts[True])}"
    return said + "."


def _verdicts(found: Mapping[str, list[str]]) -> str:
    words = {
        "below": "below its accuracy by more than the interval",
        "near": "within the interval",
        "above": "above it",
    }
    return ", ".join(f"{words[verdict]} on {listed(found[verdict])}" for verdict in words if verdict in found)


def _similarity(tasks: Mapping[str, Any] | None) -> str:
    """Tell how the default model compares texts."""
    runs = [] if tasks is None else [run for run in tasks["runs"] if run["vectors"] in (None, "english-128")]
    found = {(run["system"], run["dataset"]): run for run in runs}
    parts = []
    if all((name, "stsb-test") in found for name in ("spm-default", "minilm")):
        ours, theirs = (100 * found[name, "stsb-test"]["spearman"] for name in ("spm-default", "minilm"))
        parts.append(
            f"on single sentences it is {theirs - ours:.1f} points below MiniLM (STS: {ours:.1f}, {theirs:.1f})"
        )
    marks = tables.marks([run for run in (tasks or {"runs": []})["runs"] if run["task"] == "retrieval"])
    for system, name in (("spm-default", "alone"), ("index-default", "together with BM25")):
        mine = {dataset: run for (one, dataset), run in found.items() if one == system and run["task"] == "retrieval"}
        groups: dict[str, list[str]] = {}
        for dataset, run in mine.items():
            mark = marks.get((dataset, tables.row_of(run)), "").strip()
            verdict = {"▲": "ahead of BM25", "▼": "behind BM25", "": "level with BM25"}[mark]
            groups.setdefault(verdict, []).append(tables.NAMES.get(dataset, dataset))
        if groups:
            parts.append(
                f"{name} it is " + ", ".join(f"{verdict} on {listed(names)}" for verdict, names in groups.items())
            )
    beside = [
        f"{100 * run['ndcg']:.1f} and {100 * found['index-default', dataset]['ndcg']:.1f} on "
        f"{tables.NAMES.get(dataset, dataset)}"
        for (system, dataset), run in found.items()
        if system == "index-stems" and ("index-default", dataset) in found
    ]
    if beside:
        parts.append(f"nDCG@10 of BM25 of stems, alone and together with the model: {listed(beside)}")
    return f"**The default model, comparing texts**: {'; '.join(parts)}." if parts else ""


def listed(names: Iterable[str]) -> str:
    """Return names as a list in a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"])
    ('a, b and c', 'a')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
