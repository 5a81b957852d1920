"""The results of the tasks as tables, for Markdown and for the page of the report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import significance
from ..published import LEVEL
from ..seeds import holm
from .systems import CLUSTERING, RETRIEVAL, STS

REFERENCE = "bm25"  # what rankings are tested against
NAMES = {
    "stsb-dev": "development", "stsb-test": "test", "cranfield": "Cranfield", "cisi": "CISI",
    "stackoverflow": "StackOverflow", "searchsnippets": "SearchSnippets", "20news": "20 Newsgroups",
}  # fmt: skip
SHOWN = {STS: "Spearman", RETRIEVAL: "nDCG@10", CLUSTERING: "NMI"}
SHORT = (
    "Per cent: Spearman's rank correlation with human scores on the STS benchmark, nDCG@10 of rankings, and "
    "normalised mutual information of clusters (k-means; topic models: the largest topic) and labels. No labels are "
    "used in fitting, but english-128 was also trained on the human scores in the training part of the STS benchmark. "
    "▲ ahead of BM25, ▼ behind it: p < 0.05, corrected for the number of tests; other rankings are level. BM25, alone "
    "and beside MiniLM, compares words; the index compares stems."
)
Row = tuple[str, str]  # title and vectors of a system
Runs = Sequence[Mapping[str, Any]]


class Column(NamedTuple):
    """A column of numbers: its heading, a number per row, how it is spelled, and whether the largest is marked."""

    title: str
    values: dict[Row, float]
    spelled: dict[Row, str]
    marked: bool = True


class TaskTable(NamedTuple):
    """A table of strings.

    Attributes
    ----------
    title, note : str
        What is measured, and how.
    columns : list of str
    rows : list of list of str
        A row begins with the title of a system and the name of its vectors.
    best : list of (int, int)
        The rows and columns of the best numbers.
    """

    title: str
    note: str
    columns: list[str]
    rows: list[list[str]]
    best: list[tuple[int, int]]


def tables(results: Mapping[str, Any]) -> list[TaskTable]:
    """Return one table per task that was run."""
    made: dict[str, Callable[[Runs], TaskTable]] = {STS: _sts, RETRIEVAL: _retrieval, CLUSTERING: _clustering}
    by_task = {task: [run for run in results["runs"] if run["task"] == task] for task in made}
    return [made[task](runs) for task, runs in by_task.items() if runs]


def markdown(table: TaskTable, plain: Callable[[object], str] = str) -> str:
    """Return a table in Markdown; ``plain`` escapes text."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [line(map(plain, table.columns)), line(["---", "---", *["--:"] * (len(table.columns) - 2)])]
    for place, row in enumerate(table.rows):
        cells = [*map(plain, row[:2]), *(plain(cell).replace(" ", "\N{NO-BREAK SPACE}") for cell in row[2:])]
        lines.append(line(f"**{cell}**" if (place, i) in table.best else cell for i, cell in enumerate(cells)))
    return "\n".join(lines)


def short(results: Mapping[str, Any], plain: Callable[[object], str] = str) -> str:
    """Return one measure per dataset of all tasks, in Markdown; ``plain`` escapes text."""
    columns, marked = [], marks([run for run in results["runs"] if run["task"] == RETRIEVAL])
    for name, some in _by_dataset([run for run in results["runs"] if run["dataset"] != "stsb-dev"]).items():
        values = {row_of(run): 100 * _measure(run) for run in some}
        spelled = {
            row_of(run): f"{values[row_of(run)]:.1f}{marked.get((run['dataset'], row_of(run)), '')}" for run in some
        }
        columns.append(Column(f"{SHOWN[some[0]['task']]}: {name}", values, spelled))
    return markdown(_table("", "", results["runs"], columns), plain)


def _measure(run: Mapping[str, Any]) -> float:
    """Return the main measure of a task: of a clustering NMI by k-means, or else by the largest topic."""
    if run["task"] == CLUSTERING:
        methods = run["clusterings"]
        return float(np.mean((methods.get("k-means") or next(iter(methods.values())))["nmi"]))
    return float(run["spearman" if run["task"] == STS else "ndcg"])


def _sts(runs: Runs) -> TaskTable:
    columns = []
    for name, some in _by_dataset(runs).items():
        values = {row_of(run): 100 * run["spearman"] for run in some}
        spelled = {row_of(run): f"{100 * run['spearman']:.1f} ({_interval(run)})" for run in some}
        columns.append(Column(f"{name}: Spearman", values, spelled))
    columns.append(_column("pairs per second", runs, lambda run: run["pairs_per_second"], "{:,.0f}", marked=False))
    columns.append(_column("seconds to fit", runs, lambda run: run["fit_seconds"], "{:.1f}", marked=False))
    note = (
        "STS benchmark, English: Spearman's rank correlation with human scores, in per cent, and its 95 % "
        "interval (bootstrap over pairs). Systems are fitted to the sentences of the training part without scores; "
        "the word vectors english-128, and vectors that start from them, were also trained on its scores. "
        "The analysis describes how settings were chosen."
    )
    return _table("Semantic textual similarity", note, runs, columns)


def _retrieval(runs: Runs) -> TaskTable:
    columns, marked = [], marks(runs)
    for name, some in _by_dataset(runs).items():
        values = {row_of(run): 100 * run["ndcg"] for run in some}
        spelled = {
            row_of(run): f"{100 * run['ndcg']:.1f}{marked.get((run['dataset'], row_of(run)), '')} ({_interval(run)})"
            for run in some
        }
        columns.append(Column(f"{name}: nDCG@10", values, spelled))
        columns.append(_column(f"{name}: recall@100", some, lambda run: 100 * run["recall"], "{:.1f}"))
    columns.append(_column("ms per query", runs, lambda run: run["milliseconds"], "{:.1f}", marked=False))
    columns.append(_column("seconds to fit", runs, lambda run: run["fit_seconds"], "{:.1f}", marked=False))
    note = (
        "Test collections, titles and texts, over the queries that have judgements; in per cent, with the 95 % "
        "interval (bootstrap over queries). ▲ ahead of BM25, ▼ behind BM25: p < 0.05 in a paired randomisation test,"
        " corrected for the number of tests in the table (Holm); otherwise level. BM25, alone and beside MiniLM, "
        "compares words; the index compares stems. Milliseconds are from the text of a query to its ranking, one "
        "query at a time on one core, median (mean, SIF and uSIF build an index of their words at every call); fitting "
        "includes the vectors of all documents. The analysis describes how settings were chosen."
    )
    return _table("Retrieval", note, runs, columns)


def _clustering(runs: Runs) -> TaskTable:
    single = [
        {**run, **found, "title": f"{run['title']}: {method}"}
        for run in runs
        for method, found in run["clusterings"].items()
    ]
    columns = []
    for name, some in _by_dataset(single).items():
        for measure in ("nmi", "ari"):
            values = {row_of(run): 100 * float(np.mean(run[measure])) for run in some}
            spelled = {
                row_of(run): f"{values[row_of(run)]:.1f} ± {100 * float(np.std(run[measure])):.1f}" for run in some
            }
            columns.append(Column(f"{name}: {measure.upper()}", values, spelled))
    note = (
        "As many clusters as labels, which are not used in fitting: normalised mutual information and adjusted Rand "
        "index, in per cent, mean and standard deviation over five seeds. Encoders are fitted once, or with each "
        "seed if their vectors depend on it; k-means keeps the best of ten starts, movMF of five. Messages of 20 "
        "Newsgroups are without headers."
    )
    return _table("Clustering", note, single, columns)


def _table(title: str, note: str, runs: Runs, columns: Sequence[Column]) -> TaskTable:
    names = list(dict.fromkeys(row_of(run) for run in runs))
    rows = [[*name, *(column.spelled.get(name, "–") for column in columns)] for name in names]
    best = []
    for place, column in enumerate(columns, 2):
        most = max(column.values.values())
        best += [(names.index(name), place) for name, value in column.values.items() if column.marked and value == most]
    return TaskTable(title, note, ["system", "vectors", *(column.title for column in columns)], rows, best)


def _column(title: str, runs: Runs, value: Callable[[Any], float], spelling: str, *, marked: bool = True) -> Column:
    """Return a column of medians, if there are several datasets."""
    found: dict[Row, list[float]] = {}
    for run in runs:
        found.setdefault(row_of(run), []).append(value(run))
    values = {row: float(np.median(numbers)) for row, numbers in found.items()}
    return Column(title, values, {row: spelling.format(number) for row, number in values.items()}, marked)


def _by_dataset(runs: Runs) -> dict[str, list[Mapping[str, Any]]]:
    names = dict.fromkeys(run["dataset"] for run in runs)
    return {NAMES.get(name, name): [run for run in runs if run["dataset"] == name] for name in names}


def row_of(run: Mapping[str, Any]) -> Row:
    """Return the row of a run."""
    return run["title"], run["vectors"] or "–"


def _interval(run: Mapping[str, Any]) -> str:
    low, high = (100 * end for end in run["interval"])
    return f"{low:.1f} to {high:.1f}"


def marks(runs: Runs) -> dict[tuple[str, Row], str]:
    """Return a mark per dataset and row that is ahead of BM25, or behind it, corrected for the number of tests."""
    references = {run["dataset"]: run for run in runs if run["system"] == REFERENCE}
    others = [run for run in runs if run["system"] != REFERENCE and run["dataset"] in references]
    tests = [
        significance.randomisation(run["ndcg_by_query"], references[run["dataset"]]["ndcg_by_query"]) for run in others
    ]
    return {
        (run["dataset"], row_of(run)): " ▲" if test.statistic > 0 else " ▼"
        for run, test, p in zip(others, tests, holm([test.p for test in tests]), strict=True)
        if p < LEVEL
    }
