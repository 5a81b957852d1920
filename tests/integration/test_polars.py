"""Columns and tables of polars, in and out."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from blocksize import read_in

from parasphere import SphericalParagraphModel, WordVectors
from parasphere.corpus import blocks
from parasphere.errors import CorpusError, ParasphereWarning

TEXTS = ["the quick fox", "", "naïve Ελλάς 😀", "nul \x00 byte", "two\nlines"]
TOKENS = [["the", "quick"], [], ["naïve", "", "😀"]]


@pytest.mark.parametrize("size", [1, 40, 1 << 20])
@pytest.mark.parametrize(
    "source",
    [
        pl.Series(TEXTS),
        pl.Series(TEXTS, dtype=pl.Categorical),
        pl.DataFrame({"n": range(len(TEXTS)), "text": TEXTS}),
        pl.Series(TOKENS),
    ],
)
def test_documents_are_those_of_the_column(source: pl.Series | pl.DataFrame, size: int) -> None:
    found = [text for block in read_in(size, source) for text in block.texts]
    assert found == (TOKENS if isinstance(source, pl.Series) and source.dtype == pl.List(pl.String) else TEXTS)


def test_an_empty_column_is_an_empty_corpus() -> None:
    assert list(blocks(pl.Series([]))) == []


def test_labels_and_ids() -> None:
    frame = pl.DataFrame({"body": ["a", "b", "c"], "y": [1, 0, 1], "name": ["i", "ii", "iii"]})
    found = read_in(1, frame, text="body", label="y", id="name")
    assert [text for block in found for text in block.texts] == ["a", "b", "c"]
    assert [label for block in found for label in block.labels] == [1, 0, 1]
    assert [name for block in found for name in block.ids] == ["i", "ii", "iii"]
    values = pl.Series(["x", None, "y"], dtype=pl.Categorical)
    found = read_in(1, iter("abc"), label=values)
    assert [label for block in found for label in block.labels] == ["x", None, "y"]
    found = list(blocks(pa.table({"text": list("abc")}), id=values))
    assert [name for block in found for name in block.ids] == ["x", None, "y"]


def test_what_is_missing_is_named() -> None:
    with pytest.warns(ParasphereWarning, match=r"1 of 3 texts are null .*document 2 "):
        list(blocks(pl.Series(["a", "b", None])))
    with pytest.raises(CorpusError, match='no column "y"; its columns are "text", "z"'):
        list(blocks(pl.DataFrame({"text": ["a"], "z": [1]}), label="y"))


def test_vectors_come_out_as_a_table() -> None:
    texts = ["north", "north east", "north west"]
    compass = WordVectors.from_arrays(["north", "east", "west"], np.array([[0, 1], [1, 0], [-1, 0.1]]))
    model = SphericalParagraphModel(compass, tol=1e-3).fit(texts)
    table = SphericalParagraphModel(compass, tol=1e-3).set_output(transform="polars").fit(texts)
    found = table.transform(pl.Series(texts))
    assert isinstance(found, pl.DataFrame)
    assert np.array_equal(found.to_numpy(), model.transform(texts))
