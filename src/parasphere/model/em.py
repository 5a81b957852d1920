"""Expectation-maximisation: the prior of a corpus from its bags, on any device, at once or online."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..compiled import check_layouts
from ..errors import ParasphereError, import_extra
from ..features import Bags
from ..progress import progress
from ..sphere import vmf
from ..sphere.bessel import Array
from ..storage import check_types, storable
from . import equations
from .equations import Method, Prior

Start: TypeAlias = Literal["data", "paper"]

BLOCK = 1024  # documents per step of online EM


class Monitor:
    """Watches EM: records the objective per word before each iteration and after the last, and says when to stop.

    Parameters
    ----------
    max_iter : int
        Stop after so many iterations.
    tol : float
        Stop if an iteration gains less.
    """

    def __init__(self, max_iter: int, tol: float) -> None:
        self.max_iter, self.tol = max_iter, tol
        self.trace: list[float] = []

    @property
    def gain(self) -> float:
        """Gain of the last iteration; NaN if there was none."""
        return self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else math.nan

    @property
    def converged(self) -> bool:
        """Whether the last iteration gained less than ``tol``."""
        return abs(self.gain) < self.tol

    def stops(self, objective: float) -> bool:
        """Record the objective per word; return whether EM is finished."""
        self.trace.append(objective)
        return self.converged or len(self.trace) > self.max_iter


class Sampled(NamedTuple):
    """A corpus drawn from the model.

    Attributes
    ----------
    bags : Bags
    directions : (n_docs, dim) float64
        The document directions that the words were drawn around.
    """

    bags: Bags
    directions: NDArray[np.float64]


def fit_prior(
    bags: Bags,
    *,
    strength: float,
    method: Method,
    start: Start,
    max_iter: int,
    tol: float,
    random_state: Any = None,
    device: str | None = None,
    verbose: bool = False,
) -> tuple[Prior, Monitor]:
    """Run EM on documents that all have words; the parameters are those of ``SphericalParagraphModel``."""
    prior, kappa = first_guess(bags, strength, method, start, random_state)
    prior = prior._replace(mean_direction=moved(prior.mean_direction, device))
    arrays = (bags.sums, bags.squared_norms, bags.lengths, kappa)
    sums, squared, lengths, kappa = (moved(array, device) for array in arrays)
    n_words, dim, monitor = float(bags.lengths.sum()), bags.dim, Monitor(max_iter, tol)

    with progress("EM", max_iter, unit="iterations", shown=verbose) as advance:
        while True:
            documents = equations.statistics(sums, squared, lengths, prior)
            step = equations.e_step(documents, kappa, prior, dim)
            objective = equations.objective(documents, kappa, step.concentration, prior, dim)
            if monitor.stops(_total(objective) / n_words):
                return prior._replace(mean_direction=on_host(prior.mean_direction)), monitor
            mean = equations.mean_of_posteriors(sums, kappa, step, prior)
            kappa = equations.update(documents, step, prior, dim)
            prior = equations.m_step(mean, prior)
            advance(1)


def first_guess(bags: Bags, strength: float, method: Method, start: Start, random_state: Any) -> tuple[Prior, Array]:
    """Return the prior and the word concentrations, (n_docs,), from which EM starts.

    The corpus direction is always that of the sum of all words.
    """
    cosine = equations.pooled_cosine(bags.squared_norms, bags.lengths, bags.squared_weights)
    total = equations.combination(bags.sums, np.ones(len(bags)))
    norm = float(np.linalg.norm(total))
    direction = total / norm if norm > 0 else np.eye(bags.dim)[0]
    if start == "paper":
        kappa = check_random_state(random_state).uniform(1000.0, 1500.0, len(bags))
        if math.isinf(strength):
            kappa[:] = vmf.concentration(cosine, bags.dim, method=method)
        return Prior(direction, 1500.0, cosine, strength, method), kappa
    norms = np.sqrt(bags.squared_norms)
    mean = equations.combination(bags.sums, 1.0 / np.where(norms > 0, norms, 1.0)) / len(bags)
    # The directions of the sums scatter more than those of the documents; EM corrects that.
    prior = equations.m_step(mean, Prior(direction, 1.0, cosine, strength, method))
    prior = prior._replace(concentration=min(prior.concentration, 1e4))
    documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    return prior, equations.solve(documents, prior, bags.dim)


def moments(bags: Bags, prior: Prior) -> tuple[NDArray[np.float64], float]:
    """Return the mean of E[d] over documents, (dim,), and the objective per word, at the solved word concentrations."""
    documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    kappa = equations.solve(documents, prior, bags.dim)
    step = equations.e_step(documents, kappa, prior, bags.dim)
    mean = equations.mean_of_posteriors(bags.sums, kappa, step, prior)
    total = _total(equations.objective(documents, kappa, step.concentration, prior, bags.dim))
    return mean, total / max(1.0, float(bags.lengths.sum()))


@storable("online")
class Online(NamedTuple):
    """The state of online EM between blocks of documents.

    E[d] depends on the prior that it is computed under. Under a prior fitted to a handful of documents (for a single
    one, kappa0 is unbounded) every E[d] is close to the mean of that prior, and a running mean would never leave it.
    Until :data:`BLOCK` documents have been seen, all are therefore held and fitted together by EM: the result is that
    of one fit. After that the running mean is updated once per block, and an incomplete block is held; meanwhile the
    prior is what it would be if the block ended there. The way the stream is cut thus hardly matters.

    Attributes
    ----------
    seen : int
        Number of documents in the running mean.
    mean : (dim,) array
        Running mean of E[d].
    agreement, pairs : float
        The two sums that rho is made of (:func:`parasphere.model.equations.pairs_of_words`), over these documents.
    held : Bags or None
        Documents that are not in the running mean yet, fewer than a block.
    """

    seen: int
    mean: NDArray[np.float64]
    agreement: float
    pairs: float
    held: Bags | None = None

    @classmethod
    def after_fit(cls, bags: Bags, prior: Prior) -> "Online":
        """Continue from a fit, whose prior has the mean of the posteriors. Fewer than a block of documents are held."""
        if len(bags) < BLOCK:
            return cls(0, np.zeros(bags.dim), 0.0, 0.0, bags)
        mean = float(vmf.mean_length(prior.concentration, bags.dim)) * prior.mean_direction
        return cls(0, mean, 0.0, 0.0)._with_words_of(bags)

    def with_held(self, bags: Bags) -> "Online":
        """Hold more documents."""
        return self._replace(held=bags if self.held is None else Bags.concatenate([self.held, bags]))

    def step(self, prior: Prior) -> tuple["Online", Prior, float]:
        """Learn from the held documents; return the new state, the new prior, and their objective per word.

        The running mean moves towards that of the block in proportion to its share of all documents, so that every
        document has the same weight. The state does not change before the block is complete.
        """
        assert self.held is not None
        bags, online = self.held, self._with_words_of(self.held)
        cosine = equations.cosine_of_pairs(online.agreement, online.pairs)
        prior = equations.m_step(self.mean, prior._replace(cosine=cosine))
        share = len(bags) / online.seen
        # Twice, so that the posteriors of the block are those under the prior that it has changed.
        for _ in range(2):
            mean, objective = moments(bags, prior)
            moved_mean = online.mean + share * (mean - online.mean)
            prior = equations.m_step(moved_mean, prior)
        return (self if len(bags) < BLOCK else online._replace(mean=moved_mean)), prior, objective

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model."""
        return {name: getattr(self, name) for name in ("seen", "agreement", "pairs", "held")}, {"mean": self.mean}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make a state of saved facts and arrays, which are checked."""
        check_types({"seen": int, "agreement": float, "pairs": float, "held": Bags | None}, facts)
        check_layouts(arrays, {"mean": "f8[dim]"})
        online = cls(mean=np.array(arrays["mean"]), **facts)
        held, length = online.held, float(np.linalg.norm(online.mean))
        if online.seen < 0 or not math.isfinite(online.agreement + online.pairs) or not length <= 1 + 1e-6:
            raise ParasphereError(f"online EM cannot be in the state {facts}")
        if (held is None and online.seen == 0) or (held is not None and not (len(held) and (held.lengths > 0).all())):
            raise ParasphereError("the documents held by online EM do not fit its state")
        return online

    def _with_words_of(self, bags: Bags) -> "Online":
        agreement, pairs = equations.pairs_of_words(bags.squared_norms, bags.lengths, bags.squared_weights)
        return Online(self.seen + len(bags), self.mean, self.agreement + agreement, self.pairs + pairs)


def draw(
    prior: Prior, n_docs: int, lengths: int | Sequence[int], kappa: float | None, rng: np.random.Generator
) -> Sampled:
    """Draw documents from a prior: the direction of each, then its words."""
    dim = len(prior.mean_direction)
    if kappa is None:
        kappa = float(vmf.concentration(prior.cosine, dim))
    counts = np.asarray(lengths, np.int64)
    if n_docs < 1 or counts.shape not in ((), (n_docs,)) or counts.min() < 0:
        raise ValueError(
            f"n_docs must be at least 1, and lengths one number or {n_docs}, none of them negative; not {lengths}"
        )
    counts = np.broadcast_to(counts, (n_docs,))
    directions = vmf.sample(prior.mean_direction, prior.concentration, n_docs, rng)
    sums = np.zeros((n_docs, dim))
    for doc, count in enumerate(counts):
        if count:
            sums[doc] = vmf.sample(directions[doc], kappa, int(count), rng).sum(axis=0)
    bags = Bags(sums, counts.astype(np.float64), (sums**2).sum(axis=1), np.zeros(n_docs, np.int64))
    return Sampled(bags, directions)


def _total(numbers: Array) -> float:
    return float(array_namespace(numbers).sum(numbers))


def moved(array: Any, device: str | None) -> Array:
    """Return an array on a torch device, or as it is."""
    if device is None:
        return array
    torch = import_extra("torch", "torch", f"device={device!r}")
    array = np.ascontiguousarray(array)
    return torch.asarray(array if array.flags.writeable else array.copy(), device=device)


def on_host(array: Array) -> NDArray[Any]:
    """Return a numpy array or a torch tensor as a numpy array."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()
