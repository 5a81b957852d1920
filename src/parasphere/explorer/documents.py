"""The texts that are explored, with what is known of each: its id, label and date."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..corpus import Block, blocks
from ..errors import CorpusError, ParasphereError
from ..search import Index

DAY = 86_400.0  # seconds


@dataclass(frozen=True, eq=False)
class Documents:
    """Texts and what is known of them.

    Attributes
    ----------
    texts, ids : (n_docs,) Arrow columns of strings
    label_names : list of str
        The different labels, the most frequent first; empty if there are no labels.
    labels : (n_docs,) int32
        Place of the label of each text in ``label_names``; -1 for none.
    dates : (n_docs,) float64, or None
        Days since 1970, with fractions; NaN for a text without a date.
    """

    texts: pa.LargeStringArray
    ids: pa.LargeStringArray
    label_names: list[str]
    labels: NDArray[np.int32]
    dates: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.texts)

    def block(self) -> Block:
        """Return the texts as one block, which models and topics read."""
        return Block(self.texts, None, self.ids, 0)


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
    >>> table = pa.table({"text": ["a", "b"], "about": ["x", "y"], "when": ["1999", "2001-02-03"]})
    >>> documents = read_documents(table, label="about", date="when")
    >>> documents.label_names, documents.ids.to_pylist(), documents.dates.tolist()
    (['x', 'y'], ['1', '2'], [10592.0, 11356.0])
    """
    held = list(blocks(source, label=label, id=id, progress=progress, **columns))
    if not held:
        raise CorpusError("there are no texts to explore; give a corpus with at least two")
    texts = pa.concat_arrays([_plain(block) for block in held])
    numbered = held[0].ids is None
    names = _numbers(len(texts)) if numbered else pa.concat_arrays([_strings(block.ids) for block in held])
    label_names, labels = _labelled(None if held[0].labels is None else [block.labels for block in held], len(texts))
    when = None
    if isinstance(date, str):
        when = days_of([value for block in blocks(source, label=date, **columns) for value in _values(block)], date)
    elif date is not None:
        when = days_of(list(date))
        if len(when) != len(texts):
            raise CorpusError(f"there are {len(when):,} dates for {len(texts):,} texts; give one per text")
    return Documents(texts, names, label_names, labels, when)


def read_index(folder: str | Path, *, vectors: Any = None) -> tuple[Index, Documents]:
    """Load an index and return it with its texts, which must have been kept."""
    index = Index.load(folder, vectors=vectors)
    if index.texts is None or index.bm25 is None:
        left_out = "texts=False" if index.texts is None else "words=False"
        raise ParasphereError(f"{folder} was made with {left_out}; the explorer shows texts and words.")
    n = len(index)
    return index, Documents(index.texts, index.ids, [], np.full(n, -1, np.int32), None)


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


def _values(block: Block) -> list[Any]:
    assert block.labels is not None
    return list(block.labels.to_pylist())


def _plain(block: Block) -> pa.LargeStringArray:
    """Return the texts of a block; tokens are joined by spaces."""
    return pc.binary_join(block.texts, pa.scalar(" ", pa.large_string())) if block.tokenised else block.texts


def _strings(column: pa.Array) -> pa.LargeStringArray:
    return column.cast(pa.large_string())


def _numbers(n: int) -> pa.LargeStringArray:
    return pa.array(np.arange(1, n + 1)).cast(pa.large_string())


def _labelled(columns: list[pa.Array] | None, n: int) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names of labels, the most frequent first, and the place of that of each text; -1 for no label."""
    if columns is None:
        return [], np.full(n, -1, np.int32)
    values = [None if value is None or value == "" else str(value) for part in columns for value in part.to_pylist()]
    names, codes = np.unique([value for value in values if value is not None], return_inverse=True)
    order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
    labels = np.full(n, -1, np.int32)
    labels[[value is not None for value in values]] = np.argsort(order)[codes]
    return [str(names[place]) for place in order], labels
