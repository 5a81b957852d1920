"""Adapting word vectors to texts: joint learning in bounded time, without changing the weights of words."""

from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import Block, blocks
from ..errors import VectorsError
from ..text import AnyTokenizer
from .learning import Learning, LearningSettings
from .learning_texts import read_texts
from .wordvectors import WordVectors

SETTINGS = LearningSettings(epochs=7, start_strength=1000.0, weigh=False)  # chosen by benchmarks/adapting.py
LENGTH = 10  # mean words per text at which the prior has the strength of the settings; it falls with their square
WORDS = 15_000_000  # words to learn from, all passes together, but there is at least one pass
TEXT = 100 << 20  # most bytes of text that are held; texts are drawn at random if there are more
FEWEST = 200  # documents: the held-out part of fewer is too small to measure a gain


def adapted(
    start: WordVectors,
    texts: Any,
    tokenizer: AnyTokenizer,
    *,
    settings: LearningSettings = SETTINGS,
    seed: int = 0,
    n_jobs: int = 1,
    verbose: bool = False,
) -> WordVectors:
    """Return a copy of word vectors that is adapted to texts, or the vectors themselves if that gains nothing.

    The vectors of the words of the texts follow the gradient of the leave-out likelihood, as in
    :class:`parasphere.JointVectors`; words without a vector get one if they occur twice. Weights do not change, and a
    new word has the weight of unknown words. The vectors themselves are returned if the words of held-out texts are
    predicted no better than before, or if there are fewer than 200 texts.

    Parameters
    ----------
    start : WordVectors
    texts : iterable, table or Path
        Anything that :func:`parasphere.corpus.blocks` accepts. Up to 100 MB are held in memory, drawn at random if
        there is more.
    tokenizer : Tokenizer or callable
        Splits texts into words.
    settings : LearningSettings, default=SETTINGS
        The settings of learning; there are fewer epochs if the texts have many words.
    seed : int, default=0
        Seed of all random numbers.
    n_jobs : int, default=1
        Number of threads; the result does not depend on it.
    verbose : bool, default=False
        Show a progress bar.
    """
    some = drawn_texts(texts, seed)
    if sum(map(len, some)) < FEWEST:
        return start
    try:
        learning = _learned(start, some, tokenizer, replace(settings, seed=seed), n_jobs, verbose)
    except VectorsError:  # too few words occur twice, or none is known
        return start
    gained = learning.gained and np.isfinite(learning.losses[-1][1])  # NaN if no held-out text has words
    return _with_learned(start, learning.vectors("")) if gained else start


def _learned(
    start: WordVectors,
    texts: list[Block],
    tokenizer: AnyTokenizer,
    settings: LearningSettings,
    n_jobs: int,
    verbose: bool,
) -> Learning:
    read = read_texts(texts, tokenizer, settings.min_count, known=True)
    lengths = np.diff(read.ends)
    if not (lengths > 1).any():
        raise VectorsError("no text has two words to learn from.")
    epochs = min(settings.epochs or 1, max(1, round(WORDS / len(read.ids))))
    strength = settings.start_strength * (LENGTH / float(lengths.mean())) ** 2
    settings = replace(settings, epochs=epochs, start_strength=strength)
    learning = Learning(read, start, start.dim, settings, n_jobs)
    learning.run(verbose)
    return learning


def drawn_texts(texts: Any, seed: int) -> list[Block]:
    """Return the texts, or a uniform random sample of at most :data:`TEXT` bytes if they have more.

    Which texts these are depends on the seed, and on the sizes and the order of all texts: those whose random numbers
    (:func:`numbers_of`) are below the largest share, a power of a half, at which they are few enough.
    """
    share, size, start = 1.0, 0, 0
    held: list[tuple[Block, NDArray[np.float64]]] = []
    for block in blocks(texts):
        held.append(below(share, block, numbers_of(seed, start, len(block))))
        start += len(block)
        size += int(sizes_of(held[-1][0]).sum())
        while size > TEXT:
            share /= 2
            held = [part for part in (below(share, *part) for part in held) if len(part[0])]
            size = sum(int(sizes_of(block).sum()) for block, _ in held)
    return [block for block, _ in held]


def numbers_of(seed: int, start: int, count: int) -> NDArray[np.float64]:
    """Return the random numbers of ``count`` documents, (count,), of which the first has the number ``start``."""
    return np.random.Generator(np.random.PCG64([seed, 2]).advance(start)).random(count)


def below(share: float, block: Block, numbers: NDArray[np.float64]) -> tuple[Block, NDArray[np.float64]]:
    """Return the texts of a block whose random numbers are below a share, and these numbers."""
    kept = numbers < share
    if kept.all():
        return block, numbers
    return Block(list(compress(block.texts, kept)), None, None, 0), numbers[kept]


def sizes_of(block: Block) -> NDArray[np.int64]:
    """Return the approximate number of bytes of each text of a block."""
    return np.array([sum(map(len, text)) if block.tokenised else len(text) for text in block.texts], np.int64)


def sizes_below(sizes: NDArray[np.int64], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the total size of the texts whose random numbers are below each share: 1, 1/2, 1/4, ... (53,)."""
    return np.array([sizes[numbers < 0.5**power].sum() for power in range(53)])


def share_of(totals: NDArray[np.int64]) -> float:
    """Return the largest share at which texts have at most :data:`TEXT` bytes, given their :func:`sizes_below`."""
    return float(0.5 ** int(np.argmax(totals <= TEXT)))


def _with_learned(start: WordVectors, learned: WordVectors) -> WordVectors:
    """Return vectors in which learned ones replace those of the same words; new words come last."""
    rows = start.vocabulary.get_many(learned.words)
    new = np.flatnonzero(rows < 0)
    matrix = np.concatenate([start.matrix, learned.matrix[new]])
    matrix[rows[rows >= 0]] = learned.matrix[rows >= 0]
    vocabulary = start.vocabulary.extended([learned.vocabulary.word(int(row)) for row in new])
    norms = np.append(start.norms, np.ones(len(new)))
    weights = None if start.weights is None else np.append(start.weights, np.full(len(new), start.unknown_weight))
    name = f"{start.name}, adapted"
    options: dict[str, Any] = {"unknown_weight": start.unknown_weight, "name": name, "base": start.base}
    return WordVectors(vocabulary, matrix, norms, weights=weights, **options)
