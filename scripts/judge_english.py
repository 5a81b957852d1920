"""Evaluate word vectors on development data: ``python scripts/judge_english.py FILE.npz ... > table.md``.

Files are those of scripts/make_english.py, or anything that ``WordVectors.load`` takes. The table has the rank
correlation with human scores on the training and development parts of the STS benchmark, nDCG@10 of Cranfield, both by
the offsets of a model that is fitted to the same texts; and the accuracy of linear SVMs on offsets, cross-validated in
four folds on the training parts of `same`, `similar` and Reuters and on a random half of Subj and MR. The tasks are in
PARASPHERE_TASKS, the corpora as in reproduction.datasets.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from reproduction.datasets import Dataset, load, sentence_pairs
from reproduction.experiments.tasks import retrieval
from scipy.stats import spearmanr
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import LinearSVC

from parasphere import SphericalParagraphModel, WordVectors

CORPORA = ("20news-same", "20news-similar", "reuters-10", "subj", "mr")
COSTS = (0.3, 3.0, 30.0)


def vectors_of(path: str) -> WordVectors:
    """Return the vectors of a file."""
    if not path.endswith(".npz"):
        return WordVectors.load(path)
    with np.load(path) as given:
        words = bytes(given["words"].item()).decode().split("\n")
        rows, weights = given["u"] * given["scale"][:, None], given["weights"].astype(np.float64)
    known = weights > 0
    return WordVectors.from_arrays([w for w, k in zip(words, known, strict=True) if k], rows[known]).with_weights(
        weights[known]
    )


def similarity(vectors: WordVectors) -> list[float]:
    """Return the rank correlations with the scores of both parts, times 100."""
    parts = [sentence_pairs(part) for part in ("train", "dev")]
    model = SphericalParagraphModel(vectors, adapt=False).fit(parts[0].first + parts[0].second)
    return [100 * spearmanr(model.compare(part.first, part.second), part.scores).statistic for part in parts]


def search(vectors: WordVectors) -> float:
    """Return nDCG@10 of Cranfield, times 100."""
    model = SphericalParagraphModel(vectors, adapt=False)
    facts, _ = retrieval.evaluate(lambda _: model, retrieval.load("cranfield", None))
    return 100 * float(facts["ndcg"])


def known_part(corpus: Dataset) -> tuple[list[str], list[int]]:
    """Return texts and labels for development: the training part, or half of a corpus without one."""
    if corpus.train is not None:
        chosen = np.flatnonzero(corpus.train)
    else:
        chosen = np.random.default_rng(0).permutation(len(corpus.texts))[: len(corpus.texts) // 2]
    return [corpus.texts[place] for place in chosen], [corpus.labels[place] for place in chosen]


def accuracy(vectors: WordVectors, corpus: Dataset) -> float:
    """Return the cross-validated accuracy, in per cent."""
    texts, labels = known_part(corpus)
    rows = SphericalParagraphModel(vectors, adapt=False).fit_transform(texts)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    found = [cross_val_score(LinearSVC(C=cost, dual=False), rows, labels, cv=folds).mean() for cost in COSTS]
    return 100 * float(max(found))


def main() -> None:
    """Print a table, one row per file."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    corpora = [load(name) for name in CORPORA]
    print("| vectors | STSb train | STSb dev | Cranfield | same | similar | Reuters | Subj | MR |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for path in sys.argv[1:]:
        vectors = vectors_of(path)
        found = [*similarity(vectors), search(vectors), *(accuracy(vectors, corpus) for corpus in corpora)]
        print(f"| {Path(path).stem} | " + " | ".join(f"{value:.1f}" for value in found) + " |", flush=True)


if __name__ == "__main__":
    main()
