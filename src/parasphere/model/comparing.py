"""Comparing texts by what each adds to the corpus.

All texts of a corpus share a direction, and the posterior of a short text is mostly that direction: the cosine of two
posterior directions says little about the two texts. What a text adds is the change of the expectation,
``E[d | text] - E[d]``, measured in the metric in which words scatter within texts equally in all directions
(:class:`parasphere.model.Scatter`)::

    offset = W (E[d | text] - E[d])        W = (C / v)^(-1/2)

The offset of an empty text is 0; the more informative a text is, the longer is its offset. The similarity of two texts
is the cosine of their offsets: 1 for the same text, about 0 for unrelated or uninformative texts. As ``E[d | text]`` is
``ratio (kappa0 mu0 + kappa s)`` with ``s`` a sum over words, the offset is a sum over words too, and each word
contributes a part of a similarity.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sphere import vmf
from ..sphere.rows import unit_rows
from .equations import Prior
from .posterior import Posterior

Floats = NDArray[np.float64]


def log_bayes_factor(a: Posterior, b: Posterior, prior: Prior) -> Floats:
    """Return the log Bayes factor of two documents sharing a direction against each having its own.

    Documents are compared pair by pair, or one with all others.

    Given one direction, the words of both have the posterior parameter ``eta = eta_a + eta_b - kappa0 mu0``, and the
    log-evidence for one direction against two is ``Phi(|eta|) + Phi(kappa0) - Phi(|eta_a|) - Phi(|eta_b|)``.
    """
    dim = a.direction.shape[1]
    together = a.parameter + b.parameter - prior.concentration * prior.mean_direction
    lengths = np.linalg.norm(together, axis=1), a.concentration, b.concentration
    shared, one, other = (vmf.log_partition(length, dim) for length in lengths)
    factors = shared + float(vmf.log_partition(prior.concentration, dim)) - one - other
    return np.where(a.offset.any(axis=1) & b.offset.any(axis=1), factors, 0.0)  # exactly 0 for an empty text


def cosines(a: Floats, b: Floats) -> Floats:
    """Return the cosines of rows, pair by pair; 0 where a row is 0: (n, dim), (n, dim) -> (n,)."""
    return np.asarray(np.einsum("ij,ij->i", unit_rows(a, np.float64), unit_rows(b, np.float64)).clip(-1.0, 1.0))


def doubts(a: Posterior, b: Posterior) -> Floats:
    """Return the standard deviation of the similarity of documents under their posteriors, pair by pair: (n,).

    The offsets are ``x + e`` and ``y + f`` with independent errors of covariances S and T, those of the two posteriors.
    To second order in the errors, and with the expected squared lengths as norms, the variance of the cosine is::

        (|y|^2 g.Sg + |x|^2 h.Th + tr(ST)) / ((|x|^2 + tr S) (|y|^2 + tr T))

    where ``g`` is the part of the direction of ``y`` orthogonal to ``x``, and ``h`` that of ``x`` orthogonal to ``y``.
    The variance falls to 0 as the texts grow. For two empty texts it is ``tr(W^4) / tr(W^2)^2``, that of two random
    directions.
    """
    u, v = unit_rows(a.offset, np.float64), unit_rows(b.offset, np.float64)
    cosine = np.einsum("ij,ij->i", u, v)[:, None]
    one, other = _errors(a, v - cosine * u), _errors(b, u - cosine * v)
    together = one.across * other.across * _trace_of_power(a, 4) + one.more * other.more * _dots(one, other) ** 2
    for half, rest in ((one, other), (other, one)):
        twice = a.in_metric(half.stretched)
        together += rest.across * half.more * np.einsum("ij,ij->i", twice, twice)
    variance = other.squared * one.carried + one.squared * other.carried + together
    return np.sqrt(variance / ((one.squared + one.trace) * (other.squared + other.trace)))


class _Errors(NamedTuple):
    """The uncertainty of offsets: their covariance is ``W (across I + more d d') W``, with the metric W.

    Attributes
    ----------
    squared : (n,) array
        Squared lengths of the offsets.
    across, more : (n,) arrays
        The variance of a direction orthogonal to its mean ``d``, and the difference to it of the variance along ``d``.
    stretched : (n, dim) array
        ``W d``.
    trace, carried : (n,) arrays
        The trace of the covariance, and the variance along an axis.
    """

    squared: Floats
    across: Floats
    more: Floats
    stretched: Floats
    trace: Floats
    carried: Floats


def _dots(one: _Errors, other: _Errors) -> Floats:
    """Return the inner products of the directions of two offsets in the metric, (n,)."""
    return np.asarray(np.einsum("ij,ij->i", one.stretched, other.stretched))


def _errors(posterior: Posterior, axis: Floats) -> _Errors:
    """Return the uncertainty of offsets, and its variance along an axis of each.

    The variance of a vMF is ``A / kappa`` orthogonal to its direction, and ``A' = 1 - A^2 - (dim - 1) A / kappa`` along
    it.
    """
    offset, direction = posterior.offset.astype(np.float64), posterior.direction.astype(np.float64)
    dim, mean, kappa = direction.shape[1], posterior.mean_length, posterior.concentration
    across = np.where(kappa > 0, mean / np.where(kappa > 0, kappa, 1.0), 1.0 / dim)
    more = np.maximum(1.0 - mean**2 - (dim - 1) * across, 0.0) - across  # variance along the direction, minus across
    gradient = posterior.in_metric(axis)  # the metric is symmetric
    radial = np.einsum("ij,ij->i", gradient, direction)
    stretched = posterior.in_metric(direction)
    return _Errors(
        squared=np.einsum("ij,ij->i", offset, offset),
        across=across,
        more=more,
        stretched=stretched,
        trace=across * _trace_of_power(posterior, 2) + more * np.einsum("ij,ij->i", stretched, stretched),
        carried=across * np.einsum("ij,ij->i", gradient, gradient) + more * radial**2,
    )


def _trace_of_power(posterior: Posterior, power: int) -> float:
    """Return the trace of a power of the metric."""
    dim = posterior.direction.shape[1]
    if posterior.whitening is None:
        return float(dim)
    values = np.linalg.eigvalsh(posterior.whitening)
    return float((values**power).sum() * (dim // len(values)))
