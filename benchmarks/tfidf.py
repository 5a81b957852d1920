"""Tf-idf of words and of pairs of words, beside scikit-learn's ``TfidfVectorizer`` on the same texts.

Run with ``python -m benchmarks.tfidf``. The texts are the raw training texts of 20 Newsgroups if scikit-learn's cache
has them, otherwise the embedded docstrings. Both start from a Python list of strings and keep every word; times are the
best of several repeats on one core.
"""

from benchmarks.measure import best, table

from typing import Any

import numpy as np
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer

from parasphere import Tokenizer, datasets
from reproduction.baselines import TfIdf

LETTERS = r"[^\W\d_]+"
HASHED = 1 << 20
REPEATS = 5
RANGES = {"words": (1, 1), "words and pairs": (1, 2)}
BARS = {"words": 8, "words and pairs": 5}


def corpus() -> tuple[str, list[str]]:
    """Return the name of the corpus, and its texts."""
    try:
        return "20 Newsgroups, for training, raw", fetch_20newsgroups(subset="train", download_if_missing=False).data
    except OSError:
        return "embedded docstrings", datasets.load("docstrings").texts


def run() -> dict[str, Any]:
    """Measure all in one process, one after another."""
    name, texts = corpus()
    seconds: dict[str, dict[str, dict[str, float]]] = {}
    columns = {}
    for what, sizes in RANGES.items():
        ours = TfIdf(sizes, sublinear_tf=True, tokenizer=Tokenizer())
        hashed = TfIdf(sizes, sublinear_tf=True, n_features=HASHED, tokenizer=Tokenizer())
        theirs = TfidfVectorizer(token_pattern=LETTERS, ngram_range=sizes, sublinear_tf=True)
        seconds[what] = {
            "parasphere": _times(ours, texts, REPEATS),
            f"parasphere, hashed to {HASHED:,}": _times(hashed, texts, REPEATS),
            "scikit-learn TfidfVectorizer": _times(theirs, texts, 2),
        }
        columns[what] = len(ours.idf_)
        _agree(ours, theirs, texts[:500])
    return {
        "corpus": name, "documents": len(texts), "megabytes": sum(len(text.encode()) for text in texts) / 1e6,
        "columns": columns, "seconds": seconds, "bars": BARS,
    }  # fmt: skip


def _times(encoder: Any, texts: list[str], repeats: int) -> dict[str, float]:
    encoder.fit_transform(texts[:100])  # loads compiled code before the clock starts
    encoder.transform(texts[:100])
    return {
        "fit_transform": best(lambda: encoder.fit_transform(texts), repeats),
        "transform": best(lambda: encoder.transform(texts), repeats),
    }


def _agree(ours: TfIdf, theirs: TfidfVectorizer, texts: list[str]) -> None:
    """Raise unless both do the same work: the cosines of texts must agree."""
    a, b = ours.transform(texts), theirs.transform(texts)
    assert np.abs((a @ a.T).toarray() - (b @ b.T).toarray()).mean() < 1e-5


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    rows = []
    for what, each in result["seconds"].items():
        for name, times in each.items():
            cells = [f"{what}: {name}"]
            for step, own in each["parasphere"].items():
                cells += [f"{times[step]:.2f}", f"{times[step] / own:.1f}x"]
            rows.append([*cells, f">= {result['bars'][what]}x" if name.startswith("scikit") else ""])
    columns = ", ".join(f"{count:,} columns for {what}" for what, count in result["columns"].items())
    return (
        f"{result['corpus']}: {result['documents']:,} documents, {result['megabytes']:.1f} MB; {columns}. One core.\n\n"
        + table(["", "fit_transform, s", "time over ours", "transform, s", "time over ours", "bar"], rows)
    )


if __name__ == "__main__":
    print(report(run()))
