"""Blocks: consecutive documents of a corpus. They are made here, from the rows of any source."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CorpusError, ParasphereWarning, warn_user
from .texts import TOKEN_LIST, describe, is_null, is_tokenised, sound_values

BYTES = 16 << 20  # text of a block, about
ROWS = 1 << 17  # documents of a block, about: a small file may hold millions of empty ones
LONGEST = 1 << 30  # characters of a document
SPACED = 0.25  # the least share of tokens with spaces for a warning
JOINT = "\n\n"  # between the columns of a text


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
        labels, ids = (None if column is None else column[begin:end] for column in (self.labels, self.ids))
        others = self.carried
        carried = None if others is None else {name: column[begin:end] for name, column in others.items()}
        return Block(self.texts[begin:end], labels, ids, self.start + begin, carried)

    @property
    def tokenised(self) -> bool:
        """Whether documents are lists of tokens rather than texts."""
        return is_tokenised(self.texts)

    @property
    def strings(self) -> list[str]:
        """The documents as strings: tokens are joined by spaces."""
        return list(map(" ".join, self.texts)) if self.tokenised else self.texts


@dataclass(frozen=True)
class Request:
    """What to read from a source: the columns of the texts, of labels, of ids, and others."""

    where: str  # the name of the source in messages
    path: Path | None  # None is standard input, or a source in memory
    text: tuple[str, ...] = ("text",)
    label: str | None = None
    id: str | None = None
    carry: tuple[str, ...] = ()
    encoding: str = "utf-8"

    @property
    def columns(self) -> list[str]:
        """The names of the columns, texts first."""
        return [*self.text, *(name for name in (self.label, self.id) if name is not None), *self.carry]

    def among(self, names: Sequence[Any]) -> "Request":
        """Return the request, whose columns are checked to be among those of a source.

        If the default column of texts is absent and there is only one column, that one is read.

        Examples
        --------
        >>> Request("the table", None).among(["sentence"]).text
        ('sentence',)
        >>> Request("the table", None).among(["title", "body"])
        Traceback (most recent call last):
            ...
        parasphere.errors.CorpusError: the table has no column "text"; its columns are "title", "body"
        """
        names = list(names)
        if self.text == ("text",) and len(names) == 1:
            self = replace(self, text=(names[0],))  # unchanged: pandas names an unnamed column by the number 0
        for name in self.columns:
            if (count := names.count(name)) > 1:
                raise CorpusError(f'{self.where} has {count} columns named "{name}"; rename them so that one is left')
            if not count:
                there = ", ".join(f'"{name}"' for name in names) or "none"
                raise CorpusError(f'{self.where} has no column "{name}"; its columns are {there}')
        return self

    def without_columns(self, what: str) -> None:
        """Raise if a column is named, for a source that has none."""
        named = self.columns[1:] if self.text == ("text",) else self.columns
        if named:
            raise CorpusError(
                f'{self.where}: "{named[0]}" would name a column, but {what}; pass a table, or the labels or ids '
                "themselves, one per document"
            )

    def place(self, position: int) -> str:
        """Return the name of a document in messages."""
        return f"{'' if self.path is None else f'{self.where}: '}document {position} (counting from 0)"


class Rows(NamedTuple):
    """Consecutive rows of a source.

    Attributes
    ----------
    columns : list of list
        The requested columns, texts first.
    consumed : int, default=None
        Bytes of the file read so far; None for a source in memory.
    place : callable, default=None
        Returns the name of a row in messages, given its number in these rows.
    """

    columns: list[list[Any]]
    consumed: int | None = None
    place: Callable[[int], str] | None = None


def blocks_of(
    rows: Iterable[Rows], request: Request, given: dict[str, list[Any]], progress: Callable[[int], None] | None
) -> Iterator[Block]:
    """Yield the documents of rows as blocks; ``given`` has labels and ids that are no columns, one per document."""
    documents, n_texts = _Documents(request), len(request.text)
    held: list[list[list[Any]]] = []
    start, before = 0, 0  # documents of the blocks so far, and their size
    for columns, consumed, place in rows:
        if columns[0]:
            held.append([documents.of(columns[:n_texts], place), *columns[n_texts:]])
        if progress is not None:
            progress(documents.size - 8 * documents.count if consumed is None else consumed)
        if held and (documents.size - before >= BYTES / 2 or documents.count - start >= ROWS / 2):
            yield _block(held, documents, start, request, given)
            held, start, before = [], documents.count, documents.size
    if held:
        yield _block(held, documents, start, request, given)
    for name, values in given.items():
        if len(values) > documents.count:
            raise CorpusError(f"there are {len(values)} {name}, but {documents.count} documents; give one per document")
    documents.warn()


def _block(
    held: list[list[list[Any]]], documents: "_Documents", start: int, request: Request, given: dict[str, list[Any]]
) -> Block:
    """Join the columns of some rows: documents, labels, ids, others."""
    texts, *others = (list(chain.from_iterable(parts)) for parts in zip(*held, strict=True))
    named = {
        name: others.pop(0) for name, column in (("labels", request.label), ("ids", request.id)) if column is not None
    }
    for name, values in given.items():
        if len(values) < start + len(texts):
            raise CorpusError(f"there are {len(values)} {name}, but more documents; give one per document")
        named[name] = values[start : start + len(texts)]
    carried = dict(zip(request.carry, others, strict=True)) if request.carry else None
    return Block(documents.without_nulls(texts), named.get("labels"), named.get("ids"), start, carried)


class _Documents:
    """Makes documents of the cells of a source, all texts or all lists of tokens, and counts them."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.count = self.size = 0  # documents, and their characters; 8 more each, as empty texts take memory too
        self.nulls, self.first_null = 0, ""
        self.tokenised: bool | None = None  # unknown as long as all documents are null

    def of(self, columns: list[list[Any]], place: Callable[[int], str] | None) -> list[Any]:
        """Return the documents of the next rows; None for a null."""
        start = self.count
        place = place or (lambda row: self.request.place(start + row))
        texts = columns[0] if len(columns) == 1 else list(_joined(columns, place))
        kinds = set(map(type, texts))
        if kinds != {str} or self.tokenised:
            texts = self._checked(texts, place)
        else:
            self.tokenised = False
        if self.tokenised:
            texts = [text if text is None else _tokens(text, place, row) for row, text in enumerate(texts)]
            if not start:
                _warn_of_spaces(texts)
        size = sum(map(len, texts)) if kinds == {str} else sum(map(_size, texts))
        if size > LONGEST:
            for row, text in enumerate(texts):
                if _size(text) > LONGEST:
                    raise too_long(place(row))
        self.count += len(texts)
        self.size += size + 8 * len(texts)
        return texts

    def without_nulls(self, texts: list[Any]) -> list[Any]:
        """Return the documents of a block, with empty ones in place of nulls."""
        if not self.nulls:
            return texts
        self.tokenised = bool(self.tokenised)
        return [([] if self.tokenised else "") if text is None else text for text in texts]

    def warn(self) -> None:
        """Warn if there were nulls."""
        if self.nulls:
            warn_user(
                f"{self.nulls:,} of {self.count:,} texts are null and were read as empty texts; the first is "
                f"{self.first_null}",
                ParasphereWarning,
            )

    def _checked(self, texts: list[Any], place: Callable[[int], str]) -> list[Any]:
        """Return the documents if all are of one kind, with None in place of nulls."""
        nulls = [row for row, text in enumerate(texts) if is_null(text)]
        if nulls:
            self.nulls, self.first_null = self.nulls + len(nulls), self.first_null or place(nulls[0])
            texts = [None if is_null(text) else text for text in texts]
        for row, text in enumerate(texts):
            if text is None:
                continue
            tokenised = isinstance(text, TOKEN_LIST)
            if not tokenised and not isinstance(text, str):
                raise CorpusError(
                    f"{place(row)} is {describe(text)}; "
                    "every document must be a str, or every one a list of tokens (str)"
                )
            if self.tokenised not in (None, tokenised):
                this, those = ("a list of tokens", "texts (str)") if tokenised else ("a text (str)", "lists of tokens")
                raise CorpusError(f"{place(row)} is {this}, but those before it are {those}; make them all one kind")
            self.tokenised = tokenised
        return texts


def _size(document: Any) -> int:
    """Return the characters of a document."""
    return len(document) if isinstance(document, str) else sum(map(len, document or ()))


def _joined(columns: list[list[Any]], place: Callable[[int], str]) -> Iterator[str | None]:
    """Yield the texts of several columns, one per row; None if all of them are null."""
    for row, cells in enumerate(zip(*columns, strict=True)):
        texts = [cell for cell in cells if not is_null(cell)]
        for text in texts:
            if not isinstance(text, str):
                raise CorpusError(
                    f"{place(row)} has a column of texts that is {describe(text)}; columns that are read as one text "
                    "must hold strings"
                )
        yield JOINT.join(filter(None, texts)) if texts else None


def _tokens(document: Any, place: Callable[[int], str], row: int) -> list[str]:
    tokens = np.atleast_1d(document).tolist() if isinstance(document, np.ndarray) else list(document)
    if not set(map(type, tokens)) <= {str}:
        for token in tokens:
            if not isinstance(token, str):
                raise CorpusError(f"{place(row)} has a token that is {describe(token)}; every token must be a str")
    return sound_values(tokens)


def _warn_of_spaces(documents: list[Any]) -> None:
    """Warn if lists of tokens look like rows of a table of texts."""
    tokens = list(chain.from_iterable(filter(None, documents)))
    spaced = sum(" " in token.strip() for token in tokens)
    if spaced and spaced >= SPACED * len(tokens):
        warn_user(
            f"each document is a list, and is taken for its tokens, but {spaced:,} of the first {len(tokens):,} tokens "
            "contain spaces. To read several columns as one text, pass a table and their names, as in "
            'text=["title", "body"].',
            ParasphereWarning,
        )


def too_long(where: str) -> CorpusError:
    """Return the error for a document that is too long."""
    return CorpusError(f"{where}: longer than {LONGEST:,} characters, the limit for one document")
