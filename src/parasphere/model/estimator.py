"""The Spherical Paragraph Model as an estimator: texts in, unit vectors out, and how sure each one is."""

import math
import numbers
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..corpus.columns import one_text
from ..corpus.source import Block
from ..errors import CorpusError, FewDocumentsWarning
from ..features.bags import Bags
from ..features.own import Own
from ..features.reading import TextReader
from ..text.tokens import AnyTokenizer, Tokenizer
from ..vectors.wordvectors import GLOVE
from . import equations as spm
from .em import Online, Sampled, Start, draw, fit_prior
from .equations import Method, Prior
from .explain import Explanation, Match, explain, similar
from .persistence import load_model, save_model
from .posterior import Posterior

Floats = NDArray[np.float64]
AT_ONCE = 1 << 18  # numbers of directions that are worked on at a time, so that they stay in the cache
FEW_DOCUMENTS = 10  # a prior that fewer taught is not to be relied on


class SphericalParagraphModel(TransformerMixin, TextReader):  # type: ignore[misc]
    """Texts as directions on the unit sphere, by the Spherical Paragraph Model.

    Parameters
    ----------
    vectors : str, path, WordVectors or None
        Word vectors, or what :meth:`WordVectors.load` takes. None if only bags or rows of numbers will come.
    tokenizer : Tokenizer or callable, optional
        What counts as a word; by default runs of Unicode letters, lower-cased, without English stop words.
    weighted : bool
        Count each word as often as the length says that its vector had before it was normalised (``vectors.norms``),
        fractions included; evidence is then that of texts so counted. Vectors that were learned with texts
        (:class:`JointSphericalModel`) have the words' learned weights there.
    facets : int
        Let the vocabulary fall into so many regions and give each document a direction in each
        (:mod:`parasphere.features.facets`). A document's vector then has ``facets * dim`` numbers: a block for each facet, as
        long as the root of its share in the document. 1 is the paper's model.
    own : Own, optional
        Give each word, and each pair of neighbouring words, a direction of its own beside what its vector says
        (:mod:`parasphere.features.own`), in ``own.dim`` further dimensions: texts with the very same words are then more alike
        than texts whose words are merely near.
    damped : bool
        Count a word that a document has n times as 1 + log n: each time it says less that is new.
    prior_strength : float
        How many words the corpus-wide mean cosine counts for when a document's own word concentration is estimated.
        0 is the paper; ``inf`` gives all documents one concentration.
    kappa_method : "newton" or "banerjee"
        Invert the mean length exactly, or by the paper's approximation.
    init : "data" or "paper"
        Begin with the directions of the documents' sums, or with the paper's values: kappa0 = 1500 and each kappa_n
        uniform in [1000, 1500].
    max_iter : int
        EM iterations at the most.
    tol : float
        Stop when an iteration gains less than this, in nats of the objective a word.
    random_state : int, RandomState or None
        Seeds ``init="paper"``, :meth:`sample` and, if it is a number, the regions of facets.
    n_jobs : int, optional
        Threads that read text; -1 for one a core. The results do not depend on it.
    device : str, optional
        Where EM runs: None for numpy, or a torch device such as "cuda".

    Attributes
    ----------
    mean_direction_ : (dim,) array
        mu0, where the corpus points.
    concentration_ : float
        kappa0, how closely documents keep to it.
    word_cosine_ : float
        rho, the pooled mean cosine of a word with its document's direction.
    evidence_ : (n_iter_ + 1,) array
        The objective a word before each iteration and after the last: the log-evidence, plus the log-prior of the
        word concentrations if ``prior_strength`` is neither 0 nor infinite. With "newton" it never falls.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int
        The dimension of the word vectors, times the number of facets, and that of what is words' own.
    vectors_ : WordVectors or None
    facets_ : Facets or None
        Which regions words belong to, if there are several.

    Notes
    -----
    A document is a text, a list of tokens, or a row of :class:`Bags`. A (n, dim) array of numbers is taken too: each
    row is then a document of one word (see :meth:`Bags.from_rows`).

    Every document has a posterior: one without known words has the prior's own direction and concentration, and so
    has one whose words point away from every direction (kappa_n = 0). Concentrations end at ``vmf.MAX_KAPPA``.

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

    mean_direction_: Floats
    concentration_: float
    word_cosine_: float
    evidence_: Floats
    n_iter_: int
    converged_: bool
    n_features_in_: int

    def __init__(
        self,
        vectors: Any = GLOVE,
        *,
        tokenizer: AnyTokenizer | None = None,
        weighted: bool = False,
        facets: int = 1,
        own: Own | None = None,
        damped: bool = False,
        prior_strength: float = 10.0,
        kappa_method: Method = "newton",
        init: Start = "data",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.vectors = vectors
        self.tokenizer = tokenizer
        self.weighted = weighted
        self.facets = facets
        self.own = own
        self.damped = damped
        self.prior_strength = prior_strength
        self.kappa_method = kappa_method
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device

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

    def fit(self, X: Any, y: Any = None, *, checkpoint: str | Path | None = None) -> Self:  # noqa: ARG002
        """Learn mu0 and kappa0 from a corpus.

        Parameters
        ----------
        X : texts, token lists, columns, a Path, Bags or (n, dim) numbers
        y : ignored
        checkpoint : path, optional
            A folder in which the state is kept while EM runs; a fit that was killed goes on from it and ends with
            the very same result.
        """
        return self._fit(self._bags(X, reset=True), checkpoint)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Fit, and return the directions of the same documents; the corpus is read once."""
        bags = self._bags(X, reset=True)
        self._fit(bags, **fit_params)
        return self._directions(bags, self._solved(bags)[1])

    def _fit(self, bags: Bags, checkpoint: str | Path | None = None) -> Self:
        self._check_parameters()
        known = bags.lengths > 0
        if not known.any():
            raise CorpusError(_nothing_known(len(bags)))
        bags = bags if known.all() else bags[known]
        found = fit_prior(
            bags,
            strength=float(self.prior_strength),
            method=self.kappa_method,
            start=self.init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
            device=self.device,
            checkpoint=checkpoint,
        )
        self._set_prior(found.prior)
        self.evidence_ = np.array(found.trace)
        self.n_iter_ = len(found.trace) - 1
        self.converged_ = found.converged
        self.n_features_in_ = self._n_features_out = bags.dim
        self._online = Online.after_fit(bags, found.prior)
        if not found.converged:
            gain = found.trace[-1] - found.trace[-2] if len(found.trace) > 1 else math.nan
            warnings.warn(
                f"EM stopped after max_iter={self.max_iter} iterations; the last one gained {gain:.2g} nats a word, "
                f"more than tol={self.tol:g}. Allow more iterations or a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from more documents, one or many at a time (online EM); they may come in any order.

        The first 1,024 documents or so are held and fitted by EM to its end, as :meth:`fit` does it, each time some are
        added: up to there the result is that of one fit to all of them. From then on only the mean of E[d] over all
        documents is kept, and documents are taken up in blocks of that size: the posteriors of a block are found under
        the prior so far, and the mean moves towards theirs by ``n_block / n_so_far``, so that every document counts
        alike. What has come of the next block is held, and already counts. After a :meth:`fit`, learning goes on from
        there.

        Fewer than 10 documents say little of how much documents differ: that is warned of.
        """
        if not hasattr(self, "_online"):
            self._fit(self._bags(X, reset=True))
        else:
            self._check_parameters()
            bags = self._bags(X)
            bags = bags[bags.lengths > 0]
            if len(bags):
                self._online = self._online.with_held(bags)
                self._learn_held()
        if self._online.seen == 0 and self._online.held is not None and len(self._online.held) < FEW_DOCUMENTS:
            warnings.warn(
                f"fewer than {FEW_DOCUMENTS} documents have come, which say little of how much documents differ: "
                "concentration_ will be too large until more have.",
                FewDocumentsWarning,
                stacklevel=2,
            )
        return self

    def _learn_held(self) -> None:
        """Learn from the documents that are held, together with all that came before them."""
        held = self._online.held
        assert held is not None
        if self._online.seen == 0:
            self._fit(held)
            return
        self._online, prior, objective = self._online.step(self._prior, self.kappa_method)
        self._set_prior(prior)
        self.evidence_ = np.append(self.evidence_, objective)
        self.n_iter_ += 1

    # -- using ------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the documents' directions, (n_docs, dim): unit vectors, as precise as the bags' sums."""
        check_is_fitted(self, "mean_direction_")
        bags = self._bags(X)
        return self._directions(bags, self._solved(bags)[1])

    def posterior(self, X: Any) -> Posterior:
        """Return all that the model knows of each document."""
        check_is_fitted(self, "mean_direction_")
        return self._posterior(self._bags(X))

    def read(self, source: Any, **columns: Any) -> Bags:
        """Read a corpus into the bags that :meth:`fit` takes; ``columns`` are those of ``corpus.blocks``."""
        bagger = self._bagger(reset=True)
        return Bags.concatenate([bagger.empty(), *(bags for _, bags in bagger.stream(source, **columns))])

    def stream(self, source: Any, **columns: Any) -> Iterator[tuple[Block, Posterior]]:
        """Read a corpus block by block, in constant memory; yield each block and its posterior."""
        check_is_fitted(self, "mean_direction_")
        for block, bags in self._bagger().stream(source, **columns):
            yield block, self._posterior(bags)

    def log_evidence(self, X: Any) -> Floats:
        """Return the exact log-density of each document's words, (n_docs,), by the model as learned."""
        return self.posterior(X).log_evidence

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean log-evidence of a known word, in nats."""
        found = self.posterior(X)
        return float(found.log_evidence.sum() / (found.length.sum() or 1.0))

    def sample(
        self, n_docs: int, lengths: int | Sequence[int] = 50, *, word_concentration: float | None = None
    ) -> Sampled:
        """Draw a corpus from the model.

        Parameters
        ----------
        n_docs : int
        lengths : int or (n_docs,) ints
            Words a document.
        word_concentration : float, optional
            kappa_n; by default that of the pooled mean cosine.
        """
        check_is_fitted(self, "mean_direction_")
        return draw(self._prior, n_docs, lengths, word_concentration, _generator(self.random_state))

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
        check_is_fitted(self, "mean_direction_")
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        vectors, facets = self._bagger().vectors, self._bagger().facets
        if facets is None:
            raise ValueError("a model of one facet has no regions to describe; choose facets=10, say")
        return facets.nearest_words(vectors, k)

    def explain(self, text: str) -> Explanation:
        """Return each word's share in the pull on a text's direction, the prior's share, and the unknown words.

        Examples
        --------
        >>> from parasphere import WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
        >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
        >>> told = model.explain("north north east by sea")
        >>> [word for word, share in told.words], told.unknown
        (['north', 'north', 'east'], ['sea'])
        >>> round(sum(share for _, share in told.words) + told.prior, 6)
        1.0
        """
        text = one_text(text, "the text to explain")
        return explain(text, self.posterior([text]), self._bagger(), self._prior)

    def similar(self, query: str, among: Any, k: int = 10, **columns: Any) -> list[Match]:
        """Return the ``k`` documents most like a query, best first.

        They are ranked by the log Bayes factor that query and document share one direction rather than having one
        each, ``Phi(|eta_q + eta_d - kappa0 mu0|) + Phi(kappa0) - Phi(|eta_q|) - Phi(|eta_d|)``: exact, and not swayed
        by what all documents of the corpus have in common. Each match also has its expected cosine.

        Parameters
        ----------
        query : str
            One text, read by the model's tokenizer.
        among : texts, columns, a Path, Bags, or a Posterior found before
            Streamed: the corpus may be larger than memory.
        k : int
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        query = one_text(query, "the query")
        if isinstance(among, Bags):
            among = self.posterior(among)
        parts = [(None, among)] if isinstance(among, Posterior) else self.stream(among, **columns)
        return similar(self.posterior([query]), parts, self._prior, k)

    def compare(self, a: str, b: str) -> float:
        """Return the expected cosine of two texts' directions under both posteriors, ``E[d_a].E[d_b]``.

        It is the cosine of the two directions, shortened by the doubt about each: two texts of which little is
        known are not called alike.
        """
        means = self.posterior([one_text(a, "the first text"), one_text(b, "the second text")]).mean
        return float(means[0] @ means[1])

    def save(self, folder: str | Path, *, embed_vectors: bool | None = None) -> None:
        """Write the fitted model to a folder, replacing what it held in one step; nothing is pickled.

        Parameters
        ----------
        folder : path
        embed_vectors : bool, optional
            Copy the word vectors into the folder, or refer to them by name and content. By default they are copied
            only if they have no name or path to be loaded by.
        """
        check_is_fitted(self, "mean_direction_")
        save_model(self, folder, embed_vectors)

    @classmethod
    def load(
        cls, folder: str | Path, *, vectors: Any = None, tokenizer: AnyTokenizer | None = None, verify: bool = True
    ) -> Self:
        """Read a model that :meth:`save` wrote; its arrays are mapped into memory.

        Parameters
        ----------
        folder : path
        vectors : optional
            Where the word vectors are now, if not where they were; their content must be the same.
        tokenizer : callable, optional
            Needed again if the model was fitted with a Python function for a tokenizer.
        verify : bool, default=True
            Compare the data with their checksum, once per file; ``False`` maps them unread.
        """
        return cast(Self, load_model(cls, folder, vectors, tokenizer, verify))

    # -- inside -----------------------------------------------------------------------------------------------

    @property
    def _prior(self) -> Prior:
        return Prior(self.mean_direction_, self.concentration_, self.word_cosine_, float(self.prior_strength))

    def _set_prior(self, prior: Prior) -> None:
        self.mean_direction_ = np.asarray(prior.mean_direction)
        self.concentration_ = float(prior.concentration)
        self.word_cosine_ = float(prior.cosine)

    def _posterior(self, bags: Bags) -> Posterior:
        prior = self._prior
        found, kappa = self._solved(bags)
        step = spm.e_step(found, kappa, prior, bags.dim)
        return Posterior(
            direction=self._directions(bags, kappa),
            concentration=step.concentration,
            word_concentration=kappa,
            length=bags.lengths,
            unknown=bags.unknown,
            log_evidence=spm.evidence(found, kappa, step.concentration, prior, bags.dim),
        )

    def _solved(self, bags: Bags) -> tuple[spm.Statistics, Floats]:
        found = spm.statistics(bags.sums, bags.squared_norms, bags.lengths, self._prior)
        return found, spm.solve(found, self._prior, bags.dim, self.kappa_method)

    def _directions(self, bags: Bags, kappa: Floats) -> NDArray[Any]:
        found = np.empty(bags.sums.shape, bags.sums.dtype)
        step = max(1, AT_ONCE // bags.dim)
        for part in (slice(begin, begin + step) for begin in range(0, len(bags), step)):
            found[part] = spm.directions(bags.sums[part], kappa[part], self._prior)
        return found

    def _check_parameters(self) -> None:
        strength: Any = self.prior_strength
        if not isinstance(strength, numbers.Real) or not float(strength) >= 0:
            raise ValueError(f"prior_strength must be 0 or more, not {self.prior_strength!r}")
        self._check_reading()
        if self.kappa_method not in ("newton", "banerjee"):
            raise ValueError(f"kappa_method must be 'newton' or 'banerjee', not {self.kappa_method!r}")
        if self.init not in ("data", "paper"):
            raise ValueError(f"init must be 'data' or 'paper', not {self.init!r}")
        most: Any = self.max_iter
        if not isinstance(most, numbers.Integral) or int(most) < 1:
            raise ValueError(f"max_iter must be at least 1, not {self.max_iter!r}")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Return a name for each dimension; the names of what comes in (a column of texts) say nothing of them."""
        check_is_fitted(self, "mean_direction_")
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


def _generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))
