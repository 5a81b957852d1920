"""Calibration of the probabilities of topics, before and after they are divided by a temperature.

Run with ``python -m benchmarks calibration``. Topics are found in up to 5,000 texts of each corpus of the topics
benchmark; their number is that of the labels, or found. Probabilities are judged on as many other texts: a text is
right if its label is that of most texts of its most likely topic in the fit. The expected calibration error has ten
bins of the largest probability.
"""

from benchmarks.measure import table

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parasphere import SphericalTopics

SEEDS = range(3)
BINS = 10
NEAR = (0.75, 0.85)


def reliability(shares: NDArray[np.float64], labels: NDArray[np.int64], majority: NDArray[np.int64]) -> dict[str, Any]:
    """Return texts, mean largest probability and share of right texts per bin, and figures over all texts."""
    sure, right = shares.max(axis=1), majority[shares.argmax(axis=1)] == labels
    bins = np.minimum((BINS * sure).astype(int), BINS - 1)
    texts = np.bincount(bins, minlength=BINS)
    means, rights = (np.bincount(bins, x, BINS) / np.maximum(texts, 1) for x in (sure, right))
    near = (sure >= NEAR[0]) & (sure < NEAR[1])
    return {
        "texts": texts.tolist(), "probability": means.tolist(), "right": rights.tolist(),
        "error": float(texts @ abs(means - rights) / texts.sum()), "above 0.99": float((sure > 0.99).mean()),
        "near 0.8": [int(right[near].sum()), int(near.sum())],
    }  # fmt: skip


def measured(texts: list[str], labels: NDArray[np.int64], n_topics: Any, seed: int) -> dict[str, Any]:
    """Find topics in every other text, and measure the probabilities of the others."""
    found = SphericalTopics(n_topics=n_topics, random_state=seed).fit(texts[::2])
    known = found.labels_ >= 0
    counts = np.zeros((len(found.weights_), labels.max() + 1))
    np.add.at(counts, (found.labels_[known], labels[::2][known]), 1)
    others, truth = texts[1::2], labels[1::2]
    row: dict[str, Any] = {"topics": len(counts), "temperature": found.temperature_}
    after, apart = found.transform(others), found.predict(others) < 0
    found.temperature_ = 1.0
    before = found.transform(others)
    for name, shares in (("before", before), ("after", after)):
        row[name] = reliability(shares, truth, counts.argmax(axis=1))
        row[name]["outliers"] = float(np.median(shares[apart].max(axis=1)))
    return row


def run() -> dict[str, Any]:
    from benchmarks.topics import TEXTS, corpora  # imported here, because it needs gensim, and the tables do not

    results: dict[str, Any] = {}
    for corpus, (texts, labels) in corpora(2 * TEXTS).items():
        for name, n_topics in (("labels", len(np.unique(labels))), ("auto", "auto")):
            results[f"{corpus}/{name}"] = [measured(texts, labels, n_topics, seed) for seed in SEEDS]
    return results


def summary(results: dict[str, Any]) -> str:
    """Return a table with one row per corpus and number of topics; means over seeds, in per cent."""

    def mean(rows: list[dict[str, Any]], name: str) -> str:
        return " → ".join(f"{100 * np.mean([row[when][name] for row in rows]):.0f}" for when in ("before", "after"))

    def near(rows: list[dict[str, Any]]) -> str:
        sums = (np.sum([row[when]["near 0.8"] for row in rows], axis=0) for when in ("before", "after"))
        return " → ".join(f"{100 * right / max(texts, 1):.0f}" for right, texts in sums)

    columns = ["corpus", "topics", "temperature", "calibration error", "right near 80", "texts above 99", "outliers"]
    return table(columns, [
        [key.split("/")[0], f"{np.mean([row['topics'] for row in rows]):.0f}{', found' * key.endswith('auto')}",
         f"{np.mean([row['temperature'] for row in rows]):.1f}",
         mean(rows, "error"), near(rows), mean(rows, "above 0.99"), mean(rows, "outliers")]
        for key, rows in results.items()
    ])  # fmt: skip


def report(results: dict[str, Any]) -> str:
    curves = []
    for key, rows in results.items():
        for when in ("before", "after"):
            texts = np.sum([row[when]["texts"] for row in rows], axis=0)
            rights = np.sum([np.multiply(row[when]["texts"], row[when]["right"]) for row in rows], axis=0)
            cells = [
                f"{100 * a / n:.0f} ({100 * n / texts.sum():.0f})" if n else ""
                for a, n in zip(rights, texts, strict=True)
            ]
            curves.append([key, when, *cells])
    bins = [f"{100 * i // BINS}–{100 * (i + 1) // BINS}" for i in range(BINS)]
    return (
        f"Means over {len(SEEDS)} seeds, before → after calibration, in per cent: the expected calibration error; the "
        f"share of right texts, if the largest probability is from {NEAR[0]} to {NEAR[1]}; the share of texts "
        f"whose largest probability is above 0.99; and its median for outliers.\n\n{summary(results)}\n\n"
        f"Right texts by their largest probability, and in brackets the share of texts in that bin, in per "
        f"cent:\n\n{table(['corpus/topics', '', *bins], curves)}"
    )
