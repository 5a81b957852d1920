"""The hits of a search."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..model import Match
from .contents import Contents
from .ranking import Hits

SHOWN = 10  # matches in a representation


class Matches(Sequence[Match]):
    """The documents that a query found, best first: a sequence of :class:`parasphere.model.Match`.

    Texts and words are looked up when a match is accessed.

    Attributes
    ----------
    positions : (n,) int64 array
        Positions of the documents in the index.
    similarities : (n,) float64 array
    scores : (n,) float64 array
        Those by which they are ranked.

    Examples
    --------
    >>> from parasphere import SphericalParagraphModel, WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
    >>> model = SphericalParagraphModel(compass, tol=1e-3).fit(["north", "north east", "north west"])
    >>> found = model.index(["north", "north east", "north west"]).search("east", k=2)
    >>> found[0].text, found[0].words, found.positions.tolist()
    ('north east', ('east',), [1, 0])
    """

    def __init__(self, contents: Contents, words: NDArray[np.int32], hits: Hits) -> None:
        self._contents, self._words = contents, words
        self.positions, self.similarities, self.scores = hits

    @property
    def ids(self) -> list[str | int]:
        """The ids of the documents."""
        return self._contents.ids.take(self.positions).tolist()

    def to_frame(self) -> Any:
        """Return a pandas.DataFrame with a row per match and the columns of the index; pandas must be installed."""
        import pandas as pd

        rows = [match._asdict() for match in self]
        return pd.DataFrame([row | (row.pop("columns") or {}) for row in rows], columns=None if rows else ["id"])

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, item: int) -> Match: ...

    @overload
    def __getitem__(self, item: slice) -> list[Match]: ...

    def __getitem__(self, item: int | slice) -> Match | list[Match]:
        if isinstance(item, slice):
            return self._made(item)
        position = range(len(self))[item]  # raises if it is outside, and counts from the end if negative
        return self._made(slice(position, position + 1))[0]

    def __iter__(self) -> Iterator[Match]:
        return iter(self._made(slice(None)))

    def _made(self, some: slice) -> list[Match]:
        positions, contents = self.positions[some], self._contents
        texts, bm25 = contents.texts, contents.bm25
        names = list(contents.columns)
        values = zip(*(contents.columns[name].take(positions).tolist() for name in names), strict=True)
        rows = zip(
            positions.tolist(),
            self.similarities[some].tolist(),
            contents.ids.take(positions).tolist(),
            [None] * len(positions) if texts is None else texts.take(positions).tolist(),
            self.scores[some].tolist(),
            [()] * len(positions) if bm25 is None else bm25.shared(self._words, positions),
            (dict(zip(names, row, strict=True)) for row in values) if names else ({} for _ in positions),
            strict=True,
        )
        return [Match(*row) for row in rows]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(one == another for one, another in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        more = ["..."] if len(self) > SHOWN else []
        return f"Matches([{', '.join([*map(repr, self[:SHOWN]), *more])}])"
