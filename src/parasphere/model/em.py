"""Learning the prior of a corpus: expectation-maximisation over bags, on any device."""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..compiled import check_layouts
from ..errors import MissingExtraError, ParasphereError
from ..features import Bags
from ..progress import progress
from ..sphere import vmf
from ..sphere.bessel import Array
from ..storage import check_types, storable
from . import equations
from .equations import Method, Prior

Start: TypeAlias = Literal["data", "paper"]

BLOCK = 1024  # documents that online EM learns from at a time, at the least


class Fit(NamedTuple):
    """What EM found: the prior, the objective per word before each iteration and after the last, whether it settled."""

    prior: Prior
    trace: list[float]
    converged: bool


class State(NamedTuple):
    """All that EM carries from one iteration to the next; ``kappa`` are the word concentrations, (n_docs,)."""

    prior: Prior
    kappa: Array
    trace: list[float]


class Sampled(NamedTuple):
    """A corpus drawn from the model: its bags, and the document directions behind them, (n_docs, dim)."""

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
) -> Fit:
    """Run EM on documents that all have words; parameters are those of ``SphericalParagraphModel``."""
    state = first_guess(bags, strength, method, start, random_state)
    sums, squared, lengths = (moved(array, device) for array in (bags.sums, bags.squared_norms, bags.lengths))
    prior = state.prior._replace(mean_direction=moved(state.prior.mean_direction, device))
    kappa, trace = moved(state.kappa, device), list(state.trace)
    words, dim = float(bags.lengths.sum()), bags.dim

    with progress("EM", max_iter, unit="iterations", shown=verbose) as advance:
        while True:
            found = equations.statistics(sums, squared, lengths, prior)
            step = equations.e_step(found, kappa, prior, dim)
            trace.append(_total(equations.objective(found, kappa, step.concentration, prior, dim)) / words)
            converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol
            if converged or len(trace) > max_iter:
                break
            mean = equations.mean_of_posteriors(sums, kappa, step, prior)
            kappa = equations.update(found, step, prior, dim)
            prior = equations.m_step(mean, prior)
            advance(1)
    return Fit(prior._replace(mean_direction=on_host(prior.mean_direction)), trace, converged)


def first_guess(bags: Bags, strength: float, method: Method, start: Start, random_state: Any) -> State:
    """Return where EM begins; the corpus direction is always that of the sum of all words."""
    cosine = equations.pooled_cosine(bags.squared_norms, bags.lengths, bags.squared_weights)
    total = equations.combination(bags.sums, np.ones(len(bags)))
    norm = float(np.linalg.norm(total))
    direction = total / norm if norm > 0 else np.eye(bags.dim)[0]
    if start == "paper":
        kappa = check_random_state(random_state).uniform(1000.0, 1500.0, len(bags))
        if math.isinf(strength):
            kappa[:] = vmf.concentration(cosine, bags.dim, method=method)
        return State(Prior(direction, 1500.0, cosine, strength, method), kappa, [])
    norms = np.sqrt(bags.squared_norms)
    mean = equations.combination(bags.sums, 1.0 / np.where(norms > 0, norms, 1.0)) / len(bags)
    # Documents' own directions scatter more than the true ones; EM draws them together from here.
    prior = equations.m_step(mean, Prior(direction, 1.0, cosine, strength, method))
    prior = prior._replace(concentration=min(prior.concentration, 1e4))
    kappa = equations.solve(equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior), prior, bags.dim)
    return State(prior, kappa, [])


def moments(bags: Bags, prior: Prior) -> tuple[NDArray[np.float64], float]:
    """Return the mean of the documents' E[d], (dim,), each word concentration solved, and the objective per word."""
    found = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    kappa = equations.solve(found, prior, bags.dim)
    step = equations.e_step(found, kappa, prior, bags.dim)
    mean = equations.mean_of_posteriors(bags.sums, kappa, step, prior)
    climbed = _total(equations.objective(found, kappa, step.concentration, prior, bags.dim))
    return mean, climbed / max(1.0, float(bags.lengths.sum()))


@storable("online")
class Online(NamedTuple):
    """What online EM carries from one block of documents to the next.

    A mean of E[d] is only as good as the prior that it was found under. Under a prior that was fitted to a handful of
    documents (to one, kappa0 has no bound) every E[d] is that prior's own mean, and a running mean never gets away from
    it. So nothing is learned for good from fewer than :data:`BLOCK` documents. Until so many have come, they are held
    and fitted anew, by EM to its end, with each that is added: what is found is what a fit to all of them finds. After
    that, documents are held until they are a block, of which the running mean then learns once; in between, the prior
    is what it would be if the block ended here. How the caller cuts the stream thus hardly matters.

    Attributes
    ----------
    seen : int
        Documents that were learned from for good.
    mean : (dim,) array
        The running mean of their E[d].
    agreement, pairs : float
        The two sums behind rho, over them (:func:`parasphere.model.equations.pairs_of_words`).
    held : Bags or None
        Documents that are held, fewer than a block.
    """

    seen: int
    mean: NDArray[np.float64]
    agreement: float
    pairs: float
    held: Bags | None = None

    @classmethod
    def after_fit(cls, bags: Bags, prior: Prior) -> "Online":
        """Begin where a fit ended: its prior's mean is that of the posteriors. Few documents are held instead."""
        if len(bags) < BLOCK:
            return cls(0, np.zeros(bags.dim), 0.0, 0.0, bags)
        mean = float(vmf.mean_length(prior.concentration, bags.dim)) * prior.mean_direction
        return cls(0, mean, 0.0, 0.0)._with_words_of(bags)

    def with_held(self, bags: Bags) -> "Online":
        """Hold more documents."""
        return self._replace(held=bags if self.held is None else Bags.concatenate([self.held, bags]))

    def step(self, prior: Prior) -> tuple["Online", Prior, float]:
        """Learn from the held documents: return the new state, the new prior, and their objective per word.

        The running mean moves towards theirs by their share in all documents, so that each counts alike. Fewer than a
        block are held on to, and the state stays as it was.
        """
        assert self.held is not None
        bags, online = self.held, self._with_words_of(self.held)
        cosine = equations.cosine_of_pairs(online.agreement, online.pairs)
        prior = equations.m_step(self.mean, prior._replace(cosine=cosine))
        share = len(bags) / online.seen
        # Twice over the block: its posteriors then reflect what it has just taught.
        for _ in range(2):
            mean, gained = moments(bags, prior)
            moved_mean = online.mean + share * (mean - online.mean)
            prior = equations.m_step(moved_mean, prior)
        return (self if len(bags) < BLOCK else online._replace(mean=moved_mean)), prior, gained

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a saved model keeps."""
        return {name: getattr(self, name) for name in ("seen", "agreement", "pairs", "held")}, {"mean": self.mean}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make a state of what was saved, if it can be one."""
        check_types({"seen": int, "agreement": float, "pairs": float, "held": Bags | None}, facts)
        check_layouts(arrays, {"mean": "f8[dim]"})
        online = cls(mean=np.array(arrays["mean"]), **facts)
        held, length = online.held, float(np.linalg.norm(online.mean))
        if online.seen < 0 or not math.isfinite(online.agreement + online.pairs) or not length <= 1 + 1e-6:
            raise ParasphereError(f"online learning cannot be at {facts}")
        if (held is None and online.seen == 0) or (held is not None and not (len(held) and (held.lengths > 0).all())):
            raise ParasphereError("the documents that are held for online learning do not fit")
        return online

    def _with_words_of(self, bags: Bags) -> "Online":
        agreement, pairs = equations.pairs_of_words(bags.squared_norms, bags.lengths, bags.squared_weights)
        return Online(self.seen + len(bags), self.mean, self.agreement + agreement, self.pairs + pairs)


def draw(
    prior: Prior, n_docs: int, lengths: int | Sequence[int], kappa: float | None, rng: np.random.Generator
) -> Sampled:
    """Draw documents from a prior: a direction each, then its words."""
    dim = len(prior.mean_direction)
    if kappa is None:
        kappa = float(vmf.concentration(prior.cosine, dim))
    counts = np.asarray(lengths, np.int64)
    if n_docs < 1 or counts.shape not in ((), (n_docs,)) or counts.min() < 0:
        raise ValueError(f"n_docs must be at least 1, and lengths one number or {n_docs}, none negative; not {lengths}")
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
    """Return an array on a device of torch's, or as it is."""
    if device is None:
        return array
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch", f"device={device!r}") from None
    array = np.ascontiguousarray(array)
    return torch.asarray(array if array.flags.writeable else array.copy(), device=device)


def on_host(array: Array) -> NDArray[Any]:
    """Return an array of any library as numpy's."""
    return array if isinstance(array, np.ndarray) else array.cpu().numpy()
