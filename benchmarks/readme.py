"""Write the tables of the README and the documentation, from ``benchmarks/results`` and ``results``.

Run with ``python -m benchmarks.readme`` after ``python -m benchmarks`` or ``reproduce run``.
"""

from benchmarks import calibration, collections
from benchmarks.adapting import gains
from benchmarks.measure import table

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.duplicates import similarity_table
from parasphere.places import ENGLISH
from reproduction.experiments import overall, published
from reproduction.experiments.conclusions import conclusions
from reproduction.experiments.published import Comparison
from reproduction.experiments.report import read_results, read_tasks
from reproduction.experiments.seeds import merged

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
ENCODERS = {
    "spm-default": "`SphericalParagraphModel()`", "spm-english": "the same, `adapt=False`",
    "spm": "`SphericalParagraphModel(vectors)`", "spm-joint": "`SphericalParagraphModel(JointVectors())`",
    "union": "the same, `dim=300`, and tf-idf (`FeatureUnion`)", "tfidf-best": "tf-idf of words and pairs",
    "tfidf-paper": "tf-idf of words", "cbow": "mean of word vectors", "lsi": "LSI", "pv-dbow": "PV-DBOW",
    "skip-thought": "skip-thought", "minilm": "MiniLM-L6, a transformer",
}  # fmt: skip
# The encoder that classifies, the system of the other tasks with its word vectors, and the one with BM25 beside it,
# of stems but for MiniLM.
SYSTEMS = {
    "`SphericalParagraphModel()`": ("spm-default", "spm-default", None, "index-default"),
    "the same, `adapt=False`": ("spm-english", "spm", ENGLISH, "index"),
    "`SphericalParagraphModel(JointVectors(dim=300))`": ("spm-joint-300", "spm-joint", None, "index-joint"),
    "the same beside tf-idf (`make_union`)": ("union", "union", None, ""),
    "tf-idf (accuracy: words and pairs)": ("tfidf-best", "tfidf", None, ""),
    "BM25": ("bm25", "bm25", None, "index-stems"),
    "WordLlama, 256-d": ("wordllama", "wordllama", None, ""),
    "MiniLM-L6, a transformer": ("minilm", "minilm", None, "hybrid-minilm"),
}
QUALITIES = (
    "per cent", "accuracy, six corpora", "Spearman, sentences", "nDCG@10, two collections",
    "the same, with stems (MiniLM: words)", "NMI of clusters, three corpora",
)  # fmt: skip


def blocks() -> list[tuple[str, str, str]]:
    """Return the tables: the page that each is on, its name there, and its text."""
    return [
        ("README.md", "speed", _speeds()),
        ("README.md", "quality", _qualities()),
        ("docs/index.md", "quality", _qualities()),
        ("docs/index.md", "conclusions", _conclusions()),
        ("docs/learning.md", "adapting", gains(_result("adapting"))),
        ("docs/index.md", "speed", _speeds()),
        ("docs/classify.md", "accuracy", _accuracies()),
        ("docs/deduplicate.md", "duplicates", similarity_table(_result("duplicates")["similarities"])),
        ("docs/topics.md", "topics", _topics(_result("topics"))),
        ("docs/topics.md", "calibration", calibration.summary(_result("calibration"))),
        ("results/analysis.md", "collections", collections.report(_result("collections"))),
    ]


def main() -> None:
    for page, name, text in blocks():
        path = HERE.parent / page
        before, _, rest = path.read_text().partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition(f"<!-- /{name} -->")
        path.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}")


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


def _conclusions() -> str:
    """Return what paired tests say of the best classifier and of the default model, as items of a list."""
    best, _, default = conclusions(Comparison(read_results(RESULTS)), read_tasks(RESULTS))
    return f"- {best}\n- {default}"


def _topics(results: dict[str, Any]) -> str:
    """Return the table of methods that divide corpora into topics: means over seeds, in per cent."""
    corpora, methods = (list(dict.fromkeys(names)) for names in zip(*(key.split("/") for key in results), strict=True))
    measures = {"nmi": "NMI", "ari": "ARI", "c_v": "C_v", "c_npmi": "NPMI", "diversity": "diversity"}

    def cell(row: dict[str, list[float]]) -> str:
        return " / ".join(f"{100 * float(np.mean(row[measure])):.1f}" for measure in measures)

    rows = [[method, *(cell(results[f"{corpus}/{method}"]) for corpus in corpora)] for method in methods]
    return table([" / ".join(measures.values()), *corpora], rows)


def _result(name: str) -> Any:
    return json.loads((HERE / "results" / f"{name}.json").read_text())["result"]


def _speeds() -> str:
    """Return the table of speeds; each row was measured by one run of one benchmark."""
    text, model, fits = _result("text"), _result("model"), _result("adapting")["times"]
    vectors, per_second = _result("vectors")["seconds"], _result("encoders")["texts_per_second"]
    messages, documents = "11,314 messages of 20 Newsgroups", f"{model['documents']:,}"

    def times(seconds: dict[str, float], ours: str, peers: dict[str, str]) -> str:
        factors = [f"{seconds[peer] / seconds[ours]:,.0f}x as fast as {name}" for peer, name in peers.items()]
        return ", ".join(factors)

    rows = [
        [f"fit to {messages}", "english-128, adapted", "2", f"{fits[f'{messages}, adapt=True'][0]:.1f} s", ""],
        ["the same, `adapt=False`", "english-128", "2", f"{fits[f'{messages}, adapt=False'][0]:.1f} s", ""],
        [f"fit to {documents} messages, and their vectors", "GloVe, 50-d", "1",
         f"{model['seconds']['parasphere SPM, 50-d']:.2f} s", times(model["seconds"], "parasphere SPM, 50-d", {
             "gensim PV-DBOW, 50-d, 5 epochs, 2 workers": "gensim's PV-DBOW (2 threads)",
             "gensim LDA, 50 topics, one pass": "its LDA", "gensim LSI, 50": "its LSI"})],
        ["text to sums of word vectors", "GloVe, 50-d", "1",
         f"{text['megabytes'] / text['seconds']['parasphere']:.0f} MB/s", times(text["seconds"], "parasphere", {
             "scikit-learn CountVectorizer + sparse product": "scikit-learn",
             "gensim simple_preprocess + mean": "gensim", "model2vec encode": "model2vec"})],
        ["sentences to vectors", "GloVe, 50-d", "1", f"{per_second['SPM']:,.0f}/s",
         f"{per_second['SPM'] / per_second['MiniLM-L6']:,.0f}x as fast as MiniLM-L6, a transformer; "
         f"tf-idf is {per_second['tf-idf'] / per_second['SPM']:.1f}x as fast"],
        ["one short text", "GloVe, 50-d", "1", f"{1e3 * model['median_transform_seconds']:.2f} ms", ""],
        ["400,000 word vectors from a text file", "GloVe, 50-d", "1", f"{vectors['parasphere']:.1f} s",
         times(vectors, "parasphere", {"gensim": "gensim"}) + f"; cached {1e3 * vectors['parasphere, mapped']:.0f} ms"],
    ]  # fmt: skip
    return table(["", "word vectors", "threads", "parasphere", "others"], rows)


if __name__ == "__main__":
    main()
