"""Learning the prior of a corpus: expectation-maximisation over bags, with checkpoints, on any device."""

import hashlib
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from .. import storage
from ..compiled.layout import LayoutError, check_layouts
from ..errors import MissingExtraError, StoreError
from ..features.bags import Bags
from ..progress import progress
from ..sphere import vmf
from ..sphere.bessel import Array
from . import equations as spm
from .equations import Method, Prior

Start: TypeAlias = Literal["data", "paper"]

CHECKPOINT = "spm-checkpoint"
CHECKPOINT_SECONDS = 10.0  # between two checkpoints
BLOCK = 1024  # documents that online EM learns from at a time, at the least


class Fit(NamedTuple):
    """What EM found: the prior, the objective a word before each iteration and after the last, whether it settled."""

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
    checkpoint: str | Path | None = None,
) -> Fit:
    """Run EM on documents that all have words; parameters are those of ``SphericalParagraphModel``."""
    seed = random_state if isinstance(random_state, int) else None  # a generator has no name to be known again by
    kept = None if checkpoint is None else Checkpoint(Path(checkpoint), bags, (strength, method, start, seed))
    state = (kept and kept.resume()) or first_guess(bags, strength, method, start, random_state)
    sums, squared, lengths = (moved(array, device) for array in (bags.sums, bags.squared_norms, bags.lengths))
    prior = state.prior._replace(mean_direction=moved(state.prior.mean_direction, device))
    kappa, trace = moved(state.kappa, device), list(state.trace)
    words, dim = float(bags.lengths.sum()), bags.dim

    with progress("EM", max_iter, unit="iterations") as advance:
        while True:
            found = spm.statistics(sums, squared, lengths, prior)
            step = spm.e_step(found, kappa, prior, dim)
            trace.append(_total(spm.objective(found, kappa, step.concentration, prior, dim)) / words)
            converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol
            if converged or len(trace) > max_iter:
                break
            mean = spm.mean_of_posteriors(sums, kappa, step, prior)
            kappa = spm.update(found, step, prior, dim, method)
            prior = spm.m_step(mean, prior, method)
            if kept:
                kept.keep(State(prior, kappa, trace))
            advance(1)
    if kept:
        kept.discard()
    return Fit(prior._replace(mean_direction=on_host(prior.mean_direction)), trace, converged)


def first_guess(bags: Bags, strength: float, method: Method, start: Start, random_state: Any) -> State:
    """Return where EM begins; the corpus direction is always that of the sum of all words."""
    cosine = spm.pooled_cosine(bags.squared_norms, bags.lengths, bags.squared_weights)
    total = spm.combination(bags.sums, np.ones(len(bags)))
    norm = float(np.linalg.norm(total))
    direction = total / norm if norm > 0 else np.eye(bags.dim)[0]
    if start == "paper":
        kappa = check_random_state(random_state).uniform(1000.0, 1500.0, len(bags))
        if math.isinf(strength):
            kappa[:] = vmf.concentration(cosine, bags.dim, method=method)
        return State(Prior(direction, 1500.0, cosine, strength), kappa, [])
    norms = np.sqrt(bags.squared_norms)
    mean = spm.combination(bags.sums, 1.0 / np.where(norms > 0, norms, 1.0)) / len(bags)
    # Documents' own directions scatter more than the true ones; EM draws them together from here.
    prior = spm.m_step(mean, Prior(direction, 1.0, cosine, strength), method)
    prior = prior._replace(concentration=min(prior.concentration, 1e4))
    kappa = spm.solve(spm.statistics(bags.sums, bags.squared_norms, bags.lengths, prior), prior, bags.dim, method)
    return State(prior, kappa, [])


def moments(bags: Bags, prior: Prior, method: Method) -> tuple[NDArray[np.float64], float]:
    """Return the mean of the documents' E[d], (dim,), with each word concentration solved, and the objective a word."""
    found = spm.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    kappa = spm.solve(found, prior, bags.dim, method)
    step = spm.e_step(found, kappa, prior, bags.dim)
    mean = spm.mean_of_posteriors(bags.sums, kappa, step, prior)
    climbed = _total(spm.objective(found, kappa, step.concentration, prior, bags.dim))
    return mean, climbed / max(1.0, float(bags.lengths.sum()))


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

    def step(self, prior: Prior, method: Method) -> tuple["Online", Prior, float]:
        """Learn from the held documents: return the new state, the new prior, and their objective a word.

        The running mean moves towards theirs by their share in all documents, so that each counts alike. Fewer than a
        block are held on to, and the state stays as it was.
        """
        assert self.held is not None
        bags, online = self.held, self._with_words_of(self.held)
        cosine = spm.cosine_of_pairs(online.agreement, online.pairs)
        prior = spm.m_step(self.mean, prior._replace(cosine=cosine), method)
        share = len(bags) / online.seen
        # Twice over the block: its posteriors then reflect what it has just taught.
        for _ in range(2):
            mean, gained = moments(bags, prior, method)
            moved_mean = online.mean + share * (mean - online.mean)
            prior = spm.m_step(moved_mean, prior, method)
        return (self if len(bags) < BLOCK else online._replace(mean=moved_mean)), prior, gained

    def _with_words_of(self, bags: Bags) -> "Online":
        agreement, pairs = spm.pairs_of_words(bags.squared_norms, bags.lengths, bags.squared_weights)
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


class Checkpoint:
    """A folder that holds the state of a fit while it runs."""

    def __init__(self, folder: Path, bags: Bags, options: tuple[Any, ...]) -> None:
        self.folder, self.sizes = folder, {"docs": len(bags), "dim": bags.dim}
        numbers = hashlib.sha256(np.ascontiguousarray(bags.lengths).data)
        numbers.update(np.ascontiguousarray(bags.sums).data)
        numbers.update(repr((options, bags.sums.shape)).encode())
        self.key = numbers.hexdigest()
        self.last = time.monotonic()

    def keep(self, state: State) -> None:
        """Write the state, unless that was done a moment ago."""
        if time.monotonic() - self.last < CHECKPOINT_SECONDS:
            return
        prior = state.prior
        arrays = {
            "mean_direction": on_host(prior.mean_direction),
            "kappa": on_host(state.kappa),
            "trace": np.array(state.trace),
            "prior": np.array([prior.concentration, prior.cosine, prior.strength]),
        }
        storage.save(self.folder, CHECKPOINT, arrays, {"key": self.key})
        self.last = time.monotonic()

    def resume(self) -> State | None:
        """Return the state that an earlier run left, if there is one."""
        storage.check_target(self.folder, CHECKPOINT)
        if not storage.is_saved(self.folder, CHECKPOINT):
            return None
        arrays, meta = storage.load(self.folder, CHECKPOINT, verify=True)
        if meta["key"] != self.key:
            raise StoreError(
                f"{self.folder} holds the checkpoint of a fit to other documents or with other options. "
                "Name another folder, or remove this one to begin anew."
            )
        try:
            layouts = {"prior": "f8[3]", "mean_direction": "f8[dim]", "kappa": "f8[docs]", "trace": "f8[n]"}
            check_layouts(arrays, layouts, self.sizes)
        except LayoutError as error:
            raise StoreError(f"{self.folder} holds a checkpoint that is damaged: {error}.") from error
        concentration, cosine, strength = arrays["prior"].tolist()
        prior = Prior(np.array(arrays["mean_direction"]), concentration, cosine, strength)
        return State(prior, np.array(arrays["kappa"]), arrays["trace"].tolist())

    def discard(self) -> None:
        """Remove the folder: the fit is done."""
        if storage.is_saved(self.folder, CHECKPOINT):
            storage.remove(self.folder)


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
