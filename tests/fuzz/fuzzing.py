"""Mutated files: a reader may read them or refuse them, but nothing except our own errors ever comes out.

Each target is a function of a source of randomness and an empty folder: it makes one case and tries it. What it
raises is a fault; an error of ours that is due, it catches itself. To add a target, write such a function and
decorate it. `test_fuzzing.py` tries a few hundred cases of each; ``make fuzz`` goes on for hours:

    make fuzz FUZZ_SECONDS=3600 FUZZ_TARGET=vectors
    make fuzz FUZZ_TARGET=vectors FUZZ_CASE=17-204   # the case that a failure has named
"""

from __future__ import annotations

import bz2
import contextlib
import csv
import faulthandler
import gzip
import io
import itertools
import json
import lzma
import os
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import crafted
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parasphere import Tokenizer, WordVectors, storage
from parasphere._kernels import sum_rows
from parasphere.errors import CorpusError, CoverageWarning, ParasphereError, ParasphereWarning, StoreError, VectorsError
from parasphere.model import Reader
from parasphere.vectors import formats

sys.path.append(str(Path(__file__).parents[1]))
from blocksize import read_in

Target = Callable[[Random, Path], None]
TARGETS: dict[str, Target] = {}
STUCK_SECONDS = 60
MOST_MEMORY = 500_000  # in the unit of the system: kB


def target(function: Target) -> Target:
    TARGETS[function.__name__] = function
    return function


def try_case(name: str, case: str) -> None:
    """Try the case that has this name, always the same one; a warning, or much memory, is a fault too."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        TARGETS[name](Random(f"{name} {case}"), Path(folder))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < MOST_MEMORY, f"{grown:,} kB more memory were needed than ever before"


# ------------------------------------------------------------------------------------- mutations

ODD = [b"\0", b"\xff" * 4, b"\n", b"\r\n", b'"', b",", b" ", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"9999999",
       b"-", b"1e999", b"nan", b"{", b'{"text": [', b"null", b"\x80\x04", b"\x1f\x8b\x08", b"PAR1"]  # fmt: skip


def mutated(random: Random, data: bytes, other: bytes) -> bytes:
    """Return the bytes with some mutations, or with none: flipped, cut, repeated, spliced, inserted."""
    for _ in range(random.choice([0, 1, 1, 1, 2, 3, 8])):
        begin = random.randint(0, len(data))
        end = min(len(data), begin + random.choice([1, 2, 4, 16, 256]))
        match random.randrange(7):
            case 0 if begin < len(data):
                data = data[:begin] + bytes([data[begin] ^ 1 << random.randrange(8)]) + data[begin + 1 :]
            case 1:
                data = data[:begin]
            case 2:
                data = data[:begin] + data[end:]
            case 3:
                data = data[:begin] + data[begin:end] * random.choice([2, 3, 100]) + data[end:]
            case 4:
                data = data[:begin] + other[random.randint(0, len(other)) :]
            case 5:
                data = data[:begin] + random.choice(ODD) + data[begin:]
            case _:
                data = data[:begin] + random.randbytes(end - begin) + data[end:]
    return data


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress
}  # fmt: skip


def broken_file(random: Random, folder: Path, name: str, data: bytes, other: bytes) -> Path:
    """Write the bytes, packed or not, and mutated before they are packed, after it, or both."""
    extension = random.choice([*PACKINGS, "", ""])
    if random.random() < 0.7:
        data = mutated(random, data, other)
    data = PACKINGS[extension](data)
    if random.random() < 0.5:
        data = mutated(random, data, other)
    path = folder / f"{name}{extension}"
    path.write_bytes(data)
    return path


def named(path: Path, error: ParasphereError) -> None:
    """Fail unless the error says which file it is about."""
    if str(path) not in str(error):
        raise AssertionError("the file is not named") from error


# ---------------------------------------------------------------------------------- word vectors


@cache
def vector_files() -> list[bytes]:
    """Make a sound file of every format."""
    words = ["sea", "lake", "é", ". . .", "ten-word", *(f"w{i}" for i in range(20))]
    matrix = np.random.default_rng(0).normal(size=(len(words), 5)).astype("<f4")
    pairs = list(zip(words, matrix, strict=True))
    text = "".join(f"{word} {' '.join(map(repr, row.tolist()))}\n" for word, row in pairs).encode()
    header = b"%d 5\n" % len(words)
    rows = [word.replace(" ", "").encode() + b" " + row.tobytes() for word, row in pairs]
    return [text, header + text, header + b"".join(rows), header + b"\n".join(rows), text.replace(b"\n", b"\r\n")]


@target
def vectors(random: Random, folder: Path) -> None:
    """Read a broken file of word vectors in blocks of two sizes, which must find the same."""
    data, other = random.choice(vector_files()), random.choice(vector_files())
    path = broken_file(random, folder, "vectors", data, other)
    found = []
    for size in (random.choice([50, 200, 1000]), formats.BLOCK):
        try:
            table = formats.read(path, block=size)
            assert np.isfinite(table.matrix).all()
            assert len(table.matrix) == len(table.vocabulary)
            found.append((table.vocabulary.words, table.matrix.tobytes()))
        except VectorsError as error:
            found.append(named(path, error))
    assert found[0] == found[1]


# --------------------------------------------------------------------------------------- corpora


@cache
def corpus_files() -> dict[str, bytes]:
    """Make a sound file of every format; the extension says which."""
    texts = [
        "the quick fox",
        "",
        "naïve Ελλάς 😀",
        'a "quoted", one',
        "two\nlines",
        *(f"text {i} " * 9 for i in range(40)),
    ]
    rows = [{"n": i, "text": text, "y": f"label {i % 3}"} for i, text in enumerate(texts)]
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    files = {
        "txt": "\n".join(texts).encode(),
        "jsonl": "".join(json.dumps(row, ensure_ascii=i % 2 > 0) + "\n" for i, row in enumerate(rows)).encode(),
        "tokens.jsonl": "".join(json.dumps({"text": text.split()}) + "\n" for text in texts).encode(),
        "csv": table.getvalue().encode(),
    }
    columns = {"text": texts, "y": [row["y"] for row in rows]}
    lists = {"text": [text.split() for text in texts], "y": columns["y"]}
    for name, content, options in (
        ("parquet", columns, {}),
        ("plain.parquet", columns, {"use_dictionary": False, "compression": "zstd", "row_group_size": 10}),
        ("tokens.parquet", lists, {"data_page_size": 64}),
        ("delta.parquet", columns, {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}),
    ):
        file = io.BytesIO()
        pq.write_table(pa.table(content), file, **options)
        files[name] = file.getvalue()
    return files


@target
def corpora(random: Random, folder: Path) -> None:
    """Read a broken corpus in blocks of two sizes, which must find the same documents."""
    name, data = random.choice(list(corpus_files().items()))
    path = broken_file(random, folder, f"corpus.{name}", data, random.choice(list(corpus_files().values())))
    options = {"label": "y"} if "txt" not in name and random.random() < 0.5 else {}
    encoding = random.choice(["utf-8", "utf-8", "utf-8", "utf-16", "utf-7", "latin-1", "shift_jis"])
    found = []
    for size in (random.choice([30, 100, 1000]), 16 << 20):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ParasphereWarning)  # of nulls, and of files without documents
                parts = read_in(size, path, encoding=encoding, **options)
            found.append([text for part in parts for text in part.texts])
        except CorpusError as error:
            found.append(named(path, error))
    assert found[0] == found[1]


# ---------------------------------------------------------------------------------- saved folders


Files = dict[str, bytes]


@cache
def saved_folders() -> dict[str, Files]:
    """Save something sound of every kind; return the files of the folders."""
    folders: dict[str, Files] = {}
    for name, kind in crafted.TARGETS.items():
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind.save(Path(folder))
            files = sorted(Path(folder).iterdir(), key=lambda path: path.suffix)
            assert [path.suffix for path in files] == [".json", ".safetensors"]
            folders[name] = {path.name: path.read_bytes() for path in files}
    return folders


def resealed(manifest: bytes, data: bytes) -> bytes:
    """Return a manifest, which may be mutated, with the checksums that fit."""
    try:
        facts = json.loads(manifest)
        facts |= {"size": len(data), "crc32": zlib.crc32(data)}
        del facts["manifest_crc32"]
        facts["manifest_crc32"] = zlib.crc32(json.dumps(facts, sort_keys=True).encode())
        return json.dumps(facts).encode()
    except (ValueError, TypeError, KeyError):
        return manifest


@target
def damaged_folders(random: Random, folder: Path) -> None:
    """Load and use a saved folder whose files were mutated or swapped, and perhaps given checksums that fit."""
    name, other = (random.choice(list(saved_folders())) for _ in range(2))
    files, others = saved_folders()[name], saved_folders()[other]
    (manifest_name, manifest), (data_name, data) = files.items()
    _, strange = others.values()
    match random.randrange(4):
        case 0:
            data = strange
        case 1:
            manifest = mutated(random, manifest, random.choice(list(others.values())))
        case _:
            data = mutated(random, data, strange)
    sealed = random.random() < 0.6
    if sealed:
        manifest = resealed(manifest, data)
    (folder / manifest_name).write_bytes(manifest)
    if random.random() < 0.95:
        (folder / data_name).write_bytes(data)
    for verify in (True, False):
        crafted.load_and_use(name, folder, verify=verify)
    if not sealed:
        facts = json.loads(files[manifest_name])
        with contextlib.suppress(StoreError):
            assert storage.load(folder, facts["kind"])[1] == facts["meta"]
            assert data == files[data_name]


@target
def crafted_folders(random: Random, _folder: Path) -> None:
    """Load and use a folder whose arrays or facts lie, with checksums that fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crafted.case(random.randrange(1 << 32))


# ------------------------------------------------------------------- crafted arrays, slow references

LETTERS = "abcé SEA\u0301ß漢😀 \n1'-"


@target
def sums_of_texts(random: Random, _folder: Path) -> None:
    """Add up word vectors of odd texts, and compare with Python's own splitting and numpy's own sums."""
    words = sorted({"".join(random.choices("abcéß漢", k=random.randint(1, 12))) for _ in range(random.randint(1, 9))})
    dim = random.choice([1, 2, 7, 8, 9, 33])
    vectors = WordVectors.from_arrays(words, np.random.default_rng(random.randrange(99)).normal(size=(len(words), dim)))
    texts = ["".join(random.choices([*LETTERS, *words, " "], k=random.randint(0, 60))) for _ in range(5)]
    weights = np.array([random.choice([0.0, 0.5, 3.0]) for _ in words])
    warnings.simplefilter("ignore", CoverageWarning)
    bags = Reader(vectors, tokenizer=Tokenizer(), weights=weights, dtype=np.float64).read(texts)
    plain = Reader(vectors, weights=weights, dtype=np.float64).read([Tokenizer()(text) for text in texts])
    for text, total, length, unknown, same in zip(
        texts, bags.sums, bags.lengths, bags.unknown, plain.sums, strict=True
    ):
        found = [words.index(word) for word in Tokenizer()(text) if word in words]
        rows = vectors.matrix[found].astype(np.float64) * weights[found, None]
        np.testing.assert_allclose(total, rows.sum(axis=0), atol=1e-12)
        assert length == weights[found].sum()
        assert unknown == len(Tokenizer()(text)) - len(found)
        assert (total == same).all()


@target
def crafted_arrays(random: Random, _folder: Path) -> None:
    """Hand a compiled loop arrays of wrong types, shapes and orders, and ids beyond the rows: it must refuse them."""
    n, dim, docs = random.randint(1, 5), random.randint(1, 9), random.randint(1, 4)
    ids = np.random.default_rng(random.randrange(99)).integers(-1, n, size=6).astype(np.int32)
    ends = np.sort(np.random.default_rng(random.randrange(99)).integers(0, 7, size=docs)).astype(np.int64)
    arrays: list[Any] = [
        ids, ends, np.ones((n, dim), np.float32), np.ones(n), np.zeros((docs, dim)), *np.zeros((2, docs)),
        np.zeros(docs, np.int64), np.zeros(docs),
    ]  # fmt: skip
    place = random.randrange(len(arrays))
    honest = arrays[place]
    match random.randrange(6):
        case 0:
            arrays[place] = honest.astype(random.choice(["f2", "f4", "f8", "i4", "i8", "u1"]))
        case 1:
            arrays[place] = honest[: random.randint(0, len(honest) - 1)]
        case 2:
            arrays[place] = np.repeat(honest, 2, axis=random.randrange(honest.ndim))
        case 3:
            arrays[place] = np.asfortranarray(np.repeat(honest, 2, axis=0)[::2])
        case 4:
            arrays[0] = ids + np.int32(random.choice([1, 100, 2**30]))
        case _:
            arrays[1] = ends + random.choice([-9, 1, 10**9, 2**62])
    sums, hashed = arrays[4], random.choice([0.0, 0.5])
    with contextlib.suppress(ParasphereError, ValueError):
        sum_rows(*arrays[:4], hashed, *arrays[4:])
        assert np.isfinite(sums).all()
        assert abs(sums).max(initial=0.0) <= len(ids)


def main() -> int:
    """Try cases until stopped, or for FUZZ_SECONDS; say which one failed so that it can be tried again."""
    names = [os.environ["FUZZ_TARGET"]] if os.environ.get("FUZZ_TARGET") else list(TARGETS)
    if case := os.environ.get("FUZZ_CASE"):
        try_case(names[0], case)
        return 0
    seed = os.environ.get("FUZZ_SEED") or str(time.time_ns() // 10**9)
    end = time.monotonic() + float(os.environ.get("FUZZ_SECONDS") or "inf")
    last = Path(tempfile.gettempdir(), f"parasphere-fuzz-{os.getpid()}")  # what was tried when a case crashed Python
    print(f"seed {seed}; the case being tried is named in {last}", flush=True)
    failures = tried = 0
    for number, name in ((number, name) for number in itertools.count() for name in names):
        if time.monotonic() > end or failures >= 10:
            break
        last.write_text(f"FUZZ_TARGET={name} FUZZ_CASE={seed}-{number}\n")
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True)
        tried += 1
        try:
            try_case(name, f"{seed}-{number}")
        except Exception:
            failures += 1
            traceback.print_exc()
            print(f"to try it again: make fuzz FUZZ_TARGET={name} FUZZ_CASE={seed}-{number}", flush=True)
        finally:
            faulthandler.cancel_dump_traceback_later()
    last.unlink()
    print(f"{tried:,} cases, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
