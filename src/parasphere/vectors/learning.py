"""Joint learning of word vectors: words are held out of a text and predicted from the rest of it.

The objective is the leave-out predictive likelihood of the Spherical Paragraph Model, see
:mod:`parasphere.vectors.learning_steps`. Labels are not used.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _kernels
from ..errors import VectorsError
from ..progress import progress
from ..text import Vocabulary
from .learning_steps import GROUP, KAPPA, KAPPA0, SLOPE, Cutting, Parameters, Stepper, TextPieces, WordPrior, cut
from .learning_texts import Texts
from .wordvectors import WordVectors

TABLE = 1 << 21  # entries of the table that words are drawn from
JUDGES = 512  # words drawn per group when held-out texts are predicted
MOST_HELD_OUT = 5000  # texts
BATCH = 256  # pieces
CONCENTRATION = 10.0  # initial kappa and kappa0
FEWEST_BATCHES = 100  # per epoch: smaller corpora are learned in smaller batches
SHARD = 1 << 22  # words of the texts that are cut into pieces at a time
SETTLING = 40  # batches that fit only the concentrations, before learning and after it
SETTLED_BY = 100  # least number of held-out pieces to fit them to after learning
SEEN = 45e6  # words to learn from, all epochs together
EPOCHS = 4, 18  # bounds of the number of epochs, and those if all words start at random
EPOCHS_AT_RANDOM = 4, 40
COOLING = 2  # epochs in which the rate falls to zero once the held-out likelihood gains nothing
SPREAD = 0.5, 0.6  # random part of the initial vector of a new word, and of a known word in further dimensions
SMALLEST = 0.01  # least initial weight: weights are learned as logarithms
# The sums of squares of Adagrad start as if each word had been seen some times: otherwise the first steps, of one noisy
# gradient each, would be the longest. Known words start as if READ words of text had been read, but at most MOST
# epochs; other words as if a quarter of an epoch had.
KNOWN, READ, MOST = 10.0, 6e5, 4.0
NEW, EPOCH = 1.0, 0.25
SQUARE = 100.0  # per occurrence of a word, for vectors; for weights:
KNOWN_WEIGHT, NEW_WEIGHT = 10.0, 2.0


@dataclass(frozen=True)
class LearningSettings:
    """The settings of learning; some are parameters of :class:`parasphere.JointVectors`, with the same meaning."""

    epochs: int | None = None
    rate: float = 0.8
    min_count: int = 2
    sample: float = 1e-3  # words whose share of the text is above this are subsampled, as in word2vec; 0 keeps all
    context: int = 24  # see Cutting
    targets: int = 6
    share: float = 0.2
    negatives: int = 128  # words drawn per group of pieces,
    power: float = 0.75  # with probabilities proportional to this power of their counts
    weigh: bool = True
    pull: float = 0.01  # how strongly weights are regularised towards the initial ones
    start_strength: float = 0.0  # concentration of the prior of each word around its initial vector
    held_out: float = 0.05  # the share of the texts used only to measure the loss after every epoch
    seed: int = 0  # of all random numbers


class Learning:
    """The state of learning."""

    def __init__(
        self, texts: Texts, start: WordVectors | None, dim: int, settings: LearningSettings, threads: int = 1
    ) -> None:
        self.texts, self.settings, self.threads = texts, settings, threads
        share = texts.counts / texts.counts.sum()
        often = settings.sample / share if settings.sample else np.ones(len(share))
        self.keep = np.minimum(1.0, np.sqrt(often) + (often if settings.sample else 0)).astype(np.float32)
        q = (share * self.keep) ** settings.power
        q /= q.sum()
        self.log_q = np.log(np.maximum(q, np.finfo(np.float32).tiny)).astype(np.float32)
        self.table = np.searchsorted(np.cumsum(q), (np.arange(TABLE) + 0.5) / TABLE * (1 - 1e-12)).astype(np.int32)
        self.start = first_state(texts, self.keep, start, dim, settings.seed, settings.start_strength)
        self.matrix, self.squares, self.weights, self.weight_squares = self.start.copies()
        mean = share @ self.matrix
        length = np.linalg.norm(mean)  # 0 if the rows cancel out: then any direction will do
        self.mean = (mean / length if length > 0 else self.matrix[0]).astype(np.float32)
        self.numbers = np.array([CONCENTRATION, CONCENTRATION, 0.0, 0.0, 0.0, 0.0])
        self.state = np.array([settings.seed * 2 + 1], np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        self.losses: list[list[float]] = []
        self.gained = True
        n_texts = len(texts.ends) - 1
        order = np.random.default_rng([settings.seed, 0]).permutation(n_texts)
        n_held = min(round(settings.held_out * n_texts), MOST_HELD_OUT)
        self.held_out, self.learned_from = order[:n_held], order[n_held:]
        self.cutting = Cutting(settings.context, settings.targets, settings.share)
        kept = float(texts.counts @ self.keep)
        bounds = EPOCHS if self.start.known.any() else EPOCHS_AT_RANDOM
        self.epochs = settings.epochs or int(np.clip(round(SEEN / max(kept, 1)), *bounds))
        n_pieces = max(kept / (settings.context + settings.targets), n_texts)
        self.batch = int(np.clip(n_pieces // FEWEST_BATCHES, 4, BATCH))

    def run(self, verbose: bool) -> None:
        """Run all epochs."""
        with np.errstate(over="ignore", invalid="ignore"):  # reported below
            self._run(self._stepper(), verbose)
        if not (np.isfinite(self.matrix).all() and np.isfinite(self.weights).all()):
            raise VectorsError(f"learning diverged with rate={self.settings.rate}; choose a smaller rate.")

    def _run(self, stepper: Stepper, verbose: bool) -> None:
        judged = self._judged()
        if self.start.known.any():
            state = np.array([98], np.uint64)
            texts = self.learned_from[: SETTLING * BATCH]
            first = cut(self.texts.ids, self.texts.ends, texts, self.keep, self.cutting, state)
            self._settle(stepper, first, (self.batch, self.settings.negatives), 0.15, state)
        start_loss = self._judge(stepper, judged)
        with progress("learning vectors", self.epochs * len(self.learned_from), unit="texts", shown=verbose) as advance:
            while (epoch := len(self.losses)) < self._last():
                learned = self._epoch(stepper, epoch, advance)
                self.losses.append([learned, self._judge(stepper, judged)])
        if self.start.known.any() and self.losses[-1][1] >= start_loss:
            self.gained = False
            self.matrix[:], self.weights[:] = self.start.matrix, self.start.weights

    def settle(self) -> None:
        """Fit the concentrations to the held-out texts; those fitted to the texts learned from are too high."""
        judged = self._judged()
        if len(judged.middles) >= SETTLED_BY:
            self._settle(self._stepper(), judged, (BATCH, 4 * JUDGES), 0.05, np.array([97], np.uint64))

    def _judged(self) -> TextPieces:
        """Return the pieces of the held-out texts."""
        state = np.array([99], np.uint64)
        return cut(self.texts.ids, self.texts.ends, self.held_out, self.keep, self.cutting, state)

    def _stepper(self) -> Stepper:
        start, settings = self.start, self.settings
        parameters = Parameters(self.matrix, self.squares, self.weights, self.weight_squares, self.mean, self.numbers)
        prior = WordPrior(start.matrix, start.strengths, start.weights, settings.pull)
        return Stepper(parameters, prior, self.log_q, self.threads)

    def _cooling(self) -> int | None:
        """Return the epoch after which the rate falls to zero early, or None.

        That is when the held-out losses of two successive epochs were above that of an earlier one, unless the user
        chose the number of epochs.
        """
        judged = [loss for _, loss in self.losses]
        risen = (n for n in range(3, len(judged) + 1) if min(judged[n - 2 : n]) > min(judged[: n - 2]))
        return next(risen, None) if self.settings.epochs is None else None

    def _last(self) -> int:
        """Return the number of the last epoch, as expected so far."""
        cooling = self._cooling()
        return self.epochs if cooling is None else min(self.epochs, cooling + COOLING)

    def rate_at(self, epoch: float) -> float:
        """Return the length of the steps after a number of epochs; it decreases linearly to zero."""
        rate, cooling, last = self.settings.rate * (1 - epoch / self.epochs), self._cooling(), self._last()
        if cooling is not None and last > cooling:
            rate = self.settings.rate * (1 - cooling / self.epochs) * (last - epoch) / (last - cooling)
        return max(0.0, rate)

    def size_of(self, n_pieces: int) -> float:
        """Return the length of the steps of the concentrations for a batch of pieces."""
        return 0.02 * float(np.sqrt(n_pieces / BATCH))

    def _epoch(self, stepper: Stepper, epoch: int, advance: Callable[[int], None]) -> float:
        """Make one pass over the texts, reporting progress; return the mean loss per held-out word."""
        order = np.random.default_rng([self.settings.seed, epoch + 1]).permutation(self.learned_from)
        loss, count = 0.0, 0
        for done, texts in self.shards(order):
            pieces = cut(self.texts.ids, self.texts.ends, texts, self.keep, self.cutting, self.state)
            for begin, some in self._batches(pieces, epoch):
                rate = self.rate_at(epoch + done[0] + (done[1] - done[0]) * begin / len(pieces.middles))
                drawn = self._drawn(len(some), self.settings.negatives, self.state)
                found = stepper.learn(pieces, some, drawn, rate, self.size_of(len(some)), weigh=self.settings.weigh)
                loss, count = loss + found[0], count + found[1]
                ends = np.array([begin, begin + len(some)]) * len(texts) // len(pieces.middles)
                advance(int(ends[1] - ends[0]))
        return loss / max(count, 1)

    def shards(self, order: NDArray[np.int64]) -> Iterator[tuple[tuple[float, float], NDArray[np.int64]]]:
        """Yield, per shard, the shares of all words that lie before its begin and before its end, and its texts."""
        words = np.concatenate([[0], np.cumsum(np.diff(self.texts.ends)[order])])
        cuts = [*np.searchsorted(words, np.arange(0, words[-1], SHARD)).tolist(), len(order)]
        for lo, hi in pairwise(cuts):
            yield (words[lo] / words[-1], words[hi] / words[-1]), order[lo:hi]

    def _batches(self, pieces: TextPieces, epoch: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        mixed = np.random.default_rng([self.settings.seed, epoch + 1, 1]).permutation(len(pieces.middles))
        for begin in range(0, len(mixed), self.batch):
            yield begin, mixed[begin : begin + self.batch]

    def _drawn(self, n_pieces: int, n_words: int, state: NDArray[np.uint64]) -> NDArray[np.int32]:
        drawn = np.empty((-(-n_pieces // GROUP), n_words), np.int32)
        _kernels.draw(self.table, state, drawn.reshape(-1))
        return drawn

    def _settle(
        self, stepper: Stepper, pieces: TextPieces, many: tuple[int, int], size: float, state: NDArray[np.uint64]
    ) -> None:
        """Fit the concentrations to pieces; ``many`` is the numbers of pieces and of drawn words per step.

        The steps of the logarithms of the concentrations decrease from ``size`` to zero.
        """
        n_pieces, n_drawn = many
        self.numbers[SLOPE:] = 0.0
        for i in range(SETTLING):
            some = np.random.default_rng([self.settings.seed, i]).permutation(len(pieces.middles))[:n_pieces]
            if len(some):
                drawn = self._drawn(len(some), n_drawn, state)
                stepper.learn(pieces, some, drawn, 0.0, size * (1 - i / SETTLING), weigh=False)

    def _judge(self, stepper: Stepper, pieces: TextPieces) -> float:
        """Return the mean loss per held-out word of the held-out texts."""
        state, loss, count = np.array([99], np.uint64), 0.0, 0
        for begin in range(0, len(pieces.middles), BATCH):
            some = np.arange(begin, min(begin + BATCH, len(pieces.middles)))
            found = stepper.judge(pieces, some, self._drawn(len(some), JUDGES, state))
            loss, count = loss + found[0], count + found[1]
        return loss / count if count else float("nan")

    @property
    def scale(self) -> float:
        """The mean weight over all texts, which becomes a factor of kappa."""
        return float(self.texts.counts @ self.weights / self.texts.counts.sum())

    @property
    def concentrations(self) -> tuple[float, float]:
        """The concentrations kappa and kappa0."""
        return float(self.numbers[KAPPA]) * self.scale, float(self.numbers[KAPPA0])

    def vectors(self, name: str) -> WordVectors:
        """Return the learned vectors: unit rows, and weights of mean 1 over all texts."""
        rows = self.matrix / np.linalg.norm(self.matrix.astype(np.float64), axis=1, keepdims=True)
        weights = (self.weights / self.scale).astype(np.float64)
        return WordVectors(Vocabulary(self.texts.words), rows.astype(np.float32), weights=weights, name=name)


class Start(NamedTuple):
    """The state that learning starts from."""

    matrix: NDArray[np.float32]  # (n_words, dim), unit rows
    squares: NDArray[np.float32]  # (n_words,), the sums of squares of Adagrad
    weights: NDArray[np.float32]  # (n_words,), of mean 1 over the texts
    weight_squares: NDArray[np.float32]  # (n_words,)
    strengths: NDArray[np.float32]  # (n_words,), concentrations of the prior, per occurrence in an epoch
    known: NDArray[np.bool_]  # (n_words,), which words have an initial vector

    def copies(self) -> tuple[NDArray[np.float32], ...]:
        """Return copies of the arrays that learning changes."""
        return self.matrix.copy(), self.squares.copy(), self.weights.copy(), self.weight_squares.copy()


def first_state(
    texts: Texts, keep: NDArray[np.float32], start: WordVectors | None, dim: int, seed: int, strength: float
) -> Start:
    """Return the state that learning starts from.

    Parameters
    ----------
    texts : Texts
    keep : (n_words,) float32
        The probability that an occurrence of a word is used.
    start : WordVectors or None
        The initial vectors.
    dim, seed : int
        Dimension of the vectors, and seed of their random parts.
    strength : float
        Concentration of the prior around the initial vectors.
    """
    places = np.full(len(texts.words), -1) if start is None else start.vocabulary.get_many(texts.words)
    known, seen = places >= 0, texts.counts * keep
    weights = np.ones(len(places), np.float32)
    if start is not None and start.weights is not None and known.any():
        given = np.maximum(start.weights[places], 0.0)
        weights = np.where(known, given, np.median(given[known]))
        weights /= max(float(texts.counts @ weights) / texts.counts.sum(), 1e-12)
        weights = np.maximum(weights, SMALLEST).astype(np.float32)
    epochs = min(READ / max(float(seen.sum()), 1.0), MOST)
    occurrences = np.where(known, KNOWN + epochs * seen, NEW + EPOCH * seen)
    return Start(
        first_vectors(texts.words, start, dim, seed),
        (SQUARE * occurrences).astype(np.float32),
        weights,
        (np.where(known, KNOWN_WEIGHT, NEW_WEIGHT) * occurrences).astype(np.float32),
        np.where(known, strength / np.maximum(seen, 1.0), 0.0).astype(np.float32),
        known,
    )


def with_others(learned: WordVectors, start: WordVectors) -> WordVectors:
    """Return learned vectors followed by the words of ``start`` that were not learned.

    The latter keep their vectors, with zeros in additional dimensions. Their weights are scaled by the median change of
    the weights of common words; if ``start`` has no weights, they get the median weight of the common words.
    """
    places = start.vocabulary.get_many(learned.words)
    common = places >= 0
    others = np.setdiff1d(np.arange(len(start)), places[common])
    rows = np.zeros((len(learned) + len(others), learned.dim), np.float32)
    rows[: len(learned)] = learned.matrix
    rows[len(learned) :, : start.dim] = start.matrix[others]
    weights = np.ones(len(learned)) if learned.weights is None else learned.weights
    if start.weights is None:
        more = np.full(len(others), np.median(weights[common]))
    else:
        given = start.weights[places[common]]
        ratios = weights[common][given > 0] / given[given > 0]
        more = start.weights[others] * (np.median(ratios) if len(ratios) else 1.0)
    words = [*learned.words, *(start.vocabulary.word(row) for row in others.tolist())]
    return WordVectors(Vocabulary(words), rows, weights=np.append(weights, more), name=learned.name)


def first_vectors(words: list[str], start: WordVectors | None, dim: int, seed: int) -> NDArray[np.float32]:
    """Return the initial unit rows, (n_words, dim)."""
    rows = np.random.default_rng([seed, 0]).standard_normal((len(words), dim)).astype(np.float32) / np.sqrt(dim)
    if start is not None:
        places = start.vocabulary.get_many(words)
        known = places >= 0
        if not known.any():
            raise VectorsError(f"{start.name} has none of the {len(words):,} words of this corpus")
        given = start.matrix[places[known]]
        rows[~known] *= SPREAD[0]
        rows[~known, : start.dim] += given.mean(axis=0)
        rows[known, : start.dim] = given
        rows[known, start.dim :] *= SPREAD[0] * SPREAD[1]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows, np.float32)
