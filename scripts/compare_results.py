"""Compare the results of two runs of ``make reproduce``, document by document.

Run with ``python scripts/compare_results.py FOLDER [OTHER]``. FOLDER is ``reproduced`` after ``make reproduce
QUICK=1``; OTHER is by default the committed ``results``. Prints the differences and their sizes.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from reproduction.experiments.report import read_results, read_tasks
from reproduction.experiments.seeds import SAME

RESULTS = Path(__file__).parent.parent / "results"
RUN = (*SAME, "encoder_seed")
TRIAL = ("task", "dataset", "system", "vectors")
SMALL = 5e-6  # smaller differences, as from the order of a sum, are in no table


def main(folder: Path, other: Path) -> None:
    """Print the runs of two folders that differ."""
    here, there = read_results(folder), read_results(other)
    print(f"{folder}: {here['made']['machine']}\n{other}: {there['made']['machine']}")
    count, differing = 0, []
    for ours, theirs in _common(here, there, RUN):
        count += 1
        if changed := int((np.asarray(ours["correct"]) != np.asarray(theirs["correct"])).sum()):
            accuracies = f"{100 * theirs['accuracy']:.2f} -> {100 * ours['accuracy']:.2f}"
            differing.append(f"{ours['title']} on {ours['dataset']}: {changed} documents, {accuracies}")
    print(f"{count - len(differing)} of {count} runs have the same outcome for every document")
    for line in differing:
        print(line)
    count, differing = 0, []
    for ours, theirs in _common(read_tasks(folder), read_tasks(other), TRIAL):
        count += 1
        mine, yours = _measured(ours), _measured(theirs)
        seeds = min(mine.shape[-1], yours.shape[-1])  # QUICK=1 has one
        mine, yours = mine[..., :seeds], yours[..., :seeds]
        if np.abs(mine - yours).max() > SMALL:
            values = f"{100 * yours.mean():.3f} -> {100 * mine.mean():.3f}"
            differing.append(f"{ours['title']} on {ours['dataset']}: {values}")
    print(f"{count - len(differing)} of {count} trials of the tasks have the same measures")
    for line in differing:
        print(line)


def _common(ours: Any, theirs: Any, names: tuple[str, ...]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the runs of the same configuration."""
    if ours is None or theirs is None:  # a folder without the tasks
        return
    others = {tuple(str(run.get(name)) for name in names): run for run in theirs["runs"]}
    for run in ours["runs"]:
        if (other := others.get(tuple(str(run.get(name)) for name in names))) is not None:
            yield run, other


def _measured(trial: dict[str, Any]) -> Any:
    """Return the measures of a trial by seed: (n_seeds,), or (n_methods, n_seeds) for clusterings."""
    if trial["task"] == "clustering":
        return np.array([method["nmi"] for method in trial["clusterings"].values()])
    return np.array(trial["by_seed"])


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else RESULTS)
