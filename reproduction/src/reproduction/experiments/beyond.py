"""Who is ahead: an encoder beside its rivals on every corpus, by paired tests corrected for their number."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from . import published, seeds
from .published import Comparison, Condition

BEST = "union"
TRANSFORMER = "minilm"
TFIDF = "the better tf-idf"
CAPTION = (
    "The first column is one configuration for all corpora: the `FeatureUnion` of SPM directions in 300 dimensions, "
    "with word vectors and weights learned from the training texts without labels, and of sublinear tf-idf of words "
    "and pairs of words, with equal weights. Ahead and behind mean p < 0.05 in a paired test, corrected for the "
    "number of tests in the table by Holm's method; otherwise level. The conclusions below use this table. The marks "
    "of Tables 1 and 2 are less strict: they are corrected for the tests within each of those tables, most of which "
    "are clearly significant. MiniLM reads the first 256 word pieces of a text."
)


class Claim(NamedTuple):
    """An encoder beside a rival on one corpus: accuracies in per cent, p corrected for the number of claims."""

    dataset: str
    rival: str
    ours: float
    theirs: float
    p: float

    @property
    def verdict(self) -> str:
        """Whether the encoder is "ahead" of the rival, "behind" it, or "level" with it."""
        return "level" if self.p >= published.LEVEL else "ahead" if self.ours > self.theirs else "behind"


def claims(comparison: Comparison, encoder: str = BEST, rivals: Sequence[str] = (TFIDF, TRANSFORMER)) -> list[Claim]:
    """Return all claims about an encoder, in the first condition; ``TFIDF`` is the better tf-idf on each corpus."""
    condition = comparison.conditions[0]
    found: list[Claim] = []
    for dataset in sorted(comparison.datasets, key=_order):
        ours = _run(comparison, condition, encoder, dataset)
        for rival in rivals:
            theirs = _run(comparison, condition, rival, dataset)
            test = None if ours is None or theirs is None else seeds.compare(ours, theirs)
            if test is not None:
                found.append(Claim(dataset, rival, 100 * ours["accuracy"], 100 * theirs["accuracy"], test.p))
    corrected = seeds.holm([claim.p for claim in found])
    return [claim._replace(p=p) for claim, p in zip(found, corrected, strict=True)]


def table(comparison: Comparison) -> list[str]:
    """Return the lines of a Markdown table, one per corpus; none if the best SPM was not run."""
    condition, found = comparison.conditions[0], claims(comparison)
    lines = []
    for dataset in sorted(comparison.datasets, key=_order):
        best = _run(comparison, condition, BEST, dataset)
        if best is None:
            continue
        interval = seeds.interval(best)
        ends = "" if interval is None else f" ({100 * interval.low:.1f} to {100 * interval.high:.1f})"
        beside = [next((c for c in found if (c.dataset, c.rival) == (dataset, r)), None) for r in (TFIDF, TRANSFORMER)]
        cells = [published.title(dataset), f"{100 * best['accuracy']:.1f}{ends}", *map(_spelled, beside)]
        lines.append("| " + " | ".join(cells) + " |")
    if not lines:
        return []
    head = ["corpus", "SPM and tf-idf", TFIDF, comparison.titles.get(TRANSFORMER, TRANSFORMER)]
    return ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1), *lines]


def _order(dataset: str) -> tuple[int, bool, str]:
    """Sort corpora as the paper does, each split before its folds, and others after them."""
    plain = dataset.removesuffix(published.FOLDS)
    known = list(published.DATASETS)
    return (known.index(plain) if plain in known else len(known), plain != dataset, dataset)


def _run(comparison: Comparison, condition: Condition, encoder: str, dataset: str) -> Any:
    dim = comparison.dim(condition)
    if encoder == TFIDF:
        return comparison.rival(condition, dataset, dim)
    return comparison.get(condition, encoder, dataset, dim)


def _spelled(claim: Claim | None) -> str:
    if claim is None:
        return "–"
    difference = f"{claim.ours - claim.theirs:+.1f}".replace("-", "−")
    p = f"p = {claim.p:.2g}" if claim.p >= 0.001 else "p < 0.001"
    return f"{claim.theirs:.1f}: {claim.verdict} ({difference}, {p})"
