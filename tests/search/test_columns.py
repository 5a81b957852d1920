"""Columns of an index: conditions against plain Python, searches of what they admit, and what is saved."""

import operator
import tracemalloc
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import Index, SphericalParagraphModel, datasets
from parasphere.errors import ParasphereError
from parasphere.search.columns import OPERATORS, Column, chosen

TEXTS = datasets.load("docstrings").texts[:400]
TABLE = pd.DataFrame({
    "text": TEXTS,
    "name": [f"doc {i}" for i in range(400)],
    "library": [["numpy", "scipy", "sklearn"][i % 3] for i in range(400)],
    "year": [1990 + i % 30 for i in range(400)],
    "price": [None if i % 7 == 0 else i / 8 for i in range(400)],
    "free": [i % 2 == 0 for i in range(400)],
    "day": [date(2020, 1, 1 + i % 28) for i in range(400)],
})  # fmt: skip
COLUMNS = ["library", "year", "price", "free", "day"]


@pytest.fixture(scope="module")
def index() -> Index:
    return SphericalParagraphModel().fit(TEXTS).index(TABLE, "name", columns=COLUMNS)


@given(
    st.one_of(
        st.lists(st.sampled_from(["a", "b", "ba", "", "ö", None]), max_size=8),
        st.lists(st.one_of(st.integers(-3, 3), st.none()), max_size=8),
        st.lists(st.sampled_from([0.5, -1.0, 2.0, None]), max_size=8),
    ),
    st.sampled_from(sorted(OPERATORS)),
    st.data(),
)
def test_conditions_are_those_of_python(values: list[Any], sign: str, data: st.DataObject) -> None:
    column = Column.of("c", values)
    assert column.tolist() == values
    texts = any(isinstance(value, str) for value in values)
    if not any(value is not None for value in values):
        return
    other = data.draw(st.sampled_from(["", "a", "aa", "z"]) if texts else st.sampled_from([-1, 0, 0.5, 2]))
    expected = [
        sign == "!=" if value is None else OPERATORS[sign](value, other) and not (value == "" and sign[0] in "<>")
        for value in values
    ]  # what has no value differs from every value; an empty text has no place in an order
    assert column.holds((sign, other)).tolist() == expected
    assert column.holds(None).tolist() == [value is None for value in values]


def test_texts_of_numbers_are_compared_as_numbers() -> None:
    column = Column.of("price", ["9.5", "10", "", None])  # as CSV has them
    for ten in (10, "10"):
        assert column.holds(("<", ten)).tolist() == [True, False, False, False]
    assert Column.of("name", ["9", "plum", "10"]).holds(("<", "10")).tolist() == [False, False, False]
    with pytest.raises(ParasphereError, match="\"name\" is compared with numbers, and 'plum' is not a number"):
        Column.of("name", ["plum"]).holds(("<", 10))


def test_dates_are_compared_with_what_names_them() -> None:
    days = Column.of("day", [date(2020, 1, 1), datetime(2021, 6, 1, 12, tzinfo=UTC), None])
    assert days.tolist() == [date(2020, 1, 1), datetime(2021, 6, 1, 12), None]
    assert days.holds((">=", "2021")).tolist() == [False, True, False]
    assert days.holds([(">=", date(2019, 1, 1)), ("<", "2021-01")]).tolist() == [True, False, False]
    with pytest.raises(ParasphereError, match="'soon' is not a date"):
        days.holds("soon")


@pytest.mark.parametrize(
    ("where", "admitted"),
    [
        ({"library": "numpy"}, TABLE.library == "numpy"),
        ({"library": ["numpy", "scipy"], "year": (">", 2000)}, (TABLE.library != "sklearn") & (TABLE.year > 2000)),
        ({"price": None}, TABLE.price.isna()),
        ({"free": True, "day": ("<", "2020-01-05")}, TABLE.free & (TABLE.day < date(2020, 1, 5))),
        (lambda row: row["year"] == 1999, TABLE.year == 1999),
        (np.arange(400) < 5, np.arange(400) < 5),
        ({"year": 3000}, np.zeros(400, bool)),
    ],
)
@pytest.mark.parametrize("weight", [0.0, None, 1.0])
def test_a_search_ranks_what_is_admitted(index: Index, where: Any, admitted: Any, weight: float | None) -> None:
    for k in (5, 1000):
        everything = index.search("sort the elements of an array", 1000, weight=weight)
        found = index.search("sort the elements of an array", k, where=where, weight=weight)
        expected = [match for match in everything if np.asarray(admitted)[match.position]][:k]
        assert found == expected
    several = index.search(["sort an array", "unheardofword"], 3, where=where)
    assert several == [index.search("sort an array", 3, where=where), []]


def test_a_match_shows_its_columns_and_words(index: Index) -> None:
    [match] = index.search("sorted arrays", 1, where={"library": "numpy"})
    assert match.columns == TABLE.iloc[match.position][COLUMNS].to_dict()
    assert match.words
    assert all(word.startswith(("sort", "arr")) for word in match.words)
    frame = index.search("sorted arrays", 3).to_frame()
    assert list(frame.columns) == ["position", "similarity", "id", "text", "score", "words", *COLUMNS]
    assert len(frame) == 3


def test_columns_are_saved(index: Index, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    loaded = Index.load(tmp_path / "index")
    for name in COLUMNS:
        assert loaded.columns[name].tolist() == index.columns[name].tolist()
        assert loaded.columns[name].kind == index.columns[name].kind
    where = {"library": "scipy", "price": (">", 10)}
    assert loaded.search("matrix", where=where) == index.search("matrix", where=where)


def test_removing_and_adding_keep_columns() -> None:
    index = SphericalParagraphModel().fit(TEXTS[:50]).index(TABLE[:20], "name", columns=COLUMNS)
    index.remove("doc 3")
    index.add(TABLE[20:30], "name")
    expected = TABLE[:30].drop(3)
    for name in ("library", "year", "free", "day"):
        assert index.columns[name].tolist() == expected[name].tolist()
    with pytest.raises(ParasphereError, match='"library"'):
        index.add(["a text without columns"], ["new"])


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"colour": "red"}, 'the index has no column "colour"; its columns: library, year, price, free, day'),
        ({"year": ("~", 3)}, 'a condition on the column "year" is a value, or a pair'),
        ({"free": 3}, 'the column "free" holds bool and cannot be compared with 3'),
        ({"year": "many"}, "the column \"year\" is compared with numbers, and 'many' is not a number"),
        ({"library": object()}, 'the column "library" holds .* of type object'),
        (np.ones(3, bool), r"where is a mask of bool of shape \(3,\); it must be bool, one per document: 400"),
    ],
)
def test_bad_conditions_get_a_sentence(index: Index, where: Any, sentence: str) -> None:
    with pytest.raises(ParasphereError, match=sentence):
        index.search("matrix", where=where)


def test_values_are_of_one_kind() -> None:
    with pytest.raises(ParasphereError, match=r'the column "c" has values of several kinds \(bool, text\)'):
        Column.of("c", ["a", True])
    with pytest.raises(ParasphereError, match=r'the column "c" holds \[1\], of type list'):
        Column.of("c", [[1]])
    assert chosen({}, {}, 3).tolist() == [True] * 3
    assert operator.gt is OPERATORS[">"]


def test_an_empty_cell_has_no_place_in_an_order() -> None:
    column = Column.of("day", ["1999-12", "", "2001-01", None])
    assert column.holds(("<", "2000")).tolist() == [True, False, False, False]
    assert column.holds((">=", "1000")).tolist() == [True, False, True, False]
    assert column.holds("").tolist() == [False, True, False, False]


def test_columns_of_texts_are_parsed_as_numbers_or_dates() -> None:
    price = Column.parsed("price", [*map(str, range(40)), "on request"])
    assert price.kind == "number"
    assert price.tolist() == [*range(40), None]  # a few values of another kind are no value
    assert Column.parsed("price", ["1", "2", "on request"]).kind == "text"
    when = Column.parsed("when", ["1999-12", "2001-02-03", None, "2000"])
    assert when.tolist() == [date(1999, 12, 1), date(2001, 2, 3), None, date(2000, 1, 1)]
    assert Column.parsed("true", [True, False, ""]).tolist() == ["True", "False", None]


def test_dates_of_arrow_and_of_texts_agree() -> None:
    stamps = Column.parsed("day", pa.array(["2020-02-29T12:00:00"]).cast(pa.timestamp("ms")).to_pylist())
    written = Column.parsed("day", ["2020-02-29T14:00+02:00"])
    assert stamps.tolist() == written.tolist() == [datetime(2020, 2, 29, 12)]


@pytest.mark.parametrize("value", ["9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00+14:00", 10**400, "1e999"])
def test_what_is_beyond_the_calendar_or_all_numbers_is_no_value(value: Any) -> None:
    others = ["1999-12-31"] * 30 if "-" in str(value) else [3] * 30
    assert Column.parsed("column", [value, *others]).missing().tolist() == [True] + [False] * 30


@given(
    st.sampled_from([
        ["a", "b", None, "ba", ""], ["1", "2.5", "", None], [1, 2, 2**62 + 1, -5], [0.5, None, 1.0, 2.0, 1e300],
        [True, False, True], [date(2020, 1, 1), None, date(2021, 5, 3)],
    ]),
    st.lists(
        st.sampled_from([
            "a", "zz", "", 1, 2.5, 2**62, 2**62 + 1, 2**63, 10**30, -(2**70), 1e300, np.float64(0.5), None, True,
            "true", "2020", "2020-01-01", 2021, (">", 1), ("!=", "a"), ("<", "2021"), ("==", None),
        ]),
        max_size=6,
    ),
)  # fmt: skip
def test_a_list_admits_what_one_of_its_conditions_admits(values: list[Any], conditions: list[Any]) -> None:
    column = Column.of("c", values)
    try:
        each = [column.holds(one) for one in conditions]
    except ParasphereError:
        with pytest.raises(ParasphereError):
            column.holds(conditions)
        return
    pairs = bool(conditions) and all(isinstance(one, tuple) for one in conditions)
    expected = (np.all if pairs else np.any)(np.array(each).reshape(len(each), len(values)), axis=0)
    assert column.holds(conditions).tolist() == expected.tolist()


def test_a_long_list_takes_little_memory() -> None:
    column = Column.of("c", range(100_000))
    tracemalloc.start()
    admitted = column.holds(list(range(0, 200_000, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert admitted.sum() == 50_000
    assert peak < 50 << 20  # a mask per value would be 10 GB


def test_lists_in_lists_are_refused() -> None:
    nested: list[Any] = [1]
    for _ in range(2000):
        nested = [nested]
    with pytest.raises(ParasphereError, match="holds values and pairs, no lists"):
        Column.of("c", [1, 2]).holds(nested)


@pytest.mark.parametrize(
    "value",
    [
        "10000-01-01", "0000-12-31", "300000-01-01", "9" * 30, 2.5, True, 12, 10**400,
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))), "9999-12-31T23:59:59.999999-05:00",
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:no explicit representation of timezones")
def test_a_date_is_of_the_years_that_dates_have(value: Any) -> None:
    column = Column.of("day", [datetime.max, datetime.min, date(2020, 1, 1)])
    assert column.tolist() == [datetime.max, date.min, date(2020, 1, 1)]
    with pytest.raises(ParasphereError):
        column.holds((">", value))
    assert column.holds((">=", 2020)).tolist() == [True, False, True]


def test_a_number_of_401_digits_gets_a_sentence() -> None:
    with pytest.raises(ParasphereError, match="up to 308 digits"):
        Column.of("c", [1.5, 10**400])
    with pytest.raises(ParasphereError, match="up to 308 digits"):
        Column.of("c", [1.5]).holds(("<", 10**400))
