"""Raw text to document vectors by SPM and by gensim's PV-DBOW, LDA and LSI, and the cost of an EM iteration.

Run with ``python -m benchmarks.model``. The texts are the 11,314 training texts of 20 Newsgroups if scikit-learn's
cache has them, otherwise the embedded docstrings. Every system starts from the same Python list of raw strings.
"""

from benchmarks.measure import best, table

import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from gensim.corpora import Dictionary
from gensim.matutils import corpus2dense
from gensim.models import LdaModel, LsiModel
from gensim.models.doc2vec import Doc2Vec, TaggedDocument
from gensim.utils import simple_preprocess
from numpy.typing import NDArray
from sklearn.datasets import fetch_20newsgroups

from parasphere import Bags, SphericalParagraphModel, datasets
from reproduction.baselines import TopicsLDA
from parasphere.model import Partition, run_em
from parasphere.places import GLOVE

DIM = 50
BARS = {"gensim PV-DBOW, 50-d, 5 epochs, 2 workers": 40, "gensim LDA, 50 topics, one pass": 25, "gensim LSI, 50": 10}
ITERATION_BAR = 5.0
SHORT_TEXT = "The shuttle was launched into orbit on Tuesday."


def corpus() -> tuple[str, list[str]]:
    try:
        return "20 Newsgroups, training texts", fetch_20newsgroups(subset="train", download_if_missing=False).data
    except OSError:
        return "embedded docstrings", datasets.load("docstrings").texts


def paragraph_vectors(texts: list[str]) -> NDArray[np.float32]:
    documents = [TaggedDocument(simple_preprocess(text), [i]) for i, text in enumerate(texts)]
    model = Doc2Vec(documents, dm=0, vector_size=DIM, epochs=5, workers=2, seed=0)
    return model.dv.vectors


def topics(texts: list[str], kind: str) -> NDArray[np.float32]:
    tokens = [simple_preprocess(text) for text in texts]
    words = Dictionary(tokens)
    counts = [words.doc2bow(document) for document in tokens]
    if kind == "lda":
        model: Any = LdaModel(counts, DIM, words, passes=1, random_state=0)
    else:
        model = LsiModel(counts, DIM, words)
    return corpus2dense(model[counts], DIM).T


def ours(texts: list[str]) -> NDArray[np.float32]:
    return SphericalParagraphModel(GLOVE, adapt=False).fit_transform(texts)


def our_topics(texts: list[str]) -> NDArray[np.float64]:
    return TopicsLDA(DIM, passes=1, chunk_size=2000).fit_transform(texts)


def synthetic(n_docs: int) -> Bags:
    """Return random bags similar to those of texts of about twenty words."""
    rng = np.random.default_rng(0)
    center = rng.normal(size=DIM)
    sums = rng.normal(size=(n_docs, DIM)).astype(np.float32) * 2 + (center / np.linalg.norm(center) * 8).astype(
        np.float32
    )
    lengths = rng.integers(15, 40, n_docs).astype(np.float64)
    squared = np.einsum("ij,ij->i", sums, sums, dtype=np.float64)
    return Bags(sums, lengths, squared, np.zeros(n_docs, np.int64))


def iteration(bags: Bags, iterations: int = 8) -> float:
    """Return the seconds of one EM iteration."""
    part = Partition.of(bags)

    def fit(count: int) -> None:
        run_em(part.statistics, strength=10.0, method="newton", max_iter=count, tol=-1.0)

    fit(1)
    return (best(lambda: fit(1 + iterations), 3) - best(lambda: fit(1), 3)) / iterations


def products(bags: Bags) -> float:
    """Return the seconds of the two products with the sums that each iteration needs, in numpy."""
    v, w = np.ones(DIM, np.float32), np.ones(len(bags), np.float32)
    return best(lambda: (bags.sums @ v, bags.sums.T @ w), 5)


def extra_memory(bags: Bags) -> int:
    """Return the bytes that a fit allocates beyond the bags, at its peak."""
    tracemalloc.start()
    run_em(Partition.of(bags).statistics, strength=10.0, method="newton", max_iter=3, tol=-1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def one_text() -> dict[str, float]:
    """Return seconds to load a saved model, and the median to transform one short text after that."""
    model = SphericalParagraphModel(GLOVE, adapt=False).fit(datasets.load("docstrings").texts)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model"))
        load = best(lambda: SphericalParagraphModel.load(Path(folder, "model")), 5)
        model = SphericalParagraphModel.load(Path(folder, "model"))
        model.transform([SHORT_TEXT])
        times = []
        for _ in range(1000):
            start = time.perf_counter()
            model.transform([SHORT_TEXT])
            times.append(time.perf_counter() - start)
    return {"load_seconds": load, "median_transform_seconds": float(np.median(times))}


def run() -> dict[str, Any]:
    name, texts = corpus()
    warnings.simplefilter("ignore", DeprecationWarning)
    ours(texts[:100])
    our_topics(texts[:100])
    seconds = {
        "parasphere SPM, 50-d": best(lambda: ours(texts), 5),
        "gensim PV-DBOW, 50-d, 5 epochs, 2 workers": best(lambda: paragraph_vectors(texts), 1),
        "parasphere LDA, 50 topics, one pass": best(lambda: our_topics(texts), 2),
        "gensim LDA, 50 topics, one pass": best(lambda: topics(texts, "lda"), 1),
        "gensim LSI, 50": best(lambda: topics(texts, "lsi"), 1),
    }
    scaling = []
    for n_docs in (10_000, 100_000, 1_000_000):
        bags = synthetic(n_docs)
        scaling.append({
            "documents": n_docs, "iteration_seconds": iteration(bags), "products_seconds": products(bags),
            "extra_bytes": extra_memory(bags),
        })  # fmt: skip
    return {"corpus": name, "documents": len(texts), "seconds": seconds, "bars": BARS, "em": scaling, **one_text()}


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    fastest = result["seconds"]["parasphere SPM, 50-d"]
    rows = [
        [name, f"{value:.2f}", f"{value / fastest:.1f}x", f">= {BARS[name]}x" if name in BARS else ""]
        for name, value in result["seconds"].items()
    ]
    em = [
        [
            f"{row['documents']:,}", f"{1e3 * row['iteration_seconds']:.1f}", f"{1e3 * row['products_seconds']:.1f}",
            f"{row['iteration_seconds'] / row['products_seconds']:.1f}x",
            f"{1e9 * row['iteration_seconds'] / row['documents']:.0f}", f"{row['extra_bytes'] / row['documents']:.0f}",
        ]
        for row in result["em"]
    ]  # fmt: skip
    columns = [
        "documents x 50",
        "ms per iteration",
        "ms of two products",
        "ratio",
        "ns per document",
        "bytes per document",
    ]
    return "\n\n".join([
        f"{result['corpus']}: {result['documents']:,} raw texts to vectors, reading and learning included.",
        table(["text to vectors", "s", "time over ours", "bar"], rows),
        f"One EM iteration (with the evidence), beside `sums @ v` plus `sums.T @ w` in numpy on the same float32 sums; "
        f"bar: at most {ITERATION_BAR:.0f}x at a million. Memory is that of a fit beyond the bags.",
        table(columns, em),
        f"A saved model loads in {1e3 * result['load_seconds']:.1f} ms; one short text takes "
        f"{1e3 * result['median_transform_seconds']:.2f} ms (median of 1,000; bar: under 1 ms).",
    ])  # fmt: skip


if __name__ == "__main__":
    print(report(run()))
