"""Retrieval: how well the documents that answer a query are ranked.

Systems are fitted to the documents of a collection and rank them for each query. The measures are nDCG@10 and recall
at 100, over the queries that have judgements, as trec_eval defines them; and the time per query, one at a time.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import ndcg_score

from ...datasets import Collection, collection
from ..seeds import over_seeds
from ..significance import Interval, bootstrap_interval
from .rivals import comparer

DATASETS = ("cranfield", "cisi")
DEPTH = 100  # documents that are ranked per query
TIMED = 50  # queries whose time is taken


def load(name: str, folder: Path | None) -> Collection:
    """Load a collection."""
    return collection(name, folder)


def texts(data: Collection) -> list[str]:
    """Return documents and queries."""
    return data.texts + data.queries


def evaluate(
    build: Callable[[int], Any], data: Collection, seeds: Sequence[int] = (0,)
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Fit a system with each seed, rank the documents, and measure.

    Parameters
    ----------
    build : callable
        Takes a seed and returns an unfitted encoder or comparer.
    data : Collection
    seeds : sequence of int, default=(0,)

    Returns
    -------
    facts : dict
        Means over seeds of the measures, of their values per query and of times; the interval of nDCG@10 over queries
        and seeds, and ``by_seed``, nDCG@10 with each seed; JSON-able. ``milliseconds`` is the median over queries of
        the time from the text of a query to its ranking.
    arrays : dict
        "ranked", the positions of the best documents per query, with the first seed.
    """
    found = [_evaluate(build(seed), data) for seed in seeds]
    names = ("ndcg", "recall", "fit_seconds", "milliseconds")
    facts: dict[str, Any] = {name: float(np.mean([one[name] for one, _ in found])) for name in names}
    by_seed = [one["ndcg"] for one, _ in found]
    facts |= {
        "interval": list(over_seeds(by_seed, [Interval(*one["interval"]) for one, _ in found])),
        "by_seed": by_seed,
        "ndcg_by_query": np.mean([one["ndcg_by_query"] for one, _ in found], axis=0).round(6).tolist(),
        "n_documents": len(data),
        "n_queries": len(data.queries),
    }
    return facts, {"ranked": found[0][1]}


def _evaluate(estimator: Any, data: Collection) -> tuple[dict[str, Any], NDArray[np.int64]]:
    began = time.perf_counter()
    system: Any = comparer(estimator).fit(data.texts).index(data.texts)
    fit_seconds = time.perf_counter() - began
    ranked = ranking(system.scores(data.queries))
    facts = {
        **measured(data, ranked),
        "fit_seconds": fit_seconds,
        "milliseconds": 1000 * float(np.median([_timed(system, query) for query in data.queries[:TIMED]])),
    }
    return facts, ranked


def ranking(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the positions of the best documents per query, best first; of equal ones the earlier is first."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]


def measured(data: Collection, ranked: NDArray[np.int64]) -> dict[str, Any]:
    """Return the mean over queries of each measure, the values of nDCG@10 per query, and its 95 % interval."""
    judged = (document for answers in data.judgements.values() for document in answers)
    columns = {document: column for column, document in enumerate(dict.fromkeys([*data.ids, *judged]))}
    gains, recalls = [], []
    for query, places in zip(data.query_ids, ranked, strict=True):
        relevance, ranks = np.zeros(len(columns)), np.zeros(len(columns))
        for document, value in data.judgements[query].items():
            relevance[columns[document]] = max(value, 0)
        ranks[places] = np.arange(len(places), 0, -1)  # the best is the largest, as of scores; those not ranked have 0
        gains.append(ndcg_score([relevance], [ranks], k=10))
        recalls.append((relevance[places] > 0).sum() / max((relevance > 0).sum(), 1))
    by_query = np.array(gains)
    return {
        "ndcg": float(by_query.mean()),
        "interval": list(bootstrap_interval(lambda places: float(by_query[places].mean()), len(by_query))),
        "recall": float(np.mean(recalls)),
        "ndcg_by_query": by_query.round(6).tolist(),
    }


def _timed(system: Any, query: str) -> float:
    began = time.perf_counter()
    ranking(system.scores([query]))
    return time.perf_counter() - began
