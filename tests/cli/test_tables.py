"""Tables of every kind on the command line: nulls, JSON arrays, carried columns, standard output, tokenizers."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from blocksize import read_in
from commands import typed

from parasphere import CorpusError, Index, ParasphereWarning, SegmentingTokenizer, SphericalParagraphModel, Tokenizer
from parasphere.corpus import blocks

WORDS = ["north", "east", "north east", None, "east east", "northeast"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "tiny.txt").write_text("north 0 2\neast 3 0\nnortheast 1 1\n")
    (tmp_path / "c.txt").write_text("north\neast north\nnortheast\n" * 5)
    told = typed("fit", tmp_path / "c.txt", "-v", tmp_path / "tiny.txt", "-o", tmp_path / "m")
    assert told.code == 0, told.err
    return tmp_path / "m"


@pytest.fixture(params=["parquet", "jsonl", "json"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same table, with a null among its texts."""
    path = tmp_path / f"table.{request.param}"
    rows = [{"text": text, "id": f"d{i}", "year": 2000 + i, "place": f"p{i}"} for i, text in enumerate(WORDS)]
    if request.param == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(json.dumps(rows) if request.param == "json" else "\n".join(map(json.dumps, rows)))
    return path


def test_nulls_are_empty_texts(table: Path, model: Path, tmp_path: Path) -> None:
    told = typed("transform", model, table, "--id-column", "id", "-o", tmp_path / "v.parquet")
    assert (told.code, told.err.count("1 of 6 texts are null and were read as empty texts; the first is")) == (0, 1)
    assert pq.read_table(tmp_path / "v.parquet")["id"].to_pylist() == [f"d{i}" for i in range(6)]
    with pytest.warns(ParasphereWarning, match="1 of 6 texts are null"):
        [block] = blocks(table)
    assert block.texts == [text or "" for text in WORDS]


def test_several_columns_of_texts_are_one(table: Path, model: Path, tmp_path: Path) -> None:
    columns = ["--text-column", "place", "--text-column", "text"]
    joined = [f"p{i}\n\n{text}" if text else f"p{i}" for i, text in enumerate(WORDS)]
    assert [text for block in blocks(table, text=["place", "text"]) for text in block.texts] == joined
    told = typed("duplicates", table, *columns, "--threshold", "0.1", "--json")
    assert (told.code, json.loads(told.out)["texts"]) == (0, 6)
    assert typed("index", model, table, *columns, "-o", tmp_path / "i").code == 0
    index = Index.load(tmp_path / "i")
    assert index.texts is not None
    assert index.texts.tolist() == joined
    assert typed("fit", table, *columns, "-v", tmp_path / "tiny.txt", "-o", tmp_path / "m2").code == 0
    assert typed("transform", model, table, "-o", tmp_path / "v.npy", *columns).code == 0
    assert typed("topics", table, "-n", "2", "--model", model, *columns).code == 0
    told = typed("fit", table, *columns, "--text-column", "titel", "-o", tmp_path / "m2")
    assert 'has no column "titel"; its columns are' in told.err


def test_columns_are_carried_along(table: Path, model: Path, tmp_path: Path) -> None:
    how = ["transform", model, table, "--carry", "year, place"]
    assert typed(*how, "-o", tmp_path / "v.parquet").code == 0
    written = pq.read_table(tmp_path / "v.parquet")
    assert [int(year) for year in written["year"].to_pylist()] == list(range(2000, 2006))
    assert written["place"].to_pylist()[-1] == "p5"
    assert 'has no column "colour"' in typed(*how[:-1], "colour", "-o", tmp_path / "v.parquet").err


def test_carried_columns_survive_cutting_and_joining(tmp_path: Path) -> None:
    rows = [{"text": "x" * (i % 7), "n": i} for i in range(500)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet", row_group_size=50)
    for source in (tmp_path / "t.parquet", pa.Table.from_pylist(rows), pa.Table.from_pylist(rows).to_reader(64)):
        parts = read_in(100, source, carry=["n"])
        assert [n for part in parts for n in part.carried["n"]] == list(range(500))
        assert all(len(part.carried["n"]) == len(part.texts) for part in parts)
        assert parts[0].part(1, 3).carried == {"n": [1, 2]}


def test_what_cannot_be_carried_is_told(model: Path, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("text,length\nnorth,1\n")
    told = typed("transform", model, tmp_path / "c.csv", "--carry", "length", "-o", tmp_path / "v.csv").err
    assert "the column 'length' cannot be carried along: the output has a column of this name" in told
    (tmp_path / "d.csv").write_text("text,label,id\nnorth,a,7\n")
    how = ["transform", model, tmp_path / "d.csv", "--carry", "label,id", "-o", tmp_path / "v.csv"]
    assert typed(*how).code == 0
    assert (tmp_path / "v.csv").read_text().startswith("label,id,information")
    assert "the column 'id' cannot be carried along" in typed(*how, "--id-column", "id").err
    told = typed("transform", model, tmp_path / "c.txt", "--carry", "year", "-o", tmp_path / "v.csv").err
    assert "lines of text have no columns" in told
    told = typed("transform", model, tmp_path / "c.csv", "--carry", "text", "-o", tmp_path / "v.npy").err
    assert "write labels and other columns to .jsonl, .csv or .parquet" in told
    assert not (tmp_path / "v.npy").exists()


def test_a_corpus_is_not_replaced_by_its_vectors(model: Path, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    corpus, texts = tmp_path / "texts" / "c.csv", "text,label\nnorth,1\n"
    corpus.write_text(texts)
    (tmp_path / "link.csv").symlink_to(corpus)
    for out in (corpus, tmp_path / "link.csv", tmp_path / "texts" / ".." / "texts" / "c.csv"):
        told = typed("transform", model, corpus, "-o", out)
        assert (told.code, "belongs to the corpus and would be overwritten" in told.err) == (1, True)
    assert "belongs to the corpus" in typed("transform", model, tmp_path / "texts", "-o", corpus).err
    assert corpus.read_text() == texts
    assert typed("transform", model, corpus, "-o", tmp_path / "texts" / "new.csv").code == 0


def test_arrays_of_texts_and_what_is_no_array(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('["north", "east\\nwest"]')
    [block] = blocks(tmp_path / "a.json")
    assert block.texts == ["north", "east\nwest"]
    (tmp_path / "a.json").write_text("[]")
    with pytest.warns(ParasphereWarning, match="no documents in it"):
        assert list(blocks(tmp_path / "a.json")) == []
    for wrong, told in (
        ('{"text": "a"}', "an array of objects"),
        ("[1]", "item 1: it is of type int"),
        ("[", "not JSON"),
    ):
        (tmp_path / "a.json").write_text(wrong)
        with pytest.raises(CorpusError, match=told):
            list(blocks(tmp_path / "a.json"))


def test_vectors_go_to_standard_output(model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "parasphere", "transform", model, tmp_path / "c.txt", "-o", "-"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = list(csv.DictReader(done.stdout.splitlines()))
    vectors = SphericalParagraphModel.load(model).transform(tmp_path / "c.txt")
    np.testing.assert_allclose([[float(row["v0"]), float(row["v1"])] for row in rows], vectors, atol=1e-6)


def test_vectors_from_nothing_and_tokenizers_by_name(tmp_path: Path) -> None:
    corpus = tmp_path / "c.txt"
    corpus.write_text("複製文件和目錄 2024\n複製文件 b2b\n更改文件的所有者 b2b\n" * 5)
    how = ["fit", corpus, "-v", "none", "-o", tmp_path / "m"]
    for name, kind, word in (("segmenting", SegmentingTokenizer, "b2b"), ("letters", Tokenizer, "複製文件和目錄")):
        told = typed(*how, "--tokenizer", name)
        assert told.code == 0
        assert "without spaces" not in told.err
        model = SphericalParagraphModel.load(tmp_path / "m")
        assert isinstance(model.encoder_.reader.tokenizer, kind)
        assert word in model.vectors_
    told = typed(*how)
    assert "without spaces between words" in told.err
    assert "tokenizer=SegmentingTokenizer()" in told.err
