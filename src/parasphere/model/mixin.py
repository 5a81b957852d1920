"""The part of an estimator that turns documents into bags, and keeps the reader that did."""

import os
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options
from sklearn.utils.validation import validate_data

from ..text import AnyTokenizer
from ..vectors import WordVectors, is_learner, resolve
from .bags import Bags
from .inputs import first_texts, held_texts, is_numeric, tokenizer_for
from .reader import Reader

THREADS = [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None]  # what n_jobs may be


class DocumentInputs:
    """The part of an estimator that turns documents into bags.

    The parameters below decide how a corpus is read in ``fit``. The reader made of them is kept as ``reader_``, and
    everything after ``fit`` is read by it: setting a parameter of a fitted estimator does not change how it reads.
    """

    constraints: ClassVar[Mapping[str, Any]] = {
        "vectors": [str, os.PathLike, WordVectors, HasMethods(["fit", "get_params"]), None],
        "tokenizer": [callable, None],
        "weighted": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": THREADS,
    }

    vectors: Any
    tokenizer: AnyTokenizer | None
    weighted: bool
    random_state: Any
    n_jobs: int | None

    reader_: Reader | None

    def read(self, source: Any, **columns: Any) -> Bags:
        """Read a corpus into bags, which ``fit`` and all other methods accept in place of the texts.

        A fitted estimator reads as it did in ``fit``; an unfitted one reads as its parameters say.

        Parameters
        ----------
        source : texts, token lists, columns or path
        **columns
            Passed to :func:`parasphere.corpus.blocks`.
        """
        if "reader_" in vars(self) or is_learner(self.vectors) or self.tokenizer is not None:
            return self._reader().read_to_fit(source, self.n_jobs, **columns)
        self._validate_params()  # type: ignore[attr-defined]
        source, sample = first_texts(source, **columns)
        return self._new_reader(None, sample).read_to_fit(source, self.n_jobs)

    @property
    def vectors_(self) -> WordVectors | None:
        """The word vectors; None after a fit to numbers."""
        reader = _learned(self, "reader_")
        return None if reader is None else reader.vectors

    def _bags_to_fit(self, X: Any) -> Bags:
        """Return the bags of the corpus that the estimator is to be fitted to; texts are read by a new reader."""
        self._validate_params()  # type: ignore[attr-defined]
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit to numbers
            vars(self).pop(name, None)
        if isinstance(X, Bags):
            X.check_numbers()
            return X
        if is_numeric(X):
            return Bags.from_rows(validate_data(self, X, dtype=np.float64, ensure_min_features=2))
        sample: list[str] = []
        if is_learner(self.vectors):
            X = held_texts(X)
            if self.tokenizer is None and getattr(self.vectors, "tokenizer", 0) is None:
                _, sample = first_texts(X)
        elif self.tokenizer is None:
            X, sample = first_texts(X)
        return self._new_reader(X, sample).read_to_fit(X, self.n_jobs)

    def _bags_for(self, X: Any, dim: int, *, to_learn: bool = False) -> Bags:
        """Return the bags of documents for a fitted estimator with ``dim`` dimensions; with a scatter if it learns."""
        if isinstance(X, Bags):
            if X.dim != dim:
                raise ValueError(f"these bags have {X.dim} dimensions; the model was fitted to {dim}")
            X.check_numbers()
            return X
        if not is_numeric(X):
            reader = self._reader()
            return reader.read_to_fit(X, self.n_jobs) if to_learn else reader.read(X, self.n_jobs)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        if rows.shape[1] != dim:  # scikit-learn compares only what was fitted to rows
            name = type(self).__name__
            raise ValueError(f"X has {rows.shape[1]} features, but {name} is expecting {dim} features as input.")
        return Bags.from_rows(rows)

    def _reader(self) -> Reader:
        """Return the reader of the fit, or one made of the parameters if there has been no fit."""
        if "reader_" not in vars(self):
            self._validate_params()  # type: ignore[attr-defined]
            return self._new_reader(None)
        if self.reader_ is None:
            raise ValueError("this model was fitted to numbers and cannot read texts; fit it to texts")
        return self.reader_

    def _new_reader(self, texts: Any, sample: Sequence[str] = ()) -> Reader:
        """Make a reader of the parameters; a learner learns its vectors from the texts.

        A sample of texts decides for a tokenizer that finds words in scripts without spaces, if they need one.
        """
        if self.vectors is None:
            raise ValueError("texts need word vectors, and this model was made with vectors=None")
        if texts is None and is_learner(self.vectors):
            raise ValueError("the word vectors are learned in fit, so there are none to read with; fit the model first")
        vectors, tokenizer = resolve(
            self.vectors, self.tokenizer or tokenizer_for(sample), texts, weighted=self.weighted
        )
        if not self.weighted:
            return Reader(vectors, tokenizer)
        return Reader(vectors, tokenizer, weights=vectors.weights, unknown_weight=vectors.unknown_weight)


def _learned(estimator: Any, name: str) -> Any:
    if name not in vars(estimator):  # as any attribute that fit sets
        raise AttributeError(f"this {type(estimator).__name__} is not fitted yet")
    return vars(estimator)[name]
