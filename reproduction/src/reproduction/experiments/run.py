"""Run the experiments on all cores, and cache their results.

A run is one encoder on one corpus. Its result is cached in a folder that is written atomically and named by a hash of
everything that the result depends on: the texts and labels, the parameters of the encoder and of all estimators inside
it, the content of the word vectors, the options of the protocol, the source code of the encoder and the protocol, and
the versions of the libraries below them.
"""

import contextlib
import datetime
import hashlib
import json
import os
import platform
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from parasphere import __version__
from parasphere.errors import ParasphereError, ParasphereWarning
from parasphere.vectors import GLOVE, WordVectors

from .. import keeping
from ..datasets import Dataset, load
from ..datasets import names as known_datasets
from ..keeping import keep
from ..printable import visible
from . import protocol
from .encoders import DIMS, Encoder, find_vectors, named_encoders
from .identity import classes_of, digest, identity
from .protocol import Classifier, Encoded, Fold, Options, Outcome, counted, encode_all, evaluate, folds, summarise
from .published import FOLDS
from .source import code_version, commit

PAPER_DATASETS = ("20news-different", "20news-similar", "20news-same", "reuters-10", "subj", "mr")
FIGURE_2 = ("subj", "mr")  # the corpora for which the paper shows all dimensions
LIBRARIES = ("numpy", "scipy", "scikit-learn")


class LeftOutWarning(ParasphereWarning):
    """An encoder that was selected by "all" or by kind cannot run here."""


@dataclass(frozen=True)
class Run:
    """One encoder on one corpus in one dimension, with the options of the protocol and the seed of the encoder."""

    encoder: Encoder
    dataset: Dataset
    dim: int
    vectors: WordVectors | None
    options: Options
    encoder_seed: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        """The configuration, as the results report it."""
        return {
            "encoder": self.encoder.name, "title": self.encoder.title, "kind": self.encoder.kind,
            "dataset": self.dataset.name, "dim": self.dim, "by_dim": self.encoder.by_dim,
            "vectors": None if self.vectors is None else self.vectors.name, **asdict(self.options),
            "encoder_seed": self.encoder_seed,
        }  # fmt: skip

    def build(self) -> Any:
        """Return the encoder's transformer, unfitted."""
        return self.encoder.build(self.vectors, self.dim, self.encoder_seed)

    @cached_property
    def key(self) -> str:
        """A hash of everything that the result depends on."""
        more = {"tells_certainty": self.encoder.tells_certainty, "options": asdict(self.options)}
        return self._hash(more | {"dataset": _fingerprint(self.dataset)}, protocol)

    @cached_property
    def vectors_key(self) -> str:
        """A hash of everything that the vectors of a ``fixed`` encoder depend on: the same for all folds and splits."""
        return self._hash({"texts": digest(*self.dataset.texts)})

    def _hash(self, more: dict[str, Any], *modules: ModuleType) -> str:
        transformer = self.build()
        facts = more | {
            "encoder": identity(transformer),
            "code": code_version(*modules, *classes_of(transformer)),
            "libraries": {library: version(library) for library in (*LIBRARIES, *self.encoder.libraries)},
        }
        return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def run_all(
    encoders: Iterable[str | Encoder] = ("all",),
    datasets: Iterable[str | Dataset] = PAPER_DATASETS,
    dims: Sequence[int] | None = None,
    vectors: Any = GLOVE,
    *,
    classifier: Classifier = "liblinear",
    transductive: bool = False,
    seed: int = 0,
    seeds: int = 1,
    cache_folder: str | Path | None = None,
    jobs: int = -1,
    progress: bool = True,
    cached_only: bool = False,
    command: str | None = None,
) -> dict[str, Any]:
    """Run every encoder on every corpus; cached results are not computed again.

    Parameters
    ----------
    encoders : iterable of str or Encoder, default=("all",)
        Names in ``ENCODERS``, "all", or "all-" followed by a kind, such as "all-classical"; or other encoders.
    datasets : iterable of str or Dataset, default=PAPER_DATASETS
        Names that :func:`reproduction.datasets.load` takes, "all" for the paper's six, or corpora.
    dims : sequence of int, default=None
        The first is used for all corpora; all of them for Subj and MR, as in the paper's Figure 2, and for corpora
        given as Dataset. By default 50, 100 and 300, or the dimension of the vectors if there is only one file.
    vectors : str, path or WordVectors, default="glove-6b-50d"
        What :meth:`WordVectors.load` takes, or a path with ``{dim}`` in it.
    classifier : {"liblinear", "libsvm-rbf"}, default="liblinear"
    transductive : bool, default=False
        Fit encoders to all texts instead of the training texts. They never see labels.
    seed : int, default=0
        Seed of folds and classifiers, and the first of encoders.
    seeds : int, default=1
        Number of seeds with which encoders run whose vectors depend on the seed.
    cache_folder : path, default=None
        Folder of cached results; by default "experiments" in the user's cache folder.
    jobs : int, default=-1
        Number of processes; -1 is one per core. Results other than times do not depend on it.
    progress : bool, default=True
        Show a progress bar if standard error is a terminal.
    cached_only : bool, default=False
        Compute nothing and return cached results only.
    command : str, default=None
        Command line to record in the results.

    Returns
    -------
    dict
        "made", the provenance, and "runs", one dict per run; JSON-able.
    """
    options = Options(classifier, transductive, seed)
    plan = plan_runs(encoders, datasets, dims, vectors, options, seeds)
    if cached_only:
        folder = results_folder(cache_folder)
        plan = [run for run in plan if recall(folder, run.key) is not None]
        if not plan:
            raise ParasphereError(f"none of these was run before: {folder} has no cached result")
    runs = run_plan(plan, cache_folder, jobs, progress)
    return {"made": provenance(plan, command or "reproduction.experiments.run_all(...)"), "runs": runs}


def plan_runs(
    encoders: Iterable[str | Encoder], datasets: Iterable[str | Dataset], dims: Sequence[int] | None, vectors: Any,
    options: Options, seeds: int,
) -> list[Run]:  # fmt: skip
    """Return the runs that :func:`run_all` computes; its parameters are the same."""
    chosen, left_out = named_encoders(encoders)
    for name, reason in left_out.items():
        warnings.warn(f"{name} is left out: {reason}", LeftOutWarning, stacklevel=3)
    corpora = _corpora(datasets)
    by_dim = find_vectors(vectors, dims) if any(encoder.needs_vectors for encoder in chosen) else {}
    sizes = list(by_dim or dims or DIMS)
    plan = [
        Run(encoder, corpus, dim, by_dim[dim] if encoder.needs_vectors else None, options, options.seed + number)
        for corpus, everywhere in corpora
        for encoder in chosen
        for dim in _dims(encoder, sizes, everywhere=everywhere)
        for number in range(seeds if encoder.seeded else 1)
    ]
    if not plan:
        raise ParasphereError("nothing to run: name at least one encoder that can run here, and at least one corpus")
    return plan


def run_plan(
    plan: Sequence[Run], cache_folder: str | Path | None = None, jobs: int = -1, progress: bool = True
) -> list[dict[str, Any]]:
    """Return the configuration and the result of each run of a plan, in its order; compute those not in the cache."""
    folder = results_folder(cache_folder)
    results = {run.key: recall(folder, run.key) for run in plan}
    missing = {run.key: run for run in plan if results[run.key] is None}
    results.update(_compute(missing, folder, jobs, progress))
    return [{**run.facts, **(results[run.key] or {})} for run in plan]


def provenance(plan: Sequence[Run], command: str) -> dict[str, Any]:
    """Return the provenance of results: command, date, machine, versions; JSON-able."""
    libraries = [*LIBRARIES, *(library for run in plan for library in run.encoder.libraries)]
    return machine_facts(command, libraries) | {
        "seed": plan[0].options.seed,
        "code": code_version(protocol, *dict.fromkeys(kind for run in plan for kind in classes_of(run.build()))),
        "vectors": {str(run.dim): run.vectors.name for run in plan if run.vectors is not None},
    }


def machine_facts(command: str, libraries: Iterable[str]) -> dict[str, Any]:
    """Return the command, the date, the machine and the versions of libraries; JSON-able."""
    versions = {library: version(library) for library in dict.fromkeys(libraries)}
    return {
        "command": command,
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": {"parasphere": __version__, "python": platform.python_version(), **versions},
    }


def results_folder(given: str | Path | None) -> Path:
    """Return the folder of cached results: the given one, or that in the user's cache."""
    return Path(given) if given is not None else keeping.cache_folder() / "experiments"


def _corpora(names: Iterable[str | Dataset]) -> list[tuple[Dataset, bool]]:
    """Return the corpora, and for each whether it is run in all dimensions."""
    names = [part for name in names for part in (PAPER_DATASETS if isinstance(name, str) and name == "all" else [name])]
    unknown = [name for name in names if isinstance(name, str) and name.removesuffix(FOLDS) not in known_datasets()]
    if unknown:
        known = f"{', '.join(known_datasets())}; and each with '{FOLDS}' after it, in folds"
        raise ParasphereError(f"no corpus is called {unknown[0]!r}; there are: {known}")
    return [(corpus(name), name in FIGURE_2) if isinstance(name, str) else (name, True) for name in names]


def corpus(name: str) -> Dataset:
    """Load a corpus by its name; with "-folds" after it, without its published split: it is divided into folds."""
    if not name.endswith(FOLDS):
        return load(name)
    return replace(load(name.removesuffix(FOLDS)), name=name, train=None)


def _dims(encoder: Encoder, dims: list[int], *, everywhere: bool) -> list[int]:
    return dims if everywhere and encoder.by_dim else dims[:1]


def _compute(missing: Mapping[str, Run], folder: Path, jobs: int, progress: bool) -> Iterator[tuple[str, Any]]:
    """Compute the folds of all runs in parallel; cache and yield each run when its last fold is done."""
    parts = {key: folds(run.dataset, run.options.seed) for key, run in missing.items()}
    tasks = [(key, number) for key, part in parts.items() for number in range(len(part))]
    todo = (delayed(_fold)(at, missing[key], parts[key][number], folder) for at, (key, number) in enumerate(tasks))
    workers = Parallel(jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs")
    labels = [_label(missing[key], number, len(parts[key])) for key, number in tasks]
    costs = [len(parts[key][number].train) * missing[key].dim for key, number in tasks]
    outcomes: dict[str, dict[int, Outcome]] = {key: {} for key in missing}
    with watch(labels, costs, jobs, shown=progress and bool(tasks)) as done, warnings.catch_warnings():
        # joblib restarts workers whose memory has grown, and warns of it.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        for place, outcome in workers(todo):
            done(place)
            key, number = tasks[place]
            outcomes[key][number] = outcome
            if len(outcomes[key]) == len(parts[key]):
                run, found = missing[key], sorted(outcomes.pop(key).items())
                facts, arrays = summarise(run.dataset, [outcome for _, outcome in found])
                keep(folder / f"{key}.npz", arrays, {"run": run.facts, "result": facts})
                yield key, facts


def _label(run: Run, fold: int, n_folds: int) -> str:
    name = f"{run.encoder.name} · {run.dataset.name} · {run.dim}"
    name = f"{name}, seed {run.encoder_seed}" if run.encoder.seeded else name
    return name if n_folds == 1 else f"{name}, fold {fold + 1}"


def _fold(place: int, run: Run, fold: Fold, folder: Path) -> tuple[int, Outcome]:
    """Evaluate one fold, possibly in a worker process; ``place`` is returned with the outcome to identify it."""
    if run.vectors is not None:  # those that this process has used before have their hash table of words already
        run = replace(run, vectors=_loaded.setdefault(run.vectors.fingerprint, run.vectors))
    encoded = _encoded(run, folder / "encoded" / f"{run.vectors_key}.npz") if run.encoder.fixed else None
    if encoded is None:
        _warm_up(run)
    certainty = run.encoder.tells_certainty
    return place, evaluate(run.build, run.dataset, fold, run.options, tells_certainty=certainty, encoded=encoded)


def _encoded(run: Run, path: Path) -> Encoded:
    """Return the vectors of a whole corpus; they are cached, since a transformer may need an hour for them."""
    if (kept := keeping.recall(path)) is not None:
        arrays, facts = kept
        return Encoded(arrays["vectors"], facts["fit_seconds"], facts["transform_seconds"])
    _warm_up(run)
    encoded = encode_all(run.build, run.dataset)
    facts = {"run": run.facts, "fit_seconds": encoded.fit_seconds, "transform_seconds": encoded.transform_seconds}
    keep(path, {"vectors": encoded.vectors}, facts)
    return encoded


_loaded: dict[str, WordVectors] = {}
_warm: set[tuple[str, str]] = set()


def _warm_up(run: Run) -> None:
    """Compile the encoder's functions, or load them from the cache, before anything is timed."""
    name = (run.encoder.name, "" if run.vectors is None else run.vectors.fingerprint)
    if name not in _warm:
        _warm.add(name)
        few = run.dataset.texts[:100]
        with counted(), contextlib.suppress(ValueError):  # the run that follows reports it
            run.build().fit(few).transform(few)


@contextlib.contextmanager
def watch(labels: Sequence[str], costs: Sequence[int], jobs: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show running tasks and the remaining time on a terminal; yields a function that takes the place of a task done.

    ``labels`` and ``costs`` (work, in any unit) are those of each task, in the order in which they start.
    """
    console, count = Console(stderr=True), len(labels)
    left = dict.fromkeys(range(count))
    texts = [TextColumn(text, markup=False) for text in ("{task.fields[done]}", "{task.description}")]
    columns = (texts[0], BarColumn(), TimeRemainingColumn(), texts[1])
    hidden = not (shown and console.is_terminal)
    bar = Progress(*columns, console=console, transient=True, disable=hidden, speed_estimate_period=600)
    task = bar.add_task("", total=sum(costs), done="")

    def show() -> None:
        running = "  ".join(labels[place] for place in islice(left, effective_n_jobs(jobs)))
        bar.update(task, description=visible(running), done=f"{count - len(left)}/{count}")

    def done(place: int) -> None:
        del left[place]
        bar.advance(task, costs[place])
        show()

    with bar:
        show()
        yield done


def recall(folder: Path, key: str) -> dict[str, Any] | None:
    """Return a cached result; None if it is absent or damaged, so that it is computed again."""
    kept = keeping.recall(folder / f"{key}.npz")
    return None if kept is None else kept[1].get("result")


def _fingerprint(dataset: Dataset) -> list[Any]:
    train = None if dataset.train is None else dataset.train.tolist()
    return [dataset.name, digest(*dataset.texts), digest(*dataset.ids), dataset.label_names,
            digest(json.dumps([dataset.labels.tolist(), train]))]  # fmt: skip
