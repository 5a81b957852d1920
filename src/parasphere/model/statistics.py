"""What EM needs of a corpus, as sums over its documents: small, and the same bits in whichever way they are added."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..sphere.bessel import Array
from ..storage import check_layouts, check_types, storable
from . import equations
from .bags import Bags
from .equations import Prior
from .exact import Exact, exact_mean_sum, exact_sum
from .reader import Reader
from .scatter import Scatter

FirstKappa = Callable[[equations.Statistics, Prior], Array]  # the word concentrations that EM starts from


@storable("corpus-statistics")
@dataclass(frozen=True, eq=False)
class CorpusStatistics:
    """Sums over the documents of a part of a corpus; those of two parts are added by ``+``, in any order.

    Attributes
    ----------
    step : int
        Number of priors so far. With 0 these are sums of the bags alone, from which EM finds its first prior.
    counts : dict of str to int
        Numbers of ``documents`` with known words, of ``empty`` ones without, and of ``unknown`` words.
    sums : dict of str to Exact
        The sums over documents: with step 0 ``words``, ``agreement``, ``pairs`` and ``directions`` (and ``total`` for
        ``init="paper"``, ``means`` for texts), later ``objective`` and ``mean``.
    word_counts : (n_words,) int64, or None
        Occurrences of each word of the vectors, if texts were read.
    """

    step: int
    counts: dict[str, int]
    sums: dict[str, Exact]
    word_counts: NDArray[np.int64] | None = None

    def __add__(self, other: "CorpusStatistics") -> "CorpusStatistics":
        if (self.step, set(self.sums)) != (other.step, set(other.sums)):
            raise ValueError(
                f"statistics of step {self.step} ({', '.join(self.sums)}) and of step {other.step} "
                f"({', '.join(other.sums)}) cannot be added; accumulate all parts alike, with the same model"
            )
        both = None
        if self.word_counts is not None and other.word_counts is not None:
            both = self.word_counts + other.word_counts
        return CorpusStatistics(
            self.step,
            {name: count + other.counts[name] for name, count in self.counts.items()},
            {name: part + other.sums[name] for name, part in self.sums.items()},
            both,
        )

    def number(self, name: str) -> float:
        """Return a sum of numbers."""
        return float(self.sums[name].value)

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
        units = {f"unit_{name}": part.unit for name, part in self.sums.items()}
        arrays = {f"sum_{name}": part.limbs for name, part in self.sums.items()}
        words = {} if self.word_counts is None else {"word_counts": self.word_counts}
        return {"step": self.step, **self.counts, **units}, {**arrays, **words}

    @classmethod
    def from_saved(cls, facts: dict[str, Any], arrays: dict[str, NDArray[Any]], _given: Any) -> Self:
        """Make statistics of saved facts and arrays, which are checked."""
        names = [name.removeprefix("sum_") for name in arrays if name != "word_counts"]
        kinds = dict.fromkeys(("step", "documents", "empty", "unknown", *(f"unit_{name}" for name in names)), int)
        check_types(kinds, facts)
        for name in names:
            if arrays[f"sum_{name}"].dtype != np.int64:
                raise ParasphereError(f"the sum {name!r} must be of int64")
        check_layouts(arrays, {"word_counts": "i8[words]"} if "word_counts" in arrays else {})
        counts = {name: facts[name] for name in ("documents", "empty", "unknown")}
        sums = {name: Exact(np.array(arrays[f"sum_{name}"]), facts[f"unit_{name}"]) for name in names}
        return cls(facts["step"], counts, sums, arrays.get("word_counts"))


@dataclass(eq=False)
class Partition:
    """The documents of a part of a corpus, read once; :meth:`SphericalParagraphModel.accumulate` takes it in each step.

    Attributes
    ----------
    bags : Bags
        The documents that have known words.
    empty, unknown : int
        Numbers of documents without known words, and of words without a vector.
    word_counts : (n_words,) int64, or None
        Occurrences of each word of the vectors, if texts were read.
    first_kappa : callable, default=solved_kappa
        The word concentrations that EM starts from.
    """

    bags: Bags
    empty: int = 0
    unknown: int = 0
    word_counts: NDArray[np.int64] | None = None
    first_kappa: FirstKappa | None = None
    _reached: "_Reached | None" = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, bags: Bags, word_counts: NDArray[Any] | None = None, **options: Any) -> "Partition":
        """Take the documents of bags that have known words."""
        known = bags.lengths > 0
        some = bags if known.all() else bags[known]
        words = None if word_counts is None else word_counts.astype(np.int64)
        return cls(some, len(bags) - len(some), int(bags.unknown.sum()), words, **options)

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of documents with and without known words, and of unknown words."""
        return {"documents": len(self.bags), "empty": self.empty, "unknown": self.unknown}

    def look(self, *, paper: bool = False) -> CorpusStatistics:
        """Return what EM starts from; with ``paper``, also the sum of all words."""
        bags = self.bags
        norms = np.sqrt(bags.squared_norms)
        scales = 1.0 / np.where(norms > 0, norms, 1.0)
        sums = {
            "words": exact_sum(bags.lengths),
            "agreement": exact_sum(bags.squared_norms - bags.squared_weights),
            "pairs": exact_sum(bags.lengths * bags.lengths - bags.squared_weights),
            "directions": exact_mean_sum(bags.sums, scales, np.zeros(len(bags)), np.zeros(bags.dim)),
        }
        if paper:
            sums["total"] = exact_sum(bags.sums)
        if self.word_counts is not None and bags.reader is not None:
            sums["means"] = Scatter.means(bags.sums, bags.lengths)
        return CorpusStatistics(0, self.counts, sums, self.word_counts)

    def statistics(self, priors: Sequence[Prior]) -> CorpusStatistics:
        """Return the sums of an E-step under the last of the priors that EM has had so far.

        The word concentrations depend on all of them. Those of the last call are kept, so that only the steps since
        then are made; where they are lost, as in a new process, all steps are made again, with the same result.
        """
        reached = self._reached
        if reached is None or not reached.leads_to(priors):
            reached = None
        for prior in priors[0 if reached is None else reached.step :]:
            reached = self._next(prior, reached)
        assert reached is not None
        self._reached = reached
        objective = equations.objective(
            reached.documents, reached.kappa, reached.posterior.concentration, reached.prior, self.bags.dim
        )
        sums = {"objective": exact_sum(np.asarray(objective)), "mean": self._mean(reached)}
        return CorpusStatistics(reached.step, self.counts, sums)

    def _next(self, prior: Prior, before: "_Reached | None") -> "_Reached":
        """Make one more step: the word concentrations after the last, and the posteriors under a new prior."""
        dim = self.bags.dim
        bags, way = self.bags, (() if before is None else before.way)
        documents = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, prior)
        if before is None:
            kappa = (self.first_kappa or solved_kappa)(documents, prior)
        else:
            kappa = equations.update(before.documents, before.posterior, before.prior, dim)
        way = (*way, *_way([prior]))
        return _Reached(len(way), way, prior, documents, kappa, equations.e_step(documents, kappa, prior, dim))

    def _mean(self, reached: "_Reached") -> Exact:
        """Return the sum of all E[d], (dim,): E[d] = ratio * (kappa0 mu0 + kappa s)."""
        prior, kappa, posterior = reached.prior, reached.kappa, reached.posterior
        common = prior.concentration * prior.mean_direction
        lengths = np.sqrt(self.bags.squared_norms)
        return exact_mean_sum(self.bags.sums, posterior.ratio * kappa, posterior.ratio, common, lengths)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is computed again where it is needed."""
        return {**vars(self), "_reached": None}


@dataclass(frozen=True)
class _Reached:
    """Where EM is with the documents of a partition."""

    step: int
    way: tuple[Any, ...]
    prior: Prior
    documents: equations.Statistics
    kappa: Array
    posterior: equations.Step

    def leads_to(self, priors: Sequence[Prior]) -> bool:
        """Tell whether this is a step on the way that EM has taken."""
        if self.way != _way(priors[: self.step]):
            return False
        return np.array_equal(priors[self.step - 1].mean_direction, self.prior.mean_direction)


def _way(priors: Sequence[Prior]) -> tuple[Any, ...]:
    """Return what tells the priors of two runs of EM apart: all of them but their directions."""
    return tuple((prior.concentration, prior.cosine, prior.strength, prior.method) for prior in priors)


def solved_kappa(documents: equations.Statistics, prior: Prior) -> Array:
    """Return the word concentrations to which EM with this prior converges."""
    return equations.solve(documents, prior, prior.mean_direction.shape[0])
