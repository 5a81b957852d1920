"""Tf-idf of words and of pairs of words, beside scikit-learn's ``TfidfVectorizer`` on the same texts.

Run with ``python -m benchmarks.tfidf``. The texts are those that 20 Newsgroups has for training, raw, where
scikit-learn's cache has them, else the embedded docstrings. Both are given a Python list of strings and keep every
word; one core; the best of several repeats.
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
    """Return the texts to read, and what they are."""
    try:
        return "20 Newsgroups, for training, raw", fetch_20newsgroups(subset="train", download_if_missing=False).data
    except OSError:
        return "embedded docstrings", datasets.load("docstrings").texts


def run() -> dict[str, Any]:
    """Measure each, in one process, one after another."""
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
    encoder.fit_transform(texts[:100])  # what is compiled is loaded before the clock starts
    encoder.transform(texts[:100])
    return {
        "fit_transform": best(lambda: encoder.fit_transform(texts), repeats),
        "transform": best(lambda: encoder.transform(texts), repeats),
    }


def _agree(ours: TfIdf, theirs: TfidfVectorizer, texts: list[str]) -> None:
    """Insist that both do the same work: texts have the same cosines, where the tokens are the same."""
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
