"""Tables as text: lines with aligned columns, and lists of rows that notebooks show and pandas takes."""

import shutil
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Self

from .printable import visible

LONGEST = 60  # characters printed per cell of a Table
GAP = "  "  # between columns


def aligned(
    rows: Sequence[Sequence[str]],
    *,
    width: int | None = None,
    right: Collection[int] = (),
    style: Callable[[int, int, str], str] = lambda _row, _column, cell: cell,
) -> Iterator[str]:
    r"""Yield rows as lines with aligned columns; whitespace in a cell, such as the end of a line, becomes one space.

    Parameters
    ----------
    rows : list of list of str
    width : int, default=None
        Columns of the terminal, where lines are cut; None does not cut them.
    right : collection of int, default=()
        The columns that are aligned at the right.
    style : callable, default=None
        ``style(row, column, cell)`` returns a cell with the terminal's codes for colours.

    Examples
    --------
    >>> print("\n".join(aligned([["word", "count"], ["sea", "12"]], right={1})))
    word  count
    sea      12
    """
    rows = [[" ".join(visible(cell).split()) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    for i, row in enumerate(rows):
        line, left = "", width
        for j, (cell, whole) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (whole - _width(cell))
            cell = blanks + cell if j in right else cell
            cell = cell if left is None else _cut(cell, left)
            line += style(i, j, cell) + ("" if j in right else blanks) + GAP
            left = None if left is None else max(0, left - whole - len(GAP))
        yield line.rstrip()


class Table(list[dict[str, Any]]):
    """Rows with the same columns, each a dict.

    Examples
    --------
    >>> rows = Table.of({"size": [12, 3], "words": [["sea", "ship"], ["moon"]]})
    >>> rows[0]["size"], rows.column("size")
    (12, [12, 3])
    >>> print(rows)
    size  words
      12  sea, ship
       3  moon
    """

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]]) -> Self:
        """Make a table from columns of equal length."""
        return cls(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def column(self, name: str) -> list[Any]:
        """Return the values of a column."""
        return [row[name] for row in self]

    def to_frame(self) -> Any:
        """Return the rows as a pandas.DataFrame; pandas must be installed."""
        import pandas as pd

        return pd.DataFrame(list(self))

    def __str__(self) -> str:
        """Return the rows as lines, cut to the width of the terminal."""
        if not self:
            return "no rows"
        numbers = {i for i, name in enumerate(self[0]) if all(isinstance(row[name], int | float) for row in self)}
        return "\n".join(aligned(self._cells(), width=shutil.get_terminal_size().columns, right=numbers))

    def _repr_html_(self) -> str:
        """Return the rows as HTML, which notebooks show."""
        lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._cells()]
        head = [line.replace("td>", "th>") for line in lines[:1]]
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in head + lines[1:]) + "</table>"

    def _cells(self) -> list[list[str]]:
        return [list(self[0]), *([_cell(value) for value in row.values()] for row in self)] if self else []


def _cell(value: Any) -> str:
    if isinstance(value, float):
        text = f"{value:.3g}"
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _width(text: str) -> int:
    """Return the width of a text in columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str, width: int) -> str:
    """Return the beginning of a text that fits into ``width`` columns of a terminal."""
    if _width(text) <= width:
        return text
    text = text[: max(0, width - 1)]
    while text and _width(text) >= width:
        text = text[:-1]
    return f"{text}…" if width else ""
