"""The page of a report, in Markdown: what was done, the tables, the figure and the conclusions; the rest is in HTML."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from . import beyond, overall
from .conclusions import conclusions
from .published import Cell, Comparison, Table
from .tasks import tables as task_tables

TITLE = "# Spherical Paragraph Model: the paper's experiments, and ours"
DONE = (
    "Each encoder turns the texts of a corpus into vectors. It is fitted to the training texts without labels; a "
    "linear SVM, whose C is chosen by cross-validation within the training texts, classifies the vectors. Corpora "
    "without a published split are divided into ten folds, the same for all encoders; the three subsets of 20 "
    "Newsgroups are also run in folds, as the paper may have done. Encoders whose vectors depend on a seed are run "
    "with several seeds. The 95 % intervals are those of the mean over documents (or folds) and seeds. ▲ *ahead* of "
    "the better of the two tf-idf rows and ▼ *behind* it mean p < 0.05 in a paired test, corrected for the number of "
    "tests in the table by Holm's method; all others are *level*. Each cell has the paper's accuracy / ours in per "
    "cent; our best is bold; – means not run, or not in the paper. Intervals are in a separate table below each "
    "table."
)
ANALYSIS = (
    "[The analysis](analysis.md) discusses the differences from the paper, compares words, stems and meaning as ways "
    "to find documents in five collections, and describes how settings were chosen."
)
MADE = ("command", "commit", "date", "machine", "vectors")


def readme(
    comparison: Comparison, figure: bool, tasks: Mapping[str, Any] | None, dimensions: str, analysis: bool = False
) -> str:
    """Return the page.

    Parameters
    ----------
    comparison : Comparison
        Its first condition is shown.
    figure : bool
        Whether there is a figure of dimensions beside the page.
    tasks : mapping or None
        The results of the tasks that measure similarity.
    dimensions : str
        The heading of the tables: classifier and dimension.
    analysis : bool, default=False
        Whether there is an ``analysis.md`` beside the page.
    """
    blocks = [TITLE, DONE]
    for table in comparison.tables(comparison.conditions[0]):
        blocks += [f"## {table.title}", plain(dimensions), markdown(table)]
        blocks += ['<details markdown="1"><summary>95 % intervals</summary>', intervals(table), "</details>"]
    if best := beyond.table(comparison):
        blocks += ["## SPM and tf-idf together, compared with tf-idf and MiniLM", beyond.CAPTION, "\n".join(best)]
    if tasks is not None:
        blocks += ["## The tasks", task_tables.SHORT, task_tables.short(tasks, plain)]
        if means := overall.lines(comparison, tasks):
            blocks += [overall.CAPTION, overall.markdown(means)]
    if figure:
        blocks += ["## Figure 2: dimensions", "![Accuracy by dimension: the paper's and ours](figure-dimensions.png)"]
    said = conclusions(comparison, tasks)
    if said:
        blocks += ["## Conclusions", "\n".join(f"{place}. {one}" for place, one in enumerate(said, 1))]
    if analysis:
        blocks.append(ANALYSIS)
    blocks += ["## How this was made", provenance(comparison.made), _rest(tasks)]
    return "\n\n".join(blocks) + "\n"


def tasks_alone(tasks: Mapping[str, Any]) -> str:
    """Return the page of tasks without classification."""
    found = task_tables.tables(tasks)
    tables = [part for table in found for part in (f"## {table.title}", table.note, task_tables.markdown(table, plain))]
    return "\n\n".join([TITLE, *tables, "## How this was made", provenance(tasks["made"])]) + "\n"


def _rest(tasks: Mapping[str, Any] | None) -> str:
    more = "" if tasks is None else " the tasks in full,"
    return (
        f"[report.html](report.html) has{more} all differences from the paper, confusion matrices and versions; "
        "[results.json](results.json) has every number."
    )


def provenance(made: Mapping[str, Any]) -> str:
    """Return where results come from, as a list."""
    found = {name: text for name, text in spelled(made).items() if name in MADE}
    code = {name for name in ("command", "commit") if "`" not in found.get(name, "")}  # to be copied verbatim
    lines = [f"- {name}: {f'`{text}`' if name in code else plain(text)}" for name, text in found.items()]
    others = len(made.get("commands", ())) - 1
    if others > 0:
        lines.append(f"- {others} earlier commands of other commits, for rows not run by this one, are in results.json")
    return "\n".join(lines)


def spelled(made: Mapping[str, Any]) -> dict[str, str]:
    """Return the provenance as strings."""
    found = {
        name: ", ".join(f"{key}: {item}" for key, item in value.items())
        if isinstance(value, Mapping)
        else ", ".join(value)
        if isinstance(value, list)
        else value
        for name, value in made.items()
    }
    return {name: str(text) for name, text in found.items() if text not in (None, "")}


def markdown(table: Table) -> str:
    """Return a table of accuracies in Markdown, the paper's and ours."""

    def spell(cell: Cell) -> str:
        ours = f"**{number(cell.ours)}**" if cell.best else number(cell.ours)
        mark = {1: " ▲", 0: "", -1: " ▼"}[cell.sign]
        return unbroken(f"{number(cell.paper)} / {ours}{mark}")

    return _rows(table, spell)


def intervals(table: Table) -> str:
    """Return the intervals of our accuracies in Markdown."""
    return _rows(
        table, lambda cell: "–" if cell.low is None else unbroken(f"{number(cell.low)} to {number(cell.high)}")
    )


def _rows(table: Table, spell: Callable[[Cell], str]) -> str:
    lines = [["encoder", "vector", *map(plain, table.columns)], ["---", "--:", *["---"] * len(table.columns)]]
    for row in table.rows:
        dimensions = "–" if row.dimensions is None else f"{row.dimensions:,}"
        lines.append([unbroken(plain(row.title)), dimensions, *map(spell, row.cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def unbroken(text: str) -> str:
    """Return a text that stays on one line of a table, with no-break spaces."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def number(value: float | None) -> str:
    """Return a number, or a dash."""
    return "–" if value is None else f"{value:.1f}"


def signed(value: float | None) -> str:
    """Return a difference with its sign, and 0.0 without one."""
    if value is None:
        return "–"
    text = f"{value:+.1f}"
    return "0.0" if float(text) == 0 else text.replace("-", "−")


def plain(text: object) -> str:
    """Escape whatever Markdown or HTML could take for markup."""
    return re.sub(r"([\\`*_\[\]<>|#~$&])", r"\\\1", " ".join(str(text).split()))
