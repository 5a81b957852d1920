"""Write the tables of the README and the documentation, from ``benchmarks/results`` and ``results``.

Run with ``python -m benchmarks.readme`` after ``python -m benchmarks`` or ``reproduce run``.
"""

from benchmarks import collections
from benchmarks.adapting import gains
from benchmarks.measure import table

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.duplicates import similarity_table
from reproduction.experiments import published
from reproduction.experiments.report import read_results
from reproduction.experiments.seeds import merged

HERE = Path(__file__).parent
ENCODERS = {
    "spm-default": "`SphericalParagraphModel()`", "spm-english": "the same, `adapt=False`",
    "spm": "`SphericalParagraphModel(vectors)`", "spm-joint": "`SphericalParagraphModel(JointVectors())`",
    "union": "the same, `dim=300`, and tf-idf (`FeatureUnion`)", "tfidf-best": "tf-idf of words and pairs",
    "tfidf-paper": "tf-idf of words", "cbow": "mean of word vectors", "lsi": "LSI", "pv-dbow": "PV-DBOW",
    "skip-thought": "skip-thought", "minilm": "MiniLM-L6, a transformer",
}  # fmt: skip
TASKS = {
    "stsb-test": "STS benchmark, Spearman", "cranfield": "Cranfield, nDCG@10", "cisi": "CISI, nDCG@10",
    "stackoverflow": "StackOverflow, NMI", "searchsnippets": "SearchSnippets, NMI", "20news": "20 Newsgroups, NMI",
}  # fmt: skip
LEARNED = ("spm-joint", "index-joint")  # whose vectors are those of the texts, whatever learning started from
GLOVE_100 = "glove.6B.100d.subset.txt.gz"
SYSTEMS = {
    ("spm-default", None): "`SphericalParagraphModel()`, 128-d",
    ("index-default", None): "the same, with BM25 (`model.index`)",
    ("spm", "english-128"): "the default with `adapt=False`",
    ("index", "english-128"): "the same, with BM25 (`model.index`)",
    ("spm-joint", None): "`SphericalParagraphModel(JointVectors(dim=300))`",
    ("index-joint", None): "the same, with BM25 (`model.index`)",
    ("spm-wordllama", None): "SPM, WordLlama's words, 256-d",
    ("index-wordllama", None): "the same, with BM25",
    ("spm-wordllama-plain", None): "SPM, WordLlama's words, `whiten=False`",
    ("spm", GLOVE_100): "SPM, GloVe 100-d", ("usif", GLOVE_100): "uSIF, GloVe 100-d",
    ("mean", GLOVE_100): "mean, GloVe 100-d",
    ("tfidf", None): "tf-idf", ("bm25", None): "BM25", ("lsi", None): "LSI, 100-d",
    ("wordllama", None): "WordLlama, 256-d", ("minilm", None): "MiniLM-L6, a transformer",
}  # fmt: skip


def blocks() -> list[tuple[str, str, str]]:
    """Return the tables: the page that each is on, its name there, and its text."""
    return [
        ("README.md", "speed", _speeds(_result("text"))),
        ("README.md", "accuracy", _accuracies()),
        ("README.md", "similarity", _similarities()),
        ("docs/index.md", "choice", _choice()),
        ("docs/learning.md", "adapting", gains(_result("adapting"))),
        ("docs/index.md", "speed", _speeds(_result("text"))),
        ("docs/classify.md", "accuracy", _accuracies()),
        ("docs/deduplicate.md", "duplicates", similarity_table(_result("duplicates")["similarities"])),
        ("docs/topics.md", "topics", _topics(_result("topics"))),
        ("results/analysis.md", "collections", collections.report(_result("collections"))),
    ]


def main() -> None:
    for page, name, text in blocks():
        path = HERE.parent / page
        before, _, rest = path.read_text().partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition(f"<!-- /{name} -->")
        path.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}")


def _accuracies() -> str:
    """Return the README's table of accuracies on the paper's six corpora, from the committed results.

    Encoders that were run in several dimensions are shown in 50. "–" stands for corpora that were not run.
    """
    runs = sorted(
        merged(read_results(HERE.parent / "results")["runs"]), key=lambda run: run["dim"] == published.DIMENSION
    )
    by_name = {(run["encoder"], run["dataset"]): run for run in runs}
    rows = [["SPM in the paper", "50", *(f"{published.in_table('spm', name):.1f}" for name in published.DATASETS)]]
    for encoder, title in ENCODERS.items():
        row = [by_name.get((encoder, name)) for name in published.DATASETS]
        sizes = [run["dimensions"] for run in row if run is not None]
        if sizes:
            size = f"{sizes[0]:,}" if len(set(sizes)) == 1 else f"{min(sizes):,} to {max(sizes):,}"
            rows.append([title, size, *("–" if run is None else f"{100 * run['accuracy']:.1f}" for run in row)])
    return table(["accuracy, %", "features", *published.DATASETS.values()], rows)


def _similarities() -> str:
    """Return the README's table of the tasks that compare texts, from the committed results."""
    runs = json.loads((HERE.parent / "results" / "tasks.json").read_text())["runs"]
    found = {(run["system"], run["vectors"], run["dataset"]): run for run in runs}
    found |= {(run["system"], None, run["dataset"]): run for run in runs if run["system"] in LEARNED}
    rows = []
    for (system, vectors), title in SYSTEMS.items():
        row = [found.get((system, vectors, dataset)) for dataset in TASKS]
        if any(row):
            rows.append([title, *("–" if run is None else f"{100 * _measure(run):.1f}" for run in row)])
    return table(["", *TASKS.values()], rows)


def _topics(results: dict[str, Any]) -> str:
    """Return the table of methods that divide corpora into topics: means over seeds, in per cent."""
    corpora, methods = (list(dict.fromkeys(names)) for names in zip(*(key.split("/") for key in results), strict=True))
    measures = {"nmi": "NMI", "ari": "ARI", "c_v": "C_v", "c_npmi": "NPMI", "diversity": "diversity"}

    def cell(row: dict[str, list[float]]) -> str:
        return " / ".join(f"{100 * float(np.mean(row[measure])):.1f}" for measure in measures)

    rows = [[method, *(cell(results[f"{corpus}/{method}"]) for corpus in corpora)] for method in methods]
    return table([" / ".join(measures.values()), *corpora], rows)


def _choice() -> str:
    """Return the table of what to use for what: means over the corpora of each kind of task, and speeds."""
    runs = merged(read_results(HERE.parent / "results")["runs"])
    accuracies = {(run["encoder"], run["dataset"]): 100 * run["accuracy"] for run in runs}
    tasks = json.loads((HERE.parent / "results" / "tasks.json").read_text())["runs"]
    measures = {(run["system"], run["vectors"], run["dataset"]): 100 * _measure(run) for run in tasks}
    measures |= {
        (run["system"], None, run["dataset"]): 100 * _measure(run) for run in tasks if run["system"] in LEARNED
    }

    def accuracy(encoder: str) -> str:
        return _mean_of([accuracies.get((encoder, name)) for name in published.DATASETS])

    def task(system: str, vectors: str | None, *names: str) -> str:
        return _mean_of([measures.get((system, vectors, name)) for name in names])

    found, alike = ("cranfield", "cisi"), ("stsb-test",)
    clustered = ("stackoverflow", "searchsnippets", "20news")
    speeds = {name: f"{value:,.0f}" for name, value in _result("encoders")["texts_per_second"].items()}
    rows = [
        ["classify: accuracy, six corpora", accuracy("spm-default"), f"{accuracy('union')} (learned, beside tf-idf)",
         f"{accuracy('tfidf-best')} (tf-idf)", accuracy("minilm")],
        ["search: nDCG@10, two collections", task("spm-default", None, *found),
         f"{task('index-joint', None, *found)} (learned, with BM25)", f"{task('bm25', None, *found)} (BM25)",
         task("minilm", None, *found)],
        ["compare sentences: Spearman, STS benchmark", task("spm-default", None, *alike), "the default",
         f"{task('bm25', None, *alike)} (BM25)", task("minilm", None, *alike)],
        ["cluster: NMI, three corpora", task("spm-default", None, *clustered),
         f"{task('spm-joint', None, *clustered)} (learned)",
         f"{task('lsi', None, *clustered)} (LSI)", "not run"],
        ["texts per second, one core", f"{speeds['SPM']} (GloVe, 50-d)", "",
         f"{speeds['tf-idf']} (tf-idf)", speeds["MiniLM-L6"]],
    ]  # fmt: skip
    return table(["", "default model", "our best", "words alone", "MiniLM-L6, a transformer"], rows)


def _mean_of(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.1f}" if len(known) == len(values) else "–"


def _measure(run: dict[str, Any]) -> float:
    if run["task"] == "clustering":
        nmi = (run["clusterings"].get("k-means") or next(iter(run["clusterings"].values())))["nmi"]
        return float(sum(nmi) / len(nmi))
    return float(run["spearman" if run["task"] == "sts" else "ndcg"])


def _result(name: str) -> Any:
    return json.loads((HERE / "results" / f"{name}.json").read_text())["result"]


def _speeds(text: Any) -> str:
    """Return the README's table of speeds; each row was measured by one run of one benchmark."""
    seconds, model, vectors = text["seconds"], _result("model"), _result("vectors")["seconds"]
    numerics = {row["dim"]: row for row in _result("vmf")["rows"]}
    learned = model["seconds"]
    million = model["em"][-1]
    rows = [
        ["text to summed vectors", f"{text['megabytes'] / seconds['parasphere']:.0f} MB/s", ", ".join(
            f"{seconds[peer] / seconds['parasphere']:.0f}x as fast as {name}" for name, peer in [
                ("scikit-learn", "scikit-learn CountVectorizer + sparse product"),
                ("gensim", "gensim simple_preprocess + mean"), ("model2vec", "model2vec encode"),
            ])],
        [f"{model['documents']:,} texts to vectors (GloVe)", f"{learned['parasphere SPM, 50-d']:.2f} s", ", ".join(
            f"{learned[peer] / learned['parasphere SPM, 50-d']:.0f}x as fast as {name}" for name, peer in [
                ("gensim's PV-DBOW", "gensim PV-DBOW, 50-d, 5 epochs, 2 workers"),
                ("its LDA", "gensim LDA, 50 topics, one pass"), ("its LSI", "gensim LSI, 50"),
            ])],
        ["one EM iteration, one million documents", f"{1e3 * million['iteration_seconds']:.0f} ms",
         f"{million['iteration_seconds'] / million['products_seconds']:.1f}x the cost of two products with the sums"],
        ["one short text, with a loaded model", f"{1e3 * model['median_transform_seconds']:.2f} ms", ""],
        ["400,000 word vectors from text", f"{vectors['parasphere']:.1f} s",
         f"{vectors['gensim'] / vectors['parasphere']:,.0f}x as fast as gensim"],
        ["the same, cached", f"{1000 * vectors['parasphere, mapped']:.0f} ms",
         f"{vectors['gensim'] / vectors['parasphere, mapped']:,.0f}x as fast as gensim"],
        ["one million Bessel ratios, 300 dimensions", f"{numerics[300]['mean_length_ms']:.0f} ms",
         f"{numerics[300]['scipy_over_mean_length']:.0f}x as fast as scipy, which returns NaN for "
         f"{numerics[300]['scipy_nan_share']:.0%}"],
    ]  # fmt: skip
    return table([f"one core, {text['corpus']}", "parasphere", "compared with"], rows)


if __name__ == "__main__":
    main()
