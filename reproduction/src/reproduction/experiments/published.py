"""The paper's results (Tables 1 and 2, Figure 2) in per cent, copied by hand, and our runs beside them.

The numbers are in ``published.json``. The paper contradicts itself on PV-DM on Subj in 50 dimensions: 90.4 in Table 2,
90.2 in Figure 2. Both are kept.
"""

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NamedTuple

from parasphere.errors import ParasphereError

from . import seeds

_PRINTED: dict[str, Any] = json.loads(resources.files(__package__).joinpath("published.json").read_text("utf-8"))
# The paper's names of the corpora and of the encoders, in the order of its tables.
TABLE_1_DATASETS: dict[str, str] = _PRINTED["table 1: corpora"]
TABLE_2_DATASETS: dict[str, str] = _PRINTED["table 2: corpora"]
DATASETS = TABLE_1_DATASETS | TABLE_2_DATASETS
ENCODERS: dict[str, str] = _PRINTED["encoders"]
# Accuracies by encoder: one per corpus in the tables, one per dimension in the figure.
TABLE_1: dict[str, list[float]] = _PRINTED["table 1"]
TABLE_2: dict[str, list[float]] = _PRINTED["table 2"]
FIGURE_2: dict[str, dict[str, list[float]]] = {name: _PRINTED[f"figure 2: {name}"] for name in TABLE_2_DATASETS}
DIMENSIONS: list[int] = _PRINTED["figure 2: dimensions"]
DIMENSION = 50  # of the paper's Tables 1 and 2, where the dimension can be chosen
SAME = {"spm-paper": "spm", "uni-skip": "skip-thought"}  # encoders whose results have another name
FIXED = ("bow", "fastsent", "skip-thought")  # encoders of a fixed dimension: 5,000 words, up to 100, and 2,400
RIVALS = ("tfidf-best", "tfidf-paper")  # all others are tested against the better of these, on each corpus
FOLDS = "-folds"  # after the name of a corpus whose published split is not used
LEVEL = 0.05


def title(dataset: str) -> str:
    """Return the paper's name of a corpus.

    Examples
    --------
    >>> title("20news-same"), title("20news-same-folds"), title("my own")
    ('same', 'same (folds)', 'my own')
    """
    plain = dataset.removesuffix(FOLDS)
    return DATASETS.get(plain, plain) + (" (folds)" if plain != dataset else "")


def in_table(encoder: str, dataset: str) -> float | None:
    """Return the accuracy in Table 1 or 2, in per cent, or None.

    Examples
    --------
    >>> in_table("spm", "mr"), in_table("spm-paper", "20news-same-folds"), in_table("bow", "my own")
    (75.0, 70.0, None)
    """
    same = SAME.get(encoder, encoder)
    row = TABLE_1[same] + TABLE_2[same] if same in ENCODERS else []
    return dict(zip(DATASETS, row, strict=False)).get(dataset.removesuffix(FOLDS))


def in_figure(encoder: str, dataset: str, dim: int | None) -> float | None:
    """Return the height of Figure 2's bar, in per cent, or None.

    Examples
    --------
    >>> in_figure("pv-dm", "subj", 50), in_figure("spm-paper", "mr", 300), in_figure("bow", "mr", 50)
    (90.2, 79.1, None)
    """
    bars = FIGURE_2.get(dataset, {}).get(SAME.get(encoder, encoder))
    return bars[DIMENSIONS.index(dim)] if bars is not None and dim in DIMENSIONS else None


def accuracy(encoder: str, dataset: str, dim: int | None) -> float | None:
    """Return the paper's accuracy, in per cent, for the same encoder, corpus and dimension, or None.

    Parameters
    ----------
    encoder, dataset : str
    dim : int or None
        Ignored for encoders of fixed dimension, such as ``bow``.

    Examples
    --------
    >>> accuracy("spm", "mr", 50), accuracy("spm", "mr", 300), accuracy("spm", "20news-same", 300)
    (75.0, 79.1, None)
    >>> accuracy("bow", "20news-same", 300)
    75.6
    """
    if dim in (DIMENSION, None) or SAME.get(encoder, encoder) in FIXED:
        return in_table(encoder, dataset)
    return in_figure(encoder, dataset, dim)


class Cell(NamedTuple):
    """One encoder on one corpus: the paper's accuracy, and ours with its interval, in per cent.

    ``p`` is that of the paired test against the better tf-idf, and ``lead`` the sign of the difference. In a table p is
    corrected for the number of tests in it, and ``sign`` is 1 if ours is ahead of the better tf-idf, -1 if behind, and
    0 if they are level.
    """

    paper: float | None
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    lead: int = 0
    sign: int = 0
    best: bool = False

    @property
    def difference(self) -> float | None:
        """Ours less the paper's, in points."""
        return None if self.paper is None or self.ours is None else self.ours - self.paper

    @property
    def verdict(self) -> str | None:
        """Whether ours is "below" or "above" the paper's by more than the interval, or "near" it."""
        if self.paper is None or self.ours is None:
            return None
        low, high = (self.ours if end is None else end for end in (self.low, self.high))
        return "below" if self.paper > high else "above" if self.paper < low else "near"


class Row(NamedTuple):
    """One encoder, and the dimension of its vectors if it was run."""

    encoder: str
    title: str
    dimensions: int | None
    cells: list[Cell]


class Table(NamedTuple):
    """One table: one column per corpus, one row per encoder."""

    title: str
    columns: list[str]
    rows: list[Row]


class Condition(NamedTuple):
    """The options that all encoders of a table share."""

    classifier: str
    transductive: bool


class Comparison:
    """Runs by condition, encoder, corpus and dimension, and the tables that they fill.

    Runs that differ only in their seed are one, with the mean of their accuracies. Of runs that differ only in their
    word vectors, the tables show the one with the vectors that ``made`` names.
    """

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.made: Mapping[str, Any] = results["made"]
        self.runs: Sequence[Mapping[str, Any]] = seeds.merged(results["runs"])
        if not self.runs:
            raise ParasphereError("no runs to report")
        self._by_dim: dict[tuple[Condition, str, str], dict[int | None, Mapping[str, Any]]] = {}
        vectors = self.made.get("vectors") or {}
        for run in self.runs:
            if not 0 <= run["accuracy"] <= 1:
                where = f"{run['encoder']} on {run['dataset']}"
                raise ParasphereError(f"{where}: an accuracy of {run['accuracy']} is not between 0 and 1")
            dims = self._by_dim.setdefault((self.condition(run), run["encoder"], run["dataset"]), {})
            if run["dim"] not in dims or run["vectors"] == vectors.get(str(run["dim"])):
                dims[run["dim"]] = run
        self.conditions = list(dict.fromkeys(map(self.condition, self.runs)))
        self.datasets = list(dict.fromkeys(run["dataset"] for run in self.runs))
        self.titles = {**ENCODERS, **{run["encoder"]: run["title"] for run in self.runs}}
        order = dict.fromkeys([*ENCODERS, "spm", "spm-paper", *self.titles])
        self.encoders = [encoder for encoder in order if encoder in self.titles]

    @staticmethod
    def condition(run: Mapping[str, Any]) -> Condition:
        """Return the condition of a run."""
        return Condition(run["classifier"], bool(run["transductive"]))

    def dim(self, condition: Condition) -> int | None:
        """Return the dimension of a condition's tables: the paper's if it was run, else the smallest that was."""
        dims = {run["dim"] for run in self.runs if self.condition(run) == condition and run["dim"] is not None}
        return DIMENSION if DIMENSION in dims else min(dims, default=None)

    def get(self, condition: Condition, encoder: str, dataset: str, dim: int | None) -> Mapping[str, Any] | None:
        """Return the run of this dimension; for an encoder that was never run in it, that of the smallest."""
        by_dim = self._by_dim.get((condition, encoder, dataset), {})
        if dim in by_dim or not by_dim:
            return by_dim.get(dim)
        dims = {d for (c, e, _), runs in self._by_dim.items() if (c, e) == (condition, encoder) for d in runs}
        return None if dim in dims else by_dim[min(by_dim, key=lambda d: d or 0)]

    def beside(self, run: Mapping[str, Any], dim: int | None) -> Cell:
        """Return the cell of a run: the paper's accuracy beside it, and a test against the better tf-idf."""
        condition, dataset = self.condition(run), run["dataset"]
        interval = seeds.interval(run)
        low, high = (None, None) if interval is None else (100 * interval.low, 100 * interval.high)
        cell = Cell(accuracy(run["encoder"], dataset, run["dim"]), 100 * run["accuracy"], low, high)
        rival = self.rival(condition, dataset, dim)
        test = None if rival is None or run["encoder"] in RIVALS else seeds.compare(run, rival)
        if test is None:
            return cell
        return cell._replace(p=test.p, lead=(test.statistic > 0) - (test.statistic < 0))

    def rival(self, condition: Condition, dataset: str, dim: int | None) -> Mapping[str, Any] | None:
        """Return the run of the better tf-idf on a corpus; None if neither was run."""
        runs = [run for name in RIVALS if (run := self.get(condition, name, dataset, dim)) is not None]
        return max(runs, key=lambda run: float(run["accuracy"]), default=None)

    def tables(self, condition: Condition) -> list[Table]:
        """Return Tables 1 and 2, and one of other corpora, each if any of it was run."""
        run = [d for d in self.datasets if any((c, e) == (condition, d) for c, _, e in self._by_dim)]
        folded = {d: title(d) for d in run if d.endswith(FOLDS) and d.removesuffix(FOLDS) in TABLE_1_DATASETS}
        groups = {
            "Table 1: topical classification": TABLE_1_DATASETS | folded,
            "Table 2: sentiment analysis": TABLE_2_DATASETS,
            "Other corpora": {d: title(d) for d in run if d not in DATASETS and d not in folded},
        }
        return [self._table(condition, name, group) for name, group in groups.items() if set(group) & set(run)]

    def _table(self, condition: Condition, heading: str, datasets: Mapping[str, str]) -> Table:
        dim, rows = self.dim(condition), []
        best = [0.0] * len(datasets)
        for encoder in self.encoders:
            runs = [self.get(condition, encoder, dataset, dim) for dataset in datasets]
            papers = [Cell(accuracy(encoder, dataset, dim)) for dataset in datasets]
            cells = [self.beside(run, dim) if run else paper for run, paper in zip(runs, papers, strict=True)]
            dimensions = next((run["dimensions"] for run in runs if run is not None), None)
            if any(runs) or (encoder in ENCODERS and any(cell.paper is not None for cell in cells)):
                rows.append(Row(encoder, self.titles[encoder], dimensions, cells))
                best = [max(most, cell.ours or 0.0) for most, cell in zip(best, cells, strict=True)]
        for row in rows:
            row.cells[:] = [c._replace(best=c.ours == most) for c, most in zip(row.cells, best, strict=True)]
        return Table(heading, list(datasets.values()), _corrected(rows))

    def verdicts(self) -> dict[str, list[tuple[Mapping[str, Any], Cell]]]:
        """Return every run that the paper has too, by verdict, the largest differences first."""
        verdicts: dict[str, list[tuple[Mapping[str, Any], Cell]]] = {"below": [], "near": [], "above": []}
        for runs in self._by_dim.values():
            for dim, run in runs.items():
                cell = self.beside(run, dim)
                if cell.verdict is not None:
                    verdicts[cell.verdict].append((run, cell))
        for cells in verdicts.values():
            cells.sort(key=lambda pair: -abs(pair[1].difference or 0.0))
        return verdicts


def _corrected(rows: list[Row]) -> list[Row]:
    """Correct the p-values of a table for their number, by Holm's method, and tell who is ahead."""
    values = iter(seeds.holm([cell.p for row in rows for cell in row.cells if cell.p is not None]))
    for row in rows:
        for place, cell in enumerate(row.cells):
            if cell.p is not None:
                p = next(values)
                row.cells[place] = cell._replace(p=p, sign=cell.lead if p < LEVEL else 0)
    return rows
