"""The words that describe topics, from how often each word occurs in the texts of each topic."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMOOTHING = 0.01  # added to counts, so that a word that no text of a topic has keeps a finite ratio


def class_tfidf(counts: Floats) -> Floats:
    """Return the class-based tf-idf of words in topics (Grootendorst, 2022), (n_topics, n_words).

    ``c_tw / sum_w c_tw * log(1 + m / sum_t c_tw)``, where ``m`` is the mean of ``sum_w c_tw`` over topics.
    """
    totals = counts.sum(axis=1, keepdims=True)
    frequencies = counts.sum(axis=0)
    idf = np.log1p(totals.mean() / np.where(frequencies > 0, frequencies, 1.0))
    return np.asarray(counts / np.where(totals > 0, totals, 1.0) * idf)


def likelihood_ratio(counts: Floats) -> Floats:
    """Return the share of each word in the log-likelihood ratio of a topic's words, (n_topics, n_words).

    ``p(w|t) log(p(w|t) / p(w))``: how much, per word of the topic, word ``w`` tells the topic from the corpus. The
    shares of a topic sum to its Kullback-Leibler divergence from the corpus.
    """
    corpus = counts.sum(axis=0) + SMOOTHING
    corpus /= corpus.sum()
    topics = counts + SMOOTHING * counts.sum(axis=1, keepdims=True) / max(counts.sum(), 1.0)
    topics /= np.where(topics.sum(axis=1) > 0, topics.sum(axis=1), 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = topics * np.log(topics / corpus)
    return np.asarray(np.nan_to_num(shares))


MEASURES = {"likelihood": likelihood_ratio, "tfidf": class_tfidf}


def top_words(scores: NDArray[Any], words: list[str], k: int) -> list[list[str]]:
    """Return the ``k`` words of highest score per topic, highest first; only words with a positive score."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return [[words[w] for w in row if scores[t, w] > 0] for t, row in enumerate(best)]
