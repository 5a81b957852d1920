"""The report of the experiments beside the paper's numbers: JSON, Markdown, a figure and an HTML page."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from parasphere.errors import ParasphereError
from parasphere.storage import replacing, write_file

from . import figures, overall, page, published
from .page import number, signed
from .published import Comparison, Condition, Table
from .seeds import SAME
from .tasks import tables as task_tables
from .tasks.systems import SYSTEMS

EXCERPT = 600  # characters shown per text

_CLASSIFIERS = {"liblinear": "linear SVM (liblinear)", "libsvm-rbf": "SVM with an RBF kernel (libsvm)"}
_FITTED = ("the training texts alone", "all texts, without their labels (transductive)")
_TESTS = (
    "95 % intervals: with one seed Wilson's on a split and the corrected resampled one (Nadeau and Bengio) on folds;"
    " with several the sum of the variances of documents (or folds) and of seeds. Paired tests against the better "
    "tf-idf at p < 0.05: McNemar's exact one on a split, the corrected resampled t-test on folds, and with seeds a "
    "t-test by the same sum; corrected for the number of tests in the table by Holm's method."
)


def write_report(results: Mapping[str, Any], folder: str | Path) -> None:
    """Write ``results.json``, ``README.md``, ``figure-dimensions.png`` and ``report.html``, each in one step.

    Parameters
    ----------
    results : mapping
        "made", the provenance, and "runs", one mapping per run, as :func:`~reproduction.experiments.run_all` returns.
    folder : path
        A ``README.md`` in it that no report wrote is an error. The figure is drawn for Subj, MR and corpora that were
        run in more than one dimension; if there are none, the figure of an earlier report is removed. The tasks of its
        ``tasks.json`` (:func:`write_tasks`), if there is one, are in the report.
    """
    folder = Path(folder)
    _check_page(folder / "README.md")
    tasks = read_tasks(folder)
    comparison = Comparison(results)
    panels = figures.panels(comparison)
    titles = comparison.titles
    heading = _heading(comparison, comparison.conditions[0])
    readme = page.readme(comparison, bool(panels), tasks, heading, (folder / "analysis.md").is_file())
    drawing = figures.draw_dimensions(panels, titles, "svg").decode() if panels else ""
    contents = {
        "results.json": _pack(results).encode("ascii"),
        "README.md": readme.encode("utf-8", "replace"),
        "report.html": _page(comparison, drawing, tasks),
    }
    if panels:
        contents["figure-dimensions.png"] = figures.draw_dimensions(panels, titles)
    with ExitStack() as files:  # all are written before the first of them is replaced
        for name, content in contents.items():
            files.enter_context(replacing(folder / name)).write_bytes(content)
    if not panels:
        (folder / "figure-dimensions.png").unlink(missing_ok=True)


def write_tasks(tasks: Mapping[str, Any], folder: str | Path) -> None:
    """Write ``tasks.json``, and the report anew; without ``results.json`` it is ``README.md`` alone.

    Parameters
    ----------
    tasks : mapping
        As :func:`~reproduction.experiments.tasks.run_tasks` returns.
    folder : path
        As in :func:`write_report`.
    """
    folder = Path(folder)
    _check_page(folder / "README.md")
    write_file(folder / "tasks.json", _pack(tasks).encode("ascii"))
    if (folder / "results.json").is_file():
        write_report(read_results(folder), folder)
        return
    write_file(folder / "README.md", page.tasks_alone(tasks).encode("utf-8", "replace"))


def read_tasks(folder: str | Path) -> dict[str, Any] | None:
    """Read ``tasks.json`` of a folder; None if there is none."""
    path = Path(folder) / "tasks.json"
    tasks: dict[str, Any] | None = json.loads(path.read_text("ascii")) if path.is_file() else None
    return tasks


def read_results(path: str | Path) -> dict[str, Any]:
    """Read the results of a report, from its ``results.json`` or the folder that holds it."""
    path = Path(path)
    results: dict[str, Any] = json.loads((path / "results.json" if path.is_dir() else path).read_text("ascii"))
    for run in results["runs"]:
        if isinstance(packed := run.get("correct"), dict):
            octets = np.frombuffer(bytes.fromhex(packed["bits"]), np.uint8)
            run["correct"] = np.unpackbits(octets, count=packed["n"]).tolist()
    return results


def join_results(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the results of several commands; of runs with the same configuration the first is kept.

    All parts must have the same seed. The provenance has the first command and commit, and lists every command and
    every version of the code; each run has the commit that it is of, if it is known.
    """
    if not parts:
        raise ParasphereError("nothing to join: name at least one folder with results")
    made = [part["made"] for part in parts]
    if len({one["seed"] for one in made}) > 1:
        raise ParasphereError("results of different seeds of folds cannot stand in one report")
    joined = _joined(parts, (*SAME, "encoder_seed"))
    joined["made"]["seed"] = made[0]["seed"]
    joined["made"]["vectors"] = {dim: name for one in made for dim, name in one["vectors"].items()}
    return joined


def join_tasks(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join the tasks of several commands, as :func:`join_results` joins results; systems in the registry's order."""
    joined = _joined(parts, ("task", "dataset", "system", "vectors"))
    places = {name: place for place, name in enumerate(SYSTEMS)}
    joined["runs"].sort(key=lambda run: places.get(run["system"], len(places)))
    joined["made"]["vectors"] = list(dict.fromkeys(name for part in parts for name in part["made"]["vectors"]))
    return joined


def _joined(parts: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Return the first run of each configuration, given by the fields that name it, and where all come from."""
    runs: dict[tuple[Any, ...], Any] = {}
    for part in parts:
        for run in part["runs"]:
            runs.setdefault(tuple(run.get(name) for name in names), {"commit": part["made"].get("commit"), **run})
    made = [part["made"] for part in parts]
    commands = list(dict.fromkeys(part for one in made for part in one.get("commands", one["command"].split(" and "))))
    joined = {
        "command": commands[0],
        "commands": commands,
        "date": max(one["date"] for one in made),
        "machine": " and ".join(dict.fromkeys(part for one in made for part in one["machine"].split(" and "))),
        "versions": {name: number for one in made for name, number in one["versions"].items()},
        "commit": next((one["commit"] for one in made if one.get("commit")), None),
        "code": ", ".join(dict.fromkeys(part for one in made for part in one["code"].split(", "))),
    }
    return {"made": joined, "runs": list(runs.values())}


def _pack(results: Mapping[str, Any]) -> str:
    """Return results as JSON with one field per line, for readable diffs, and ``correct`` as hexadecimal bits."""

    def lines(fields: Mapping[str, Any]) -> str:
        return "{\n" + ",\n".join(f" {json.dumps(name)}: {compact(value)}" for name, value in fields.items()) + "\n}"

    def compact(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=lambda array: array.tolist())

    runs = []
    for run in results["runs"]:
        fields = dict(run)
        if fields.get("correct") is not None:
            bits = np.asarray(fields["correct"])
            if not np.isin(bits, (0, 1)).all():
                where = f"{run['encoder']} on {run['dataset']}"
                raise ParasphereError(f"{where}: `correct` must hold 0 or 1 per test document")
            fields["correct"] = {"n": len(bits), "bits": np.packbits(bits.astype(bool)).tobytes().hex()}
        runs.append(lines(fields))
    return f'{{\n"made": {lines(results["made"])},\n"runs": [\n' + ",\n".join(runs) + "\n]\n}\n"


def _condition(condition: Condition) -> str:
    classifier = _CLASSIFIERS.get(condition.classifier, condition.classifier)
    return f"{classifier}; encoders fitted to {_FITTED[condition.transductive]}"


def _heading(comparison: Comparison, condition: Condition) -> str:
    dim = comparison.dim(condition)
    text = _condition(condition) + ("" if dim is None else f"; {dim} dimensions where they can be chosen")
    return text[0].upper() + text[1:] + "."


def _sentences(comparison: Comparison) -> dict[str, list[str]]:
    """Return one sentence per difference from the paper, by verdict."""
    sentences: dict[str, list[str]] = {}
    for verdict, pairs in comparison.verdicts().items():
        sentences[verdict] = []
        for run, cell in pairs:
            fixed = run["dim"] is None or run["encoder"] in published.FIXED
            where = [run["title"], published.title(run["dataset"]), "" if fixed else f"{run['dim']} dimensions"]
            where += [_condition(comparison.condition(run))] if len(comparison.conditions) > 1 else []
            interval = "" if cell.low is None else f" ({number(cell.low)} to {number(cell.high)})"
            sentences[verdict].append(
                f"{' · '.join(filter(None, where))}: paper {number(cell.paper)}, ours {number(cell.ours)}{interval}, "
                f"difference {signed(cell.difference)}"
            )
    return sentences


def _summary(said: Mapping[str, list[str]]) -> str:
    total = sum(map(len, said.values()))
    if not total:
        return "The paper has no result for anything that was run."
    below, near, above = (len(said[verdict]) for verdict in ("below", "near", "above"))
    return (
        f"Of {total} accuracies that the paper prints too, {below} {'is' if below == 1 else 'are'} below the paper's "
        f"by more than the interval, {near} within it, {above} above it."
    )


def _check_page(path: Path) -> None:
    """Raise if a page would be lost that no report wrote."""
    if path.exists() and not path.read_text("utf-8").startswith(page.TITLE):
        raise ParasphereError(
            f"{path} is not the page of a report, which begins with {page.TITLE!r}, and would be lost: move it, or "
            "name another folder."
        )


def _page(comparison: Comparison, figure: str, tasks: Mapping[str, Any] | None) -> bytes:
    said = _sentences(comparison)
    data = {
        "made": page.spelled(comparison.made),
        "tests": _TESTS,
        "summary": _summary(said),
        "said": said,
        "conditions": [
            {"name": _heading(comparison, condition), "tables": [_shown(t) for t in comparison.tables(condition)]}
            for condition in comparison.conditions
        ],
        "runs": [_listed(comparison, run) for run in comparison.runs],
        "styles": figures.styles(comparison.encoders),
        "tasks": []
        if tasks is None
        else [table._asdict() for table in [*_overall(comparison, tasks), *task_tables.tables(tasks)]],
        "tasks_made": {} if tasks is None else page.spelled(tasks["made"]),
    }
    content = json.dumps(data, allow_nan=False, ensure_ascii=False, default=lambda array: array.tolist())
    # Without "<", nothing in a text can end the script or be read as markup; lone surrogates are replaced.
    content = content.replace("<", "\\u003c").encode("utf-8", "replace").decode()
    template = resources.files(__package__).joinpath("report.html").read_text(encoding="utf-8")
    parts = {"DATA": content, "FIGURE": figure}
    return re.sub("DATA|FIGURE", lambda match: parts[match[0]], template).encode()


def _overall(comparison: Comparison, tasks: Mapping[str, Any]) -> list[task_tables.TaskTable]:
    rows = [[line.title, "", *map(number, line.values)] for line in overall.lines(comparison, tasks)]
    if not rows:
        return []
    return [task_tables.TaskTable("All tasks", overall.CAPTION, ["system", "", *overall.COLUMNS], rows, [])]


def _shown(table: Table) -> dict[str, Any]:
    rows = [
        row._asdict() | {"cells": [c._asdict() | {"difference": c.difference, "verdict": c.verdict} for c in row.cells]}
        for row in table.rows
    ]
    return table._asdict() | {"rows": rows}


def _listed(comparison: Comparison, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a run; ``main`` marks those of the first tables."""
    condition, first = comparison.condition(run), comparison.conditions[0]
    certain = run.get("certain") and {
        end: [document | {"text": str(document["text"])[:EXCERPT]} for document in run["certain"][end]]
        for end in ("most", "least")
    }
    names = (
        "encoder title dim vectors dimensions macro_f1 fit_seconds transform_seconds texts_per_second C n_train n_test "
        "label_names confusion"
    ).split()
    return {name: run.get(name) for name in names} | {
        "dataset": published.title(run["dataset"]),
        "condition": _condition(condition),
        "first": condition == first,
        "main": run is comparison.get(first, run["encoder"], run["dataset"], comparison.dim(first)),
        "cell": comparison.beside(run, run["dim"])._asdict(),
        "folds": len(run.get("folds") or ()),
        "seeds": [100 * one["accuracy"] for one in run.get("by_seed") or [run]],
        "unconverged": sum((run.get("unconverged") or {}).values()),
        "certain": certain,
    }
