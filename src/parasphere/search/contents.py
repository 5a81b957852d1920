"""The documents of an index, and what is stored per document."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..storage import Arrays, check_layouts
from ..text import AnyTokenizer, Strings, Vocabulary
from .bm25 import BM25
from .columns import Column
from .ids import Ids

DTYPES = (np.float32, np.float16)
BM25_ARRAYS = ("starts", "documents", "counts", "lengths")


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

    def to_arrays(self) -> tuple[list[dict[str, str]], dict[str, NDArray[Any]]]:
        """Return the facts of the columns, and the arrays of a file."""
        arrays: dict[str, NDArray[Any]] = {"offsets": self.offsets, "hashes": self.hashes}
        arrays |= self.ids.to_saved()
        if self.texts is not None:
            arrays |= self.texts.to_saved("texts")
        if self.bm25 is not None:
            arrays |= {"words.bytes": self.bm25.words.data, "words.ends": self.bm25.words.offsets}
            arrays |= {f"words.{name}": getattr(self.bm25, name) for name in BM25_ARRAYS}
            if self.bm25.language is not None:
                arrays |= self.bm25.forms.to_saved("forms")
        facts = []
        for number, column in enumerate(self.columns.values()):
            fact, own = column.to_saved()
            facts.append(fact)
            arrays |= {f"columns.{number}.{name}": array for name, array in own.items()}
        return facts, arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, columns: Sequence[Any], tokenizer: AnyTokenizer, language: str | None) -> Self:
        """Return the documents of saved arrays, whose types, shapes and sizes are checked."""
        offsets, hashes, bm25 = arrays["offsets"], arrays["hashes"], None
        if offsets.ndim != 2 or offsets.dtype not in DTYPES:
            raise ParasphereError(f"its offsets are {offsets.dtype} of shape {offsets.shape}")
        check_layouts({"hashes": hashes}, {"hashes": "u8[docs]"})
        if "words.ends" in arrays:
            words = Vocabulary.from_buffers(arrays["words.bytes"], arrays["words.ends"], trusted=True)
            forms = Strings(words.data, words.offsets) if language is None else Strings.from_saved(arrays, "forms")
            postings: dict[str, Any] = {name: arrays[f"words.{name}"] for name in BM25_ARRAYS}
            bm25 = BM25(tokenizer, language, words, forms, **postings)
        ids = Ids.from_saved(arrays)
        texts = Strings.from_saved(arrays, "texts") if "texts.ends" in arrays else None
        held = {}
        for number, facts in enumerate(columns):
            own = f"columns.{number}."
            column = Column.from_saved(
                facts, {name.removeprefix(own): array for name, array in arrays.items() if name.startswith(own)}
            )
            held[column.name] = column
        contents = cls(offsets, ids, hashes, texts, bm25, held)
        parts = [part for part in (offsets, ids, hashes, texts, bm25, *held.values()) if part is not None]
        if len(set(map(len, parts))) > 1:
            raise ParasphereError("its parts are of different sizes")
        contents.check()
        return contents

    def check(self) -> None:
        """Raise unless all numbers and words are valid: they may come from a file.

        Repeated ids do no harm, nor do texts that are not UTF-8, which are shown with U+FFFD.
        """
        if not (np.einsum("ij,ij->i", self.offsets, self.offsets, dtype=np.float32) < 1.1).all():
            raise ParasphereError("its offsets are not unit vectors")
        self.ids.check()
        if self.bm25 is not None:
            self.bm25.words.check_utf8()
            self.bm25.words.table  # noqa: B018  (raises if a word is repeated)
            self.bm25.forms.check()
            self.bm25.check()


def hash_of(text: str | Sequence[str]) -> int:
    """Return a 64-bit hash of a text or token list."""
    data = text if isinstance(text, str) else "\0".join(text)
    return int.from_bytes(blake2b(data.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
