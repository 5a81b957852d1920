"""``reproduce``: the experiments of the paper, also on other corpora."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.table import Table
from typer import Argument, Option

from parasphere.errors import ParasphereError
from parasphere.vectors import ENGLISH, GLOVE

from . import console
from .console import out, print_json, styled

CLASSIFICATION = "classification"
_FOLDERS = ("-o", "--out", "--task-data")
Jobs = Annotated[int, Option(help="Number of processes; -1 is one per core. Results do not depend on it.")]
Report = Annotated[Path, Option("--out", "-o", help="Folder of the report.")]
_TOLD = (
    "encoder dataset dim vectors classifier transductive accuracy macro_f1 n_train n_test fit_seconds "
    "transform_seconds texts_per_second dimensions C unconverged"
).split()


def add_experiment_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    app.command()(run)
    app.command("all")(run_everything)
    app.command()(join)
    app.command()(sensitivity)


def run(
    tasks: Annotated[
        str, Option(help="'classification' (the paper's), 'sts', 'retrieval' and 'clustering', separated by commas.")
    ] = CLASSIFICATION,
    encoders: Annotated[
        str | None,
        Option(
            help="'all', 'all-spherical', 'all-classical', 'all-neural', or names separated by commas. (default: all, "
            "or none if --encoder is given)"
        ),
    ] = None,
    encoder: Annotated[
        list[str] | None,
        Option(
            metavar="MODULE:NAME",
            help="An encoder of your own: a scikit-learn transformer of texts, or a class or function that makes one, "
            "in a module that can be imported from here. May be repeated.",
        ),
    ] = None,
    systems: Annotated[
        str, Option(help="For the other tasks: 'all', or names of systems separated by commas.")
    ] = "all",
    datasets: Annotated[
        str | None,
        Option(
            help="'all' (the six of the paper, or all of a task), or names separated by commas; with '-folds' after it "
            "a corpus is divided into ten folds instead of its published split. (default: all)"
        ),
    ] = None,
    task_data: Annotated[
        Path | None, Option(help="Folder of the data of the other tasks. (default: that of PARASPHERE_TASKS)")
    ] = None,
    dims: Annotated[
        str | None,
        Option(help="Dimensions separated by commas; only Subj and MR use all of them. (default: all available)"),
    ] = None,
    vectors: Annotated[
        list[str],
        Option(
            "--vectors",
            "-v",
            help=f"Word vectors: '{GLOVE}', a file or a folder; {{dim}} stands for the dimension. May be repeated for "
            "tasks other than classification.",
        ),
    ] = [GLOVE],  # noqa: B006
    classifier: Annotated[str, Option(help="liblinear or libsvm-rbf.")] = "liblinear",
    transductive: Annotated[
        bool,
        Option("--transductive", help="Fit encoders to all texts, those of the test set included, without labels."),
    ] = False,
    corpus: Annotated[
        Path | None,
        Option(
            help="A labelled corpus of your own: .csv, .tsv, .jsonl, .parquet, or a folder with one folder per label."
        ),
    ] = None,
    text_column: console.TextColumn = ["text"],  # noqa: B006  (typer copies it)
    id_column: console.IdColumn = None,
    label_column: console.LabelColumn = None,
    encoding: console.Encoding = "utf-8",
    format: console.Format = None,
    seed: Annotated[int, Option(help="Seed of folds, initial values and classifier.")] = 0,
    seeds: Annotated[
        int, Option(min=1, help="Number of seeds of encoders that depend on one; the first is --seed.")
    ] = 1,
    jobs: Jobs = -1,
    cached: Annotated[bool, Option("--cached", help="Report only what has been computed already.")] = False,
    folder: Report = Path("results"),
    as_json: console.AsJson = False,
) -> None:
    """Run the experiments of the paper and write a report.

    Results are cached: what has been computed already is not computed again.

    \b
    Examples:
        reproduce run --encoders spm,tfidf-best --datasets 20news-same
        reproduce run --encoders movmf --datasets 20news-same-folds --seeds 5
        reproduce run --encoder my_module:MyEncoder --encoders spm --datasets mr
        reproduce run --corpus news.csv --label-column topic --out results
        reproduce run --tasks sts,retrieval --task-data tasks --systems spm,bm25,index
    """
    from ..experiments import dataset_from, run_all
    from ..experiments.own import own_encoder
    from ..experiments.protocol import Classifier
    from ..experiments.report import write_report

    wanted = _names(tasks)
    others = [task for task in wanted if task != CLASSIFICATION]
    if others and len(others) < len(wanted) and datasets not in (None, "all"):
        raise ParasphereError("--datasets with classification and other tasks at once: give a command for each")
    if others:
        names = None if datasets in (None, "all") else _names(datasets)
        _run_tasks(others, _names(systems), names, vectors, seeds, task_data, jobs, cached, folder, as_json)
    if CLASSIFICATION not in wanted:
        return
    if len(vectors) > 1:
        raise ParasphereError(f"classification takes one --vectors, with {{dim}} in it if need be, not {len(vectors)}")
    chosen: list[Any] = [] if corpus is not None and datasets is None else _names(datasets or "all")
    if corpus is not None:
        columns: dict[str, Any] = {"text": text_column, "id": id_column, "encoding": encoding, "format": format}
        chosen.append(dataset_from(corpus, label_column, **columns))
    compared: list[Any] = [own_encoder(written) for written in encoder or ()]
    if len({own.name for own in compared}) < len(compared):
        raise ParasphereError(f"two encoders have the same name: --encoder {' --encoder '.join(encoder or ())}")
    if encoders is not None or not compared:
        compared += _names(encoders or "all")
    results = run_all(
        compared, chosen, _numbers(dims), vectors[0], classifier=cast(Classifier, classifier),
        transductive=transductive, seed=seed, seeds=seeds, jobs=jobs, cached_only=cached, command=_typed(),
    )  # fmt: skip
    write_report(results, folder)
    if as_json:
        print_json([{name: run[name] for name in _TOLD} for run in results["runs"]])
        return
    for dim in dict.fromkeys(run["dim"] for run in results["runs"]):
        out.print(_table([run for run in results["runs"] if run["dim"] == dim], dim))
    out.print(f"The report is in {folder}: begin with report.html", soft_wrap=True)


def run_everything(
    folder: Annotated[
        Path, Option("--out", "-o", help="Folder of the report and of finished runs; the same command continues there.")
    ] = Path("reproduced"),
    quick: Annotated[
        bool,
        Option("--quick", help="Only the main tables and tasks, in 50 dimensions, with one seed."),
    ] = False,
    vectors: Annotated[
        str, Option("--vectors", "-v", help="Word vectors of the classification; {dim} stands for the dimension.")
    ] = GLOVE,
    task_vectors: Annotated[
        str, Option(help="Word vectors of the other tasks, separated by commas.")
    ] = f"{ENGLISH},{GLOVE}",
    task_data: Annotated[
        Path | None, Option(help="Folder of the data of the other tasks. (default: that of PARASPHERE_TASKS)")
    ] = None,
    text: Annotated[
        Path | None, Option(help="Ordered text to train FastSent and skip-thought on, if they were not trained.")
    ] = None,
    estimate: Annotated[bool, Option("--estimate", help="Only say how long it will take.")] = False,
    jobs: Jobs = -1,
) -> None:
    """Run all experiments: every encoder, corpus, dimension, seed and task, and the studies; write one report.

    \b
    Examples:
        reproduce all --quick --out reproduced
        reproduce all --vectors 'word2vec-{dim}d.bin.gz' --task-data tasks
    """
    from ..experiments.everything import Everything, spelled

    everything = Everything(folder, vectors, tuple(_names(task_vectors)), task_data, text, quick, jobs)
    plan = everything.plan()
    out.print(f"{len(plan)} runs and the tasks; about {spelled(everything.estimate(plan))} are left", soft_wrap=True)
    if estimate:
        return
    everything.run(
        "make reproduce QUICK=1" if quick else "make reproduce", lambda line: out.print(line, soft_wrap=True)
    )
    out.print(f"The report is in {folder}: begin with README.md", soft_wrap=True)


def _run_tasks(
    tasks: list[str], systems: list[str], datasets: list[str] | None, vectors: list[str], seeds: int,
    data: Path | None, jobs: int, cached: bool, folder: Path, as_json: bool,
) -> None:  # fmt: skip
    """Run the tasks that measure similarity, write the report, and print the results."""
    from ..experiments.report import write_tasks
    from ..experiments.tasks import run_tasks
    from ..experiments.tasks.tables import tables

    results = run_tasks(
        tasks,
        systems,
        datasets,
        vectors,
        seeds=seeds,
        data_folder=data,
        jobs=jobs,
        cached_only=cached,
        command=_typed(),
    )
    write_tasks(results, folder)
    if as_json:
        print_json(results["runs"])
        return
    for table in tables(results):
        shown = Table(*table.columns, title=table.title)
        for row in table.rows:
            shown.add_row(*(styled(cell.partition(" (")[0]) for cell in row))  # intervals are in the report
        out.print(shown)
    out.print(f"The tables are in {folder}: README.md", soft_wrap=True)


def join(
    folders: Annotated[list[Path], Argument(help="Folders written by 'reproduce run'.")],
    folder: Report = Path("results"),
) -> None:
    """Join several reports into one.

    \b
    Examples:
        reproduce join results-spm results-lda --out results
    """
    from ..experiments.report import join_results, join_tasks, read_results, read_tasks, write_report, write_tasks

    tasks = [found for path in folders if (found := read_tasks(path)) is not None]
    results = [path for path in folders if (path / "results.json").is_file()]
    for path in folders:
        if not any((path / name).is_file() for name in ("results.json", "tasks.json")):
            raise ParasphereError(
                f"{path} holds neither results.json nor tasks.json; give folders written by 'reproduce run'"
            )
    joined = join_results([read_results(path) for path in results]) if results else None
    if tasks:
        write_tasks(join_tasks(tasks), folder)
    if joined is not None:
        write_report(joined, folder)
    out.print(f"The report is in {folder}: begin with report.html", soft_wrap=True)


def sensitivity(
    vectors: Annotated[
        list[str], Option("--vectors", "-v", help="Word vectors to compare, the usual ones first; may be repeated.")
    ] = [GLOVE],  # noqa: B006
    datasets: Annotated[str, Option(help="Names separated by commas.")] = "20news-same,20news-same-folds,subj,mr",
    jobs: Jobs = -1,
    folder: Annotated[Path, Option("--out", "-o", help="Folder of sensitivity.md.")] = Path("results"),
) -> None:
    """Measure how the accuracy of SPM changes with its settings, the texts, the protocol and the vectors.

    \b
    Examples:
        reproduce sensitivity --datasets mr --out results
    """
    from parasphere.vectors import WordVectors

    from ..experiments.sensitivity import investigate, write

    loaded = {one.name: one for one in map(WordVectors.load, vectors)}
    if len(loaded) < len(vectors):
        raise ParasphereError(f"word vectors need different names: {', '.join(vectors)}; rename some")
    study = investigate(loaded, _names(datasets), jobs=jobs, command=_typed())
    write(study, folder)
    out.print((folder / "sensitivity.md").read_text(encoding="utf-8"))


def _table(runs: list[dict[str, Any]], dim: int) -> Table:
    """Return encoders by corpora: the accuracy in the paper and ours, in per cent."""
    from ..experiments.published import DATASETS, accuracy

    datasets = list(dict.fromkeys(run["dataset"] for run in runs))
    names = [DATASETS.get(dataset, dataset) for dataset in datasets]
    title = f"{dim} dimensions: accuracy in the paper / ours, in per cent"
    table = Table("", *names, title=title, min_width=len(title))
    by_pair = {(run["encoder"], run["dataset"]): run for run in runs}
    for encoder, title in {run["encoder"]: run["title"] for run in runs}.items():
        cells = []
        for dataset in datasets:
            paper, run = accuracy(encoder, dataset, dim), by_pair.get((encoder, dataset))
            ours = ("" if run is None else f"{100 * run['accuracy']:.1f}", "bold")
            cells.append(styled(ours) if paper is None else styled((f"{paper:.1f}", "dim"), " / ", ours))
        table.add_row(title, *cells)
    return table


def _typed() -> str:
    """Return the command without folders that its results do not depend on: of the report, and of the data of tasks."""
    words, kept = sys.argv[1:], []
    for place, word in enumerate(words):
        after = place > 0 and words[place - 1] in _FOLDERS
        if not after and word not in _FOLDERS and not word.startswith(("--out=", "--task-data=")):
            kept.append(word)
    return shlex.join(["reproduce", *kept])


def _names(given: str) -> list[str]:
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise ParasphereError(f"{given!r} names nothing; give 'all', or names separated by commas")
    return names


def _numbers(given: str | None) -> list[int] | None:
    if given is None:
        return None
    try:
        numbers = [int(part) for part in given.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 2:
        raise ParasphereError(f"--dims {given!r}: whole numbers from 2 on are needed, as in 50,100,300")
    return numbers
