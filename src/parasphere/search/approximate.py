"""Approximate search for millions of documents, by a graph of neighbours (HNSW) that usearch makes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError, import_extra

MIN_CANDIDATES = 64  # per query, which are ranked by their exact scores


class Graph:
    """The graph of the neighbours of unit rows.

    Parameters
    ----------
    rows : (n_docs, dim) array
        Their positions are the keys of the graph.
    threads : int
    """

    def __init__(self, rows: NDArray[Any], threads: int) -> None:
        self._graph = import_extra("usearch.index", "search", "approximate search").Index(
            ndim=rows.shape[1], metric="ip", dtype="f16"
        )
        self._graph.add(np.arange(len(rows), dtype=np.uint64), np.asarray(rows, np.float32), threads=threads)

    def nearest(self, queries: NDArray[Any], count: int, threads: int) -> NDArray[np.int64]:
        """Return the positions of the approximately nearest rows to each query, (n_queries, count)."""
        matches = self._graph.search(np.asarray(queries, np.float32), count, threads=threads)
        positions = np.asarray(matches.keys, np.int64).reshape(len(queries), -1)
        if positions.shape[1] != min(count, len(self._graph)):
            raise ParasphereError("the graph returned too few neighbours; search with exact=True")
        return positions
