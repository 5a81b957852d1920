"""Texts at the door of the compiled loops: lists of strings and Arrow arrays are read alike, and nothing else is."""

import ctypes
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parasphere import _kernels
from parasphere.text import Lookup, Tokenizer, Vocabulary, WordCounter, WordIds, split_texts

WORDS = ["a", "é", "\ufffd", "north", "news", "北", "x" * 13]
KINDS = [pa.string(), pa.large_string(), pa.string_view()]
anything = st.lists(st.text(st.characters(), max_size=30) | st.sampled_from([*WORDS, "a north x", "e\u0301 \ud800a"]))


def sound(texts: list[str]) -> list[str]:
    return ["".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in text) for text in texts]


def ids_of_words(words: Any, many: int) -> list[int]:
    vocabulary, ids = Vocabulary(WORDS), np.empty(many, np.int32)
    _kernels.ids_of_words(words, vocabulary.table, True, ids)
    return ids.tolist()


def ids_of_texts(texts: Any, many: int) -> tuple[list[int], list[int]]:
    ids, ends = np.empty(1000, np.int32), np.empty(many, np.int64)
    n = _kernels.ids_of_texts(texts, Tokenizer().folding, Vocabulary(WORDS).table, True, ids, ends)
    return ids[:n].tolist(), ends.tolist()


def lists_of(words: WordIds) -> tuple[list[int], list[int]]:
    return words.ids.tolist(), words.ends.tolist()


@given(anything, st.integers(0, 3))
def test_lists_and_columns_of_the_same_texts_are_the_same(texts: list[str], first: int) -> None:
    for kind in KINDS:
        column = pa.array(["before", "", "\U0001f600", *sound(texts)], kind)
        for given_texts, cut in ((texts, column[3:]), (tuple(texts[first:]), column[3 + first :])):
            many = len(given_texts)
            assert ids_of_words(given_texts, many) == ids_of_words(cut, many)
            assert ids_of_texts(given_texts, many) == ids_of_texts(cut, many)


@pytest.mark.parametrize("tokenizer", [Tokenizer(), Tokenizer(stop_words=["a"]), str.split])
@given(texts=anything)
def test_all_that_reads_texts_replaces_lone_surrogates(tokenizer: Any, texts: list[str]) -> None:
    lookup = Lookup(Vocabulary([*WORDS, "a north"]), tokenizer)
    assert lists_of(lookup.ids(texts)) == lists_of(lookup.ids(sound(texts)))
    assert split_texts(texts, tokenizer) == split_texts(sound(texts), tokenizer)
    counters = WordCounter(tokenizer), WordCounter(tokenizer)
    assert lists_of(counters[0].add(texts)) == lists_of(counters[1].add(sound(texts)))
    (words, counts), (others, numbers) = (counter.words_and_counts() for counter in counters)
    assert words == others
    assert counts.tolist() == numbers.tolist()


class Handing:
    """Something that hands over what it is told to."""

    def __init__(self, *handed: Any) -> None:
        self.handed = handed

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.handed[0] if len(self.handed) == 1 else self.handed


def handed(column: Any) -> tuple[Any, Any]:
    schema, array = column.__arrow_c_array__()
    return schema, array


def numbers_of(capsule: Any, name: bytes) -> Any:
    """Return the fields of an Arrow struct, all of 64 bits."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(pointer(capsule, name), ctypes.POINTER(ctypes.c_int64))


LENGTH, NULLS, OFFSET, BUFFERS, CHILDREN = range(5)  # of an array


def test_malformed_utf8_separates_words_and_reads_no_further() -> None:
    raw = pa.array([b"a\xffnorth \xe6\x97", b"news\xc3"], pa.large_binary())
    texts = pa.LargeStringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
    assert ids_of_texts(texts, 2)[0] == [0, 3, 4]


def test_what_is_no_text_is_refused_by_its_position() -> None:
    for bad, told in ((3, "of type int"), (None, "None"), (b"a", "of type bytes")):
        with pytest.raises(ValueError, match=rf"text 1 \(counting from 0\) is {told}"):
            ids_of_words(["a", bad], 2)
    for wrong in ("a text", b"a", None, 3, {"a"}, iter(["a"]), np.array(["a"]), pa.chunked_array([["a"]])):
        with pytest.raises(ValueError, match="texts must be a list of str or an Arrow array of strings, but are"):
            ids_of_words(wrong, 1)


def test_nulls_are_refused_by_their_position() -> None:
    for kind in KINDS:
        column = pa.array([None, "a", "north", None], kind)
        with pytest.raises(ValueError, match=r"text 2 \(counting from 0\) is"):
            ids_of_words(column[1:], 3)
        assert ids_of_words(column[1:3], 2) == [0, 3]


@pytest.mark.parametrize(
    "column", [pa.array([1]), pa.array([b"a"]), pa.array(["a"]).dictionary_encode(), pa.array([["a"]])]
)
def test_arrow_arrays_of_other_things_are_refused(column: Any) -> None:
    with pytest.raises(ValueError, match="must be one of strings, not of the format"):
        ids_of_words(column, 1)


def test_capsules_that_are_none_are_refused() -> None:
    schema, array = handed(pa.array(["a"]))
    for wrong in ((schema,), (schema, array, array), (array, schema), (None, None), (schema, None), ("a", "b")):
        with pytest.raises(ValueError, match="must return two capsules"):
            ids_of_words(Handing(wrong), 1)
    with pytest.raises(ValueError, match="must return two capsules"):
        ids_of_words(Handing([schema, array]), 1)
    # Of two arrays
    with pytest.raises(ValueError, match="must be one of strings"):
        ids_of_words(Handing(handed(pa.array([1]))[0], array), 1)
    assert ids_of_words(Handing(schema, array), 1) == [0]


def test_a_released_array_is_refused() -> None:
    schema, array = handed(pa.array(["a"]))
    pa.Array._import_from_c_capsule(schema, array)  # which moves them out
    with pytest.raises(ValueError, match="was released"):
        ids_of_words(Handing(schema, array), 1)


def test_memory_is_held_while_it_is_read_and_no_longer() -> None:
    column = pa.array(["north"] * 1000, pa.large_string())
    before = pa.total_allocated_bytes()
    for _ in range(3):
        assert ids_of_words(column.take(list(range(1000))), 1000) == [3] * 1000
    assert pa.total_allocated_bytes() == before
    texts = [f"é{number}" for number in range(9)]
    counts = [sys.getrefcount(text) for text in texts]
    ids_of_texts(texts, 9)
    assert [sys.getrefcount(text) for text in texts] == counts


@pytest.mark.parametrize(
    ("field", "value"), [(LENGTH, -1), (LENGTH, 2**62), (OFFSET, -1), (OFFSET, 2**62), (BUFFERS, 2), (CHILDREN, 1)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_arrays_are_refused(kind: Any, field: int, value: int) -> None:
    schema, array = handed(pa.array(["a", "north"], kind))
    fields = numbers_of(array, b"arrow_array")
    honest, fields[field] = fields[field], value
    with pytest.raises(ValueError, match="is damaged"):
        ids_of_words(Handing(schema, array), 2)
    fields[field] = honest
    assert ids_of_words(Handing(schema, array), 2) == [0, 3]


@pytest.mark.parametrize("offsets", [[0, 3, 2], [0, -5, 2]])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_offsets_that_fall_are_refused(offsets: list[int], kind: Any) -> None:
    array = pa.StringArray if kind is np.int32 else pa.LargeStringArray
    column = array.from_buffers(2, pa.py_buffer(np.array(offsets, kind)), pa.py_buffer(b"abcdef"))
    with pytest.raises(ValueError, match="offsets must rise and lie within the data, but text"):
        ids_of_words(column, 2)


def test_views_beyond_their_buffers_are_refused() -> None:
    honest = pa.array(["a", "x" * 13], pa.string_view())
    _, views, data = honest.buffers()
    for at, value in ((4, -1), (4, 14), (6, 1), (6, -1), (7, 1), (7, -1), (7, 2**31 - 1)):
        numbers = np.frombuffer(views, np.int32).copy()
        numbers[at] = value
        column = pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(numbers), data])
        with pytest.raises(ValueError, match="text 1 lies outside of its buffers"):
            ids_of_words(column, 2)
    assert ids_of_words(honest, 2) == [0, 6]
    assert ids_of_words(honest[1:], 1) == [6]


def test_a_list_may_change_while_it_is_read() -> None:
    """As other threads may do; here the list changes before the ids are written."""

    class Changing(list):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            raise AssertionError("the items are read as they are")

    assert ids_of_words(Changing(["a", "north"]), 2) == [0, 3]
