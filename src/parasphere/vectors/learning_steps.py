"""Steps of joint learning: a batch of pieces at a time, shared by threads.

A batch is divided into groups of 16 pieces, which share the words drawn to estimate the sum over the vocabulary: the
work of a group is three products of matrices. Groups draw words of their own, since the noise of the gradient is set by
how many words are drawn per piece, not by how many are drawn per group.

Threads share the groups of a batch, and then the rows that it moves: each row is moved by one thread, its terms in a
fixed order. So the same seed gives the same bits with any number of threads.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas as _  # noqa: F401  (loaded here, so that its threads can be limited)

from .learning_batch import (
    KAPPA,
    KAPPA0,
    SLOPE,
    SLOPE0,
    SQUARE,
    SQUARE0,
    Batch,
    Parameters,
    Prior,
    chain,
    lay_out,
    move,
    work_on,
)
from .learning_pieces import Pieces

GROUP = 16  # pieces that share the words drawn


def concentrate(numbers: NDArray[np.float64], slopes: NDArray[np.float64], size: float) -> None:
    """Move the logarithms of both concentrations by about ``size`` at most, against their recent gradients."""
    for gradient, value, slope, square in zip(slopes, (KAPPA, KAPPA0), (SLOPE, SLOPE0), (SQUARE, SQUARE0), strict=True):
        numbers[slope] = 0.9 * numbers[slope] + 0.1 * gradient
        numbers[square] = 0.99 * numbers[square] + 0.01 * gradient**2
        numbers[value] *= np.exp(-size * numbers[slope] / np.sqrt(numbers[square] + 1e-12))


class Stepper:
    """Predicts batches of pieces, and learns from them.

    Parameters
    ----------
    parameters, prior : Parameters and Prior
        The parameters change when something is learned.
    log_q : (n_vocabulary,) float32
        The logarithms of the probabilities with which words are drawn.
    threads : int, default=1
        How many threads share the work, the calling one among them; :meth:`close` ends the others.
    """

    def __init__(self, parameters: Parameters, prior: Prior, log_q: NDArray[np.float32], threads: int = 1) -> None:
        self.parameters, self.prior, self.log_q, self.threads = parameters, prior, log_q, threads
        self._others = ThreadPoolExecutor(max(1, threads - 1))  # they start with their first work
        self._heads = np.full(len(parameters.matrix), -1, np.int32)
        self._by_drawn = np.empty((0, 0, parameters.matrix.shape[1]), np.float32)

    def learn(
        self,
        pieces: Pieces,
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
        pieces, some : Pieces and (n,) int64
            Pieces, and which of them.
        drawn : (n_groups, n_drawn) int32
            The words drawn for each group; there are as many groups of pieces as rows.
        rate, size : float
            The length of the steps of vectors and weights, and of those of the concentrations; a rate of 0 moves the
            concentrations only.
        weigh : bool
            Whether weights are learned.

        Returns
        -------
        loss, count : float and int
            Minus the log-probability of the held-out words, summed, and their number.
        """
        parameters = self.parameters
        batch = Batch(*lay_out(*pieces, some, parameters.matrix.shape[1]))
        if self._by_drawn.shape[:2] != drawn.shape:
            self._by_drawn = np.empty((*drawn.shape, parameters.matrix.shape[1]), np.float32)
        by_drawn, squares = self._by_drawn, np.empty(drawn.shape, np.float32)
        fixed = batch, parameters, self.log_q
        self._share(lambda i, n: work_on(*fixed, drawn, i, n, by_drawn, squares, True))
        if rate > 0:
            links, touched = chain(batch.words, drawn.reshape(-1), self._heads)
            flat = by_drawn.reshape(-1, by_drawn.shape[2]), squares.reshape(-1), links, touched, self._heads
            fixed_too, rows = (batch, parameters, self.prior, rate, weigh, *flat), len(touched)
            self._share(lambda i, n: move(*fixed_too, i * rows // n, (i + 1) * rows // n))
            gradient = batch.pulled.sum(axis=0)
            mean = parameters.mean
            mean -= 0.01 * rate * parameters.numbers[KAPPA0] * (gradient - (gradient @ mean) * mean)
            mean /= np.linalg.norm(mean)
        concentrate(parameters.numbers, batch.slopes.mean(axis=0), size)
        return _summed(batch)

    def judge(self, pieces: Pieces, some: NDArray[np.int64], drawn: NDArray[np.int32]) -> tuple[float, int]:
        """Return the loss of some of the pieces, and how many words were held out."""
        batch = Batch(*lay_out(*pieces, some, self.parameters.matrix.shape[1]))
        unused = np.empty((1, 1, 1), np.float32), np.empty((1, 1), np.float32)
        self._share(lambda i, n: work_on(batch, self.parameters, self.log_q, drawn, i, n, *unused, False))
        return _summed(batch)

    def close(self) -> None:
        """End the threads."""
        self._others.shutdown()

    def _share(self, work: Callable[[int, int], None]) -> None:
        """Do the i-th of n parts of the work in each of n threads, the first in the calling one."""
        others = [self._others.submit(work, i, self.threads) for i in range(1, self.threads)]
        work(0, self.threads)
        for other in others:
            other.result()


def _summed(batch: Batch) -> tuple[float, int]:
    return float(batch.losses.sum()), int((batch.begins[1:] - batch.middles).sum())
