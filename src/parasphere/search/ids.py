"""The ids of documents: strings, and integers that stay integers."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import without_surrogates
from ..errors import ParasphereError
from ..storage import storable
from ..text import Strings


@storable(whole="bool[docs]")
@dataclass(frozen=True)
class Ids(Sequence[str | int]):
    """The ids of documents; 5 and "5" are the same id, which is returned as it was given.

    Attributes
    ----------
    names : (n,) Strings
    whole : (n,) bool
        Which ids are integers.

    Examples
    --------
    >>> ids = Ids.of([7, "b"])
    >>> list(ids), ids.positions(["7", "b"]).tolist()
    ([7, 'b'], [0, 1])
    """

    names: Strings
    whole: NDArray[np.bool_]

    @classmethod
    def of(cls, values: Iterable[Any], start: int = 0) -> "Ids":
        """Make ids of values; ``start`` is the position of the first document, for messages."""
        values = list(values)
        for position, value in enumerate(values, start):
            if value is None:
                raise ParasphereError(f"the document at position {position} has no id; each needs one")
        whole = [isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values]
        return cls(Strings.of(map(str, values)), np.array(whole, bool))

    @classmethod
    def concatenate(cls, parts: "Sequence[Ids]") -> "Ids":
        """Join ids."""
        return cls(Strings.concatenate([part.names for part in parts]), np.concatenate([part.whole for part in parts]))

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each id, as a string."""
        names = self.names.tolist()
        found = dict(zip(names, range(len(names)), strict=True))
        if len(found) < len(names):
            ((twice, _),) = Counter(names).most_common(1)
            raise ParasphereError(f"two documents have the id {twice!r}; each needs its own")
        return found

    def positions(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """Return the positions of some ids; raise if one is not there."""
        try:
            return np.array([self.places[without_surrogates(str(id))] for id in ids], np.int64)
        except KeyError as error:
            raise ParasphereError(
                f"no document of the index has the id {error.args[0]!r}; nothing was removed"
            ) from None

    def _check_loaded(self) -> None:
        self.names.check()
        if len(self.whole) != len(self.names):
            raise ParasphereError("its ids are of different sizes")
        if not all(map(re.compile("-?[0-9]+").fullmatch, self.names.take(self.whole))):
            raise ParasphereError("an id that is marked as an integer is not one")

    def take(self, rows: Any) -> "Ids":
        """Return the ids at some positions, or of a mask."""
        return Ids(self.names.take(rows), self.whole[rows])

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return Ids(self.names[at], self.whole[at])
        return int(self.names[at]) if self.whole[at] else self.names[at]

    def tolist(self) -> list[str | int]:
        """Return all ids."""
        return [int(name) if whole else name for name, whole in zip(self.names, self.whole.tolist(), strict=True)]
