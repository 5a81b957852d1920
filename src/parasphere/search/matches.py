"""The hits of a search."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..model import Match
from .contents import Contents
from .ranking import Hits


class Matches(Sequence[Match]):
    """The documents that a query found, best first: a sequence of :class:`parasphere.model.Match`.

    Texts and words are looked up when a match is asked for.

    Attributes
    ----------
    positions : (n,) int64 array
        Positions of the documents in the index.
    similarities : (n,) float64 array
    scores : (n,) float64 array
        What they are ranked by.

    Examples
    --------
    >>> from parasphere import SphericalParagraphModel, WordVectors
    >>> compass = WordVectors.from_arrays(["north", "east", "west"], [[0, 1], [1, 0], [-1, 0]])
    >>> model = SphericalParagraphModel(compass).fit(["north", "north east", "north west"])
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
            return [self[i] for i in range(len(self))[item]]
        position = int(self.positions[item])
        contents, bm25 = self._contents, self._contents.bm25
        return Match(
            position,
            float(self.similarities[item]),
            contents.ids[position],
            None if contents.texts is None else contents.texts[position],
            float(self.scores[item]),
            () if bm25 is None else tuple(bm25.forms[word] for word in bm25.has(self._words, position)),
            {name: column[position] for name, column in contents.columns.items()},
        )

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(one == another for one, another in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Matches({list(self)!r})"
