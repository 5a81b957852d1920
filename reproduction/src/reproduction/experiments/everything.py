"""All experiments by one command: what is run, how long it will take, and the report of it."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from joblib import effective_n_jobs

from parasphere.errors import ParasphereError
from parasphere.places import ENGLISH, GLOVE
from parasphere.vectors import WordVectors

from .. import baselines
from . import certainty_report, sensitivity
from .encoders import DIMS, ENCODERS, find_vectors, trained_folder
from .protocol import Options, folds
from .published import DIMENSION, FOLDS
from .report import write_report, write_tasks
from .run import PAPER_DATASETS, Run, plan_runs, provenance, recall, results_folder, run_plan
from .tasks import TASKS, run_tasks
from .tasks.systems import SYSTEMS

SEEDS = 5
CACHE = "cache"  # folder of finished runs, in that of the report
FOLDED = tuple(name + FOLDS for name in PAPER_DATASETS if name.startswith("20news-"))
LARGE = ("20news", "20news-headers")
# On all twenty groups: SPM, the best, and what they are compared with.
ON_LARGE = (
    "spm", "spm-joint", "spm-default", "spm-english", "spm-english-direction",
    "spm-joint-300", "union", "tfidf-paper", "tfidf-best", "lsi", "cbow", "wordllama", "distilled", "minilm",
)  # fmt: skip
# Tables 1 and 2 without what takes hours: trained sentence encoders and the transformer.
QUICK = (
    "bow", "lsi-paper", "lsi", "lda", "movmf", "sam", "cbow", "pv-dbow", "pv-dm", "spm", "spm-paper", "spm-joint",
    "spm-default", "spm-english", "wordllama", "tfidf-paper", "tfidf-best", "union",
)  # fmt: skip
QUICK_SYSTEMS = ("spm", "spm-default", "index", "index-default", "mean", "tfidf-best", "bm25", "wordllama")
QUICK_TASKS = ("stsb-test", "cranfield", "cisi", "searchsnippets")
# Seconds per thousand training texts on one core of an idle laptop, the classifier included; 0.2 for all others.
SECONDS = {
    "lda": 0.4, "nmf": 1.8, "movmf": 0.7, "plsi": 0.6, "sam": 2.6, "fisher": 0.4, "spm-joint": 0.5,
    "spm-joint-300": 1.3, "union": 2.0, "pv-dbow": 1.0, "pv-dm": 1.2, "tfidf-best": 0.5,
    "skip-thought": 40.0, "minilm": 50.0, "distilled": 0.3,
}  # fmt: skip
GROWTH = {"lda": 0.7, "lsi": 1.6, "pv-dbow": 0.5, "pv-dm": 0.6, "spm-joint": 0.6}  # powers of the dimension, else 0
TRIAL = {"sts": 10.0, "retrieval": 10.0, "clustering": 60.0}  # seconds per system and dataset
STUDIES = 1800.0  # seconds of the studies of sensitivity and certainty
TIMED = ("sts", "retrieval")  # tasks whose tables tell how long systems take
TIMES = ("fit_seconds", "transform_seconds", "choose_seconds", "texts_per_second")  # of a classification


@dataclass(frozen=True)
class Everything:
    """What is to be run, and where to.

    Attributes
    ----------
    folder : Path
        Folder of the report. Finished runs are kept in its ``cache``: the same command continues from there.
    vectors : str, default="glove-6b-50d"
        Word vectors of the classification; ``{dim}`` stands for the dimension.
    task_vectors : tuple of str, default=("english-128", "glove-6b-50d")
        Word vectors of the other tasks.
    task_data : Path, default=None
        Folder of the data of the other tasks; None is that of the environment variable PARASPHERE_TASKS, and without
        either these tasks are left out.
    text : Path, default=None
        Ordered text on which FastSent and skip-thought are trained if they are not; None leaves them out.
    quick : bool, default=False
        Only the tables' rows that take minutes, in 50 dimensions and with one seed, and the main systems of the tasks.
    jobs : int, default=-1
        Number of processes; -1 is one per core.
    """

    folder: Path
    vectors: str = GLOVE
    task_vectors: tuple[str, ...] = (ENGLISH, GLOVE)
    task_data: Path | None = None
    text: Path | None = None
    quick: bool = False
    jobs: int = -1

    @property
    def cache(self) -> Path:
        """The folder of finished runs."""
        return self.folder / CACHE

    @property
    def has_tasks(self) -> bool:
        """Whether the data of the other tasks are known."""
        return self.task_data is not None or "PARASPHERE_TASKS" in os.environ

    def plan(self) -> list[Run]:
        """Return the runs of the classification."""
        dims = None if "{dim}" in self.vectors else [WordVectors.load(self.vectors).dim]
        if self.quick:
            first = dims or [DIMENSION]
            return plan_runs(_able(QUICK), PAPER_DATASETS, first, self.vectors, Options(), 1)
        runs = plan_runs(_able(ENCODERS), (*PAPER_DATASETS, *FOLDED), dims or DIMS, self.vectors, Options(), SEEDS)
        return runs + plan_runs(_able(ON_LARGE), LARGE, (dims or DIMS)[:1], self.vectors, Options(), SEEDS)

    def estimate(self, plan: Sequence[Run]) -> float:
        """Return about how many seconds are left, given the runs of the classification."""
        folder = results_folder(self.cache)
        left = [run for run in plan if recall(folder / run.key) is None]
        cores = effective_n_jobs(self.jobs)
        seconds = sum(map(run_seconds, left))
        if self.has_tasks and not (self.folder / "tasks.json").is_file():
            seconds += sum(
                TRIAL[task] * len([s for s in self._systems() if task in SYSTEMS[s].tasks])
                for task, module in TASKS.items()
                for name in module.DATASETS
                if not self.quick or name in QUICK_TASKS
            )
        if not self.quick and not (self.folder / "certainty.json").is_file():
            seconds += STUDIES
        return seconds / int(cores)

    def run(self, command: str, say: Callable[[str], None]) -> None:
        """Run what is left, and write the report; after each part, so that an interruption costs little."""
        if self.text is not None and not self.quick:
            train_missing(self.text, self.vectors.replace("{dim}", "300"), say)
        plan = self.plan()
        runs = run_plan(plan, self.cache, self.jobs)
        if effective_n_jobs(self.jobs) > 1:  # runs that go on side by side slow each other down
            runs = [{**run, **dict.fromkeys(TIMES)} for run in runs]
        write_report({"made": provenance(plan, command), "runs": runs}, self.folder)
        say(f"classification: {self.folder / 'README.md'}")
        if self.has_tasks:
            self._run_tasks(TIMED, 1, command)
            write_tasks(self._run_tasks(TASKS, self.jobs, command), self.folder)
            say("tasks: in the same report")
        else:
            say("tasks are left out: name their data with --task-data, or in PARASPHERE_TASKS")
        if not self.quick:
            self._studies(command, say)

    def _run_tasks(self, tasks: Iterable[str], jobs: int, command: str) -> dict[str, Any]:
        names = [name for task in tasks for name in TASKS[task].DATASETS if not self.quick or name in QUICK_TASKS]
        return run_tasks(
            tasks, self._systems(), names, self.task_vectors[: 1 if self.quick else None], data_folder=self.task_data,
            seeds=1 if self.quick else SEEDS, cache_folder=self.cache, jobs=jobs, command=command,
        )  # fmt: skip

    def _studies(self, command: str, say: Callable[[str], None]) -> None:
        loaded = list(find_vectors(self.vectors, None).values())
        by_name = {one.name: one for one in [*loaded, WordVectors.load(GLOVE)]}
        study = sensitivity.investigate(by_name, cache_folder=self.cache, jobs=self.jobs, command=command)
        sensitivity.write(study, self.folder)
        say("sensitivity: sensitivity.md")
        certainty_report.write(certainty_report.investigate(WordVectors.load(GLOVE), command=command), self.folder)
        say("certainty: certainty.md")

    def _systems(self) -> list[str]:
        names = QUICK_SYSTEMS if self.quick else tuple(SYSTEMS)
        return [name for name in names if SYSTEMS[name].missing() is None]


def run_seconds(run: Run) -> float:
    """Return about how many seconds of one core a run takes."""
    parts = folds(run.dataset, run.options.seed)
    texts = len(run.dataset) if run.encoder.fixed else sum(len(part.train) for part in parts)
    grows = float((run.dim / DIMENSION) ** GROWTH.get(run.encoder.name, 0.0))
    return 1.0 + SECONDS.get(run.encoder.name, 0.2) * grows * texts / 1000


def spelled(seconds: float) -> str:
    """Return a duration in words.

    Examples
    --------
    >>> spelled(40), spelled(1000), spelled(9000)
    ('1 minute', '17 minutes', '2.5 hours')
    """
    minutes = max(1, round(seconds / 60))
    return f"{seconds / 3600:.1f} hours" if minutes >= 100 else f"{minutes} minute{'s' if minutes > 1 else ''}"


def train_missing(text: Path, vectors: str, say: Callable[[str], None]) -> None:
    """Train FastSent and skip-thought on ordered text, as ``docs/training.md`` does, unless they were trained before.

    Skip-thought needs a GPU: on a CPU it would take days, and is left out.
    """
    if not text.exists():
        raise ParasphereError(f"{text}: there is no such file; give ordered text, one sentence or paragraph per line")
    models: dict[str, Any] = {"fastsent": baselines.FastSent(100, random_state=0)}
    if find_spec("torch") is not None and import_module("torch").cuda.is_available():
        models["skip-thought"] = baselines.SkipThought(
            word_dim=300, epochs=8, batch_size=512, learning_rate=8e-4, vectors=vectors, device="cuda",
            precision="float16", random_state=0,
        )  # fmt: skip
    for name, model in models.items():
        if ENCODERS[name].missing() is not None:
            say(f"training {name} on {text.name}: this takes minutes to hours")
            model.fit(text).save(trained_folder(name))


def _able(names: Iterable[str]) -> list[str]:
    """Return the encoders that can run here; those that must be trained first are added by :func:`train_missing`."""
    return [name for name in names if ENCODERS[name].missing() is None]
