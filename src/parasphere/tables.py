"""Small tables: lists of rows that print as text or HTML and convert to data frames."""

import shutil
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Self

LONGEST = 60  # characters printed per cell


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
        width = shutil.get_terminal_size().columns
        names = list(self[0])
        cells = [names, *([_cell(row[name]) for name in names] for row in self)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
        shape = widths, [all(isinstance(row[name], int | float) for row in self) for name in names]
        lines = (
            "  ".join(cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(line, *shape, strict=True))
            for line in cells
        )
        return "\n".join(line[:width].rstrip() for line in lines)

    def _repr_html_(self) -> str:
        """Return the rows as HTML, which notebooks show."""
        names = list(self[0]) if self else []
        lines = ["".join(f"<td>{escape(_cell(row[name]))}</td>" for name in names) for row in self]
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in [head, *lines]) + "</table>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        text = f"{value:.3g}"
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
