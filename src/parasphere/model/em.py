"""Expectation-maximisation: the prior of a corpus from its bags, at once or online."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import CorpusError, ParasphereError
from ..progress import progress
from ..sphere import vmf
from ..storage import check_layouts, check_types, storable
from . import equations
from .bags import Bags
from .equations import Method, Prior
from .statistics import CorpusStatistics, FirstKappa, Partition, solved_kappa

Start: TypeAlias = Literal["data", "paper"]

BLOCK = 1024  # documents per step of online EM
SKIPPED = 1 << 20  # random numbers that are drawn at a time for documents of other parts


class Monitor:
    """Watches EM: the objective per word before each iteration and after the last, and whether to stop.

    Parameters
    ----------
    max_iter : int
        Stop after so many iterations.
    tol : float
        Stop if an iteration gains less.
    trace : list of float
        The objectives so far.
    """

    def __init__(self, max_iter: int, tol: float, trace: list[float]) -> None:
        self.max_iter, self.tol, self.trace = max_iter, tol, trace

    @property
    def gain(self) -> float:
        """Gain of the last iteration; NaN if there was none."""
        return self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else math.nan

    @property
    def converged(self) -> bool:
        """Whether the last iteration gained less than ``tol``."""
        return abs(self.gain) < self.tol

    @property
    def finished(self) -> bool:
        """Whether EM is finished."""
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


@storable("em-run")
@dataclass(frozen=True)
class Run:
    """EM under way: the priors so far, and the objective under each of them but the last.

    The state of EM is the priors alone; the word concentrations of documents follow from these
    (:meth:`Partition.statistics`). A run that was interrupted continues from a saved one with the same result.

    Attributes
    ----------
    priors : tuple of Prior
    trace : tuple of float
        The objective per word before each iteration, and after the last if EM has finished.
    documents : int
        Number of documents that have known words.
    words, agreement, pairs : float
        Number of words, and the two sums that rho is made of (:func:`parasphere.model.equations.pairs_of_words`).
    """

    priors: tuple[Prior, ...]
    trace: tuple[float, ...]
    documents: int
    words: float
    agreement: float
    pairs: float

    @classmethod
    def begin(cls, statistics: CorpusStatistics, strength: float, method: Method, start: Start) -> "Run":
        """Find the first prior from statistics of the bags alone."""
        count, empty = statistics.counts["documents"], statistics.counts["empty"]
        if statistics.step:
            raise ValueError(f"EM begins with statistics of step 0, not {statistics.step}: accumulate with a new model")
        if not count:
            raise CorpusError(f"none of the {empty:,} documents has a word with a vector; at least one must")
        words, agreement, pairs = (statistics.number(name) for name in ("words", "agreement", "pairs"))
        cosine = equations.cosine_of_pairs(agreement, pairs)
        prior = _first_prior(statistics, Prior(np.empty(0), 1.0, cosine, strength, method), start)
        return cls((prior,), (), count, words, agreement, pairs)

    def after(self, statistics: CorpusStatistics, max_iter: int, tol: float) -> "Run":
        """Return the run after one M-step; if EM has finished, with the objective alone."""
        if statistics.step != len(self.priors):
            raise ValueError(
                f"these statistics are of step {statistics.step}, and EM is at step {len(self.priors)}: accumulate "
                "them with the model that they update"
            )
        if statistics.counts["documents"] != self.documents:
            raise ValueError(
                f"these are the statistics of {statistics.counts['documents']:,} documents, and EM began with "
                f"{self.documents:,}: every step needs all parts of the corpus, each once"
            )
        run = replace(self, trace=(*self.trace, statistics.number("objective") / self.words))
        if run.monitor(max_iter, tol).finished:
            return run
        mean = statistics.sums["mean"].value / self.documents
        return replace(run, priors=(*self.priors, equations.m_step(mean, self.priors[-1])))

    @property
    def prior(self) -> Prior:
        """The last prior."""
        return self.priors[-1]

    def monitor(self, max_iter: int, tol: float) -> Monitor:
        """Return the record of the objective."""
        return Monitor(max_iter, tol, list(self.trace))

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved run."""
        facts = {name: getattr(self, name) for name in ("documents", "words", "agreement", "pairs")}
        prior = self.prior.to_saved()[0]
        arrays = {
            "directions": np.array([prior.mean_direction for prior in self.priors]),
            "concentrations": np.array([prior.concentration for prior in self.priors]),
            "trace": np.array(self.trace, np.float64),
        }
        return {**facts, **{name: prior[name] for name in ("cosine", "strength", "method")}}, arrays

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], given: Any) -> Self:
        """Make a run of saved facts and arrays, which are checked."""
        check_types({"documents": int, "words": float, "agreement": float, "pairs": float}, facts)
        check_layouts(arrays, {"directions": "f8[steps,dim]", "concentrations": "f8[steps]", "trace": "f8[trace]"})
        shared = {name: facts[name] for name in ("cosine", "strength", "method")}
        priors = tuple(
            Prior.from_saved({"concentration": float(concentration), **shared}, {"mean_direction": direction}, given)
            for direction, concentration in zip(arrays["directions"], arrays["concentrations"], strict=True)
        )
        if not len(priors) - 1 <= len(arrays["trace"]) <= len(priors) or not priors:
            raise ParasphereError(f"{len(priors)} priors do not fit {len(arrays['trace'])} objectives")
        numbers = {name: facts[name] for name in ("documents", "words", "agreement", "pairs")}
        return cls(priors, tuple(arrays["trace"].tolist()), **numbers)


def fit_prior(
    bags: Bags,
    *,
    strength: float,
    method: Method,
    start: Start,
    max_iter: int,
    tol: float,
    random_state: Any = None,
    verbose: bool = False,
) -> Run:
    """Run EM on documents that all have words; the parameters are those of ``SphericalParagraphModel``."""
    partition = Partition(bags, first_kappa=first_kappa(start, random_state))
    run = Run.begin(partition.look(paper=start == "paper"), strength, method, start)
    with progress("EM", max_iter, unit="iterations", shown=verbose) as advance:
        while not run.monitor(max_iter, tol).finished:
            run = run.after(partition.statistics(run.priors), max_iter, tol)
            advance(1)
    return run


def first_kappa(start: Start, random_state: Any, skip: int = 0) -> FirstKappa:
    """Return what finds the word concentrations that EM starts from: solved, or for "paper" uniform in [1000, 1500].

    Parameters
    ----------
    start : {"data", "paper"}
    random_state : int, RandomState or None
    skip : int, default=0
        Number of documents before these in the corpus.
    """
    return solved_kappa if start == "data" else _Drawn(random_state, skip)


@dataclass(frozen=True)
class _Drawn:
    """The initial word concentrations of the paper: uniform in [1000, 1500], in the order of the documents."""

    random_state: Any
    skip: int

    def __call__(self, documents: equations.Statistics, prior: Prior) -> NDArray[np.float64]:
        """Draw those of documents."""
        from sklearn.utils import check_random_state

        rng = check_random_state(self.random_state)
        for begin in range(0, self.skip, SKIPPED):
            rng.uniform(size=min(SKIPPED, self.skip - begin))
        kappa: NDArray[np.float64] = rng.uniform(1000.0, 1500.0, len(documents.lengths))
        if math.isinf(prior.strength):
            kappa[:] = vmf.concentration(prior.cosine, len(prior.mean_direction), method=prior.method)
        return kappa


def _first_prior(statistics: CorpusStatistics, prior: Prior, start: Start) -> Prior:
    """Return the prior from which EM starts: that of the directions of the sums, or that of the paper."""
    directions = statistics.sums["directions"].value
    if start == "paper":
        total = statistics.sums["total"].value
        norm = float(np.linalg.norm(total))
        direction = total / norm if norm > 0 else np.eye(len(total))[0]
        return prior._replace(mean_direction=direction, concentration=1500.0)
    # If the directions cancel each other the concentration is 0, and any direction will do.
    prior = prior._replace(mean_direction=np.eye(len(directions))[0])
    # The directions of the sums scatter more than those of the documents; EM corrects that.
    prior = equations.m_step(directions / statistics.counts["documents"], prior)
    return prior._replace(concentration=min(prior.concentration, 1e4))


def moments(bags: Bags, prior: Prior) -> tuple[NDArray[np.float64], float]:
    """Return the mean of E[d] over documents, (dim,), and the objective per word, at the solved word concentrations."""
    documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
    kappa = equations.solve(documents, prior, bags.dim)
    step = equations.e_step(documents, kappa, prior, bags.dim)
    mean = equations.mean_of_posteriors(bags.sums, kappa, step, prior)
    total = float(equations.objective(documents, kappa, step.concentration, prior, bags.dim).sum())
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
    def after_fit(cls, run: Run, bags: Bags | None) -> "Online":
        """Continue from a fit, whose prior has the mean of the posteriors.

        Fewer than a block of documents are held, if they are given.
        """
        prior, dim = run.prior, len(run.prior.mean_direction)
        if bags is not None and len(bags) < BLOCK:
            return cls(0, np.zeros(dim), 0.0, 0.0, bags)
        mean = float(vmf.mean_length(prior.concentration, dim)) * prior.mean_direction
        return cls(run.documents, mean, run.agreement, run.pairs)

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
