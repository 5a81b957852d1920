"""Similarities that separate near-duplicates from other neighbours, and the time to find all groups.

Run with ``python -m benchmarks duplicates``. Of 20,000 paragraphs (see ``benchmarks.search``), 1,000 are copied with a
share of their words changed: half of these deleted, half replaced by random words of the corpus. The similarity of a
copy to its original is compared with its similarity to the nearest other paragraph.
"""

from benchmarks.measure import table

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.search import paragraphs
from parasphere import SphericalParagraphModel
from parasphere.search import THRESHOLD, duplicates
from parasphere.places import GLOVE

PARAGRAPHS, COPIES = 20_000, 1_000
SHARES = (0.1, 0.2, 0.4)
SIZES = (10_000, 100_000)
IDENTICAL = 100_000


def run() -> dict[str, Any]:
    """Measure the similarities of copies and of neighbours, and the time to find all groups."""
    rng = np.random.default_rng(0)
    everything = paragraphs(max(SIZES))
    texts = list(dict.fromkeys(rng.choice(everything, PARAGRAPHS, replace=False).tolist()))
    words = np.array(" ".join(texts[:2000]).split())
    model = SphericalParagraphModel(GLOVE, adapt=False).fit(texts)
    similarities = {}
    for share in SHARES:
        copies = [_changed(text, share, words, rng) for text in texts[:COPIES]]
        for name, matrix in _similarities(model, copies, texts).items():
            own = matrix.diagonal().copy()
            np.fill_diagonal(matrix, -1.0)
            others = matrix.max(axis=1)
            similarities[f"{share:.0%} changed: {name}"] = {
                "copies": np.quantile(own, [0.01, 0.5]).tolist(), "others": np.quantile(others, [0.5, 0.99]).tolist(),
            }  # fmt: skip
    seconds = {}
    for size in SIZES:
        start = time.perf_counter()
        found = duplicates(everything[:size])
        seconds[f"{size:,}"] = [time.perf_counter() - start, len(found), len(found.removed)]
    start = time.perf_counter()
    found = duplicates([everything[0]] * IDENTICAL)
    seconds[f"{IDENTICAL:,}, all the same"] = [time.perf_counter() - start, len(found), len(found.removed)]
    return {"similarities": similarities, "seconds": seconds, "threshold": THRESHOLD}


def _changed(text: str, share: float, words: NDArray[np.str_], rng: np.random.Generator) -> str:
    kept = []
    for word in text.split():
        chance = rng.random()
        if chance >= share / 2:
            kept.append(str(rng.choice(words)) if chance < share else word)
    return " ".join(kept)


def _similarities(model: SphericalParagraphModel, copies: list[str], texts: list[str]) -> dict[str, NDArray[Any]]:
    """Return the similarities of copies and originals, (n_copies, n_texts), by name."""
    index = model.index([*copies, *texts], language=None)  # as `duplicates` compares words
    offsets = index.offsets[: len(copies)] @ index.offsets[len(copies) :].T
    assert index.bm25 is not None
    starts, words, values = index.bm25.tfidf()
    rows = sparse.csr_array((values, words, starts), (len(index), len(index.bm25.words)))
    shared = (rows[: len(copies)] @ rows[len(copies) :].T).toarray()
    return {"offset": offsets, "tf-idf": shared, "mean of both": (offsets + shared) / 2}


def similarity_table(similarities: dict[str, Any]) -> str:
    """Return the similarities of copies and of other paragraphs as Markdown."""
    columns = [
        "words changed: similarity",
        "copies, lowest 1 %",
        "copies, median",
        "others, median",
        "others, highest 1 %",
    ]
    rows = [
        [name.replace(" changed", ""), *(f"{value:.2f}" for value in (*each["copies"], *each["others"]))]
        for name, each in similarities.items()
    ]
    return table(columns, rows)


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    times = [
        [size, *(f"{n:,}" for n in counts), f"{spent:.1f}"] for size, (spent, *counts) in result["seconds"].items()
    ]
    return (
        f"Copies with changed words, and the nearest other paragraph of each:\n\n"
        f"{similarity_table(result['similarities'])}\n\n"
        f"All groups, threshold {result['threshold']}, one core:\n\n"
        f"{table(['paragraphs', 'groups', 'redundant texts', 's'], times)}"
    )


if __name__ == "__main__":
    print(report(run()))
