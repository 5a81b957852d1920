"""Files made to do harm, or that are no files: memory stays small, nothing is waited for, and faults are named."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import socket
import subprocess
import sys
import threading
import zlib
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from blocksize import read_in

from parasphere.corpus import block, blocks, decoding, reread
from parasphere.errors import CorpusError, ParasphereWarning, VectorsError
from parasphere.vectors import WordVectors, formats

zstd = import_module(decoding.ZSTD)


def documents(source, size=block.BYTES, **options):
    return [text for part in read_in(size, source, **options) for text in part.texts]


# ----------------------------------------------------------------------------------------- bombs

MEGABYTES = 80  # what each bomb would unfold to, at the least
ALLOWED = 60  # megabytes that one may take: the reader and a few blocks
PROGRAM = """
import json, sys
from pathlib import Path
from parasphere.corpus import block, blocks
from parasphere.vectors import formats
from parasphere.errors import ParasphereError

def peak(anew=False):  # in megabytes, since it was last counted anew
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    facts = Path("/proc/self/status").read_text().split("VmHWM:")[1]
    return int(facts.split()[0]) >> 10

def tried(path):
    try:
        if path.name.startswith("vectors"):
            return len(formats.read(path).matrix)
        return sum(len(part) for part in blocks(path))
    except ParasphereError as error:
        return str(error)

block.BYTES = 1 << 20
block.LONGEST = formats._LONGEST_ROW = 4 << 20
folder = Path(sys.argv[1])
for path in sorted(folder.glob("small/*")):
    assert tried(path) == 2
found = {}
for path in sorted(folder.glob("bombs/*")):
    before = peak(anew=True)
    found[path.name] = tried(path), peak() - before
print(json.dumps(found))
"""


def packed(compressor, first, piece):
    """Pack `first`, and then `piece` as often as makes a bomb."""
    times = (MEGABYTES << 20) // len(piece)
    return b"".join(
        [compressor.compress(first), *(compressor.compress(piece) for _ in range(times)), compressor.flush()]
    )


def test_bombs_take_no_more_memory_than_a_few_blocks(tmp_path):
    small, bombs = tmp_path / "small", tmp_path / "bombs"
    small.mkdir()
    bombs.mkdir()
    (small / "vectors").write_text("a 1 2\nb 3 4\n")
    (small / "text.csv").write_text("text\na\nb\n")
    (small / "text.jsonl").write_text('{"text": "a"}\n{"text": "b"}\n')
    blank, line, row = b"\n" * (1 << 20), b"x" * (1 << 20), b"a 1 2\n" * (1 << 17)
    bz2_bomb = packed(bz2.BZ2Compressor(1), b"a 1 2\n", line)
    xz_bomb = packed(lzma.LZMACompressor(preset=0), b"a 1 2\n", line)
    content = {
        "vectors-1.bz2": bz2_bomb,
        "vectors-2.xz": xz_bomb,
        "vectors-3.gz": packed(zlib.compressobj(1, wbits=31), b"a 1 2\n", line),
        "vectors-5.gz": packed(zlib.compressobj(1, wbits=31), b"", row),
        "vectors-6": b"1 50000\nwide" + b" 1" * 50_000 + blank,
        "text-1.txt.bz2": bz2_bomb,
        "text-2.txt.xz": xz_bomb,
        "text-3.csv.gz": packed(zlib.compressobj(1, wbits=31), b'text\n"', line),
    }
    for name, data in content.items():
        (bombs / name).write_bytes(data)
        assert len(data) < 2 << 20
    run = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    outcome = {name: what for name, (what, _) in found.items()}
    for name in ("vectors-1.bz2", "vectors-2.xz", "vectors-3.gz"):
        assert f"{bombs / name} has a row of over 4,194,304 bytes" in outcome[name]
    assert outcome["vectors-6"] == 1
    assert "the word 'a' is at line 1 and again at line 2" in outcome["vectors-5.gz"]
    for name in ("text-1.txt.bz2", "text-2.txt.xz", "text-3.csv.gz"):
        assert f"{bombs / name}" in outcome[name]
        assert "longer than 4,194,304 characters" in outcome[name]
    assert max(growth for _, growth in found.values()) < ALLOWED, found


def test_a_text_that_a_dictionary_repeats_is_one_object(monkeypatch):
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), ["x" * 60, "y" * 30])
    found = documents(column)
    assert found == ["x" * 60, "y" * 30, "x" * 60]
    assert found[0] is found[2]
    monkeypatch.setattr(block, "LONGEST", 50)
    with pytest.raises(CorpusError, match=r"document 0 .*longer than 50 characters"):
        documents(column)


def test_millions_of_empty_lines_come_in_blocks(tmp_path):
    (tmp_path / "empty.txt.gz").write_bytes(gzip.compress(b"\n" * 3_000_000))
    sizes = [len(part) for part in blocks(tmp_path / "empty.txt.gz")]
    assert sum(sizes) == 3_000_000
    assert max(sizes) <= 1 << 17


def test_a_dictionary_of_more_than_two_gigabytes_is_read():
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 2200, pa.int32()), ["x" * 1_000_000])
    assert sum(len(part) for part in blocks(column)) == 2200


def test_a_dictionary_that_lacks_an_entry_is_named():
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 5], pa.int32()), ["a"], safe=False)
    with pytest.raises(
        CorpusError, match=r"document 0 .*or one soon after it is damaged.*Value at position 1 out of bounds"
    ):
        documents(wrong)


# --------------------------------------------------------------------------------- decompression


@pytest.mark.parametrize("size", [1, 5, 1 << 16])
@pytest.mark.parametrize(
    ("suffix", "compress"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd.compress)],
)
def test_streams_one_after_another(tmp_path, suffix, compress, size):
    path = tmp_path / f"x{suffix}"
    data = bytes(range(256)) * 20
    path.write_bytes(compress(data) + compress(b"") + compress(b"end"))
    with decoding.ByteReader(path, "x") as reader:
        pieces = list(iter(lambda: reader.read(size), b""))
        assert reader.consumed == path.stat().st_size
    assert b"".join(pieces) == data + b"end"
    assert {len(piece) for piece in pieces[:-1]} <= {size}
    path.write_bytes(compress(data)[:-3])
    with (
        decoding.ByteReader(path, "x") as reader,
        pytest.raises(CorpusError, match=r"x: ends in the middle.*truncated"),
    ):
        list(iter(reader.read, b""))
    path.write_bytes(b"other" + compress(data))
    with decoding.ByteReader(path, "x") as reader, pytest.raises(CorpusError, match=f"x: invalid {suffix[1:]} data"):
        list(iter(reader.read, b""))


def test_zstd_that_is_missing_is_named(tmp_path, monkeypatch):
    (tmp_path / "x.txt.zst").write_bytes(zstd.compress(b"a\n"))
    monkeypatch.setattr(decoding, "ZSTD", "backports.zstd_of_old")
    with pytest.raises(CorpusError, match=r"x\.txt\.zst: .*pip install backports\.zstd; or decompress"):
        documents(tmp_path / "x.txt.zst")


# ------------------------------------------------------------------------ pipes, devices and links


@pytest.fixture
def pipe(tmp_path):
    """Return a function that makes a pipe, and writes to it from a thread as a shell would."""
    threads = []

    def make(name, data):
        path = tmp_path / name
        os.mkfifo(path)
        threads.append(threading.Thread(target=path.write_bytes, args=(data,), daemon=True))
        threads[-1].start()
        return path

    yield make
    for thread in threads:
        thread.join(60)


@pytest.mark.parametrize(
    ("extension", "data"),
    [
        ("txt", b"one\ntwo, three\n"),
        ("jsonl", b'{"text": "one"}\n{"text": "two, three"}\n'),
        ("csv", b'n,text\n1,one\n2,"two, three"\n'),
    ],
)
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_pipe_is_a_corpus(pipe, extension, data, compress):
    name = f"pipe.{extension}" + ".gz" * (compress is gzip.compress)
    assert documents(pipe(name, compress(data))) == ["one", "two, three"]


def test_a_pipe_of_parquet_goes_to_disk_first(pipe):
    file = io.BytesIO()
    pq.write_table(pa.table({"text": ["one", "two"]}), file)
    assert documents(pipe("x.parquet", file.getvalue())) == ["one", "two"]


def test_what_a_shell_substitutes_has_no_extension():
    read, write = os.pipe()
    os.write(write, b"text,y\none,1\n")
    os.close(write)
    assert documents(Path(f"/dev/fd/{read}"), format="csv") == ["one"]
    os.close(read)
    read, write = os.pipe()
    os.write(write, b"one\ntwo\n")
    os.close(write)
    assert documents(Path(f"/dev/fd/{read}")) == ["one", "two"]
    os.close(read)
    with pytest.warns(ParasphereWarning, match="/dev/null: there are no documents in it"):
        assert documents(Path("/dev/null")) == []


def test_in_a_folder_only_files_are_read(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt").write_text("a")
    os.mkfifo(tmp_path / "deep" / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "round").symlink_to("round")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "link.txt").symlink_to(tmp_path / "deep" / "a.txt")
    with socket.socket(socket.AF_UNIX) as server:
        before = Path.cwd()
        os.chdir(tmp_path)  # a socket's path may have no more than about a hundred letters
        try:
            server.bind("socket")
        finally:
            os.chdir(before)
        with pytest.warns(ParasphereWarning, match="again, deep/pipe, device, gone, round, socket"):
            assert documents(tmp_path) == ["a", "a"]
        with pytest.raises(CorpusError, match=r"socket: cannot be opened"):
            documents(tmp_path / "socket", format="txt")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "round"])
def test_a_path_that_cannot_be(tmp_path, name):
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(CorpusError, match=r"no such file|cannot be opened"):
        documents(tmp_path / name)
    with pytest.raises(CorpusError, match=r"no such file|cannot be opened"):
        reread(tmp_path / name)
    with pytest.raises(VectorsError, match="the path of a file"):
        WordVectors.load(tmp_path / name)


def test_word_vectors_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(VectorsError, match=r"is a pipe, a device or a socket"):
            WordVectors.load(path)
        with pytest.raises(VectorsError, match=r"is a pipe, a device or a socket"):
            formats.read(path)


# ------------------------------------------------------------------------ marks, encodings, names


@pytest.mark.parametrize("content", [b"sea 1 2\nlake 3 4\n", b"2 2\nsea 1 2\nlake 3 4\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path, content):
    (tmp_path / "x.txt").write_bytes(b"\xef\xbb\xbf" + content)
    found = formats.read(tmp_path / "x.txt", block=3)
    assert found.vocabulary.words == ["sea", "lake"]
    np.testing.assert_array_equal(found.matrix, [[1, 2], [3, 4]])
    (tmp_path / "x.txt").write_bytes(b"\xef\xbb\xbf" + content + b"fire 5\n")
    with pytest.raises(VectorsError, match=rf"line {content.count(bytes([10])) + 1}: the row of 'fire' has 1 numbers"):
        formats.read(tmp_path / "x.txt")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("name", "text"), [("x.txt", "one text\n"), ("x.csv", "text\none"), ("x.jsonl", '{"text": "a"}')]
)
def test_wide_letters_without_a_byte_order_mark(tmp_path, encoding, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    for size in (1, 1000):
        with pytest.raises(CorpusError, match=rf"{name}: these bytes are UTF-16, not utf-8; .*iconv -f utf-16"):
            documents(path, size)
    with pytest.raises(CorpusError, match=rf"{name}: {encoding} is not read; convert the file to UTF-8"):
        documents(path, encoding=encoding)


def test_a_binary_file_is_not_taken_for_another_encoding(tmp_path):
    path = tmp_path / "picture.txt"
    path.write_bytes(np.random.default_rng(0).bytes(5000))
    with pytest.raises(CorpusError, match=r"picture\.txt, line .*control characters near it; is this a file of text\?"):
        documents(path)


def parquet(path, names, columns):
    pq.write_table(pa.table(columns, names=names), path)
    return path


def test_dictionaries_in_parquet_whatever_they_hold(tmp_path):
    path = tmp_path / "folded.parquet"
    texts = ["a", "b", "x" * 70_000, "a"]
    for kind in (pa.string(), pa.large_string()):
        column = pa.array(texts, kind)
        numbers = pa.array([1, 2, None, 1]).dictionary_encode()
        for options in ({}, {"use_dictionary": False}, {"row_group_size": 1}, {"compression": "zstd"}):
            pq.write_table(pa.table({"text": column, "n": numbers}), path, **options)
            for size in (1, 1 << 20):
                found = read_in(size, path, label="n")
                assert [text for part in found for text in part.texts] == texts
                assert [label for part in found for label in part.labels] == [1, 2, None, 1]
    lists = pa.table({"text": [[], ["a", "b"], ["a"] * 5]})
    pq.write_table(lists, path)
    for size in (1, 1 << 20):
        assert documents(path, size) == [[], ["a", "b"], ["a"] * 5]


def test_odd_names_in_parquet(tmp_path):
    path = tmp_path / "odd.parquet"
    texts, nested = pa.array(["a", "b"]), pa.array([{"text": "x"}, {"text": "y"}])
    assert documents(parquet(path, [""], [texts])) == ["a", "b"]
    assert documents(parquet(path, ["", "n"], [texts, texts]), text="") == ["a", "b"]
    assert documents(parquet(path, ["a.text", "a"], [texts, nested]), text="a.text") == ["a", "b"]
    assert documents(parquet(path, ["text", "n", "n"], [texts, texts, texts])) == ["a", "b"]
    with pytest.raises(CorpusError, match=r'odd\.parquet has 2 columns named "text"'):
        documents(parquet(path, ["text", "text"], [texts, texts]))
    with pytest.raises(CorpusError, match=r'odd\.parquet has 2 columns named "n"'):
        documents(parquet(path, ["text", "n", "n"], [texts, texts, texts]), label="n")
    with pytest.raises(CorpusError, match=r"odd\.parquet: document 0 .*of type dict"):
        documents(parquet(path, ["text"], [nested]))
    with pytest.raises(CorpusError, match=r'odd\.parquet has no column "a\.text"; its columns are "a"'):
        documents(parquet(path, ["a"], [nested]), text="a.text")
    raw = parquet(path, ["text", "more"], [texts, texts]).read_bytes()
    path.write_bytes(raw.replace(b"more", b"m\xff\xfee"))
    with pytest.raises(CorpusError, match=r"odd\.parquet: not a valid Parquet file"):
        documents(path)


def test_a_parquet_file_that_is_cut_while_it_is_read(tmp_path):
    path = tmp_path / "cut.parquet"
    texts = [f"{i} {'x' * 1000}" for i in range(5000)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=100, use_dictionary=False, compression="none")
    program = """
import os, sys
from pathlib import Path
from parasphere.corpus import block, blocks
from parasphere.errors import CorpusError
path = Path(sys.argv[1])
block.BYTES = 1000
stream = blocks(path)
next(stream)
os.truncate(path, 4096)
try:
    list(stream)
except CorpusError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "cut.parquet: not a valid Parquet file, perhaps truncated" in run.stdout
