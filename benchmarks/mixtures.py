"""Clusters of texts on the sphere: MovMF beside scikit-learn's KMeans and a plain numpy EM, on the same sparse matrix.

Run with ``python -m benchmarks.mixtures``. The texts are the 11,314 training texts of 20 Newsgroups if
scikit-learn's cache has them, otherwise the embedded docstrings, as normalised tf-idf of all their words.
"""

from benchmarks.measure import best, table

import time
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import fetch_20newsgroups
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer

from parasphere import Tokenizer, Vocabulary, count_matrix, count_words, datasets
from parasphere.sphere import vmf
from reproduction.sphere.admixture import SphericalAdmixture
from parasphere.sphere.directions import dense_columns, spread_seeds
from parasphere.sphere.movmf import MovMF

COMPONENTS = 50
SEED = 0
PLAIN_ITERATIONS = 4  # of the reference, by which its time per iteration is measured


def corpus() -> tuple[str, sparse.csr_array]:
    try:
        name, texts = (
            "20 Newsgroups, training texts",
            fetch_20newsgroups(subset="train", download_if_missing=False).data,
        )
    except OSError:
        name, texts = "embedded docstrings", datasets.load("docstrings").texts
    words = Tokenizer(stop_words="english")
    counts = count_matrix(texts, Vocabulary(count_words(texts, words)[0]), words)
    rows = sparse.csr_array(TfidfTransformer().fit_transform(counts))
    return name, rows[np.diff(rows.indptr) > 0]


def plain_em(rows: Any, directions: NDArray[Any], kappa: float, stop: float, most: int) -> tuple[float, int]:
    """Plain EM with dense responsibilities and one mean per row, until a likelihood is reached."""
    weights, kappas = np.full(len(directions), 1 / len(directions)), np.full(len(directions), kappa)
    reached, steps = -np.inf, 0
    while reached < stop and steps < most:
        joint = np.log(weights) + kappas * (rows @ directions.T) - vmf.log_partition(kappas, rows.shape[1])
        evidence = np.logaddexp.reduce(joint, axis=1)
        reached, steps = float(evidence.mean()), steps + 1
        resp = np.exp(joint - evidence[:, None])
        sums = (rows.T @ resp).T
        lengths = np.linalg.norm(sums, axis=1)
        weights, directions = resp.mean(axis=0), sums / lengths[:, None]
        kappas = vmf.concentration(np.minimum(lengths / resp.sum(axis=0), 1.0), rows.shape[1])
    return reached, steps


def timed(model: Any, rows: Any) -> dict[str, Any]:
    start = time.perf_counter()
    model.fit(rows)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "iterations": int(model.n_iter_)}


def one_iteration(build: Any, rows: Any, few: int = 2, many: int = 8) -> float:
    """Return the seconds of one iteration, without initialisation."""
    short, long = (best(lambda count=count: build(count).fit(rows), 2) for count in (few, many))
    return (long - short) / (many - few)


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    name, rows = corpus()
    seeds = spread_seeds(rows, COMPONENTS, np.random.RandomState(SEED))
    start = np.ascontiguousarray(dense_columns(rows, seeds).T)
    MovMF(2, max_iter=1).fit(rows[:100])
    SphericalAdmixture(2, max_iter=1).fit(rows[:100])
    ours = MovMF(COMPONENTS, random_state=SEED)
    shared = MovMF(COMPONENTS, kappa="shared", random_state=SEED)
    kmeans = KMeans(COMPONENTS, n_init=1, random_state=SEED)
    fits = {
        "parasphere MovMF, free": timed(ours, rows),
        "parasphere MovMF, shared": timed(shared, rows),
        "scikit-learn KMeans": timed(kmeans, rows),
        "parasphere SphericalAdmixture": timed(SphericalAdmixture(COMPONENTS, random_state=SEED), rows),
    }
    from_seeds = MovMF(COMPONENTS, init=start)
    settled = timed(from_seeds, rows)
    kappa = from_seeds._start(rows, np.random.RandomState(SEED)).kappa[0]
    stop = from_seeds.log_likelihood_[-1] - from_seeds.tol
    began = time.perf_counter()
    reached, steps = plain_em(rows, start, kappa, stop, 2 * from_seeds.max_iter)
    plain_seconds = time.perf_counter() - began
    iterations = {
        "parasphere MovMF, free": one_iteration(
            lambda count: MovMF(COMPONENTS, init=start, max_iter=count, tol=0.0), rows
        ),
        "scikit-learn KMeans": one_iteration(
            lambda count: KMeans(COMPONENTS, init=start, n_init=1, max_iter=count, tol=0.0), rows
        ),
        "plain numpy EM": best(lambda: plain_em(rows, start, kappa, np.inf, PLAIN_ITERATIONS), 2) / PLAIN_ITERATIONS,
    }
    return {
        "corpus": name,
        "shape": list(rows.shape),
        "nonzero": int(rows.nnz),
        "fits": fits,
        "iteration_seconds": iterations,
        "equal": {
            "ours": {**settled, "log_likelihood": float(from_seeds.log_likelihood_[-1])},
            "plain": {"seconds": plain_seconds, "iterations": steps, "log_likelihood": reached},
        },
    }


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    n, dim = result["shape"]
    fits = [[name, f"{fit['seconds']:.1f}", fit["iterations"]] for name, fit in result["fits"].items()]
    ours = result["iteration_seconds"]["parasphere MovMF, free"]
    steps = [
        [name, f"{1e3 * value:.0f}", f"{value / ours:.1f}x"] for name, value in result["iteration_seconds"].items()
    ]
    equal = [
        [name, f"{fit['seconds']:.1f}", fit["iterations"], f"{fit['log_likelihood']:.4f}"]
        for name, fit in zip(("parasphere MovMF", "plain numpy EM"), result["equal"].values(), strict=True)
    ]
    return "\n\n".join([
        f"{result['corpus']}: {n:,} rows of normalised tf-idf, {dim:,} words, {result['nonzero']:,} entries; "
        f"{COMPONENTS} components, one start, one thread.",
        table(["from start to convergence", "s", "iterations"], fits),
        "One iteration, from the same initial directions, without the initialisation.",
        table(["one iteration", "ms", "time over ours"], steps),
        "From the same initial directions to the same mean log-likelihood per text (within the tolerance of ours).",
        table(["to equal likelihood", "s", "iterations", "log-likelihood"], equal),
    ])  # fmt: skip


if __name__ == "__main__":
    print(report(run()))
