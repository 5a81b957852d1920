"""How a model reads: texts, tokens, bags or numbers in, bags out, by word vectors that are loaded when needed."""

import numbers
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..corpus.columns import strings
from ..text.tokens import AnyTokenizer, Tokenizer
from ..vectors.wordvectors import WordVectors
from .bags import Bagger, Bags
from .facets import Facets
from .inputs import as_texts, is_numeric
from .own import Own
from .regions import find_facets

FEW = 64  # texts that are read at once


class TextReader(BaseEstimator):  # type: ignore[misc]
    """An estimator that takes a corpus in any form.

    A subclass has the parameters below; what texts are read with is kept in ``vectors_`` and ``facets_``.
    """

    vectors: Any
    tokenizer: AnyTokenizer | None
    weighted: bool
    facets: int
    own: Own | None
    damped: bool
    random_state: Any
    n_jobs: int | None
    n_features_in_: int
    vectors_: WordVectors | None
    facets_: Facets | None = None
    _reader: Bagger

    def _bags(self, X: Any, *, reset: bool = False) -> Bags:
        """Take a corpus in any form as bags."""
        self._check_reading()
        if isinstance(X, Bags):
            X.check_numbers()
            if reset:
                self.vectors_, self.facets_ = self._vectors_for(X.dim), None
                if self.vectors_ is not None:
                    self._find_facets(self.vectors_)
            elif X.dim != self.n_features_in_:
                raise ValueError(f"these bags have {X.dim} dimensions; the model was fitted to {self.n_features_in_}")
            return X
        if scipy.sparse.issparse(X) or is_numeric(X):
            if self.facets > 1:
                raise ValueError(f"rows of numbers have no words that could fall into {self.facets} facets; give texts")
            if self.own is not None or self.damped:
                raise ValueError("rows of numbers have no words, with nothing of their own and no repeats; give texts")
            if reset:
                self.vectors_ = self.facets_ = None
            rows = validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_features=2 if reset else 1)
            return Bags.from_rows(rows)
        bagger = self._bagger(reset=reset)
        if isinstance(X, list) and len(X) <= FEW and all(type(text) is str for text in X):
            return bagger.all_at_once(strings(X))  # what comes one at a time should not wait for a stream to be set up
        return Bags.concatenate([bagger.empty(), *(bags for _, bags in bagger.stream(as_texts(X)))])

    def _bagger(self, *, reset: bool = False) -> Bagger:
        """Return what reads texts; its tables are built once for given vectors and a tokenizer."""
        if reset:
            self.vectors_ = self._load_vectors()
        elif getattr(self, "vectors_", None) is None:
            vectors = self._load_vectors()
            self._check_width(vectors)
            self.vectors_ = vectors
        assert self.vectors_ is not None
        if not reset and hasattr(self, "n_features_in_"):
            self._check_unchanged(self.vectors_)
        if reset or (self.facets > 1 and self.facets_ is None):
            self._find_facets(self.vectors_)
        facts = (self.vectors_, self.tokenizer, self.weighted, self.own, self.damped, self.n_jobs)
        if getattr(self, "_reader_facts", None) != facts or self._reader.facets is not self.facets_:
            self._reader = Bagger(
                self.vectors_,
                tokenizer=self._tokenizer(),
                weights=self.vectors_.norms if self.weighted else None,
                facets=self.facets_,
                own=self.own,
                damped=self.damped,
                n_jobs=self.n_jobs,
            )
            self._reader_facts = facts
        return self._reader

    def _find_facets(self, vectors: WordVectors) -> None:
        """Let the words fall into regions; the same ones for the same vectors."""
        self._check_reading()
        if self.facets == 1:
            self.facets_ = None
            return
        seed = self.random_state if isinstance(self.random_state, numbers.Integral) else 0
        facts = (vectors.fingerprint, self.facets, int(seed))
        if self.facets_ is None or getattr(self, "_facet_facts", None) != facts:
            self.facets_ = find_facets(vectors.matrix, self.facets, int(seed))
            self._facet_facts = facts

    def _check_reading(self) -> None:
        given: Any = self.facets
        if not isinstance(given, numbers.Integral) or int(given) < 1:
            raise ValueError(f"facets must be a whole number from 1 on, not {self.facets!r}")
        if self.own is not None and not isinstance(self.own, Own):
            raise ValueError(f"own must be None or an Own, as in own=Own(0.7), not {self.own!r}")

    def _check_unchanged(self, vectors: WordVectors) -> None:
        """Insist that parameters which say how wide a text's vector is are still those of the fit."""
        given = self._given_vectors()
        if given is not None and given is not vectors:
            self._check_width(given)
        self._check_width(vectors)

    def _given_vectors(self) -> WordVectors | None:
        """Return the word vectors that texts are to be read with, if they are at hand."""
        return self.vectors if isinstance(self.vectors, WordVectors) else None

    def _check_width(self, vectors: WordVectors) -> None:
        if self._width(vectors) == self.n_features_in_:
            return
        times = f" and there are {self.facets} facets" if self.facets > 1 else ""
        times += f" and {self.own.dim} dimensions for words' own" if self.own is not None else ""
        raise ValueError(
            f"the word vectors have {vectors.dim} dimensions{times}; the model was fitted to "
            f"{self.n_features_in_}. Fit it again, or set its parameters back"
        )

    def _width(self, vectors: WordVectors) -> int:
        """Return how many numbers a text's vector has."""
        return vectors.dim * self.facets + (0 if self.own is None else self.own.dim)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out of a pickle what is built anew when it is needed, and vectors that can be loaded by their name."""
        state: dict[str, Any] = dict(super().__getstate__())
        for name in ("_reader", "_reader_facts", "_loaded"):
            state.pop(name, None)
        if not isinstance(self.vectors, WordVectors):
            state.pop("vectors_", None)
        return state

    def _tokenizer(self) -> AnyTokenizer:
        return Tokenizer(stop_words="english") if self.tokenizer is None else self.tokenizer

    def _load_vectors(self) -> WordVectors:
        if self.vectors is None:
            raise ValueError("texts need word vectors, and this model was made with vectors=None")
        if isinstance(self.vectors, WordVectors):
            return self.vectors
        source, vectors = getattr(self, "_loaded", (None, None))
        if vectors is None or source != self.vectors:
            vectors = WordVectors.load(self.vectors)
            self._loaded = (self.vectors, vectors)
        return vectors

    def _vectors_for(self, dim: int) -> WordVectors | None:
        """Return the word vectors if bags of this dimension may have been read with them."""
        known = getattr(self, "vectors_", None) or (self.vectors if isinstance(self.vectors, WordVectors) else None)
        return known if known is not None and self._width(known) == dim else None
