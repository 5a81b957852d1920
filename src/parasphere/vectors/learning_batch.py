"""The compiled loops of joint learning: words of a text are predicted from the direction of the others.

For a piece of a text, cut at random into context words and target words, the SPM posterior of the context has the
direction d of ``eta = kappa0 mu0 + kappa sum a_c w_c``, and a word v follows with the probability

    p(v | d) = exp(kappa a_v d.w_v) / sum over u of exp(kappa a_u d.w_u).

The sum over the vocabulary is estimated from words drawn with probability q, each term divided by its q. A weight and
its row enter only as their product ``a w``: of the gradient with respect to it, the part along w moves the logarithm of
a, and the rest moves w along the sphere. Each row moves once per batch of pieces, with a step length of its own, as in
Adagrad. :mod:`parasphere.vectors.learning_steps` puts these loops together.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from ..compiled.memory import prefetch_in
from .learning_pieces import next_bits

KAPPA, KAPPA0, SLOPE, SQUARE, SLOPE0, SQUARE0 = range(6)  # places in ``numbers``
AHEAD = 3  # how many words ahead rows are prefetched
_LINE = 64  # bytes that are fetched at a time
_TINY = np.float32(1e-8)


class Parameters(NamedTuple):
    """The parameters that are learned; ``squares`` are the sums of squares of Adagrad."""

    matrix: Any  # (n_vocabulary, dim) float32, unit rows w
    squares: Any  # (n_vocabulary,) float32
    weights: Any  # (n_vocabulary,) float32, the weights a of the words
    weight_squares: Any  # (n_vocabulary,) float32
    mean: Any  # (dim,) float32, the mean direction mu0
    numbers: Any  # (6,) float64, kappa, kappa0 and their running gradients


class Prior(NamedTuple):
    """The vMF prior of each row around its start, and that of the logarithm of its weight."""

    rows: Any  # (n_vocabulary, dim) float32, the mean directions
    strengths: Any  # (n_vocabulary,) float32, the concentrations, divided by how often the word is seen per epoch
    weights: Any  # (n_vocabulary,) float32, what the weights are pulled towards
    pull: float  # how strongly, per occurrence


class Batch(NamedTuple):
    """Some pieces, laid out one after the other, and what is computed of them."""

    words: Any  # (n,) int32
    owners: Any  # (n,) int32, the piece of each word
    begins: Any  # (n_pieces + 1,) int64
    middles: Any  # (n_pieces,) int64
    forces: Any  # (n,) float32, the gradient of a target's logit times kappa and its weight
    directions: Any  # (n_pieces, dim) float32
    pulled: Any  # (n_pieces, dim) float32, the gradient with respect to eta
    lengths: Any  # (n_pieces,) float32, of eta
    losses: Any  # (n_pieces,) float64
    squares: Any  # (n_pieces,) float32, the squared lengths of pulled
    slopes: Any  # (n_pieces, 2) float64, the gradients with respect to the logarithms of kappa and kappa0


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


@compiled(inline="always")
def _fetch_ahead(matrix: Any, size: Any, row: Any) -> None:
    """Prefetch a row of ``size`` bytes."""
    for byte in range(0, size, _LINE):
        prefetch_in(matrix, np.int64(row) * size + byte)


@compiled
def draw(table: Any, n: Any, state: Any) -> Any:
    """Return n words from the table."""
    drawn = np.empty(n, np.int32)
    for j in range(n):
        drawn[j] = table[next_bits(state) % table.shape[0]]
    return drawn


@compiled
def lay_out(words: Any, begins: Any, middles: Any, some: Any, dim: Any) -> Any:
    """Return the fields of a batch of some pieces."""
    room = 0
    for piece in some:
        room += begins[piece + 1] - begins[piece]
    n = some.shape[0]
    its_words, owners = np.empty(room, np.int32), np.empty(room, np.int32)
    its_begins, its_middles = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    at = 0
    for p in range(n):
        piece = some[p]
        its_middles[p] = at + middles[piece] - begins[piece]
        for i in range(begins[piece], begins[piece + 1]):
            its_words[at], owners[at] = words[i], p
            at += 1
        its_begins[p + 1] = at
    rows = np.empty((n, dim), np.float32), np.empty((n, dim), np.float32)
    numbers = np.empty(n, np.float32), np.empty(n, np.float64), np.empty(n, np.float32), np.empty((n, 2), np.float64)
    return (its_words, owners, its_begins, its_middles, np.empty(room, np.float32), *rows, *numbers)


@compiled(fastmath=True, error_model="numpy")
def point(batch: Any, parameters: Any, lo: Any, hi: Any) -> None:
    """Find the posterior direction of the context of each piece from ``lo`` to ``hi``."""
    matrix, weights, mean = parameters.matrix, parameters.weights, parameters.mean
    kappa, kappa0 = parameters.numbers[KAPPA], np.float32(parameters.numbers[KAPPA0])
    size, last = np.int64(4 * matrix.shape[1]), batch.words.shape[0] - 1
    for p in range(lo, hi):
        eta = batch.directions[p]
        for x in range(eta.shape[0]):
            eta[x] = kappa0 * mean[x]
        for i in range(batch.begins[p], batch.middles[p]):
            _fetch_ahead(matrix, size, batch.words[min(i + AHEAD, last)])
            w = batch.words[i]
            _add(eta, matrix[w], kappa * weights[w])
        for i in range(batch.middles[p] + AHEAD, batch.begins[p + 1]):
            _fetch_ahead(matrix, size, batch.words[i])  # for the prediction of the targets
        length = np.sqrt(_dot(eta, eta)) + _TINY
        batch.lengths[p] = length
        for x in range(eta.shape[0]):
            eta[x] /= length


@compiled(fastmath=True)
def rows_of(drawn: Any, parameters: Any) -> Any:
    """Return the rows of the drawn words, as long as kappa times their weights."""
    matrix, kappa = parameters.matrix, parameters.numbers[KAPPA]
    found = np.empty((drawn.shape[0], matrix.shape[1]), np.float32)
    size, last = np.int64(4 * matrix.shape[1]), drawn.shape[0] - 1
    for j in range(drawn.shape[0]):
        _fetch_ahead(matrix, size, drawn[min(j + AHEAD, last)])
        scale = np.float32(kappa * parameters.weights[drawn[j]])
        for x in range(matrix.shape[1]):
            found[j, x] = scale * matrix[drawn[j], x]
    return found


@compiled(fastmath=True, error_model="numpy")
def predict(batch: Any, parameters: Any, log_q: Any, tops: Any, others: Any, totals: Any, lo: Any, hi: Any) -> None:
    """Compute the losses of the target words, and the gradients of their logits.

    ``others`` are the sums of the drawn words' masses, relative to exp(``tops``); ``totals`` becomes what each mass is
    multiplied with to give its share in the gradient.
    """
    matrix, weights, kappa = parameters.matrix, parameters.weights, parameters.numbers[KAPPA]
    for p in range(lo, hi):
        loss, total = 0.0, 0.0
        direction, pulled = batch.directions[p], batch.pulled[p]
        pulled[:] = 0.0
        for i in range(batch.middles[p], batch.begins[p + 1]):
            w = batch.words[i]
            logit = kappa * weights[w] * _dot(direction, matrix[w]) - log_q[w] - tops[p - lo]
            mass = np.exp(min(logit, 80.0))
            loss += np.log(mass + others[p - lo]) - logit
            total += 1.0 / (mass + others[p - lo])
            force = (mass / (mass + others[p - lo]) - 1.0) * kappa * weights[w]
            batch.forces[i] = force
            _add(pulled, matrix[w], force)
        batch.losses[p], totals[p - lo] = loss, total


@compiled(fastmath=True, error_model="numpy")
def turn(batch: Any, parameters: Any, by_drawn: Any, lo: Any, hi: Any) -> None:
    """Turn the gradients with respect to the directions into those with respect to eta."""
    mean, kappa0 = parameters.mean, parameters.numbers[KAPPA0]
    for p in range(lo, hi):
        pulled, direction, length = batch.pulled[p], batch.directions[p], batch.lengths[p]
        _add(pulled, by_drawn[p - lo], 1.0)
        along = _dot(pulled, direction)
        for x in range(pulled.shape[0]):
            pulled[x] = (pulled[x] - along * direction[x]) / length
        batch.squares[p] = _dot(pulled, pulled)
        by_prior = kappa0 * _dot(mean, pulled)
        # pulled is orthogonal to eta: what the context adds to the slope of kappa is minus what the prior adds.
        batch.slopes[p, 0], batch.slopes[p, 1] = along - by_prior, by_prior


# Inlined: as a function of its own it had other bits when it came from the cache than when it had just been compiled.
@compiled(inline="always", fastmath=True, error_model="numpy")
def _work_on(
    batch: Any, parameters: Any, log_q: Any, drawn: Any, lo: Any, hi: Any, by_drawn: Any, squares: Any, learn: Any
) -> None:
    """Predict the pieces from ``lo`` to ``hi`` with the words drawn for them; if ``learn``, write the gradients too."""
    point(batch, parameters, lo, hi)
    directions, noise = batch.directions[lo:hi], rows_of(drawn, parameters)
    masses = np.dot(directions, noise.T)
    n, m = masses.shape
    tops, others, totals = np.empty(n, np.float32), np.empty(n, np.float32), np.empty(n, np.float32)
    for p in range(n):
        top, total = np.float32(-1e30), np.float32(0.0)
        for j in range(m):
            masses[p, j] -= log_q[drawn[j]]
            top = max(top, masses[p, j])
        for j in range(m):
            masses[p, j] = np.exp(masses[p, j] - top)
            total += masses[p, j]
        tops[p], others[p] = top, total
    predict(batch, parameters, log_q, tops, others, totals, lo, hi)
    if not learn:
        return
    squares[:] = 0.0
    for p in range(n):
        for j in range(m):
            masses[p, j] *= totals[p]
            squares[j] += masses[p, j] * masses[p, j]
    by_drawn[:] = np.dot(masses.T, directions)
    turn(batch, parameters, np.dot(masses, noise), lo, hi)


@compiled(fastmath=True, error_model="numpy")
def work_on(
    batch: Any, parameters: Any, log_q: Any, drawn: Any, first: Any, step: Any, by_drawn: Any, squares: Any, learn: Any
) -> None:
    """Do the work on every ``step``-th group of pieces from ``first`` on.

    One call per thread: what runs outside of compiled code would make threads wait for each other.
    """
    n_groups, n = drawn.shape[0], batch.directions.shape[0]
    for g in range(first, n_groups, step):
        lo, hi, own = g * n // n_groups, (g + 1) * n // n_groups, g if learn else 0
        _work_on(batch, parameters, log_q, drawn[g], lo, hi, by_drawn[own], squares[own], learn)


@compiled
def chain(words: Any, drawn: Any, heads: Any) -> Any:
    """Link all places of each word, in the batch and then among the drawn ones.

    ``heads``, (n_vocabulary,), is -1 throughout, and is made so again by :func:`move`.
    """
    n = words.shape[0]
    links, touched = np.empty(n + drawn.shape[0], np.int32), np.empty(n + drawn.shape[0], np.int32)
    count = 0
    for i in range(n + drawn.shape[0]):
        w = words[i] if i < n else drawn[i - n]
        if heads[w] < 0:
            touched[count] = w
            count += 1
        links[i] = heads[w]
        heads[w] = i
    return links, touched[:count]


@compiled(fastmath=True, error_model="numpy")
def move(
    batch: Any, parameters: Any, prior: Any, rate: Any, weigh: Any, by_drawn: Any, squares_drawn: Any, links: Any,
    touched: Any, heads: Any, lo: Any, hi: Any
) -> None:  # fmt: skip
    """Move the rows and weights of the touched words from ``lo`` to ``hi``."""
    matrix, squares, weights, weight_squares, _, numbers = parameters
    rate, pull = np.float32(rate), np.float32(prior.pull)
    kappa, n = np.float32(numbers[KAPPA]), batch.words.shape[0]
    gradient = np.empty(matrix.shape[1], np.float32)
    size = np.int64(4 * matrix.shape[1])
    for t in range(lo, hi):
        _fetch_ahead(matrix, size, touched[min(t + AHEAD, hi - 1)])
        w = touched[t]
        row, force = matrix[w], kappa * weights[w]
        gradient[:] = 0.0
        count, square = np.float32(0.0), np.float32(0.0)
        i = heads[w]
        heads[w] = -1
        while i >= 0:
            if i >= n:
                _add(gradient, by_drawn[i - n], force)
                square += force * force * squares_drawn[i - n]
            else:
                count += np.float32(1.0)
                p = batch.owners[i]
                if i < batch.middles[p]:
                    _add(gradient, batch.pulled[p], force)
                    square += force * force * batch.squares[p]
                else:
                    _add(gradient, batch.directions[p], batch.forces[i])
                    square += batch.forces[i] * batch.forces[i]
            i = links[i]
        if weigh:
            slope = _dot(gradient, row) + pull * count * np.log(weights[w] / prior.weights[w])
            weight_squares[w] += slope * slope / max(count, np.float32(1.0))
            weights[w] *= np.exp(np.float32(-0.5) * rate * slope / np.sqrt(weight_squares[w] + np.float32(1e-6)))
        along = _dot(gradient, row)
        squares[w] += square
        step = rate / np.sqrt(squares[w] + _TINY)
        squared = np.float32(0.0)
        for x in range(row.shape[0]):
            value = row[x] - step * (gradient[x] - along * row[x])
            row[x] = value
            squared += value * value
        held = step * prior.strengths[w] * count
        if held > 0:  # an implicit step towards the start: along the gradient, strong priors would overshoot
            _add(row, prior.rows[w], held)
            squared = _dot(row, row)
        scale = np.float32(1.0) / np.sqrt(squared)
        for x in range(row.shape[0]):
            row[x] *= scale
