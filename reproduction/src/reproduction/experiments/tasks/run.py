"""Run the tasks that measure similarity, and cache their results as those of the other experiments are cached."""

import contextlib
import hashlib
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from parasphere.errors import ParasphereError
from parasphere.vectors import GLOVE, WordVectors

from ...keeping import keep
from ..identity import classes_of, digest, identity
from ..protocol import counted
from ..run import LIBRARIES, LeftOutWarning, machine_facts, recall, results_folder, watch
from ..source import code_version
from . import clustering, retrieval, sts
from .systems import CLUSTERING, RETRIEVAL, STS, Given, System, named_systems

TASKS: dict[str, ModuleType] = {STS: sts, RETRIEVAL: retrieval, CLUSTERING: clustering}


@dataclass(frozen=True)
class Trial:
    """One system on one dataset of a task."""

    task: str
    system: System
    dataset: str
    data: Any
    vectors: WordVectors | None
    seeds: int = 1

    @property
    def facts(self) -> dict[str, Any]:
        """The configuration, as the results report it."""
        return {
            "task": self.task, "dataset": self.dataset, "system": self.system.name, "title": self.system.title,
            "vectors": None if self.vectors is None else self.vectors.name,
        }  # fmt: skip

    def build(self, seed: int) -> Any:
        """Return the encoder or comparer of the system, unfitted."""
        labels = getattr(self.data, "label_names", ())
        return self.system.build(Given(self.vectors, len(labels), seed))

    def evaluate(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the result: facts and arrays."""
        how = {"topics": True} if self.system.topics else {}
        with threadpool_limits(1), counted() as stopped:
            facts, arrays = TASKS[self.task].evaluate(self.build, self.data, range(self.seeds), **how)
        return {**facts, "unconverged": len(stopped)}, arrays

    @cached_property
    def key(self) -> str:
        """A hash of everything that the result depends on."""
        estimator = self.build(0)
        libraries = [*LIBRARIES, *self.system.libraries]
        facts = {
            "system": identity(estimator),
            "topics": self.system.topics,
            "seeds": self.seeds,
            "data": [self.dataset, _fingerprint(self.data)],
            "code": code_version(TASKS[self.task], *classes_of(estimator)),
            "libraries": {library: version(library) for library in libraries},
        }
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def run_tasks(
    tasks: Iterable[str] = tuple(TASKS),
    systems: Iterable[str] = ("all",),
    datasets: Iterable[str] | None = None,
    vectors: Sequence[Any] = (GLOVE,),
    *,
    seeds: int = 1,
    data_folder: str | Path | None = None,
    cache_folder: str | Path | None = None,
    jobs: int = -1,
    progress: bool = True,
    cached_only: bool = False,
    command: str | None = None,
) -> dict[str, Any]:
    """Run every system on every dataset of the tasks; cached results are not computed again.

    Parameters
    ----------
    tasks : iterable of str, default=("sts", "retrieval", "clustering")
    systems : iterable of str, default=("all",)
        Names in ``SYSTEMS``, or "all".
    datasets : iterable of str, default=None
        Names of datasets of these tasks; None is all of them.
    vectors : sequence of str, path or WordVectors, default=("glove-6b-50d",)
        Word vectors; systems that need some are run with each.
    seeds : int, default=1
        Number of seeds with which systems are fitted whose vectors depend on the seed.
    data_folder : path, default=None
        Folder of the data (:mod:`reproduction.datasets.tasks`); None is that of the environment variable
        PARASPHERE_TASKS.
    cache_folder, jobs, progress, cached_only, command
        As in :func:`~reproduction.experiments.run_all`.

    Returns
    -------
    dict
        "made", the provenance, and "runs", one dict per run; JSON-able.
    """
    chosen, left_out = named_systems(systems)
    for name, reason in left_out.items():
        warnings.warn(f"{name} is left out: {reason}", LeftOutWarning, stacklevel=2)
    loaded = [one if isinstance(one, WordVectors) else WordVectors.load(one) for one in vectors]
    plan = [
        Trial(task, system, name, data, one, seeds if system.seeded else 1)
        for task, name in _datasets(tasks, datasets)
        for data in [TASKS[task].load(name, data_folder)]
        for system in chosen
        if task in system.tasks
        for one in _vectors(system, loaded)
    ]
    folder = results_folder(cache_folder)
    if cached_only:
        plan = [trial for trial in plan if recall(folder, trial.key) is not None]
    if not plan:
        raise ParasphereError("nothing to run: none of these systems takes part in these tasks, or none is cached")
    results = {trial.key: recall(folder, trial.key) for trial in plan}
    missing = {trial.key: trial for trial in plan if results[trial.key] is None}
    results.update(_compute(list(missing.values()), folder, jobs, progress))
    libraries = dict.fromkeys([*LIBRARIES, *(name for trial in plan for name in trial.system.libraries)])
    made = machine_facts(command or "reproduction.experiments.run_tasks(...)", libraries)
    code = code_version(*TASKS.values(), *dict.fromkeys(kind for t in plan for kind in classes_of(t.build(0))))
    names = list(dict.fromkeys(trial.vectors.name for trial in plan if trial.vectors is not None))
    runs = [{**trial.facts, **(results[trial.key] or {})} for trial in plan]
    return {"made": {**made, "code": code, "vectors": names}, "runs": runs}


def _datasets(tasks: Iterable[str], names: Iterable[str] | None) -> list[tuple[str, str]]:
    """Return pairs of a task and one of its datasets."""
    asked = list(tasks)
    unknown = [task for task in asked if task not in TASKS]
    if unknown:
        raise ParasphereError(f"no task is called {unknown[0]!r}; there are: {', '.join(TASKS)}")
    pairs = [(task, name) for task in asked for name in TASKS[task].DATASETS]
    if names is None:
        return pairs
    names, known = list(names), [name for _, name in pairs]
    absent = [name for name in names if name not in known]
    if absent:
        raise ParasphereError(f"no dataset of these tasks is called {absent[0]!r}; there are: {', '.join(known)}")
    return [(task, name) for task, name in pairs if name in names]


def _vectors(system: System, loaded: Sequence[WordVectors]) -> Sequence[WordVectors | None]:
    return loaded if system.needs_vectors else [None]


def _fingerprint(data: Any) -> str:
    """Return a hash of the content of a dataset."""

    def plain(value: Any) -> Any:
        if is_dataclass(value):
            return [plain(getattr(value, field.name)) for field in fields(value)]
        return value.tolist() if isinstance(value, np.ndarray) else value

    parts = map(plain, data) if isinstance(data, tuple) else [plain(data)]
    return digest(*(json.dumps(part) for part in parts))


def _compute(trials: Sequence[Trial], folder: Path, jobs: int, progress: bool) -> dict[str, dict[str, Any]]:
    """Compute results in parallel; each is cached by the process that computed it."""
    labels = [f"{trial.system.name} · {trial.dataset}" for trial in trials]
    workers = Parallel(jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
    todo = (delayed(_one)(place, trial, folder) for place, trial in enumerate(trials))
    results = {}
    with watch(labels, [1] * len(trials), jobs, shown=progress and bool(trials)) as done, warnings.catch_warnings():
        # joblib restarts workers whose memory has grown, and warns of it.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        for place, facts in workers(todo):
            done(place)
            results[trials[place].key] = facts
    return results


def _one(place: int, trial: Trial, folder: Path) -> tuple[int, dict[str, Any]]:
    _warm_up(trial)
    facts, arrays = trial.evaluate()
    keep(folder / f"{trial.key}.npz", arrays, {"run": trial.facts, "result": facts})
    return place, facts


_warm: set[str] = set()


def _warm_up(trial: Trial) -> None:
    """Compile functions, or load them, before anything is timed."""
    if trial.system.name in _warm:
        return
    _warm.add(trial.system.name)
    few = TASKS[trial.task].texts(trial.data)[:100]
    build: Callable[[], Any] = partial(trial.build, 0)
    with counted(), contextlib.suppress(ValueError):  # the run that follows reports it
        fitted = build().fit(few)
        (fitted.index(few).scores if hasattr(fitted, "scores") else fitted.transform)(few)
