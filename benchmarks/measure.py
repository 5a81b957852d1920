"""Helpers of all benchmarks: one thread, the best of several repeats, and Markdown tables."""

import os

# Before numpy is imported, so that no library starts threads of its own.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def best(function: Callable[[], Any], repeats: int = 5) -> float:
    """Return the seconds of the fastest call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def stolen() -> float:
    """Return the CPU seconds that the machine's host gave to others since the start; 0 if unknown."""
    try:
        fields = Path("/proc/stat").read_text().split(maxsplit=9)
    except OSError:
        return 0.0
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def share_stolen(since: float, seconds: float) -> float:
    """Return the share of the processors' time that the host gave to others since :func:`stolen` returned ``since``."""
    return (stolen() - since) / (seconds * (os.cpu_count() or 1))


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table, its columns aligned."""
    cells = [[str(cell) for cell in row] for row in [columns, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)
