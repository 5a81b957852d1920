"""The compiled loop of joint learning: words of a text are predicted from the direction of the others.

For a piece of a text, cut at random into context words and target words, the SPM posterior of the context has the
direction d of ``eta = kappa0 mu0 + kappa sum a_c w_c``, and a word v follows with the probability

    p(v | d) = exp(kappa a_v d.w_v) / sum over u of exp(kappa a_u d.w_u).

The sum over the vocabulary is estimated from words drawn with probability q, each term divided by its q. Every row w
stays on the sphere: a step goes along its tangent and ends with a normalisation. Each row has its own step length, as
in Adagrad.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled

KAPPA, KAPPA0, SLOPE, SQUARE, SLOPE0, SQUARE0 = range(6)  # places in ``numbers``
EVERY = 256  # pieces after which the concentrations are moved
_TINY = np.float32(1e-8)


class Cutting(NamedTuple):
    """How documents are cut: they are shuffled and cut into pieces of at most ``context + targets`` words.

    A ``share`` of each piece (at least one word, at most ``targets``) is held out.
    """

    context: int
    targets: int
    share: float


class Drawing(NamedTuple):
    """How words are sampled."""

    keep: Any  # (n_vocabulary,) float32, the probability that an occurrence of a word is used
    table: Any  # (n,) int32, words, as often as they are to be drawn for the estimate of the sum
    log_q: Any  # (n_vocabulary,) float32, the logarithms of the probabilities with which words are drawn
    negatives: int  # words drawn per piece
    state: Any  # (1,) uint64, the state of the random numbers


class Parameters(NamedTuple):
    """The parameters that are learned; ``squares`` are the sums of squares of Adagrad."""

    matrix: Any  # (n_vocabulary, dim) float32, unit rows w
    squares: Any  # (n_vocabulary,) float32
    weights: Any  # (n_vocabulary,) float32, the weights a of the words
    weight_squares: Any  # (n_vocabulary,) float32
    mean: Any  # (dim,) float32, the mean direction mu0
    numbers: Any  # (6,) float64, kappa, kappa0 and their running gradients
    weigh: bool  # whether the weights are learned


@compiled(inline="always")
def _next(state: Any) -> Any:
    """Return 31 random bits (xorshift64)."""
    s = state[0]
    s ^= s << np.uint64(13)
    s ^= s >> np.uint64(7)
    s ^= s << np.uint64(17)
    state[0] = s
    return np.int64(s >> np.uint64(33))


@compiled(fastmath=True, inline="always")
def _dot(one: Any, other: Any) -> Any:
    total = np.float32(0.0)
    for x in range(one.shape[0]):
        total += one[x] * other[x]
    return total


@compiled(fastmath=True, inline="always")
def _add(into: Any, row: Any, factor: Any) -> None:
    factor = np.float32(factor)
    for x in range(into.shape[0]):
        into[x] += factor * row[x]


@compiled(fastmath=True, inline="always")
def _move(row: Any, gradient: Any, along: Any, step: Any) -> None:
    """Step down the gradient along the sphere; ``along`` is the inner product of gradient and row."""
    step = np.float32(step)
    squared = np.float32(0.0)
    for x in range(row.shape[0]):
        value = row[x] - step * (gradient[x] - along * row[x])
        row[x] = value
        squared += value * value
    scale = np.float32(1.0) / np.sqrt(squared)
    for x in range(row.shape[0]):
        row[x] *= scale


@compiled(fastmath=True, inline="always")
def _step(w: Any, factor: Any, squared: Any, squares: Any, rate: Any) -> Any:
    """Return the step length of row w, after adding the squared length of its gradient to ``squares``."""
    squares[w] += max(squared, np.float32(0.0))  # rounding may make it negative
    return rate * factor / np.sqrt(squares[w] + _TINY)


@compiled(fastmath=True, inline="always")
def _weigh(w: Any, gradient: Any, weights: Any, weight_squares: Any, rate: Any, pull: Any) -> None:
    """Move the logarithm of a weight down the gradient, and a little towards 0."""
    gradient += pull * np.log(weights[w])
    weight_squares[w] += gradient * gradient
    weights[w] *= np.exp(np.float32(-0.5 * rate) * gradient / np.sqrt(weight_squares[w] + np.float32(1e-6)))


@compiled(fastmath=True, inline="always")
def _concentrate(numbers: Any, value: Any, slope: Any, square: Any, gradient: Any) -> None:
    """Move the logarithm of a concentration by about 0.02 at most, against its recent gradients."""
    numbers[slope] = 0.9 * numbers[slope] + 0.1 * gradient
    numbers[square] = 0.99 * numbers[square] + 0.01 * gradient * gradient
    numbers[value] *= np.exp(-0.02 * numbers[slope] / np.sqrt(numbers[square] + 1e-12))


@compiled(fastmath=True, error_model="numpy")
def predict_pass(
    ids: Any, ends: Any, order: Any, cutting: Any, drawing: Any, parameters: Any, rate: Any, pull: Any, learn: Any
) -> Any:
    """Make one pass over documents, predict held-out words and, if ``learn``, update the parameters.

    Parameters
    ----------
    ids, ends : (n_words,) int32 and (n_docs + 1,) int64
        Documents as word ids, and where each begins and ends.
    order : (n,) int64
        The documents, in the order in which they are visited.
    cutting, drawing, parameters : Cutting, Drawing and Parameters
        The state of ``drawing`` changes and, if ``learn``, the parameters.
    rate, pull : float
        Step length, and how strongly weights are regularised towards 1.
    learn : bool
        Whether to update the parameters.

    Returns
    -------
    loss, count : float and int
        Minus the log-probability of the held-out words, summed, and their number.
    """
    context, targets, share = cutting
    keep, table, log_q, negatives, state = drawing
    matrix, squares, weights, weight_squares, mean, numbers, weigh = parameters
    dim = matrix.shape[1]
    longest = 0
    for n in order:
        longest = max(longest, ends[n + 1] - ends[n])
    words = np.empty(longest, np.int32)
    direction, pulled = np.empty(dim, np.float32), np.empty(dim, np.float32)
    drawn, cosines, masses = np.empty(negatives, np.int32), np.empty(negatives, np.float32), np.empty(negatives)
    loss, count, pieces_done = 0.0, 0, 0
    slope, slope0 = 0.0, 0.0
    for n in order:
        m = 0
        for i in range(ends[n], ends[n + 1]):
            if _next(state) < keep[ids[i]] * 2147483648.0:
                words[m] = ids[i]
                m += 1
        for i in range(m - 1, 0, -1):
            j = _next(state) % (i + 1)
            words[i], words[j] = words[j], words[i]
        pieces = (m + context + targets - 1) // (context + targets)
        for piece in range(pieces):
            begin, end = piece * m // pieces, (piece + 1) * m // pieces
            if end - begin < 2:
                continue
            middle = end - max(1, min(targets, int((end - begin) * share + 0.5)))
            kappa, kappa0 = numbers[KAPPA], numbers[KAPPA0]
            direction[:] = 0.0
            _add(direction, mean, kappa0)
            for i in range(begin, middle):
                _add(direction, matrix[words[i]], kappa * weights[words[i]])
            length = np.sqrt(_dot(direction, direction)) + _TINY
            for x in range(dim):
                direction[x] /= length
            pulled[:] = 0.0
            top = -1e300  # not infinity, which fastmath excludes
            for j in range(negatives):
                w = table[_next(state) % table.shape[0]]
                drawn[j] = w
                cosines[j] = _dot(direction, matrix[w])
                masses[j] = kappa * weights[w] * cosines[j] - log_q[w]
                top = max(top, masses[j])
            others = 0.0
            for j in range(negatives):
                masses[j] = np.exp(masses[j] - top)
                others += masses[j]
            total = 0.0
            for i in range(middle, end):
                w = words[i]
                cosine = _dot(direction, matrix[w])
                logit = kappa * weights[w] * cosine - log_q[w] - top
                mass = np.exp(min(logit, 80.0))
                loss += np.log(mass + others) - logit
                count += 1
                if not learn:
                    continue
                total += 1.0 / (mass + others)
                pull_of = mass / (mass + others) - 1.0
                force = np.float32(pull_of * kappa * weights[w])
                slope += force * cosine
                _add(pulled, matrix[w], force)
                if weigh:
                    _weigh(w, force * cosine, weights, weight_squares, rate, pull)
                step = _step(w, force, force * force * (1 - cosine * cosine), squares, rate)
                _move(matrix[w], direction, cosine, step)
            if not learn:
                continue
            for j in range(negatives):
                pull_of = masses[j] * total
                if pull_of < 1e-5:  # no noticeable step
                    continue
                w, cosine = drawn[j], cosines[j]
                force = np.float32(pull_of * kappa * weights[w])
                slope += force * cosine
                _add(pulled, matrix[w], force)
                if weigh:
                    _weigh(w, force * cosine, weights, weight_squares, rate, pull)
                step = _step(w, force, force * force * (1 - cosine * cosine), squares, rate)
                _move(matrix[w], direction, cosine, step)
            # The gradient with respect to the sum behind the direction: only its tangential part counts.
            _add(pulled, direction, -_dot(pulled, direction))
            for x in range(dim):
                pulled[x] /= length
            squared = _dot(pulled, pulled)
            for i in range(begin, middle):
                w = words[i]
                force = np.float32(kappa * weights[w])
                along = _dot(matrix[w], pulled)
                slope += force * along
                if weigh:
                    _weigh(w, force * along, weights, weight_squares, rate, pull)
                step = _step(w, force, force * force * (squared - along * along), squares, rate)
                _move(matrix[w], pulled, along, step)
            along = _dot(mean, pulled)
            slope0 += kappa0 * along
            _move(mean, pulled, along, 0.01 * rate * kappa0)
            pieces_done += 1
            if pieces_done % EVERY == 0:
                _concentrate(numbers, KAPPA, SLOPE, SQUARE, slope / EVERY)
                _concentrate(numbers, KAPPA0, SLOPE0, SQUARE0, slope0 / EVERY)
                slope, slope0 = 0.0, 0.0
    return loss, count
