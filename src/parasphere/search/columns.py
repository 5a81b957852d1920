"""Columns of an index: values of documents beside their texts, and conditions to filter by them."""

import operator
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
            each = [self.holds(one) for one in condition]
            whole = bool(each) and all(isinstance(one, tuple) for one in condition)
            nothing = np.full(len(self), whole)
            return np.asarray((np.logical_and if whole else np.logical_or).reduce([nothing, *each]))
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
            return np.asarray(self._missing() ^ (name == "!="))
        if self.kind == "text" and name[0] in "<>" and self._all_numbers(value):
            value = float(value)
        holds = np.asarray(OPERATORS[name](*self._comparable(value)), bool)
        if self.kind == "text" and name[0] in "<>" and "" in self.categories:  # an empty cell is not ordered
            holds &= self.values != self.categories.index("")
        return holds & ~self._missing() if name != "!=" else holds | self._missing()

    def _all_numbers(self, value: Any) -> bool:
        """Return whether a text and those of a column, perhaps read from CSV, are all numbers."""
        try:
            return bool([float(text) for text in (value, *filter(None, self.categories))])
        except (ValueError, TypeError):
            return False

    def _comparable(self, value: Any) -> tuple[NDArray[Any], Any]:
        """Return the values of the column and another value in types that can be compared."""
        kind = _kind(self.name, value)
        if self.kind == "text" and kind == "text":
            # Categories are sorted, so that texts compare as their rows do; a text between two rows is half a row.
            place = int(np.searchsorted(np.array(self.categories, object), value)) if self.categories else 0
            exact = place < len(self.categories) and self.categories[place] == value
            return self.values.astype(np.float64), place if exact else place - 0.5
        if self.kind == "text" and kind in ("integer", "number"):  # a column of CSV, where everything is text
            return self._numbers(), value
        if self.kind == "date":
            return self.values, _microseconds(value)
        if self.kind in ("integer", "number") and kind == "text":
            return self.values, _number(self.name, value)
        if self.kind == "bool" and kind == "text" and value.lower() in ("true", "false"):
            return self.values, value.lower() == "true"
        if (self.kind == "bool") == (kind == "bool") and kind not in ("text", "date"):
            return self.values, value
        raise ParasphereError(f'the column "{self.name}" holds {self.kind} and cannot be compared with {value!r}')

    def _numbers(self) -> NDArray[np.float64]:
        numbers = [_number(self.name, text) if text else np.nan for text in self.categories]
        return np.asarray(np.array([*numbers, np.nan])[self.values])

    def _missing(self) -> NDArray[np.bool_]:
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
        return "integer" if -(2**63) <= value < 2**63 else "number"
    for kind, types in (("number", float), ("text", str), ("date", date)):
        if isinstance(value, types):
            return kind
    raise ParasphereError(
        f'the column "{name}" holds {value!r}, of type {type(value).__name__}; values are texts, numbers, dates, or '
        "true and false"
    )


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParasphereError(f'the column "{name}" is compared with numbers, and {text!r} is not a number') from None


def _microseconds(value: Any) -> int:
    if value is None:
        return int(NO_DATE)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    try:
        return int(np.datetime64(value, "us").astype(np.int64))
    except (ValueError, TypeError):
        raise ParasphereError(f"{value!r} is not a date; write dates as 1999, 1999-12 or 1999-12-31T23:59") from None


def _shown(microseconds: int) -> date | datetime:
    when: datetime = np.datetime64(microseconds, "us").astype(datetime)
    return when if microseconds % 86_400_000_000 else when.date()
