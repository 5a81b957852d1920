"""Topics: SphericalTopics beside LSI with k-means, LSI with HDBSCAN, NMF and LDA.

Run with ``python -m benchmarks topics``. The corpora are 20 Newsgroups, StackOverflow and SearchSnippets if they are
installed (``SCIKIT_LEARN_DATA``, ``PARASPHERE_TASKS``), otherwise the embedded docstrings; of each, ``TEXTS`` random
texts, with as many topics as labels. NMI and ARI compare the topics of all texts with their labels, over twenty seeds;
outliers and the noise of HDBSCAN are one more cluster. The coherence of the ten words of each topic is gensim's, on the
same texts, over the first five seeds: C_v, and NPMI within windows of ten words. Diversity is the share of different
words among all of them. The words of clusters are those of class-based tf-idf.
"""

from benchmarks.measure import table

import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from gensim.corpora import Dictionary
from gensim.models import CoherenceModel
from numpy.typing import NDArray
from scipy.stats import ttest_ind
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize

from parasphere import SphericalTopics, Tokenizer
from parasphere.text import Vocabulary, count_matrix, count_words
from reproduction import datasets
from reproduction.baselines import LatentSemanticIndex, NonnegativeFactors, TopicsLDA
from reproduction.experiments.seeds import holm
from parasphere.topics.sums import members
from parasphere.topics.words import top_words

TEXTS = int(os.environ.get("PARASPHERE_TOPIC_TEXTS", "5000"))
SEEDS = range(20)
WORD_SEEDS = 5  # seeds whose words are measured, which takes longer than finding all topics
AXES = 100  # of LSI
SPLIT = Tokenizer(stop_words="english", min_length=2)
MEASURES = {"nmi": "NMI", "ari": "ARI", "c_v": "C_v", "c_npmi": "NPMI", "diversity": "diversity"}
Found = tuple[NDArray[np.int64], list[list[str]]]


def class_tfidf(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the class-based tf-idf of words in topics (Grootendorst, 2022), (n_topics, n_words).

    ``c_tw / sum_w c_tw * log(1 + m / sum_t c_tw)``, where ``m`` is the mean of ``sum_w c_tw`` over topics.
    """
    totals = counts.sum(axis=1, keepdims=True)
    frequencies = counts.sum(axis=0)
    idf = np.log1p(totals.mean() / np.where(frequencies > 0, frequencies, 1.0))
    return np.asarray(counts / np.where(totals > 0, totals, 1.0) * idf)


def corpora(size: int = TEXTS) -> dict[str, tuple[list[str], NDArray[np.int64]]]:
    found = {}
    for name in ("20news", "stackoverflow", "searchsnippets"):
        try:
            data = datasets.load(name) if name == "20news" else datasets.texts_to_cluster(name)
        except (OSError, ValueError):
            continue
        some = np.sort(np.random.default_rng(0).permutation(len(data))[:size])
        found[name] = [data.texts[i] for i in some], data.labels[some]
    if not found:
        data = datasets.load("docstrings")
        found["docstrings"] = data.texts, data.labels
    return found


def spherical(texts: list[str], k: int, seed: int, outliers: bool = True) -> Found:
    topics = SphericalTopics(n_topics=k, outliers=outliers, random_state=seed).fit(texts)
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
    "SphericalTopics": spherical, "SphericalTopics, outliers=False": partial(spherical, outliers=False),
    "LSI + k-means": lsi_kmeans, "LSI + HDBSCAN": lsi_hdbscan, "NMF": nmf, "LDA": lda,
}  # fmt: skip


def counted(texts: list[str]) -> tuple[list[str], Any]:
    """Return the 20,000 most frequent words, and their counts per text."""
    words = count_words(texts, SPLIT)[0][:20_000]
    return words, count_matrix(texts, Vocabulary(words), SPLIT)


def words_of(texts: list[str], labels: NDArray[np.int64]) -> list[list[str]]:
    words, counts = counted(texts)
    k = int(labels.max()) + 1
    return top_words(class_tfidf(np.asarray((members(labels, k) @ counts).toarray())), words, 10)


def coherences(topics: list[list[str]], texts: list[str], measure: str) -> NDArray[np.float64]:
    """Return gensim's coherence of the words of each topic; NaN for topics with less than two words.

    All topics are measured in one call, so that windows are counted once.
    """
    split_texts = [SPLIT(text) for text in texts]
    dictionary = Dictionary(split_texts)
    known = [[word for word in topic if word in dictionary.token2id] for topic in topics]
    some = np.array([len(topic) > 1 for topic in known])
    model = CoherenceModel(
        topics=[topic for topic in known if len(topic) > 1], texts=split_texts, dictionary=dictionary,
        coherence=measure, topn=10, processes=1,
    )  # fmt: skip
    values = np.full(len(known), np.nan)
    values[some] = model.get_coherence_per_topic()
    return values


def measured(method: Any, texts: list[str], labels: NDArray[np.int64]) -> dict[str, Any]:
    k = len(np.unique(labels))
    rows: dict[str, Any] = {name: [] for name in ("nmi", "ari", "diversity", "topics", "words")}
    for seed in SEEDS:
        found, topics = method(texts, k, seed)
        rows["nmi"].append(float(normalized_mutual_info_score(labels, found)))
        rows["ari"].append(float(adjusted_rand_score(labels, found)))
        rows["topics"].append(len(topics))
        if seed >= WORD_SEEDS:
            continue
        all_words = [word for topic in topics for word in topic]
        rows["diversity"].append(len(set(all_words)) / max(len(all_words), 1))
        rows["words"].append(topics)
    return rows


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore")  # of convergence
    results: dict[str, Any] = {}
    for corpus, (texts, labels) in corpora().items():
        rows = {name: measured(method, texts, labels) for name, method in METHODS.items()}
        topics = [topic for row in rows.values() for words in row["words"] for topic in words]
        for measure in ("c_v", "c_npmi"):
            values = iter(coherences(topics, texts, measure))
            for row in rows.values():
                row[measure] = [float(np.nanmean([next(values) for _ in words])) for words in row["words"]]
        for name, row in rows.items():
            del row["words"]
            results[f"{corpus}/{name}"] = {"texts": len(texts), **row}
            print(corpus, name, {key: round(float(np.mean(value)), 3) for key, value in row.items()}, flush=True)
    return results


def tests(results: dict[str, Any]) -> list[list[str]]:
    """Compare SphericalTopics with the best other method by NMI and ARI, one row per corpus and measure.

    The p-values are of Welch's test, corrected for their number by Holm's method.
    """
    rows, values = [], []
    for corpus in dict.fromkeys(key.split("/")[0] for key in results):
        ours, *others = (key for key in results if key.startswith(f"{corpus}/") and "outliers" not in key)
        for name in ("nmi", "ari"):
            best = max(others, key=lambda key: np.mean(results[key][name]))
            a, b = results[ours][name], results[best][name]
            values.append(float(ttest_ind(a, b, equal_var=False).pvalue))
            rows.append([corpus, MEASURES[name], f"{100 * (np.mean(a) - np.mean(b)):+.1f}", best.split("/")[1]])
    return [[*row, f"{p:.1g}"] for row, p in zip(rows, holm(values), strict=True)]


def report(results: dict[str, Any]) -> str:
    def shown(row: dict[str, Any], name: str) -> str:
        return f"{100 * np.mean(row[name]):.1f} ± {100 * np.std(row[name], ddof=1):.1f}"

    rows = []
    for key, row in results.items():
        corpus, method = key.split("/")
        cells = [shown(row, name) for name in MEASURES]
        rows.append([corpus, row["texts"], method, *cells, f"{np.mean(row['topics']):.0f}"])
    columns = ["corpus", "texts", "method", *MEASURES.values(), "topics"]
    compared = table(["corpus", "measure", "lead", "over", "p (Welch, Holm)"], tests(results))
    return (
        f"Means and standard deviations in per cent: NMI and ARI over {len(SEEDS)} seeds, the others over "
        f"{WORD_SEEDS}.\n\n{table(columns, rows)}\n\n"
        f"The lead of SphericalTopics over the best other method:\n\n{compared}"
    )


if __name__ == "__main__":
    print(report(run()))
