"""A million mean lengths and concentrations, beside the same ratio from ``scipy.special.ive``.

Run with ``python -m benchmarks.vmf``. One thread; the best of several repeats; compilation excluded.
"""

from benchmarks.measure import best, table

from typing import Any

import numpy as np
from scipy.special import ive

from parasphere.sphere import vmf

N = 1_000_000
DIMS = (50, 300)


def scipy_ratio(kappa: np.ndarray, dim: int) -> np.ndarray:
    """Return the mean length by scipy's functions; NaN where both underflow."""
    with np.errstate(all="ignore"):
        return ive(dim / 2, kappa) / ive(dim / 2 - 1, kappa)


def run(n: int = N, repeats: int = 7, scipy_repeats: int = 2) -> dict[str, Any]:
    """Measure; the rows hold milliseconds for ``n`` values."""
    kappa = 10 ** np.random.default_rng(0).uniform(-3, 4, n)  # log-uniform from 0.001 to 10,000
    rows = []
    for dim in DIMS:
        length = vmf.mean_length(kappa, dim)
        vmf.concentration(length[:1], dim)
        theirs = scipy_ratio(kappa, dim)
        agree = np.abs(theirs - length) <= 1e-8 * length  # False for NaN
        ours_ms = 1e3 * best(lambda dim=dim: vmf.mean_length(kappa, dim), repeats)
        inverse_ms = 1e3 * best(lambda dim=dim, length=length: vmf.concentration(length, dim), repeats)
        scipy_ms = 1e3 * best(lambda dim=dim: scipy_ratio(kappa, dim), scipy_repeats)
        rows.append(
            {
                "dim": dim,
                "mean_length_ms": ours_ms,
                "concentration_ms": inverse_ms,
                "scipy_ratio_ms": scipy_ms,
                "scipy_over_mean_length": scipy_ms / ours_ms,
                "scipy_over_concentration": scipy_ms / inverse_ms,
                "scipy_nan_share": float(np.isnan(theirs).mean()),
                "scipy_wrong_share": float((~agree & ~np.isnan(theirs)).mean()),
                "largest_relative_difference_elsewhere": float(np.abs(theirs / length - 1)[agree].max()),
            }
        )
    return {"n": n, "kappa": "log-uniform from 1e-3 to 1e4", "rows": rows}


def report(result: dict[str, Any]) -> str:
    """Return the result as Markdown."""
    rows = [
        [
            row["dim"],
            f"{row['mean_length_ms']:.1f} ({row['scipy_over_mean_length']:.0f}x)",
            f"{row['concentration_ms']:.1f} ({row['scipy_over_concentration']:.0f}x)",
            f"{row['scipy_ratio_ms']:.0f}",
            f"{row['scipy_nan_share']:.1%}",
            f"{row['scipy_wrong_share']:.2%}",
            f"{row['largest_relative_difference_elsewhere']:.0e}",
        ]
        for row in result["rows"]
    ]
    columns = [
        "dim",
        "mean_length",
        "concentration",
        "ratio of scipy's ive",
        "its NaN",
        "its errors",
        "else largest difference",
    ]
    intro = f"{result['n']:,} values, kappa {result['kappa']}; milliseconds on one core (scipy's time over ours)."
    return f"{intro}\n\n{table(columns, rows)}"


if __name__ == "__main__":
    print(report(run()))
