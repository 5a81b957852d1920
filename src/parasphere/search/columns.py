"""Columns of an index: values of documents beside their texts, and conditions to filter by them."""

import operator
import sys
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import ParasphereError
from ..layouts import check_layouts
from ..storage import storable

Where = Mapping[str, Any] | Callable[[dict[str, Any]], bool] | NDArray[np.bool_] | Sequence[bool]
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
KINDS = {"text": "i4[docs]", "integer": "i8[docs]", "number": "f8[docs]", "bool": "u1[docs]", "date": "i8[docs]"}
NO_DATE = np.iinfo(np.int64).min  # as numpy's NaT
READABLE = 0.95  # least share of values that can be read as numbers, or as dates, for a column to be of that kind


@storable()
@dataclass(frozen=True, eq=False)
class Column:
    """The values of one column, one per document.

    Attributes
    ----------
    name : str
    kind : {"text", "integer", "number", "bool", "date"}
    values : (n_docs,) array
        Rows of ``categories`` (-1: none), whole numbers, numbers (NaN: none), 0 or 1, or microseconds since 1970.
    categories : tuple of str
        The different texts, if the values are texts.
    """

    name: str
    kind: str
    values: NDArray[Any]
    categories: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, values: Sequence[Any]) -> Self:
        """Make a column of values: all texts, all numbers, all true or false, or all dates; None is no value.

        Examples
        --------
        >>> Column.of("price", [1, 2.5, None]).values
        array([1. , 2.5, nan])
        """
        given = [value.item() if isinstance(value, np.generic) else value for value in values]
        kinds = {_kind(name, value) for value in given if value is not None}
        missing = len(kinds) == 0 or None in given
        if kinds <= {"text"}:
            categories = tuple(sorted({value for value in given if value is not None}))
            codes = {value: code for code, value in enumerate(categories)}
            return cls(name, "text", np.array([codes.get(value, -1) for value in given], np.int32), categories)
        if kinds == {"integer"} and not missing:
            return cls(name, "integer", np.array(given, np.int64))
        if kinds <= {"integer", "number"}:
            return cls(name, "number", np.array([np.nan if value is None else value for value in given], np.float64))
        if kinds == {"bool"} and not missing:
            return cls(name, "bool", np.array(given, np.uint8))
        if kinds == {"date"}:
            return cls(name, "date", np.array([_microseconds(value) for value in given], np.int64))
        found = ", ".join(sorted(kinds | ({"none"} if missing else set())))
        raise ParasphereError(f'the column "{name}" has values of several kinds ({found}); all must be of one kind')

    @classmethod
    def parsed(cls, name: str, values: Sequence[Any]) -> Self:
        """Make a column of values that may be written as texts, as in CSV.

        It is a column of numbers if nearly all of its values are, otherwise of dates, otherwise of texts; None and ""
        are no value, and neither is one of another kind.

        Parameters
        ----------
        name : str
        values : (n_docs,) sequence
            Dates are years and months (1999-12), ISO dates and times, and the date types of Arrow and Python.

        Examples
        --------
        >>> Column.parsed("stars", ["4.5", 3, ""]).tolist()
        [4.5, 3.0, None]
        >>> Column.parsed("day", ["1970-02", "1970-01-02T12:00:00Z"]).tolist()
        [datetime.date(1970, 2, 1), datetime.datetime(1970, 1, 2, 12, 0)]
        """
        given = [None if value is None or value == "" or value != value else value for value in values]
        n_values = sum(value is not None for value in given)
        for read in (_read_number, _read_date):
            found = [None if value is None else read(value) for value in given]
            if n_values and sum(value is not None for value in found) >= READABLE * n_values:
                return cls.of(name, found)
        return cls.of(name, [None if value is None else str(value) for value in given])

    @classmethod
    def concatenate(cls, parts: Sequence["Column"]) -> "Column":
        """Join the columns of successive documents."""
        kinds = {part.kind for part in parts if len(part)}
        if len(kinds) <= 1 and "text" not in kinds:
            filled = [part for part in parts if len(part)] or [parts[0]]
            return replace(filled[0], values=np.concatenate([part.values for part in filled]))
        return cls.of(parts[0].name, [value for part in parts for value in part.tolist()])

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, position: int) -> Any:
        value = self.values[position].item()
        if self.kind == "text":
            return None if value < 0 else self.categories[value]
        if self.kind == "date":
            return None if value == NO_DATE else _shown(value)
        if self.kind == "number":
            return None if np.isnan(value) else value
        return bool(value) if self.kind == "bool" else value

    def tolist(self) -> list[Any]:
        """Return all values; None is no value."""
        return [self[position] for position in range(len(self))]

    def take(self, rows: NDArray[Any]) -> "Column":
        """Return the values of some documents: a mask, or their positions."""
        return replace(self, values=self.values[rows])

    def holds(self, condition: Any) -> NDArray[np.bool_]:
        """Return which documents meet a condition, (n_docs,).

        Parameters
        ----------
        condition : value, (operator, value), list or set
            A value must be equal; None is met by documents without a value. One condition of a list must be met, but
            all of a list of pairs such as ``[(">=", 2), ("<", 5)]``.
        """
        if isinstance(condition, list | set | frozenset):
            return self._holds_several(list(condition))
        if isinstance(condition, tuple):
            if len(condition) != 2 or condition[0] not in OPERATORS:
                raise ParasphereError(
                    f'a condition on the column "{self.name}" is a value, or a pair such as (">=", value) of one of '
                    f"{' '.join(OPERATORS)}, not {condition!r}"
                )
            name, value = condition
        else:
            name, value = "==", condition
        if isinstance(value, np.generic):
            value = value.item()
        if value is None:
            if name not in ("==", "=", "!="):
                raise ParasphereError(f'the column "{self.name}" cannot be compared with None by {name}')
            return np.asarray(self.missing() ^ (name == "!="))
        if self.kind == "text" and name[0] in "<>" and self._all_numbers(value):
            value = float(value)
        holds = np.asarray(OPERATORS[name](*self._comparable(value)), bool)
        if self.kind == "text" and name[0] in "<>" and "" in self.categories:  # an empty cell is not ordered
            holds &= self.values != self.categories.index("")
        return holds & ~self.missing() if name != "!=" else holds | self.missing()

    def _holds_several(self, conditions: list[Any]) -> NDArray[np.bool_]:
        """Return which documents meet one condition of a list, or all if it is a list of pairs, (n_docs,)."""
        if conditions and all(isinstance(one, tuple) for one in conditions):
            met = np.ones(len(self), bool)
            for pair in conditions:
                met &= self.holds(pair)
            return met
        met, values = np.zeros(len(self), bool), []
        for one in conditions:
            if isinstance(one, list | set | frozenset):
                raise ParasphereError(
                    f'a list of conditions on the column "{self.name}" holds values and pairs, no lists'
                )
            if one is None or isinstance(one, tuple):
                met |= self.holds(one)
            else:
                values.append(one.item() if isinstance(one, np.generic) else one)
        return met | self._is_in(values)

    def _is_in(self, values: list[Any]) -> NDArray[np.bool_]:
        """Return which documents have one of several values, (n_docs,)."""
        groups: dict[Any, list[Any]] = {}  # by type: numpy would round whole numbers beside others
        for value in values:
            numbers, comparable = self._encoded(value)
            if isinstance(comparable, int) and not _is_int64(comparable):
                if self.kind == "integer":
                    continue
                comparable = float(comparable)
            groups.setdefault((numbers, type(comparable)), []).append(comparable)
        met = np.zeros(len(self), bool)
        for (numbers, _), group in groups.items():
            met |= np.isin(self._numbers() if numbers else self.values, group)
        return met & ~self.missing()

    def _all_numbers(self, value: Any) -> bool:
        """Return whether a text and those of a column, perhaps read from CSV, are all numbers."""
        try:
            return bool([float(text) for text in (value, *filter(None, self.categories))])
        except (ValueError, TypeError):
            return False

    def _comparable(self, value: Any) -> tuple[NDArray[Any], Any]:
        """Return the values of the column and another value in types that can be compared."""
        numbers, comparable = self._encoded(value)
        return self._numbers() if numbers else self.values, comparable

    def _encoded(self, value: Any) -> tuple[bool, Any]:
        """Return a value as the column holds values, and whether the texts of the column are compared as numbers."""
        kind = _kind(self.name, value)
        if self.kind == "text" and kind == "text":
            # Categories are sorted, so that texts compare as their rows do; a text between two rows is half a row.
            row = bisect_left(self.categories, value)
            return False, row if row < len(self.categories) and self.categories[row] == value else row - 0.5
        if self.kind == "text" and kind in ("integer", "number"):  # a column of CSV, where everything is text
            return True, value
        if self.kind == "date":
            return False, _microseconds(value)
        if self.kind in ("integer", "number") and kind == "text":
            return False, _number(self.name, value)
        if self.kind == "bool" and kind == "text" and value.lower() in ("true", "false"):
            return False, value.lower() == "true"
        if (self.kind == "bool") == (kind == "bool") and kind not in ("text", "date"):
            return False, value
        raise ParasphereError(f'the column "{self.name}" holds {self.kind} and cannot be compared with {value!r}')

    def _numbers(self) -> NDArray[np.float64]:
        numbers = [_number(self.name, text) if text else np.nan for text in self.categories]
        return np.asarray(np.array([*numbers, np.nan])[self.values])

    def missing(self) -> NDArray[np.bool_]:
        """Return which documents have no value, (n_docs,)."""
        if self.kind == "text":
            return np.asarray(self.values < 0)
        if self.kind == "date":
            return np.asarray(self.values == NO_DATE)
        return np.isnan(self.values) if self.kind == "number" else np.zeros(len(self), bool)

    def _check_loaded(self) -> None:
        if self.kind not in KINDS:
            raise ParasphereError("a column is of an unknown kind")
        values, texts = self.values, self.categories
        check_layouts({"values": values}, {"values": KINDS[self.kind]})
        if self.kind == "text" and len(values) and not -1 <= values.min() <= values.max() < len(texts):
            raise ParasphereError(f'the column "{self.name}" refers to texts that it does not have')
        if list(texts) != sorted(set(texts)) or (self.kind == "bool" and len(values) and values.max() > 1):
            raise ParasphereError(f'the column "{self.name}" is out of order')


def chosen(where: Where, columns: Mapping[str, Column], size: int) -> NDArray[np.bool_]:
    """Return which documents meet all conditions, (n_docs,).

    Parameters
    ----------
    where : dict, callable or (n_docs,) mask
        Conditions by the name of a column (:meth:`Column.holds`), or a function of the columns of a document.
    columns : dict of str to Column
    size : int
        Number of documents.
    """
    if isinstance(where, Mapping):
        admitted = np.ones(size, bool)
        for name, condition in where.items():
            if name not in columns:
                there = ", ".join(columns) if columns else "none; name them when the index is made (columns=)"
                raise ParasphereError(f'the index has no column "{name}"; its columns: {there}')
            admitted &= columns[name].holds(condition)
        return admitted
    if callable(where):
        rows = zip(*(column.tolist() for column in columns.values()), strict=True) if columns else [()] * size
        return np.array([bool(where(dict(zip(columns, row, strict=True)))) for row in rows], bool)
    mask = np.asarray(where)
    if mask.shape != (size,) or mask.dtype != bool:
        raise ParasphereError(
            f"where is a mask of {mask.dtype} of shape {mask.shape}; it must be bool, one per document: {size:,}"
        )
    return mask


def _kind(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        if abs(value) > sys.float_info.max:
            raise ParasphereError(f'the column "{name}" holds numbers of up to 308 digits; a value has more')
        return "integer" if _is_int64(value) else "number"
    for kind, types in (("number", float), ("text", str), ("date", date)):
        if isinstance(value, types):
            return kind
    raise ParasphereError(
        f'the column "{name}" holds {value!r}, of type {type(value).__name__}; values are texts, numbers, dates, or '
        "true and false"
    )


def _is_int64(value: int) -> bool:
    return -(2**63) <= value < 2**63


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParasphereError(f'the column "{name}" is compared with numbers, and {text!r} is not a number') from None


def _read_number(value: Any) -> float | None:
    """Return a value as a finite number, or None."""
    try:
        number = float("nan") if isinstance(value, date | bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def _read_date(value: Any) -> date | None:
    """Return a value as a date, or as a time in UTC without a time zone, or None."""
    if isinstance(value, date):
        when = value
    else:
        text = str(value).strip()
        if text.isascii() and text.isdigit() and len(text) == 4:
            text += "-01-01"
        elif len(text) == 7 and text[4] == "-":
            text += "-01"
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            return None
    if isinstance(when, datetime) and when.tzinfo is not None:
        try:
            return when.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # in UTC before the first year, or after the last
            return None
    return when


def _microseconds(value: Any) -> int:
    if value is None:
        return int(NO_DATE)
    try:
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        when = np.datetime64(str(value) if type(value) is int and 1000 <= value <= 9999 else value)
        year = 1970 + int(when.astype("M8[Y]").astype(np.int64))
        if not np.isnat(when) and not 1 <= year <= 9999:
            raise ValueError
        return int(when.astype("M8[us]").astype(np.int64))
    except (ValueError, TypeError, OverflowError):
        raise ParasphereError(f"{value!r} is not a date; write dates as 1999, 1999-12 or 1999-12-31T23:59") from None


def _shown(microseconds: int) -> date | datetime:
    when: datetime = np.datetime64(microseconds, "us").astype(datetime)
    return when if microseconds % 86_400_000_000 else when.date()
