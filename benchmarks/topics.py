"""Topics: SphericalTopics beside LSI with k-means, LSI with HDBSCAN, NMF and LDA, over five seeds.

Run with ``python -m benchmarks topics``. The corpora are 20 Newsgroups, StackOverflow
and SearchSnippets where they are installed (``SCIKIT_LEARN_DATA``, ``PARASPHERE_TASKS``), else the embedded docstrings;
of each, ``TEXTS`` texts drawn at random, and as many topics as labels. NMI and ARI compare the topics of all texts with
their labels; outliers, and what HDBSCAN calls noise, are one more cluster. NPMI is the mean over topics of the
normalised pointwise mutual information of the pairs of their ten words, by how many texts have them; diversity is the
share of different words among all of them. The words of clusters are those of class-based tf-idf.
"""

from benchmarks.measure import table

import os
import time
import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize

from parasphere import SphericalTopics, Tokenizer, Vocabulary, count_matrix, count_words, datasets
from parasphere.baselines import LatentSemanticIndex, NonnegativeFactors, TopicsLDA
from parasphere.topics.sums import members
from parasphere.topics.words import class_tfidf, top_words

TEXTS = int(os.environ.get("PARASPHERE_TOPIC_TEXTS", "5000"))
SEEDS = range(5)
AXES = 100  # of LSI
Found = tuple[NDArray[np.int64], list[list[str]]]


def corpora() -> dict[str, tuple[list[str], NDArray[np.int64]]]:
    found = {}
    for name in ("20news", "stackoverflow", "searchsnippets"):
        try:
            data = datasets.load(name) if name == "20news" else datasets.texts_to_cluster(name)
        except (OSError, ValueError):
            continue
        some = np.sort(np.random.default_rng(0).permutation(len(data))[:TEXTS])
        found[name] = [data.texts[i] for i in some], data.labels[some]
    if not found:
        data = datasets.load("docstrings")
        found["docstrings"] = data.texts, data.labels
    return found


def spherical(texts: list[str], k: int, seed: int) -> Found:
    topics = SphericalTopics(n_topics=k, random_state=seed).fit(texts)
    return topics.labels_, topics.topic_words()


def lsi_kmeans(texts: list[str], k: int, seed: int) -> Found:
    rows = normalize(LatentSemanticIndex(AXES, random_state=seed).fit_transform(texts))
    labels = KMeans(k, n_init=10, random_state=seed).fit(rows).labels_
    return labels, words_of(texts, labels)


def lsi_hdbscan(texts: list[str], _k: int, seed: int) -> Found:
    rows = normalize(LatentSemanticIndex(AXES, random_state=seed).fit_transform(texts))
    labels = HDBSCAN(min_cluster_size=15, copy=True).fit(rows).labels_
    return labels, words_of(texts, labels)


def nmf(texts: list[str], k: int, seed: int) -> Found:
    topics = NonnegativeFactors(k, max_words=20_000, random_state=seed).fit(texts)
    return topics.transform(texts).argmax(axis=1), topics.topic_words()


def lda(texts: list[str], k: int, seed: int) -> Found:
    topics = TopicsLDA(k, max_words=20_000, random_state=seed).fit(texts)
    return topics.transform(texts).argmax(axis=1), topics.topic_words()


METHODS: dict[str, Callable[[list[str], int, int], Found]] = {
    "SphericalTopics": spherical, "LSI + k-means": lsi_kmeans, "LSI + HDBSCAN": lsi_hdbscan, "NMF": nmf, "LDA": lda,
}  # fmt: skip


def counted(texts: list[str]) -> tuple[list[str], Any]:
    """Return the 20,000 most frequent words, and how often each text has them."""
    split = Tokenizer(stop_words="english", min_length=2)
    words = count_words(texts, split)[0][:20_000]
    return words, count_matrix(texts, Vocabulary(words), split)


def words_of(texts: list[str], labels: NDArray[np.int64]) -> list[list[str]]:
    words, counts = counted(texts)
    k = int(labels.max()) + 1
    return top_words(class_tfidf(np.asarray((members(labels, k) @ counts).toarray())), words, 10)


def npmi(topics: list[list[str]], words: list[str], counts: Any) -> float:
    """Return the mean over topics of the NPMI of pairs of words; a pair that no text has counts as -1."""
    place = {word: i for i, word in enumerate(words)}
    has = (counts > 0).astype(np.int64).tocsc()
    n = has.shape[0]
    means = []
    for topic in topics:
        known = [place[word] for word in topic if word in place]
        if len(known) < 2:
            continue
        together = np.asarray((has[:, known].T @ has[:, known]).toarray())
        values = []
        for i, j in combinations(range(len(known)), 2):
            both = together[i, j] / n
            alone = together[i, i] / n * together[j, j] / n
            values.append(np.log(both / alone) / -np.log(both) if 0 < both < 1 else -1.0)
        means.append(np.mean(values))
    return float(np.mean(means)) if means else float("nan")


def measured(method: Any, texts: list[str], labels: NDArray[np.int64], counts: Any, words: list[str]) -> dict[str, Any]:
    k = len(np.unique(labels))
    rows: dict[str, list[float]] = {name: [] for name in ("nmi", "ari", "npmi", "diversity", "topics", "seconds")}
    for seed in SEEDS:
        start = time.perf_counter()
        found, topics = method(texts, k, seed)
        rows["seconds"].append(time.perf_counter() - start)
        rows["nmi"].append(float(normalized_mutual_info_score(labels, found)))
        rows["ari"].append(float(adjusted_rand_score(labels, found)))
        rows["npmi"].append(npmi(topics, words, counts))
        said = [word for topic in topics for word in topic]
        rows["diversity"].append(len(set(said)) / max(len(said), 1))
        rows["topics"].append(len(topics))
    return rows


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore")  # of convergence, which the tables would not show
    results: dict[str, Any] = {}
    for corpus, (texts, labels) in corpora().items():
        words, counts = counted(texts)
        for name, method in METHODS.items():
            results[f"{corpus}/{name}"] = {"texts": len(texts), **measured(method, texts, labels, counts, words)}
            means = {key: round(float(np.mean(value)), 3) for key, value in results[f"{corpus}/{name}"].items()}
            print(corpus, name, means, flush=True)
    return results


def report(results: dict[str, Any]) -> str:
    def shown(row: dict[str, Any], name: str) -> str:
        return f"{100 * np.mean(row[name]):.1f} ± {100 * np.std(row[name], ddof=1):.1f}"

    rows = []
    for key, row in results.items():
        corpus, method = key.split("/")
        cells = [shown(row, name) for name in ("nmi", "ari", "npmi", "diversity")]
        rows.append([corpus, row["texts"], method, *cells, f"{np.mean(row['topics']):.0f}",
                     f"{np.mean(row['seconds']):.1f}"])  # fmt: skip
    columns = ["corpus", "texts", "method", "NMI", "ARI", "NPMI", "diversity", "topics", "seconds"]
    return f"Means and standard deviations over {len(SEEDS)} seeds, in per cent.\n\n{table(columns, rows)}"


if __name__ == "__main__":
    print(report(run()))
