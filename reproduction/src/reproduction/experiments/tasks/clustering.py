"""Clustering: how well clusters of texts agree with their labels, which nothing is fitted to.

Encoders are fitted to the texts, once, or with each seed if their vectors depend on it. Their vectors, scaled to unit
length, are divided into as many clusters as there are labels, by k-means and, if they are dense, by a mixture of von
Mises-Fisher distributions, with each of five seeds. Topic models are fitted with each seed, and the cluster of a text
is its largest topic. The measures are normalised mutual information and the adjusted Rand index, by scikit-learn.
"""

import time
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize

from parasphere import MovMF

from ...datasets import Dataset, texts_to_cluster
from ...datasets import load as load_corpus

DATASETS = ("stackoverflow", "searchsnippets", "20news")
SEEDS = range(5)
STARTS, MIXTURE_STARTS = 10, 5  # of k-means and of mixtures, of which the best is kept
K_MEANS, MIXTURE, TOPICS = "k-means", "movMF", "largest topic"

Ints = NDArray[np.int64]


def load(name: str, folder: Path | None) -> Dataset:
    """Load a corpus."""
    return load_corpus(name) if name == "20news" else texts_to_cluster(name, folder)


def texts(data: Dataset) -> list[str]:
    """Return the texts."""
    return data.texts


def evaluate(
    build: Callable[[int], Any], data: Dataset, seeds: Sequence[int] = (0,), *, topics: bool = False
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Cluster the texts with each seed, and measure.

    Parameters
    ----------
    build : callable
        Takes a seed and returns an unfitted encoder.
    data : Dataset
    seeds : sequence of int, default=(0,)
        Seeds of the encoder: one, or as many as there are clusterings, each of which then has an encoder of its own.
    topics : bool, default=False
        The features of the encoder are topics, one per label.

    Returns
    -------
    facts : dict
        "clusterings": per method the measures with each seed, and the mean time of a clustering; JSON-able.
    arrays : dict
        The clusters of the texts by the first seed, per method.
    """
    found: dict[str, list[Ints]] = {}
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    if topics:
        found[TOPICS] = [np.asarray(build(seed).fit(data.texts).transform(data.texts)).argmax(axis=1) for seed in SEEDS]
        fit_seconds = seconds[TOPICS] = (time.perf_counter() - began) / len(SEEDS)
    else:
        fitted = [normalize(build(seed).fit(data.texts).transform(data.texts)) for seed in seeds]
        fit_seconds = (time.perf_counter() - began) / len(seeds)
        for method in (K_MEANS,) if sparse.issparse(fitted[0]) else (K_MEANS, MIXTURE):
            began = time.perf_counter()
            found[method] = [
                clusters(vectors, len(data.label_names), method, seed)
                for seed, vectors in zip(SEEDS, cycle(fitted), strict=False)
            ]
            seconds[method] = (time.perf_counter() - began) / len(SEEDS)
    clusterings = {
        method: {**measured(data.labels, labels), "seconds": seconds[method]} for method, labels in found.items()
    }
    facts = {"clusterings": clusterings, "n_documents": len(data), "fit_seconds": fit_seconds}
    return facts, {method: labels[0] for method, labels in found.items()}


def clusters(vectors: Any, k: int, method: str, seed: int) -> Ints:
    """Divide unit vectors into ``k`` clusters: (n, dim) -> (n,)."""
    if method == K_MEANS:
        return np.asarray(KMeans(k, n_init=STARTS, random_state=seed).fit(vectors).labels_, np.int64)
    return np.asarray(MovMF(k, n_init=MIXTURE_STARTS, random_state=seed).fit(vectors).labels_, np.int64)


def measured(labels: Ints, found: list[Ints]) -> dict[str, list[float]]:
    """Return the agreement of clusterings with the labels, one number per clustering."""
    return {
        "nmi": [float(normalized_mutual_info_score(labels, one)) for one in found],
        "ari": [float(adjusted_rand_score(labels, one)) for one in found],
    }
