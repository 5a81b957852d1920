"""What a fitted model computes for documents: posteriors, similarities, explanations, search."""

import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..corpus import Block, one_text
from ..errors import ParasphereError, ScoreWarning
from .bags import Bags
from .comparing import MatchExplanation, cosines, doubts, explain_match, log_bayes_factor
from .em import Sampled, draw
from .equations import Prior
from .explain import Explanation, explain
from .mixin import DocumentInputs
from .posterior import Posterior, posterior_of
from .reader import Reader
from .scatter import Scatter
from .similar import similar

Floats = NDArray[np.float64]


class Inference(DocumentInputs):
    """The methods of a fitted model that learn nothing: they depend on what ``fit`` learned alone."""

    prior_: Prior
    scatter_: Scatter | None

    def posterior(self, X: Any) -> Posterior:
        """Return the posterior of each document: its direction, how certain that is, and what it adds to the corpus."""
        return self._posterior_of(self._bags(X))

    def stream(self, source: Any, **columns: Any) -> Iterator[tuple[Block, Posterior]]:
        """Read a corpus block by block, in constant memory; yield each block and its posterior.

        Parameters
        ----------
        source : texts, token lists, columns or path
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        check_is_fitted(self)
        for block, bags in self._reader().stream(source, self.n_jobs, **columns):
            yield block, self._posterior_of(bags)

    def log_likelihood(self, X: Any) -> Floats:
        """Return the profile log-likelihood of the words of each document, (n_docs,).

        See :attr:`Posterior.log_likelihood`. Those of models with other word vectors or weights are densities
        of other things and cannot be compared with these.
        """
        return self.posterior(X).log_likelihood

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002
        """Return the mean profile log-likelihood per known word, in nats.

        There is a :class:`ScoreWarning` if words are weighted, as such scores can be compared only between models with
        the same weights.
        """
        posterior = self.posterior(X)
        if self.reader_ is not None and self.reader_.weights is not None:
            warnings.warn(
                "this score is that of weighted words: compare it only with scores of models with the same word "
                "vectors and weights.",
                ScoreWarning,
                stacklevel=2,
            )
        return float(posterior.log_likelihood.sum() / (posterior.length.sum() or 1.0))

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
            kappa_n; None is the concentration whose mean cosine is ``word_cosine_``.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return draw(self.prior_, n_docs, lengths, word_concentration, rng)

    def explain(self, text: str) -> Explanation:
        """Return the contribution of each word, and of the corpus, to the direction of a text.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel, WordVectors
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

    def similar(self, queries: Any, among: Any, k: int = 10, **columns: Any) -> Any:
        """Return the ``k`` documents most similar to a query, or to each of several queries, best first.

        They are ranked by the cosine of offsets, as in :meth:`compare`.

        Parameters
        ----------
        queries : str or list of str
        among : texts, columns, path, Bags or Posterior
            The documents. A corpus is streamed and may be larger than memory.
        k : int, default=10
        **columns
            Passed to :func:`parasphere.corpus.blocks`.

        Returns
        -------
        list of Match, or one such list per query
            Of several queries, one without a known word has an empty list.

        Raises
        ------
        ParasphereError
            If there is one query, and no word of it has a vector.
        """
        texts, several = _texts(queries, "the query", "queries")
        asked = self.posterior(texts)
        known = np.asarray(asked.offset.any(axis=1))
        if not several and not known[0]:
            raise ParasphereError(f"no word of the query {texts[0]!r} has a vector, so nothing can be compared with it")
        if isinstance(among, Bags):
            among = self.posterior(among)
        parts = [(None, among)] if isinstance(among, Posterior) else self.stream(among, **columns)
        matches = similar(asked.offset, ((block, posterior.offset) for block, posterior in parts), k)
        return [found if said else [] for found, said in zip(matches, known, strict=True)] if several else matches[0]

    def compare(self, a: Any, b: Any, *, return_std: bool = False) -> Any:
        """Return how similar texts are: the cosine of what each adds to the corpus (:attr:`Posterior.offset`).

        1 for the same text, about 0 for texts that have nothing to do with each other, 0 for a text without known
        words, and negative if one has what the other lacks.

        Parameters
        ----------
        a, b : str, or lists of str of the same length
            Lists are compared pair by pair.
        return_std : bool, default=False
            Also return the standard deviation of each similarity, given the posteriors of the two directions.

        Returns
        -------
        float or (n,) array; with ``return_std`` a pair of them
        """
        first, second, several = _pairs(a, b)
        one, other = self.posterior(first), self.posterior(second)
        similarity = cosines(one.offset, other.offset)
        if not return_std:
            return similarity if several else float(similarity[0])
        std = doubts(one, other)
        return (similarity, std) if several else (float(similarity[0]), float(std[0]))

    def log_bayes_factor(self, a: Any, b: Any) -> Any:
        """Return the log Bayes factor, in nats, that texts share one direction rather than having one each.

        Parameters
        ----------
        a, b : str, or lists of str of the same length
            Lists are compared pair by pair.

        Returns
        -------
        float or (n,) array
        """
        first, second, several = _pairs(a, b)
        factors = log_bayes_factor(self.posterior(first), self.posterior(second), self.prior_)
        return factors if several else float(factors[0])

    def explain_match(self, a: str, b: str) -> MatchExplanation:
        """Return the part of each word of two texts in their similarity.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel, WordVectors
        >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0.1]])
        >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
        >>> match = model.explain_match("north east", "east east")
        >>> [word for word, part in match.words_a if part > 0]
        ['east']
        """
        texts = one_text(a, "the first text"), one_text(b, "the second text")
        return explain_match(texts, self.posterior(list(texts)), self._reader())

    @property
    def encoder(self) -> "Inference":
        """The fitted state, which later fits do not change."""
        return copy(self)

    @property
    def reader(self) -> Reader | None:
        """``reader_``."""
        return self.reader_

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self._n_features_out

    @property
    def mean_direction_(self) -> Floats:
        """mu0, (dim,): the direction of the corpus."""
        return np.asarray(self._prior.mean_direction)

    @property
    def concentration_(self) -> float:
        """kappa0: how close documents are to the direction of the corpus."""
        return float(self._prior.concentration)

    @property
    def word_cosine_(self) -> float:
        """rho: the mean cosine of a word with the direction of its document."""
        return float(self._prior.cosine)

    @property
    def _n_features_out(self) -> int:
        return len(self.mean_direction_)

    @property
    def _prior(self) -> Prior:
        if "prior_" not in vars(self):  # as any attribute that fit sets
            raise AttributeError(f"this {type(self).__name__} is not fitted yet")
        return self.prior_

    def _bags(self, X: Any) -> Bags:
        if "prior_" not in vars(self):  # scikit-learn's own check takes a tenth of the time of one short text
            check_is_fitted(self)
        return self._bags_for(X, self._n_features_out)

    def _posterior_of(self, bags: Bags) -> Posterior:
        return posterior_of(bags, self.prior_, self._whitening)

    @property
    def _whitening(self) -> Floats | None:
        return None if self.scatter_ is None else self.scatter_.whitening


def _texts(given: Any, name: str, plural: str) -> tuple[list[str], bool]:
    """Return the texts of one string or of a list of strings, and whether there may be several."""
    if isinstance(given, str):
        return [one_text(given, name)], False
    if not isinstance(given, (list, tuple, np.ndarray)) or not len(given):
        raise ValueError(
            f"{plural} must be a string or a list of strings that is not empty, not {type(given).__name__}"
        )
    return [one_text(text, f"{name} at position {i}") for i, text in enumerate(given)], True


def _pairs(a: Any, b: Any) -> tuple[list[str], list[str], bool]:
    """Return the texts of two strings or two lists of strings, and whether they are lists."""
    first, several = _texts(a, "the first text", "the first texts")
    second, too = _texts(b, "the second text", "the second texts")
    if several != too or len(first) != len(second):
        raise ValueError(
            f"two texts, or two lists of the same length, can be compared; there are {len(first)} and {len(second)}"
        )
    return first, second, several
