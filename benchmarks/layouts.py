"""Maps: our layout beside openTSNE, by time and trustworthiness.

Run with ``python -m benchmarks layouts``; needs openTSNE. Rows are the offsets of docstrings, of messages of 20
Newsgroups, and of the first 100,000 paragraphs of the text that PARASPHERE_BENCH_TEXT names. Trustworthiness is
scikit-learn's, of 15 neighbours by cosine, for at most 2,000 of the rows. Times are CPU seconds on one core.
"""

from benchmarks.measure import table

import time
from typing import Any

import numpy as np
from openTSNE import TSNE
from sklearn.datasets import fetch_20newsgroups
from sklearn.manifold import trustworthiness

from benchmarks.search import paragraphs
from parasphere import SphericalParagraphModel, datasets
from parasphere.plots.layout import neighbour_map

JUDGED = 2000
PARAGRAPHS = 100_000


def run() -> dict[str, Any]:
    """Lay each corpus by each method."""
    corpora = {
        "docstrings": datasets.load("docstrings").texts,
        "20 Newsgroups": fetch_20newsgroups(subset="all", remove=("headers", "footers", "quotes")).data,
        "Wikipedia": paragraphs(PARAGRAPHS),
    }
    model, rows = SphericalParagraphModel(), {}
    for name, texts in corpora.items():
        vectors = model.fit(texts).transform(texts)
        vectors = vectors[vectors.any(axis=1)]
        layouts = {
            "ours": neighbour_map,
            "openTSNE": TSNE(metric="cosine", negative_gradient_method="fft", n_jobs=1, random_state=0).fit,
        }
        for method, layout in layouts.items():
            start = time.process_time()
            points = np.asarray(layout(vectors))
            seconds = time.process_time() - start
            judged = np.random.default_rng(0).permutation(len(vectors))[:JUDGED]
            trust = float(trustworthiness(vectors[judged], points[judged], n_neighbors=15, metric="cosine"))
            rows[f"{name}, {len(vectors):,}: {method}"] = {"seconds": seconds, "trustworthiness": trust}
    return {"rows": rows}


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    rows = [[name, f"{each['seconds']:.1f}", f"{each['trustworthiness']:.3f}"] for name, each in result["rows"].items()]
    return table(["corpus, rows: layout", "s of CPU", "trustworthiness"], rows)
