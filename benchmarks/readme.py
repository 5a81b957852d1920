"""Write the tables and figures of the README and the documentation, from ``benchmarks/results`` and ``results``.

Run with ``python -m benchmarks.readme`` after ``python -m benchmarks`` or ``reproduce run``; with ``--check`` it writes
nothing, but lists the pages whose figures differ.
"""

from benchmarks import calibration, classify, collections
from benchmarks.adapting import gains
from benchmarks.measure import table

import sys
from collections.abc import Callable

from benchmarks.duplicates import similarity_table
from benchmarks.figures import FIGURES, PAGES, PLACE, ROOT, benchmark, fill
from parasphere.places import ENGLISH
from reproduction.experiments import overall, published
from reproduction.experiments.published import Comparison
from reproduction.experiments.report import read_results, read_tasks
from reproduction.experiments.seeds import merged

RESULTS = ROOT / "results"
ENCODERS = {
    "spm-default": "`SphericalParagraphModel()`", "spm-english": "the same, `adapt=False`",
    "spm": "`SphericalParagraphModel(vectors, adapt=False)`", "spm-joint": "`SphericalParagraphModel(JointVectors())`",
    "union": "the same, `dim=300`, and tf-idf (`FeatureUnion`)", "tfidf-best": "tf-idf of words and pairs",
    "tfidf-paper": "tf-idf of words", "cbow": "mean of word vectors", "lsi": "LSI", "pv-dbow": "PV-DBOW",
    "skip-thought": "skip-thought", "minilm": "MiniLM-L6, a transformer",
}  # fmt: skip
# The encoder of classification, the system and word vectors of the other tasks, and the system that adds BM25 (of
# stems, except with MiniLM).
SYSTEMS = {
    "`SphericalParagraphModel()`": ("spm-default", "spm-default", None, "index-default"),
    "the same, `adapt=False`": ("spm-english", "spm", ENGLISH, "index"),
    "`SphericalParagraphModel(JointVectors(dim=300))`": ("spm-joint-300", "spm-joint", None, "index-joint"),
    "the same beside tf-idf (`FeatureUnion`)": ("union", "union", None, ""),
    "tf-idf (accuracy: words and pairs)": ("tfidf-best", "tfidf", None, ""),
    "BM25": ("bm25", "bm25", None, "index-stems"),
    "WordLlama, 256-d": ("wordllama", "wordllama", None, ""),
    "MiniLM-L6, a transformer": ("minilm", "minilm", None, "hybrid-minilm"),
}
QUALITIES = (
    "per cent", "accuracy, six corpora", "Spearman, sentences", "nDCG@10, two collections",
    "the same, with stems (MiniLM: words)", "NMI of clusters, three corpora",
)  # fmt: skip


def filled(page: str) -> str:
    """Return the text of a page with all figures filled in; raise for unknown names."""
    figures = FIGURES | TABLES
    if unknown := {place[1] for place in PLACE.finditer(page)} - set(figures):
        raise ValueError(f"{sorted(unknown)} are unknown figures; the known ones are {sorted(figures)}")
    return fill(page, figures)


def main(arguments: list[str]) -> None:
    stale = [path for path in PAGES if filled(path.read_text("utf-8")) != path.read_text("utf-8")]
    for path in stale:
        print(path)
        if not arguments:
            path.write_text(filled(path.read_text("utf-8")), "utf-8")
    if stale and arguments:
        sys.exit("The figures of these pages differ from the results; python -m benchmarks.readme writes them.")


def _accuracies() -> str:
    """Return the table of accuracies on the paper's six corpora, from the committed results.

    Encoders that were run in several dimensions are shown in 50. "–" stands for corpora that were not run.
    """
    runs = sorted(merged(read_results(RESULTS)["runs"]), key=lambda run: run["dim"] == published.DIMENSION)
    by_name = {(run["encoder"], run["dataset"]): run for run in runs}
    rows = [["SPM in the paper", "50", *(f"{published.in_table('spm', name):.1f}" for name in published.DATASETS)]]
    for encoder, title in ENCODERS.items():
        row = [by_name.get((encoder, name)) for name in published.DATASETS]
        sizes = [run["dimensions"] for run in row if run is not None]
        if sizes:
            size = f"{sizes[0]:,}" if len(set(sizes)) == 1 else f"{min(sizes):,} to {max(sizes):,}"
            rows.append([title, size, *("–" if run is None else f"{100 * run['accuracy']:.1f}" for run in row)])
    return table(["accuracy, %", "features", *published.DATASETS.values()], rows)


def _qualities() -> str:
    """Return the table of systems and tasks, each cell a mean over corpora, from the committed results."""
    comparison, tasks = Comparison(read_results(RESULTS)), read_tasks(RESULTS)
    rows = []
    for title, (encoder, system, vectors, index) in SYSTEMS.items():
        sentences, ranked, clusters = overall.measures(tasks, system, vectors)
        _, hybrid, _ = overall.measures(tasks, index, vectors)
        row = [overall.accuracy(comparison, encoder), sentences, ranked, hybrid, clusters]
        rows.append([title, *("–" if value is None else f"{value:.1f}" for value in row)])
    return table(QUALITIES, rows)


TABLES: dict[str, Callable[..., str]] = {
    "quality": _qualities,
    "adapting": lambda: gains(benchmark("adapting")),
    "accuracy": _accuracies,
    "recipes": lambda: classify.report(benchmark("classify")),
    "calibration": lambda: calibration.summary(benchmark("calibration")),
    "duplicates": lambda: similarity_table(benchmark("duplicates")["similarities"]),
    "collections": lambda: collections.report(benchmark("collections")),
}

if __name__ == "__main__":
    main(sys.argv[1:])
