"""The texts that are explored, with what is known of each: its id, label and date."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..corpus import Block, blocks
from ..errors import CorpusError, ParasphereError
from ..search import Index
from ..text import Strings

DAY = 86_400.0  # seconds


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts and what is known of them.

    Attributes
    ----------
    texts, ids : (n_docs,) Strings
    label_names : list of str
        The different labels, the most frequent first; empty if there are no labels.
    labels : (n_docs,) int32
        Place of the label of each text in ``label_names``; -1 for none.
    dates : (n_docs,) float64, or None
        Days since 1970, with fractions; NaN for a text without a date.
    """

    texts: Strings
    ids: Strings
    label_names: list[str]
    labels: NDArray[np.int32]
    dates: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.texts)

    def block(self) -> Block:
        """Return the texts as one block, which models and topics read."""
        return Block(self.texts.tolist(), None, self.ids.tolist(), 0)


def read_documents(
    source: Any,
    *,
    label: str | Sequence[Any] | None = None,
    date: str | Sequence[Any] | None = None,
    id: str | Sequence[Any] | None = None,
    progress: Callable[[int], None] | None = None,
    **columns: Any,
) -> Documents:
    """Read a corpus whole.

    Parameters
    ----------
    source : texts, columns or path
        What :func:`parasphere.corpus.blocks` takes. It is read twice if there is a column of dates.
    label, date, id : str or sequence, default=None
        Names of columns, or the values themselves. Without ids texts are numbered from 1.
    progress : callable, default=None
    **columns
        Passed to :func:`parasphere.corpus.blocks`.

    Examples
    --------
    >>> documents = read_documents(["a", "b"], label=["x", "y"], date=["1999", "2001-02-03"])
    >>> documents.label_names, documents.ids.tolist(), documents.dates.tolist()
    (['x', 'y'], ['1', '2'], [10592.0, 11356.0])
    """
    held = list(blocks(source, label=label, id=id, progress=progress, **columns))
    if not held:
        raise CorpusError("there are no texts to explore; give a corpus with at least two")
    texts = Strings.concatenate([Strings.of(_plain(block)) for block in held])
    numbered = held[0].ids is None
    names = Strings.of(map(str, _all_of(held, "ids"))) if not numbered else _numbers(len(texts))
    label_names, labels = _labelled(None if held[0].labels is None else _all_of(held, "labels"), len(texts))
    when = None
    if isinstance(date, str):
        when = days_of(_all_of(blocks(source, label=date, **columns), "labels"), date)
    elif date is not None:
        when = days_of(list(date))
        if len(when) != len(texts):
            raise CorpusError(f"there are {len(when):,} dates for {len(texts):,} texts; give one per text")
    return Documents(texts, names, label_names, labels, when)


def read_index(
    folder: str | Path, *, label: str | None = None, date: str | None = None, vectors: Any = None
) -> tuple[Index, Documents]:
    """Load an index and return it with its texts, which must have been kept.

    Parameters
    ----------
    folder : path
    label, date : str, default=None
        Names of columns of the index that hold labels and dates.
    vectors : path or WordVectors, default=None
        The word vectors, if they were moved.
    """
    index = Index.load(folder, vectors=vectors)
    if index.texts is None or index.bm25 is None:
        left_out = "texts=False" if index.texts is None else "words=False"
        raise ParasphereError(f"{folder} was made with {left_out}; the explorer shows texts and words.")
    label_names, labels = _labelled(None if label is None else _column(index, label), len(index))
    when = None if date is None else days_of(_column(index, date), date)
    return index, Documents(index.texts, index.ids.names, label_names, labels, when)


def _column(index: Index, name: str) -> list[Any]:
    """Return the values of a column of an index."""
    if name not in index.columns:
        raise ParasphereError(f'the index has no column "{name}"; its columns: {", ".join(index.columns) or "none"}')
    return index.columns[name].tolist()


def days_of(values: list[Any], name: str = "date") -> NDArray[np.float64]:
    """Return dates as days since 1970; NaN for those that cannot be read.

    Years (1999), months (1999-12), ISO dates and times, and what Arrow and Python call dates can be read.

    Examples
    --------
    >>> days_of(["1970", "1970-02", "1970-01-02T12:00:00Z", "", 1971]).tolist()
    [0.0, 31.0, 1.5, nan, 365.0]
    >>> days_of(["yesterday"], "when")
    Traceback (most recent call last):
    parasphere.errors.CorpusError: no value of the column "when" is a date; its first is 'yesterday', and dates are
    written as 1999, 1999-12, 1999-12-31 or 1999-12-31T23:59
    """
    days = np.array([_days(value) for value in values], np.float64)
    if len(days) and np.isnan(days).all():
        raise CorpusError(
            f'no value of the column "{name}" is a date; its first is {values[0]!r}, and dates are written as 1999, '
            "1999-12, 1999-12-31 or 1999-12-31T23:59"
        )
    return days


def iso_date(days: float) -> str | None:
    """Return days since 1970 as a date, or as a date and time if they have a fraction; None for NaN."""
    if np.isnan(days):
        return None
    when = datetime.fromtimestamp(days * DAY, UTC)
    return when.strftime("%Y-%m-%d") if days == int(days) else when.strftime("%Y-%m-%d %H:%M")


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
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    return when.timestamp() / DAY


def _all_of(held: Iterable[Block], name: str) -> list[Any]:
    """Return a column of all blocks."""
    return [value for block in held for value in getattr(block, name)]


def _plain(block: Block) -> list[str]:
    """Return the texts of a block; tokens are joined by spaces."""
    return list(map(" ".join, block.texts)) if block.tokenised else block.texts


def _numbers(n: int) -> Strings:
    return Strings.of(map(str, range(1, n + 1)))


def _labelled(labels: list[Any] | None, n: int) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names of labels, the most frequent first, and the place of that of each text; -1 for no label."""
    if labels is None:
        return [], np.full(n, -1, np.int32)
    values = [None if value is None or value == "" else str(value) for value in labels]
    names, codes = np.unique([value for value in values if value is not None], return_inverse=True)
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    places = np.full(n, -1, np.int32)
    places[[value is not None for value in values]] = np.argsort(order)[codes]
    return [str(names[place]) for place in order], places
