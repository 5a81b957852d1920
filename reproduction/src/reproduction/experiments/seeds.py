r"""Intervals and tests of runs with several seeds: what varies is the choice of test documents, and the seed.

Write :math:`a_{su}` for the share that is right with seed :math:`s` of :math:`S` on unit :math:`u`: a document of a
split, or a fold. The mean :math:`\bar a` estimates the accuracy that a new seed has on new documents. The two choices
are independent, so the variance of the mean is the sum of two:

.. math:: V = V_u + V_s, \qquad V_s = \frac{1}{S} \operatorname{var}_s(\bar a_{s\cdot}), \qquad
          V_u = c \operatorname{var}_u(\bar a_{\cdot u}),

with :math:`c = 1/n` for :math:`n` documents and :math:`c = 1/k + 1/(k - 1)` for :math:`k` folds, whose training parts
overlap (Nadeau and Bengio 2003). What is left when document and seed are taken out counts in both, which makes V a
little too large. The quantile is Student's, with Satterthwaite's degrees of freedom :math:`V^2 / (V_u^2 / \nu_u + V_s^2
/ (S - 1))`. Of two encoders the differences of their means per unit are tested in the same way, with the variances of
the seeds of both.

With one seed these are :func:`~reproduction.experiments.significance.of_run` and ``of_runs``.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from . import significance
from .significance import Interval, Paired

Floats = NDArray[np.float64]
Run = Mapping[str, Any]
SAME = ("encoder", "dataset", "dim", "vectors", "classifier", "transductive")  # what runs share that differ in the seed
MEANS = ("accuracy", "macro_f1", "fit_seconds", "transform_seconds", "choose_seconds", "texts_per_second")


class Part(NamedTuple):
    """A part of a variance, and its degrees of freedom."""

    variance: float
    freedom: float


def merged(runs: Sequence[Run]) -> list[Run]:
    """Return one run per configuration: with several seeds the means over them, and the runs as ``by_seed``."""
    groups: dict[tuple[Any, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(tuple(run[name] for name in SAME), []).append(run)
    return [group[0] if len(group) == 1 else _mean(group) for group in groups.values()]


def _mean(runs: Sequence[Run]) -> Run:
    means = {name: float(np.mean([run[name] for run in runs])) for name in MEANS if all(run.get(name) for run in runs)}
    return {**runs[0], **means, "by_seed": list(runs)}


def interval(run: Run) -> Interval | None:
    """Return the 95 % interval of the accuracy of a run, merged or not."""
    runs = run.get("by_seed") or [run]
    values = _values(runs)
    if len(runs) == 1 or values is None:
        return significance.of_run(run)
    mean = float(values.mean())
    half = _half(_units(values.mean(0), bool(runs[0].get("folds"))), _seeds(runs))
    return Interval(max(0.0, mean - half), min(1.0, mean + half))


def compare(run: Run, other: Run) -> Paired | None:
    """Test a run against another, merged or not; None unless both have the same folds or the same documents."""
    first, second = (one.get("by_seed") or [one] for one in (run, other))
    if len(first) == len(second) == 1:
        return significance.of_runs(run, other)
    a, b = _values(first), _values(second)
    folds = bool(run.get("folds"))
    if a is None or b is None or a.shape[1] != b.shape[1] or folds != bool(other.get("folds")):
        return None
    difference = a.mean(0) - b.mean(0)
    mean = float(difference.mean())
    parts = [_units(difference, folds), _seeds(first), _seeds(second)]
    error, freedom = _error(parts)
    if error <= 1e-12:
        return Paired(1.0, 0.0) if abs(mean) <= 1e-12 else Paired(0.0, math.copysign(math.inf, mean))
    return Paired(min(1.0, 2 * float(stdtr(freedom, -abs(mean / error)))), mean / error)


def over_seeds(values: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Return the interval of the mean of a measure over seeds, given the interval of each seed over documents.

    Examples
    --------
    >>> low, high = over_seeds([0.70, 0.72, 0.74], [Interval(0.68, 0.72), Interval(0.70, 0.74), Interval(0.72, 0.76)])
    >>> f"{low:.3f} to {high:.3f}"
    '0.683 to 0.757'
    """
    if len(values) == 1:
        return intervals[0]
    widths = np.array([high - low for low, high in intervals])
    documents = Part(float(np.mean((widths / (2 * 1.96)) ** 2)), math.inf)
    half = _half(documents, Part(float(np.var(values, ddof=1)) / len(values), len(values) - 1))
    mean = float(np.mean(values))
    return Interval(mean - half, mean + half)


def holm(values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's method (1979): below 0.05 whatever the others may be.

    Examples
    --------
    >>> [round(p, 2) for p in holm([0.01, 0.04, 0.03, 0.5])]
    [0.04, 0.09, 0.09, 0.5]
    """
    corrected = [1.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(np.argsort(values, kind="stable")):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = largest
    return corrected


def _values(runs: Sequence[Run]) -> Floats | None:
    """Return the share that is right, per seed and unit; None if runs do not tell, or not of the same units."""
    rows = [run.get("folds") or run.get("correct") or () for run in runs]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return None
    return np.asarray(rows, np.float64)


def _units(means: Floats, folds: bool) -> Part:
    n = len(means)
    return Part(float(means.var(ddof=1)) * (1 / n + (1 / (n - 1) if folds else 0.0)), n - 1)


def _seeds(runs: Sequence[Run]) -> Part:
    if len(runs) == 1:
        return Part(0.0, math.inf)
    return Part(float(np.var([run["accuracy"] for run in runs], ddof=1)) / len(runs), len(runs) - 1)


def _half(*parts: Part) -> float:
    error, freedom = _error(parts)
    return error * float(stdtrit(min(freedom, 1e9), 0.975)) if error > 0 else 0.0


def _error(parts: Sequence[Part]) -> tuple[float, float]:
    """Return the standard error of a mean, and its degrees of freedom by Satterthwaite's rule."""
    total = sum(part.variance for part in parts)
    doubts = sum(part.variance**2 / part.freedom for part in parts)
    return math.sqrt(total), min(1e9, total**2 / doubts) if doubts > 0 else 1e9
