"""Searches in five test collections: by words, by stems, by meaning, and by stems and meaning together.

Run with ``python -m benchmarks collections``; it takes two minutes and needs the tasks (``PARASPHERE_TASKS``).
"""

from benchmarks.measure import table

import warnings
from typing import Any

import numpy as np

from parasphere import JointVectors, SphericalParagraphModel
from reproduction.datasets import Collection, collection
from reproduction.experiments.seeds import holm
from reproduction.experiments.significance import randomisation
from reproduction.experiments.tasks import retrieval
from reproduction.experiments.tasks.rivals import BM25

COLLECTIONS = {"cranfield": "Cranfield", "cisi": "CISI", "npl": "NPL", "lisa": "LISA", "scifact": "SciFact"}
MODELS = {
    "adapt=False": lambda: SphericalParagraphModel(adapt=False),
    "the default": SphericalParagraphModel,
    "JointVectors()": lambda: SphericalParagraphModel(JointVectors()),
}
WORDS, STEMS = "BM25 of words (bm25s)", "stems alone (weight=1)"
MEANING, BOTH = "meaning alone: {}", "both together: {}"


def run() -> dict[str, Any]:
    """Return the mean nDCG@10 of each search by collection, and the tests over all queries."""
    warnings.simplefilter("ignore")  # of convergence, which the tables would not show
    found = {name: _searched(collection(name)) for name in COLLECTIONS}
    together = {row: np.concatenate([found[name][row] for name in COLLECTIONS]) for row in found["cranfield"]}
    pairs = [(BOTH.format(name), other) for name in MODELS for other in (STEMS, MEANING.format(name))]
    tests = [randomisation(together[first], together[second]) for first, second in pairs]
    return {
        "queries": {name: len(found[name][WORDS]) for name in COLLECTIONS},
        "ndcg": {row: {name: float(np.mean(found[name][row])) for name in COLLECTIONS} for row in together},
        "tests": [
            {"first": first, "second": second, "difference": test.statistic, "p": p}
            for (first, second), test, p in zip(pairs, tests, holm([test.p for test in tests]), strict=True)
        ],
    }


def _searched(data: Collection) -> dict[str, list[float]]:
    rows = {WORDS: _by_query(data, retrieval.ranking(BM25().fit(data.texts).index(data.texts).scores(data.queries)))}
    for name, build in MODELS.items():
        index = build().fit(data.texts).index(data.texts)
        for row, weight in ((STEMS, 1.0), (MEANING.format(name), 0.0), (BOTH.format(name), None)):
            if row in rows:  # stems are the same with every model
                continue
            matches = index.search(data.queries, retrieval.DEPTH, weight=weight)
            rows[row] = _by_query(data, np.array([each.positions for each in matches]))
        print(
            data.name, name, {row: round(100 * float(np.mean(values)), 1) for row, values in rows.items()}, flush=True
        )
    return {
        row: rows[row] for row in [WORDS, STEMS, *(kind.format(name) for kind in (MEANING, BOTH) for name in MODELS)]
    }


def _by_query(data: Collection, ranked: Any) -> list[float]:
    values: list[float] = retrieval.measured(data, ranked)["ndcg_by_query"]
    return values


def report(result: dict[str, Any]) -> str:
    """Return a table of means, and one of tests."""
    queries = result["queries"]
    columns = ["nDCG@10, per cent", *(f"{title} ({queries[name]})" for name, title in COLLECTIONS.items()), "mean"]
    rows = [
        [row, *(f"{100 * value:.1f}" for value in (*means.values(), np.mean(list(means.values()))))]
        for row, means in result["ndcg"].items()
    ]
    tests = [
        [test["first"], test["second"], f"{100 * test['difference']:+.1f}", f"{test['p']:.4f}"]
        for test in result["tests"]
    ]
    return (
        f"{table(columns, rows)}\n\n"
        "The number of queries is in parentheses; the mean is over collections. Models are fitted to the documents, "
        "with one seed; an index finds the weight of words without labels. The settings of adapting were chosen on the "
        "first four collections.\n\n"
        f"Over all {sum(queries.values())} queries together: points of the mean per query, and p of a paired "
        "randomisation test (10,000 random signs), corrected for the number of tests in the table (Holm):\n\n"
        f"{table(['', 'beside', 'difference', 'p'], tests)}"
    )
