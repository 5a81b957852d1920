"""The compiled loops from sums of words to word concentrations and to offsets, document by document.

In numpy a single text would spend its time between calls, and a million texts would need a dozen temporary arrays.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled, guarded
from ..compiled.rows import map_shifted_rows, project, unit_combinations
from ..sphere import bessel, vmf
from ..sphere.bessel import Order

SOLVED = 1e-13  # a word concentration is solved when no more than this share of it is left to go
MOST_STEPS = 100


class Numbers(NamedTuple):
    """The numbers of a prior, as the loops take them."""

    concentration: float
    strength: float
    cosine: float
    newton: bool  # whether the mean length is inverted exactly
    order: Order
    longest: float  # mean length that is inverted


def numbers_of(prior: Any, dim: int) -> Numbers:
    """Return the numbers of a :class:`parasphere.model.equations.Prior`."""
    bessel.register_formulas()  # before the loops below, which take these numbers, are compiled
    numbers = float(prior.concentration), float(prior.strength), float(prior.cosine)
    return Numbers(*numbers, prior.method == "newton", bessel.order_of(dim), vmf.longest(dim))


@guarded(along="f8[n]", squared="f8[n]", lengths="f8[n]", kappa="f8[n]")
@compiled(error_model="numpy")
def solve_each(along: Any, squared: Any, lengths: Any, prior: Numbers, kappa: Any) -> None:
    """Write the word concentrations to ``kappa``."""
    k0, strength, rho, order = prior.concentration, prior.strength, prior.cosine, prior.order
    for i in range(kappa.shape[0]):
        m, q, total = along[i], squared[i], lengths[i] + strength
        length = q**0.5
        cosine0 = m / max(length, 1e-300)
        bound = rho if math.isinf(strength) else (length + strength * rho) / (total + (total == 0.0))
        bound = min(max(bound, 0.0), prior.longest)
        now = bessel.concentration(bound, order) if prior.newton else bessel.banerjee(bound, order)
        now = min(max(now, 0.0), vmf.MAX_KAPPA)
        if math.isinf(strength):
            kappa[i] = now
            continue
        if not lengths[i] > 0.0:
            now = 0.0
        low, high = 0.0, now
        for _ in range(MOST_STEPS):
            if not now > 0.0:
                break
            norm = max(k0 * k0 + 2.0 * k0 * now * m + now * now * q, 1e-300) ** 0.5
            cosine = min(max((k0 * m + now * q) / max(norm * length, 1e-300), -1.0), 1.0)
            sine2 = k0 * k0 * max(1.0 - cosine0 * cosine0, 0.0) / (norm * norm)
            versine = sine2 / (1.0 + abs(cosine)) if cosine > 0.0 else 1.0 - cosine
            mean = bessel.mean_length(norm, order)
            r = (mean * cosine * length + strength * rho) / total
            if r <= 0.0:  # the words point away
                now = 0.0
                break
            lack = max(lengths[i] - length, 0.0) + length * (bessel.shortfall(norm, order) + mean * versine)
            lack = (lack + strength * (1.0 - rho)) / total
            bend = bessel.mean_length_slope(norm, order) * cosine * cosine + mean / norm * sine2
            rise = q * bend / total
            if prior.newton:
                slope = rise - bessel.mean_length_slope(now, order)
                gap = bessel.shortfall(now, order) - lack if r > 0.5 else r - bessel.mean_length(now, order)
            else:
                rest = max(lack * (2.0 - lack), 1e-300)
                image = r * (order.dim - r * r) / rest
                steep = (order.dim - 3.0 * r * r) / rest + 2.0 * r * r * (order.dim - r * r) / (rest * rest)
                gap, slope = min(max(image, 0.0), vmf.MAX_KAPPA) - now, steep * rise - 1.0
            if gap == 0.0:
                break
            floor = low
            if gap > 0.0:
                low = floor = now
            else:
                high = now
                floor = max(0.7 * now, low)
            after = now - gap / slope if slope < 0.0 else -1.0
            sound = after > floor and after < high
            if not sound:
                after = (low * high) ** 0.5 if low > 0.0 else 0.7 * now
            left = abs(after - now) / now
            now = after
            if (left * left if sound else left) <= SOLVED:
                break
        kappa[i] = now


# The loops without their guards, which compiled code can call.
_project, _combine, _map_rows, _solve = (
    vars(door)["__wrapped__"] for door in (project, unit_combinations, map_shifted_rows, solve_each)
)


@guarded(
    sums="f[n,width]", squared="f8[n]", lengths="f8[n]", mean="f8[width]", whitening="f8[dim,dim]?", out="f[n,width]"
)
@compiled(error_model="numpy")
def unit_offsets(
    sums: Any, squared: Any, lengths: Any, mean: Any, prior: Numbers, common: Any, whitening: Any, out: Any
) -> None:
    """Write the offsets of documents, divided by their lengths; 0 for those that say nothing.

    ``common`` is the mean length of the prior. For one short text, calling each of these loops from Python would take
    longer than the loops do.
    """
    n, k0 = sums.shape[0], prior.concentration
    along, kappa, factors, silent = np.empty(n), np.empty(n), np.empty(n), np.empty(n, np.bool_)
    _project(sums, mean, along)
    _solve(along, squared, lengths, prior, kappa)
    for i in range(n):
        square = k0 * k0 + 2.0 * k0 * kappa[i] * along[i] + kappa[i] * kappa[i] * squared[i]
        factors[i] = bessel.mean_length(max(square, 0.0) ** 0.5, prior.order)
        silent[i] = lengths[i] * kappa[i] == 0.0
    _combine(sums, kappa, k0 * mean, mean, out)
    _map_rows(out, factors, common * mean, whitening, silent, out)
    nothing = np.zeros(mean.shape[0])
    _combine(out, np.ones(n), nothing, nothing, out)
