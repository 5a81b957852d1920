"""Texts encoded per second on one thread, by SPM and other fitted encoders.

Run with ``python -m benchmarks.encoders``. The texts are the sentences of MR if NLTK's cache has them, otherwise the
first lines of the embedded docstrings. Skip-thought and MiniLM are measured if they are installed and trained.
"""

from benchmarks.measure import best, table

from typing import Any

from parasphere import SphericalParagraphModel
from reproduction import datasets
from reproduction.baselines import MeanOfVectors, TfIdf
from parasphere.errors import ParasphereError
from reproduction.experiments.encoders import ENCODERS, union_model
from parasphere.places import GLOVE

FEW = 500  # texts for encoders that take milliseconds per text
SLOW = ("fastsent", "skip-thought", "minilm")


def run() -> dict[str, Any]:
    try:
        corpus = datasets.load("mr")
        texts = corpus.texts
    except ParasphereError:
        corpus = datasets.load("docstrings")
        texts = [text.strip().splitlines()[0] for text in corpus.texts]
    encoders: dict[str, Any] = {
        "SPM, default": SphericalParagraphModel(),
        "SPM": SphericalParagraphModel(GLOVE, adapt=False),
        "SPM, 300 learned dimensions, and tf-idf": union_model(GLOVE).set_params(spm__vectors__epochs=2),
        "mean of word vectors": MeanOfVectors(GLOVE),
        "tf-idf": TfIdf(),
    }
    speeds, dimensions = {}, {}
    for name, encoder in encoders.items():
        dimensions[name] = encoder.fit(texts).transform(texts[:10]).shape[1]
        speeds[name] = _speed(encoder, texts, 5)
    for name in SLOW:
        entry = ENCODERS[name]
        if entry.missing() is None:
            encoder = entry.build(None, 0, 0).fit(texts)
            dimensions[entry.title] = encoder.transform(texts[:10]).shape[1]
            speeds[entry.title] = _speed(encoder, texts[:: len(texts) // FEW][:FEW], 1)
    return {"corpus": corpus.name, "texts": len(texts), "texts_per_second": speeds, "dimensions": dimensions}


def _speed(encoder: Any, texts: list[str], times: int) -> float:
    return len(texts) / best(lambda: encoder.transform(texts), times)


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    speeds = result["texts_per_second"]
    slowest = min(speeds.values())
    rows = [
        [name, f"{result['dimensions'][name]:,}", f"{value:,.0f}", f"{value / slowest:,.0f}"]
        for name, value in speeds.items()
    ]
    return (
        f"{result['corpus']}: {result['texts']:,} texts, raw text to vectors, one thread. The default uses "
        "english-128, adapted to the texts; SPM and the mean of word vectors use GloVe.\n\n"
    ) + table(["", "dimensions", "texts per second", "times the slowest"], rows)


if __name__ == "__main__":
    print(report(run()))
