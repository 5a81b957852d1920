"""Search by the first sentence of a Wikipedia paragraph for the rest of it, among 20,000.

Run with ``python -m benchmarks paragraphs``; it takes some minutes, mostly to learn vectors. The text is the file
PARASPHERE_BENCH_TEXT (one paragraph per line). Models are fitted to the paragraphs without their first
sentences; 2,000 first sentences are searched. The measure is the mean reciprocal rank of the right paragraph.
"""

from benchmarks.measure import table

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.search import paragraphs
from parasphere import JointVectors, SphericalParagraphModel, Tokenizer
from reproduction.baselines import TfIdf
from parasphere.model.comparing import log_bayes_factor
from parasphere.model.posterior import Posterior

DRAWN_FROM, PARAGRAPHS, QUERIES, AT_ONCE = 60_000, 20_000, 2_000, 100
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
Scores = Callable[[slice], NDArray[np.float64]]  # of some queries with all paragraphs


def corpus() -> tuple[list[str], list[str]]:
    """Return first sentences of at least six words, and the rest of their paragraphs, of at least twenty."""
    halves = [SENTENCE.split(text, maxsplit=1) for text in paragraphs(2 * DRAWN_FROM)]
    halves = [pair for pair in halves if len(pair) == 2 and len(pair[0].split()) >= 6 and len(pair[1].split()) >= 20]
    chosen = np.random.default_rng(0).choice(min(DRAWN_FROM, len(halves)), PARAGRAPHS, replace=False)
    return [halves[i][0] for i in chosen], [halves[i][1] for i in chosen]


def mean_reciprocal_rank(scores: Scores) -> float:
    """Return the mean of 1 / rank of the paragraph that each query is from."""
    ranks: list[float] = []
    for begin in range(0, QUERIES, AT_ONCE):
        found = scores(slice(begin, begin + AT_ONCE))
        right = found[np.arange(len(found)), np.arange(begin, begin + len(found))]
        ranks += (1.0 / (1.0 + (found > right[:, None]).sum(axis=1))).tolist()
    return float(np.mean(ranks))


def run() -> dict[str, Any]:
    """Measure everything in one process."""
    first, rest = corpus()
    lexical = TfIdf(sublinear_tf=True, tokenizer=Tokenizer(stop_words="english"))
    documents, queries = lexical.fit_transform(rest), lexical.transform(first[:QUERIES])
    rows = {"tf-idf": {"words": mean_reciprocal_rank(lambda some: _dense(queries[some] @ documents.T))}}
    models = {
        "the default vectors": SphericalParagraphModel(adapt=False),
        "learned from the paragraphs, 300-d": SphericalParagraphModel(JointVectors(dim=300), tol=1e-4),
    }
    seconds = {}
    for name, model in models.items():
        start = time.perf_counter()
        rows[name] = _measured(model.fit(rest), first[:QUERIES], rest)
        seconds[name] = time.perf_counter() - start
    return {"paragraphs": len(rest), "queries": QUERIES, "rows": rows, "seconds": seconds}


def _measured(model: SphericalParagraphModel, queries: list[str], documents: list[str]) -> dict[str, float]:
    asked, known = model.posterior(queries), model.posterior(documents)
    index = model.index(documents)

    def hybrid(some: slice) -> NDArray[np.float64]:
        found = np.full((len(queries[some]), len(documents)), -np.inf)
        for row, matches in zip(found, index.search(queries[some], k=200), strict=True):
            row[matches.positions] = matches.scores
        # A paragraph that is not among the best 200 gets the last rank.
        right = np.arange(some.start, some.start + len(found))
        found[np.isneginf(found)] = -1e9
        missed = found[np.arange(len(found)), right] == -1e9
        found[missed, right[missed]] = -2e9
        return found

    return {
        "directions": mean_reciprocal_rank(lambda some: asked.direction[some] @ known.direction.T),
        "Bayes factor": mean_reciprocal_rank(lambda some: _factors(asked, known, model, some)),
        "offsets": mean_reciprocal_rank(lambda some: asked.vectors("offset")[some] @ known.vectors("offset").T),
        "hybrid": mean_reciprocal_rank(hybrid),
    }


def _factors(asked: Posterior, known: Posterior, model: SphericalParagraphModel, some: slice) -> NDArray[np.float64]:
    """Return the log Bayes factor of each query with all paragraphs."""
    return np.stack([log_bayes_factor(_one(asked, i), known, model.encoder_.prior) for i in range(len(asked))[some]])


def _one(posterior: Posterior, i: int) -> Posterior:
    fields = ("direction", "concentration", "word_concentration", "length", "unknown")
    parts: dict[str, Any] = {name: getattr(posterior, name)[i : i + 1] for name in fields}
    return Posterior(**parts, prior=posterior.prior, whitening=posterior.whitening)


def _dense(scores: sparse.spmatrix) -> NDArray[np.float64]:
    return np.asarray(scores.todense())


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    ways = ("words", "directions", "Bayes factor", "offsets", "hybrid")
    rows = [
        [name, *(f"{found[way]:.3f}" if way in found else "" for way in ways)] for name, found in result["rows"].items()
    ]
    ratios = [
        f"{found['offsets'] / found['Bayes factor']:.2f} times that of the Bayes factor with {name}"
        for name, found in result["rows"].items()
        if "offsets" in found
    ]
    return (
        f"The first sentence finds the rest of its paragraph among {result['paragraphs']:,}: mean reciprocal rank of "
        f"{result['queries']:,} queries.\n\n{table(['vectors', *ways], rows)}\n\nOffsets: {'; '.join(ratios)}.\n"
    )
