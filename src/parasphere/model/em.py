"""Expectation-maximisation (EM): learning the prior of a corpus from sums over its documents.

The state of EM is the prior. An iteration has two steps:

* :meth:`Partition.statistics` is the E-step, a function of the bags and the prior alone: it solves for the word
  concentration of each document, and sums the posterior means and the objectives. The sums of the parts of a corpus
  can be added by any map-reduce engine. They are float64 and are rounded: other parts, or another order, change the
  total by a relative 1e-15 or so, and what EM learns by about 1e-9. The sums of one part always have the same bits:
  documents are added in blocks of fixed size, in order.
* :meth:`EMState.after` is the M-step: mu0 and kappa0 from the sums over the whole corpus.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import CorpusError, ParasphereError
from ..sphere import vmf
from ..storage import check_layouts, check_types, storable
from . import equations
from .bags import Bags, Scatter
from .equations import Method, Prior
from .reader import Reader

Floats = NDArray[np.float64]
Start: TypeAlias = Literal["data", "paper"]

BLOCK = 1024  # documents per step of online EM


@storable("corpus-statistics")
@dataclass(frozen=True, eq=False)
class CorpusStatistics:
    """Sums over the documents of a part of a corpus; ``+`` adds those of two parts.

    Attributes
    ----------
    prior : Prior or None
        The prior of the E-step. None for sums of the bags alone, from which EM computes its initial prior.
    counts : dict of str to int
        Numbers of ``documents`` with known words, of ``empty`` ones without, and of ``unknown`` words.
    sums : dict of str to float64 arrays
        The sums over documents: without a prior ``words``, ``agreement``, ``pairs`` and ``directions`` (and ``means``
        for texts), and for an E-step ``objective`` and ``mean``. Sums of numbers have no axes.
    word_counts : (n_words,) int64, or None
        Occurrences of each word of the vectors, if texts were read.
    """

    prior: Prior | None
    counts: dict[str, int]
    sums: dict[str, Floats]
    word_counts: NDArray[np.int64] | None = None

    def __add__(self, other: "CorpusStatistics") -> "CorpusStatistics":
        if set(self.sums) != set(other.sums) or not equations.same_prior(self.prior, other.prior):
            raise ValueError(
                f"the statistics {', '.join(self.sums)} and {', '.join(other.sums)} cannot be added: they must be "
                "accumulated under the same prior, in the same step of EM"
            )
        both = None
        if self.word_counts is not None and other.word_counts is not None:
            both = self.word_counts + other.word_counts
        return CorpusStatistics(
            self.prior,
            {name: count + other.counts[name] for name, count in self.counts.items()},
            {name: np.asarray(part + other.sums[name]) for name, part in self.sums.items()},
            both,
        )

    def number(self, name: str) -> float:
        """Return the value of a sum of numbers."""
        return float(self.sums[name])

    def scatter(self, reader: Reader | None) -> Scatter | None:
        """Return the scatter of words within texts; None if these are not sums over texts."""
        if reader is None or self.word_counts is None or "means" not in self.sums:
            return None
        weights = self.word_counts.astype(np.float64)
        weights = weights if reader.weights is None else weights * reader.weights
        unknown = self.counts["unknown"] * reader.unknown_weight
        return Scatter.from_means(reader.vectors.matrix, weights, self.sums["means"], unknown)

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of saved statistics."""
        arrays = {f"sum_{name}": part for name, part in self.sums.items()}
        words = {} if self.word_counts is None else {"word_counts": self.word_counts}
        return {"prior": self.prior, **self.counts}, {**arrays, **words}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make statistics from saved facts and arrays, and check them."""
        names = [name.removeprefix("sum_") for name in arrays if name != "word_counts"]
        check_types({"prior": Prior | None, **dict.fromkeys(("documents", "empty", "unknown"), int)}, facts)
        for name in names:
            if arrays[f"sum_{name}"].dtype != np.float64:
                raise ParasphereError(f"the sum {name!r} must be of float64")
        check_layouts(arrays, {"word_counts": "i8[words]"} if "word_counts" in arrays else {})
        counts = {name: facts[name] for name in ("documents", "empty", "unknown")}
        sums = {name: np.array(arrays[f"sum_{name}"]) for name in names}
        return cls(facts["prior"], counts, sums, arrays.get("word_counts"))


@dataclass(frozen=True, eq=False)
class Partition:
    """The documents of a part of a corpus, read once and passed to :meth:`SphericalParagraphModel.accumulate` per step.

    Attributes
    ----------
    bags : Bags
        The documents that have known words.
    empty, unknown : int
        Numbers of documents without known words, and of words without a vector.
    word_counts : (n_words,) int64, or None
        Occurrences of each word of the vectors, if texts were read.
    """

    bags: Bags
    empty: int = 0
    unknown: int = 0
    word_counts: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, bags: Bags, word_counts: NDArray[Any] | None = None) -> Self:
        """Make a partition from the documents of bags that have known words."""
        known = bags.lengths > 0
        some = bags if known.all() else bags[known]
        words = None if word_counts is None else word_counts.astype(np.int64)
        return cls(some, len(bags) - len(some), int(bags.unknown.sum()), words)

    @classmethod
    def read(cls, reader: Reader, texts: Any, n_jobs: int | None = None, **columns: Any) -> Self:
        """Read the documents of a part of a corpus; ``columns`` are passed to :func:`parasphere.corpus.blocks`."""
        counts = np.zeros(len(reader.vectors))
        parts = [bags for _, bags in reader.stream(texts, n_jobs, counts, **columns)]
        bags = Bags.concatenate([reader.empty(), *parts])
        return cls.of(replace(bags, reader=None), counts)  # pickled without the reader's vectors

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, by which engines such as Dask decide what to keep in memory."""
        arrays = (*vars(self.bags).values(), self.word_counts)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def statistics(self, prior: Prior | None) -> CorpusStatistics:
        """Return the sums of an E-step under a prior, or without a prior those that the initial prior is made from."""
        if prior is None:
            return self._first_statistics()
        return self.expected(prior, *e_step(self.bags, prior))

    def expected(
        self, prior: Prior, documents: equations.Statistics, kappa: Floats, step: equations.Step
    ) -> CorpusStatistics:
        """Return the sums of an E-step that was computed with word concentrations ``kappa``, (n_docs,)."""
        bags = self.bags
        objective = equations.objective(documents, kappa, step.concentration, prior, bags.dim)
        mean = equations.sum_of_posteriors(bags.sums, kappa, step, prior)
        return self._statistics(prior, {"objective": np.asarray(objective.sum()), "mean": mean})

    def _first_statistics(self) -> CorpusStatistics:
        bags = self.bags
        norms = np.sqrt(bags.squared_norms)
        agreement, pairs = equations.pairs_of_words(bags.squared_norms, bags.lengths, bags.squared_weights)
        sums = {
            "words": np.asarray(bags.lengths.sum()),
            "agreement": np.asarray(agreement),
            "pairs": np.asarray(pairs),
            "directions": equations.combination(bags.sums, 1.0 / np.where(norms > 0, norms, 1.0)),
        }
        if self.word_counts is not None:
            sums["means"] = Scatter.means(bags.sums, bags.lengths)
        return self._statistics(None, sums)

    def _statistics(self, prior: Prior | None, sums: dict[str, Floats]) -> CorpusStatistics:
        counts = {"documents": len(self.bags), "empty": self.empty, "unknown": self.unknown}
        return CorpusStatistics(prior, counts, sums, self.word_counts if prior is None else None)


@storable("em-state")
@dataclass(frozen=True)
class EMState:
    """The state of EM: the current prior, and the objective under each prior so far.

    An iteration depends on ``prior`` alone; the rest is for the stopping rule and for :meth:`partial_fit`. Interrupted
    EM resumes from a saved state with the same result.

    Attributes
    ----------
    prior : Prior
    trace : tuple of float
        The objective per word before each iteration, and after the last if EM has finished.
    documents : int
        Number of documents that have known words.
    words, agreement, pairs : float
        Number of words, and the two sums that give rho (:func:`parasphere.model.equations.pairs_of_words`).
    """

    prior: Prior
    trace: tuple[float, ...]
    documents: int
    words: float
    agreement: float
    pairs: float

    @classmethod
    def start(cls, statistics: CorpusStatistics, strength: float, method: Method) -> Self:
        """Return the initial state of EM: rho, and the prior computed from the directions of the sums."""
        if statistics.prior is not None:
            raise ValueError("EM starts from statistics without a prior: accumulate them with a new model")
        count = statistics.counts["documents"]
        if not count:
            empty = statistics.counts["empty"]
            if not empty:
                raise CorpusError("there are no documents to fit to; there must be at least one")
            raise CorpusError(f"none of the {empty:,} documents has a word with a vector; at least one must")
        words, agreement, pairs = (statistics.number(name) for name in ("words", "agreement", "pairs"))
        directions = statistics.sums["directions"]
        # If the directions cancel out, the concentration is 0 and any direction will do.
        any_direction = np.eye(len(directions))[0]
        prior = Prior(any_direction, 1.0, equations.cosine_of_pairs(agreement, pairs), strength, method)
        # The directions of the sums scatter more than those of the documents; EM corrects that.
        prior = equations.m_step(directions / count, prior)
        prior = prior._replace(concentration=min(prior.concentration, 1e4))
        return cls(prior, (), count, words, agreement, pairs)

    def after(self, statistics: CorpusStatistics, max_iter: int, tol: float) -> Self:
        """Return the state after an M-step, or the same prior with its objective once EM has finished."""
        if not equations.same_prior(statistics.prior, self.prior):
            raise ValueError(
                "these statistics are not those of this step of EM: accumulate them with the model that they update"
            )
        if statistics.counts["documents"] != self.documents:
            raise ValueError(
                f"these are the statistics of {statistics.counts['documents']:,} documents, but EM started with "
                f"{self.documents:,}: every step needs all parts of the corpus, each once"
            )
        state = replace(self, trace=(*self.trace, statistics.number("objective") / self.words))
        if state.finished(max_iter, tol):
            return state
        return replace(state, prior=equations.m_step(statistics.sums["mean"] / self.documents, self.prior))

    @property
    def gain(self) -> float:
        """Gain of the last iteration, in nats per word; NaN before the first."""
        return self.trace[-1] - self.trace[-2] if len(self.trace) > 1 else math.nan

    def converged(self, tol: float) -> bool:
        """Return whether the last iteration gained less than ``tol``."""
        return abs(self.gain) < tol

    def finished(self, max_iter: int, tol: float) -> bool:
        """Return whether EM has converged or reached ``max_iter`` iterations."""
        return self.converged(tol) or len(self.trace) > max_iter

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved state."""
        facts = {name: getattr(self, name) for name in ("prior", "documents", "words", "agreement", "pairs")}
        return facts, {"trace": np.array(self.trace, np.float64)}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make a state of saved facts and arrays, which are checked."""
        kinds = {"prior": Prior, "documents": int, "words": float, "agreement": float, "pairs": float}
        check_types(kinds, facts)
        check_layouts(arrays, {"trace": "f8[trace]"})
        return cls(trace=tuple(arrays["trace"].tolist()), **{name: facts[name] for name in kinds})


def run_em(
    statistics: Callable[[Prior | None], CorpusStatistics],
    *,
    strength: float,
    method: Method,
    max_iter: int,
    tol: float,
    state: EMState | None = None,
    report: Callable[[EMState], object] | None = None,
) -> EMState:
    """Run EM until it has converged or reached ``max_iter`` iterations.

    Parameters
    ----------
    statistics : callable
        Returns the sums over the whole corpus under a prior, or without one (:meth:`Partition.statistics`).
    strength, method, max_iter, tol
        As ``prior_strength``, ``kappa_method``, ``max_iter`` and ``tol`` of ``SphericalParagraphModel``.
    state : EMState, default=None
        The state to continue from; None starts from the beginning.
    report : callable, default=None
        Called with the state after each iteration.
    """
    if state is None:
        state = EMState.start(statistics(None), strength, method)
    while not state.finished(max_iter, tol):
        state = state.after(statistics(state.prior), max_iter, tol)
        if report is not None:
            report(state)
    return state


def run_paper_em(
    part: Partition, rng: np.random.RandomState, *, strength: float, method: Method, max_iter: int, tol: float
) -> EMState:
    """Run EM as the paper does: each kappa_n moves by one step per iteration, from a random start.

    EM starts from the direction of the sum of all words, kappa0 = 1500 and kappa_n uniform in [1000, 1500].
    """
    bags, state = part.bags, EMState.start(part.statistics(None), strength, method)
    total = equations.combination(bags.sums, np.ones(len(bags)))
    norm = float(np.linalg.norm(total))
    direction = total / norm if norm > 0 else np.eye(len(total))[0]
    state = replace(state, prior=state.prior._replace(mean_direction=direction, concentration=1500.0))
    kappa = rng.uniform(1000.0, 1500.0, len(bags))
    if math.isinf(strength):
        kappa[:] = vmf.concentration(state.prior.cosine, bags.dim, method=method)
    while True:
        prior, documents = state.prior, equations.statistics(bags.sums, bags.possible_norms, bags.lengths, state.prior)
        step = equations.e_step(documents, kappa, prior, bags.dim)
        state = state.after(part.expected(prior, documents, kappa, step), max_iter, tol)
        if state.finished(max_iter, tol):
            return state
        kappa = equations.update(documents, step, prior, bags.dim)


def e_step(bags: Bags, prior: Prior) -> tuple[equations.Statistics, Floats, equations.Step]:
    """Return the three numbers per document, the solved word concentrations, and the posteriors."""
    documents = equations.statistics(bags.sums, bags.possible_norms, bags.lengths, prior)
    kappa = equations.solve(documents, prior, bags.dim)
    return documents, kappa, equations.e_step(documents, kappa, prior, bags.dim)


def moments(bags: Bags, prior: Prior) -> tuple[Floats, float]:
    """Return the mean of E[d] over documents, (dim,), and the objective per word, at the solved word concentrations."""
    documents, kappa, step = e_step(bags, prior)
    mean = equations.sum_of_posteriors(bags.sums, kappa, step, prior) / len(bags)
    total = float(equations.objective(documents, kappa, step.concentration, prior, bags.dim).sum())
    return mean, total / max(1.0, float(bags.lengths.sum()))


@storable("online")
class Online(NamedTuple):
    """The state of online EM between blocks of documents.

    E[d] depends on the prior. Under a prior fitted to only a few documents (for a single one, kappa0 is unbounded)
    every E[d] is close to the mean of that prior, and a running mean would never leave it. Therefore all documents are
    held and fitted together by EM until :data:`BLOCK` of them have been seen, with the result of a single fit. After
    that the running mean is updated once per block. An incomplete block is held, and the prior is what it would be if
    the block ended there. So the way the stream is cut hardly matters.

    Attributes
    ----------
    seen : int
        Number of documents in the running mean.
    mean : (dim,) array
        Running mean of E[d].
    agreement, pairs : float
        The two sums that give rho (:func:`parasphere.model.equations.pairs_of_words`), over these documents.
    held : Bags or None
        Documents that are not in the running mean yet, fewer than a block.
    """

    seen: int
    mean: Floats
    agreement: float
    pairs: float
    held: Bags | None = None

    @classmethod
    def after_fit(cls, state: EMState, bags: Bags | None) -> "Online":
        """Return the state after a fit, whose prior gives the mean of the posteriors.

        The documents are held if there are fewer than a block of them.
        """
        prior, dim = state.prior, len(state.prior.mean_direction)
        if bags is not None and len(bags) < BLOCK:
            return cls(0, np.zeros(dim), 0.0, 0.0, bags)
        mean = float(vmf.mean_length(prior.concentration, dim)) * prior.mean_direction
        return cls(state.documents, mean, state.agreement, state.pairs)

    def with_held(self, bags: Bags) -> "Online":
        """Return the state with more documents held."""
        return self._replace(held=bags if self.held is None else Bags.concatenate([self.held, bags]))

    def step(self, prior: Prior) -> tuple["Online", Prior, float]:
        """Learn from the held documents; return the new state, the new prior, and the objective per word.

        The running mean moves towards the mean of the block in proportion to the block's share of all documents, so
        that every document has the same weight. The state does not change before the block is complete.
        """
        assert self.held is not None
        bags, online = self.held, self._with_words_of(self.held)
        cosine = equations.cosine_of_pairs(online.agreement, online.pairs)
        prior = equations.m_step(self.mean, prior._replace(cosine=cosine))
        share = len(bags) / online.seen
        # Twice, so that the posteriors of the block are computed under the prior that includes it.
        for _ in range(2):
            mean, objective = moments(bags, prior)
            moved_mean = online.mean + share * (mean - online.mean)
            prior = equations.m_step(moved_mean, prior)
        return (self if len(bags) < BLOCK else online._replace(mean=moved_mean)), prior, objective

    def to_saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the facts and arrays of a saved model."""
        return {name: getattr(self, name) for name in ("seen", "agreement", "pairs", "held")}, {"mean": self.mean}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _overrides: Any) -> Self:
        """Make a state of saved facts and arrays, which are checked."""
        check_types({"seen": int, "agreement": float, "pairs": float, "held": Bags | None}, facts)
        check_layouts(arrays, {"mean": "f8[dim]"})
        online = cls(mean=np.array(arrays["mean"]), **facts)
        held, length = online.held, float(np.linalg.norm(online.mean))
        if online.seen < 0 or not math.isfinite(online.agreement + online.pairs) or not length <= 1 + 1e-6:
            raise ParasphereError(f"{facts} is not a valid state of online EM")
        if (held is None and online.seen == 0) or (held is not None and not (len(held) and (held.lengths > 0).all())):
            raise ParasphereError("the documents held by online EM do not fit its state")
        return online

    def _with_words_of(self, bags: Bags) -> "Online":
        agreement, pairs = equations.pairs_of_words(bags.squared_norms, bags.lengths, bags.squared_weights)
        return Online(self.seen + len(bags), self.mean, self.agreement + agreement, self.pairs + pairs)
