"""Exact search among 100,000 paragraphs: time per query, and to make, save, open and update the index.

Run with ``python -m benchmarks search``. The paragraphs, of at least 20 words, are from the file PARASPHERE_BENCH_TEXT
(one per line; ours is the beginning of the English Wikipedia). Queries are the first words of some of them. Times are
the best of several repeats on one core. bm25s, if it is installed, ranks the same texts by words alone.
"""

from benchmarks.measure import best, table

import os
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parasphere import Index, SphericalParagraphModel
from parasphere.corpus import blocks
from parasphere.places import GLOVE

PARAGRAPHS = 100_000
QUERIES, QUERY_WORDS = 100, 8
BARS = {"hybrid, 100 at once": 5.0}


def paragraphs(count: int) -> list[str]:
    """Return the first paragraphs of at least 20 words."""
    path = os.environ.get("PARASPHERE_BENCH_TEXT")
    if path is None:
        raise SystemExit("set PARASPHERE_BENCH_TEXT to a file of paragraphs, one per line (.txt, .txt.gz, .txt.xz)")
    found: list[str] = []
    for block in blocks(Path(path)):
        found += [text for text in block.texts if text.count(" ") >= 19]
        if len(found) >= count:
            break
    return found[:count]


def run() -> dict[str, Any]:
    """Measure everything in one process."""
    texts = paragraphs(PARAGRAPHS)
    rng = np.random.default_rng(0)
    queries = [" ".join(texts[i].split()[:QUERY_WORDS]) for i in rng.choice(len(texts), QUERIES, replace=False)]
    model = SphericalParagraphModel(GLOVE, adapt=False).fit(texts)
    table_of = {"number": list(range(len(texts))), "text": texts, "tenth": [i % 10 for i in range(len(texts))]}
    start = time.perf_counter()
    index = model.index(pd.DataFrame(table_of), "number", columns=["tenth"])
    seconds = {"make the index": time.perf_counter() - start}
    milliseconds = {}
    for name, weight in (("hybrid", None), ("offsets alone", 0.0), ("words alone", 1.0)):
        together = best(lambda weight=weight: index.search(queries, weight=weight))  # type: ignore[misc]
        milliseconds[f"{name}, {QUERIES} at once"] = 1e3 * together / QUERIES
    filtered = best(lambda: index.search(queries, where={"tenth": 3}))
    milliseconds[f"hybrid, {QUERIES} at once, among a tenth"] = 1e3 * filtered / QUERIES
    alone = best(lambda: [index.search(query) for query in queries[:20]])
    milliseconds["hybrid, one at a time"] = 1e3 * alone / 20
    milliseconds["hybrid, whole paragraphs as queries"] = 1e3 * best(lambda: index.search(texts[:QUERIES])) / QUERIES
    if find_spec("bm25s"):
        milliseconds[f"bm25s, {QUERIES} at once"] = 1e3 * _bm25s(texts, queries) / QUERIES
    table_of["text"] = [f"{text} changed" if i % 100 == 7 else text for i, text in enumerate(texts)]
    changed = pd.DataFrame(table_of)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        index.save(Path(folder, "index"))
        seconds["save"] = time.perf_counter() - start
        size = sum(path.stat().st_size for path in Path(folder, "index").iterdir())
        start = time.perf_counter()
        Index.load(Path(folder, "index"))
        seconds["open for the first time"] = time.perf_counter() - start
        start = time.perf_counter()
        assert index.update(changed, "number").replaced == len(texts) // 100
        seconds["update, 1 % changed"] = time.perf_counter() - start
        milliseconds["open"] = 1e3 * best(lambda: Index.load(Path(folder, "index")))
    return {
        "paragraphs": len(texts), "dim": index.offsets.shape[1], "postings": len(index.bm25.documents),
        "megabytes": size / 1e6, "seconds": seconds, "milliseconds": milliseconds, "bars": BARS,
    }  # fmt: skip


def _bm25s(texts: list[str], queries: list[str]) -> float:
    import bm25s

    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def search() -> Any:
        return retriever.retrieve(
            bm25s.tokenize(queries, stopwords="en", show_progress=False), k=10, show_progress=False
        )

    return best(search)


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    rows = [
        [name, f"{value:.2f}", f"< {result['bars'][name]:.0f}" if name in result["bars"] else ""]
        for name, value in result["milliseconds"].items()
    ]
    rows += [[name, f"{1e3 * value:,.0f}", ""] for name, value in result["seconds"].items()]
    return (
        f"{result['paragraphs']:,} paragraphs, {result['dim']} dimensions, {result['postings']:,} words; a saved index "
        f"of {result['megabytes']:.0f} MB. Exact search, k = 10, one core.\n\n"
        + table(["", "ms (per query)", "bar"], rows)
    )


if __name__ == "__main__":
    print(report(run()))
