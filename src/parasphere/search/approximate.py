"""Approximate search for millions of documents, by a graph of neighbours (HNSW) that usearch makes."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError, import_extra

MIN_CANDIDATES = 64  # per query, which are ranked by their exact scores


class Graph:
    """The graph of the neighbours of unit rows, in the format of usearch.

    Parameters
    ----------
    data : (n_bytes,) uint8
    """

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data

    @classmethod
    def build(cls, rows: NDArray[Any], threads: int) -> "Graph":
        """Return the graph of rows; their positions are its keys."""
        graph = _usearch()(ndim=rows.shape[1], metric="ip", dtype="f16")
        graph.add(np.arange(len(rows), dtype=np.uint64), np.asarray(rows, np.float32), threads=threads)
        return cls(np.frombuffer(bytes(graph.save()), np.uint8))

    def nearest(self, queries: NDArray[Any], count: int, threads: int) -> NDArray[np.int64]:
        """Return the positions of nearly the nearest rows to each query, (n_queries, count)."""
        matches = self._graph.search(np.asarray(queries, np.float32), count, threads=threads)
        positions = np.asarray(matches.keys, np.int64).reshape(len(queries), -1)
        if positions.shape[1] != min(count, len(self._graph)):
            raise ParasphereError("the graph of neighbours finds too few of them: make it again by adding documents")
        return positions

    @cached_property
    def _graph(self) -> Any:
        return _usearch().restore(bytes(self.data))


def _usearch() -> Any:
    return import_extra("usearch.index", "search", "approximate search").Index
