"""The base class of estimators of unit vectors."""

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning

from ..parameters import RANDOM_STATE, VERBOSE, Constraints, check_parameters, number
from ..storage import Saved
from .directions import validated_rows

COUNT = number(int, 1)


class RowEstimator(Saved, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator of rows that are scaled to unit length, fitted by iterations that raise an objective."""

    max_iter: int
    tol: float
    n_iter_: int
    converged_: bool
    _parameters: ClassVar[Constraints] = {
        "max_iter": COUNT, "tol": number(float, 0), "random_state": RANDOM_STATE, "verbose": VERBOSE,
    }  # fmt: skip

    def _fit_rows(self, X: Any, least: str) -> tuple[Any, NDArray[np.bool_]]:
        """Check the parameters and return :func:`validated_rows`; ``least`` names the minimum number of rows."""
        check_parameters(self)
        rows, present = validated_rows(self, X, reset=True)
        if present.sum() < getattr(self, least):
            raise ValueError(
                f"{least}={getattr(self, least)} needs at least as many rows that are not zero; "
                f"found n_samples={len(present)}, of which {int((~present).sum())} are zero"
            )
        return rows, present

    def _warn_unless_converged(self, objective: str) -> None:
        """Warn if the fit has not converged; call it from ``fit``, so that the warning points at its caller."""
        if not self.converged_:
            warnings.warn(
                f"{type(self).__name__} stopped after max_iter={self.max_iter} iterations, before the {objective} rose "
                f"by less than tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_parameters(self) -> None:
        check_parameters(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
