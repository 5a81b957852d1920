"""Blocks: consecutive documents of a corpus, of one kind and of about one size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .columns import Part, byte_offsets, mixture


@dataclass(frozen=True)
class Block:
    """Some consecutive documents of a corpus.

    Attributes
    ----------
    texts : pa.LargeStringArray or pa.LargeListArray
        One entry per document, none null: its text, or the list of its tokens.
    labels, ids : pa.Array or None
        One entry per document, if there are any.
    carried : pa.StructArray or None
        The other columns that were asked for.
    start : int
        Position of the first document in the corpus.
    """

    texts: pa.Array
    labels: pa.Array | None
    ids: pa.Array | None
    start: int
    carried: pa.Array | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, begin: int, end: int) -> Block:
        """Return the documents from ``begin`` up to ``end``."""
        texts, labels, ids, carried = (
            None if column is None else column[begin:end]
            for column in (self.texts, self.labels, self.ids, self.carried)
        )
        return Block(texts, labels, ids, self.start + begin, carried)

    @property
    def tokenised(self) -> bool:
        """Whether documents are lists of tokens rather than texts."""
        return bool(pa.types.is_large_list(self.texts.type))


def numbered(parts: Iterable[Part], progress: Callable[[int], None] | None) -> Iterator[Block]:
    """Yield the parts as blocks, which know where they begin in the corpus."""
    start = 0
    for part in parts:
        if progress is not None:
            progress(part.consumed)
        yield Block(part.texts, part.labels, part.ids, start, part.carried)
        start += len(part.texts)


def of_one_kind(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts that are not empty; either all are texts, or all are lists of tokens."""
    start, kind = 0, None
    for part in parts:
        if len(part.texts):
            kind = kind or part.texts.type
            if part.texts.type != kind:
                raise mixture(start, tokenised=not pa.types.is_large_list(kind))
            start += len(part.texts)
            yield part


def resized(parts: Iterable[Part], block_bytes: int) -> Iterator[Part]:
    """Yield parts of about `block_bytes`: small ones joined, large ones cut."""
    waiting: list[Part] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += text_bytes(part.texts) + 8 * len(part.texts)
        if size >= block_bytes / 2:
            yield from _cut(_concatenated(waiting), block_bytes)
            waiting, size = [], 0
    if waiting:
        yield from _cut(_concatenated(waiting), block_bytes)


def _concatenated(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    texts, labels, ids, consumed, carried = zip(*parts, strict=True)
    joined = [None if column[0] is None else pa.concat_arrays(column) for column in (texts, labels, ids, carried)]
    return Part(joined[0], joined[1], joined[2], consumed[-1], joined[3])


def _cut(part: Part, block_bytes: int) -> Iterator[Part]:
    """Yield pieces of at most `block_bytes`, or of one document, without copying."""
    count = len(part.texts)
    ends = byte_offsets(part.texts) + 8 * np.arange(count + 1)  # 8 for the offset: empty texts take room too
    if ends[-1] - ends[0] <= 2 * block_bytes:
        yield part
        return
    first = 0
    while first < count:
        last = max(int(np.searchsorted(ends, ends[first] + block_bytes, side="right")) - 1, first + 1)
        texts, labels, ids, carried = (
            None if column is None else column.slice(first, last - first) for column in (*part[:3], part.carried)
        )
        yield Part(texts, labels, ids, part.consumed, carried)
        first = last


def text_bytes(texts: pa.Array) -> int:
    """Return the bytes of text in a column of documents."""
    ends = byte_offsets(texts)
    return int(ends[-1] - ends[0])
