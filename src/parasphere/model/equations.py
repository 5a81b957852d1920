"""The Spherical Paragraph Model, as mathematics: pure functions over arrays of numpy or torch.

A document's direction ``d ~ vMF(mu0, kappa0)``, its words ``w_i ~ vMF(d, kappa)``. Write ``s`` for the sum of its
``l`` unit word vectors, ``Phi`` for the log-partition and ``A = Phi'`` for the mean length of the vMF distribution.

**E-step.** The prior is conjugate, so the posterior of ``d`` is a vMF again, exactly::

    eta = kappa0 mu0 + kappa s        kappa' = |eta|        mu' = eta / kappa'        E[d] = A(kappa') mu'

and the evidence of the words is ``log p(w_1..w_l) = Phi(kappa') - Phi(kappa0) - l Phi(kappa)``.

**M-step.** ``mu0`` and ``A(kappa0)`` are the direction and the length of the mean of all ``E[d]``; and for each
document ``A(kappa) = (E[d].s + a rho) / (l + a)``: as if ``a`` more words had been seen whose cosine with ``d`` is
``rho``. That is the maximum under the conjugate prior ``p(kappa) ~ exp(a (rho kappa - Phi(kappa)))``. ``a = 0`` is
the paper; with ``a`` infinite all documents share one concentration.

All of this needs three numbers a document, ``mu0.s``, ``|s|^2`` and ``l``, and two products with the matrix of sums.

**rho** is pooled over the corpus, once, before the first step: two words of the same text are independent given ``d``,
so that their expected cosine is ``A(kappa)^2``, and ``rho^2 = sum (|s|^2 - l) / sum l (l - 1)``.

Words may be weighted: ``s = sum a_i w_i``, ``l = sum a_i``. Over all pairs of different places ``|s|^2 - sum a_i^2`` is
the sum of ``a_i a_j`` times their cosine, and ``l^2 - sum a_i^2`` the sum of ``a_i a_j``: ``rho^2`` is the quotient of
the two, each summed over the corpus.
"""

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from ..compiled.rows import project, weighted_sum
from ..sphere import bessel, vmf
from ..sphere.bessel import Array, apply, order_of
from .solver import solve_each

Method: TypeAlias = Literal["newton", "banerjee"]  # how the mean length is inverted: exactly, or as in the paper

SOLVED = 1e-13  # a word concentration is solved when no more than this share of it is left to go
MOST_STEPS = 100
GPU_ROWS = 1 << 20  # rows of float32 sums that are widened to float64 at a time


class Prior(NamedTuple):
    """What a corpus teaches: where its documents lie, and how much their words scatter.

    Attributes
    ----------
    mean_direction : (dim,)
        mu0.
    concentration : float
        kappa0.
    cosine : float
        rho, the mean cosine of a word with its document's direction.
    strength : float
        a, how many words that cosine counts for in each document.
    """

    mean_direction: Array
    concentration: float
    cosine: float
    strength: float


class Statistics(NamedTuple):
    """The three numbers a document, each (n_docs,) float64: ``mu0.s``, ``|s|^2`` and ``l``."""

    along: Array
    squared_norms: Array
    lengths: Array


class Step(NamedTuple):
    """What one E-step finds, (n_docs,) each.

    Attributes
    ----------
    concentration : kappa', that of the posterior.
    ratio : A(kappa') / kappa', so that E[d] = ratio * eta.
    pull : E[d].s
    """

    concentration: Array
    ratio: Array
    pull: Array


def statistics(sums: Array, squared_norms: Array, lengths: Array, prior: Prior) -> Statistics:
    """Reduce documents to three numbers each: (n_docs, dim) -> three (n_docs,)."""
    return Statistics(products(sums, prior.mean_direction), squared_norms, lengths)


def e_step(found: Statistics, kappa: Array, prior: Prior, dim: int) -> Step:
    """Return the posterior for given word concentrations ``kappa``, (n_docs,)."""
    along, squared, _ = found
    k0 = prior.concentration
    # |eta|^2, which rounding may push below zero where the words cancel the prior
    concentration = (k0 * k0 + 2.0 * k0 * kappa * along + kappa * kappa * squared).clip(0.0) ** 0.5
    ratio = apply(bessel.quotient, concentration, order_of(dim))
    return Step(concentration, ratio, ratio * (k0 * along + kappa * squared))


def update(found: Statistics, step: Step, prior: Prior, dim: int, method: Method = "newton") -> Array:
    """Return the M-step's word concentrations, (n_docs,); 0 where the words point away from the document."""
    return vmf.invert(_mean_cosine(found, step.pull, prior), dim, method)


def solve(found: Statistics, prior: Prior, dim: int, method: Method = "newton") -> Array:
    """Return the word concentrations that an endless EM with this prior would end at, (n_docs,).

    EM is a map ``kappa -> M(kappa)`` that rises with kappa. The search begins above its largest fixed point, where the
    document's direction is that of its words alone, and goes down by Newton's method on ``A(M(kappa)) - A(kappa)``,
    or on ``M(kappa) - kappa`` with Banerjee's inverse. Where ``M(kappa) > kappa`` a fixed point lies above, so that
    two bounds close in on it; a step that leaves them, or a tangent that leads upwards, is replaced by a cut between
    them. Each document stops by itself, so its bits do not depend on the others.
    """
    kappa = vmf.invert(_mean_cosine(found, found.squared_norms**0.5, prior), dim, method)
    if math.isinf(prior.strength):
        return kappa
    if is_numpy_array(kappa):
        return solve_each(found, kappa, prior, dim, method == "newton", SOLVED, MOST_STEPS)
    kappa = kappa * (found.lengths > 0.0)
    xp = array_namespace(kappa)
    low, high = 0.0 * kappa, 1.0 * kappa
    still = xp.nonzero(kappa > 0.0)[0]
    for _ in range(MOST_STEPS):
        if still.shape[0] == 0:
            break
        now = kappa[still]
        part = found if still.shape[0] == kappa.shape[0] else Statistics(*(numbers[still] for numbers in found))
        gap, slope, away = _gap(part, now, prior, dim, method)
        rising = gap > 0.0
        below, above = xp.where(rising, now, low[still]), xp.where(rising, high[still], now)
        jump = now - gap / xp.where(slope < 0.0, slope, -1.0)
        # A long way down in one step could pass the largest fixed point.
        floor = xp.where(rising | (below > 0.7 * now), below, 0.7 * now)
        sound = (slope < 0.0) & (jump > floor) & (jump < above)
        cut = xp.where(below > 0.0, (below * above) ** 0.5, 0.7 * now)
        after = xp.where(gap == 0.0, now, xp.where(sound, jump, cut)) * ~away
        low[still], high[still], kappa[still] = below, above, after
        # Newton's method squares what is left, up to a factor.
        left = abs(after - now) / now
        still = still[(left ** (1.0 + sound) > SOLVED) & ~away]
    return kappa


def _gap(found: Statistics, kappa: Array, prior: Prior, dim: int, method: Method) -> tuple[Array, Array, Array]:
    """Return how far EM would move, up to a positive factor, its derivative, and where the words point away.

    Close to 1, cosines are compared by what they lack of 1: the word concentration of a single word is otherwise lost
    in rounding.
    """
    along, squared, lengths = found
    xp, order, k0, total = array_namespace(kappa), order_of(dim), prior.concentration, lengths + prior.strength
    norm = (k0 * k0 + 2.0 * k0 * kappa * along + kappa * kappa * squared).clip(1e-300) ** 0.5
    length = squared**0.5
    cosine = ((k0 * along + kappa * squared) / (norm * length).clip(1e-300)).clip(-1.0, 1.0)
    sine2 = k0 * k0 * (1.0 - (along / length.clip(1e-300)) ** 2).clip(0.0) / (norm * norm)
    versine = xp.where(cosine > 0.0, sine2 / (1.0 + abs(cosine)), 1.0 - cosine)
    mean = apply(bessel.mean_length, norm, order)
    r = (mean * cosine * length + prior.strength * prior.cosine) / total
    lack = (lengths - length).clip(0.0) + length * (apply(bessel.shortfall, norm, order) + mean * versine)
    lack = (lack + prior.strength * (1.0 - prior.cosine)) / total
    bend = apply(bessel.mean_length_slope, norm, order) * cosine * cosine + mean / norm * sine2
    rise = squared * bend / total
    if method == "newton":
        near = apply(bessel.shortfall, kappa, order) - lack
        gap = xp.where(r > 0.5, near, r - apply(bessel.mean_length, kappa, order))
        return gap, rise - apply(bessel.mean_length_slope, kappa, order), r <= 0.0
    rest = (lack * (2.0 - lack)).clip(1e-300)  # 1 - r^2
    image = r * (dim - r * r) / rest
    steep = (dim - 3.0 * r * r) / rest + 2.0 * r * r * (dim - r * r) / (rest * rest)
    return image.clip(0.0, vmf.MAX_KAPPA) - kappa, steep * rise - 1.0, r <= 0.0


def evidence(found: Statistics, kappa: Array, concentration: Array, prior: Prior, dim: int) -> Array:
    """Return the exact log-evidence of each document, (n_docs,); 0 for one without words."""
    order = order_of(dim)
    whole = apply(bessel.log_partition, concentration, order) - float(vmf.log_partition(prior.concentration, dim))
    return whole - found.lengths * apply(bessel.log_partition, kappa, order)


def objective(found: Statistics, kappa: Array, concentration: Array, prior: Prior, dim: int) -> Array:
    """Return what EM climbs, (n_docs,): the log-evidence, plus the log-prior of the word concentration.

    The latter is ``a (rho kappa - Phi(kappa))``; there is none where ``a`` is 0 or infinite.
    """
    if math.isinf(prior.strength):
        return evidence(found, kappa, concentration, prior, dim)
    pseudo = found._replace(lengths=found.lengths + prior.strength)
    return evidence(pseudo, kappa, concentration, prior, dim) + prior.strength * prior.cosine * kappa


def mean_of_posteriors(sums: Array, kappa: Array, step: Step, prior: Prior) -> Array:
    """Return the mean of all E[d], (dim,): E[d] = ratio * (kappa0 mu0 + kappa s)."""
    xp = array_namespace(kappa)
    own = combination(sums, step.ratio * kappa)
    return (own + float(xp.sum(step.ratio)) * prior.concentration * prior.mean_direction) / kappa.shape[0]


def m_step(mean: Array, prior: Prior, method: Method = "newton") -> Prior:
    """Return the prior whose mean is that of the posteriors, (dim,)."""
    xp = array_namespace(mean)
    length = float(xp.sqrt(xp.sum(mean * mean)))
    if length == 0.0:  # documents that cancel each other say nothing of a direction
        return prior._replace(concentration=0.0)
    concentration = float(vmf.concentration(min(length, 1.0), mean.shape[0], method=method))
    return prior._replace(mean_direction=mean / length, concentration=concentration)


def pooled_cosine(squared_norms: Array, lengths: Array, squared_weights: Array) -> float:
    """Return rho, the mean cosine of a word with its document's direction, from all pairs of words of a text.

    ``squared_weights`` is ``sum a_i^2`` of each document, (n_docs,): its length if words are not weighted.
    """
    return cosine_of_pairs(*pairs_of_words(squared_norms, lengths, squared_weights))


def pairs_of_words(squared_norms: Array, lengths: Array, squared_weights: Array) -> tuple[float, float]:
    """Return the cosines of all pairs of words within documents, added up by their weights, and those weights."""
    xp = array_namespace(lengths)
    agreement = xp.sum(squared_norms - squared_weights)
    return float(agreement), float(xp.sum(lengths * lengths - squared_weights))


def cosine_of_pairs(agreement: float, pairs: float) -> float:
    """Return rho from the summed cosines of pairs and their weight; 1/2 if no text has two words."""
    return math.sqrt(min(max(agreement / pairs, 0.0), 1.0 - 1e-9)) if pairs > 0.0 else 0.5


def directions(sums: Array, kappa: Array, prior: Prior) -> Array:
    """Return the posterior directions mu', (n_docs, dim) float64; mu0 where the words cancel the prior."""
    xp = array_namespace(kappa)
    eta = prior.concentration * prior.mean_direction + kappa[:, None] * xp.astype(sums, xp.float64)
    norm = xp.sqrt(xp.sum(eta * eta, axis=1))[:, None]
    return xp.where(norm > 0.0, eta / xp.where(norm > 0.0, norm, xp.ones_like(norm)), prior.mean_direction)


def products(sums: Array, direction: Array) -> Array:
    """Return the inner product of each row with a direction, in float64: (n_docs, dim), (dim,) -> (n_docs,)."""
    if is_numpy_array(sums):
        along = np.empty(len(sums))
        project(np.ascontiguousarray(sums), np.ascontiguousarray(direction), along)
        return along
    xp = array_namespace(sums)
    parts = [xp.astype(sums[i : i + GPU_ROWS], xp.float64) @ direction for i in range(0, sums.shape[0], GPU_ROWS)]
    return xp.concat(parts) if parts else xp.astype(sums[:, 0], xp.float64)


def combination(sums: Array, weights: Array) -> Array:
    """Return the sum of the rows times their weights, in float64: (n_docs, dim), (n_docs,) -> (dim,)."""
    if is_numpy_array(sums):
        total = np.empty(sums.shape[1])
        weighted_sum(np.ascontiguousarray(sums), np.ascontiguousarray(weights), total)
        return total
    xp = array_namespace(sums)
    total = xp.zeros_like(xp.astype(sums[0], xp.float64))
    for i in range(0, sums.shape[0], GPU_ROWS):
        total = total + weights[i : i + GPU_ROWS] @ xp.astype(sums[i : i + GPU_ROWS], xp.float64)
    return total


def _mean_cosine(found: Statistics, pull: Array, prior: Prior) -> Array:
    """Return ``(pull + a rho) / (l + a)``; for an infinite ``a`` rho, and 0 where there are no words at all."""
    if math.isinf(prior.strength):
        return 0.0 * pull + prior.cosine
    total = found.lengths + prior.strength
    return (pull + prior.strength * prior.cosine) / (total + (total == 0.0))
