"""The words that describe topics, from how often each word occurs in the texts of each topic."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
SMOOTHING = 0.01  # added to counts, so that a word that no text of a topic has keeps a finite ratio
COMPANY = 10  # first words of a topic, with which its other words may occur
MOST_COMPANY = 4  # of them that count in one text, so that a long text with all of them does not decide
ALONE = 0.1  # count of a word in a text that has none of the others


def likelihood_ratio(counts: Floats, weighted: Floats | None = None) -> Floats:
    """Return the share of each word in the log-likelihood ratio of a topic's words, (n_topics, n_words).

    ``p(w|t) log(p(w|t) / p(w))``: how much word ``w`` distinguishes the topic from the corpus, per word of the topic.
    The shares of a topic sum to its Kullback-Leibler divergence from the corpus. ``p(w|t)`` is
    that of the weighted counts, if there are any; ``p(w)`` always that of the counts.
    """
    corpus = counts.sum(axis=0) + SMOOTHING
    corpus /= corpus.sum()
    own = counts if weighted is None else weighted
    topics = own + SMOOTHING * own.sum(axis=1, keepdims=True) / max(own.sum(), 1.0)
    topics /= np.where(topics.sum(axis=1) > 0, topics.sum(axis=1), 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = topics * np.log(topics / corpus)
    return np.asarray(np.nan_to_num(shares))


def counted_together(
    counts: sparse.csr_array, labels: NDArray[np.int64], topic_counts: Floats
) -> sparse.csr_array:  # fmt: skip
    """Weight the words of texts by the topic words beside them, (n_texts, n_words).

    A word counts ``ALONE`` times, and once more for each other of the ``COMPANY`` first words of the text's topic that
    the text has, up to ``MOST_COMPANY``. Words that occur together describe a topic; a word that is frequent in it, but
    in texts without the others, does not.

    Parameters
    ----------
    counts : csr_array, (n_texts, n_words)
    labels : (n_texts,) ints
        The topic of each text; negative for none, and the words of such texts do not count.
    topic_counts : (n_topics, n_words)
        The counts of each topic, by which its first words are chosen.
    """
    shares = likelihood_ratio(topic_counts)
    least = np.partition(shares, -COMPANY, axis=1)[:, -COMPANY, None] if shares.shape[1] > COMPANY else 0.0
    first = (shares >= least) & (shares > 0)
    texts = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    is_first = first[labels[texts], counts.indices] & (labels[texts] >= 0)
    others = np.bincount(texts, is_first, counts.shape[0])[texts] - is_first
    weights = np.where(labels[texts] >= 0, ALONE + np.minimum(others, MOST_COMPANY), 0.0)
    return sparse.csr_array((counts.data * weights, counts.indices, counts.indptr), shape=counts.shape)


def together(counts: Floats, weighted: Floats) -> Floats:
    """Return how well words describe topics, from counts weighted by :func:`counted_together`, (n_topics, n_words).

    ``p(w|t) log(p(w|t) / p(w)) p(t|w)^(1/4)``, where the weighted counts give ``p(w|t)``: the last factor
    lowers words that several topics share a little.
    """
    totals = counts.sum(axis=0)
    return likelihood_ratio(counts, weighted) * (counts / np.where(totals > 0, totals, 1.0)) ** 0.25


def top_words(scores: NDArray[Any], words: list[str], k: int) -> list[list[str]]:
    """Return the ``k`` words of highest score per topic, highest first; only words with a positive score."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return [[words[w] for w in row if scores[t, w] > 0] for t, row in enumerate(best)]
