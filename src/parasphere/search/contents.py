"""The documents of an index: what is kept of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..storage import Arrays, check_layouts
from ..text import AnyTokenizer, Strings, Vocabulary
from .bm25 import BM25
from .columns import Column

DTYPES = (np.float32, np.float16)
BM25_ARRAYS = ("starts", "documents", "counts", "lengths")
Ids = NDArray[np.int64] | Strings


@dataclass(frozen=True, eq=False)
class Contents:
    """The documents of an index, which change as a whole.

    Attributes
    ----------
    offsets : (n_docs, dim) float32 or float16
    ids : (n_docs,) int64 or Strings
    hashes : (n_docs,) uint64
        Of the texts, which tell whether they have changed.
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
            filled[0].positions  # noqa: B018  (raises if two documents have the same id)
            return filled[0]
        texts = [part.texts for part in filled if part.texts is not None]
        bm25 = [part.bm25 for part in filled if part.bm25 is not None]
        joined = cls(
            np.concatenate([part.offsets for part in filled]),
            _joined_ids([part.ids for part in filled]),
            np.concatenate([part.hashes for part in filled]),
            Strings.concatenate(texts) if texts else None,
            BM25.concatenate(bm25) if bm25 else None,
            {name: Column.concatenate([part.columns[name] for part in filled]) for name in filled[0].columns},
        )
        joined.positions  # noqa: B018  (raises if two documents have the same id)
        return joined

    def take(self, kept: NDArray[np.bool_]) -> "Contents":
        """Return the documents of a mask."""
        return Contents(
            self.offsets[kept],
            self.ids.take(kept) if isinstance(self.ids, Strings) else self.ids[kept],
            self.hashes[kept],
            None if self.texts is None else self.texts.take(kept),
            None if self.bm25 is None else self.bm25.select(kept),
            {name: column.take(kept) for name, column in self.columns.items()},
        )

    def with_columns(self, columns: dict[str, Column]) -> "Contents":
        """Return the same documents with other columns."""
        return replace(self, columns=columns)

    @cached_property
    def positions(self) -> dict[Any, int]:
        """The position of each id."""
        ids = list(self.ids) if isinstance(self.ids, Strings) else self.ids.tolist()
        found = {name: position for position, name in enumerate(ids)}
        if len(found) < len(ids):
            seen: set[Any] = set()
            twice = next(name for name in ids if name in seen or seen.add(name))  # type: ignore[func-returns-value]
            raise ParasphereError(f"two documents have the id {twice!r}; each needs its own")
        return found

    def to_arrays(self) -> tuple[list[dict[str, str]], dict[str, NDArray[Any]]]:
        """Return the facts of the columns, and the arrays of a file."""
        arrays: dict[str, NDArray[Any]] = {"offsets": self.offsets, "hashes": self.hashes}
        arrays |= _strings_to("ids", self.ids) if isinstance(self.ids, Strings) else {"ids": self.ids}
        if self.texts is not None:
            arrays |= _strings_to("texts", self.texts)
        if self.bm25 is not None:
            arrays |= {"words.bytes": self.bm25.words.data, "words.ends": self.bm25.words.offsets}
            arrays |= {f"words.{name}": getattr(self.bm25, name) for name in BM25_ARRAYS}
            if self.bm25.language is not None:
                arrays |= _strings_to("forms", self.bm25.forms)
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
        ids: Ids
        if "ids" in arrays:
            ids = arrays["ids"]
            check_layouts({"ids": ids}, {"ids": "i8[docs]"})
        else:
            ids = _strings_from("ids", arrays)
        if "words.ends" in arrays:
            words = Vocabulary.from_buffers(arrays["words.bytes"], arrays["words.ends"], trusted=True)
            size = int(words.offsets[-1])
            forms = Strings(words.data[:size], words.offsets) if language is None else _strings_from("forms", arrays)
            postings: dict[str, Any] = {name: arrays[f"words.{name}"] for name in BM25_ARRAYS}
            bm25 = BM25(tokenizer, language, words, forms, **postings)
        texts = _strings_from("texts", arrays) if "texts.ends" in arrays else None
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
        contents.check_ranges()
        return contents

    def check_ranges(self) -> None:
        """Raise unless all that compiled code reads places from is possible: it may come from a file."""
        for strings in (self.ids, self.texts):
            if isinstance(strings, Strings):
                strings.check_ranges()
        if self.bm25 is not None:
            self.bm25.forms.check_ranges()
            self.bm25.check()

    def check_values(self) -> None:
        """Raise unless all numbers and strings are possible."""
        if not (np.einsum("ij,ij->i", self.offsets, self.offsets, dtype=np.float32) < 1.1).all():
            raise ParasphereError("its offsets are no unit vectors")
        for strings in (self.ids, self.texts, None if self.bm25 is None else self.bm25.forms):
            if isinstance(strings, Strings):
                strings.check()
        self.positions  # noqa: B018  (raises if two documents have the same id)
        if self.bm25 is not None:
            self.bm25.words.check_utf8()
            self.bm25.words.table  # noqa: B018  (raises if a word is repeated)


def ids_of(values: Iterable[Any]) -> Ids:
    """Return ids as a column: all whole numbers, or all strings; other values become strings."""
    names = [name.item() if isinstance(name, np.generic) else name for name in values]
    whole = [isinstance(name, int) and not isinstance(name, bool) for name in names]
    if all(whole):
        return np.array(names, np.int64)
    for position, name in enumerate(names):
        if name is None or whole[position]:
            found = "has no id" if name is None else f"has the id {name}, a number, while others are strings"
            raise ParasphereError(f"the document at position {position} {found}; give ids of one type")
    return Strings.of([str(name) for name in names])


def hash_of(text: str | Sequence[str]) -> int:
    """Return 64 bits that tell texts, or token lists, apart."""
    data = text if isinstance(text, str) else "\0".join(text)
    return int.from_bytes(blake2b(data.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _joined_ids(parts: Sequence[Ids]) -> Ids:
    if all(isinstance(part, Strings) for part in parts):
        return Strings.concatenate([part for part in parts if isinstance(part, Strings)])
    if any(isinstance(part, Strings) for part in parts):
        has, gets = ("strings", "numbers") if isinstance(parts[0], Strings) else ("numbers", "strings")
        raise ParasphereError(
            f"the ids of the index are {has}, and those of the new documents are {gets}; give one type"
        )
    return np.concatenate([part for part in parts if not isinstance(part, Strings)])


def _strings_to(name: str, strings: Strings) -> dict[str, NDArray[Any]]:
    return {f"{name}.bytes": strings.data, f"{name}.ends": strings.offsets}


def _strings_from(name: str, arrays: Arrays) -> Strings:
    return Strings(arrays[f"{name}.bytes"], arrays[f"{name}.ends"])
