"""Figures of the README and the documentation, from the JSON of ``benchmarks/results`` and ``results``.

Each figure is between comments that name a function of :data:`FIGURES` and its arguments, as in
``<!-- sts: spm / english-128 -->76.3<!-- /sts -->``; for a table, the comments are on lines of their own. :func:`fill`
writes both again. Tables that need the statistics of the experiments, and their packages, are in
:mod:`benchmarks.readme`.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import table

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "results/analysis.md"]
PLACE = re.compile(r"<!-- (\w+)(?:: ([^>]+?))? -->(.*?)<!-- /\1 -->", re.DOTALL)


def fill(page: str, figures: Mapping[str, Callable[..., str]]) -> str:
    """Return the text of a page with the named figures filled in; unknown names stay as they are."""

    def write(place: re.Match[str]) -> str:
        name, arguments, old = place.groups()
        if name not in figures:
            return place[0]
        text = figures[name](*arguments.split(" / ") if arguments else ())
        return place[0].replace(f"-->{old}<!--", f"-->\n{text}\n<!--" if "\n" in text else f"-->{text}<!--")

    return PLACE.sub(write, page)


@cache
def benchmark(name: str) -> Any:
    """Return the result of a benchmark."""
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text("utf-8"))["result"]


@cache
def _experiments(name: str) -> Any:
    return json.loads((ROOT / f"results/{name}.json").read_text("utf-8"))


def _accuracy(encoder: str, dataset: str) -> str:
    """Return an accuracy of ``results``: of the linear SVM, in per cent, the mean over seeds."""
    wanted = {"encoder": encoder, "dataset": dataset, "dim": 50, "classifier": "liblinear", "transductive": False}
    runs = [run for run in _experiments("results")["runs"] if wanted.items() <= run.items()]
    return f"{100 * np.mean([run['accuracy'] for run in runs]):.1f}"


def _changed(name: str, dataset: str) -> float:
    cells = {row["name"]: row["cells"] for row in _experiments("sensitivity")["rows"]}
    return 100 * float(cells[name][dataset]["accuracy"])


def _gain(name: str, dataset: str) -> str:
    """Return the points that a change gains in the study of sensitivity."""
    return f"{_changed(name, dataset) - _changed('as in the tables', dataset):.1f}".replace("-", "−")


def _task(dataset: str, measure: str, system: str, vectors: str | None) -> str:
    wanted = {"dataset": dataset, "system": system, "vectors": vectors}
    (run,) = (run for run in _experiments("tasks")["runs"] if wanted.items() <= run.items())
    return f"{100 * run[measure]:.1f}"


def _faster(how: str) -> str:
    """Return how many times as fast static tables are read as by their own libraries."""
    rates = [found["texts_per_second"] for found in benchmark("ecosystem")["tables"].values()]
    times = [rate[how] / rate["library"] for rate in rates]
    return f"{min(times):.0f} to {max(times):.0f}"


def _topics() -> str:
    """Return the table of topic models: means over seeds, in per cent."""
    results = benchmark("topics")
    corpora, methods = (list(dict.fromkeys(names)) for names in zip(*(key.split("/") for key in results), strict=True))
    measures = {"nmi": "NMI", "ari": "ARI", "c_v": "C_v", "c_npmi": "NPMI", "diversity": "diversity"}

    def cell(row: dict[str, list[float]]) -> str:
        return " / ".join(f"{100 * float(np.mean(row[measure])):.1f}" for measure in measures)

    rows = [[method, *(cell(results[f"{corpus}/{method}"]) for corpus in corpora)] for method in methods]
    return table([" / ".join(measures.values()), *corpora], rows)


def _speed() -> str:
    """Return the table of speeds; each row was measured by one run of one benchmark."""
    text, model, fits = benchmark("text"), benchmark("model"), benchmark("adapting")["times"]
    loads, per_second = benchmark("vectors")["seconds"], benchmark("encoders")["texts_per_second"]
    encoders = {"SPM, default": "english-128, adapted", "SPM": "GloVe, 50-d"}
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
        *(["sentences to vectors", vectors, "1", f"{per_second[name]:,.0f}/s",
           f"{per_second[name] / per_second['MiniLM-L6']:,.0f}x as fast as MiniLM-L6, a transformer; "
           f"tf-idf is {per_second['tf-idf'] / per_second[name]:.1f}x as fast"]
          for name, vectors in encoders.items() if name in per_second),
        ["one short text", "GloVe, 50-d", "1", f"{1e3 * model['median_transform_seconds']:.2f} ms", ""],
        ["400,000 word vectors from a text file", "GloVe, 50-d", "1", f"{loads['parasphere']:.1f} s",
         times(loads, "parasphere", {"gensim": "gensim"}) + f"; mapped {1e3 * loads['parasphere, mapped']:.0f} ms"],
    ]  # fmt: skip
    return table(["", "word vectors", "threads", "parasphere", "others"], rows)


FIGURES: dict[str, Callable[..., str]] = {
    "speed": _speed,
    "topics": _topics,
    "percent": _accuracy,  # encoder / dataset
    "changed": lambda name, dataset: f"{_changed(name, dataset):.1f}",  # of results/sensitivity.json / dataset
    "gain": _gain,
    "faster": _faster,
    "sts": lambda system, vectors=None: _task("stsb-test", "spearman", system, vectors),
    "ndcg": lambda dataset, system, vectors=None: _task(dataset, "ndcg", system, vectors),
}
