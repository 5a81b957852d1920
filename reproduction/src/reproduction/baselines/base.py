"""What the baselines share: how they read texts, validate parameters, keep what was fitted, and are saved."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from parasphere.corpus import reread
from parasphere.errors import CorpusError
from parasphere.parameters import (
    BOOLEAN,
    CALLABLE,
    NONE,
    PATH,
    RANDOM_STATE,
    VERBOSE,
    Constraint,
    Constraints,
    check_parameters,
    having,
    instance_of,
    number,
)
from parasphere.storage import Saved
from parasphere.text import AnyTokenizer, Tokenizer, Vocabulary, count_matrix, count_words
from parasphere.vectors import WordVectors, default_tokenizer, is_learner, resolve

COUNT = number(int, 1)
POSITIVE = number(float, 0, closed="neither")
NOT_NEGATIVE = number(float, 0)
VECTORS = PATH | instance_of(WordVectors) | having("fit", "get_params")
# What parameters may be that several encoders have.
SHARED: dict[str, Constraint] = {
    "batch_size": COUNT, "device": instance_of(str), "dim": COUNT, "epochs": COUNT, "learning_rate": POSITIVE,
    "max_iter": COUNT, "max_words": COUNT | NONE, "min_count": COUNT, "n_topics": COUNT, "n_removed": number(int, 0),
    "negative": COUNT, "random_state": RANDOM_STATE, "split_sentences": BOOLEAN, "tokenizer": CALLABLE | NONE,
    "tol": NOT_NEGATIVE, "vectors": VECTORS, "verbose": VERBOSE,
}  # fmt: skip


class TextEncoder(Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer from texts to vectors; texts are whatever :func:`parasphere.corpus.blocks` takes.

    A subclass is a dataclass of its parameters. It calls :meth:`_begin_fit` first in ``fit``, and declares in
    ``_parameters`` what those of its parameters may be that others do not share. Its ``_fixed`` names the
    parameters that ``transform`` depends on: ``fit`` keeps the value of ``name`` as ``name_``, and ``transform`` reads
    that one, so that ``set_params`` does not change what was fitted.
    """

    _parameters: ClassVar[Constraints] = SHARED
    _fixed: ClassVar[tuple[str, ...]] = ()

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, then transform the same texts; a stream that can be read only once is held in memory."""
        held = reread(X)
        return self.fit(held, y).transform(held)

    def _begin_fit(self) -> None:
        check_parameters(self)
        for name in self._fixed:
            setattr(self, f"{name}_", getattr(self, name))

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _check_learned(self) -> None:
        super()._check_learned()
        fixed = {name: getattr(self, f"{name}_") for name in self._fixed}
        check_parameters(self, fixed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


class WordEncoder(TextEncoder):
    """A text encoder that splits texts into words, by a parameter ``tokenizer``."""

    tokenizer: AnyTokenizer | None
    tokenizer_: AnyTokenizer
    _default_tokenizer: ClassVar[Callable[[], Tokenizer]] = default_tokenizer

    def _begin_fit(self) -> None:
        super()._begin_fit()
        self.tokenizer_ = type(self)._default_tokenizer() if self.tokenizer is None else self.tokenizer


class CountEncoder(WordEncoder):
    """A text encoder of word counts.

    A subclass has a parameter ``max_words``: how many words are counted, the most frequent of the training texts (ties
    in alphabetical order), or None for all.
    """

    max_words: int | None
    vocabulary_: Vocabulary

    def _fit_counts(self, X: Any) -> sparse.csr_array:
        """Choose the words and return the counts of the training texts, (n_docs, n_words) int32."""
        self._begin_fit()
        texts = reread(X)
        words, _ = count_words(texts, self.tokenizer_)
        if not words:
            raise CorpusError("none of the texts has a word; at least one must")
        self.vocabulary_ = Vocabulary(words[: self.max_words])
        return count_matrix(texts, self.vocabulary_, self.tokenizer_)

    def _counts(self, X: Any) -> sparse.csr_array:
        """Return the counts of texts, (n_docs, n_words) int32."""
        check_is_fitted(self)
        return count_matrix(X, self.vocabulary_, self.tokenizer_)


class TopicWordsMixin:
    """Mixin of encoders whose columns are topics of words."""

    vocabulary_: Vocabulary

    def topic_words(self, k: int = 10) -> list[list[str]]:
        """Return the ``k`` words of largest weight in each topic, largest first; words without weight are left out.

        Parameters
        ----------
        k : int, default=10
        """
        check_is_fitted(self)
        if k < 1:
            raise ValueError(f"k must be at least 1, not {k}")
        weights = self._word_weights()
        best = np.argsort(-weights, axis=1, kind="stable")[:, :k]
        return [[self.vocabulary_.word(w) for w in row if weights[t, w] > 0] for t, row in enumerate(best.tolist())]

    @abstractmethod
    def _word_weights(self) -> NDArray[Any]:
        """Return the weight of each word in each topic, (n_topics, n_words)."""


class ComponentTopicsMixin(TopicWordsMixin):
    """Mixin of encoders whose columns are topics, the rows of ``components_``, (n_topics, n_words)."""

    components_: NDArray[np.float64]

    def _word_weights(self) -> NDArray[Any]:
        return self.components_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class VectorEncoder(WordEncoder):
    """A text encoder of word vectors, which a parameter ``vectors`` names, holds or learns.

    The weights of word vectors are not used: a baseline has its own, or none.
    """

    vectors: Any
    vectors_: WordVectors

    def _fit_vectors(self, X: Any) -> Any:
        """Load or learn the word vectors; return texts that can still be read."""
        self._begin_fit()
        learned = is_learner(self.vectors)
        if learned and X is None:
            raise ValueError("the word vectors are to be learned: fit needs texts")
        texts = reread(X) if learned else X
        self.vectors_, self.tokenizer_ = resolve(self.vectors, self.tokenizer, texts, weighted=False)
        return texts

    @property
    def _n_features_out(self) -> int:
        return self.vectors_.dim


def smoothed_idf(counts: sparse.csr_array) -> NDArray[np.float64]:
    """Return the inverse document frequency of each column of counts, ``1 + log((1 + n) / (1 + df))``, (n_words,).

    ``df`` of the ``n`` texts have the word. The ones stand for one more text that has every word: a word of no text has
    the largest, but a finite, idf.
    """
    n_docs, n_words = counts.shape
    return np.asarray(1 + np.log((1 + n_docs) / (1 + np.bincount(counts.indices, minlength=n_words))))


def unit_length(rows: Any) -> Any:
    """Scale rows, (n, dim), dense or sparse, to unit length in place; rows of zeros stay."""
    return normalize(rows, copy=False) if rows.shape[0] else rows
