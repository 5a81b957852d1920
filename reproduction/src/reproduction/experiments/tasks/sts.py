"""Semantic textual similarity: how well the similarities of sentence pairs follow the judgements of people.

Systems are fitted to the sentences of the training part, without scores, and compare the pairs of another part. The
measure is Spearman's rank correlation of similarities and scores.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import pearsonr, spearmanr

from ...datasets import SentencePairs, sentence_pairs
from ..seeds import over_seeds
from ..significance import Interval, bootstrap_interval
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


def evaluate(
    build: Callable[[int], Any], data: Benchmark, seeds: Sequence[int] = (0,)
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Fit a system with each seed, compare the pairs, and measure.

    Parameters
    ----------
    build : callable
        Takes a seed and returns an unfitted encoder or comparer.
    data : Benchmark
    seeds : sequence of int, default=(0,)

    Returns
    -------
    facts : dict
        Means over seeds of rank and linear correlation and of times, the interval of the first over pairs and seeds,
        and ``by_seed``, the first with each seed; JSON-able.
    arrays : dict
        "similarities" of the pairs, with the first seed.
    """
    found = [_evaluate(build(seed), data) for seed in seeds]
    names = ("spearman", "pearson", "fit_seconds", "pairs_per_second")
    facts: dict[str, Any] = {name: float(np.mean([one[name] for one, _ in found])) for name in names}
    by_seed = [one["spearman"] for one, _ in found]
    whole = over_seeds(by_seed, [Interval(*one["interval"]) for one, _ in found])
    facts |= {"interval": list(whole), "by_seed": by_seed, "n_pairs": len(data.pairs)}
    return facts, {"similarities": found[0][1]}


def _evaluate(estimator: Any, data: Benchmark) -> tuple[dict[str, Any], NDArray[np.float64]]:
    began = time.perf_counter()
    system: Any = comparer(estimator).fit(data.sentences)
    fitted = time.perf_counter()
    similarities = system.similarities(data.pairs.first, data.pairs.second)
    ended = time.perf_counter()
    facts = {
        **measured(similarities, data.pairs.scores),
        "fit_seconds": fitted - began,
        "pairs_per_second": len(data.pairs) / max(ended - fitted, 1e-9),
    }
    return facts, similarities


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
