"""Blocks: consecutive documents of a corpus, all texts or all token lists, of similar size in bytes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .plain import is_tokenised, mixture

ROWS = 1 << 17  # most documents of a block: a small file may hold millions of empty ones


@dataclass(frozen=True)
class Block:
    """Some consecutive documents of a corpus.

    Attributes
    ----------
    texts : list of str, or list of list of str
        The text of each document, or the list of its tokens.
    labels, ids : list or None
        One entry per document; None if there are none.
    start : int
        Position of the first document in the corpus.
    carried : dict of lists, or None
        The other requested columns, by name.
    """

    texts: list[Any]
    labels: list[Any] | None
    ids: list[Any] | None
    start: int
    carried: dict[str, list[Any]] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def part(self, begin: int, end: int) -> "Block":
        """Return the documents from ``begin`` up to ``end``."""
        rows = slice(begin, end)
        carried = _carried_rows(self.carried, rows)
        return Block(self.texts[rows], _rows(self.labels, rows), _rows(self.ids, rows), self.start + begin, carried)

    @property
    def tokenised(self) -> bool:
        """Whether documents are lists of tokens rather than texts."""
        return is_tokenised(self.texts)

    @property
    def strings(self) -> list[str]:
        """The documents as strings: tokens are joined by spaces."""
        return list(map(" ".join, self.texts)) if self.tokenised else self.texts


class Part(NamedTuple):
    """Consecutive documents that are read together; see :class:`Block`."""

    texts: list[Any]
    labels: list[Any] | None
    ids: list[Any] | None
    consumed: int  # bytes of the source used so far, this part included
    carried: dict[str, list[Any]] | None = None


def numbered(parts: Iterable[Part], progress: Callable[[int], None] | None) -> Iterator[Block]:
    """Yield the parts as blocks, with their start positions in the corpus."""
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
        if part.texts:
            tokenised = is_tokenised(part.texts)
            kind = tokenised if kind is None else kind
            if tokenised != kind:
                raise mixture(start, tokenised)
            start += len(part.texts)
            yield part


def resized(parts: Iterable[Part], block_bytes: int) -> Iterator[Part]:
    """Join small parts and cut large ones; yield parts of about `block_bytes`, and of at most `ROWS` documents."""
    waiting: list[Part] = []
    size = rows = 0
    for part in parts:
        waiting.append(part)
        rows += len(part.texts)
        size += sum(_sizes(part.texts)) + 8 * len(part.texts)
        if size >= block_bytes / 2 or rows >= ROWS / 2:
            yield from _cut(_concatenated(waiting), block_bytes)
            waiting, size, rows = [], 0, 0
    if waiting:
        yield from _cut(_concatenated(waiting), block_bytes)


def _sizes(texts: list[Any]) -> Iterable[int]:
    """Return the characters of each document."""
    return (sum(map(len, tokens)) for tokens in texts) if is_tokenised(texts) else map(len, texts)


def _concatenated(parts: list[Part]) -> Part:
    if len(parts) == 1:
        return parts[0]
    texts, labels, ids, consumed, carried = zip(*parts, strict=True)
    joined = [None if column[0] is None else list(chain.from_iterable(column)) for column in (texts, labels, ids)]
    others = None
    if carried[0] is not None:
        others = {name: list(chain.from_iterable(part[name] for part in carried)) for name in carried[0]}
    return Part(joined[0] or [], joined[1], joined[2], consumed[-1], others)


def _cut(part: Part, block_bytes: int) -> Iterator[Part]:
    """Yield pieces of at most `block_bytes`, or of one document."""
    count = len(part.texts)
    # 8 for each reference: empty texts take memory too
    ends = np.cumsum(np.fromiter(_sizes(part.texts), np.int64, count) + 8)
    if ends[-1] <= 2 * block_bytes and count <= ROWS:
        yield part
        return
    first, before = 0, 0
    while first < count:
        last = int(np.searchsorted(ends, before + block_bytes, side="right"))
        last = min(max(last, first + 1), first + ROWS)
        rows = slice(first, last)
        carried = _carried_rows(part.carried, rows)
        yield Part(part.texts[rows], _rows(part.labels, rows), _rows(part.ids, rows), part.consumed, carried)
        first, before = last, int(ends[min(last, count) - 1])


def _rows(column: list[Any] | None, rows: slice) -> list[Any] | None:
    return None if column is None else column[rows]


def _carried_rows(carried: dict[str, list[Any]] | None, rows: slice) -> dict[str, list[Any]] | None:
    return None if carried is None else {name: column[rows] for name, column in carried.items()}
