"""Documents in memory: every container gives the same documents, and bad ones get a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere.corpus import Block, blocks
from parasphere.errors import CorpusError

TEXTS = ["the quick fox", "", "naïve Ελλάς 😀", "nul \x00 byte", "two\nlines"]
TOKENS = [["the", "quick"], [], ["naïve", "", "😀"]]


def documents(source, **options):
    """Return all documents; check on the way that blocks are numbered and typed as promised."""
    found = []
    for block in blocks(source, **options):
        assert block.start == len(found)
        assert len(block) == len(block.texts) > 0
        assert {type(text) for text in block.texts} <= ({list} if block.tokenised else {str, np.str_})
        found += block.texts
    return found


def column(which, source, **options):
    return [value for block in blocks(source, **options) for value in getattr(block, which)]


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


@pytest.mark.parametrize("block_bytes", [1, 40, 1 << 20])
@pytest.mark.parametrize("name", TEXT_CONTAINERS)
def test_every_container_of_texts_gives_the_same_documents(name, block_bytes):
    expected = [text.replace("\x00", "?") for text in TEXTS] if name == "numpy str" else TEXTS
    assert documents(TEXT_CONTAINERS[name](TEXTS), block_bytes=block_bytes) == expected


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


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize("name", TOKEN_CONTAINERS)
def test_every_container_of_tokens_gives_the_same_documents(name, block_bytes):
    source = TOKEN_CONTAINERS[name](TOKENS)
    assert documents(source, block_bytes=block_bytes) == TOKENS


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
    block_bytes=st.integers(1, 300),
    tokenised=st.booleans(),
)
@settings(deadline=None)
def test_block_size_changes_neither_documents_nor_order(texts, block_bytes, tokenised):
    source = [text.split() for text in texts] if tokenised else texts
    assert documents(iter(source), block_bytes=block_bytes) == source
    labels = list(range(len(source)))
    assert column("labels", source, label=labels, block_bytes=block_bytes) == labels


def test_blocks_have_about_the_size_asked_for():
    texts = [f"document {i} " * 5 for i in range(20_000)]
    sizes = [sum(map(len, block.texts)) for block in blocks(texts, block_bytes=100_000)]
    assert len(sizes) > 10
    assert max(sizes) < 250_000


def test_a_generator_is_read_block_by_block():
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield "a text of some length " * 50

    first = next(blocks(endless(), block_bytes=1 << 20))
    assert len(first) > 0
    assert taken < 5000


def test_one_very_long_document_stays_whole():
    long = "word " * 10_000_000
    sizes = [len(text) for text in documents(["a", long, "b"], block_bytes=1 << 16)]
    assert sizes == [1, 50_000_000, 1]


def test_more_than_one_slice_of_a_column():
    texts = [str(i) for i in range(150_000)]
    assert documents(pa.array(texts)) == texts
    assert documents(pa.table({"text": texts}).to_reader()) == texts


def test_surrogates_become_the_replacement_character():
    assert documents(["ok é", "a\ud800b", "\udfff"]) == ["ok é", "a\ufffdb", "\ufffd"]
    assert documents([["a\ud800", "b"]]) == [["a\ufffd", "b"]]


def test_blocks_pass_through():
    made = list(blocks(TEXTS, label=range(5), block_bytes=1))
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
    options = {"text": "body", "label": "y", "id": "name", "block_bytes": 1}
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
    assert column("labels", iter("abc"), label=labels, block_bytes=1) == ["x", None, "y"]
    assert column("ids", pa.table({"text": list("abc")}), id=labels) == ["x", None, "y"]


def test_labels_are_values_of_python():
    [block] = blocks(["a", "b"], label=np.array([1, 2], np.int8), id=pd.Series(["x", None], dtype="category"))
    assert (block.labels, block.ids) == ([1, 2], ["x", None])
    assert {type(label) for label in block.labels} == {int}
    days = np.array(["2020-01-02", "1999-12-31"], "datetime64[ns]")
    assert [day.year for block in blocks(["a", "b"], label=days) for day in block.labels] == [2020, 1999]


def test_progress_counts_bytes_of_text():
    seen = []
    texts = ["aé", "bb", "cc"]
    assert documents(texts, block_bytes=1, progress=seen.append) == texts
    assert seen[-1] == 7
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
    "None inside": (["a", None], r"document 1 .*is None"),
    "NaN": (["a", "b", float("nan")], r"document 2 .*NaN"),
    "an int": ([1, "a"], r"document 0 .*of type int"),
    "bytes inside": (["a", b"b"], r"document 1 .*bytes.*decode"),
    "a dict inside": ([{"text": "a"}], r"document 0 .*dict"),
    "a late one": ((text if i != 5000 else None for i, text in enumerate(["x"] * 6000)), "document 5000 "),
    "mixture": (["a", ["b"]], r"document 1 .*list of tokens.*texts"),
    "mixture the other way": ([["b"], "a"], r"document 1 .*is a text.*lists of tokens"),
    "a late mixture": (["a"] * 5000 + [["b"]], r"document 5000 .*list of tokens"),
    "an int token": ([["a"], ["b", 2]], r"document 1 .*token.*of type int"),
    "a None token": ([["a"], [None]], r"document 1 .*token.*None"),
    "numpy bytes": (np.array([b"a"]), r"document 0 .*bytes"),
    "numpy ints": (np.arange(3), r"document 0 .*of type int"),
    "pandas missing": (pd.Series(["a", None, "b"], dtype="string"), r"document 1 .*null"),
    "pandas object missing": (pd.Series(["a", None, "b"], dtype=object), r"document 1 .*is None"),
    "pandas object": (pd.Series(["a", 7, "b"], dtype=object), r"document 1 .*of type int"),
    "pandas ints": (pd.Series([1, 2]), r"document 0 .*of type int"),
    "arrow null": (pa.chunked_array([["a", "b", "c"], ["d", None]]), r"document 4 .*null"),
    "arrow only nulls": (pa.nulls(2), r"document 0 .*null"),
    "arrow binary": (pa.array([b"a"]), r"document 0 .*binary.*cast"),
    "arrow null token": (pa.array([["a"], [], ["b", None]]), r"document 2 .*token that is null"),
    "arrow int tokens": (pa.array([[1], [2]]), r"document 0 .*int64"),
    "arrow not utf-8": (
        pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 2], "i4")), pa.py_buffer(b"a\xff")),
        r"document 1 .*not valid UTF-8",
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
        ({"block_bytes": 0}, "at least 1"),
    ],
)
def test_bad_options_get_a_sentence(options, sentence):
    with pytest.raises(CorpusError, match=sentence):
        list(blocks(["a", "b"], **options))


@pytest.mark.parametrize("frame", [pd.DataFrame, pa.table, lambda d: pa.table(d).to_reader()])
def test_a_missing_label_column_lists_those_there_are(frame):
    with pytest.raises(CorpusError, match='no column "y"; its columns are "text", "z"'):
        list(blocks(frame({"text": ["a"], "z": [1]}), label="y"))


def test_a_named_column_is_not_replaced_by_the_only_one():
    with pytest.raises(CorpusError, match='no column "body"'):
        list(blocks(pa.table({"words": ["a"]}), text="body"))
