"""Steps of joint learning: held-out words of texts are predicted from the direction of the other words, in batches.

For a piece of a text, cut at random into context words and target words, the SPM posterior of the context has the
direction d of ``eta = kappa0 mu0 + kappa sum a_c w_c``, and a word v follows with the probability

    p(v | d) = exp(kappa a_v d.w_v) / sum over u of exp(kappa a_u d.w_u).

The sum over the vocabulary is estimated from words drawn with probability q, each term divided by its q. A weight and
its row enter only as their product ``a w``: the part along w of its gradient moves the logarithm of a, and the rest
moves w along the sphere. Each row moves once per batch of pieces, with its own step length, as in Adagrad.

A batch is divided into groups of 16 pieces, which share the words drawn to estimate the sum over the vocabulary: the
work of a group is three products of matrices. Each group draws its own words, since the noise of the gradient is set by
how many words are drawn per piece, not by how many are drawn per group.

Threads share the groups of a batch, and then the rows that it moves: each row is moved by one thread, adding its terms
in a fixed order. So the same seed gives the same bits with any number of threads. The loops are in
src/kernels/learning.cpp.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _kernels

GROUP = 16  # pieces that share the words drawn
KAPPA, KAPPA0, SLOPE, SQUARE, SLOPE0, SQUARE0 = range(6)  # indices into ``numbers``


class Cutting(NamedTuple):
    """How documents are cut: they are shuffled and cut into pieces of at most ``context + targets`` words.

    A ``share`` of each piece (at least one word, at most ``targets``) is held out.
    """

    context: int
    targets: int
    share: float


class TextPieces(NamedTuple):
    """Concatenated pieces of texts; the held-out words of each piece come last."""

    words: Any  # (n_words,) int32
    begins: Any  # (n_pieces + 1,) int64, where each piece begins and ends
    middles: Any  # (n_pieces,) int64, where the held-out words of each begin


class Parameters(NamedTuple):
    """The parameters that are learned; ``squares`` are the sums of squares of Adagrad."""

    matrix: Any  # (n_vocabulary, dim) float32, unit rows w
    squares: Any  # (n_vocabulary,) float32
    weights: Any  # (n_vocabulary,) float32, the weights a of the words
    weight_squares: Any  # (n_vocabulary,) float32
    mean: Any  # (dim,) float32, the mean direction mu0
    numbers: Any  # (6,) float64, kappa, kappa0 and their running gradients


class WordPrior(NamedTuple):
    """The vMF prior of each row around its initial vector, and the prior of the logarithm of its weight."""

    rows: Any  # (n_vocabulary, dim) float32, the mean directions
    strengths: Any  # (n_vocabulary,) float32, the concentrations, divided by how often the word is seen per epoch
    weights: Any  # (n_vocabulary,) float32, what the weights are pulled towards
    pull: float  # how strongly, per occurrence


class Stepper:
    """Predicts batches of pieces, and learns from them.

    Parameters
    ----------
    parameters, prior : Parameters and WordPrior
        The parameters are changed in place by :meth:`learn`.
    log_q : (n_vocabulary,) float32
        The logarithms of the probabilities with which words are drawn.
    threads : int, default=1
        Number of threads that share the work.
    """

    def __init__(self, parameters: Parameters, prior: WordPrior, log_q: NDArray[np.float32], threads: int = 1) -> None:
        self.parameters, self.prior, self.log_q, self.threads = parameters, prior, log_q, threads

    def learn(
        self,
        pieces: TextPieces,
        some: NDArray[np.int64],
        drawn: NDArray[np.int32],
        rate: float,
        size: float,
        *,
        weigh: bool,
    ) -> tuple[float, int]:
        """Learn from some of the pieces.

        Parameters
        ----------
        pieces, some : TextPieces and (n,) int64
            Pieces, and the indices of those to learn from.
        drawn : (n_groups, n_drawn) int32
            The words drawn for each group, one row per group of pieces.
        rate, size : float
            The lengths of the steps of vectors and weights, and of the steps of the concentrations; a rate of 0 moves
            the concentrations only.
        weigh : bool
            Whether weights are learned.

        Returns
        -------
        loss, count : float and int
            Minus the summed log-probability of the held-out words, and their number.
        """
        loss, count, *slopes = _kernels.learn(
            pieces, some, drawn, self.log_q, self.parameters, self.prior, rate, weigh, self.threads
        )
        concentrate(self.parameters.numbers, np.array(slopes), size)
        return loss, count

    def judge(self, pieces: TextPieces, some: NDArray[np.int64], drawn: NDArray[np.int32]) -> tuple[float, int]:
        """Return the loss of some of the pieces, and their number of held-out words."""
        return _kernels.judge(pieces, some, drawn, self.log_q, self.parameters, self.threads)


def concentrate(numbers: NDArray[np.float64], slopes: NDArray[np.float64], size: float) -> None:
    """Move the logarithms of both concentrations by about ``size`` at most, against their recent gradients."""
    for gradient, value, slope, square in zip(slopes, (KAPPA, KAPPA0), (SLOPE, SLOPE0), (SQUARE, SQUARE0), strict=True):
        numbers[slope] = 0.9 * numbers[slope] + 0.1 * gradient
        numbers[square] = 0.99 * numbers[square] + 0.01 * gradient**2
        numbers[value] *= np.exp(-size * numbers[slope] / np.sqrt(numbers[square] + 1e-12))


def cut(
    ids: NDArray[np.int32],
    ends: NDArray[np.int64],
    order: NDArray[np.int64],
    keep: NDArray[np.float32],
    how: Cutting,
    state: NDArray[np.uint64],
) -> TextPieces:
    """Drop words of each text at random, shuffle the others, and cut them into pieces of at least two words.

    Parameters
    ----------
    ids, ends : (n_words,) int32 and (n_docs + 1,) int64
        Documents as word ids, and where each begins and ends.
    order : (n,) int64
        The documents to cut.
    keep : (n_vocabulary,) float32
        The probability that an occurrence of a word is used.
    how : Cutting
        The lengths of pieces.
    state : (1,) uint64
        The state of the random numbers, which changes.

    Examples
    --------
    >>> ids, ends, state = np.arange(5, dtype=np.int32), np.array([0, 3, 5]), np.array([1], np.uint64)
    >>> pieces = cut(ids, ends, np.arange(2), np.ones(5, np.float32), Cutting(2, 1, 0.2), state)
    >>> pieces.begins, pieces.middles, sorted(pieces.words[:3].tolist())
    (array([0, 3, 5]), array([2, 4]), [0, 1, 2])
    """
    room = int((ends[order + 1] - ends[order]).sum())
    words, begins, middles = np.empty(room, np.int32), np.empty(room // 2 + 1, np.int64), np.empty(room // 2, np.int64)
    n_words, n = _kernels.cut(ids, ends, order, keep, *how, state, words, begins, middles)
    return TextPieces(words[:n_words], begins[: n + 1], middles[:n])
