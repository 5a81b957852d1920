"""The texts of an explorer, with their ids and columns to filter by."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from ..corpus import Block, blocks
from ..errors import CorpusError, ParasphereError
from ..search import Index
from ..text import Strings

DAY = 86_400.0  # seconds
READABLE = 0.95  # least share of the values of a column of numbers, or dates, that can be read as such


@dataclass(frozen=True, eq=False)
class Facet:
    """A column by which texts are filtered.

    Attributes
    ----------
    name : str
    kind : {"words", "number", "date"}
    values : (n_docs,) float64
        Positions in ``names``, numbers, or days since 1970; NaN for a text without a value.
    names : list of str
        The different values of a column of words, the most frequent first.
    """

    name: str
    kind: Literal["words", "number", "date"]
    values: NDArray[np.float64]
    names: list[str]

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> Self:
        """Return a column of numbers if nearly all of its values are, or else of dates, or else of words.

        Parameters
        ----------
        name : str
        values : (n_docs,) sequence
            None and "" are missing values. Dates are years and months (1999-12), ISO dates and times, and the date
            types of Arrow and Python.

        Examples
        --------
        >>> Facet.of("stars", ["4.5", 3, None]).values.tolist()
        [4.5, 3.0, nan]
        >>> Facet.of("day", ["1970-02", "1970-01-02T12:00:00Z"]).values.tolist()
        [31.0, 1.5]
        >>> Facet.of("place", ["sea", "lake", "sea"]).names
        ['sea', 'lake']
        """
        plain = [None if value is None or value == "" or value != value else value for value in values]
        there = np.array([value is not None for value in plain], bool)
        readers: dict[Literal["number", "date"], Callable[[Any], float]] = {"number": _number, "date": _days}
        for kind, read in readers.items():
            read_values = np.array([np.nan if value is None else read(value) for value in plain], np.float64)
            if there.any() and np.isfinite(read_values[there]).mean() >= READABLE:
                return cls(name, kind, np.where(np.isfinite(read_values), read_values, np.nan), [])
        names, codes, counts = np.unique(
            [str(value) for value in plain if value is not None], return_inverse=True, return_counts=True
        )
        order = np.argsort(-counts, kind="stable")
        places = np.full(len(plain), np.nan)
        places[there] = np.argsort(order)[codes]
        return cls(name, "words", places, [str(names[place]) for place in order])

    def value(self, row: int) -> str | None:
        """Return the value of a text as it is shown; None if it has none."""
        value = float(self.values[row])
        if np.isnan(value):
            return None
        if self.kind == "words":
            return self.names[int(value)]
        if self.kind == "date":
            return iso_date(value)
        return str(int(value)) if value == int(value) else f"{value:.6g}"


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts, their ids and columns.

    Attributes
    ----------
    texts, ids : (n_docs,) Strings
    facets : list of Facet
        The columns.
    """

    texts: Strings
    ids: Strings
    facets: list[Facet]

    def __len__(self) -> int:
        return len(self.texts)

    def block(self) -> Block:
        """Return the texts as one block, which models and topics read."""
        return Block(self.texts.tolist(), None, self.ids.tolist(), 0)


def read_documents(
    source: Any,
    *,
    columns: Sequence[str] | Mapping[str, Sequence[Any]] = (),
    id: str | Sequence[Any] | None = None,
    progress: Callable[[int], None] | None = None,
    **reading: Any,
) -> Documents:
    """Read a whole corpus into memory.

    Parameters
    ----------
    source : texts, columns or path
        What :func:`parasphere.corpus.blocks` takes. The names of subfolders become a column.
    columns : sequence of str or dict of sequences, default=()
        Columns to filter by: their names, or their names and values.
    id : str or sequence, default=None
        Name of the column with the ids, or the ids themselves. Without ids texts are numbered from 1.
    progress : callable, default=None
    **reading
        Passed to :func:`parasphere.corpus.blocks`.

    Examples
    --------
    >>> documents = read_documents(["a", "b"], columns={"kind": ["x", "y"], "year": [1999, 2001]})
    >>> [(facet.name, facet.kind) for facet in documents.facets], documents.ids.tolist()
    ([('kind', 'words'), ('year', 'number')], ['1', '2'])
    """
    if isinstance(columns, str):
        raise ParasphereError(f"columns must be a list of names, as in [{columns!r}], not one string")
    carry = () if isinstance(columns, Mapping) else tuple(columns)
    held = list(blocks(source, id=id, progress=progress, carry=carry, **reading))
    if not held:
        raise CorpusError("there are no texts to explore; give a corpus with at least two")
    texts = Strings.concatenate([Strings.of(_plain(block)) for block in held])
    ids = _numbers(len(texts)) if held[0].ids is None else Strings.of(map(str, _all_of(held, "ids")))
    by_name = dict(columns) if isinstance(columns, Mapping) else {}
    if held[0].labels is not None:
        by_name["folder"] = _all_of(held, "labels")
    by_name |= {name: [value for block in held for value in (block.carried or {})[name]] for name in carry}
    for name, values in by_name.items():
        if len(values) != len(texts):
            raise CorpusError(f'"{name}" has {len(values):,} values for {len(texts):,} texts; give one per text')
    return Documents(texts, ids, [Facet.of(name, values) for name, values in by_name.items()])


def read_index(
    folder: str | Path, *, columns: Sequence[str] | None = None, vectors: Any = None
) -> tuple[Index, Documents]:
    """Load an index with texts and words; return it and its documents.

    Parameters
    ----------
    folder : path
    columns : sequence of str, default=None
        Names of the columns to filter by; None is all of the index.
    vectors : path or WordVectors, default=None
        The word vectors, if they were moved.
    """
    index = Index.load(folder, vectors=vectors)
    if index.texts is None or index.bm25 is None:
        left_out = "texts=False" if index.texts is None else "words=False"
        raise ParasphereError(f"{folder} was made with {left_out}; the explorer needs the texts and the words.")
    for name in columns or ():
        if name not in index.columns:
            there = ", ".join(index.columns) or "none"
            raise ParasphereError(f'the index has no column "{name}"; its columns: {there}')
    facets = [Facet.of(name, index.columns[name].tolist()) for name in (index.columns if columns is None else columns)]
    return index, Documents(index.texts, index.ids.names, facets)


def iso_date(days: float) -> str | None:
    """Return days since 1970 as a date, or as a date and time if they have a fraction; None for NaN."""
    if np.isnan(days):
        return None
    when = datetime.fromtimestamp(days * DAY, UTC)
    return when.strftime("%Y-%m-%d") if days == int(days) else when.strftime("%Y-%m-%d %H:%M")


def _number(value: Any) -> float:
    try:
        return float("nan") if isinstance(value, date | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _days(value: Any) -> float:
    if isinstance(value, datetime):
        when = value
    elif isinstance(value, date):
        when = datetime.combine(value, time())
    else:
        text = str(value).strip()
        if text.isascii() and text.isdigit() and len(text) == 4:
            text += "-01-01"
        elif len(text) == 7 and text[4] == "-":
            text += "-01"
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            return float("nan")
    try:
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except OverflowError:  # in UTC before the first year, or after the last
        return float("nan")
    return when.timestamp() / DAY


def _all_of(held: Iterable[Block], name: str) -> list[Any]:
    """Return a column of all blocks."""
    return [value for block in held for value in getattr(block, name)]


def _plain(block: Block) -> list[str]:
    """Return the texts of a block; tokens are joined by spaces."""
    return list(map(" ".join, block.texts)) if block.tokenised else block.texts


def _numbers(n: int) -> Strings:
    return Strings.of(map(str, range(1, n + 1)))
