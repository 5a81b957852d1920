"""The components of a mixture of von Mises-Fisher distributions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import vmf
from .directions import Floats, cosines, dense_columns


@dataclass
class Components:
    """Weights, directions and concentrations of the components of a mixture."""

    weights: Floats  # (k,), summing to 1; 0 for a component without rows
    directions: Floats  # (dim, k): one per column, so that products with sparse rows read contiguous memory
    kappa: Floats  # (k,)

    def log_joint(self, rows: Any) -> Floats:
        """Return the log-density of each row and component together, (n, k).

        ``log w_j + kappa_j mu_j.x - Phi(kappa_j)``
        """
        with np.errstate(divide="ignore"):  # a weight of 0
            constants = np.log(self.weights) - vmf.log_partition(self.kappa, self.directions.shape[0])
        joint = cosines(rows, self.directions)
        joint *= self.kappa
        joint += constants
        return joint


def responsibilities(joint: Floats) -> tuple[Floats, Floats]:
    """Overwrite log-densities (n, k) with responsibilities; return these and the log-likelihood of each row, (n,)."""
    top = joint.max(axis=1)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    total = joint.sum(axis=1)
    joint /= total[:, None]
    return joint, top + np.log(total)


def revive(mixture: Components, rows: Any, empty: NDArray[np.int64], evidence: Floats, kappa: float) -> None:
    """Restart components without rows at the rows of lowest likelihood, as long as that raises the likelihood.

    A new component of weight ``1/n`` at a row raises that row to at least ``kappa - Phi(kappa) - log n``, and lowers
    every row by no more than ``-log(1 - 1/n)``, in total little over 1.
    """
    n = len(evidence)
    if n < 2:
        return
    peak = kappa - vmf.log_partition(kappa, rows.shape[1]) - np.log(n)
    for component, row in zip(empty, np.argsort(evidence), strict=False):
        if peak - evidence[row] + n * np.log1p(-1.0 / n) <= 0:
            return
        mixture.weights *= 1.0 - 1.0 / n
        mixture.weights[component] = 1.0 / n
        mixture.directions[:, component] = dense_columns(rows, np.array([row]))[:, 0]
        mixture.kappa[component] = kappa
