"""Documents in memory: every container gives the same documents, and bad ones get a sentence."""

from __future__ import annotations

from datetime import datetime

import blocksize
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from blocksize import read_in, small_blocks
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere.corpus import Block, block, blocks, reread
from parasphere.errors import CorpusError, ParasphereWarning

TEXTS = ["the quick fox", "", "naïve Ελλάς 😀", "nul \x00 byte", "two\nlines"]
TOKENS = [["the", "quick"], [], ["naïve", "", "😀"]]


def documents(source, size=block.BYTES, **options):
    """Return all documents; check on the way that blocks are numbered and typed as promised."""
    found = []
    for part in read_in(size, source, **options):
        assert part.start == len(found)
        assert len(part) == len(part.texts) > 0
        assert {type(text) for text in part.texts} <= ({list} if part.tokenised else {str, np.str_})
        found += part.texts
    return found


def column(which, source, size=block.BYTES, **options):
    return [value for part in read_in(size, source, **options) for value in getattr(part, which)]


TEXT_CONTAINERS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "numpy str": lambda texts: np.array([text.replace("\x00", "?") for text in texts]),
    "numpy object": lambda texts: np.array(texts, object),
    "numpy string dtype": lambda texts: np.array(texts, np.dtypes.StringDType()),
    "list of np.str_": lambda texts: [np.str_(text) for text in texts],
    "pandas str": pd.Series,
    "pandas object": lambda texts: pd.Series(texts, dtype=object),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas index": pd.Index,
    "arrow string": pa.array,
    "arrow large": lambda texts: pa.array(texts, pa.large_string()),
    "arrow view": lambda texts: pa.array(texts, pa.string_view()),
    "arrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "arrow chunked": lambda texts: pa.chunked_array([texts[:2], [], texts[2:]], pa.string()),
    "arrow slice": lambda texts: pa.array(["before", *texts, "after"])[1:-1],
    "one column": lambda texts: pa.table({"whatever": texts}),
    "arrow table": lambda texts: pa.table({"n": range(len(texts)), "text": texts}),
    "arrow batch": lambda texts: pa.RecordBatch.from_pydict({"n": range(len(texts)), "text": texts}),
    "arrow reader": lambda texts: pa.table({"n": range(len(texts)), "text": texts}).to_reader(2),
    "pandas frame": lambda texts: pd.DataFrame({"n": range(len(texts)), "text": texts}),
    "pandas frame of one column": lambda texts: pd.DataFrame(texts),
    "stream of a table": lambda texts: Capsule(pa.table({"n": range(len(texts)), "text": texts})),
    "stream of a column": lambda texts: Capsule(pa.chunked_array([texts])),
    "array interchange": lambda texts: ArrayCapsule(pa.array(texts)),
    "struct interchange": lambda texts: ArrayCapsule(pa.RecordBatch.from_pydict({"text": texts})),
}


class Capsule:
    """Nothing but Arrow's stream interface."""

    def __init__(self, inner):
        self.inner = inner

    def __arrow_c_stream__(self, requested_schema=None):
        return self.inner.__arrow_c_stream__(requested_schema)


class ArrayCapsule:
    """Nothing but Arrow's array interface."""

    def __init__(self, inner):
        self.inner = inner

    def __arrow_c_array__(self, requested_schema=None):
        return self.inner.__arrow_c_array__(requested_schema)


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
@pytest.mark.parametrize("name", TEXT_CONTAINERS)
def test_every_container_of_texts_gives_the_same_documents(name, size):
    expected = [text.replace("\x00", "?") for text in TEXTS] if name == "numpy str" else TEXTS
    assert documents(TEXT_CONTAINERS[name](TEXTS), size=size) == expected


TOKEN_CONTAINERS = {
    "lists": list,
    "tuples": lambda lists: [tuple(tokens) for tokens in lists],
    "arrays": lambda lists: [np.array(tokens, str) for tokens in lists],
    "object arrays": lambda lists: (np.array(tokens, object) for tokens in lists),
    "pandas": pd.Series,
    "arrow list": pa.array,
    "arrow large list": lambda lists: pa.array(lists, pa.large_list(pa.string())),
    "arrow list view": lambda lists: pa.array(lists, pa.list_view(pa.string())),
    "arrow slice": lambda lists: pa.array([["before"], *lists, ["after"]])[1:-1],
    "arrow list of dictionary": lambda lists: pa.array(lists, pa.list_(pa.dictionary(pa.int32(), pa.string()))),
    "table": lambda lists: pa.table({"text": lists}),
}


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("name", TOKEN_CONTAINERS)
def test_every_container_of_tokens_gives_the_same_documents(name, size):
    source = TOKEN_CONTAINERS[name](TOKENS)
    assert documents(source, size=size) == TOKENS


def test_two_dimensional_array_is_a_document_a_row():
    assert documents(np.array([["a", "b"], ["c", "d"]])) == [["a", "b"], ["c", "d"]]


def test_fixed_size_lists_are_token_lists():
    assert documents(pa.array([["a", "b"], ["c", "d"]], pa.list_(pa.string(), 2))) == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize(
    "source",
    [
        [],
        iter([]),
        np.array([]),
        pd.Series([]),
        pa.array([], pa.float64()),
        pa.chunked_array([], pa.string()),
        pa.table({"text": []}),
        pd.DataFrame({"text": []}),
    ],
    ids=lambda source: type(source).__name__,
)
def test_an_empty_source_is_an_empty_corpus(source):
    assert list(blocks(source)) == []


@given(
    texts=st.lists(st.one_of(st.text(), st.sampled_from(["", "long " * 40])), max_size=30),
    size=st.integers(1, 300),
    tokenised=st.booleans(),
)
@settings(deadline=None)
def test_block_size_changes_neither_documents_nor_order(texts, size, tokenised):
    source = [text.split() for text in texts] if tokenised else texts
    assert documents(iter(source), size=size) == source
    labels = list(range(len(source)))
    assert column("labels", source, label=labels, size=size) == labels


def test_blocks_have_about_the_size_asked_for():
    texts = [f"document {i} " * 5 for i in range(20_000)]
    sizes = [sum(map(len, block.texts)) for block in read_in(100_000, texts)]
    assert len(sizes) > 10
    assert max(sizes) < 250_000


def test_a_generator_is_read_block_by_block():
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield "a text of some length " * 50

    with small_blocks(1 << 20):
        first = next(blocks(endless()))
    assert len(first) > 0
    assert taken < 5000


def test_one_very_long_document_stays_whole():
    long = "word " * 10_000_000
    sizes = [len(text) for text in documents(["a", long, "b"], size=1 << 16)]
    assert sizes == [1, 50_000_000, 1]


def test_more_than_one_slice_of_a_column():
    texts = [str(i) for i in range(150_000)]
    assert documents(pa.array(texts)) == texts
    assert documents(pa.table({"text": texts}).to_reader()) == texts


def test_surrogates_become_the_replacement_character():
    assert documents(["ok é", "a\ud800b", "\udfff"]) == ["ok é", "a\ufffdb", "\ufffd"]
    assert documents([["a\ud800", "b"]]) == [["a\ufffd", "b"]]


def test_blocks_pass_through():
    made = read_in(1, TEXTS, label=range(5))
    assert list(blocks(iter(made))) == made
    assert list(blocks(made)) == made
    assert list(blocks(made[2])) == [made[2]]
    with pytest.raises(CorpusError, match="have labels and ids already"):
        blocks(made, label=[1, 2])
    with pytest.raises(CorpusError, match=r"after blocks .* of type str"):
        list(blocks([made[0], "text"]))


def test_a_block_knows_its_kind():
    assert not Block(["a"], None, None, 0).tokenised
    assert next(blocks([["a"]])).tokenised


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table, lambda d: pa.table(d).to_reader(2)])
def test_labels_and_ids_from_columns(frame):
    data = {"body": ["a", "b", "c"], "y": [1, 0, 1], "name": ["i", "ii", "iii"]}
    options = {"text": "body", "label": "y", "id": "name", "size": 1}
    assert documents(frame(data), **options) == ["a", "b", "c"]
    assert column("labels", frame(data), **options) == [1, 0, 1]
    assert column("ids", frame(data), **options) == ["i", "ii", "iii"]


@pytest.mark.parametrize(
    "labels",
    [
        ["x", None, "y"],
        np.array(["x", None, "y"], object),
        pd.Series(["x", None, "y"]),
        pa.chunked_array([["x"], [None, "y"]]),
    ],
    ids=lambda labels: type(labels).__name__,
)
def test_labels_and_ids_as_values(labels):
    assert column("labels", iter("abc"), label=labels, size=1) == ["x", None, "y"]
    assert column("ids", pa.table({"text": list("abc")}), id=labels) == ["x", None, "y"]


def test_labels_are_values_of_python():
    [block] = blocks(["a", "b"], label=np.array([1, 2], np.int8), id=pd.Series(["x", None], dtype="category"))
    assert (block.labels, block.ids) == ([1, 2], ["x", None])
    assert {type(label) for label in block.labels} == {int}
    days = np.array(["2020-01-02", "1999-12-31"], "datetime64[ns]")
    assert [day.year for block in blocks(["a", "b"], label=days) for day in block.labels] == [2020, 1999]


def test_progress_counts_characters():
    seen = []
    texts = ["aé", "bb", "cc"]
    assert documents(texts, size=1, progress=seen.append) == texts
    assert seen[-1] == 6
    assert seen == sorted(seen)


def test_progress_counts_only_the_slice():
    seen = []
    texts = pa.array(["x" * 100, "a", "bb"], pa.large_string())[1:]
    assert documents(texts, progress=seen.append) == ["a", "bb"]
    assert seen == [3]


BAD = {
    "one str": ("a text", r"wrap one text in a list.*Path\("),
    "bytes": (b"a text", "bytes"),
    "a set": ({"a", "b"}, "set.*order"),
    "a dict": ({"text": ["a"]}, "dict"),
    "an array without a dimension": (np.array("a text"), "of type ndarray.*iterable of str"),
    "a number": (3, "of type int.*iterable of str"),
    "None": (None, "the corpus is None"),
    "an int": ([1, "a"], r"document 0 .*of type int"),
    "bytes inside": (["a", b"b"], r"document 1 .*bytes.*decode"),
    "a dict inside": ([{"text": "a"}], r"document 0 .*dict"),
    "a late one": ((text if i != 5000 else 7 for i, text in enumerate(["x"] * 6000)), "document 5000 "),
    "mixture": (["a", ["b"]], r"document 1 .*list of tokens.*texts"),
    "mixture the other way": ([["b"], "a"], r"document 1 .*is a text.*lists of tokens"),
    "a late mixture": (["a"] * 5000 + [["b"]], r"document 5000 .*list of tokens"),
    "an int token": ([["a"], ["b", 2]], r"document 1 .*token.*of type int"),
    "a None token": ([["a"], [None]], r"document 1 .*token.*None"),
    "numpy bytes": (np.array([b"a"]), r"document 0 .*bytes"),
    "numpy ints": (np.arange(3), r"document 0 .*of type int"),
    "pandas object": (pd.Series(["a", 7, "b"], dtype=object), r"document 1 .*of type int"),
    "pandas ints": (pd.Series([1, 2]), r"document 0 .*of type int"),
    "arrow binary": (pa.array([b"a"]), r"document 0 .*bytes.*decode"),
    "arrow null token": (pa.array([["a"], [], ["b", None]]), r"document 2 .*token that is None"),
    "arrow int tokens": (pa.array([[1], [2]]), r"document 0 .*token that is of type int"),
    "arrow not utf-8": (
        pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 2], "i4")), pa.py_buffer(b"a\xff")),
        r"document 0 .* or one soon after it is not valid UTF-8",
    ),
    "frame with a bad cell": (pd.DataFrame({"text": ["a", 5], "n": [1, 2]}), r"document 1 .*of type int"),
    "frame without the column": (pd.DataFrame({"a": ["x"], "b": ["y"]}), 'no column "text".*"a", "b"'),
    "reader without the column": (pa.table({"a": ["x"], "b": ["y"]}).to_reader(), 'no column "text".*"a", "b"'),
    "two columns of a name": (pa.table([["x"], ["y"]], names=["text", "text"]), '2 columns named "text"'),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_a_sentence(name):
    source, sentence = BAD[name]
    with pytest.raises(CorpusError, match=sentence):
        list(blocks(source))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"label": [1]}, "1 labels, but more documents"),
        ({"label": [1, 2, 3]}, "3 labels, but 2 documents"),
        ({"id": ["x"]}, "1 ids, but more documents"),
        ({"label": "y"}, '"y" would name a column.*without columns'),
        ({"carry": ["y"], "id": "x"}, '"x" would name a column'),
        ({"text": "body"}, '"body" would name a column.*without columns'),
        ({"text": ["title", "body"]}, '"title" would name a column'),
        ({"text": []}, "text names no column"),
    ],
)
def test_bad_options_get_a_sentence(options, sentence):
    with pytest.raises(CorpusError, match=sentence):
        list(blocks(["a", "b"], **options))


NULLS = {
    "list": ["a", None, "b", float("nan")],
    "pandas": pd.Series(["a", None, "b", None], dtype="string"),
    "pandas object": pd.Series(["a", None, "b", float("nan")], dtype=object),
    "arrow": pa.chunked_array([["a", None], ["b", None]]),
    "frame": pd.DataFrame({"text": ["a", None, "b", pd.NA], "n": range(4)}),
}


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("name", NULLS)
def test_nulls_are_empty_texts_with_one_warning(name, size):
    with pytest.warns(ParasphereWarning, match=r"2 of 4 texts are null .* the first is document 1 ") as caught:
        assert documents(NULLS[name], size) == ["a", "", "b", ""]
    assert len(caught) == 1
    assert caught[0].filename == blocksize.__file__  # the nearest caller outside of the library


@pytest.mark.parametrize("source", [pa.nulls(2), [None, None], pa.table({"text": pa.nulls(2)})])
def test_only_nulls_are_empty_texts(source):
    with pytest.warns(ParasphereWarning, match="2 of 2 texts are null"):
        assert documents(source) == ["", ""]


@pytest.mark.parametrize("source", [[None, ["a"], None], pa.array([None, ["a"], None])])
def test_a_null_among_token_lists_is_an_empty_list(source):
    with pytest.warns(ParasphereWarning, match="2 of 3 texts are null .* the first is document 0"):
        assert documents(source) == [[], ["a"], []]


TWO = {"title": ["One", None, "", "Four"], "body": ["a text", "another", None, ""], "n": [1, 2, 3, 4]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table, lambda d: pa.table(d).to_reader(2)])
@pytest.mark.parametrize("size", [1, 1000])
def test_several_columns_are_one_text(frame, size):
    found = read_in(size, frame(TWO), text=["title", "body"], id="n", carry=["title"])
    assert [text for part in found for text in part.texts] == ["One\n\na text", "another", "", "Four"]
    assert [id for part in found for id in part.ids] == [1, 2, 3, 4]
    assert [title for part in found for title in part.carried["title"]] == TWO["title"]
    assert documents(frame(TWO), size, text=("body", "title"))[0] == "a text\n\nOne"


def test_what_several_columns_cannot_be():
    with pytest.raises(CorpusError, match='has no column "titel"; its columns are "title", "body", "n"'):
        documents(pa.table(TWO), text=["titel", "body"])
    with pytest.raises(CorpusError, match=r"document 0 .* has a column of texts that is of type int"):
        documents(pa.table(TWO), text=["title", "n"])
    with pytest.warns(ParasphereWarning, match="1 of 2 texts are null"):
        assert documents(pd.DataFrame({"a": ["x", None], "b": [None, None]}), text=["a", "b"]) == ["x", ""]


def test_rows_of_a_table_that_are_taken_for_tokens_warn():
    rows = [["a title", "a long text"], ["Another", "and its text"]]
    for source in (rows, np.array(rows), list(map(tuple, rows))):
        with pytest.warns(ParasphereWarning, match=r"3 of the first 4 tokens contain spaces.*text=\[\"title"):
            assert documents(source) == rows
    assert documents(np.array([["one text"], ["another"]])) == ["one text", "another"]
    assert documents([["words", " ", "and", "\n"]]) == [["words", " ", "and", "\n"]]


def test_lone_surrogates_in_columns_become_the_replacement_character():
    frame = pd.DataFrame({"text": ["a", "b"], "n": ["x", "y\ud800"], "y": ["\udfff", None]}, dtype=object)
    [part] = blocks(frame, id="n", label="y", carry=["n"])
    assert (part.ids, part.labels, part.carried) == (["x", "y\ufffd"], ["\ufffd", None], {"n": ["x", "y\ufffd"]})
    assert column("ids", ["a"], id=["\ud800"]) == ["\ufffd"]


@pytest.mark.parametrize(
    "dates",
    [
        np.array(["2020-01-01", "10000-01-01"], "M8[D]"),
        np.array(["2020", "300000"], "M8[Y]"),
        pa.array([0, 1 << 61], pa.timestamp("us")),
        pa.array([0, 1 << 60], pa.timestamp("s")),
    ],
)
def test_dates_that_python_does_not_have(dates):
    with pytest.raises(CorpusError, match=r"year|a date that Python does not have"):
        blocks(["a", "b"], id=dates)


def test_dates_in_nanoseconds_and_missing_ones():
    days = pa.array([1, None], pa.timestamp("ns"))
    assert column("ids", ["a", "b"], id=days) == [datetime(1970, 1, 1), None]
    assert column("ids", ["a"], id=np.array(["NaT"], "M8[ns]")) == [None]


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="without an option 'sample_weight'; there are text, label, id"):
        blocks(["a"], sample_weight=[1])


def test_what_is_reread():
    for source in (iter(["a"]), pa.table({"text": ["a"]}).to_reader(), ["a"], pd.Series(["a"]), pa.array(["a"])):
        corpus = reread(source)
        assert documents(corpus) == documents(corpus) == ["a"]
    corpus = reread(pa.table(TWO), text=["title", "body"])
    assert documents(corpus) == documents(corpus)


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table, lambda d: pa.table(d).to_reader()])
def test_a_missing_label_column_lists_those_there_are(frame):
    with pytest.raises(CorpusError, match='no column "y"; its columns are "text", "z"'):
        list(blocks(frame({"text": ["a"], "z": [1]}), label="y"))


def test_a_named_column_is_not_replaced_by_the_only_one():
    with pytest.raises(CorpusError, match='no column "body"'):
        list(blocks(pa.table({"words": ["a"]}), text="body"))
