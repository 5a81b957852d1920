"""Known-item search: descriptions of Debian's packages, found by their titles.

Run with ``python -m benchmarks packages``. PARASPHERE_BENCH_PACKAGES names a file of descriptions, as fetched
by ``apt-get update -o Acquire::Languages=en`` (``Translation-en``; ``apt-helper cat-file`` unpacks it).
The index has the descriptions of 10,000 random packages without their titles; each title is a query.
"""

from benchmarks.measure import table

import os
from pathlib import Path
from typing import Any

import numpy as np

from parasphere import Index, SphericalParagraphModel

PACKAGES = 10_000


def packages() -> list[tuple[str, str, str]]:
    """Return names, titles and descriptions, without repeated descriptions."""
    path = os.environ.get("PARASPHERE_BENCH_PACKAGES")
    if path is None:
        raise SystemExit("set PARASPHERE_BENCH_PACKAGES to a file of descriptions (Translation-en)")
    found: dict[str, tuple[str, str]] = {}
    for paragraph in Path(path).read_text().split("\n\n"):
        head, marker, body = paragraph.partition("Description-en: ")
        title, *lines = body.splitlines() or [""]
        text = "\n".join(line.strip() for line in lines if line.strip() != ".")
        if marker and title and text:
            found.setdefault(text, (head.split()[1], title))  # the first line is "Package: NAME"
    return [(name, title, text) for text, (name, title) in found.items()]


def reciprocal_ranks(index: Index, queries: list[str], weight: float | None) -> np.ndarray:
    """Return 1 / rank of document i for query i, 0 if it is not among the best 100."""
    ranks = np.zeros(len(queries))
    for i, matches in enumerate(index.search(queries, 100, weight=weight)):
        place = np.flatnonzero(matches.positions == i)
        ranks[i] = 1 / (1 + place[0]) if len(place) else 0.0
    return ranks


def run() -> dict[str, Any]:
    """Measure everything in one process."""
    everything = packages()
    rng = np.random.default_rng(0)
    chosen = [everything[i] for i in rng.choice(len(everything), min(PACKAGES, len(everything)), replace=False)]
    _, titles, texts = map(list, zip(*chosen, strict=True))
    models = {"adapted to the texts": SphericalParagraphModel(), "as given": SphericalParagraphModel(adapt=False)}
    rows = {}
    for name, model in models.items():
        index = model.fit(texts).index(texts)
        exact = model.index(texts, language=None)
        rows[f"vectors {name}: meaning alone"] = reciprocal_ranks(index, titles, 0)
        rows[f"vectors {name}: meaning and words"] = reciprocal_ranks(exact, titles, None)
        rows[f"vectors {name}: meaning and stems"] = reciprocal_ranks(index, titles, None)
    rows["words alone"] = reciprocal_ranks(exact, titles, 1)
    rows["stems alone"] = reciprocal_ranks(index, titles, 1)
    return {"packages": len(texts), "rows": {name: _summary(ranks) for name, ranks in rows.items()}}


def _summary(ranks: np.ndarray) -> dict[str, float]:
    return {"mrr": float(ranks.mean()), "error": float(ranks.std() / np.sqrt(len(ranks)))}


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    rows = [[name, f"{each['mrr']:.3f}", f"{each['error']:.3f}"] for name, each in result["rows"].items()]
    return f"{result['packages']:,} descriptions of packages, found by their titles: mean reciprocal rank.\n\n" + table(
        ["", "mean reciprocal rank", "standard error"], rows
    )
