"""The proportions of topics in a row: a Dirichlet distribution per row, fitted by compiled L-BFGS.

A row ``v`` with proportions ``theta ~ Dirichlet(a)`` scatters about the direction of ``phi theta``. Its expected cosine
with that direction is approximated by the expected inner product over the root of the expected squared length::

    rho = A a.c sqrt((a0 + 1)/(a0 S)),     S = a0 + (1 - A**2) sum a_t**2 + A**2 a'Ga

with ``c_t`` the cosine of the row with topic ``t``, ``G`` the cosines between topics, ``A`` the mean length of a topic
and ``a0 = sum a_t``; ``S/(a0 (a0 + 1))`` is the expectation of ``|phi theta|**2``. The term of a row in the bound is
then ``kappa rho - KL(Dirichlet(a) || Dirichlet(alpha))``. :func:`settle` maximises it, one row at a time: a row has the
same bits alone and in a batch.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, polygamma

from ..loops import compiled

Floats = NDArray[np.float64]

MEMORY = 6  # steps that L-BFGS remembers
LOWEST, HIGHEST = math.log(1e-8), math.log(1e10)  # of log a
LEAP = 2.0  # the most that log a may change in a step
TRIALS = 30  # step lengths that are tried
_SHIFT = 8.0  # from here on the asymptotic series have an error below 1e-14


@compiled
def polygammas(x: float) -> Any:
    """Return digamma and trigamma of a positive number, by recurrence and asymptotic series."""
    psi, tri = 0.0, 0.0
    while x < _SHIFT:
        inverse = 1.0 / x
        psi -= inverse
        tri += inverse * inverse
        x += 1.0
    r = 1.0 / x
    q = r * r
    # Bernoulli numbers: B_2k/(2k) for digamma, B_2k for trigamma
    psi += math.log(x) - 0.5 * r
    psi -= q * (1 / 12 - q * (1 / 120 - q * (1 / 252 - q * (1 / 240 - q * (1 / 132 - q * (691 / 32760 - q / 12))))))
    series = 1 / 6 - q * (1 / 30 - q * (1 / 42 - q * (1 / 30 - q * (5 / 66 - q * (691 / 2730 - q * 7 / 6)))))
    tri += r + 0.5 * q + r * q * series
    return psi, tri


@compiled
def climb_value(c: Any, gram: Any, alpha: Any, kappa: float, length: float, u: Any, slope: Any, metric: Any) -> float:
    """Return the term of a row in the bound at ``a = exp(u)``, and write its gradient and Fisher information in ``u``.

    ``slope`` (T,) is the gradient, ``metric`` (T,) the diagonal ``a**2 psi'(a)`` of the Fisher information.
    """
    size = u.shape[0]
    a, through = np.empty(size), np.zeros(size)
    total = prior_total = squares = along = mixed = 0.0
    for t in range(size):
        a[t] = math.exp(u[t])
        total += a[t]
        prior_total += alpha[t]
        squares += a[t] * a[t]
        along += a[t] * c[t]
        for s in range(size):
            through[s] += a[t] * gram[t, s]
    for t in range(size):
        mixed += a[t] * through[t]
    square = length * length
    spread = total + (1.0 - square) * squares + square * mixed
    scale = math.sqrt((total + 1.0) / (total * spread))
    rho = length * along * scale
    psi0, tri0 = polygammas(total)
    value = kappa * rho + math.lgamma(prior_total) - math.lgamma(total)
    for t in range(size):
        psi, tri = polygammas(a[t])
        value += math.lgamma(a[t]) - math.lgamma(alpha[t]) + (alpha[t] - a[t]) * (psi - psi0)
        bend = 1.0 / (total + 1.0) - 1.0 / total
        bend -= (1.0 + 2.0 * (1.0 - square) * a[t] + 2.0 * square * through[t]) / spread
        pull = kappa * (length * c[t] * scale + 0.5 * rho * bend)
        slope[t] = a[t] * (pull + (alpha[t] - a[t]) * tri - (prior_total - total) * tri0)
        metric[t] = a[t] * a[t] * tri
    return value


# Loops are written out below: numba takes many times longer to compile whole-array expressions.


@compiled
def _dot(x: Any, y: Any) -> float:
    total = 0.0
    for t in range(x.shape[0]):
        total += x[t] * y[t]
    return total


@compiled
def _add(x: Any, factor: float, y: Any) -> None:
    """Add a multiple of ``y`` to ``x``."""
    for t in range(x.shape[0]):
        x[t] += factor * y[t]


@compiled
def _direction(slope: Any, metric: Any, moves: Any, turns: Any, kept: int, newest: int, way: Any) -> float:
    """Write the L-BFGS direction (two-loop recursion) and return the predicted rise.

    The initial curvature is the Fisher information, scaled to fit the last step.
    """
    factors = np.empty(MEMORY)
    for t in range(slope.shape[0]):
        way[t] = slope[t]
    for i in range(kept):
        j = (newest - i) % MEMORY
        factors[j] = _dot(moves[j], way) / _dot(moves[j], turns[j])
        _add(way, -factors[j], turns[j])
    scale = 1.0
    if kept:
        curved = 0.0
        for t in range(slope.shape[0]):
            curved += turns[newest, t] * turns[newest, t] / metric[t]
        scale = _dot(moves[newest], turns[newest]) / curved
    for t in range(slope.shape[0]):
        way[t] *= scale / metric[t]
    for i in range(kept - 1, -1, -1):
        j = (newest - i) % MEMORY
        _add(way, factors[j] - _dot(turns[j], way) / _dot(moves[j], turns[j]), moves[j])
    return _dot(slope, way)


@compiled
def settle(
    cosines: Any, gram: Any, alpha: Any, kappa: float, length: float, a: Any, values: Any, steps: int, tol: float
) -> None:
    """Maximise the term of each row in the bound from ``a`` (n, T) on, in at most ``steps`` steps; it never falls.

    A row is done when the predicted rise of the next step is at most ``tol``. ``a`` and ``values`` (n,) are written.
    """
    size = a.shape[1]
    u, slope, metric = np.empty(size), np.empty(size), np.empty(size)
    there, after, metric_after = np.empty(size), np.empty(size), np.empty(size)
    way = np.empty(size)
    moves, turns = np.empty((MEMORY, size)), np.empty((MEMORY, size))
    for d in range(a.shape[0]):
        c = cosines[d]
        for t in range(size):
            u[t] = math.log(a[d, t])
        value = climb_value(c, gram, alpha, kappa, length, u, slope, metric)
        kept, newest = 0, -1
        for _ in range(steps):
            promise = _direction(slope, metric, moves, turns, kept, newest, way)
            if kept and not promise > 0.0:  # the remembered steps mislead
                kept = 0
                promise = _direction(slope, metric, moves, turns, kept, newest, way)
            if not promise > tol:
                break
            longest = 0.0
            for t in range(size):
                longest = max(longest, abs(way[t]))
            step = min(1.0, LEAP / longest)
            risen = value
            for _ in range(TRIALS):
                for t in range(size):
                    there[t] = min(max(u[t] + step * way[t], LOWEST), HIGHEST)
                risen = climb_value(c, gram, alpha, kappa, length, there, after, metric_after)
                if risen >= value + 1e-4 * step * promise:
                    break
                step *= 0.4
            if not risen >= value + 1e-4 * step * promise:
                break
            newest = (newest + 1) % MEMORY
            for t in range(size):
                moves[newest, t] = there[t] - u[t]
                turns[newest, t] = slope[t] - after[t]
                u[t], slope[t], metric[t] = there[t], after[t], metric_after[t]
            bent = _dot(moves[newest], turns[newest]) > 1e-12 * _dot(turns[newest], turns[newest])
            kept = min(kept + 1, MEMORY) if bent else 0
            value = risen
        for t in range(size):
            a[d, t] = math.exp(u[t])
        values[d] = value


def expected_logs(a: Floats) -> Floats:
    """Return the expectation of ``log theta``, (n, T), under Dirichlet distributions."""
    return np.asarray(digamma(a) - digamma(a.sum(axis=1, keepdims=True)))


def fit_dirichlet(alpha: Floats, mean_logs: Floats, lowest: float, steps: int = 50) -> Floats:
    """Return the Dirichlet parameters with the given expected logarithms, by Newton's method (Minka, 2000).

    Maximises ``log Gamma(sum alpha) - sum log Gamma(alpha_t) + sum alpha_t mean_logs_t`` over ``alpha >= lowest``. The
    Hessian is a diagonal matrix plus a constant, so that a step is linear in the number of topics. The search begins
    at ``alpha``, (T,).

    Examples
    --------
    >>> truth = np.array([0.5, 2.0])
    >>> fit_dirichlet(np.ones(2), expected_logs(truth[None])[0], 1e-3).round(6)
    array([0.5, 2. ])
    """
    if len(alpha) == 1:  # the proportion of a single topic is 1 under any prior
        return alpha

    def value(at: Floats) -> float:
        return float(gammaln(at.sum()) - gammaln(at).sum() + at @ mean_logs)

    now = value(alpha)
    for _ in range(steps):
        slope = digamma(alpha.sum()) - digamma(alpha) + mean_logs
        free = (alpha > lowest) | (slope > 0)
        curve, common = polygamma(1, alpha), float(polygamma(1, alpha.sum()))
        weights = np.where(free, 1.0 / curve, 0.0)
        shift = (slope @ weights) * common / (1.0 - common * weights.sum())
        way = weights * (slope + shift)
        step = 1.0
        while step > 1e-8:
            there = np.maximum(alpha + step * way, np.maximum(0.1 * alpha, lowest))
            risen = value(there)
            if risen >= now:
                break
            step *= 0.5
        else:
            break
        gain, alpha, now = risen - now, there, risen
        if gain <= 1e-12 * abs(now):
            break
    return alpha
