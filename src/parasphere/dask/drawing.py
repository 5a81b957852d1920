"""Samples of a corpus on a cluster, from which word vectors are learned."""

from typing import Any

import numpy as np

from ..corpus import blocks
from .connecting import current
from .outcomes import Errors, Outcome, attempt, check_errors, submitted, total_of, warn_of_skipped
from .partitions import sources_of


def sample_texts(
    corpus: Any, n_texts: int, *, seed: int = 0, client: Any = None, errors: Errors = "raise", **columns: Any
) -> list[Any]:
    """Draw texts from a corpus without replacement, in its order, by the seed and the partitions.

    Parameters
    ----------
    corpus : pattern of files, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
    n_texts : int
        Number of texts; all of them if there are fewer.
    seed : int, default=0
    client : dask.distributed.Client, default=None
        None is the last client made in this process.
    errors : {"raise", "skip"}, default="raise"
        What to do about a partition that cannot be read.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.
    """
    if n_texts < 1:
        raise ValueError(f"n_texts must be at least 1, not {n_texts}")
    check_errors(errors)
    client, sources = current(client), sources_of(corpus, columns)
    outcome = total_of(client, (submitted(client, _draw, source, errors, columns, n_texts, seed) for source in sources))
    warn_of_skipped(outcome, sources)
    return [text for *_, text in sorted(outcome.total.lots, key=lambda lot: lot[1:3])]


class _Sample:
    """Texts with a random number each; adding two samples keeps the texts with the smallest numbers."""

    def __init__(self, n_texts: int, lots: list[tuple[float, int, int, Any]]) -> None:
        self.n_texts = n_texts
        self.lots = sorted(lots, key=lambda lot: lot[:3])[:n_texts]

    def __add__(self, other: "_Sample") -> "_Sample":
        return _Sample(self.n_texts, self.lots + other.lots)


def _draw(
    material: Any, number: int, name: str, errors: Errors, columns: dict[str, Any], n_texts: int, seed: int
) -> Outcome:
    def work() -> tuple[_Sample, None]:
        rng, drawn = np.random.default_rng([seed, number]), _Sample(n_texts, [])
        for block in blocks(material, **columns):
            numbers = rng.random(len(block))
            chosen = np.argsort(numbers, kind="stable")[:n_texts]
            drawn = drawn + _Sample(
                n_texts, [(float(numbers[i]), number, block.start + int(i), block.texts[int(i)]) for i in chosen]
            )
        return drawn, None

    return attempt(number, name, errors, work)
