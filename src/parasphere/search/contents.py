"""The documents of an index, and what is stored per document."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..storage import storable
from ..text import Strings
from .bm25 import BM25
from .columns import Column
from .ids import Ids

DTYPES = (np.float32, np.float16)


@storable(hashes="u8[docs]")
@dataclass(frozen=True, eq=False)
class Contents:
    """The documents of an index, which change as a whole.

    Attributes
    ----------
    offsets : (n_docs, dim) float32 or float16
    ids : Ids
    hashes : (n_docs,) uint64
        Hashes of the texts, which show whether they have changed.
    texts : (n_docs,) Strings, or None
    bm25 : BM25 or None
    columns : dict of str to Column
    """

    offsets: NDArray[Any]
    ids: Ids
    hashes: NDArray[np.uint64]
    texts: Strings | None
    bm25: BM25 | None
    columns: dict[str, Column] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def concatenate(cls, parts: Sequence["Contents"]) -> "Contents":
        """Join documents, in order; ids must be of one type and different."""
        filled = [part for part in parts if len(part)] or [parts[0]]
        if len(filled) == 1:
            filled[0].ids.places  # noqa: B018  (raises if two documents have the same id)
            return filled[0]
        texts = [part.texts for part in filled if part.texts is not None]
        bm25 = [part.bm25 for part in filled if part.bm25 is not None]
        joined = cls(
            np.concatenate([part.offsets for part in filled]),
            Ids.concatenate([part.ids for part in filled]),
            np.concatenate([part.hashes for part in filled]),
            Strings.concatenate(texts) if texts else None,
            BM25.concatenate(bm25) if bm25 else None,
            {name: Column.concatenate([part.columns[name] for part in filled]) for name in filled[0].columns},
        )
        joined.ids.places  # noqa: B018  (raises if two documents have the same id)
        return joined

    def take(self, kept: NDArray[np.bool_]) -> "Contents":
        """Return the documents of a mask."""
        return Contents(
            self.offsets[kept],
            self.ids.take(kept),
            self.hashes[kept],
            None if self.texts is None else self.texts.take(kept),
            None if self.bm25 is None else self.bm25.select(kept),
            {name: column.take(kept) for name, column in self.columns.items()},
        )

    def with_columns(self, columns: dict[str, Column]) -> "Contents":
        """Return the same documents with other columns."""
        return replace(self, columns=columns)

    def _check_loaded(self) -> None:
        """Raise unless all numbers are valid, as repeated ids and texts that are not UTF-8 do no harm."""
        if self.offsets.ndim != 2 or self.offsets.dtype not in DTYPES:
            raise ParasphereError(f"its offsets are {self.offsets.dtype} of shape {self.offsets.shape}")
        parts = [self.offsets, self.ids, self.hashes, self.texts, self.bm25, *self.columns.values()]
        if len({len(part) for part in parts if part is not None}) > 1:
            raise ParasphereError("its parts are of different sizes")
        if not (np.einsum("ij,ij->i", self.offsets, self.offsets, dtype=np.float32) < 1.1).all():
            raise ParasphereError("its offsets are not unit vectors")


def hash_of(text: str | Sequence[str]) -> int:
    """Return a 64-bit hash of a text or token list."""
    data = text if isinstance(text, str) else "\0".join(text)
    return int.from_bytes(blake2b(data.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
