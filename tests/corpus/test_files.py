"""Documents on disk: what was written is what is read, and what is wrong is named with its file and line."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import sys
import tempfile
import tracemalloc
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from blocksize import read_in, small_blocks
from hypothesis import given, settings
from hypothesis import strategies as st

from parasphere.cli import common
from parasphere.corpus import STANDARD_INPUT, block, blocks, decoding
from parasphere.errors import CorpusError, ParasphereWarning

zstd = import_module(decoding.ZSTD)

TEXTS = ["the quick fox", "", "naïve Ελλάς 😀", "nul \x00 byte", 'a "quoted", one', "NA", "123", " \t spaces "]


def documents(source, size=block.BYTES, **options):
    return [text for part in read_in(size, source, **options) for text in part.texts]


def column(which, source, size=block.BYTES, **options):
    return [value for part in read_in(size, source, **options) for value in getattr(part, which)]


def write_csv(path, rows, delimiter=","):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)


def write(path, texts):
    """Write the texts in the format that the extension names, with the writers people use."""
    if path.suffix in PACKINGS:
        plain = path.with_suffix("")
        write(plain, texts)
        path.write_bytes(PACKINGS[path.suffix](plain.read_bytes()))
    elif path.suffix == ".txt":
        path.write_bytes("".join(text + "\n" for text in texts).encode())
    elif path.suffix in (".jsonl", ".ndjson"):
        path.write_text("".join(json.dumps({"n": 1, "text": t}) + "\n" for t in texts), encoding="utf-8")
    elif path.suffix in (".csv", ".tsv"):
        rows = [("n", "text"), *((1, text) for text in texts)]
        write_csv(path, rows, "\t" if path.suffix == ".tsv" else ",")
    else:
        pq.write_table(pa.table({"n": [1] * len(texts), "text": pa.array(texts, pa.string())}), path)
    return path


FORMATS = [".txt", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"]
PACKINGS = {
    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd.compress,
}  # fmt: skip


@pytest.mark.parametrize("size", [1, 30, 1 << 20])
@pytest.mark.parametrize("extension", [extension + packing for extension in FORMATS for packing in ("", *PACKINGS)])
def test_what_was_written_is_read(tmp_path, extension, size):
    path = write(tmp_path / f"corpus{extension}", TEXTS)
    assert documents(path, size=size) == TEXTS


# A line of .txt cannot hold a newline, nor end with the half of one; the other formats can.
LINES = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])).map(lambda s: s.rstrip("\r"))
ANY = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.filterwarnings("ignore:.*no documents in it")
@given(
    data=st.data(),
    extension=st.sampled_from(FORMATS),
    size=st.integers(1, 200),
    packing=st.sampled_from(["", *PACKINGS]),
)
@settings(deadline=None, max_examples=150)
def test_files_and_memory_agree_whatever_the_block_size(data, extension, size, packing):
    texts = data.draw(st.lists(LINES if extension == ".txt" else ANY, max_size=20))
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / f"corpus{extension}{packing}", texts)
        read = list(read_in(size, path))
    assert [text for block in read for text in block.texts] == texts
    assert [text for block in read_in(size, texts) for text in block.texts] == texts
    assert [part.start for part in read] == [sum(map(len, read[:i])) for i in range(len(read))]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"\n", [""]),
        (b"one", ["one"]),
        (b"one\n\ntwo\n", ["one", "", "two"]),
        (b"one\r\n\r\ntwo\r\nlone \r stays", ["one", "", "two", "lone \r stays"]),
        ("sep\u2028arator\x0b\x0c\x85\nx".encode(), ["sep\u2028arator\x0b\x0c\x85", "x"]),
        (b"\xef\xbb\xbfmark\n\xef\xbb\xbfkept", ["mark", "\ufeffkept"]),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_lines(tmp_path, raw, expected, size):
    path = tmp_path / "lines.txt"
    path.write_bytes(raw)
    assert documents(path, size=size) == expected


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-7", "shift_jis", "iso2022_jp", "utf-8-sig"])
@pytest.mark.parametrize("extension", [".txt", ".jsonl", ".csv"])
def test_other_encodings(tmp_path, encoding, extension):
    texts = ["日本", "語"] if "jis" in encoding or "jp" in encoding else ["café\u00bf", "naïve"]
    utf8 = write(tmp_path / f"utf8{extension}", texts).read_text(encoding="utf-8")
    path = tmp_path / f"other{extension}"
    path.write_bytes(utf8.encode(encoding))
    for size in (1, 1000):
        assert documents(path, encoding=encoding, size=size) == texts


@pytest.mark.parametrize("extension", [".txt", ".jsonl", ".csv", ".parquet"])
def test_a_document_far_longer_than_a_block(tmp_path, extension):
    texts = ["short", "x" * 3_000_000, "y", *["z" * 50_000] * 5, "end"]
    assert documents(write(tmp_path / f"long{extension}", texts), size=1000) == texts


def test_a_long_csv_row_after_many_short_ones(tmp_path):
    texts = [*(f"{i}, two\nlines\n\nand more" for i in range(20_000)), "x" * 1_000_000, "end"]
    assert documents(write(tmp_path / "rows.csv", texts), size=1 << 16) == texts


def test_a_document_of_fifty_megabytes(tmp_path):
    path = tmp_path / "long.txt"
    path.write_bytes(b"a\n" + b"word " * 10_000_000 + b"\nb\n")
    sizes = [len(text) for text in documents(path)]
    assert sizes == [1, 50_000_000, 1]


@pytest.mark.parametrize("extension", [".txt", ".txt.gz", ".jsonl"])
def test_memory_is_about_a_block(tmp_path, extension):
    path = write(tmp_path / f"big{extension}", ["a line of some words and more " * 4] * 100_000)
    tracemalloc.start()
    with small_blocks(1 << 19):
        seen = sum(len(part) for part in blocks(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen == 100_000
    assert peak < 8 << 20  # the file is 12 MB and more


# ------------------------------------------------------------------------------ tables on disk


@pytest.mark.parametrize("extension", [".jsonl", ".csv", ".tsv", ".parquet", ".csv.gz"])
def test_labels_and_ids_from_columns(tmp_path, extension):
    path = tmp_path / f"table{extension}"
    rows = [{"id": "007", "body": f"text {i}", "y": "2020-01-01" if i else "NA"} for i in range(5)]
    if extension == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif extension == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        plain = path.with_suffix("") if path.suffix == ".gz" else path
        write_csv(plain, [list(rows[0]), *(row.values() for row in rows)], "\t" if ".tsv" in extension else ",")
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(plain.read_bytes()))
    options = {"text": "body", "label": "y", "id": "id", "size": 40}
    assert documents(path, **options) == [f"text {i}" for i in range(5)]
    assert column("labels", path, **options) == ["NA"] + ["2020-01-01"] * 4
    assert column("ids", path, **options) == ["007"] * 5


def test_labels_as_values_for_a_file(tmp_path):
    path = write(tmp_path / "corpus.txt", ["a", "b", "c"])
    assert column("labels", path, label=[1, 2, 3], size=1) == [1, 2, 3]
    with pytest.raises(CorpusError, match="4 labels, but 3 documents"):
        list(blocks(path, label=[1, 2, 3, 4]))


@pytest.mark.parametrize("size", [1, 1000])
def test_json_labels_are_spelled_as_strings_whatever_the_block(tmp_path, size):
    path = tmp_path / "labels.jsonl"
    labels = ["1", "x", "-2", "1.5", "true", None, "12345678901234567890", None]
    path.write_text(
        '{"text":"a","y":1}\n{"text":"a","y":"x"}\n{"text":"a","y":-2}\n{"text":"a","y":1.5}\n'
        '{"text":"a","y":true}\n{"text":"a","y":null}\n{"text":"a","y":12345678901234567890}\n{"text":"a"}\n'
    )
    assert column("labels", path, label="y", size=size) == labels


def test_json_integers_as_ids_stay_integers(tmp_path):
    path = tmp_path / "ids.jsonl"
    path.write_text('{"text": "a", "n": 7}\n{"text": "b", "n": "x"}\n{"text": "c", "n": true}\n')
    assert column("ids", path, id="n") == [7, "x", True]


def test_json_lines_of_tokens(tmp_path):
    path = tmp_path / "tokens.jsonl"
    tokens = [["a", "b"], [], ["ç"]]
    path.write_text("".join(json.dumps({"text": t}) + "\n" for t in tokens))
    assert documents(path) == documents(path, size=1) == tokens
    assert next(blocks(path)).tokenised


def test_parquet_lists_of_tokens(tmp_path):
    pq.write_table(pa.table({"text": [["a", "b"], [], ["c"]]}), tmp_path / "tokens.parquet")
    assert documents(tmp_path / "tokens.parquet", size=1) == [["a", "b"], [], ["c"]]


def test_json_oddities(tmp_path):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(b'\n  \n{"text": "\\ud83d\\ude00 \\ud800 \\u0000"}\r\n\n{"text": "b"}')
    for size in (1, 1000):
        assert documents(path, size=size) == ["😀 \ufffd \x00", "b"]


def test_the_only_column_is_taken(tmp_path):
    (tmp_path / "one.csv").write_text("sentence\na\nb\n")
    (tmp_path / "one.jsonl").write_text('{"sentence": "a"}\n{"sentence": "b"}\n')
    pq.write_table(pa.table({"sentence": ["a", "b"]}), tmp_path / "one.parquet")
    for path in tmp_path.iterdir():
        assert documents(path) == ["a", "b"]


@pytest.mark.parametrize(
    ("row", "hint"),
    [
        ("oil pump", "if that is a name, pass it as the column of texts"),
        ("titel;text", "if that is a name, .*; several are divided by ','"),
    ],
)
def test_a_first_row_that_names_no_columns_is_not_lost(tmp_path, row, hint):
    (tmp_path / "one.csv").write_text(f"{row}\nfire\n")
    with pytest.raises(CorpusError, match=f'has no column "text": the first row must name .*"{row}"; {hint}'):
        documents(tmp_path / "one.csv")
    (tmp_path / "one.csv").write_text("oil pump\nfire\n")
    assert [text for block in blocks(tmp_path / "one.csv", text="oil pump") for text in block.texts] == ["fire"]


@pytest.mark.parametrize("name", ["a.jsonl", "deep/a.csv.gz", "a.parquet"])
def test_tables_in_a_folder_are_texts_with_a_warning(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(gzip.compress(b"text\na\n") if name.endswith("gz") else b"text\na\n")
    with pytest.warns(ParasphereWarning, match=f"one text per file, but {name} is a table; pass its own path"):
        assert documents(tmp_path) == ["text\na\n"]


def test_csv_keeps_every_cell_as_text(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_bytes(b'text,y\r\n123,1\r\nNA,2\r\n,3\r\n"",4\r\n"two\r\nlines",5\r\n\r\n5" disk,6\r\nnull,7')
    assert documents(path) == ["123", "NA", "", "", "two\r\nlines", '5" disk', "null"]


def test_csv_columns_not_asked_for_are_not_interpreted(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("text,n\n" + "a,1\n" * 50_000 + "a,not a number\n")
    assert len(documents(path, size=1 << 16)) == 50_001


@pytest.mark.parametrize(
    "name", ["empty.csv", "empty.jsonl", "empty.txt", "empty.txt.gz", "empty", "head.csv", "no.parquet"]
)
def test_a_file_or_folder_without_documents_is_named(tmp_path, name):
    path = tmp_path / name
    if name == "no.parquet":
        pq.write_table(pa.table({"text": pa.array([], pa.string())}), path)
    elif path.suffix:
        path.write_bytes(b"n,text\n" if name == "head.csv" else b"")
    else:
        path.mkdir()
    with pytest.warns(ParasphereWarning, match=f"{name}: there are no documents in it") as caught:
        assert list(blocks(path)) == []
    assert caught[0].filename == __file__


# ------------------------------------------------------------------ folders and standard input


@pytest.mark.parametrize("size", [1, 1000])
def test_a_folder_is_a_document_a_file(tmp_path, size):
    for name, text in {"pos/b": "two\nlines\n", "pos/a.txt": "é\r\n", "neg/deep/c": "", "top": "t"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "pos" / "z.gz").write_bytes(gzip.compress(b"zipped"))
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x").write_text("no")
    (tmp_path / "pos" / ".DS_Store").write_bytes(b"\xff")
    options = {"size": size}
    assert documents(tmp_path, **options) == ["", "é\r\n", "two\nlines\n", "zipped", "t"]
    assert column("ids", tmp_path, **options) == ["neg/deep/c", "pos/a.txt", "pos/b", "pos/z.gz", "top"]
    assert column("labels", tmp_path, **options) == ["deep", "pos", "pos", "pos", None]


def test_a_bad_file_in_a_folder_is_named(tmp_path):
    (tmp_path / "good").write_text("fine")
    (tmp_path / "ugly").write_bytes(b"fine\nna\xefve")
    with pytest.raises(CorpusError, match=r"ugly, line 2, byte 3: 0xef"):
        list(blocks(tmp_path))


def test_standard_input_is_lines_of_text(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO("é\n\nb".encode())))
    assert documents(STANDARD_INPUT, size=1) == ["é", "", "b"]
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CorpusError, match="standard input: cannot be read"):
        documents(STANDARD_INPUT)


def test_a_dash_is_standard_input_on_the_command_line_only(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"not this")))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CorpusError, match="one str is not a corpus"):
        documents("-")
    with pytest.raises(CorpusError, match="-: there is no such file or folder"):
        documents(Path("-"))
    Path("-").write_text("a file of this name")
    assert documents(Path("-"), format="txt") == ["a file of this name"]
    assert common.documents(Path("-")) is STANDARD_INPUT
    assert common.documents(Path("./x")) == Path("./x")


@pytest.mark.parametrize("extension", [".jsonl", ".csv", ".parquet"])
def test_standard_input_in_another_format(tmp_path, monkeypatch, extension):
    texts = [*TEXTS, "x" * 300_000]
    raw = write(tmp_path / f"corpus{extension}", texts).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(raw)))
    assert documents(STANDARD_INPUT, format=extension[1:], size=1 << 16) == texts


def test_standard_input_through_a_pipe(monkeypatch):
    end, begin = os.pipe()
    os.write(begin, b"one\r\ntwo\n")
    os.close(begin)
    with os.fdopen(end) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        assert documents(STANDARD_INPUT) == ["one", "two"]


def test_the_format_can_be_named(tmp_path):
    (tmp_path / "corpus.log").write_text("a\nb\n")
    assert documents(tmp_path / "corpus.log", format="txt") == ["a", "b"]
    with pytest.raises(CorpusError, match='format "log" is not known; known are txt'):
        blocks(tmp_path / "corpus.log", format="log")


@pytest.mark.parametrize("extension", [*FORMATS, ".txt.gz", ".csv.gz", ".parquet.gz"])
def test_progress_ends_at_the_size_of_the_file(tmp_path, extension):
    path = write(tmp_path / f"corpus{extension}", [f"line {i}" for i in range(3000)])
    seen = []
    assert len(documents(path, size=4000, progress=seen.append)) == 3000
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size


# --------------------------------------------------------------------------------- what is wrong


BAD_FILES = {
    "missing.txt": (None, "no such file"),
    "x.docx": (b"", r'"\.docx" is not known; known are \.txt, \.jsonl'),
    "x": (b"", "is not known"),
    "latin.txt": ("ok\nca\xe9 x\n".encode("latin-1"), r"latin\.txt, line 2, byte 3: 0xe9 .*latin-1"),
    "windows.txt": (b"a\nb\n\x93quoted\x94\n", r"line 3, byte 1: 0x93 .*cp1252"),
    "wide.txt": ("text".encode("utf-16"), r"wide\.txt: these bytes are UTF-16, not utf-8; .*convert the file to UTF-8"),
    "cut.txt": ("caf\u00e9".encode()[:-1], r"line 1, byte 4: 0xc3"),
    "latin.jsonl": (b'{"text": "a"}\n{"text": "\xe9"}\n', r"line 2, byte 11: 0xe9"),
    "latin.csv": (b"text,y\na,1\n\xe9,2\n", r"latin\.csv, line 3, byte 1: 0xe9"),
    "broken.jsonl": (b'{"text": "a"}\n\n{"text": "b"\n', r"broken\.jsonl, line 3: not JSON"),
    "first.jsonl": (b"not json\n", r"line 1: not JSON"),
    "two.jsonl": (b'{"text": "a"}\n{"text": "b"}{"text": "c"}\n', r"line 2: not JSON \(Extra data"),
    "spread.jsonl": (b'{"text": "a"}\n{"text":\n"b"}\n', r"line 2: not JSON"),
    "array.jsonl": (b'["a"]\n', r"line 1: it is of type list; every line must be an object"),
    "number.jsonl": (b'{"text": "a"}\n{"text": 5}\n', r"number\.jsonl, line 2: the text is of type int"),
    "true.jsonl": (b'{"text": true}\n', r"line 1: the text is of type bool"),
    "lacks.jsonl": (b'{"text": "a"}\n{"body": "b", "n": 1}\n', r'line 2: there is no "text"; .*"body", "n"'),
    "column.jsonl": (b'{"a": "b", "n": 1}\n', r'column\.jsonl has no column "text"; .*"a", "n"'),
    "kinds.jsonl": (
        b'{"text": "a"}\n{"text": ["b"]}\n',
        r"line 2: the text is a list of tokens, but those before it are texts",
    ),
    "token.jsonl": (b'{"text": ["a"]}\n{"text": ["b", 1]}\n', r"line 2: the text has a token that is of type int"),
    "few.csv": (b'text,y\na,1\n"b\nc",2\nx\n', r"few\.csv, line 5: the row has 1 fields for 2 names"),
    "many.tsv": (b"text\ty\na\t1\nb\t2\t3\n", r"many\.tsv, line 3: the row has 3 fields"),
    "open.csv": (b'text\na\n"b\nc\nd\n', r"open\.csv, line 3: .* quotation mark, but it is never closed"),
    "late.csv": (b'text,y\n"a\n1",2\n"b",1\n"c\n1","d\ne', r"late\.csv, line 5: .* it is never closed"),
    "merged.csv": (b'text,y\n"a","1"\n"b,"2"\n"c","3"\n', r"merged\.csv, line 3: .* text follows where it is closed"),
    "column.csv": (b"a,b\n1,2\n", r'column\.csv has no column "text"; its columns are "a", "b"'),
    "twice.csv": (b"text,text\n1,2\n", '2 columns named "text"'),
    "cut.parquet": (b"PAR1 and no more", r"cut\.parquet: not a valid Parquet file"),
    "nothing.parquet": (b"", r"nothing\.parquet: not a valid Parquet file"),
    "cut.txt.gz": (gzip.compress(b"a line\n" * 1000)[:-12], r"cut\.txt\.gz: .*truncated"),
    "cut.csv.gz": (gzip.compress(b"text\n" + b"a line\n" * 1000)[:-12], r"cut\.csv\.gz: .*truncated"),
    "not.txt.gz": (b"plain text", r"not\.txt\.gz: invalid gz data"),
}


@pytest.mark.parametrize("size", [1, 1 << 20])
@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_get_a_sentence(tmp_path, name, size):
    raw, sentence = BAD_FILES[name]
    if raw is not None:
        (tmp_path / name).write_bytes(raw)
    with pytest.raises(CorpusError, match=sentence):
        read_in(size, tmp_path / name)


def test_the_first_lines_come_before_the_bad_one(tmp_path):
    path = tmp_path / "late.jsonl"
    path.write_bytes(b'{"text": "a"}\n' * 100 + b"oops\n")
    with small_blocks(100):
        stream = blocks(path)
        assert next(stream).texts[0] == "a"
        with pytest.raises(CorpusError, match="line 101: not JSON"):
            list(stream)


def test_parquet_nulls_and_other_types(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a", "b", None], "n": [1, 2, 3]}), path)
    for size in (1, 1000):
        with pytest.warns(ParasphereWarning, match=r"1 of 3 texts are null .* is .*x\.parquet: document 2"):
            assert documents(path, size) == ["a", "b", ""]
    with pytest.raises(CorpusError, match=r"x\.parquet: document 0 .*of type int"):
        list(blocks(path, text="n"))
    with pytest.raises(CorpusError, match='no column "y"; its columns are "text", "n"'):
        list(blocks(path, label="y"))


def test_bytes_that_are_not_the_encoding_named(tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(b"fine\nalso\nca\xe9\n")
    for size in (1, 1000):
        with pytest.raises(CorpusError, match=r"x\.txt, line 3.*0xe9 is not ascii"):
            read_in(size, path, encoding="ascii")
    with pytest.raises(CorpusError, match='"klingon" is not a text encoding'):
        blocks(path, encoding="klingon")
    with pytest.raises(CorpusError, match='"base64" is not a text encoding'):
        blocks(path, encoding="base64")


def test_lines_of_text_have_no_columns(tmp_path):
    with pytest.raises(CorpusError, match="no columns"):
        list(blocks(write(tmp_path / "x.txt", ["a"]), label="y"))


def test_a_folder_has_three_columns(tmp_path):
    with pytest.raises(CorpusError, match='"text", "label", "id"'):
        list(blocks(tmp_path, label="y"))
