"""Runs the experiments: what was computed before is read back, what is missing runs on all cores and is kept.

A run is one encoder on one corpus. Its result is kept in a folder of its own, written whole or not at all, whose name
is a hash of all that it depends on: the texts and labels, the encoder's parameters, the word vectors' content, the
protocol's options, the code that the encoder and the protocol consist of, and the versions of the libraries below it.
"""

import contextlib
import datetime
import hashlib
import json
import os
import platform
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.base import BaseEstimator

from .. import __version__, storage
from ..datasets import load
from ..datasets import names as known_datasets
from ..datasets.dataset import Dataset
from ..errors import ParasphereError, ParasphereWarning, StoreError
from ..places import cache_folder as user_cache
from ..printable import visible
from ..text import Tokenizer
from ..vectors import GLOVE, WordVectors
from . import protocol
from .encoders import DIMS, Encoder, find_vectors, named_encoders
from .protocol import Classifier, Encoded, Fold, Options, Outcome, counted, encode_all, evaluate, folds, summarise
from .source import code_version

KIND = "experiment"
ENCODED = "encoded-corpus"
PAPER_DATASETS = ("20news-different", "20news-similar", "20news-same", "reuters-10", "subj", "mr")
FIGURE_2 = ("subj", "mr")  # the corpora of which the paper shows all dimensions
LIBRARIES = ("numpy", "scipy", "scikit-learn")


class LeftOutWarning(ParasphereWarning):
    """An encoder that was asked for as one of many cannot be run."""


@dataclass(frozen=True)
class Run:
    """One encoder, one corpus, one dimension, and how it is judged."""

    encoder: Encoder
    dataset: Dataset
    dim: int
    vectors: WordVectors | None
    options: Options

    @property
    def label(self) -> str:
        """What people call it."""
        return f"{self.encoder.name} · {self.dataset.name} · {self.dim}"

    @property
    def facts(self) -> dict[str, Any]:
        """What was asked for, as the results tell it."""
        return {
            "encoder": self.encoder.name, "title": self.encoder.title, "kind": self.encoder.kind,
            "dataset": self.dataset.name, "dim": self.dim, "by_dim": self.encoder.by_dim,
            "vectors": None if self.vectors is None else self.vectors.name, **asdict(self.options),
        }  # fmt: skip

    def build(self) -> Any:
        """Return the encoder's transformer, unfitted."""
        return self.encoder.build(self.vectors, self.dim, self.options.seed)

    @cached_property
    def key(self) -> str:
        """A hash of all that the result depends on."""
        more = {"tells_certainty": self.encoder.tells_certainty, "options": asdict(self.options)}
        return self._hash(more, protocol)

    @cached_property
    def vectors_key(self) -> str:
        """A hash of all that the texts' vectors depend on, where these depend on no fold."""
        return self._hash({})

    def _hash(self, more: dict[str, Any], *modules: ModuleType) -> str:
        transformer = self.build()
        facts = more | {
            "encoder": _plain(transformer),
            "dataset": _fingerprint(self.dataset),
            "code": code_version(*modules, *_classes(transformer)),
            "libraries": {library: version(library) for library in (*LIBRARIES, *self.encoder.libraries)},
            "store": storage.VERSION,
        }
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def run_all(
    encoders: Iterable[str] = ("all",),
    datasets: Iterable[str | Dataset] = PAPER_DATASETS,
    dims: Sequence[int] | None = None,
    vectors: Any = GLOVE,
    *,
    classifier: Classifier = "liblinear",
    transductive: bool = False,
    seed: int = 0,
    cache_folder: str | Path | None = None,
    jobs: int = -1,
    progress: bool = True,
    cached_only: bool = False,
    command: str | None = None,
) -> dict[str, Any]:
    """Run every encoder on every corpus, or recall what was run before.

    Parameters
    ----------
    encoders : names in ``ENCODERS``, "all", or "all-classical" and so on
    datasets : names that ``parasphere.datasets`` knows, "all" for the paper's six, or Datasets
    dims : ints, optional
        The first is used for all corpora; all of them for Subj and MR, as in the paper's Figure 2, and for corpora
        given as Datasets. By default 50, 100 and 300, or the dimension of the vectors if there is only one file.
    vectors : str, path or WordVectors
        What ``WordVectors.load`` takes, or a path with ``{dim}`` in it.
    classifier : "liblinear" or "libsvm-rbf"
    transductive : bool
        Fit encoders to all texts instead of the training texts; labels are never shown to them.
    seed : int
    cache_folder : path, optional
        Where results are kept; by default "experiments" in the user's cache folder.
    jobs : int
        Processes; -1 for one a core. Results (times apart) do not depend on it.
    progress : bool
        Show a bar on a terminal.
    cached_only : bool
        Compute nothing: tell only what was computed before.
    command : str, optional
        What was typed, for the record.

    Returns
    -------
    dict
        "made", how and by what it was made, and "runs", a dict for each; JSON-able.
    """
    options = Options(classifier, transductive, seed)
    chosen, left_out = named_encoders(encoders)
    for name, reason in left_out.items():
        warnings.warn(f"{name} is left out: {reason}", LeftOutWarning, stacklevel=2)
    corpora = _corpora(datasets)
    found = find_vectors(vectors, dims) if any(encoder.needs_vectors for encoder in chosen) else {}
    sizes = list(found or dims or DIMS)
    plan = [
        Run(encoder, corpus, dim, found[dim] if encoder.needs_vectors else None, options)
        for corpus, everywhere in corpora
        for encoder in chosen
        for dim in _dims(encoder, sizes, everywhere=everywhere)
    ]
    if not plan:
        raise ParasphereError("there is nothing to run: name at least one encoder that can run here, and one corpus")
    if cached_only:
        folder = _folder(cache_folder)
        plan = [run for run in plan if _recall(folder / run.key) is not None]
        if not plan:
            raise ParasphereError(f"none of these was run before; {folder} has no result of theirs")
    runs = run_plan(plan, cache_folder, jobs, progress)
    return {"made": provenance(plan, command or "parasphere.experiments.run_all(...)"), "runs": runs}


def run_plan(
    plan: Sequence[Run], cache_folder: str | Path | None = None, jobs: int = -1, progress: bool = True
) -> list[dict[str, Any]]:
    """Compute each run, or recall it; return what was asked for and what was found, in the plan's order."""
    folder = _folder(cache_folder)
    kept = {run.key: _recall(folder / run.key) for run in plan}
    missing = {run.key: run for run in plan if kept[run.key] is None}
    kept.update(_compute(missing, folder, jobs, progress))
    return [{**run.facts, **(kept[run.key] or {})} for run in plan]


def provenance(plan: Sequence[Run], command: str) -> dict[str, Any]:
    """Return how, when and by what results were made; JSON-able."""
    libraries = dict.fromkeys([*LIBRARIES, *(library for run in plan for library in run.encoder.libraries)])
    return {
        "command": command,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {
            "parasphere": __version__,
            "python": platform.python_version(),
            **{library: version(library) for library in libraries},
        },
        "seed": plan[0].options.seed,
        "code": code_version(protocol, *dict.fromkeys(kind for run in plan for kind in _classes(run.build()))),
        "vectors": {str(run.dim): run.vectors.name for run in plan if run.vectors is not None},
    }


# ------------------------------------------------------------------------------------- inside


def _folder(given: str | Path | None) -> Path:
    return Path(given) if given is not None else user_cache() / "experiments"


def _corpora(names: Iterable[str | Dataset]) -> list[tuple[Dataset, bool]]:
    """Return the corpora, and whether all dimensions are wanted of each."""
    names = [part for name in names for part in (PAPER_DATASETS if isinstance(name, str) and name == "all" else [name])]
    unknown = [name for name in names if isinstance(name, str) and name not in known_datasets()]
    if unknown:
        raise ParasphereError(f"no corpus is called {unknown[0]!r}; there are: {', '.join(known_datasets())}")
    return [(load(name), name in FIGURE_2) if isinstance(name, str) else (name, True) for name in names]


def _dims(encoder: Encoder, dims: list[int], *, everywhere: bool) -> list[int]:
    return dims if everywhere and encoder.by_dim else dims[:1]


def _compute(
    missing: Mapping[str, Run], folder: Path, jobs: int, progress: bool
) -> Iterable[tuple[str, dict[str, Any]]]:
    """Run the folds of all runs side by side; keep each run as soon as its last fold is done, and yield it."""
    tasks = [
        (key, number, run, fold)
        for key, run in missing.items()
        for number, fold in enumerate(folds(run.dataset, run.options.seed))
    ]
    waiting: dict[str, dict[int, Outcome | None]] = {key: {} for key in missing}
    for key, number, _, _ in tasks:
        waiting[key][number] = None
    labels = [f"{run.label}" + (f", fold {n + 1}" if len(waiting[key]) > 1 else "") for key, n, run, _ in tasks]
    costs = [len(fold.train) * run.dim for _, _, run, fold in tasks]
    workers = Parallel(jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
    todo = (delayed(_fold)(place, run, fold, folder) for place, (_, _, run, fold) in enumerate(tasks))
    with Watch(labels, costs, jobs, shown=progress and bool(tasks)) as watch, warnings.catch_warnings():
        # joblib renews workers whose memory has grown; that is as it should be.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        for place, outcome in workers(todo):
            key, number, run, _ = tasks[place]
            watch.done(place)
            waiting[key][number] = outcome
            if all(waiting[key].values()):
                outcomes = [found for found in waiting.pop(key).values() if found is not None]
                facts, arrays = summarise(run.dataset, outcomes)
                storage.save(folder / key, KIND, arrays, {"run": run.facts, "found": facts})
                yield key, facts


def _fold(place: int, run: Run, fold: Fold, folder: Path) -> tuple[int, Outcome]:
    """Evaluate one fold, perhaps in a process of its own; its place tells which one it was."""
    if run.vectors is not None:
        # The copy that this process used before has its table of words. A copy that travelled here is writable, for
        # which all that reads it would be compiled anew.
        vectors = _loaded.setdefault(run.vectors.fingerprint, run.vectors)
        vectors.matrix.flags.writeable = vectors.norms.flags.writeable = False
        run = replace(run, vectors=vectors)
    encoded = _encoded(run, folder / "encoded" / run.vectors_key) if run.encoder.fixed else None
    if encoded is None:
        _warm_up(run)
    certainty = run.encoder.tells_certainty
    return place, evaluate(run.build, run.dataset, fold, run.options, tells_certainty=certainty, encoded=encoded)


def _encoded(run: Run, folder: Path) -> Encoded:
    """Return the vectors of a whole corpus; they are kept, since a transformer may take an hour for them."""
    try:
        arrays, meta = storage.load(folder, ENCODED)
        return Encoded(arrays["vectors"], meta["fit_seconds"], meta["transform_seconds"])
    except (StoreError, KeyError):  # absent, or damaged
        _warm_up(run)
        found = encode_all(run.build, run.dataset)
        meta = {"run": run.facts, "fit_seconds": found.fit_seconds, "transform_seconds": found.transform_seconds}
        storage.save(folder, ENCODED, {"vectors": np.ascontiguousarray(found.vectors)}, meta)
        return found


_loaded: dict[str, WordVectors] = {}
_warm: set[tuple[str, str]] = set()


def _warm_up(run: Run) -> None:
    """Let a process compile, or load what is compiled, before anything is timed."""
    name = (run.encoder.name, "" if run.vectors is None else run.vectors.fingerprint)
    if name not in _warm:
        _warm.add(name)
        few = run.dataset.texts[:100]
        with counted(), contextlib.suppress(ValueError):  # a fault in the texts is told by what follows
            run.build().fit(few).transform(few)


class Watch:
    """A bar that says what is running and how long it will take; on a terminal only.

    Parameters
    ----------
    labels, costs : sequences of str and int
        What each task is called, and roughly how its work compares with others'. Tasks begin in this order.
    jobs : int
        How many run at a time.
    shown : bool
    """

    def __init__(self, labels: Sequence[str], costs: Sequence[int], jobs: int, *, shown: bool = True) -> None:
        console = Console(stderr=True)
        self.labels, self.costs, self.jobs = labels, costs, effective_n_jobs(jobs)
        self.open = dict.fromkeys(range(len(labels)))
        columns = (
            TextColumn("{task.fields[done]}", markup=False),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}", markup=False),
        )
        shown = shown and console.is_terminal
        self.bar = Progress(*columns, console=console, transient=True, disable=not shown, speed_estimate_period=600)
        self.task = self.bar.add_task("", total=sum(costs), done="")

    def __enter__(self) -> Self:
        self.bar.start()
        self._show()
        return self

    def __exit__(self, *_error: object) -> None:
        self.bar.stop()

    def done(self, place: int) -> None:
        """Count a task as done."""
        del self.open[place]
        self.bar.advance(self.task, self.costs[place])
        self._show()

    def _show(self) -> None:
        running = "  ".join(self.labels[place] for place in islice(self.open, self.jobs))
        count = len(self.labels)
        self.bar.update(self.task, description=visible(running), done=f"{count - len(self.open)}/{count}")


def _recall(folder: Path) -> dict[str, Any] | None:
    try:
        return dict(storage.load(folder, KIND)[1]["found"])
    except (StoreError, KeyError):
        return None  # absent, or damaged: it is computed anew


@cache
def _digest(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(f"{len(part)}:".encode() + part.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _fingerprint(dataset: Dataset) -> list[Any]:
    train = None if dataset.train is None else dataset.train.tolist()
    return [dataset.name, _digest(*dataset.texts), _digest(*dataset.ids), dataset.label_names,
            _digest(json.dumps([dataset.labels.tolist(), train]))]  # fmt: skip


def _classes(transformer: Any) -> list[type]:
    """Return the class of a transformer, and those of the estimators it is made of."""
    parts = transformer.get_params().values()
    return list(dict.fromkeys(type(part) for part in (transformer, *parts) if isinstance(part, BaseEstimator)))


def _plain(value: Any) -> Any:
    """Spell a parameter so that it is the same in every process."""
    if isinstance(value, WordVectors):
        return value.fingerprint
    if isinstance(value, Tokenizer):
        return _plain(asdict(value))
    if isinstance(value, BaseEstimator):
        return [type(value).__qualname__, _plain(value.get_params(deep=False))]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
