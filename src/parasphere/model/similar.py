"""Search: the documents whose offsets have the largest cosines with those of queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..sphere.neighbours import nearest
from ..sphere.rows import unit_rows

if TYPE_CHECKING:
    from ..corpus import Block

LONGEST = 80  # characters of a text in a representation


class Match(NamedTuple):
    """A search result.

    Attributes
    ----------
    position : int
        Position of the document in the corpus.
    similarity : float
        Cosine of the offsets of document and query.
    id : str, int or None
        Id of the document, if it is known.
    text : str or None
        Its text, if it is known.
    score : float
        The value that documents are ranked by: the similarity or, when an index is searched, a combination of the
        similarity and the shared words. Scores of different queries cannot be compared.
    words : tuple of str
        When an index is searched: the words of the query that the document has, each in its shortest form there.
    columns : dict or None
        When an index is searched: the values of its other columns for the document.
    """

    position: int
    similarity: float
    id: str | int | None
    text: str | None
    score: float
    words: tuple[str, ...] = ()
    columns: dict[str, Any] | None = None

    def __repr__(self) -> str:
        """Return the fields, with the beginnings of long texts."""
        return f"Match({', '.join(f'{name}={_brief(value)}' for name, value in self._asdict().items())})"


def similar(queries: NDArray[Any], among: Iterable[tuple[Block | None, NDArray[Any]]], k: int) -> list[list[Match]]:
    """Return the ``k`` documents most similar to each query, best first, ties by position.

    Parameters
    ----------
    queries : (n_queries, dim) array
        Offsets of the queries.
    among : iterable of (Block or None, (n_docs, dim) array)
        Offsets of the documents, block by block; only the best so far are held in memory.
    k : int
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    queries = unit_rows(queries, np.float64)
    best: list[list[Match]] = [[] for _ in queries]
    start = 0
    for block, offsets in among:
        start = start if block is None else block.start
        documents = unit_rows(offsets, np.float64)
        ids, texts = (None, None) if block is None else (block.ids, None if block.tokenised else block.texts)
        for row, positions, scores in zip(best, *nearest(queries, documents, k), strict=True):
            for i, score in zip(positions, scores, strict=True):
                row.append(Match(start + int(i), float(score), _item(ids, i), _item(texts, i), float(score)))
            row.sort(key=lambda match: (-match.similarity, match.position))
            del row[k:]
        start += len(documents)
    return best


def _brief(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_brief(one)}' for name, one in value.items())}}}"
    return repr(f"{value[:LONGEST]}…" if isinstance(value, str) and len(value) > LONGEST else value)


def _item(column: Any, i: Any) -> Any:
    if column is None:
        return None
    value = column[int(i)]
    return value if value is None or isinstance(value, int) else str(value)
