"""Random unit vectors from von Mises-Fisher distributions."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .arguments import like, nonnegative, unit_vectors
from .bessel import Array


def sample(mean_direction: Array, kappa: Array, size: int | tuple[int, ...] = (), rng: Any = None) -> Array:
    """Draw random unit vectors, (*size, ..., dim), exactly.

    The cosine to the mean direction comes from the rejection sampler of Ulrich (1984) and Wood (1994), the rest from
    normal variates and one Householder reflection; the cost is linear in ``dim``.

    Parameters
    ----------
    mean_direction : array, (..., dim)
        Unit vectors.
    kappa : array, (...), or scalar
        Concentrations, at least 0; broadcast against ``mean_direction`` without its last axis.
    size : int or tuple of int, default=()
        How many draws per mean direction; () is one, without an axis of its own.
    rng : Generator, RandomState, int or None, default=None
        Source of randomness, or a seed for one.

    Examples
    --------
    >>> from parasphere.sphere import vmf
    >>> draws = vmf.sample(np.eye(300)[0], 1500.0, 1000, rng=0)
    >>> draws.shape
    (1000, 300)
    >>> bool(abs(draws[:, 0].mean() - vmf.mean_length(1500.0, 300)) < 0.001)
    True
    """
    mu = unit_vectors(mean_direction, "mean_direction")
    k = np.asarray(nonnegative(kappa, "kappa"))
    rng = np.random.default_rng(rng)
    size = tuple(size) if isinstance(size, tuple | list) else (operator.index(size),)
    shape = (*size, *np.broadcast_shapes(mu.shape[:-1], k.shape))
    dim = mu.shape[-1]

    versine = _versines(np.broadcast_to(k, shape), dim, rng)
    out = np.empty((*shape, dim))
    out[..., 1:] = rng.standard_normal((*shape, dim - 1))
    tail = out[..., 1:]
    tail *= (np.sqrt(versine * (2.0 - versine)) / np.sqrt(np.vecdot(tail, tail)))[..., None]

    # Reflect the first axis onto -sign * mu; with this sign nothing cancels, whatever mu is.
    sign = np.where(mu[..., 0] < 0, -1.0, 1.0)
    out[..., 0] = sign * (versine - 1.0)
    mirror = mu.copy()
    mirror[..., 0] += sign
    out -= (2.0 * np.vecdot(out, mirror) / np.vecdot(mirror, mirror))[..., None] * mirror
    return like(out, mean_direction)


def _versines(kappa: Array, dim: int, rng: np.random.Generator) -> Array:
    """Draw ``t = 1 - cosine`` for each kappa by rejection; in ``t`` no precision is lost near the mean."""
    kappa, shape = kappa.reshape(-1), kappa.shape
    half = (dim - 1) / 2
    b = half / (kappa + np.sqrt(kappa * kappa + half * half))
    mode = 2.0 * b / (1.0 + b)  # where the envelope touches
    out = np.empty(kappa.size)
    left = np.arange(kappa.size)
    while left.size:
        t0 = mode[left]
        z = rng.beta(half, half, left.size)
        t = 2.0 * b[left] * z / ((1.0 - z) + b[left] * z)
        envelope = np.log((t + t0 - t * t0) / (t0 * (2.0 - t0)))
        accepted = kappa[left] * (t0 - t) + 2.0 * half * envelope >= -rng.standard_exponential(left.size)
        out[left[accepted]] = t[accepted]
        left = left[~accepted]
    return out.reshape(shape)
