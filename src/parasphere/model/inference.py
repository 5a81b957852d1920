"""What a fitted model computes for documents: posteriors, evidence, explanations, search."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..corpus import Block, one_text
from ..features import Bags, DocumentInputs
from .em import Sampled, draw
from .equations import Prior
from .explain import Explanation, explain
from .posterior import Posterior, posterior_of
from .search import Match, similar

Floats = NDArray[np.float64]


class Inference(DocumentInputs):
    """The methods of a fitted model that learn nothing: they depend on ``prior_`` and ``reader_`` alone."""

    prior_: Prior

    def posterior(self, X: Any) -> Posterior:
        """Return the posterior of each document: its direction, how certain that is, and its evidence."""
        return posterior_of(self._bags(X), self.prior_)

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
            yield block, posterior_of(bags, self.prior_)

    def log_evidence(self, X: Any) -> Floats:
        """Return the log-density of the words of each document, (n_docs,)."""
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
            kappa_n; None is the concentration whose mean cosine is ``word_cosine_``.
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        return draw(self.prior_, n_docs, lengths, word_concentration, rng)

    def facet_words(self, k: int = 10) -> list[list[str]]:
        """Return the ``k`` words nearest to the centre of each facet, nearest first.

        Each word is listed in the facet that it mostly belongs to.

        Examples
        --------
        >>> from parasphere import SphericalParagraphModel, WordVectors
        >>> vectors = WordVectors.from_arrays(["up", "high", "far", "off"], [[0, 1], [0.1, 1], [1, 0], [1, 0.1]])
        >>> model = SphericalParagraphModel(vectors, facets=2, tol=1e-2).fit(["up high", "far off", "up off"])
        >>> sorted(sorted(words) for words in model.facet_words(2))
        [['far', 'off'], ['high', 'up']]
        """
        check_is_fitted(self)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        if self.facets_ is None:
            raise ValueError("the model has only one facet, which has no words of its own; fit it with facets=10, say")
        return self.facets_.nearest_words(self.vectors_, k)

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

    def similar(self, query: str, among: Any, k: int = 10, **columns: Any) -> list[Match]:
        """Return the ``k`` documents most similar to a query, best first.

        They are ranked by the log Bayes factor that query and document share one direction rather than having one
        each, ``Phi(|eta_q + eta_d - kappa0 mu0|) + Phi(kappa0) - Phi(|eta_q|) - Phi(|eta_d|)``, to which what all
        documents have in common contributes nothing. Each match also has the expected cosine.

        Parameters
        ----------
        query : str
        among : texts, columns, path, Bags or Posterior
            The documents. A corpus is streamed and may be larger than memory.
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
        """Return the expected cosine of the directions of two texts, ``E[d_a].E[d_b]``.

        It is the cosine of the two directions times the certainty of each (:attr:`Posterior.mean_length`).
        """
        means = self.posterior([one_text(a, "the first text"), one_text(b, "the second text")]).mean
        return float(means[0] @ means[1])

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
        check_is_fitted(self)
        return self._bags_for(X, self._n_features_out)
