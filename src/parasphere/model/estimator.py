"""The Spherical Paragraph Model as an estimator: texts in, unit vectors out, and how sure each one is."""

import copy
import math
import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..corpus import Block, one_text
from ..errors import CorpusError, FewDocumentsWarning
from ..features import Bags, Facets, Reader, find_facets, held_texts, is_numeric
from ..storage import Saved
from ..text import AnyTokenizer, Tokenizer
from ..vectors import GLOVE, WordVectors, is_learner, resolve
from . import equations
from .em import Online, Sampled, Start, draw, fit_prior
from .equations import Method, Prior
from .explain import Explanation, explain
from .posterior import Posterior
from .search import Match, similar

Floats = NDArray[np.float64]
AT_ONCE = 1 << 18  # numbers of directions that are worked on at a time, so that they stay in the cache
FEW_DOCUMENTS = 10  # fewer say little of how much documents differ


class SphericalParagraphModel(Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Texts as directions on the unit sphere, by the Spherical Paragraph Model.

    Parameters
    ----------
    vectors : str, path, WordVectors, learner or None, default="glove-6b-50d"
        Word vectors, or what :meth:`WordVectors.load` takes; or a learner such as :class:`JointVectors`, which learns
        them from the same texts inside ``fit``. None if only bags or rows of numbers will come.
    tokenizer : Tokenizer or callable, default=None
        What counts as a word. None is the learner's, if there is one, or runs of Unicode letters, lower-cased, without
        English stop words.
    weighted : bool, default=True
        Count each word by its weight, if the vectors have weights (learned ones do). Evidence is then that of texts
        so counted.
    facets : int, default=1
        Divide the vocabulary into so many regions and give each document a direction in each
        (:class:`parasphere.features.Facets`). A document's vector then has ``facets * dim`` numbers: a block per facet,
        as long as the root of its share in the document. 1 is the paper's model.
    prior_strength : float, default=10.0
        How many words the corpus-wide mean cosine counts for when a document's own word concentration is estimated.
        0 is the paper; ``inf`` gives all documents one concentration.
    kappa_method : {"newton", "banerjee"}, default="newton"
        Invert the mean length exactly, or by the paper's approximation.
    init : {"data", "paper"}, default="data"
        Begin with the directions of the documents' sums, or with the paper's values: kappa0 = 1500 and each kappa_n
        uniform in [1000, 1500].
    max_iter : int, default=500
        EM iterations at the most.
    tol : float, default=1e-6
        Stop when an iteration gains less than this, in nats of the objective per word.
    random_state : int, RandomState or None, default=None
        Seeds ``init="paper"``, :meth:`sample` and the facets.
    n_jobs : int, default=None
        Threads that read text; -1 is one per core. The results do not depend on it.
    device : str, default=None
        Where EM runs: None is numpy; or a torch device such as "cuda" (extra ``torch``).
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    mean_direction_ : (dim,) array
        mu0, where the corpus points.
    concentration_ : float
        kappa0, how closely documents keep to it.
    word_cosine_ : float
        rho, the pooled mean cosine of a word with its document's direction.
    evidence_ : (n_iter_ + 1,) array
        The objective per word before each iteration and after the last: the log-evidence, plus the log-prior of the
        word concentrations if ``prior_strength`` is neither 0 nor infinite. With "newton" it never falls.
    n_iter_ : int
        EM iterations, and blocks that :meth:`partial_fit` learned from.
    converged_ : bool
        Whether EM stopped by ``tol``.
    reader_ : Reader or None
        What texts are read with: the vectors, tokenizer, weights and facets of the fit. None after a fit to numbers.
    vectors_ : WordVectors or None
        The word vectors of the fit.
    facets_ : Facets or None
        Which regions words belong to, if there are several.

    Notes
    -----
    A document is a text, a list of tokens, or a row of :class:`Bags`. A (n, dim) array of numbers is taken too: each
    row is then a document of one word (see :meth:`Bags.from_rows`).

    Every document has a posterior: one without known words has the prior's own direction and concentration, and so
    has one whose words point away from every direction (kappa_n = 0). Concentrations end at ``vmf.MAX_KAPPA``.

    A fitted model does not change but by ``fit`` and ``partial_fit``: parameters that are set later wait for the next
    fit (``n_jobs`` and ``verbose``, on which no result depends, do not).

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
        "vectors": [str, Path, WordVectors, HasMethods(["fit", "get_params"]), None],
        "tokenizer": [callable, None],
        "weighted": ["boolean"],
        "facets": [Interval(Integral, 1, None, closed="left")],
        "prior_strength": [Interval(Real, 0, None, closed="both")],
        "kappa_method": [StrOptions({"newton", "banerjee"})],
        "init": [StrOptions({"data", "paper"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "device": [str, None],
        "verbose": ["verbose"],
    }

    prior_: Prior
    reader_: Reader | None
    online_: Online
    evidence_: Floats
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        vectors: Any = GLOVE,
        *,
        tokenizer: AnyTokenizer | None = None,
        weighted: bool = True,
        facets: int = 1,
        prior_strength: float = 10.0,
        kappa_method: Method = "newton",
        init: Start = "data",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.vectors = vectors
        self.tokenizer = tokenizer
        self.weighted = weighted
        self.facets = facets
        self.prior_strength = prior_strength
        self.kappa_method = kappa_method
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @classmethod
    def paper(cls, vectors: Any = GLOVE, random_state: Any = None, **options: Any) -> Self:
        """Return the paper to the letter: its preprocessing, its initial values, its kappa, no shrinkage.

        The paper also draws its text vectors at random. The first E-step replaces them before they are used, so
        they are not drawn here.
        """
        settings: dict[str, Any] = {
            "tokenizer": Tokenizer.paper(), "prior_strength": 0.0, "kappa_method": "banerjee", "init": "paper",
        }  # fmt: skip
        return cls(vectors, random_state=random_state, **(settings | options))

    # -- learning ---------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn mu0 and kappa0 from a corpus, and the word vectors too if ``vectors`` is a learner.

        Parameters
        ----------
        X : texts, token lists, columns, a Path, Bags or (n, dim) numbers
        y : ignored
        """
        self._fit(self._first_bags(X))
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Fit, and return the directions of the same documents, (n_docs, dim); the corpus is read once."""
        bags = self._first_bags(X)
        self._fit(bags)
        return self._directions(bags, self._solved(bags)[1])

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from more documents, one or many at a time (online EM); they may come in any order.

        The first 1,024 documents are held and fitted by EM to its end, as :meth:`fit` does it, each time some are
        added: up to there the result is that of one fit to all of them. From then on only the mean of E[d] over all
        documents is kept, and documents are taken up in blocks of that size: the posteriors of a block are found under
        the prior so far, and the mean moves towards theirs by ``n_block / n_so_far``, so that every document counts
        alike. What has come of the next block is held, and already counts. After a :meth:`fit`, learning goes on from
        there, with the vectors and parameters of that fit.

        Fewer than 10 documents say little of how much documents differ: that is warned of.
        """
        if not hasattr(self, "online_"):
            self._fit(self._first_bags(X))
        else:
            bags = self._bags(X)
            bags = bags[bags.lengths > 0]
            if len(bags):
                self.online_ = self.online_.with_held(bags)
                self._learn_held()
        if self.online_.seen == 0 and self.online_.held is not None and len(self.online_.held) < FEW_DOCUMENTS:
            warnings.warn(
                f"fewer than {FEW_DOCUMENTS} documents have come, which say little of how much documents differ: "
                "concentration_ will be too large until more have.",
                FewDocumentsWarning,
                stacklevel=2,
            )
        return self

    # -- using ------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the documents' directions, (n_docs, dim): unit vectors, as precise as the bags' sums."""
        bags = self._bags(X)
        return self._directions(bags, self._solved(bags)[1])

    def posterior(self, X: Any) -> Posterior:
        """Return all that the model knows of each document."""
        return self._posterior(self._bags(X))

    def read(self, source: Any, **columns: Any) -> Bags:
        """Read a corpus into the bags that :meth:`fit` takes; ``columns`` are those of ``corpus.blocks``.

        A fitted model reads as it did when it was fitted, an unfitted one as its parameters say.
        """
        return self._reader().read(source, self.n_jobs, **columns)

    def stream(self, source: Any, **columns: Any) -> Iterator[tuple[Block, Posterior]]:
        """Read a corpus block by block, in constant memory; yield each block and its posterior."""
        check_is_fitted(self)
        for block, bags in self._reader().stream(source, self.n_jobs, **columns):
            yield block, self._posterior(bags)

    def log_evidence(self, X: Any) -> Floats:
        """Return the log-density of each document's words, (n_docs,), by the model as learned."""
        return self.posterior(X).log_evidence

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-evidence per known word, in nats."""
        posterior = self.posterior(X)
        return float(posterior.log_evidence.sum() / (posterior.length.sum() or 1.0))

    def sample(
        self, n_docs: int, lengths: int | Sequence[int] = 50, *, word_concentration: float | None = None
    ) -> Sampled:
        """Draw a corpus from the model.

        Parameters
        ----------
        n_docs : int
        lengths : int or (n_docs,) ints, default=50
            Words per document.
        word_concentration : float, default=None
            kappa_n; None is that of the pooled mean cosine.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return draw(self.prior_, n_docs, lengths, word_concentration, rng)

    def facet_words(self, k: int = 10) -> list[list[str]]:
        """Return the ``k`` words at the heart of each facet, nearest first: what the facet is about.

        Those are words that belong to the facet more than to any other, and are nearest to its middle.

        Examples
        --------
        >>> from parasphere import WordVectors
        >>> north = WordVectors.from_arrays(["up", "high", "far", "off"], [[0, 1], [0.1, 1], [1, 0], [1, 0.1]])
        >>> model = SphericalParagraphModel(north, facets=2, tol=1e-2).fit(["up high", "far off", "up off"])
        >>> sorted(sorted(words) for words in model.facet_words(2))
        [['far', 'off'], ['high', 'up']]
        """
        check_is_fitted(self)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if self.facets_ is None:
            raise ValueError("a model of one facet has no regions to describe; choose facets=10, say")
        return self.facets_.nearest_words(self.vectors_, k)

    def explain(self, text: str) -> Explanation:
        """Return each word's share in the pull on a text's direction, the prior's share, and the unknown words.

        Examples
        --------
        >>> from parasphere import WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
        >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
        >>> explanation = model.explain("north north east by sea")
        >>> [word for word, share in explanation.words], explanation.unknown
        (['north', 'north', 'east'], ['sea'])
        >>> round(sum(share for _, share in explanation.words) + explanation.prior, 6)
        1.0
        """
        text = one_text(text, "the text to explain")
        return explain(text, self.posterior([text]), self._reader(), self.prior_)

    def similar(self, query: str, among: Any, k: int = 10, **columns: Any) -> list[Match]:
        """Return the ``k`` documents most like a query, best first.

        They are ranked by the log Bayes factor that query and document share one direction rather than having one
        each, ``Phi(|eta_q + eta_d - kappa0 mu0|) + Phi(kappa0) - Phi(|eta_q|) - Phi(|eta_d|)``: exact, and not swayed
        by what all documents of the corpus have in common. Each match also has its expected cosine.

        Parameters
        ----------
        query : str
            One text, read by the model's tokenizer.
        among : texts, columns, a Path, Bags, or a Posterior
            Streamed: the corpus may be larger than memory.
        k : int, default=10
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        query = one_text(query, "the query")
        if isinstance(among, Bags):
            among = self.posterior(among)
        parts = [(None, among)] if isinstance(among, Posterior) else self.stream(among, **columns)
        return similar(self.posterior([query]), parts, self.prior_, k)

    def compare(self, a: str, b: str) -> float:
        """Return the expected cosine of two texts' directions under both posteriors, ``E[d_a].E[d_b]``.

        It is the cosine of the two directions, shortened by the doubt about each: two texts of which little is
        known are not called alike.
        """
        means = self.posterior([one_text(a, "the first text"), one_text(b, "the second text")]).mean
        return float(means[0] @ means[1])

    def save(self, folder: str | Path, *, embed_vectors: bool = False) -> None:
        """Write the fitted model to a folder, replacing an earlier save in one step; nothing is pickled.

        Parameters
        ----------
        folder : path
        embed_vectors : bool, default=False
            Copy word vectors into the folder that are otherwise referred to by name or path and content. Vectors that
            have neither, such as learned ones, are always copied.
        """
        check_is_fitted(self)
        model = self
        if embed_vectors and self.reader_ is not None:
            model, reader = copy.copy(self), copy.copy(self.reader_)
            reader.vectors = reader.vectors.without_source()
            model.reader_ = reader
        super(SphericalParagraphModel, model).save(folder)

    # -- what was learned -------------------------------------------------------------------------------------

    @property
    def mean_direction_(self) -> Floats:
        """mu0, (dim,): where the corpus points."""
        return np.asarray(self._learned("prior_").mean_direction)

    @property
    def concentration_(self) -> float:
        """kappa0: how closely documents keep to the corpus direction."""
        return float(self._learned("prior_").concentration)

    @property
    def word_cosine_(self) -> float:
        """rho: the pooled mean cosine of a word with its document's direction."""
        return float(self._learned("prior_").cosine)

    @property
    def vectors_(self) -> WordVectors | None:
        """The word vectors of the fit; None after a fit to numbers."""
        reader = self._learned("reader_")
        return None if reader is None else reader.vectors

    @property
    def facets_(self) -> Facets | None:
        """Which regions words belong to, if there are several."""
        reader = self._learned("reader_")
        return None if reader is None else reader.facets

    def _learned(self, name: str) -> Any:
        if name not in vars(self):  # as for any attribute of an estimator that is not fitted
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return vars(self)[name]

    # -- inside -----------------------------------------------------------------------------------------------

    def _first_bags(self, X: Any) -> Bags:
        """Read the corpus that the model is to be fitted to, by a reader made for it."""
        self._validate_params()
        if isinstance(X, Bags):
            return X
        if is_numeric(X):
            return self._rows(X, reset=True)
        X = held_texts(X) if is_learner(self.vectors) else X
        return self._new_reader(X).read(X, self.n_jobs)

    def _bags(self, X: Any) -> Bags:
        """Read documents as the fitted model does."""
        check_is_fitted(self)
        dim = len(self.mean_direction_)
        if isinstance(X, Bags):
            if X.dim != dim:
                raise ValueError(f"these bags have {X.dim} dimensions; the model was fitted to {dim}")
            return X
        return self._rows(X, reset=False) if is_numeric(X) else self._reader().read(X, self.n_jobs)

    def _rows(self, X: Any, reset: bool) -> Bags:
        if self.facets > 1 and reset:
            raise ValueError(f"rows of numbers have no words that could fall into {self.facets} facets; give texts")
        return Bags.from_rows(
            validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_features=2 if reset else 1)
        )

    def _reader(self) -> Reader:
        """Return what texts are read with: that of the fit, or else one made of the parameters."""
        if not hasattr(self, "prior_"):
            self._validate_params()
            return self._new_reader(None)
        if self.reader_ is None:
            raise ValueError("this model was fitted to numbers, not to texts: fit it to texts to read some")
        return self.reader_

    def _new_reader(self, texts: Any) -> Reader:
        if self.vectors is None:
            raise ValueError("texts need word vectors, and this model was made with vectors=None")
        if texts is None and is_learner(self.vectors):
            raise ValueError("the word vectors are yet to be learned: fit the model to the texts themselves")
        vectors, tokenizer = resolve(self.vectors, self.tokenizer, texts)
        facets = None
        if self.facets > 1:
            seed = self.random_state if isinstance(self.random_state, Integral) else 0
            facets = find_facets(vectors.matrix, self.facets, int(seed))
        return Reader(vectors, tokenizer, weights=vectors.weights if self.weighted else None, facets=facets)

    def _fit(self, bags: Bags) -> None:
        known = bags.lengths > 0
        if not known.any():
            raise CorpusError(_nothing_known(len(bags)))
        reader = bags.reader
        bags = bags if known.all() else bags[known]
        learned = fit_prior(
            bags,
            strength=float(self.prior_strength),
            method=self.kappa_method,
            start=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            device=self.device,
            verbose=bool(self.verbose),
        )
        self.prior_, self.reader_ = learned.prior, reader
        self.evidence_ = np.array(learned.trace)
        self.n_iter_ = len(learned.trace) - 1
        self.converged_ = learned.converged
        self.online_ = Online.after_fit(bags, learned.prior)
        if not learned.converged:
            gain = learned.trace[-1] - learned.trace[-2] if len(learned.trace) > 1 else math.nan
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations; the last one gained {gain:.2g} nats per word, "
                f"more than tol={self.tol:g}. Allow more iterations or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _learn_held(self) -> None:
        """Learn from the documents that are held, together with all that came before them."""
        held = self.online_.held
        assert held is not None
        if self.online_.seen == 0:
            reader = self.reader_
            self._fit(held)
            self.reader_ = reader
            return
        self.online_, self.prior_, objective = self.online_.step(self.prior_)
        self.evidence_ = np.append(self.evidence_, objective)
        self.n_iter_ += 1

    def _posterior(self, bags: Bags) -> Posterior:
        prior = self.prior_
        statistics, kappa = self._solved(bags)
        step = equations.e_step(statistics, kappa, prior, bags.dim)
        return Posterior(
            direction=self._directions(bags, kappa),
            concentration=step.concentration,
            word_concentration=kappa,
            length=bags.lengths,
            unknown=bags.unknown,
            log_evidence=equations.evidence(statistics, kappa, step.concentration, prior, bags.dim),
        )

    def _solved(self, bags: Bags) -> tuple[equations.Statistics, Floats]:
        statistics = equations.statistics(bags.sums, bags.squared_norms, bags.lengths, self.prior_)
        return statistics, equations.solve(statistics, self.prior_, bags.dim)

    def _directions(self, bags: Bags, kappa: Floats) -> NDArray[Any]:
        directions = np.empty(bags.sums.shape, bags.sums.dtype)
        step = max(1, AT_ONCE // bags.dim)
        for part in (slice(begin, begin + step) for begin in range(0, len(bags), step)):
            directions[part] = equations.directions(bags.sums[part], kappa[part], self.prior_)
        return directions

    @property
    def _n_features_out(self) -> int:
        return len(self.mean_direction_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Return a name per dimension; the names of what comes in (a column of texts) say nothing of them."""
        check_is_fitted(self)
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{i}" for i in range(self._n_features_out)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags


def _nothing_known(n_docs: int) -> str:
    if n_docs == 0:
        return "the corpus is empty: there is not one document to learn from"
    return f"none of the {n_docs:,} documents has a word with a vector; at least one must"
