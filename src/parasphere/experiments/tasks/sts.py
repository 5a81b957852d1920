"""Semantic textual similarity: how well the similarities of sentence pairs follow the judgements of people.

Systems are fitted to the sentences of the training part, without scores, and compare the pairs of another part. The
measure is Spearman's rank correlation of similarities and scores.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from ...datasets import SentencePairs, sentence_pairs
from ..significance import bootstrap_interval
from .rivals import comparer

DATASETS = ("stsb-dev", "stsb-test")


class Benchmark(NamedTuple):
    """Sentences to learn from, and pairs to compare."""

    sentences: list[str]
    pairs: SentencePairs


def load(name: str, folder: Path | None) -> Benchmark:
    """Load the training part and a part to compare."""
    train = sentence_pairs("train", folder)
    return Benchmark(train.first + train.second, sentence_pairs(name.removeprefix("stsb-"), folder))


def texts(data: Benchmark) -> list[str]:
    """Return all sentences."""
    return data.sentences + data.pairs.first + data.pairs.second


def evaluate(build: Callable[[int], Any], data: Benchmark) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Fit a system, compare the pairs, and measure.

    Parameters
    ----------
    build : callable
        Takes a seed and returns an unfitted encoder or comparer.
    data : Benchmark

    Returns
    -------
    facts : dict
        Rank and linear correlation, the interval of the first, and times; JSON-able.
    arrays : dict
        "similarities" of the pairs.
    """
    began = time.perf_counter()
    system: Any = comparer(build(0)).fit(data.sentences)
    fitted = time.perf_counter()
    similarities = system.similarities(data.pairs.first, data.pairs.second)
    ended = time.perf_counter()
    facts = {
        **measured(similarities, data.pairs.scores),
        "n_pairs": len(data.pairs),
        "fit_seconds": fitted - began,
        "pairs_per_second": len(data.pairs) / max(ended - fitted, 1e-9),
    }
    return facts, {"similarities": similarities}


def measured(similarities: NDArray[np.float64], scores: NDArray[np.float64]) -> dict[str, Any]:
    """Return the correlations of similarities with scores, and the 95 % interval of the first over pairs."""

    def rank_correlation(places: Any) -> float:
        return float(spearmanr(similarities[places], scores[places]).statistic)

    everything = np.arange(len(scores))
    return {
        "spearman": rank_correlation(everything),
        "interval": list(bootstrap_interval(rank_correlation, len(scores))),
        "pearson": float(pearsonr(similarities, scores).statistic),
    }
