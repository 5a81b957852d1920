"""Word counts and samples of a corpus on a cluster: what learning word vectors needs of it."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import blocks
from ..text import AnyTokenizer, WordCounter
from .connecting import current
from .outcomes import Errors, Outcome, attempt, check_errors, submitted, total_of, warn_of_skipped
from .partitions import sources_of


def count_words(
    corpus: Any,
    tokenizer: AnyTokenizer | None = None,
    *,
    client: Any = None,
    errors: Errors = "raise",
    **columns: Any,
) -> tuple[list[str], NDArray[np.int64]]:
    """Count the words of a corpus on a cluster, with the result of :func:`parasphere.count_words`.

    Parameters
    ----------
    corpus : pattern of files, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
    tokenizer : Tokenizer, callable or Hugging Face tokenizer, default=None
        Splits texts into words; None is ``Tokenizer()``.
    client : dask.distributed.Client, default=None
        None is the client that was made last.
    errors : {"raise", "skip"}, default="raise"
        What to do about a partition that cannot be read.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.

    Returns
    -------
    words : list of str
        Most frequent first, ties in alphabetical order.
    counts : (n_words,) int64
    """
    counted = _mapped(_count, corpus, client, errors, columns, tokenizer)
    words = sorted(counted, key=lambda word: (-counted[word], word))
    return words, np.array([counted[word] for word in words], np.int64)


def sample_texts(
    corpus: Any, n_texts: int, *, seed: int = 0, client: Any = None, errors: Errors = "raise", **columns: Any
) -> list[Any]:
    """Draw texts from a corpus without replacement, in its order; which ones depends on the seed and the partitions.

    Parameters
    ----------
    corpus : pattern of files, list of paths, dask.bag.Bag, or Series or DataFrame of dask.dataframe
    n_texts : int
        Number of texts; all of them if there are fewer.
    seed : int, default=0
    client : dask.distributed.Client, default=None
        None is the client that was made last.
    errors : {"raise", "skip"}, default="raise"
        What to do about a partition that cannot be read.
    **columns
        Passed to :func:`parasphere.corpus.blocks`.
    """
    if n_texts < 1:
        raise ValueError(f"n_texts must be at least 1, not {n_texts}")
    drawn = _mapped(_draw, corpus, client, errors, columns, n_texts, seed)
    return [text for *_, text in sorted(drawn.lots, key=lambda lot: lot[1:3])]


class _Lots:
    """Texts with the random numbers that they drew; of two hands, those with the least numbers are kept."""

    def __init__(self, n_texts: int, lots: list[tuple[float, int, int, Any]]) -> None:
        self.n_texts = n_texts
        self.lots = sorted(lots, key=lambda lot: lot[:3])[:n_texts]

    def __add__(self, other: "_Lots") -> "_Lots":
        return _Lots(self.n_texts, self.lots + other.lots)


def _mapped(function: Any, corpus: Any, client: Any, errors: Errors, columns: dict[str, Any], *arguments: Any) -> Any:
    check_errors(errors)
    client, sources = current(client), sources_of(corpus, columns)
    tasks = (submitted(client, _work, source, function, errors, columns, arguments) for source in sources)
    outcome = total_of(client, tasks)
    warn_of_skipped(outcome, sources)
    return outcome.total


def _work(
    material: Any, number: int, name: str, function: Any, errors: Errors, columns: dict[str, Any], arguments: Any
) -> Outcome:
    return attempt(number, name, errors, lambda: (function(material, number, columns, *arguments), None))


def _count(material: Path | Any, _number: int, columns: dict[str, Any], tokenizer: Any) -> Counter[str]:
    counter = WordCounter(tokenizer)
    for block in blocks(material, **columns):
        counter.add(block.texts)
    words, counts = counter.words_and_counts()
    return Counter(dict(zip(words, counts.tolist(), strict=True)))


def _draw(material: Path | Any, number: int, columns: dict[str, Any], n_texts: int, seed: int) -> _Lots:
    rng, drawn = np.random.default_rng([seed, number]), _Lots(n_texts, [])
    for block in blocks(material, **columns):
        numbers = rng.random(len(block))
        chosen = np.argsort(numbers, kind="stable")[:n_texts]
        drawn = drawn + _Lots(
            n_texts, [(float(numbers[i]), number, block.start + int(i), block.texts[int(i)]) for i in chosen]
        )
    return drawn
