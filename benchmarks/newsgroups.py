"""The topics of 20 Newsgroups, and the time for topics and a map of 100,000 texts.

Run with ``python -m benchmarks newsgroups``; it takes some minutes. The newsgroups are those in ``SCIKIT_LEARN_DATA``,
and SphericalTopics finds the number of topics; the 100,000 texts are paragraphs of the file PARASPHERE_BENCH_TEXT.
Trustworthiness is scikit-learn's, with 15 neighbours, of 2,000 of the newsgroup texts.
"""

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "2")

from benchmarks.measure import table

import time
import warnings
from collections import Counter
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from benchmarks.search import paragraphs
from parasphere import SphericalTopics
from reproduction import datasets
from parasphere.plots.layout import neighbour_map

MANY, JUDGED = 100_000, 2_000


def run() -> dict[str, Any]:
    """Measure everything in one process."""
    warnings.simplefilter("ignore")
    news = datasets.load("20news")
    begun = time.perf_counter()
    topics = SphericalTopics().fit(news.texts)
    result: dict[str, Any] = {
        "texts": len(news),
        "seconds": time.perf_counter() - begun,
        "topics": _described(topics, news),
    }
    result["outliers"] = int((topics.labels_ < 0).sum())
    rows = topics.vectors(news.texts)
    some = np.random.default_rng(0).choice(len(rows), JUDGED, replace=False)
    points = neighbour_map(rows)
    result["kept"] = {
        "map": float(trustworthiness(rows[some], points[some], n_neighbors=15, metric="cosine")),
        "two principal axes": float(
            trustworthiness(rows[some], PCA(2).fit_transform(rows)[some], n_neighbors=15, metric="cosine")
        ),
    }
    texts = paragraphs(MANY)
    SphericalTopics(n_topics=5).fit(texts[:500])  # compiles
    neighbour_map(rows[:2000])
    result["many"] = {"texts": len(texts)}
    begun = time.perf_counter()
    wiki = SphericalTopics().fit(texts)
    result["many"]["seconds to topics"] = time.perf_counter() - begun
    result["many"]["topics"] = len(wiki.weights_)
    wide = wiki.vectors(texts)
    begun = time.perf_counter()
    neighbour_map(wide)
    result["many"]["seconds to a map"] = time.perf_counter() - begun
    return result


def _described(topics: SphericalTopics, news: Any) -> list[dict[str, Any]]:
    described = []
    for topic, words in enumerate(topics.topic_words(10)):
        members = np.flatnonzero(topics.labels_ == topic)
        groups = Counter(news.label_names[news.labels[i]] for i in members).most_common(2)
        described.append(
            {
                "size": len(members),
                "words": words,
                "groups": [(name, count / len(members)) for name, count in groups],
            }
        )
    return described


def report(result: dict[str, Any]) -> str:
    rows = [
        [
            f"{topic['size']:,}",
            ", ".join(topic["words"]),
            ", ".join(f"{name} {share:.0%}" for name, share in topic["groups"]),
        ]
        for topic in result["topics"]
    ]
    many, kept = result["many"], result["kept"]
    return (
        f"SphericalTopics finds {len(rows)} topics in the {result['texts']:,} texts of 20 Newsgroups, and "
        f"{result['outliers']:,} outliers, in {result['seconds']:.0f} s. The two most frequent newsgroups of each "
        f"topic are beside its words; the labels were not used.\n\n{table(['texts', 'words', 'newsgroups'], rows)}\n\n"
        f"Trustworthiness of the map {kept['map']:.3f}; two principal axes "
        f"{kept['two principal axes']:.3f}. {many['texts']:,} paragraphs of Wikipedia: {many['topics']} topics in "
        f"{many['seconds to topics']:.0f} s, a map of them in {many['seconds to a map']:.0f} s, on two threads."
    )
