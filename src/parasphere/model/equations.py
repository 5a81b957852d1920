"""The equations of the Spherical Paragraph Model, as pure functions over arrays.

A document's direction ``d ~ vMF(mu0, kappa0)``, its words ``w_i ~ vMF(d, kappa)``. Write ``s`` for the sum of its
``l`` unit word vectors, ``Phi`` for the log-partition and ``A = Phi'`` for the mean length of the vMF distribution.

**E-step.** The prior is conjugate, so the posterior of ``d`` is a vMF again, exactly::

    eta = kappa0 mu0 + kappa s        kappa' = |eta|        mu' = eta / kappa'        E[d] = A(kappa') mu'

and the evidence of the words is ``log p(w_1..w_l) = Phi(kappa') - Phi(kappa0) - l Phi(kappa)``.

**M-step.** ``mu0`` and ``A(kappa0)`` are the direction and the length of the mean of all ``E[d]``; and for each
document ``A(kappa) = (E[d].s + a rho) / (l + a)``: as if it had ``a`` more words, whose cosine with ``d`` is ``rho``.
That is the maximum under the conjugate prior ``p(kappa) ~ exp(a (rho kappa - Phi(kappa)))``. ``a = 0`` is the model of
the paper; with ``a`` infinite all documents share one concentration.

All of this needs three numbers per document, ``mu0.s``, ``|s|^2`` and ``l``, and two products with the matrix of sums.

**rho** is pooled over the corpus, once, before the first step: two words of the same text are independent given ``d``,
so that their expected cosine is ``A(kappa)^2``, and ``rho^2 = sum (|s|^2 - l) / sum l (l - 1)``.

Words may be weighted: ``s = sum a_i w_i``, ``l = sum a_i``. Over all pairs of different places ``|s|^2 - sum a_i^2`` is
the sum of ``a_i a_j`` times their cosine, and ``l^2 - sum a_i^2`` the sum of ``a_i a_j``: ``rho^2`` is the quotient of
the two, each summed over the corpus.
"""

import math
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._kernels import project, solve_each, weighted_sum
from ..errors import ParasphereError
from ..sphere import vmf
from ..sphere.bessel import Array, apply, order_of
from ..storage import check_layouts, check_types, storable

Method: TypeAlias = Literal["newton", "banerjee"]  # how the mean length is inverted: exactly, or as in the paper


@storable("prior")
class Prior(NamedTuple):
    """The parameters that all documents share: their mean direction, and how much documents and words scatter.

    Attributes
    ----------
    mean_direction : (dim,) array
        mu0.
    concentration : float
        kappa0.
    cosine : float
        rho, the mean cosine of a word with the direction of its document.
    strength : float
        a, the number of words that rho counts as in each document.
    method : {"newton", "banerjee"}, default="newton"
        How the mean length is inverted: exactly, or as in the paper.
    """

    mean_direction: Array
    concentration: float
    cosine: float
    strength: float
    method: Method = "newton"

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model."""
        facts = {name: getattr(self, name) for name in ("concentration", "cosine", "strength", "method")}
        return facts, {"mean_direction": np.asarray(self.mean_direction)}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make a prior from saved facts and arrays, and check it."""
        check_types(cls, facts)
        check_layouts(arrays, {"mean_direction": "f8[dim]"})
        prior = cls(np.array(arrays["mean_direction"]), **facts)
        length = float(np.linalg.norm(prior.mean_direction))
        if not abs(length - 1) <= 1e-6:
            raise ParasphereError(f"the mean direction has length {length}, not 1")
        if not (0 <= prior.concentration <= vmf.MAX_KAPPA and 0 <= prior.cosine <= 1 and prior.strength >= 0):
            raise ParasphereError(f"{facts} are not valid values of a prior")
        return prior


class Statistics(NamedTuple):
    """The three numbers per document, each (n_docs,) float64: ``mu0.s``, ``|s|^2`` and ``l``."""

    along: Array
    squared_norms: Array
    lengths: Array


class Step(NamedTuple):
    """The result of an E-step.

    Attributes
    ----------
    concentration : (n_docs,) array
        kappa', the concentration of each posterior.
    ratio : (n_docs,) array
        A(kappa') / kappa', so that E[d] = ratio * eta.
    pull : (n_docs,) array
        E[d].s.
    """

    concentration: Array
    ratio: Array
    pull: Array


def statistics(sums: Array, squared_norms: Array, lengths: Array, prior: Prior) -> Statistics:
    """Reduce documents to three numbers each: (n_docs, dim) -> three (n_docs,)."""
    return Statistics(products(sums, prior.mean_direction), squared_norms, lengths)


def e_step(documents: Statistics, kappa: Array, prior: Prior, dim: int) -> Step:
    """Return the posterior for given word concentrations ``kappa``, (n_docs,)."""
    concentration = concentrations(documents, kappa, prior)
    ratio = apply("quotient", concentration, order_of(dim))
    pull = ratio * (prior.concentration * documents.along + kappa * documents.squared_norms)
    return Step(concentration, ratio, pull)


def concentrations(documents: Statistics, kappa: Array, prior: Prior) -> Array:
    """Return kappa' = |eta|, (n_docs,), for given word concentrations ``kappa``, (n_docs,)."""
    along, squared, _ = documents
    k0 = prior.concentration
    # |eta|^2, which rounding may push below zero where the words cancel the prior
    return (k0 * k0 + 2.0 * k0 * kappa * along + kappa * kappa * squared).clip(0.0) ** 0.5


def update(documents: Statistics, step: Step, prior: Prior, dim: int) -> Array:
    """Return the M-step's word concentrations, (n_docs,); 0 where the words point away from the document."""
    return vmf.invert(_mean_cosine(documents, step.pull, prior), dim, prior.method)


def solve(documents: Statistics, prior: Prior, dim: int) -> Array:
    """Return the word concentrations that EM with this prior converges to, (n_docs,).

    EM is an increasing map ``kappa -> M(kappa)``. The search starts above its largest fixed point, where the direction
    of the document is that of its words alone, and descends by Newton's method on ``A(M(kappa)) - A(kappa)``, or on
    ``M(kappa) - kappa`` with Banerjee's inverse. ``M(kappa) > kappa`` is a lower bound of a fixed point and
    ``M(kappa) < kappa`` an upper one; a step beyond the bounds, or along a rising tangent, is replaced by a point
    between them. Each document is solved separately, so its bits do not depend on the others.
    """
    kappa = np.empty(len(documents.lengths))
    solve_each(*documents, KernelPrior.of(prior, dim), kappa)
    return kappa


def evidence(lengths: Array, kappa: Array, concentration: Array, prior: Prior, dim: int) -> Array:
    """Return the exact log-evidence of each document, (n_docs,); 0 for a document without words.

    ``lengths``, ``kappa`` and ``concentration`` are l, kappa and kappa' of each document.
    """
    order = order_of(dim)
    whole = apply("log_partition", concentration, order) - float(vmf.log_partition(prior.concentration, dim))
    return whole - lengths * apply("log_partition", kappa, order)


def objective(documents: Statistics, kappa: Array, concentration: Array, prior: Prior, dim: int) -> Array:
    """Return the objective of EM per document, (n_docs,): log-evidence plus log-prior of the word concentration.

    The latter is ``a (rho kappa - Phi(kappa))``; it is left out if ``a`` is 0 or infinite.
    """
    if math.isinf(prior.strength):
        return evidence(documents.lengths, kappa, concentration, prior, dim)
    pseudo = documents.lengths + prior.strength  # as if the words of the corpus were among those of the document
    return evidence(pseudo, kappa, concentration, prior, dim) + prior.strength * prior.cosine * kappa


def sum_of_posteriors(sums: Array, kappa: Array, step: Step, prior: Prior) -> Array:
    """Return the sum of all E[d], (dim,): E[d] = ratio * (kappa0 mu0 + kappa s)."""
    words = combination(sums, step.ratio * kappa)
    return words + float(step.ratio.sum()) * prior.concentration * prior.mean_direction


def m_step(mean: Array, prior: Prior) -> Prior:
    """Return the prior with the given mean of the posteriors, (dim,)."""
    length = float(np.sqrt((mean * mean).sum()))
    if length == 0.0:  # documents that cancel out have no common direction
        return prior._replace(concentration=0.0)
    concentration = float(vmf.concentration(min(length, 1.0), mean.shape[0], method=prior.method))
    return prior._replace(mean_direction=mean / length, concentration=concentration)


def pairs_of_words(squared_norms: Array, lengths: Array, squared_weights: Array) -> tuple[float, float]:
    """Return the weighted sum of the cosines of all pairs of words within documents, and the sum of the weights."""
    agreement = (squared_norms - squared_weights).sum()
    return float(agreement), float((lengths * lengths - squared_weights).sum())


def cosine_of_pairs(agreement: float, pairs: float) -> float:
    """Return rho from the summed cosines of pairs and their weight; 1/2 if no text has two words."""
    return math.sqrt(min(max(agreement / pairs, 0.0), 1.0 - 1e-9)) if pairs > 0.0 else 0.5


def products(sums: Array, direction: Array) -> Array:
    """Return the inner product of each row with a direction, in float64: (n_docs, dim), (dim,) -> (n_docs,)."""
    along = np.empty(len(sums))
    project(np.ascontiguousarray(sums), np.ascontiguousarray(direction), along)
    return along


def combination(sums: Array, weights: Array) -> Array:
    """Return the sum of the rows times their weights, in float64: (n_docs, dim), (n_docs,) -> (dim,).

    Blocks of 4,096 rows are summed one by one, and their sums added in order.
    """
    total = np.empty(sums.shape[1])
    weighted_sum(np.ascontiguousarray(sums), np.ascontiguousarray(weights), total)
    return total


def same_prior(one: Prior | None, other: Prior | None) -> bool:
    """Return whether two priors have the same numbers, or both are None."""
    if one is None or other is None:
        return one is other
    return one[1:] == other[1:] and np.array_equal(one.mean_direction, other.mean_direction)


class KernelPrior(NamedTuple):
    """The numbers of a prior, as the kernel takes them."""

    concentration: float
    strength: float
    cosine: float
    newton: bool  # whether the mean length is inverted exactly
    order: Array  # the constants of the dimension
    longest: float  # largest mean length that is inverted

    @classmethod
    def of(cls, prior: Prior, dim: int) -> Self:
        """Return the numbers of a prior in ``dim`` dimensions."""
        numbers = float(prior.concentration), float(prior.strength), float(prior.cosine)
        return cls(*numbers, prior.method == "newton", order_of(dim), vmf.longest(dim))


def _mean_cosine(documents: Statistics, pull: Array, prior: Prior) -> Array:
    """Return ``(pull + a rho) / (l + a)``; for an infinite ``a`` rho, and 0 where there are no words at all."""
    if math.isinf(prior.strength):
        return 0.0 * pull + prior.cosine
    total = documents.lengths + prior.strength
    return (pull + prior.strength * prior.cosine) / (total + (total == 0.0))
