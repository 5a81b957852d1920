"""EM step by step, for whoever has a corpus in many parts: read, accumulate, add, update."""

from typing import Any

import numpy as np

from .bags import Bags
from .em import Run, Start, first_kappa
from .equations import Method
from .inference import Inference
from .inputs import as_texts
from .posterior import Space
from .reader import Reader
from .scatter import Scatter
from .statistics import CorpusStatistics, Partition


class Stepwise(Inference):
    """The part of the estimator with which any engine of map-reduce can fit it."""

    init: Start
    kappa_method: Method
    prior_strength: float
    max_iter: int
    tol: float
    space: Space
    whiten: bool

    reader_: Reader | None
    scatter_: Scatter | None
    space_: Space

    _run: Run | None = None  # EM that is under way
    _run_reader: Reader | None = None  # and how it reads

    def partition(self, X: Any, *, before: int = 0, **columns: Any) -> Partition:
        """Read a part of a corpus once, for :meth:`accumulate` in each step.

        Parameters
        ----------
        X : texts, token lists, columns, path or Bags
        before : int, default=0
            Number of documents with known words in the parts before this one. It matters for ``init="paper"`` only,
            whose initial values are drawn in the order of the documents.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        start = first_kappa(self.init, self.random_state, before)
        options: dict[str, Any] = {"first_kappa": start}
        if isinstance(X, Bags):
            X.check_numbers()
            return Partition.of(X, **options)
        reader = self._reader_of_run()
        counts = np.zeros(len(reader.vectors))
        parts = [bags for _, bags in reader.stream(as_texts(X), self.n_jobs, counts, **columns)]
        return Partition.of(Bags.concatenate([reader.empty(), *parts]), counts, **options)

    def accumulate(self, X: Any) -> CorpusStatistics:
        """Return what the next step of EM needs of a part of a corpus: the map of map-reduce.

        Add the statistics of all parts by ``+``, in any order and grouping, which does not change a bit of the sum,
        and pass it to :meth:`update`. :meth:`fit` is this loop over one part. Bags have no scatter of their own: after
        a loop over bags the model has the metric of ``scatter_ = None``.

        Parameters
        ----------
        X : Partition, texts, token lists, columns, path or Bags
            A part of the corpus. All but a :class:`Partition` are read again in each step.

        Examples
        --------
        >>> from functools import reduce
        >>> from operator import add
        >>> from parasphere import SphericalParagraphModel, WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
        >>> texts = ["north", "north east", "north west", "north north east"]
        >>> model = SphericalParagraphModel(compass, tol=1e-3)
        >>> parts = [model.partition(texts[:1]), model.partition(texts[1:])]
        >>> while not model.update(reduce(add, map(model.accumulate, parts))):
        ...     pass
        >>> bool((model.mean_direction_ == SphericalParagraphModel(compass, tol=1e-3).fit(texts).mean_direction_).all())
        True
        """
        self._validate_params()  # type: ignore[attr-defined]
        part = X if isinstance(X, Partition) else self.partition(X)
        return part.look(paper=self.init == "paper") if self._run is None else part.statistics(self._run.priors)

    def update(self, statistics: CorpusStatistics) -> bool:
        """Make a step of EM with the statistics of the whole corpus; return whether EM has finished.

        The first step finds the prior that EM starts from; the next ones are M-steps. The model can be used after each.
        """
        self._validate_params()  # type: ignore[attr-defined]
        if self._run is None:
            self._run = Run.begin(statistics, float(self.prior_strength), self.kappa_method, self.init)
            self.reader_ = None if statistics.word_counts is None else self._reader_of_run()
            self.space_ = self.space
            self.scatter_ = statistics.scatter(self.reader_) if self.whiten else None
        else:
            self._run = self._run.after(statistics, self.max_iter, self.tol)
        self._keep(self._run, None, 3)
        finished = self._run.monitor(self.max_iter, self.tol).finished
        if finished:
            self._run = self._run_reader = None
        return finished

    def _fitted(self, run: Run, scatter: Scatter | None, reader: Reader, bags: Bags | None) -> None:
        """Keep what an engine has learned with these parameters, as ``fit`` does."""
        self._run = self._run_reader = None
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit to numbers
            vars(self).pop(name, None)
        self.reader_, self.scatter_, self.space_ = reader, scatter if self.whiten else None, self.space
        self._keep(run, bags, 4)

    def _reader_of_run(self) -> Reader:
        """Return the reader of the EM that is under way, or of the one that begins: made of the parameters."""
        if self._run_reader is None:
            self._run_reader = self._new_reader(None) if self._run is None else self._reader()
        return self._run_reader

    def _keep(self, run: Run, bags: Bags | None, level: int) -> None:
        raise NotImplementedError
