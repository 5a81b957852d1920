"""``parasphere reproduce``: the paper's experiments, or the same protocol on a corpus of one's own."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer
from rich.table import Table

from ..errors import ParasphereError
from ..places import GLOVE
from .common import AsJson, Encoding, LabelColumn, TextColumn, complain, out, print_json, styled

_TOLD = (
    "encoder dataset dim vectors classifier transductive accuracy macro_f1 n_train n_test fit_seconds "
    "transform_seconds texts_per_second dimensions C unconverged"
).split()


def add_experiment_commands(app: typer.Typer) -> None:
    """Register every command of this module."""
    app.command()(reproduce)
    app.command("join-results")(join)
    app.command()(sensitivity)


def reproduce(
    encoders: Annotated[
        str,
        typer.Option(help="'all', 'all-spherical', 'all-classical', 'all-neural', or names with commas between."),
    ] = "all",
    datasets: Annotated[
        str | None, typer.Option(help="'all' (the paper's six), or names with commas between. [default: all]")
    ] = None,
    dims: Annotated[
        str | None,
        typer.Option(help="Dimensions, the first for all corpora, all for Subj and MR. [default: those there are]"),
    ] = None,
    vectors: Annotated[
        str,
        typer.Option("--vectors", "-v", help=f"'{GLOVE}', a file or folder of word vectors, or a path with {{dim}}."),
    ] = GLOVE,
    classifier: Annotated[str, typer.Option(help="liblinear or libsvm-rbf.")] = "liblinear",
    transductive: Annotated[
        bool, typer.Option("--transductive", help="Fit encoders to all texts (never to labels), as many papers do.")
    ] = False,
    corpus: Annotated[
        Path | None, typer.Option(help="Labelled texts of your own: .csv, .tsv, .jsonl, .parquet, a folder of folders.")
    ] = None,
    text_column: TextColumn = "text",
    label_column: LabelColumn = None,
    encoding: Encoding = "utf-8",
    seed: Annotated[int, typer.Option(help="For folds, initial values and the classifier.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one a core. Results do not depend on it.")] = -1,
    cached: Annotated[
        bool, typer.Option("--cached", help="Compute nothing; report what was computed before, or so far.")
    ] = False,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where to write the report.")] = Path("results"),
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments and write a report; what was computed before is not computed again."""
    from ..experiments import dataset_from, run_all
    from ..experiments.encoders import named_encoders
    from ..experiments.protocol import Classifier
    from ..experiments.report import write_report

    if classifier not in get_args(Classifier):
        raise ParasphereError(f"no classifier is called {classifier!r}; there are: {', '.join(get_args(Classifier))}")
    chosen: list[Any] = [] if corpus is not None and datasets is None else _names(datasets or "all")
    if corpus is not None:
        chosen.append(dataset_from(corpus, label_column, text=text_column, encoding=encoding))
    able, left_out = named_encoders(_names(encoders))
    for name, reason in left_out.items():
        complain("warning", f"{name} is left out: {reason}")
    results = run_all(
        [encoder.name for encoder in able],
        chosen,
        _numbers(dims),
        vectors,
        classifier=cast(Classifier, classifier),
        transductive=transductive,
        seed=seed,
        jobs=jobs,
        cached_only=cached,
        command=_typed(),
    )
    write_report(results, folder)
    if as_json:
        print_json([{name: run[name] for name in _TOLD} for run in results["runs"]])
        return
    for dim in dict.fromkeys(run["dim"] for run in results["runs"]):
        out.print(_table([run for run in results["runs"] if run["dim"] == dim], dim))
    out.print(f"The report is in {folder}: begin with report.html", soft_wrap=True)


def join(
    folders: Annotated[list[Path], typer.Argument(help="What 'parasphere reproduce' wrote, as often as need be.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where to write the report.")] = Path("results"),
) -> None:
    """Make one report of several, as of encoders that were run one after the other."""
    from ..experiments.report import join_results, read_results, write_report

    absent = [path for path in folders if not (path / "results.json").is_file()]
    if absent:
        raise ParasphereError(f"{absent[0]} holds no results.json; name what 'parasphere reproduce' wrote")
    write_report(join_results([read_results(path) for path in folders]), folder)
    out.print(f"The report is in {folder}: begin with report.html", soft_wrap=True)


def sensitivity(
    vectors: Annotated[
        list[str],
        typer.Option("--vectors", "-v", help="Word vectors: first the usual ones, then others; once for each."),
    ] = [GLOVE],  # noqa: B006
    datasets: Annotated[str, typer.Option(help="Names with commas between.")] = "20news-same,subj,mr",
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one a core. Results do not depend on it.")] = -1,
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where to write sensitivity.md.")] = Path("results"),
) -> None:
    """Change one thing about SPM's experiments at a time (model, texts, protocol, vectors); tell what each is worth."""
    from ..experiments.sensitivity import investigate, write
    from ..vectors import WordVectors

    found = {loaded.name: loaded for loaded in map(WordVectors.load, vectors)}
    if len(found) < len(vectors):
        raise ParasphereError(f"word vectors of one name cannot be told apart: {', '.join(vectors)}; rename some")
    study = investigate(found, _names(datasets), jobs=jobs, command=_typed())
    write(study, folder)
    out.print((folder / "sensitivity.md").read_text(encoding="utf-8"))


def _table(runs: list[dict[str, Any]], dim: int) -> Table:
    """Return encoders by corpora: the paper's accuracy and ours, in per cent."""
    from ..experiments.published import DATASETS, accuracy

    datasets = list(dict.fromkeys(run["dataset"] for run in runs))
    names = [DATASETS.get(dataset, dataset) for dataset in datasets]
    title = f"{dim} dimensions: the paper's accuracy / ours, in per cent"
    table = Table("", *names, title=title, min_width=len(title))
    found = {(run["encoder"], run["dataset"]): run for run in runs}
    for encoder, title in {run["encoder"]: run["title"] for run in runs}.items():
        cells = []
        for dataset in datasets:
            paper, run = accuracy(encoder, dataset, dim), found.get((encoder, dataset))
            ours = ("" if run is None else f"{100 * run['accuracy']:.1f}", "bold")
            cells.append(styled(ours) if paper is None else styled((f"{paper:.1f}", "dim"), " / ", ours))
        table.add_row(title, *cells)
    return table


def _typed() -> str:
    """Return what was typed, without where the report went, which has no part in what was found."""
    words, kept = sys.argv[1:], []
    for place, word in enumerate(words):
        after = place > 0 and words[place - 1] in ("-o", "--out")
        if not after and word not in ("-o", "--out", "-q", "--quiet") and not word.startswith("--out="):
            kept.append(word)
    return shlex.join(["parasphere", *kept])


def _names(given: str) -> list[str]:
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise ParasphereError(f"{given!r} names nothing; give 'all', or names with commas between")
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
