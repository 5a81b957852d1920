"""Draw ``docs/speed.png`` from ``benchmarks/results/text.json``: ``python -m benchmarks.picture``."""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).parent
NAMES = {
    "parasphere": "parasphere",
    "scikit-learn CountVectorizer + sparse product": "scikit-learn\nCountVectorizer + product",
    "gensim simple_preprocess + mean": "gensim\nsimple_preprocess + mean",
    "model2vec encode": "model2vec\nencode, same vectors",
}


def main() -> None:
    result = json.loads((HERE / "results" / "text.json").read_text())["result"]
    speeds = [result["megabytes"] / result["seconds"][name] for name in NAMES]
    figure, axes = plt.subplots(figsize=(7.2, 2.6), layout="constrained")
    bars = axes.barh(list(NAMES.values()), speeds, color=["#1b6ca8", *["#b8c4cc"] * 3], height=0.62)
    axes.bar_label(bars, labels=[f"{speed:.0f}" if speed >= 10 else f"{speed:.1f}" for speed in speeds], padding=4)
    axes.invert_yaxis()
    axes.set_xlim(0, max(speeds) * 1.1)
    axes.set_xlabel(f"MB of text a second to summed word vectors, one core ({result['corpus']}, 400,000 words)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE.parent / "docs" / "speed.png", dpi=150)


if __name__ == "__main__":
    main()
