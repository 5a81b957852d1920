"""Draw ``docs/speed.png`` and write the README's tables of speeds and accuracies.

All of it comes from ``benchmarks/results`` and ``results``. Run with ``python -m benchmarks.picture`` after
``python -m benchmarks`` or ``parasphere reproduce``.
"""

from benchmarks.measure import table

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from parasphere.experiments import published
from parasphere.experiments.report import read_results

HERE = Path(__file__).parent
ENCODERS = {
    "spm": "`SphericalParagraphModel`", "spm-joint": "`JointSphericalModel`",
    "spm-best": "the same, `dim=300`, facets, words of their own", "cbow": "mean of word vectors", "lsi": "LSI",
    "sam": "SAM", "pv-dbow": "PV-DBOW", "skip-thought": "skip-thought", "tfidf": "tf-idf",
    "minilm": "MiniLM-L6, a transformer",
}  # fmt: skip
NAMES = {
    "parasphere": "parasphere",
    "scikit-learn CountVectorizer + sparse product": "scikit-learn\nCountVectorizer + product",
    "gensim simple_preprocess + mean": "gensim\nsimple_preprocess + mean",
    "model2vec encode": "model2vec\nencode, same vectors",
}


def main() -> None:
    result = _result("text")
    _draw(result)
    for name, text in (("speed", _speeds(result)), ("accuracy", _accuracies())):
        readme = HERE.parent / "README.md"
        before, _, rest = readme.read_text().partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition(f"<!-- /{name} -->")
        readme.write_text(f"{before}<!-- {name} -->\n{text}\n<!-- /{name} -->{after}")


def _accuracies() -> str:
    """Return the README's table of accuracies, from the committed results, on the paper's six corpora.

    Vectors are those of 50 dimensions, where an encoder was run with these.
    """
    found = sorted(read_results(HERE.parent / "results")["runs"], key=lambda run: run["dim"] == published.DIMENSION)
    runs = {(run["encoder"], run["dataset"]): run for run in found}
    rows = [["the paper's SPM", "50", *(f"{published.in_table('spm', name):.1f}" for name in published.DATASETS)]]
    for encoder, title in ENCODERS.items():
        found = [runs[encoder, name] for name in published.DATASETS]
        sizes = [run["dimensions"] for run in found]
        size = f"{sizes[0]:,}" if len(set(sizes)) == 1 else f"{min(sizes):,} to {max(sizes):,}"
        rows.append([title, size, *(f"{100 * run['accuracy']:.1f}" for run in found)])
    return table(["accuracy, %", "numbers a text", *published.DATASETS.values()], rows)


def _result(name: str) -> Any:
    return json.loads((HERE / "results" / f"{name}.json").read_text())["result"]


def _speeds(text: Any) -> str:
    """Return the README's table: each row a ratio that one run of one benchmark measured."""
    seconds, model, vectors = text["seconds"], _result("model"), _result("vectors")
    numerics = {row["dim"]: row for row in _result("vmf")["rows"]}
    learned = model["seconds"]
    million = model["em"][-1]
    rows = [
        ["text to summed vectors", f"{text['megabytes'] / seconds['parasphere']:.0f} MB/s", ", ".join(
            f"{seconds[peer] / seconds['parasphere']:.0f}x as fast as {name}" for name, peer in [
                ("scikit-learn", "scikit-learn CountVectorizer + sparse product"),
                ("gensim", "gensim simple_preprocess + mean"), ("model2vec", "model2vec encode"),
            ])],
        [f"{model['documents']:,} texts to fitted vectors", f"{learned['parasphere SPM, 50-d']:.2f} s", ", ".join(
            f"{learned[peer] / learned['parasphere SPM, 50-d']:.0f}x as fast as {name}" for name, peer in [
                ("PV-DBOW", "gensim PV-DBOW, 50-d, 5 epochs, 2 workers"),
                ("LDA", "gensim LDA, 50 topics, one pass"), ("LSI", "gensim LSI, 50"),
            ])],
        ["one EM iteration, a million documents", f"{1e3 * million['iteration_seconds']:.0f} ms",
         f"{million['iteration_seconds'] / million['products_seconds']:.1f}x the cost of two products with the sums"],
        ["one short text, model loaded", f"{1e3 * model['median_transform_seconds']:.2f} ms", ""],
        ["400,000 word vectors from text", f"{vectors['parasphere']:.1f} s",
         f"{vectors['gensim'] / vectors['parasphere']:,.0f}x as fast as gensim"],
        ["the same, from the second time on", f"{vectors['parasphere, mapped']:.2f} s",
         f"{vectors['gensim'] / vectors['parasphere, mapped']:,.0f}x as fast as gensim"],
        ["a million Bessel ratios, 300 dimensions", f"{numerics[300]['mean_length_ms']:.0f} ms",
         f"{numerics[300]['scipy_over_mean_length']:.0f}x as fast as scipy, which returns NaN for "
         f"{numerics[300]['scipy_nan_share']:.0%}"],
    ]  # fmt: skip
    return table([f"one core, {text['corpus']}", "parasphere", "beside others"], rows)


def _draw(result: Any) -> None:
    speeds = [result["megabytes"] / result["seconds"][name] for name in NAMES]
    figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
    bars = axes.barh(list(NAMES.values()), speeds, color=["#1b6ca8", *["#b8c4cc"] * 3], height=0.62)
    axes.bar_label(bars, labels=[f"{speed:.0f}" if speed >= 10 else f"{speed:.1f}" for speed in speeds], padding=4)
    axes.invert_yaxis()
    axes.set_xlim(0, max(speeds) * 1.1)
    axes.set_xlabel("MB of text a second to summed word vectors, one core")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE.parent / "docs" / "speed.png", dpi=150)


if __name__ == "__main__":
    main()
