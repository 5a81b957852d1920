"""The Spherical Paragraph Model as a scikit-learn estimator."""

import copy
import warnings
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .errors import CorpusError, FewDocumentsWarning, ParasphereError
from .model import Bags, Reader, Scatter
from .model.ecosystem import Ecosystem
from .model.em import Online, Run, Start, fit_prior
from .model.equations import Method, Prior
from .model.inference import Inference
from .model.posterior import Space, check_space, directions_of, unit_offsets_of
from .model.stepwise import Stepwise
from .search import THRESHOLD, Duplicate, Index, duplicates
from .storage import Saved
from .text import AnyTokenizer, Tokenizer
from .vectors import ENGLISH, GLOVE

Floats = NDArray[np.float64]
FEW_DOCUMENTS = 10  # fewer say little about how much documents differ


class SphericalParagraphModel(
    Ecosystem, Stepwise, Inference, Saved, ClassNamePrefixFeaturesOutMixin,
    TransformerMixin, BaseEstimator,
):  # fmt: skip
    """Texts as directions on the unit sphere, by the Spherical Paragraph Model.

    Parameters
    ----------
    vectors : str, path, WordVectors, learner or None, default="english-128"
        Word vectors, or a name or path for :meth:`WordVectors.load`; or a learner such as :class:`JointVectors`, of
        which ``fit`` fits a clone to the same texts. None if the model is fitted to bags or rows of numbers.
    tokenizer : Tokenizer or callable, default=None
        Splits texts into words. None is the tokenizer of the learner, if there is one, or else, lower-cased: runs of
        Unicode letters and digits if words are weighted, as with the default vectors, since stop words have small
        weights; runs of letters without English stop words otherwise.
    weighted : bool, default=True
        Weight words by ``vectors.weights``, if the vectors have weights (the default ones and learned ones do). The
        evidence is then that of weighted counts, which is no density of words.
    space : {"offset", "direction"}, default="offset"
        What ``transform`` returns: the direction of what each text adds to the corpus, whose cosines say how similar
        texts are (:attr:`Posterior.offset`); or the posterior direction, the vector of the paper. All texts of a corpus
        have similar posterior directions.
    whiten : bool, default=True
        Measure offsets in the metric in which words scatter alike in all directions. False is the ordinary metric:
        better for the similarity of sentences with vectors that were taught to be summed, such as WordLlama's.
    prior_strength : float, default=10.0
        Number of words that the mean cosine of the corpus counts for in the word concentration of each document. 0 is
        the model of the paper; ``inf`` gives all documents the same word concentration.
    kappa_method : {"newton", "banerjee"}, default="newton"
        Invert the mean length exactly, or by the approximation of the paper.
    init : {"data", "paper"}, default="data"
        Start EM from the directions of the sums, or from the values of the paper: kappa0 = 1500 and each kappa_n
        uniform in [1000, 1500].
    max_iter : int, default=500
        Maximum number of EM iterations.
    tol : float, default=1e-6
        Stop when an iteration gains less than this, in nats of the objective per word.
    random_state : int, RandomState or None, default=None
        Seed of ``init="paper"`` and of :meth:`sample`.
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
    prior_ : Prior
        mu0, kappa0 and rho, with the ``prior_strength`` and ``kappa_method`` of the fit.
    reader_ : Reader or None
        Reads texts as in the fit: its vectors, tokenizer and weights. None after a fit to numbers.
    vectors_ : WordVectors or None
        The word vectors of ``reader_``.
    scatter_ : Scatter or None
        How words scatter within texts: the metric of the offsets. None is the ordinary metric: if ``whiten`` is False,
        and after a fit to rows, or to bags without a scatter.
    space_ : {"offset", "direction"}
        The ``space`` of the fit.

    Notes
    -----
    A document is a text, a list of tokens, a row of :class:`Bags`, or a row of an (n, dim) array of numbers, which is
    taken as a document of one word (:meth:`Bags.from_rows`).

    Every document has a posterior. That of a document without known words is the prior, and so is that of a document
    whose words point away from every direction (kappa_n = 0). ``concentration_`` is at most
    ``vmf.MAX_KAPPA``.

    Only ``fit`` and ``partial_fit`` change a fitted model. Parameters set after ``fit`` take effect in the next fit,
    except for ``n_jobs`` and ``verbose``, which change no result, and the seed of :meth:`sample`.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Inference.constraints,
        "space": [StrOptions({"offset", "direction"})],
        "whiten": ["boolean"],
        "prior_strength": [Interval(Real, 0, None, closed="both")],
        "kappa_method": [StrOptions({"newton", "banerjee"})],
        "init": [StrOptions({"data", "paper"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }
    _layouts: ClassVar[dict[str, str]] = {"evidence_": "f8[trace]"}

    prior_: Prior
    reader_: Reader | None
    scatter_: Scatter | None
    space_: Space
    online_: Online
    evidence_: Floats
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        vectors: Any = ENGLISH,
        *,
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
            "tokenizer": Tokenizer.paper(), "space": "direction", "prior_strength": 0.0, "kappa_method": "banerjee",
            "init": "paper",
        }  # fmt: skip
        return cls(vectors, random_state=random_state, **(settings | options))

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn mu0 and kappa0 from a corpus, and the word vectors too if ``vectors`` is a learner.

        Parameters
        ----------
        X : texts, token lists, columns, path, Bags or (n, dim) numbers
            Bags that were read from texts bring their reader, which the model keeps.
        y : ignored
        """
        self._fit(self._bags_to_fit(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Fit, and return the vectors of the same documents, (n_docs, dim); the corpus is read once."""
        bags = self._bags_to_fit(X)
        self._fit(bags)
        return self._vectors(bags, self.space_)

    def transform(self, X: Any, *, space: Space | None = None) -> NDArray[Any]:
        """Return the vectors of documents, (n_docs, dim): unit vectors, float32 for texts.

        The offset of a document without known words is 0, its posterior direction that of the corpus.

        Parameters
        ----------
        X : texts, token lists, columns, path, Bags or (n, dim) numbers
        space : {"offset", "direction"}, default=None
            None is the ``space`` of the fit.
        """
        bags = self._bags(X)
        return self._vectors(bags, self.space_ if space is None else space)

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from more documents, one or many at a time and in any order (online EM).

        Up to 1,024 documents are held and fitted together, with the result of one :meth:`fit` to all of them. After
        that the model keeps only the mean of E[d] over all documents and updates it once per block of 1,024: the
        posteriors of a block are computed under the prior so far, and the mean moves towards theirs by ``n_block /
        n_so_far``, so that every document has the same weight. An incomplete block is held and counts already.

        After :meth:`fit`, learning continues from there, with the reader, ``prior_strength`` and ``kappa_method`` of
        that fit. There is a warning while fewer than 10 documents have been seen.
        """
        if not hasattr(self, "online_"):
            self._fit(self._bags_to_fit(X))
        else:
            self._validate_params()
            bags = self._bags_for(X, self._n_features_out, to_learn=True)
            bags = bags[bags.lengths > 0]
            if self.scatter_ is not None and bags.scatter is not None:  # numbers have no words that could scatter
                self.scatter_ = self.scatter_ + bags.scatter
            if len(bags):
                self._learn_held(self.online_.with_held(bags))
        if self.online_.seen == 0 and self.online_.held is not None and len(self.online_.held) < FEW_DOCUMENTS:
            warnings.warn(
                f"fewer than {FEW_DOCUMENTS} documents have been seen, too few to tell how much documents differ: "
                "concentration_ is too large until there are more.",
                FewDocumentsWarning,
                stacklevel=2,
            )
        return self

    def save(self, folder: str | Path, *, embed_vectors: bool = False) -> None:
        """Write the fitted model to a folder, replacing an earlier save in one step; nothing is pickled.

        Parameters
        ----------
        folder : path
        embed_vectors : bool, default=False
            Copy the word vectors into the folder even if they were loaded by name or path. Otherwise these are
            referred to by name or path and checksum. Vectors that were not loaded, such as learned ones, are always
            copied.
        """
        check_is_fitted(self)
        model = self
        if embed_vectors and self.reader_ is not None:
            model, reader = copy.copy(self), copy.copy(self.reader_)
            reader.vectors = reader.vectors.without_source()
            model.reader_ = reader
        super(SphericalParagraphModel, model).save(folder)

    def index(
        self,
        source: Any,
        ids: Any = None,
        *,
        dtype: DTypeLike = np.float32,
        texts: bool = True,
        words: bool = True,
        **columns: Any,
    ) -> Index:
        """Return an index of a corpus: documents that are read once and searched many times.

        Parameters
        ----------
        source : texts, token lists, columns or path
        ids : str or sequence, default=None
            The name of the column with the ids, or the ids themselves: one per document, all different. None numbers
            the documents.
        dtype : {float32, float16}, default=float32
            Type of the offsets; float16 takes half the room, and similarities are exact to three digits.
        texts : bool, default=True
            Keep the texts, so that results show them.
        words : bool, default=True
            Keep which words occur in which documents, so that searches use them together with the offsets.
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        check_is_fitted(self)
        index = Index.empty(self.encoder, dtype=dtype, texts=texts, words=words)
        index.add(source, ids, **columns)
        return index

    def duplicates(self, source: Any, threshold: float = THRESHOLD, **columns: Any) -> list[Duplicate]:
        """Return all pairs of texts that share most of their words, as the model splits them into words.

        See :func:`parasphere.search.duplicates`, which needs no model.
        """
        return duplicates(source, threshold, tokenizer=self._reader().tokenizer, **columns)

    def _fit(self, bags: Bags) -> None:
        self._run = self._run_reader = None  # a loop of steps that was not finished is given up
        self._learn(bags, float(self.prior_strength), self.kappa_method)
        self.reader_, self.space_ = bags.reader, self.space
        self.scatter_ = bags.scatter if self.whiten else None

    def _vectors(self, bags: Bags, space: Space) -> NDArray[Any]:
        check_space(space)
        if space == "direction":
            return directions_of(bags, self.prior_)
        return unit_offsets_of(bags, self.prior_, self._whitening)

    def _learn(self, bags: Bags, strength: float, method: Method) -> None:
        known = bags.lengths > 0
        if not known.any():
            raise CorpusError(f"none of the {len(bags):,} documents has a word with a vector; at least one must")
        bags = bags if known.all() else bags[known]
        run = fit_prior(
            bags,
            strength=strength,
            method=method,
            start=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            verbose=bool(self.verbose),
        )
        self._keep(run, bags, 5)

    def _keep(self, run: Run, bags: Bags | None, level: int) -> None:
        """Keep what EM has learned so far, and the documents for :meth:`partial_fit`; warn so many levels up."""
        monitor = run.monitor(self.max_iter, self.tol)
        self.prior_, self.online_ = run.prior, Online.after_fit(run, bags)
        self.evidence_ = np.array(run.trace, np.float64)
        self.n_iter_ = len(run.priors) - 1
        self.converged_ = monitor.converged
        if monitor.finished and not monitor.converged:
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations; the last one gained {monitor.gain:.2g} nats "
                f"per word, more than tol={self.tol:g}. Allow more iterations or a larger tol.",
                ConvergenceWarning,
                stacklevel=level,
            )

    def _learn_held(self, online: Online) -> None:
        """Learn from the held documents, together with all that came before them."""
        if online.seen == 0:
            assert online.held is not None
            self._learn(online.held, self.prior_.strength, self.prior_.method)
        else:
            self.online_, self.prior_, objective = online.step(self.prior_)
            self.evidence_ = np.append(self.evidence_, objective)
            self.n_iter_ += 1

    def _check_learned(self) -> None:
        super()._check_learned()
        dims = {self._n_features_out, len(self.online_.mean)}
        dims |= {part.dim for part in (self.reader_, self.online_.held) if part is not None}
        if len(dims) > 1:
            raise ParasphereError(f"its parts have different dimensions, {sorted(dims)}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags
